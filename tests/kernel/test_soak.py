#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of days, made short: generations of processes, files and cgroups come and go, and the tool grows
neither in memory nor in descriptors nor in time per report.

What it remembers is bounded, so that it grows until the bounds are met, a little for each process. To
the second half of the run a line is fitted. `make check-soak` (ten minutes) makes it long enough for all
bounds to be met before: then nothing may grow any more.
"""
import collections
import os
import time

import harness
from fsharness import LoopFs, can_mount
from harness import KernelTest

SECONDS = int(os.environ.get("SOAK_SECONDS", "24"))
ROUND = 250  # processes between two looks
INTERVAL = 0.2
FDS = 8

# Growth for each 1,000 processes: of memory in bytes, of a report in ns of CPU time.
Limits = collections.namedtuple("Limits", "bytes ns")
# Without bounds they were 720 KB to 960 KB (futex, line), and 18 ms to 60 ms (line).
BEFORE = Limits(520 << 10, 12e6)
BOUNDS_MET = 40000  # processes: until line has all the rows that it keeps
AFTER = Limits(64 << 10, 1e6)

TOOLS = {
    "sched": ("-s", "sched", "--by", "pid", "--max-keys", 256),
    "ext4": ("-s", "ext4", "--by", "comm", "--max-keys", 32),
    "files": ("-s", "ext4", "--by", "file", "--max-keys", 32, "--slower", "1us"),
    "lock": ("-s", "lock", "--by", "pid", "--max-keys", 64),
    "cgroups": ("-s", "sched,lock", "--by", "cgroup", "--max-keys", 64, "--slower", "1ms"),
    "futex": ("-s", "futex", "--max-keys", 64),
    "line": ("-s", "line"),
}

Look = collections.namedtuple("Look", "processes anon fds cpu_ns reports")


def anon_bytes(pid):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    raise AssertionError("no RssAnon")


def slope(points):
    """Of the line through (x, y) with the least squares."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    above = sum((x - mx) * (y - my) for x, y in points)
    return above / sum((x - mx) ** 2 for x, _ in points)


class Soaked:
    """A tool, and what was seen of it after each round."""

    def __init__(self, test, name):
        self.name = name
        self.tool = test.tool("-i", INTERVAL, "--comm", "gen*", *TOOLS[name]).ready(30)
        self.looks = []

    def look(self, processes):
        pid = self.tool.proc.pid
        self.looks.append(
            Look(processes, anon_bytes(pid), len(os.listdir("/proc/%d/fd" % pid)), harness.schedstat_of(pid).ran_ns,
                 self.reports())
        )

    def reports(self):
        """So far. The file would have hundreds of MB in a long run: it is emptied."""
        seen = self.looks[-1].reports if self.looks else 0
        with open(self.tool.json_path, "rb+") as f:
            seen += sum(b'"type":"interval"' in line for line in f)
            f.truncate(0)
        return seen

    @property
    def second_half(self):
        return self.looks[len(self.looks) // 2:]

    def growth(self):
        """Bytes for each 1,000 processes."""
        return 1000 * slope([(l.processes, l.anon) for l in self.second_half])

    def more_fds(self):
        first = self.looks[: len(self.looks) // 2]
        return max(l.fds for l in self.second_half) - max(l.fds for l in first)

    def per_report(self):
        """[(processes, CPU time of a report in ns)] between the looks; futex: of 100 processes."""

        def times(a, b):
            if self.name == "futex":
                return (b.processes - a.processes) / 100
            return max(1, b.reports - a.reports)

        half = self.second_half
        return [(b.processes, (b.cpu_ns - a.cpu_ns) / times(a, b)) for a, b in zip(half, half[1:])]

    def slowdown(self):
        """ns of CPU time more in a report, for each 1,000 processes."""
        return 1000 * slope(self.per_report())

    def faults(self):
        met = self.second_half[0].processes >= BOUNDS_MET
        limits = AFTER if met else BEFORE
        # futex spends its time on the processes that it meets: few rounds tell nothing of reports
        slowdown = self.slowdown() if met or self.name != "futex" else 0
        figures = (
            ("bytes for each 1,000 processes", self.growth(), limits.bytes),
            ("ns of a report for each 1,000 processes", slowdown, limits.ns),
            ("descriptors more", self.more_fds(), FDS),
        )
        return ["%s: %.0f %s (up to %.0f)" % (self.name, got, what, most)
                for what, got, most in figures if got > most]


class Soak(KernelTest):
    def generations(self):
        """One round of the load."""
        args = [ROUND] + ([self.fs.path] if self.fs else [])
        if self.fs and self.group:
            args.append(self.group.path)
        load = self.load("generations", *args)
        load.line()
        load.go()
        self.assertEqual(load.end(), [{"processes": ROUND}])

    def remove_cgroups(self):
        """Those that a load left behind which was ended."""
        for entry in os.scandir(self.group.path) if self.group else ():
            if entry.is_dir():
                os.rmdir(entry.path)

    def test_days(self):
        """generations of processes: no more memory, descriptors or time per report"""
        self.fs = LoopFs(self) if can_mount("ext4") else None
        self.group = self.cgroup() if harness.mount_of("cgroup2") else None
        self.addCleanup(self.remove_cgroups)
        names = [n for n in TOOLS if self.fs or n not in ("ext4", "files")]
        soaked = [Soaked(self, name) for name in names]
        end = time.monotonic() + SECONDS
        processes = 0
        while time.monotonic() < end or processes < 12 * ROUND:
            self.generations()
            processes += ROUND
            for s in soaked:
                s.look(processes)
        for s in soaked:
            self.describe(s)
        self.assertEqual([], [fault for s in soaked for fault in s.faults()])
        for s in soaked:
            self.assertEqual(s.tool.stop(timeout=60).status, 0, s.name)

    def describe(self, s):
        last = s.looks[-1]
        self.note("%s: %d processes, %d reports, %d KB, %.1f ms of CPU a report; per 1,000 processes "
                  "%+.1f KB, %+.2f ms; %+d fds", s.name, last.processes, last.reports,
                  last.anon >> 10, s.per_report()[-1][1] / 1e6, s.growth() / 1024,
                  s.slowdown() / 1e6, s.more_fds())


if __name__ == "__main__":
    harness.main()
