#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Beside programs whose files are hostile to read: reports on time and whole, bounded memory, others' names."""
import os
import random
import re
import signal
import subprocess
import time

import harness
from hostile_run import BASE, HostileTest, SECONDS, STOP_S, Watch, hostile

SITES, MAP_MB, FILES = 400, 63, 30000
RUNS = 8  # until names came in time: on a busy machine a run may have to do without, and says so
STARVED_S = 0.2  # of the half second for names that the worker may wait for a processor, or it is such a run


class Hostile(HostileTest):
    files = tuple(hostile.ALL)

    def perf_map(self):
        load = self.load("perfmap", SITES, MAP_MB)
        path = "/tmp/perf-%d.map" % load.pid
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        load.line()

    def many_files(self):
        self.load("manyfiles", FILES).line()

    def everything(self):
        for name in hostile.ALL:
            self.program(name)
        self.perf_map()
        self.many_files()

    def check_beside(self, *args, program=""):
        """Every run is whole and on time; `program` was there, and asked about."""
        self.program("base")
        starved = True
        for _ in range(RUNS):
            report, watch = self.run_watched("-s", "futex,line", "-d", SECONDS, *args)
            self.check_whole(report, watch)
            self.assertGreater(watch.worker_kib, 0)
            names = self.names(report)
            seen = any(n.startswith(program) for n in names)
            if (BASE in names and seen) or not report.final["quality"]["names_refused"]:
                break
            starved &= sum(watch.workers_waited_s.values()) > STARVED_S
        else:
            if starved:
                self.note("the worker waited for a processor for %.2f s: names cannot be in time here",
                          sum(watch.workers_waited_s.values()))
                return
        self.assertIn(BASE, names)
        self.assertTrue(seen, names)

    def beside(self, name):
        self.program(name)
        self.check_beside(program=name)

    def test_perf_map(self):
        """a perf map of 63 MB and 400 places in it"""
        self.perf_map()
        self.check_beside("-n", SITES * 2)

    def test_many_files(self):
        """30,000 mapped files of ELF"""
        self.many_files()
        self.check_beside()

    def test_all(self):
        """all at once"""
        self.everything()
        self.check_beside()

    def test_interrupt(self):
        """the first SIGINT ends it in time, beside all of them"""
        self.everything()
        for wait_s in (0.2, 1.3):
            tool = self.tool("-s", "futex,line", "1").ready()
            time.sleep(wait_s)
            watch = Watch(tool.proc.pid)
            report = tool.stop()
            self.check_whole(report, watch.done(), STOP_S)

    def quiet_and_loud(self, look):
        """look() beside nobody, and beside all of them."""
        quiet = look()
        self.everything()
        return quiet, look()

    def test_default(self):
        """the default sources: no process to name things is even started"""
        def look():
            report, watch = self.run_watched("-s", "sched,ext4,lock", "-d", SECONDS)
            self.check_whole(report, watch)
            self.assertEqual(watch.children, set())
            self.assertGreater(harness.count(report.final, "sched_run_delay"), 0)
            q = report.final["quality"]
            return {k: q[k] for k in ("names_refused", "clamped", "lost_events", "over_range")}

        quiet, loud = self.quiet_and_loud(look)
        self.assertEqual(quiet, loud)

    def test_slower(self):
        """--slower: waits that took longer are told as they end, and none is lost"""
        self.everything()
        report, watch = self.run_watched("-s", "sched,ext4,lock", "--slower", "200us", "-d", SECONDS)
        self.check_whole(report, watch)
        self.assertEqual(watch.children, set())
        self.assertEqual(report.final["quality"]["lost_events"], 0)
        self.assertGreater(len(report.slow), 0)

    def test_check(self):
        """--check says what it says beside nobody"""
        def look():
            began = time.monotonic()
            done = subprocess.run([harness.TOOL, "--check"], capture_output=True, text=True, check=False)
            self.note("%.2f s", time.monotonic() - began)
            return done.returncode, re.sub(r"\d+", "N", done.stdout), done.stderr

        quiet, loud = self.quiet_and_loud(look)
        self.assertEqual(quiet, loud)
        self.assertEqual(quiet[0], 0)

    def test_killed(self):
        """the worker killed at random: COMMAND's exit status is passed on, nobody is left behind"""
        # Ever new processes: what has a name is not asked about again.
        command = 'for i in $(seq 16); do sleep 0.25 | "$0" waits > /dev/null; done; exit 7'
        tool = self.tool("-s", "futex", "0.1", "--", "sh", "-c", command, os.path.join(self.dir, "base"))
        watch = Watch(tool.proc.pid)
        dice, killed = random.Random(11), set()
        while tool.proc.poll() is None:
            time.sleep(dice.uniform(0, 0.1))
            for pid in watch.children.copy() - killed:
                if dice.random() < 0.5 and harness.runs(pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        self.assertEqual(tool.proc.returncode, 7, tool.stderr())
        watch.done()
        report = harness.Report(tool.json(), 7, tool.stderr())
        self.assertEqual(report.lines[-1]["type"], "final")
        self.check_gone(watch)
        longest = max((b - a for a, b in watch.zombies.values()), default=0)
        self.note("%d killed, dead for %.2f s at most; %d reports", len(killed), longest, len(report.intervals))
        self.assertGreater(len(killed), 3)
        self.assertLess(longest, self.limit(1, watch))
        self.assertTrue(any(r["name"] == BASE for i in report.intervals for r in i["tables"]["contended"]))


def each(name):
    def test(self):
        self.beside(name)

    test.__doc__ = "beside %s" % name
    return test


for one in hostile.ALL:
    setattr(Hostile, "test_beside_" + one, each(one))


if __name__ == "__main__":
    harness.main()
