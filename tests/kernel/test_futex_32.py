#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Futex waits of 32-bit programs: traced if one runs at the start, counted as untraced if it begins later."""
import errno
import os
import subprocess
import time

import harness
from harness import count, load_path, total_ns
from test_futex import FutexTest, rows

WAITS = 200


class Compat(FutexTest):
    def setUp(self):
        super().setUp()
        self.path = load_path("futex32")
        if not os.path.exists(self.path):
            self.skipTest("32-bit programs are built on x86 only")
        try:
            subprocess.run([self.path, "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        except OSError as e:
            if e.errno != errno.ENOEXEC:
                raise
            self.skipTest("this kernel runs no 32-bit programs")

    def program(self):
        proc = subprocess.Popen([self.path, str(WAITS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        return proc

    def check(self, report, words):
        """All waits, as long as the program's own clock says: it reads the clock around each call."""
        waits, own_ns = map(int, words.split())
        final = report.final
        self.assertEqual(waits, WAITS)
        self.assertEqual(count(final, "futex_wait"), WAITS)
        self.assertNothingLost(final)
        self.assertEqual(final["quality"]["untraced"], 0)
        got = total_ns(final, "futex_wait")
        self.note("%.3f ms, by its own clock %.3f ms", got / 1e6, own_ns / 1e6)
        self.assertLessEqual(got, own_ns)
        self.assertGreaterEqual(got, 0.5 * own_ns)
        (row,) = rows(final)
        self.assertEqual((row["class"], row["futex"]["timeouts"]), ("lock", WAITS))
        self.assertIn("word", row["name"])
        self.assertIn("sys_enter", report.meta["sources"][0]["hooks"])
        self.assertIn("sys_enter_futex", report.meta["sources"][0]["hooks"])

    def test_running(self):
        """a 32-bit program that runs at the start: every wait, as long as its own clock says"""
        proc = self.program()
        tool = self.tool("-s", "futex", "-p", proc.pid, "-i", "0.1").ready()
        proc.stdin.write(b"x")
        proc.stdin.close()
        words = proc.stdout.read()
        self.check(tool.end(), words)

    def test_command(self):
        """... and one that is COMMAND"""
        tool = self.tool("-s", "futex", "-i", "0.1", "--", self.path, WAITS)
        report = tool.end()
        self.check(report, tool.stdout())

    def test_later(self):
        """one that begins later is told of: untraced, and the report is not complete"""
        tool = self.tool("-s", "futex", "--comm", "futex32").ready()
        for _ in range(2):
            proc = self.program()
            proc.communicate(b"x")
        final = tool.stop().final
        self.assertEqual(final["quality"]["untraced"], 2)
        self.assertFalse(final["quality"]["complete"])
        self.assertEqual(count(final, "futex_wait"), 0)

    def test_goes_on(self):
        """... each report is incomplete while it runs, and those after it are not"""
        tool = self.tool("-s", "futex", "--comm", "futex32", "-i", "0.3").ready()
        proc = self.program()  # it waits for its byte
        self.next_report(tool, 4)
        proc.communicate(b"x")
        self.next_report(tool, 3)
        report = tool.stop()
        whole = [i["quality"]["complete"] for i in report.intervals]
        first, last = whole.index(False), len(whole) - 1 - whole[::-1].index(False)
        self.assertGreaterEqual(last - first, 2, whole)
        self.assertNotIn(True, whole[first:last + 1])
        self.assertTrue(whole[-1], whole)
        self.assertEqual(report.final["quality"]["untraced"], sum(i["quality"]["untraced"] for i in report.intervals))

    def test_none(self):
        """without a 32-bit program no system call but those of futexes runs a program of ours"""
        tool = self.tool("-s", "futex", "-p", os.getpid()).ready()
        time.sleep(0.1)
        report = tool.stop()
        self.assertNotIn("sys_enter", report.meta["sources"][0]["hooks"])
        self.assertEqual(report.final["quality"]["untraced"], 0)


if __name__ == "__main__":
    harness.main()
