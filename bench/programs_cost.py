# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says of each of waitscope's programs, per way of use."""
import json
import math
import os
import re
import subprocess

import machine
import sides
from sides import Failed

ALL = ["-s", "sched,ext4,lock,futex,line"]
WAYS = (  # name in the budget file, options
    ("default", ALL),
    ("by-pid", ALL + ["--by", "pid"]),
    ("by-cgroup", ALL + ["--by", "cgroup"]),
    ("by-file", ["-s", "ext4", "--by", "file"]),
    ("cgroup", ALL + ["-c", machine.cgroup_mount()]),
    ("comm", ALL + ["--comm", "a*b"]),
    ("cpu", ALL + ["--cpu", "0"]),
    ("es-time", ["-s", "ext4", "--es-time"]),
    ("follow", ALL + ["-p", "1", "--follow"]),
    ("slower", ALL + ["--slower", "10ms"]),
    ("stack-each", ["-s", "lock", "--stack-every", "1"]),
    ("why", ["-s", "sched,lock,futex", "--why"]),
    ("why-by-pid", ["-s", "sched", "--why", "--by", "pid"]),
    ("why-slower", ["-s", "sched,lock,futex", "--why", "--slower", "10ms"]),
)
PMU = ["-s", "line", "--line-source", "pmu"]
PMU_WAYS = (  # on a machine that is made to have one (sides.own_pmu)
    ("pmu", PMU),
    ("pmu-cgroup", PMU + ["-c", machine.cgroup_mount()]),
    ("pmu-follow", PMU + ["-p", "1", "--follow"]),
)
RAW_WAYS = (  # as on a kernel without BTF
    ("raw-default", []),
    ("raw-by-pid", ["--by", "pid"]),
    ("raw-by-cgroup", ["--by", "cgroup"]),
    ("raw-cgroup", ["-c", machine.cgroup_mount()]),
    ("raw-comm", ["--comm", "a*b"]),
    ("raw-follow", ["-p", "1", "--follow"]),
    ("raw-slower", ["--slower", "10ms"]),
)
ON_DEMAND = ("ws_peek", "ws_here", "ws_slab")  # names: loaded when something is first named

# Loads that run until they are killed; FILE is one on the private ext4.
LOADS = {
    "pipe": ["bench/pipe", "1", "1", "2500", "1000000"],
    "look-ups": ["bench/calls", "lookup", "5000", "1000000", "FILE"],
    "4 KiB pwrites": ["bench/calls", "pwrite", "5000", "1000000", "FILE"],
    "writes with fsync": ["tests/load/fswrite", "--fsync", "--over", "FILE", "100000000", "4096"],
    "pipe's mutex": ["tests/load/locks", "pipe", "2", "3600000"],
    "futex calls": ["bench/requests", "8", "10000000"],
    "shared line": ["tests/load/lines", "plain", "3600"],
}
RUNS_MIN = 1000  # fewer say nothing
SAMPLED_RUNS_MIN = 200
WINDOW_S, SAMPLED_WINDOW_S = "0.15", "0.5"  # the clock source has some 2,000 events a second


def programs_of(build, pid, *window):
    run = subprocess.run(
        [os.path.join(build, "bench", "progs"), str(pid), *window], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def of(build, side):
    """Its programs as loaded."""
    side.start()
    try:
        return programs_of(build, side.process.pid)
    finally:
        side.finish()


def fastest(build, side, windows, sampled):
    """{program: ns per run}, of its least disturbed window."""
    best = {}
    runs_min, window = (SAMPLED_RUNS_MIN, SAMPLED_WINDOW_S) if sampled else (RUNS_MIN, WINDOW_S)
    side.start()
    try:
        for _ in range(windows):
            for p in programs_of(build, side.process.pid, window):
                if p["runs"] > runs_min:
                    best[p["name"]] = min(best.get(p["name"], math.inf), p["ns"] / p["runs"])
    finally:
        side.finish()
    return best


def table(build, quick):
    """(load, sides)"""
    def own(*options):
        return sides.own(build, "-s", *options)

    def few(always, more):
        return always if quick else always + more

    ext4_empty = sides.empty(build, "empty_ext4")
    return [
        ("pipe", few(
            [own("sched"), sides.empty(build, "empty")],
            [sides.own(build), own("sched", "--why"), own("sched", "--by", "pid"), own("sched", "--by", "cgroup"),
             own("sched", "--slower", "10ms"), sides.Side("runqlat", ["runqlat", "1000"])])),
        ("look-ups", few(
            [own("ext4"), ext4_empty],
            [own("ext4", "--by", "pid"), own("ext4", "--by", "file"), own("ext4", "--es-time")])),
        ("4 KiB pwrites", few(
            [own("ext4")],
            [ext4_empty, sides.attached(build, "fsdist's scheme", "fsdist_scheme"),
             own("ext4", "--by", "pid"), own("ext4", "--by", "file"), own("ext4", "--slower", "10ms")])),
        ("writes with fsync", few([], [own("ext4")])),
        ("pipe's mutex", few(
            [own("lock"), own("lock", "--stack-every", "1")],
            [sides.empty(build, "empty_lock"), own("lock", "--stack-every", "100"), own("lock", "--by", "pid")])),
        ("futex calls", few(
            [own("futex")],
            [sides.empty(build, "empty_futex"), own("futex", "--by", "pid")])),
        ("shared line", few([own("line")], [sides.empty(build, "empty_line")])),
    ]


def under(build, load, some, place, windows):
    command = [a.replace("FILE", place.file("cost")) for a in LOADS[load]]
    command[0] = os.path.join(build, command[0])
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    out = []
    try:
        for side in some:
            try:
                best = fastest(build, side, windows, load == "shared line")
            except Failed:
                continue  # the comparison has said why
            out += [{"load": load, "side": side.name, "program": name, "ns": ns}
                    for name, ns in sorted(best.items())]
    finally:
        process.kill()
        process.wait()
    return out


def ns_per_event(build, place, quick):
    """Every program that runs, under loads of its own, the statistics' own 20 to 30 ns included."""
    out = []
    for load, some in table(build, quick):
        out += under(build, load, some, place, 1 if quick else 12) if some else []
    return out


def object_name(kept):
    """The kernel keeps 8 characters of "sched_bpf"."""
    return re.sub(r"_b(pf?)?$", "", kept) or "?"


def verified(build):
    """{(object, way, program): instructions the verifier walked}"""
    out = {}
    loaded = [(way, sides.own(build, *options)) for way, options in WAYS]
    loaded += [(way, sides.own_pmu(build, *options)) for way, options in PMU_WAYS]
    loaded += [(way, sides.own_raw(build, *options)) for way, options in RAW_WAYS]
    for way, side in loaded:
        for p in of(build, side):
            key = object_name(p["object"]), way, p["name"]
            if p["name"] in ON_DEMAND or not p["name"].startswith("ws_"):  # libbpf tries the kernel with some of its own
                continue
            if key in out:
                raise ValueError("two programs are called %s in %s" % (p["name"], key[0]))
            out[key] = p["insns"]
    return out
