#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What packaging/prometheus says of waitscope is so: promtool likes the rules, every metric that a rule, an alert or a
panel asks for is one that waitscope serves, and what they compute of a whole is not of its groups, too. TAP."""
import glob
import json
import os
import re
import subprocess
import sys

from truth import TOP, fetched, say

WS = os.path.join(os.environ.get("O", "build"), "waitscope")
HERE = os.path.join(TOP, "packaging/prometheus")
BY = ("cpu", "pid", "tid", "comm", "cgroup", "unit", "container_id", "file")


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def expressions():
    for line in read("waitscope.rules.yml").splitlines():
        found = re.match(r" *expr: (.*)", line)
        if found:
            yield found[1]
    for panel in json.loads(read("waitscope-dashboard.json"))["panels"]:
        assert panel["targets"], panel["title"]
        for target in panel["targets"]:
            yield target["expr"]


def served():
    """Families of made-up data, and of those sources that it lacks: the names of the registry."""
    text = subprocess.run([WS, "-q", "-s", "synth", "-d", "0.1", "-o", "prom"], capture_output=True, text=True, check=True).stdout
    names = set(re.findall(r"# TYPE (\S+)", text)) | {"waitscope_bpf_cpu_ratio", "waitscope_bpf_event_seconds"}
    with open(os.path.join(TOP, "src/core/metrics.c"), encoding="utf-8") as f:
        names |= {f"waitscope_{n}_seconds" for n in re.findall(r'\] = \{"([a-z0-9_]+)"', f.read())}
    return names


def check_names():
    names, recorded = served(), set(re.findall(r"record: (\S+)", read("waitscope.rules.yml")))
    for e in [*expressions(), *[v["query"]["query"] for v in variables() if v["type"] == "query"]]:
        for used in re.findall(r"[a-z_:]*waitscope_[a-z0-9_:]+", e):
            if used not in names and used not in recorded:
                yield f"{used} is not served: {e}"


def variables():
    return json.loads(read("waitscope-dashboard.json"))["templating"]["list"]


def places(panel):
    p = panel["gridPos"]
    return {(x, y) for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])}


def check_dashboard():
    """What Grafana takes without a word and then shows wrong."""
    text = read("waitscope-dashboard.json")
    d, taken = json.loads(text), set()
    known = {v["name"] for v in variables()} | {"__rate_interval", "__all"}
    yield from (f"${name}: not a variable" for name in set(re.findall(r"\$\{?(\w+)", text)) - known)
    ids = [p["id"] for p in d["panels"]]
    if len(set(ids)) != len(ids) or not d["uid"] or not d["title"] or d["schemaVersion"] < 36:
        yield f"panels {ids}, uid '{d['uid']}', schema {d['schemaVersion']}"
    for p in d["panels"]:
        if p["type"] not in ("timeseries", "stat", "table", "heatmap") or not p["title"] or not p["description"] or \
           not p["fieldConfig"]["defaults"]["unit"] or p["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
            yield f"panel {p['id']}: {p['type']} {p['title']} {p['datasource']}"
        if places(p) & taken or p["gridPos"]["x"] + p["gridPos"]["w"] > 24:
            yield f"panel {p['id']} lies on another one, or beside the page"
        taken |= places(p)
        refs = [t["refId"] for t in p["targets"]]
        if len(set(refs)) != len(refs) or not all(t["legendFormat"] for t in p["targets"]):
            yield f"panel {p['id']}: {refs}"


def check_wholes():
    """A sum that does not name a group's label must leave groups out, or it counts them twice."""
    for e in expressions():
        for selector in re.findall(r"rate\(waitscope_\w+_seconds\{([^}]*)\}", e):
            matched = set(re.findall(r'(\w+)(?:=""|!="")', selector))
            if not (matched >= set(BY) or any(f'{b}!=""' in selector for b in BY)):
                yield f"counts groups and their whole: {e}"


def check_expressions(promtool):
    """Those of the dashboard, too: as rules, with what Grafana puts in place of its variables."""
    rules = {"groups": [{"name": "x", "rules": [{"record": f"x:{i}", "expr": e.replace("$__rate_interval", "5m").replace(
        "$instance", ".*")} for i, e in enumerate(expressions())]}]}
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"ws-rules-{os.getpid()}.yml")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(rules, f)
    for checked in (path, os.path.join(HERE, "waitscope.rules.yml")):
        r = subprocess.run([promtool, "check", "rules", "--lint=all", "--lint-fatal", checked], capture_output=True, text=True,
                           check=False)
        if r.returncode or r.stderr or "SUCCESS" not in r.stdout:
            yield r.stdout + r.stderr
    os.unlink(path)


def check_units():
    """The manifest takes no more than its arguments do; the units are not privileged either."""
    with open(os.path.join(TOP, "packaging/kubernetes/waitscope.yaml"), encoding="utf-8") as f:
        manifest = f.read()
    if "hostPID" in re.sub("#.*", "", manifest) or "hostNetwork" in re.sub("#.*", "", manifest):
        yield "the manifest asks for the node's namespaces"
    for unit in glob.glob(os.path.join(TOP, "packaging/*.service.in")):
        with open(unit, encoding="utf-8") as f:
            text = f.read()
        for words in ("NoNewPrivileges=yes", "DynamicUser=yes", "ProtectSystem=strict", "CapabilityBoundingSet=CAP_BPF CAP_PERFMON\n"):
            if words not in text:
                yield f"{unit}: no {words}"


def main():
    promtool = fetched("prometheus")
    tests = [("the metrics are served", check_names), ("wholes are not counted with their groups", check_wholes),
             ("the dashboard", check_dashboard), ("units and manifest", check_units)]
    bad = 0
    for i, (name, test) in enumerate(tests, 1):
        problems = list(test())
        bad += bool(problems)
        say(i, name, problems)
    if promtool:
        problems = list(check_expressions(os.path.join(promtool, "usr/bin/promtool")))
        bad += bool(problems)
        say(len(tests) + 1, "promtool check rules", problems)
    else:
        print(f"ok {len(tests) + 1} - promtool check rules # SKIP no promtool: tests/vm/fetch.sh prometheus failed")
    print(f"1..{len(tests) + 1}")
    return bool(bad)


sys.exit(main())
