# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel says of each of waitscope's programs, per way of use."""
import json
import os
import subprocess

import machine
from sides import Side

WAYS = (  # name in the budget file, options
    ("default", []),
    ("by-pid", ["--by", "pid"]),
    ("by-cgroup", ["--by", "cgroup"]),
    ("cgroup", ["-c", machine.cgroup_mount()]),
    ("comm", ["--comm", "a*b"]),
    ("follow", ["-p", "1", "--follow"]),
    ("slower", ["--slower", "10ms"]),
)


def of(build, side, seconds=None, load=None):
    """Its programs, while it runs; with `seconds`, run-time statistics under `load`."""
    side.start()
    try:
        command = [os.path.join(build, "bench", "progs"), str(side.process.pid)]
        if seconds:
            command.append(str(seconds))
        busy = subprocess.Popen(load, stdout=subprocess.DEVNULL) if load else None
        try:
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        finally:
            if busy:
                busy.kill()
                busy.wait()
    finally:
        side.finish()
    return [json.loads(line) for line in text.splitlines()]


def tool(build, options):
    return Side("waitscope", [os.path.join(build, "waitscope"), "-q", "-o", "json:/dev/null"] + options)


def ns_per_event(build, seconds):
    """ns of every program that ran, under the ping-pong on one CPU."""
    load = [os.path.join(build, "bench", "pipe"), "1", "1", "2500", "1000000"]
    out = []
    sides = [(way, tool(build, options)) for way, options in WAYS if way in ("default", "by-pid", "slower")]
    sides += [
        ("empty programs", Side("empty", [build + "/bench/attach", build + "/bench/empty.bpf.o"])),
        ("runqlat", Side("runqlat", ["runqlat", "1000"])),
    ]
    for way, side in sides:
        for prog in of(build, side, seconds, load):
            if prog["runs"] > 1000:
                out.append({"side": way, "program": prog["name"], "ns": prog["ns"] / prog["runs"]})
    return out


def verified(build):
    """{way: {program: instructions the verifier walked}}"""
    return {
        way: {p["name"]: p["insns"] for p in of(build, tool(build, options))} for way, options in WAYS
    }
