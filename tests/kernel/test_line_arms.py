#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Arms that meet again (tests/load/arms.c): the line that both threads' arms work on is found; where none
of them ever ran it is not blamed, though its code stands before the place where they meet.

How far behind the instruction that is waited for an interrupt is taken is the processor's: what is found is
found by chance, as in test_line.py, and what is not there is never shown.
"""
import os
import platform
import subprocess

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
        # One of each compiler, and at two levels; all of them in make check-all.
        return harness.few(have, [name for name in have if name in ("arms-gcc-O1", "arms-clang-O2")] or have)

    def sample(self, build, mode, *args, seconds=SECONDS, interval="1"):
        """(shapes by the address of their line, the final report); the threads ran."""
        for _ in range(TRIES):
            load = self.load(build, mode, seconds)
            said = load.line()
            tool = self.tool("-s", "line", "--line-source", "clock", "--freq", 2500, "-p", said["pid"], *args, interval)
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

    def maybe(self, *args, seconds=3, interval="1"):
        """(rows of the load, samples, the final report) of arms that no register tells apart."""
        if platform.machine() != "x86_64":
            self.skipTest("x86 only")
        pid, at, report = self.sample(self.builds()[0], "maybe", *args, seconds=seconds, interval=interval)
        rows = {at.get(a, hex(a)): r for a, r in lines_of(report.final, pid).items()}
        return rows, samples(report.final), report.final

    def test_watched(self):
        """arms that nothing tells apart: a short watch does, within a single interval too"""
        def look():
            rows, _, final = self.maybe(interval="10")
            self.assertEqual({s: r.get("watched") for s, r in rows.items()}, {"merge": True})
            self.assertEqual(rows["merge"]["sharing"], "true")
            self.assertGreater(final["quality"]["watches"], 0)

        self.by_chance(look)

    def test_not_watched(self):
        """--confirm 0: no register is taken, the samples stay ambiguous, and the table says that it is undecided"""
        def look():
            rows, n, final = self.maybe("--confirm", 0)
            self.assertEqual((rows, final["quality"]["watches"], final["quality"]["watched_ns"]), ({}, 0, 0))
            self.assertGreater(n["ambiguous"], n["placed"])

        self.by_chance(look)
        load = self.load(self.builds()[0], "maybe", 3)
        said = load.line()
        text = subprocess.run([harness.TOOL, "-s", "line", "--line-source", "clock", "--confirm", "0", "-p",
                               str(said["pid"]), "-d", "2"], capture_output=True, text=True, check=True).stdout
        load.end()
        self.assertRegex(text, r"Cache lines \(sampled\) +undecided: \d+ % of the samples are ambiguous")

    def test_not_beside_others(self):
        """somebody else has one of four debug registers: no short watch takes the others"""
        build = self.builds()[0]
        load = self.load(build, "maybe", 60)
        said = load.line()
        other = self.tool("-s", "watch", "-p", said["pid"], "--watch", said["lines"][-1], "-d",
                          "60").ready()  # nobody touches it
        report = self.tool("-s", "line", "--line-source", "clock", "-p", said["pid"], "-d", "3").end()
        other.stop()
        self.assertEqual(report.final["quality"]["watches"], 0)
        self.by_chance(lambda: self.assertGreater(
            self.tool("-s", "line", "--line-source", "clock", "-p", said["pid"], "-d", "3").end()
            .final["quality"]["watches"], 0))
        load.kill()

    def test_confirmed(self):
        """--confirm within a single interval: what the short watch found is watched to the bound"""
        def look():
            _, _, final = self.maybe("--confirm", 300, seconds=4, interval="10")
            rows = [r for r in final["tables"]["contended"] if r["source"] == "watch"]
            self.assertEqual([r["count"] for r in rows], [300])

        self.by_chance(look)


if __name__ == "__main__":
    harness.main()
