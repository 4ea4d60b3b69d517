#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rule 9: out of CPU quota is not waiting for a CPU."""
import csv
import os
import re
import subprocess
import sys
import tempfile

import harness
from harness import Cgroup, KernelTest, count, mount_of, total_ns

QUOTA_US, PERIOD_US = 5_000, 50_000


def limited_group(test):
    """A cgroup with a tenth of a CPU, by v2 or v1, whichever has the controller.

    It has the weight to use up its quota beside others: else it would wait for the CPU alone.
    """
    v2 = mount_of("cgroup2")
    if v2 and has_cpu(v2):
        group = Cgroup(test, mount=v2)
        write(group, "cpu.max", "%d %d" % (QUOTA_US, PERIOD_US))
        write(group, "cpu.weight", "10000")
        return group
    v1 = mount_of("cgroup", "cpu")
    if not v1 or not os.path.exists(v1 + "/cpu.cfs_quota_us"):
        test.skipTest("no cgroup CPU bandwidth control")
    group = Cgroup(test, mount=v1)
    write(group, "cpu.cfs_period_us", str(PERIOD_US))
    write(group, "cpu.cfs_quota_us", str(QUOTA_US))
    write(group, "cpu.shares", "262144")
    return group


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


def write(group, name, text):
    with open(os.path.join(group.path, name), "w") as f:
        f.write(text)


