# SPDX-License-Identifier: GPL-2.0-or-later
"""The highest switch rate this machine can make, held: nothing lost, intervals on time."""
import json
import os
import subprocess

LATE_MAX_NS = 50_000_000
UNPAIRED_MAX = 1e-5  # of the waits: a host may hide its own tasks, and what follows one on its CPU
LOSSES = ("clamped", "map_full", "recursion_misses", "lost_events")


def switches():
    with open("/proc/stat") as f:
        for line in f:
            if line.startswith("ctxt "):
                return int(line.split()[1])
    raise ValueError("/proc/stat: no line 'ctxt'")


def pairs(build):
    """A ping-pong on every CPU."""
    return [
        subprocess.Popen([build + "/bench/pipe", str(c), str(c), "2500", "1000000"], stdout=subprocess.DEVNULL)
        for c in sorted(os.sched_getaffinity(0))
    ]


def measure(build, seconds):
    out = build + "/bench/held.json"
    load = pairs(build)
    try:
        before = switches()
        subprocess.run(
            [build + "/waitscope", "-q", "-d", str(seconds), "-o", "json:" + out, "1"], check=True
        )
        rate = (switches() - before) / seconds
    finally:
        for p in load:
            p.kill()
            p.wait()
    with open(out) as f:
        lines = [json.loads(line) for line in f]
    os.unlink(out)
    final = [line for line in lines if line["type"] == "final"][0]
    ticks = [line["mono_ns"] for line in lines if line["type"] == "interval"]
    steps = [b - a for a, b in zip(ticks, ticks[1:-1])]  # the last is cut by the end
    return {
        "seconds": seconds,
        "switches_per_s": rate,
        "waits": sum(m["count"] for m in final["metrics"]
                     if m["name"] == "sched_run_delay" and not m["labels"]),
        "quality": final["quality"],
        "off_by_ns": max(abs(s - 1_000_000_000) for s in steps),
    }


def verdicts(result):
    lost = {k: result["quality"][k] for k in LOSSES if result["quality"].get(k)}
    unpaired = result["quality"]["unpaired"] / max(1, result["waits"])
    return [
        {"what": "load held: events lost (%s)" % " ".join(lost or ["none"]), "value": sum(lost.values()),
         "limit": 0, "verdict": "met" if not lost else "missed"},
        {"what": "load held: unpaired, part of the waits", "value": unpaired, "limit": UNPAIRED_MAX,
         "verdict": "met" if unpaired <= UNPAIRED_MAX else "missed"},
        {"what": "load held: an interval's error, s", "value": result["off_by_ns"] / 1e9,
         "limit": LATE_MAX_NS / 1e9, "verdict": "met" if result["off_by_ns"] <= LATE_MAX_NS else "missed"},
    ]
