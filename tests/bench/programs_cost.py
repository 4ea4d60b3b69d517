# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says of each of waitscope's programs, per way of use."""
import json
import math
import os
import subprocess

import machine
from sides import Failed, Side

WAYS = (  # name in the budget file, options
    ("default", []),
    ("by-pid", ["--by", "pid"]),
    ("by-cgroup", ["--by", "cgroup"]),
    ("cgroup", ["-c", machine.cgroup_mount()]),
    ("comm", ["--comm", "a*b"]),
    ("follow", ["-p", "1", "--follow"]),
    ("slower", ["--slower", "10ms"]),
)
RAW_WAYS = tuple(("raw-" + way, options) for way, options in WAYS)  # as on a kernel without BTF
NOBTF = os.path.join(os.path.dirname(__file__), "..", "kernel", "nobtf.sh")


COSTED = ("default", "by-pid", "by-cgroup", "slower")
RUNS_MIN = 1000  # fewer say nothing
WINDOW_S = "0.15"


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


def tool(build, options, launch=()):
    program = os.path.join(build, "waitscope")
    return Side("waitscope", [*launch, program, "-q", "-o", "json:/dev/null"] + options)


def raw_tool(build, options):
    return tool(build, ["-s", "sched", "--btf", "/sys/kernel/btf/copy"] + options, [NOBTF])


def fastest(build, side, windows):
    """{program: ns per run}, of its least disturbed window."""
    best = {}
    side.start()
    try:
        for _ in range(windows):
            for p in programs_of(build, side.process.pid, WINDOW_S):
                if p["runs"] > RUNS_MIN:
                    best[p["name"]] = min(best.get(p["name"], math.inf), p["ns"] / p["runs"])
    finally:
        side.finish()
    return best


def sides(build):
    out = [(way, tool(build, options)) for way, options in WAYS if way in COSTED]
    attach = [build + "/bench/attach", build + "/bench/empty.bpf.o"]
    out.append(("empty programs", Side("empty programs", attach)))
    out.append(("runqlat", Side("runqlat", ["runqlat", "1000"])))
    return out


def ns_per_event(build, windows):
    """Every program that runs, under the ping-pong on one CPU, the statistics' own 20 to 30 ns included."""
    load = subprocess.Popen(
        [build + "/bench/pipe", "1", "1", "2500", "1000000"], stdout=subprocess.DEVNULL
    )
    out = []
    try:
        for way, side in sides(build):
            try:
                best = fastest(build, side, windows)
            except Failed:
                continue  # the comparison has said why
            out += [{"side": way, "program": name, "ns": ns} for name, ns in sorted(best.items())]
    finally:
        load.kill()
        load.wait()
    return out


ON_DEMAND = ("ws_peek", "ws_here", "ws_slab")  # names: loaded when something is first named


def verified(build):
    """{way: {program: instructions the verifier walked}}"""
    sides = [(way, tool(build, options)) for way, options in WAYS]
    sides += [(way, raw_tool(build, options)) for way, options in RAW_WAYS]
    return {
        way: {p["name"]: p["insns"] for p in of(build, side) if p["name"] not in ON_DEMAND}
        for way, side in sides
    }
