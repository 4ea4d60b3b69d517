#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the programs of --why take of the stack, as kernels before 6.13 add it up. TAP.

There the frames of a chain of calls, each rounded up to 32 bytes, may have 512 together; since then the functions
of a tracing program have private stacks where the machine can do it, and a newer kernel would not notice. Counted in the translated programs, of which dead code is gone.
"""
import bisect
import os
import re
import sys

import budgets
import programs_cost as progs
import sides
from sides import Failed
from simulate import bpftool

LIMIT = 512
SLACK = {"clang14": 32}  # compilers differ in what they spill: it is the others'. 64 until futexes had three classes of waits
ROUND = 32
WHY = ["-s", "sched,lock,futex", "--why"]
WAYS = (
    ("why", WHY),
    ("why-by-pid", WHY + ["--by", "pid", "--slower", "10ms"]),
    ("why-by-tid", WHY + ["--by", "tid", "--slower", "10ms"]),
    ("why-by-comm", WHY + ["--by", "comm", "--comm", "a*b"]),
    ("why-by-cgroup", WHY + ["--by", "cgroup", "--slower", "10ms"]),
)


class Functions:
    """The frames and calls of a translated program."""

    def __init__(self, text):
        code = [(int(m.group(1)), m.group(2)) for m in re.finditer(r"^ *(\d+): \([0-9a-f]{2}\) (.*)$", text, re.M)]
        calls = [(pc, pc + 1 + int(m.group(1))) for pc, words in code
                 for m in re.finditer(r"^call pc([+-]\d+)", words)]
        self.starts = sorted({0} | {to for _, to in calls})
        self.frame = dict.fromkeys(self.starts, 1)
        self.called = {start: set() for start in self.starts}
        for pc, to in calls:
            self.called[self.of(pc)].add(to)
        copied = {}  # register: where it became the frame pointer
        for pc, words in code:
            for depth in re.findall(r"\(r10 -(\d+)\)", words):
                self.deepen(pc, int(depth))
            m = re.match(r"(r\d) = r10$", words)
            if m:
                copied[m.group(1)] = pc
            m = re.match(r"(r\d) \+= -(\d+)$", words)
            if m and copied.get(m.group(1)) == pc - 1:
                self.deepen(pc, int(m.group(2)))

    def of(self, pc):
        return self.starts[bisect.bisect_right(self.starts, pc) - 1]

    def deepen(self, pc, depth):
        self.frame[self.of(pc)] = max(self.frame[self.of(pc)], depth)

    def deepest(self, start=0):
        below = max((self.deepest(to) for to in self.called[start]), default=0)
        return (self.frame[start] + ROUND - 1) // ROUND * ROUND + below


def measured(build):
    """(way, program, bytes); of programs that are the same in several ways the first"""
    seen = set()
    for way, options in WAYS:
        side = sides.own(build, *options)
        side.start()
        try:
            for p in progs.programs_of(build, side.process.pid):
                same = p["name"], p["insns"], p["xlated"]
                if p["name"].startswith("ws_") and same not in seen:
                    seen.add(same)
                    text = bpftool("prog", "dump", "xlated", "id", str(p["id"]))
                    yield way, p["name"], Functions(text).deepest()
        finally:
            side.finish()


def main():
    if os.geteuid() != 0:
        print("1..0 # SKIP stack: BPF needs root")
        return 0
    build = os.environ.get("O", "build")
    limit = LIMIT - SLACK.get(budgets.compiler(build), 0)
    try:
        rows = list(measured(build))
    except Failed as e:
        print("1..1\nnot ok 1 - programs loaded: waitscope %s" % e)
        return 1
    print("1..%d" % len(rows))
    for i, (way, name, depth) in enumerate(rows, 1):
        print("%s %d - %s, %s: %d bytes of stack, at most %d" % (
            "ok" if depth <= limit else "not ok", i, way, name, depth, limit))
    return 0 if all(depth <= limit for _, _, depth in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
