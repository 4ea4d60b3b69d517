# SPDX-License-Identifier: GPL-2.0-or-later
"""The highest switch rate this machine can make, held: nothing lost, intervals on time."""
import json
import os
import subprocess

LATE_MAX_NS = 50_000_000
UNPAIRED_MAX = 1e-5  # of the waits: a host may hide its own tasks, and what follows one on its CPU
# A lock's first wait on a CPU shares the row of the others if the kernel's allocator for BPF maps has no element ready
# there: of this size it keeps a few (kernel/bpf/memalloc.c), and an interrupt makes more. Seen in one start of 50.
IN_OTHERS_MAX = 1e-6
LOSSES = ("clamped", "recursion_misses", "lost_events")


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


def verdict(what, value, limit):
    return {"what": "load held: " + what, "value": value, "limit": limit,
            "verdict": "met" if value <= limit else "missed"}


def verdicts(result):
    quality, waits = result["quality"], max(1, result["waits"])
    lost = {k: quality[k] for k in LOSSES if quality.get(k)}
    return [
        verdict("events lost (%s)" % " ".join(lost or ["none"]), sum(lost.values()), 0),
        verdict("not stored where they belong (map_full), part of the waits", quality["map_full"] / waits, IN_OTHERS_MAX),
        verdict("unpaired, part of the waits", quality["unpaired"] / waits, UNPAIRED_MAX),
        verdict("an interval's error, s", result["off_by_ns"] / 1e9, LATE_MAX_NS / 1e9),
    ]
