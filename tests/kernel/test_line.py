#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cache lines by the CPU clock: programs that say which line is theirs and how it is shared, and
programs whose lines nobody fights over.

What is sampled depends on how much the load ran: a load whose threads had little of their CPUs is run
again, and skipped if it never had. A line that is there is found by chance: one of TRIES runs must
show all of it. One that is not must never be shown.
"""
import json
import re

import harness
from harness import KernelTest

SECONDS = 2.5
TRIES = 4
CPU_SHARE = 0.15  # of a CPU, for each of the load's threads
CONTROLS = ("padded", "padlock", "ro", "private", "migrate")


def rows(frame):
    return [r for r in frame["tables"].get("contended", []) if r["source"] == "line"]


def lines_of(frame, pid):
    return {int(r["line"]["addr"], 16) if "line" in r else int(r["addr"], 16) & ~63: r
            for r in rows(frame) if r["pid"] == pid}


class LineTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.two_cpus()

    def watch(self, mode, *args, interval="1", prefix=()):
        """(what the load says, the final report); the load ran well, or the test is skipped."""
        for _ in range(TRIES):
            load = self.load("lines", mode, SECONDS)
            said = load.line()
            tool = self.tool("-s", "line", "-p", said["pid"], *args, interval, prefix=prefix)
            (end,) = load.end()
            report = tool.end()
            threads = 1 if mode == "migrate" else 2
            self.cpu_s = min(end["cpu_ns"][:threads]) / 1e9
            if self.cpu_s >= CPU_SHARE * SECONDS:
                return said, report
        self.skipTest("the load had too little of the CPUs")
        return None

    def found(self, mode):
        said, report = self.watch(mode)
        lines = lines_of(report.final, said["pid"])
        wanted = [int(a, 16) & ~63 for a in said["lines"]]
        for at in wanted:
            self.assertIn(at, lines, "%s: %s" % (mode, sorted(map(hex, lines))))
        for at, name in zip(wanted, said["names"]):
            row = lines[at]
            self.assertTrue(
                row["name"].startswith("lines`" + name), "%s: named %s" % (mode, row["name"])
            )
            self.assertTrue(row["place"].startswith("lines.c:"), row["place"])
            self.assertEqual(row["cores"], 2)
            self.assertEqual(len({t["tid"] for t in row["tids"]}), 2)
            self.assertGreater(row["writes"], 0)
        return said, report, [lines[at] for at in wanted]


class Found(LineTest):
    def shared(self, mode):
        return self.by_chance(lambda: self.once(mode))

    def once(self, mode):
        said, _, found = self.found(mode)
        for row in found:
            self.assertEqual(row["sharing"], said["sharing"], mode)
            self.assertTrue(any(re.match(r"lines`(.* inlined in )?op_" + mode, s["sym"]) for s in row["sites"]))
        return found

    def check(self, mode, true):
        """The mode's one row, of which true(row) asserts the rest."""
        def look():
            (row,) = self.once(mode)
            true(row)

        self.by_chance(look)

    def test_counters_side_by_side(self):
        """two counters on one line: the line, the variable, the code, and false sharing"""
        def halves(row):
            written = [int(t["write_bytes"], 16) for t in row["tids"]]
            self.assertEqual(sorted(written), [0xFF, 0xFF00])

        self.check("plain", halves)

    def test_stores(self):
        """plain stores: writes, and no reads"""
        self.check("store", lambda row: self.assertEqual(row["reads"], 0))

    def test_locked(self):
        """lock-prefixed adds are read, written and locked"""
        self.check("lock", lambda row: self.assertEqual(
            (row["reads"], row["locked"]), (row["count"], row["count"])))

    def test_one_atomic(self):
        """one atomic: true sharing"""
        self.check("true", lambda row: self.assertEqual(
            {int(t["write_bytes"], 16) for t in row["tids"]}, {0xFF}))

    def test_reader_and_writer(self):
        """a reader of what another writes: true sharing, and who does which"""
        self.check("rw", lambda row: self.assertEqual(
            sorted(t["writes"] > 0 for t in row["tids"]), [False, True]))

    def test_super_block(self):
        """the 2012 super block: random private loads, then one of two statistics counters"""
        def statistics(row):
            self.assertIn(row["name"], ("lines`super_block.hits", "lines`super_block.misses"))
            self.assertGreater(row["share_ppm"], 10000)

        self.check("sb", statistics)

    def test_heap(self):
        """an allocated line: found at its address, with the code; memory has no variable's name"""
        def look():
            said, report = self.watch("heap")
            row = lines_of(report.final, said["pid"])[int(said["lines"][0], 16) & ~63]
            self.assertEqual(row["sharing"], "false")
            self.assertFalse(row["name"].startswith("lines`"), row["name"])

        self.by_chance(look)

    def test_spinlock_and_data(self):
        """a spinlock and what it guards: two lines"""
        def look():
            said, report = self.watch("spin")
            lines = lines_of(report.final, said["pid"])
            for at in said["lines"]:
                self.assertIn(int(at, 16) & ~63, lines)

        self.by_chance(look)

    def test_many(self):
        """32 lines that are each touched rarely: most are found, and no other"""
        def look():
            said, report = self.watch("many", "--freq", "4999")
            first, last = (int(a, 16) for a in said["lines"])
            found = lines_of(report.final, said["pid"])
            mine = {at for at in found if first <= at <= last}
            others.update(set(found) - mine)
            self.assertGreaterEqual(len(mine), 24)

        others = set()
        self.by_chance(look)
        self.assertEqual(others, set())


