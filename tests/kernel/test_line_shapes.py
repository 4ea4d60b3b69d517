#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Shapes of code (tests/load/shapes.c, .rs, .go) by all compilers at all levels, with default options: two threads
that fight over a line are found, whatever the code is like; the same code on lines of their own is not blamed.

Some of the table in each run; all of it in make check-all and with WS_SHAPES=all, which takes half an hour, or of single shapes or builds:
WS_SHAPES=arms,flag or WS_SHAPES=go-O2,rustc-O0.
"""
import os
import sys

import harness
from harness import KernelTest
from test_line import lines_of
from test_line_counts import samples

SHAPES = ("arms", "two_arms", "flag", "handshake", "add", "ticket", "swap", "spin", "choose", "count", "rare",
          "call", "leave", "refs", "queue", "seq", "nest")
BUILDS = tuple("%s-%s" % (c, o) for c in ("gcc", "clang", "rustc") for o in ("O0", "O1", "O2", "O3")) + (
    "go-O0", "go-O2")
# What was missed before there were short watches and pointers in slots of the stack.
SHORT = (("gcc-O0", "flag"), ("gcc-O0", "two_arms"), ("gcc-O1", "arms"), ("gcc-O1", "queue"), ("clang-O1", "arms"),
         ("rustc-O0", "choose"), ("rustc-O2", "count"), ("go-O2", "ticket"), ("go-O0", "arms"),
         # and before a line was watched that one thread was seen to read, and nobody to write
         ("rustc-O0", "flag"), ("rustc-O0", "queue"), ("clang-O1", "queue"))
SHORT_CONTROL = (("gcc-O0", "handshake"), ("gcc-O1", "arms"), ("clang-O2", "two_arms"), ("rustc-O0", "arms"),
                 ("go-O2", "ticket"), ("rustc-O0", "flag"), ("clang-O1", "queue"),
                 # a register that is a pointer on one way is a small number on the other
                 ("gcc-O3", "nest"), ("rustc-O1", "nest"))
SECONDS = 2
TRIES = 5
CPU_SHARE = 0.1  # of a CPU, for each thread
BUDGET_NS = 5000000
HELD_UP_NS = 60000000  # a machine that is shared may hold up who is to give the registers back, in less than half of the runs


def chosen(short):
    words = [w for w in os.environ.get("WS_SHAPES", "").split(",") if w]
    if not words:
        return short
    builds = [b for b in BUILDS if b in words] or BUILDS
    shapes = [s for s in SHAPES if s in words] or SHAPES
    return [(b, s) for b in builds for s in shapes]


def processor():
    with open("/proc/cpuinfo") as f:
        said = dict(line.rstrip("\n").split(":", 1) for line in f if ":" in line)
    said = {k.strip(): v.strip() for k, v in said.items()}
    return "%s, family %s model %s" % (said.get("model name"), said.get("cpu family"), said.get("model"))


class TooLittle(Exception):
    """The load had too little of the CPUs."""


class Shapes(KernelTest):
    def setUp(self):
        super().setUp()
        self.two_cpus()
        self.watched = []

    def sample(self, build, shape, mode):
        """(the line, the rows of the load by their lines); the threads ran."""
        for _ in range(TRIES):
            load = self.load("shapes-" + build, shape, mode, SECONDS + 0.5)
            said = load.line()
            tool = self.tool("-s", "line", "--line-source", "clock", "-p", said["pid"], "-d", SECONDS)
            report = tool.end()
            (end,) = load.end()
            n = samples(report.final)
            self.assertEqual(sum(n.values()) - n["all"], n["all"], n)
            quality = report.final["quality"]
            self.assertEqual(quality["watches"], sum(i["quality"]["watches"] for i in report.intervals))
            self.assertLess(quality["watched_ns"], HELD_UP_NS)
            self.assertEqual(quality["watched_ns"] > 0, quality["watches"] > 0)
            self.watched.append(quality["watched_ns"])
            if min(end["cpu_ns"]) / 1e9 >= CPU_SHARE * SECONDS:
                return int(said["line"], 16), lines_of(report.final, said["pid"])
        raise TooLittle

    def table(self, cells, look):
        missing = set()
        wrong, idle = [], []
        for build, shape in cells:
            if not os.path.exists(harness.load_path("shapes-" + build)):
                missing.add(build)
                continue
            try:
                why = look(build, shape)
            except TooLittle:
                idle.append("%s %s" % (build, shape))
                continue
            if os.environ.get("WS_SHAPES"):
                print("# %s %s: %s" % (build, shape, why or "right"), file=sys.stderr, flush=True)
            if why:
                wrong.append("%s %s: %s" % (build, shape, why))
        if len(missing) == len({b for b, _ in cells}):
            self.skipTest("no compiler built them")
        if 2 * len(idle) > len(cells):
            self.skipTest("the load had too little of the CPUs")
        if idle:
            self.note("had too little of the CPUs: %s", ", ".join(idle))
        if missing:
            self.note("not built: %s", ", ".join(sorted(missing)))
        self.note("%s: %d of %d wrong; debug registers taken %.1f ms in a run at most", processor(), len(wrong),
                  len(cells), max(self.watched) / 1e6)
        self.assertLess(sorted(self.watched)[len(self.watched) // 2], BUDGET_NS)
        self.assertEqual(wrong, [])

    def test_hot(self):
        """each shape's line is found"""
        def look(build, shape):
            for _ in range(TRIES):
                line, rows = self.sample(build, shape, "hot")
                if set(rows) - {line}:
                    return "others are blamed: %s" % [hex(a) for a in rows]
                if line in rows:
                    return None
            return "missed"

        self.table(chosen(SHORT), look)

    def test_control(self):
        """the same code on lines of the threads' own: nothing is contended"""
        def look(build, shape):
            _, rows = self.sample(build, shape, "control")
            return "blamed: %s" % {hex(a): r["count"] for a, r in rows.items()} if rows else None

        self.table(chosen(SHORT_CONTROL), look)


if __name__ == "__main__":
    harness.main()
