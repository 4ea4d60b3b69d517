#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cache lines by the CPU clock: programs that say which line is theirs and how it is shared, and
programs whose lines nobody fights over.

What is sampled depends on how much the load ran: a load whose threads had little of their CPUs is run
again, and skipped if it never had.
"""
import json

import harness
from harness import KernelTest

SECONDS = 2.5
TRIES = 4
CPU_SHARE = 0.1  # of a CPU, for each of the load's threads
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
            if min(end["cpu_ns"][:threads]) >= CPU_SHARE * SECONDS * 1e9:
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
        said, _, found = self.found(mode)
        for row in found:
            self.assertEqual(row["sharing"], said["sharing"], mode)
            self.assertTrue(any(s["sym"].startswith("lines`op_" + mode) for s in row["sites"]))
        return found

    def test_counters_side_by_side(self):
        """two counters on one line: the line, the variable, the code, and false sharing"""
        (row,) = self.shared("plain")
        threads = {t["tid"]: int(t["write_bytes"], 16) for t in row["tids"]}
        self.assertEqual(sorted(threads.values()), [0xFF, 0xFF00])

    def test_stores(self):
        """plain stores: writes, and no reads"""
        (row,) = self.shared("store")
        self.assertEqual(row["reads"], 0)

    def test_locked(self):
        """lock-prefixed adds are read, written and locked"""
        (row,) = self.shared("lock")
        self.assertEqual((row["reads"], row["locked"]), (row["count"], row["count"]))

    def test_one_atomic(self):
        """one atomic: true sharing"""
        (row,) = self.shared("true")
        self.assertEqual({int(t["write_bytes"], 16) for t in row["tids"]}, {0xFF})

    def test_reader_and_writer(self):
        """a reader of what another writes: true sharing, and who does which"""
        (row,) = self.shared("rw")
        self.assertEqual(sorted(t["writes"] > 0 for t in row["tids"]), [False, True])

    def test_super_block(self):
        """the 2012 super block: random private loads, then one of two statistics counters"""
        (row,) = self.shared("sb")
        self.assertIn(row["name"], ("lines`super_block.hits", "lines`super_block.misses"))
        self.assertGreater(row["share_ppm"], 10000)

    def test_heap(self):
        """an allocated line: found at its address, with the code; memory has no variable's name"""
        said, report = self.watch("heap")
        at = int(said["lines"][0], 16) & ~63
        row = lines_of(report.final, said["pid"])[at]
        self.assertEqual(row["sharing"], "false")
        self.assertFalse(row["name"].startswith("lines`"), row["name"])

    def test_spinlock_and_data(self):
        """a spinlock and what it guards: two lines"""
        said, report = self.watch("spin")
        lines = lines_of(report.final, said["pid"])
        for at in said["lines"]:
            self.assertIn(int(at, 16) & ~63, lines)

    def test_many(self):
        """32 lines that are each touched rarely: most are found, and no other"""
        said, report = self.watch("many", "--freq", "4999")
        first, last = (int(a, 16) for a in said["lines"])
        found = lines_of(report.final, said["pid"])
        mine = {at for at in found if first <= at <= last}
        self.assertGreaterEqual(len(mine), 24)
        self.assertEqual(set(found) - mine, set())


class NotFound(LineTest):
    def test_controls(self):
        """padded, read-only, private and migrating: none of the process's lines is contended"""
        for mode in CONTROLS:
            with self.subTest(mode=mode):
                said, report = self.watch(mode)
                self.assertEqual(list(lines_of(report.final, said["pid"])), [])

    def test_turns_rank_below(self):
        """threads that own a line in turns of 50 ms: below those that fight over one"""
        _, _, plain = self.found("plain")
        said, report = self.watch("phase")
        at = int(said["lines"][0], 16) & ~63
        row = lines_of(report.final, said["pid"]).get(at)
        if row:  # both threads were sampled on it
            self.assertLess(row["rank"], plain[0]["rank"])
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
            return row["count"] / row["share_ppm"] * 1e6

        self.assertGreater(samples(2000), 3 * samples(200))


if __name__ == "__main__":
    harness.main()