class NotFound(LineTest):
    def test_controls(self):
        """padded, read-only, private and migrating: none of the process's lines is contended"""
        for mode in harness.few(CONTROLS, ("padded", "migrate")):
            with self.subTest(mode=mode):
                said, report = self.watch(mode)
                self.assertEqual(list(lines_of(report.final, said["pid"])), [])

    def test_turns_rank_below(self):
        """threads that own a line in turns of 50 ms: below those that fight over one"""
        _, _, plain = self.by_chance(lambda: self.found("plain"))
        plain_s = self.cpu_s
        said, report = self.watch("phase")
        at = int(said["lines"][0], 16) & ~63
        row = lines_of(report.final, said["pid"]).get(at)
        if row:  # both threads were sampled on it; the rank grows with the time that they had
            self.assertLess(row["rank"] / self.cpu_s, plain[0]["rank"] / plain_s)
            self.note("moves %s and %s ppm", row["interleave_ppm"], plain[0]["interleave_ppm"])

    def test_command(self):
        """-- COMMAND: its lines, and nobody else's"""
        other = self.load("lines", "true", 4)
        other.line()
        tool = self.tool("-s", "line", "--", harness.load_path("lines"), "plain", SECONDS)
        report = tool.end()
        said = json.loads(tool.stdout().splitlines()[0])
        found = {r["pid"] for r in rows(report.final)}
        self.assertEqual(found - {None}, {said["pid"]})
        self.assertIn(int(said["lines"][0], 16) & ~63, lines_of(report.final, said["pid"]))

    def test_other_cgroup(self):
        """-c: a fight in another cgroup is not shown"""
        inside = self.cgroup()
        load = self.load("lines", "plain", 1.5)
        said = load.line()
        tool = self.tool("-s", "line", "-c", inside.path, "-d", "1")
        load.end()
        self.assertEqual(lines_of(tool.end().final, said["pid"]), {})


class Report(LineTest):
    def test_intervals(self):
        """samples of intervals add up to those of the whole; what is unknown is null"""
        self.by_chance(self.intervals)

    def intervals(self):
        said, report = self.watch("plain", interval="0.5")
        at = int(said["lines"][0], 16) & ~63
        row = lines_of(report.final, said["pid"])[at]
        parts = [lines_of(i, said["pid"]).get(at) for i in report.intervals]
        # An interval in which but one thread was sampled on it does not show the line.
        self.assertLessEqual(sum(p["count"] for p in parts if p), row["count"])
        self.assertGreaterEqual(sum(p["count"] for p in parts if p) * 10, row["count"] * 8)
        for key in ("wait_ns", "hitm", "latency_cycles"):
            self.assertIsNone(row[key])
        self.assertEqual(row["count"], sum(t["samples"] for t in row["tids"]))
        self.assertEqual(
            row["writes"], sum(o["writes"] for o in row["offsets"])
        )
        self.assertFalse(row["exact"])

    def test_frequency(self):
        """--freq: a tenth of the samples"""
        def samples(freq):
            said, report = self.watch("plain", "--freq", freq)
            row = lines_of(report.final, said["pid"])[int(said["lines"][0], 16) & ~63]
            return row["count"] / row["share_ppm"] * 1e6 / self.cpu_s

        self.assertGreater(samples(2000), 3 * samples(200))


if __name__ == "__main__":
    harness.main()
