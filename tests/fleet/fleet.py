#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet: instances on made-up data, scraped by a real Prometheus (Debian's 2.42), whose quantiles of all of them
are held against `waitscope report`, which merges their records: of all since the start, and of the window of a
rate() between the reports that Prometheus had first and last in it. TAP. fleet.py [INSTANCES [SECONDS]]
"""
import contextlib
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from servers import METRIC, WS, Instance, Prometheus, count_problems, end, merged, quantile_problems, records_of, tell
from truth import TOP, fetched

INSTANCES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
WINDOW = f"{SECONDS // 2}s"
PROTO = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


class Empty(http.server.BaseHTTPRequestHandler):
    """A machine where nothing ever waited: its histograms have no sample."""

    def do_GET(self):  # noqa: N802 # http.server's name
        self.send_response(200)
        self.send_header("Content-Type", PROTO.replace(";", "; "))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # who was ended meanwhile
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


def measure(prometheus, instances, at):
    series = prometheus.ask('count({__name__=~"waitscope_.*"})', at)[0][1]
    r = urllib.request.Request(f"http://{next(iter(instances))}/metrics", headers={"Accept": PROTO})
    with urllib.request.urlopen(r, timeout=10) as answer:
        size = len(answer.read())
    with urllib.request.urlopen(f"http://{next(iter(instances))}/metrics", timeout=10) as answer:
        text = len(answer.read())
    took = prometheus.ask('avg(scrape_duration_seconds)', at)[0][1]
    cpu = []
    for i in instances.values():
        with open(f"/proc/{i.p.pid}/stat", encoding="ascii") as f:
            cpu.append(sum(map(int, f.read().split()[13:15])) / os.sysconf("SC_CLK_TCK"))
    print(f"# {series / len(instances):.0f} series, {size} bytes a scrape (text {text}), {took * 1000:.1f} ms a scrape; "
          f"an instance used {sum(cpu) / len(cpu):.2f} s of CPU time in {SECONDS} s")


def compare(prometheus, instances, empty, d):
    at = f"{time.time() - 1:.3f}"
    up = prometheus.ask("sum(up)", at)[0][1] - 1
    cuts, shown = records_of(prometheus, instances, at, None, d)
    yield "all are scraped", [] if up == INSTANCES and min(shown) > 5 else [f"{up} of {INSTANCES}, {shown}"]
    nothing = prometheus.ask(f'histogram_count({METRIC}{{instance="{empty}"}})', at)
    yield "histograms without samples are native ones", [] if [v for _, v in nothing] == [0] else [str(nothing)]
    rows = merged(cuts)
    yield "counts are equal", list(count_problems(prometheus, at, METRIC, rows))
    yield "quantiles since the start", list(quantile_problems(prometheus, at, METRIC, rows, "since the start"))
    cuts, shown = records_of(prometheus, instances, at, WINDOW, d)
    yield "reports in the window of rate()", [] if min(shown) > 2 else [str(shown)]
    yield "quantiles by rate", list(quantile_problems(prometheus, at, f"rate({METRIC}[{WINDOW}])", merged(cuts), "by rate"))
    measure(prometheus, instances, at)
    yield "Prometheus has nothing to say", [prometheus.said()[:400]] if prometheus.said() else []


def main():
    where = fetched("prometheus")
    if not where:
        print("1..0 # SKIP no promtool: tests/vm/fetch.sh prometheus failed")
        return 0
    processes = []
    with tempfile.TemporaryDirectory() as d:
        try:
            instances = {}
            for i in range(INSTANCES):
                one = Instance(d, i)
                instances[one.target] = one
                processes.append(one.p)
            empty = serve_empty(d)
            prometheus = Prometheus(d, os.path.join(where, "usr/bin/prometheus"), {
                "global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
                "scrape_configs": [{"job_name": "waitscope", "static_configs": [
                    {"targets": [*instances, empty]}]}]}, "--enable-feature=native-histograms")
            processes.append(prometheus.p)
            time.sleep(SECONDS)
            results = list(compare(prometheus, instances, empty, d))
        finally:
            end(*processes)
    return tell(results)


sys.exit(main())
