#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Memory that two processes share at different addresses: its lines are one row, with the threads of
both. What they do not share stays apart, and is not contended.
"""
import harness
from harness import KernelTest

SECONDS = 3
TRIES = 4
CPU_SHARE = 0.15  # of a CPU, for each of the processes


class Shared(KernelTest):
    def setUp(self):
        super().setUp()
        self.two_cpus()

    def lines(self, mode):
        """([pid, pid], rows with threads of either); the load ran well, or the test is skipped."""
        for _ in range(TRIES):
            load = self.load("shmlines", mode, SECONDS)
            pids = load.line()["pids"]
            tool = self.tool("-s", "line", "--line-source", "clock", "-p", "%d,%d" % tuple(pids),
                             "-d", SECONDS)
            tool.ready()
            load.go()
            (end,) = load.end()
            report = tool.end()
            if min(end["cpu_ns"]) >= CPU_SHARE * SECONDS * 1e9:
                rows = report.final["tables"].get("contended", [])
                return pids, [r for r in rows if r["source"] == "line" and any(
                    o["sym"].startswith("shmlines`") for o in r["offsets"])]
        self.skipTest("the load had too little of the CPUs")
        return None

    def one_row(self, mode):
        self.by_chance(lambda: self.once(mode))

    def once(self, mode):
        pids, rows = self.lines(mode)
        self.assertEqual(len(rows), 1)
        (row,) = rows
        self.assertEqual({t["pid"] for t in row["tids"]}, set(pids))
        self.assertEqual(row["sharing"], "false")
        self.assertEqual(row["cores"], 2)
        self.assertEqual(int(row["addr"], 16) % 4096 & ~63, 1024)
        self.assertEqual(sorted(o["offset"] for o in row["offsets"] if o["writes"])[0], 0)
        self.assertIsNone(row["pid"])  # no process's own

    def test_memfd(self):
        """a file in memory, mapped by two processes: one row"""
        self.one_row("memfd")

    def test_anonymous(self):
        """anonymous shared memory at different addresses: one row"""
        self.one_row("anon")

    def test_physical(self):
        """a mapping of an anonymous inode: one row, by the physical page"""
        self.one_row("map")

    def test_apart(self):
        """a file each, a private mapping of one file: nothing is shared"""
        for mode in ("two", "private"):
            with self.subTest(mode=mode):
                _, rows = self.lines(mode)
                self.assertEqual(rows, [])


if __name__ == "__main__":
    harness.main()
