#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel keeps for us: the maps' own account, at rest, with more CPUs than there are."""
import os
import shutil
import subprocess
import sys
import unittest

import harness
from harness import KernelTest, ROOT, TOOL

sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import memory  # noqa: E402

def mounted():
    try:
        return len(os.listdir("/proc/fs/ext4"))
    except FileNotFoundError:
        return 0


# KB: once, and for each CPU; ext4's tables grow with the file systems.
BUDGETS = {"sched": (40, 54), "ext4": (60, 16 + 2 * (mounted() + 8)), "lock": (85, 44)}


def cannot():
    if not shutil.which("unshare"):
        return "no unshare"
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

    @unittest.skipIf(mounted() > 12, "many ext4 file systems")
    def test_default(self):
        """kernel memory of the default sources: 128 KB for a CPU where there are many"""
        kb = memory.kb(TOOL, memory.DEFAULT, memory.MANY)
        self.note("%.1f KB for each of %d CPUs", kb / memory.MANY, memory.MANY)
        self.assertLess(kb / memory.MANY, memory.BUDGET_KB)


if __name__ == "__main__":
    harness.main()
