#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet: instances on made-up data, scraped by a real Prometheus (Debian's 2.42), whose quantiles of all of them
are held against `waitscope report`, which merges their records. TAP. fleet.py [INSTANCES [SECONDS]]

Prometheus adds native histograms of schema 3; the records have schema 5. So counts are equal, and quantiles lie
within a bucket of schema 3 of each other. What rate() gives is of its own window, whose samples are others: there a
quantile's rank is that of the whole record, but for what chance makes of some thousand samples.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "export"))
from truth import fetched, moment_ns  # noqa: E402

WS = os.path.abspath(os.path.join(os.environ.get("O", "build"), "waitscope"))
INSTANCES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
METRIC = "waitscope_sched_wakeup_latency_seconds"
BUCKET = 2 ** (1 / 8) * 1.0001
CHANCE = 0.02  # of ranks
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
QUANTILES = ("0.5", "0.99", "0.999")
PROTO = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


class Instance:
    def __init__(self, d, i):
        self.record = os.path.join(d, f"{i}.json")
        # Not in step with each other, so that their data differ; -b comm: a few groups, some with odd names.
        self.p = subprocess.Popen([WS, "-s", "synth", "-b", "comm", "--listen", "localhost:0", "-i", f"{0.7 + i % 13 / 20:.2f}",
                                   "-o", f"json:{self.record}"], stderr=subprocess.PIPE, text=True)
        self.target = re.search(r"http://([^/]*)/", self.p.stderr.readline())[1]

    def cut(self, until_ns, to):
        """Its record up to the report that Prometheus had."""
        n = 0
        with open(self.record, encoding="utf-8") as f, open(to, "w", encoding="utf-8") as out:
            for line in f:
                if not line.endswith("\n"):
                    break
                r = json.loads(line)
                if r["type"] == "meta" or (r["type"] == "interval" and moment_ns(r["ts"]) <= until_ns):
                    out.write(line)
                    n += r["type"] == "interval"
        return n


class Prometheus:
    def __init__(self, d, targets):
        config = os.path.join(d, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as f:
            json.dump({"global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
                       "scrape_configs": [{"job_name": "waitscope", "static_configs": [{"targets": targets}]}]}, f)
        self.log = open(os.path.join(d, "log"), "w+", encoding="utf-8")
        self.p = subprocess.Popen(
            [os.path.join(fetched("prometheus"), "usr/bin/prometheus"), f"--config.file={config}", "--log.level=warn",
             f"--storage.tsdb.path={d}/tsdb", "--web.listen-address=127.0.0.1:0", "--enable-feature=native-histograms"],
            stdout=self.log, stderr=subprocess.STDOUT)
        self.url = f"http://127.0.0.1:{self.port()}"

    def port(self):
        """It does not say which one it got: the one socket that it listens on."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.p.poll() is None:
            fds = f"/proc/{self.p.pid}/fd"
            inodes = {os.readlink(os.path.join(fds, x))[8:-1] for x in os.listdir(fds)
                      if os.readlink(os.path.join(fds, x)).startswith("socket:")}
            with open(f"/proc/{self.p.pid}/net/tcp", encoding="ascii") as f:
                for line in f:
                    w = line.split()
                    if len(w) > 9 and w[3] == "0A" and w[9] in inodes:
                        return int(w[1].split(":")[1], 16)
            time.sleep(0.2)
        raise RuntimeError("Prometheus does not listen")

    def ask(self, query, at=None):
        args = {"query": query, **({"time": at} if at else {})}
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{urllib.parse.urlencode(args)}", timeout=60) as r:
            return [(x["metric"], float(x["value"][1])) for x in json.load(r)["data"]["result"] if "value" in x]


def label_key(labels):
    return labels.get("comm")


def merged(cuts):
    """metric of `waitscope report`, by group: count and quantiles in seconds."""
    out = subprocess.run([WS, "report", "-q", *cuts, "-P", "50,99,99.9", "-o", "json"], capture_output=True, text=True, check=True)
    final = json.loads(out.stdout.splitlines()[-1])
    assert final["type"] == "final"
    rows = {}
    for m in final["metrics"]:
        if m["name"] == "sched_wakeup_latency" and "cpu" not in m["labels"]:
            rows[label_key({k: clean(v) for k, v in m["labels"].items()})] = (
                m, {q: m["p"][p] / 1e9 for q, p in zip(QUANTILES, ("50", "99", "99.9"))})
    return rows


def share_below(m, seconds):
    """Of a metric's samples, from its buckets: at most those of buckets that begin below."""
    b = m["buckets"]
    n = b["zero"] + sum(c for k, c in enumerate(b["counts"]) if 2 ** ((b["offset"] + k) / 2 ** b["schema"]) <= seconds)
    return n / m["count"]


class Empty(http.server.BaseHTTPRequestHandler):
    """A machine where nothing ever waited: its histograms have no sample."""

    def do_GET(self):  # noqa: N802 # http.server's name
        self.send_response(200)
        self.send_header("Content-Type", PROTO.replace(";", "; "))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_):
        pass