class Throttle(KernelTest):
    SECONDS = 2

    @staticmethod
    def by_kernel(group):
        """(times, ns) that the group was out of quota, by the kernel's account."""
        with open(os.path.join(group.path, "cpu.stat")) as f:
            stat = {key: int(value) for key, value in (line.split() for line in f)}
        ns = stat["throttled_usec"] * 1000 if "throttled_usec" in stat else stat["throttled_time"]
        return stat["nr_throttled"], ns

    def test_separated(self):
        """rule 9: a throttled task's wait is throttle_wait, not preempt_wait

        How long it is out of quota depends on who else wants its CPU: a busy machine spreads its
        turn over the period. The kernel's accounts of the group and the thread say.
        """
        group = limited_group(self)
        load = self.load("hog", "--cpu", self.two_cpus()[1], "--wait", 1, self.SECONDS,
                         preexec_fn=group.enter())
        tid = load.line()["tids"][0]
        tool = self.tool("-t", tid).ready()
        before = self.by_kernel(group)
        load.go()
        account = load.line()
        times, ns = (after - b for after, b in zip(self.by_kernel(group), before))
        final = tool.stop().final
        ran = account["after"]["run_ns"] - account["before"]["run_ns"]
        throttled = total_ns(final, "sched_throttle_wait")
        preempted = total_ns(final, "sched_preempt_wait")
        self.note("throttled %.0f ms in %d waits, preempted %.0f ms; the kernel: %.0f ms, %d times, "
                  "ran %.0f ms", throttled / 1e6, count(final, "sched_throttle_wait"),
                  preempted / 1e6, ns / 1e6, times, ran / 1e6)
        self.assertGreater(ns, 0.4e9)
        self.assertWithin(count(final, "sched_throttle_wait"), times, 0.1, 3)
        # Until it has the CPU again, for which it may queue: no less than the kernel says.
        self.assertGreaterEqual(throttled, 0.9 * ns)
        # It never blocks: what it did not run was one or the other. Its last wait may be one of many
        # periods, beyond the time that it was asked to work for.
        self.assertGreaterEqual(account["worked_ns"], self.SECONDS * 1e9)
        waited = account["worked_ns"] - ran
        self.assertGreaterEqual(throttled + preempted, 0.98 * waited - 1_000_000)
        # Once it has told its account it may be out of quota once more, before we end.
        self.assertLessEqual(throttled + preempted, 1.02 * waited + 1_000_000 + PERIOD_US * 1000)

    def table_row(self, path, pid):
        """(place, {heading: cell}) of a process in the last table of a file"""
        with open(path, encoding="utf-8") as f:
            lines = [re.sub(r"(\d) (s|ms|us|ns)\b", r"\1\2", line) for line in f]
        at = max(i for i, line in enumerate(lines) if line.split()[:1] == ["PID"] and "run-delay" in line)
        heads = lines[at].split()
        for place, line in enumerate(lines[at + 1:]):
            cells = line.split()
            if len(cells) != len(heads):
                break
            if cells[0] == pid:
                return place, dict(zip(heads, cells))
        self.fail("no row of %s below %s" % (pid, heads))

    def test_row(self):
        """a process out of quota is the first row of --by, with that time in a column: in every format, also with -n 1"""
        group = limited_group(self)
        cpus = self.two_cpus()
        hog = self.load("hog", "--cpu", cpus[1], "--wait", 1, self.SECONDS, preexec_fn=group.enter())
        hog.line()
        with tempfile.TemporaryDirectory(prefix="ws-throttle-") as tmp:
            outs = [a for f in ("table", "csv", "html") for a in ("-o", "%s:%s/%s" % (f, tmp, f))]
            # In and out of a run queue all the time, but it hardly waits.
            shell = subprocess.Popen(["sh", "-c", "while :; do sleep 0.1; done"])
            self.addCleanup(shell.wait)
            self.addCleanup(shell.kill)
            tool = self.tool("--by", "pid", "-n", 1, "-p", "%d,%d" % (hog.pid, shell.pid), *outs).ready()
            times, before = self.by_kernel(group)
            hog.go()
            hog.line()
            after_times, ns = self.by_kernel(group)
            times, ns = after_times - times, ns - before
            final = tool.stop().final
            place, row = self.table_row(tmp + "/table", str(hog.pid))
            with open(tmp + "/csv", encoding="utf-8", newline="") as f:
                first = next(r for r in csv.DictReader(f) if r["type"] == "final" and r["label1_key"] == "pid")
            with open(tmp + "/html", encoding="utf-8") as f:
                page = f.read()
        m = harness.metric(final, "sched_throttle_wait", pid=hog.pid)
        delay = total_ns(final, "sched_run_delay", pid=hog.pid)
        others = sum(g["sum"] for name in ("sched_throttle_wait", "sched_run_delay")
                     for pid, g in harness.groups(final, name, "pid").items() if pid != str(hog.pid))
        self.note("pid %d: throttled %.0f ms, the kernel %.0f ms, %d times; run delay %.0f ms; others %.0f ms",
                  hog.pid, m["sum"] / 1e6, ns / 1e6, times, delay / 1e6, others / 1e6)
        self.assertGreaterEqual(m["sum"], 0.9 * ns)
        self.assertWithin(m["count"], times, 0.1, 3)
        self.assertGreater(m["sum"] + delay, others)
        self.assertEqual(place, 0)
        self.assertWithin(seconds(row["throttled"]), m["sum"] / 1e9, 0.06)
        shown = row["time%"]
        self.assertLessEqual(100 if shown.endswith("x") else float(shown), 100)
        if not shown.endswith("x"):
            self.assertWithin(float(shown), 100 * (m["sum"] + delay) / final["dur_ns"], 0.01, 0.1)
        self.assertEqual(first["label1_value"], str(hog.pid))
        self.assertIn(">throttled <small>", page)
        self.assertIn("data-v=%d>" % m["sum"], page)

    def test_screen(self):
        """at 80x24 and 100x30 the default screen has the time out of quota, as much as the kernel counts"""
        group = limited_group(self)
        cpu = self.two_cpus()[1]
        hog = self.load("hog", "--cpu", cpu, "--wait", 1, 20, preexec_fn=group.enter())
        # A row is there only if somebody waited so: on a quiet machine nothing else preempts in a second.
        rival = self.load("hog", "--cpu", cpu, "--wait", 1, 20)
        for load in (hog, rival):
            load.line()
        for load in (hog, rival):
            load.go()
        for columns, lines in ((80, 24), (100, 30)):
            _, before = self.by_kernel(group)
            drawn = subprocess.run(
                [sys.executable, os.path.join(harness.ROOT, "tests", "cli", "ontty.py"), str(columns), str(lines),
                 harness.TOOL, "1", "2"], check=True, stdout=subprocess.PIPE, text=True, timeout=harness.PATIENCE_S).stdout
            _, after = self.by_kernel(group)
            self.assertLess(len(drawn.splitlines()), lines, drawn)
            row = re.search(r"^ +throttle-wait +([\d,]+) .* ([\d.,]+) (s|ms)$", drawn, re.M)
            self.assertIsNotNone(row, drawn)
            shown = seconds(row[2] + row[3])
            self.note("%dx%d: throttle-wait %.2f s in an interval; the kernel: %.2f s while it ran", columns, lines, shown,
                      (after - before) / 1e9)
            # One second of the two and more that the tool takes; a wait that began before it counts in it, too.
            self.assertGreater(shown, 0.3)
            self.assertLess(shown, (after - before) / 1e9 + 0.2)
            for name in ("preempt-wait", "run-delay"):
                self.assertRegex(drawn, r"(?m)^ +%s +[\d,]+ " % name)


def seconds(cell):
    """Of "3.1s", "41ms"."""
    number, unit = re.fullmatch(r"([\d.,]+)(s|ms|us|ns)", cell).groups()
    return float(number.replace(",", "")) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


if __name__ == "__main__":
    harness.main()
