#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule 9: out of CPU quota is not waiting for a CPU."""
import os

import harness
from harness import Cgroup, KernelTest, count, mount_of, total_ns


class Throttle(KernelTest):
    QUOTA_US, PERIOD_US = 10_000, 50_000

    def limited(self):
        """A cgroup with a fifth of a CPU, by v2 or v1, whichever has the controller."""
        v2 = mount_of("cgroup2")
        if v2 and self.has_cpu(v2):
            group = Cgroup(self, mount=v2)
            self.write(group, "cpu.max", "%d %d" % (self.QUOTA_US, self.PERIOD_US))
            return group
        v1 = mount_of("cgroup", "cpu")
        if not v1 or not os.path.exists(v1 + "/cpu.cfs_quota_us"):
            self.skipTest("no cgroup CPU bandwidth control")
        group = Cgroup(self, mount=v1)
        self.write(group, "cpu.cfs_period_us", str(self.PERIOD_US))
        self.write(group, "cpu.cfs_quota_us", str(self.QUOTA_US))
        return group

    @staticmethod
    def has_cpu(v2):
        control = v2 + "/cgroup.subtree_control"
        with open(v2 + "/cgroup.controllers") as f:
            if "cpu" not in f.read().split():
                return False
        with open(control) as f:
            if "cpu" in f.read().split():
                return True
        with open(control, "w") as f:
            f.write("+cpu")
        return True

    @staticmethod
    def write(group, name, text):
        with open(os.path.join(group.path, name), "w") as f:
            f.write(text)

    def test_separated(self):
        """rule 9: a throttled task's wait is throttle_wait, not preempt_wait"""
        group = self.limited()
        load = self.load("hog", "--cpu", self.two_cpus()[1], "--wait", 1, 2,
                         preexec_fn=group.enter())
        tid = load.line()["tids"][0]
        tool = self.tool("-t", tid).ready()
        load.go()
        load.line()
        final = tool.stop().final
        throttled = total_ns(final, "sched_throttle_wait")
        preempted = total_ns(final, "sched_preempt_wait")
        self.note("throttled %.0f ms in %d waits, preempted %.0f ms", throttled / 1e6,
                  count(final, "sched_throttle_wait"), preempted / 1e6)
        # Four fifths of two seconds without a CPU, in 40 periods.
        self.assertTrue(1.2e9 < throttled < 1.8e9)
        self.assertTrue(20 <= count(final, "sched_throttle_wait") <= 60)
        self.assertLess(preempted, 0.4e9)


if __name__ == "__main__":
    harness.main()
