#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel keeps for us: the maps' own account, at rest, with more CPUs than there are. And what the
loader keeps for each group."""
import json
import os
import shutil
import subprocess
import sys
import unittest

import harness
from harness import BUILD, KernelTest, ROOT, TOOL

sys.path.insert(0, os.path.join(ROOT, "bench"))
import loader  # noqa: E402
import memory  # noqa: E402

# KB: once, and for each CPU; ext4's tables grow with the file systems.
BUDGETS = {"sched": (90, 54), "ext4": (130, 18), "lock": (85, 44)}


def cannot():
    if not shutil.which("unshare"):
        return "no unshare"
    if not os.path.isdir(memory.MOUNTED):
        return "no ext4"
    run = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True)
    return "no mount namespaces: %s" % run.stderr.strip() if run.returncode else None


@unittest.skipIf(cannot(), cannot())
class Memory(KernelTest):
    def check(self, source):
        once, each = BUDGETS[source]
        for cpus in (2, memory.MANY):
            kb = memory.kb(TOOL, (source,), cpus)
            self.note("%s, %d CPUs: %.0f KB, %.1f for each", source, cpus, kb, kb / cpus)
            self.assertLess(kb, once + each * cpus)
            self.assertGreater(kb, each * cpus / 4)  # those CPUs were believed

    def test_sched(self):
        """kernel memory of sched"""
        self.check("sched")

    def test_ext4(self):
        """kernel memory of ext4"""
        self.check("ext4")

    def test_lock(self):
        """kernel memory of lock"""
        self.check("lock")

    def test_default(self):
        """kernel memory of the default sources: 96 KB for each possible CPU, 256 KB once"""
        # Numbers that are no powers of two, and one more than a power: the kernel rounds tables up.
        for cpus in (1, 2, 6, 16, 24, 40, memory.MANY, 96, 129, 512):
            kb = memory.kb(TOOL, memory.DEFAULT, cpus)
            self.note("%.0f KB with %d CPUs: %.1f for each, %.0f once", kb, cpus, memory.PER_CPU_KB,
                      kb - memory.PER_CPU_KB * cpus)
            self.assertLessEqual(kb, memory.ONCE_KB + memory.PER_CPU_KB * cpus)


class Groups(KernelTest):
    def test_sleeping(self):
        """memory of the loader for each of 3,000 sleeping processes by pid"""
        kb = memory.group_kb(BUILD, "table")
        self.note("%.1f KB", kb)
        self.assertGreater(kb, 0.5)  # they were there
        self.assertLessEqual(kb, memory.GROUP_KB)

    @unittest.skipIf(loader.available_kb() < 2 << 20, "less than 2 GB of memory: the kernel's maps take 0.5")
    def test_many(self):
        """memory of the loader for each of 20,000 groups, with the series of both views"""
        growth = os.path.join(BUILD, "bench", "growth")
        few, many = (
            json.loads(subprocess.run([growth, "2", n, "4"], capture_output=True, check=True).stdout)
            for n in ("10", "20000")
        )
        kb = (many["rss_mb"] - few["rss_mb"]) * 1024 / 20000
        self.note("%.1f KB; a report in %.0f ms, of it %.0f the kernel's copying", kb, many["us"] / 1000,
                  many["maps_us"] / 1000)
        self.assertEqual(many["heap_grown"], 0)
        self.assertLessEqual(kb, memory.GROUP_KB)


if __name__ == "__main__":
    harness.main()