def serve_empty(d):
    to = os.path.join(d, "empty.pb")
    subprocess.run([WS, "report", "-q", os.path.join(TOP, "tests/golden/expected/empty.json"), "-o", f"prom-proto:{to}"], check=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    with open(to, "rb") as f:
        server.body = f.read()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_address[1]}"


def clean(text):
    return re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\x{ord(c[0]):02x}", text)


def compare(prometheus, at, rows):
    """At one moment: counts are equal, quantiles within a bucket; and so by rate, as a fleet is watched."""
    counts = {label_key(m): v for m, v in prometheus.ask(f"histogram_count(sum by (comm) ({METRIC}))", at)}
    want = {k: m["count"] for k, (m, _) in rows.items()}
    yield "counts are equal", [] if counts == want else [f"{counts}, not {want}"]
    for what, query, chance in (("since the start", METRIC, 0), ("by rate", f"rate({METRIC}[{SECONDS // 2}s])", CHANCE)):
        problems = []
        for q in QUANTILES:
            got = {label_key(m): v for m, v in prometheus.ask(f"histogram_quantile({q}, sum by (comm) ({query}))", at)}
            for key, (m, quantiles) in rows.items():
                low, high = share_below(m, got[key] / BUCKET), share_below(m, got[key] * BUCKET)
                if not chance or key is None:
                    print(f"# {what} {key} {q}: {got[key]:.3g} s, merged records {quantiles[q]:.3g} s")
                right = low - chance <= float(q) <= high + chance
                if not (right and (chance or 1 / BUCKET <= got[key] / quantiles[q] <= BUCKET)):
                    problems.append(f"{key} {q}: {got[key]}, not {quantiles[q]}: rank between {low} and {high}")
        yield f"quantiles {what}", problems


def measure(prometheus, instances, at):
    series = prometheus.ask('count({__name__=~"waitscope_.*"})', at)[0][1]
    r = urllib.request.Request(f"http://{instances[0].target}/metrics", headers={"Accept": PROTO})
    with urllib.request.urlopen(r, timeout=10) as answer:
        size = len(answer.read())
    with urllib.request.urlopen(f"http://{instances[0].target}/metrics", timeout=10) as answer:
        text = len(answer.read())
    took = prometheus.ask('avg(scrape_duration_seconds)', at)[0][1]
    cpu = []
    for i in instances:
        with open(f"/proc/{i.p.pid}/stat", encoding="ascii") as f:
            cpu.append(sum(map(int, f.read().split()[13:15])) / os.sysconf("SC_CLK_TCK"))
    print(f"# {series / len(instances):.0f} series, {size} bytes a scrape (text {text}), {took * 1000:.1f} ms a scrape; "
          f"an instance used {sum(cpu) / len(cpu):.2f} s of CPU time in {SECONDS} s")


def main():
    if not fetched("prometheus"):
        print("1..0 # SKIP no promtool: tests/vm/fetch.sh prometheus failed")
        return 0
    bad = n = 0
    with tempfile.TemporaryDirectory() as d:
        instances = [Instance(d, i) for i in range(INSTANCES)]
        prometheus = None
        try:
            empty = serve_empty(d)
            prometheus = Prometheus(d, [*[i.target for i in instances], empty])
            time.sleep(SECONDS)
            at = f"{time.time() - 1:.3f}"
            up = prometheus.ask("sum(up)", at)[0][1] - 1
            # Values of Prometheus are doubles: microseconds of a Unix time are all there.
            times = {m["instance"]: v for m, v in prometheus.ask("waitscope_report_timestamp_seconds", at)}
            cuts = [os.path.join(d, f"cut{k}.json") for k in range(INSTANCES)]
            shown = [i.cut(int(times[i.target] * 1e9) + 1000, c) for i, c in zip(instances, cuts)]
            results = [("all are scraped", [] if up == INSTANCES and min(shown) > 5 else [f"{up} of {INSTANCES}, {shown}"])]
            nothing = prometheus.ask(f'histogram_count({METRIC}{{instance="{empty}"}})', at)
            results.append(("histograms without samples are native ones", [] if [v for _, v in nothing] == [0] else [str(nothing)]))
            results += compare(prometheus, at, merged(cuts))
            measure(prometheus, instances, at)
            prometheus.log.seek(0)
            log = prometheus.log.read()
            results.append(("Prometheus has nothing to say", [log[:400]] if log else []))
        finally:
            for p in [i.p for i in instances] + ([prometheus.p] if prometheus else []):
                p.terminate()
            for p in [i.p for i in instances] + ([prometheus.p] if prometheus else []):
                p.wait(60)
    for name, problems in results:
        n += 1
        bad += bool(problems)
        print(f"{'not ' if problems else ''}ok {n} - {name}")
        for p in problems:
            print(f"# {p}")
    print(f"1..{n}")
    return bool(bad)


sys.exit(main())
