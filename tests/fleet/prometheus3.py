#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prometheus 3, built for this (tests/vm/fetch.sh prometheus3), which gets the same waits twice: it scrapes native and
classic histograms together, and the same instances send to its OTLP receiver. Both ways lead to the same series,
with the counts and the quantiles that `waitscope report` has. TAP. prometheus3.py [INSTANCES [SECONDS]]
"""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from servers import (METRIC, Instance, Prometheus, count_problems, empty_problems, end, group_of, merged, quantile_problems,
                     records_of, serve_empty, tell)
from truth import EDGES, TOP, fetched

INSTANCES = int(sys.argv[1]) if len(sys.argv) > 1 else 4
SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 30
WINDOW = f"{SECONDS // 2}s"
SCRAPED, SENT = '{job="scraped"}', '{job="waitscope"}'  # the latter is OTLP's service.name
ONLY_SENT = {"waitscope_reports_total", "waitscope_rejected_points_total"}


def classic_problems(prometheus, at, rows):
    """Cumulative buckets at powers of two seconds, each of whole buckets of the records."""
    got = {}
    for labels, v in prometheus.ask(f"sum by (comm, le) ({METRIC}_bucket{SCRAPED})", at):
        got.setdefault(group_of(labels), {})[float(labels["le"])] = v
    for key, (m, _) in rows.items():
        b = m["buckets"]
        want = {2.0**e: b["zero"] + sum(c for k, c in enumerate(b["counts"]) if b["offset"] + k <= e * 2 ** b["schema"])
                for e in EDGES}
        want[float("inf")] = m["count"]
        if got.get(key) != want:
            yield f"{key}: {got.get(key)}, not {want}"


def series_of(prometheus, at, selector):
    """Names and labels, but those that say who was asked."""
    return {frozenset((k, v) for k, v in x["metric"].items() if k not in ("job", "instance"))
            for x in prometheus.results(f'{{__name__=~"waitscope_.*",{selector[1:]}', at)}


def same_series(prometheus, at):
    scraped = {s for s in series_of(prometheus, at, SCRAPED) if not re.search("_(bucket|count|sum)$", dict(s)["__name__"])}
    sent = {s for s in series_of(prometheus, at, SENT) if dict(s)["__name__"] not in ONLY_SENT}
    if scraped != sent or len(sent) < 50:
        yield f"{len(scraped)} and {len(sent)}; of one alone: {[dict(s) for s in scraped ^ sent][:8]}"


def promtool_problems(where, target):
    """Of its promtool, whose rules are stricter than Debian's: nothing but that all is well."""
    here = os.path.join(TOP, "packaging/prometheus")
    with urllib.request.urlopen(f"http://{target}/metrics", timeout=10) as r:
        text = r.read()
    for words, stdin in ((["config", f"{here}/prometheus.yml"], b""), (["metrics"], text),
                         (["rules", "--lint=all", "--lint-fatal", f"{here}/waitscope.rules.yml"], b"")):
        r = subprocess.run([os.path.join(where, "promtool"), "check", *words], input=stdin, capture_output=True, check=False)
        if r.returncode or r.stderr or (r.stdout and b"SUCCESS" not in r.stdout):
            yield f"check {words}: {r.stdout.decode()}{r.stderr.decode()}"


def compare(prometheus, scraped, sent, empty, d):
    at = f"{time.time() - 1:.3f}"
    up = prometheus.ask("sum(up)", at)[0][1] - 1
    yield "histograms without samples are native ones", list(empty_problems(prometheus, at, empty))
    cuts, shown = records_of(prometheus, scraped, at, None, d, SCRAPED)
    yield "all are scraped", [] if up == INSTANCES and min(shown) > 5 else [f"{up} of {INSTANCES}, {shown}"]
    rows = merged(cuts)
    yield "scraped: classic buckets beside native ones", list(classic_problems(prometheus, at, rows))
    for what, instances, selector in (("scraped", scraped, SCRAPED), ("sent by OTLP", sent, SENT)):
        cuts, shown = records_of(prometheus, instances, at, None, d, selector)
        rows = merged(cuts)
        yield f"{what}: reports", [] if min(shown) > 5 else [str(shown)]
        yield f"{what}: counts are equal", list(count_problems(prometheus, at, METRIC + selector, rows))
        yield f"{what}: quantiles since the start", list(
            quantile_problems(prometheus, at, METRIC + selector, rows, f"{what}, since the start"))
        cuts, shown = records_of(prometheus, instances, at, WINDOW, d, selector)
        yield f"{what}: reports in the window of rate()", [] if min(shown) > 2 else [str(shown)]
        yield f"{what}: quantiles by rate", list(quantile_problems(
            prometheus, at, f"rate({METRIC}{selector}[{WINDOW}])", merged(cuts), f"{what}, by rate"))
    yield "the same series by both ways", list(same_series(prometheus, at))
    yield "Prometheus has nothing to say", [prometheus.said()[:400]] if prometheus.said() else []


def main():
    where = fetched("prometheus3")
    if not where:
        print("1..0 # SKIP no Prometheus 3: tests/vm/fetch.sh prometheus3 failed")
        return 0
    processes = []
    with tempfile.TemporaryDirectory() as d:
        targets = os.path.join(d, "targets.json")
        try:
            prometheus = Prometheus(d, os.path.join(where, "prometheus"), {
                "scrape_configs": [{"job_name": "scraped", "scrape_interval": "2s", "scrape_timeout": "2s",
                                    "scrape_native_histograms": True, "always_scrape_classic_histograms": True,
                                    "file_sd_configs": [{"files": [targets], "refresh_interval": "1s"}]}]},
                                    "--web.enable-otlp-receiver")
            processes.append(prometheus.p)
            scraped, sent, empty = {}, {}, serve_empty(d)
            for i in range(INSTANCES):
                one = Instance(d, i, "-o", f"otlp:{prometheus.url}/api/v1/otlp/v1/metrics")
                scraped[one.target] = sent[f"{socket.gethostname()}:{one.p.pid}"] = one
                processes.append(one.p)
            with open(targets + ".part", "w", encoding="utf-8") as f:
                json.dump([{"targets": [*scraped, empty]}], f)
            os.rename(targets + ".part", targets)
            time.sleep(SECONDS)
            results = [*compare(prometheus, scraped, sent, empty, d),
                       ("promtool 3: metrics, rules, configuration", list(promtool_problems(where, next(iter(scraped)))))]
        finally:
            end(*processes)
    return tell(results)


sys.exit(main())
