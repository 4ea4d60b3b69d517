#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""packaging/prometheus in a real Prometheus (Debian's 2.42): two machines where everything waits, and one that brings no
reports any more. Each panel of the dashboard has data, each recording rule records, each alert fires where it should
and nowhere else. TAP.

What is scraped is what waitscope makes of records: those of made-up data, with the labels, the locks, the losses and
the long waits that these lack.
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from servers import WS, Prometheus, end, serve, tell
from truth import TOP, fetched

PACKAGED = os.path.join(TOP, "packaging/prometheus")
REPORTS = 60
UNSEEN = {"mount", "unit", "container_id"}  # in legends, of series that have them
WINDOW = "10s"  # what Grafana puts in place of $__rate_interval
GROUPS = {"busy-units": ("unit", {"unit": "a.service"}), "busy-containers": ("container", {"container_id": "0123456789ab" * 5 + "0123"})}
LATE = {"WaitscopeWakeupsLate": 32, "WaitscopeFsyncSlow": 4096}  # by what the waits are multiplied: a power of two


def longer(metric, factor):
    m = copy.deepcopy(metric)
    for key in ("sum", "min", "max"):
        m[key] *= factor
    m["p"] = {q: v * factor for q, v in m["p"].items()}
    m["buckets"]["offset"] += (factor.bit_length() - 1) * 2 ** m["buckets"]["schema"]
    return m


def renamed(metric, name=None, labels=None):
    return {**metric, **({"name": name} if name else {}), **({"labels": labels} if labels else {})}


def busy(template, labels):
    """The metrics of an interval: the whole and a group, with locks, and long waits."""
    out = []
    for m in template["metrics"]:
        if "comm" in m["labels"] or "cpu" in m["labels"]:
            continue
        if m["name"] == "sched_wakeup_latency":
            m = longer(m, LATE["WaitscopeWakeupsLate"])
        if m["labels"].get("op") == "fsync":
            m = longer(m, LATE["WaitscopeFsyncSlow"])
        out.append(m)
        if m["name"].startswith("sched_"):
            out.append(renamed(m, labels=labels))
        if m["name"] == "sched_run_delay":
            out.append(renamed(m, name="lock_wait"))
    return out


def records(d, name, by, labels, begin_s):
    """What it has to serve at each scrape: after one report, two, and so on."""
    lines = subprocess.run([WS, "-q", "-s", "synth", "-b", "comm", "-i", "0.05", "-d", "0.1", "-o", "json"], capture_output=True,
                           text=True, check=True).stdout.splitlines()
    meta, template = json.loads(lines[0]), json.loads(lines[1])
    meta["options"]["by"] = by
    metrics = busy(template, labels)
    bodies, kept = [], [json.dumps(meta, separators=(",", ":"))]
    for i in range(1, REPORTS + 1):
        at = begin_s + i
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1e9):09d}Z"
        report = {**template, "seq": i, "ts": stamp, "mono_ns": i * 10**9, "dur_ns": 10**9, "metrics": metrics, "tables": {},
                  "quality": {**template["quality"], "lost_events": 500},
                  "self": {"bpf_ns_per_event": 80, "bpf_cpu_ppm": 3000, "user_cpu_ppm": 500}}
        kept.append(json.dumps(report, separators=(",", ":")))
        record, to = os.path.join(d, f"{name}.json"), os.path.join(d, f"{name}.pb")
        with open(record, "w", encoding="utf-8") as f:
            f.write("\n".join(kept) + "\n")
        subprocess.run([WS, "report", "-q", record, "-o", f"prom-proto:{to}"], check=True)
        with open(to, "rb") as f:
            bodies.append(f.read())
    return bodies


def rules_at_once(to):
    """As packaged, but evaluated each second, and alerts not held back."""
    with open(os.path.join(PACKAGED, "waitscope.rules.yml"), encoding="utf-8") as f:
        text = f.read()
    text, n = re.subn(r"^( *)interval: \w+", r"\1interval: 1s", text, flags=re.M)
    text, m = re.subn(r"^( *)for: \w+", r"\1for: 0s", text, flags=re.M)
    text = re.sub(r"^(  - name: waitscope\.alerts)$", r"\1\n    interval: 1s", text, flags=re.M)
    assert n and m
    with open(to, "w", encoding="utf-8") as f:
        f.write(text)
    return re.findall(r"record: (\S+)", text), re.findall(r"alert: (\S+)", text)


