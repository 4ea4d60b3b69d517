#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A fleet: instances on made-up data, scraped by a real Prometheus (Debian's 2.42), whose quantiles of all of them
are held against `waitscope report`, which merges their records: of all since the start, and of the window of a
rate() between the reports that Prometheus had first and last in it. TAP. fleet.py [INSTANCES [SECONDS]]
"""
import os
import sys
import tempfile
import time
import urllib.request

from servers import (METRIC, PROTO, Instance, Prometheus, count_problems, empty_problems, end, merged, quantile_problems,
                     records_of, serve_empty, tell)
from truth import fetched

INSTANCES = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 40
WINDOW = f"{SECONDS // 2}s"


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
    yield "histograms without samples are native ones", list(empty_problems(prometheus, at, empty))
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
