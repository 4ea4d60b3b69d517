#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Arms that meet again (tests/load/arms.c): the line that both threads' arms work on is found; where none
of them ever ran it is not blamed, though its code stands before the place where they meet.

How far behind the instruction that is waited for an interrupt is taken is the processor's: what is found is
found by chance, as in test_line.py, and what is not there is never shown.
"""
import os
import platform

import harness
from harness import KernelTest
from test_line import lines_of
from test_line_counts import samples

COMPILERS = ("gcc", "clang")
LEVELS = ("O1", "O2", "O3")
SECONDS = 2.5
CPU_SHARE = 0.15  # of a CPU, for each thread
TRIES = 4


class Arms(KernelTest):
    def setUp(self):
        super().setUp()
        self.two_cpus()

    def builds(self):
        have = [name for name in ("arms-%s-%s" % (c, o) for c in COMPILERS for o in LEVELS)
                if os.path.exists(harness.load_path(name))]
        missing = [c for c in COMPILERS if not any(c in name for name in have)]
        if not have:
            self.skipTest("no compiler built it")
        if missing:
            self.note("not built: no %s", ", ".join(missing))
        return have

    def sample(self, build, mode, *args, seconds=SECONDS):
        """(shapes by the address of their line, the final report); the threads ran."""
        for _ in range(TRIES):
            load = self.load(build, mode, seconds)
            said = load.line()
            tool = self.tool("-s", "line", "--line-source", "clock", "--freq", 2500, "-p", said["pid"], *args, "1")
            (end,) = load.end()
            report = tool.end()
            for frame in report.intervals + [report.final]:
                n = samples(frame)
                self.assertEqual(sum(n.values()) - n["all"], n["all"], n)
            if min(end["cpu_ns"]) / 1e9 >= CPU_SHARE * seconds:
                at = {int(a, 16): s for s, a in zip(said["shapes"], said["lines"])}
                return said["pid"], at, report
        self.skipTest("the load had too little of the CPUs")
        return None

    def test_found(self):
        """the shared arm runs: all of its lines are found, whatever the compiler and the level"""
        for build in self.builds():
            with self.subTest(build=build):
                wanted, seen = set(), set()

                def look(build=build, wanted=wanted, seen=seen):
                    pid, at, report = self.sample(build, "hot")
                    wanted |= set(at.values())
                    lines = lines_of(report.final, pid)
                    seen |= {s for a, s in at.items() if a in lines}
                    self.assertEqual(set(lines) - set(at), set())  # and no other
                    self.assertEqual(wanted - seen, set())

                self.by_chance(look)
                self.note("%s: %d of %d shapes found", build, len(seen), len(wanted))

    def test_not_blamed(self):
        """the shared arm never runs: none of the process's lines is contended"""
        for build in self.builds():
            with self.subTest(build=build):
                pid, at, report = self.sample(build, "cold")
                lines = lines_of(report.final, pid)
                self.note("%s: %s", build, samples(report.final))
                self.assertEqual({at.get(a, hex(a)): r["count"] for a, r in lines.items()}, {})

    def test_confirmed(self):
        """arms that nothing tells apart: ambiguous and no row, but --confirm watches the line that was touched"""
        if platform.machine() != "x86_64":
            self.skipTest("x86 only")
        build = self.builds()[0]

        def look():
            pid, at, report = self.sample(build, "maybe", "--confirm", 1500, seconds=5)
            n = samples(report.final)
            self.assertGreater(n["ambiguous"], n["placed"])
            self.assertEqual(lines_of(report.final, pid), {})
            rows = [r for r in report.final["tables"]["contended"] if r["source"] == "watch"]
            self.assertEqual([(at.get(int(r["addr"], 16) & ~63), r["confirmed"]) for r in rows],
                             [("merge", True)])

        self.by_chance(look)


if __name__ == "__main__":
    harness.main()