def panel_problems(prometheus, at):
    with open(os.path.join(PACKAGED, "waitscope-dashboard.json"), encoding="utf-8") as f:
        dashboard = json.load(f)
    n = 0
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", WINDOW).replace("$instance", "busy-.*")
            series = prometheus.ask(expression, at)
            got, labels = [v for _, v in series], {k for m, _ in series for k in m}
            wanted = set(re.findall(r"\{\{ *(\w+) *\}\}", target.get("legendFormat", "")))
            n += len(got)
            if not got or any(v != v or v <= 0 for v in got) or not wanted <= labels | UNSEEN:
                yield f"{panel['title']}: {got} of {expression}"
    print(f"# {len(dashboard['panels'])} panels, {n} series")
    names = {m["instance"] for m, _ in prometheus.ask("waitscope_build_info", at)}  # the variable's values
    if not names >= set(GROUPS):
        yield f"instances to choose from: {names}"


def container_problems(prometheus, at):
    panel = "topk(10, sum by (instance, container_id, unit) (histogram_sum(rate(waitscope_sched_run_delay_seconds{%s!=\"\"}[10s]))))"
    for label, who in (("unit", "busy-units"), ("container_id", "busy-containers")):
        got = {m["instance"] for m, v in prometheus.ask(panel % label, at) if v > 0}
        if got != {who}:
            yield f"{label}: {got}"


def alert_problems(prometheus, at, alerts):
    fired = {}
    for m, _ in prometheus.ask('ALERTS{alertstate="firing"}', at):
        fired.setdefault(m["alertname"], set()).add(m["instance"])
    want = {a: {"silent"} if a == "WaitscopeReportsLate" else set(GROUPS) for a in alerts}
    if fired != want:
        yield f"{fired}, not {want}"


def settle(prometheus, targets, alerts):
    """Until each has been scraped ten times and some of each alert is firing, or there is no more to be scraped."""
    end_s = time.monotonic() + REPORTS - 15
    while time.monotonic() < end_s:
        time.sleep(1)
        scraped = [v for _, v in prometheus.ask("count_over_time(up[2m])")]
        firing = {m["alertname"] for m, _ in prometheus.ask('ALERTS{alertstate="firing"}')}
        if len(scraped) == targets and min(scraped) >= 10 and len(firing) == alerts:
            break
    time.sleep(2)  # what is asked for is of a second ago


def compare(prometheus, recorded, alerts):
    at = f"{time.time() - 1:.3f}"
    yield "each panel has data", list(panel_problems(prometheus, at))
    yield "units and containers are told apart", list(container_problems(prometheus, at))
    yield "each rule records", [r for r in recorded if not [v for _, v in prometheus.ask(r, at) if v > 0]]
    yield "alerts fire where they should", list(alert_problems(prometheus, at, alerts))
    yield "Prometheus has nothing to say", [prometheus.said()[:400]] if prometheus.said() else []


def main():
    where = fetched("prometheus")
    if not where:
        print("1..0 # SKIP no promtool: tests/vm/fetch.sh prometheus failed")
        return 0
    processes = []
    with tempfile.TemporaryDirectory() as d:
        begin = time.time()
        made = {name: records(d, name, by, labels, begin) for name, (by, labels) in GROUPS.items()}
        made["silent"] = [records(d, "silent", *GROUPS["busy-units"], begin - 1000)[0]]  # an old report, again and again
        targets = {name: serve(bodies) for name, bodies in made.items()}
        recorded, alerts = rules_at_once(os.path.join(d, "rules.yml"))
        try:
            prometheus = Prometheus(d, os.path.join(where, "usr/bin/prometheus"), {
                "rule_files": ["rules.yml"],
                "scrape_configs": [{"job_name": "waitscope", "scrape_interval": "1s", "scrape_timeout": "1s", "static_configs": [
                    {"targets": [target], "labels": {"instance": name}}
                    for name, target in targets.items()]}]}, "--enable-feature=native-histograms")
            processes.append(prometheus.p)
            settle(prometheus, len(targets), len(alerts))
            results = list(compare(prometheus, recorded, alerts))
        finally:
            end(*processes)
    return tell(results)


sys.exit(main())
