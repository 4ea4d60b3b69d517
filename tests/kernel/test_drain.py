#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A long interval is read in parts: it is still one, and has all that happened in it."""
import json
import os
import signal
import subprocess

import harness
from harness import BUILD, KernelTest

WAKES = 211  # prime
PERIOD_US = 2000


class Fold(KernelTest):
    def run_tool(self, tid, *options):
        tool = subprocess.Popen(
            [os.path.join(BUILD, "tests/kernel/drain_often"), "5", "-s", "sched", "-q", "-o", "json",
             "-i", "600", "-t", str(tid), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(tool.kill)
        self.assertEqual(json.loads(tool.stdout.readline())["type"], "meta")
        return tool

    def check(self, *options):
        sleeper = self.load("sleeper", WAKES, PERIOD_US)
        tid = sleeper.line()["tid"]
        tool = self.run_tool(tid, *options)
        naps = harness.sleeps(sleeper, tid)
        tool.send_signal(signal.SIGINT)
        frames = [json.loads(line) for line in tool.stdout]
        harness.check_report(frames)
        self.assertEqual(tool.wait(), 0)
        drains = json.loads(tool.stderr.read())["drains"]
        self.note("read in %d parts", drains)
        self.assertGreater(drains, 10)
        self.assertEqual([f["type"] for f in frames], ["interval", "final"])
        return naps, frames

    def test_whole(self):
        """drain: the whole has every wake of one interval that is read in many parts"""
        naps, frames = self.check()
        for f in frames:
            whole = [m for m in f["metrics"] if m["name"] == "sched_wakeup_latency" and not m["labels"]]
            self.assertCounted(f, whole[0]["count"], naps)
            self.assertEqual(sum(whole[0]["buckets"]["counts"]) + whole[0]["buckets"]["zero"],
                             whole[0]["count"])
            self.assertGreaterEqual(f["dur_ns"], WAKES * PERIOD_US * 1000)

    def test_groups(self):
        """drain: so have the groups"""
        naps, frames = self.check("--by", "tid")
        for f in frames:
            own = [m for m in f["metrics"] if m["name"] == "sched_wakeup_latency" and "tid" in m["labels"]]
            self.assertEqual(len(own), 1)
            self.assertCounted(f, own[0]["count"], naps)


if __name__ == "__main__":
    harness.main()
