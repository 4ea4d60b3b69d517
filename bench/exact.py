# SPDX-License-Identifier: GPL-2.0-or-later
"""Quantiles out of buckets against exact ones, of the very same waits.

`--slower 0` prints every wait that the histograms of the run count: sorted, they give the exact
quantiles. Beside it what the log2 buckets of other tools would have said of them.
"""
import json
import os
import subprocess

QUANTILES = (50, 90, 99, 99.9)
METRICS = {"sched_wakeup_latency", "sched_preempt_wait"}


def rank(n, q):
    """Nearest rank, from 1."""
    tenths = round(q * 10)
    return max(1, -(-n * tenths // 1000))


def exact(ordered, q):
    return ordered[rank(len(ordered), q) - 1]


def log2_upper(ordered, q):
    """Upper edge of the power-of-two bucket, in whole microseconds, as runqlat prints them."""
    us = exact(ordered, q) // 1000
    return 1000 * ((1 << max(1, us.bit_length())) - 1)


def capture(build, seconds):
    """Lines of a run with every wait printed, under request loops slow enough to print them all."""
    out = os.path.join(build, "bench", "exact.json")
    tool = subprocess.Popen(
        ["taskset", "-c", "0", build + "/waitscope", "-s", "sched", "-q", "-d", str(seconds), "--slower", "0", "-P", "50,90,99,99.9",
         "-o", "json:" + out, "--cpu", "1"],
        stdout=subprocess.DEVNULL,
    )
    load = subprocess.Popen(
        ["taskset", "-c", "1", build + "/bench/requests", "8", "1000000", "500"], stdout=subprocess.DEVNULL
    )
    try:
        tool.wait(timeout=seconds + 30)
    finally:
        for process in (load, tool):
            process.kill()
            process.wait()
    with open(out) as f:
        lines = [json.loads(line) for line in f]
    os.unlink(out)
    return lines


def row(metric, waits):
    waits.sort()
    out = {
        "metric": metric["name"],
        "count": metric["count"],
        "events": len(waits),
        "min_max_exact": [metric["min"], metric["max"]] == [waits[0], waits[-1]],
        "quantiles": [],
    }
    for q in QUANTILES:
        true = exact(waits, q)
        ours = metric["p"]["%g" % q]
        out["quantiles"].append({
            "q": q,
            "exact_ns": true,
            "ours_ns": ours,
            "error": abs(ours - true) / true,
            "log2_error": abs(log2_upper(waits, q) - true) / true,
        })
    return out


def measure(build, seconds):
    lines = capture(build, seconds)
    final = [line for line in lines if line["type"] == "final"][0]
    waits = {}
    for line in lines:
        if line["type"] == "slow":
            waits.setdefault(line["metric"], []).append(line["wait_ns"])
    rows = [
        row(m, waits[m["name"]])
        for m in final["metrics"]
        if not m["labels"] and m["name"] in METRICS and m["name"] in waits
    ]
    return {"lost": final["quality"]["lost_events"], "metrics": rows}


def verdicts(result):
    """Only a wait for wait equal set of events can be judged."""
    worst = max(q["error"] for r in result["metrics"] for q in r["quantiles"])
    same = not result["lost"] and all(r["count"] == r["events"] for r in result["metrics"])
    exact_ends = all(r["min_max_exact"] for r in result["metrics"])
    if not same:
        words = "refused: the events are not the same"
    else:
        words = "met" if worst <= 0.011 and exact_ends else "missed"
    return [{"what": "largest quantile error; exact min and max", "value": worst, "limit": 0.011,
             "verdict": words}]
