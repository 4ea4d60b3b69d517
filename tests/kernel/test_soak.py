#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A run of days, made short: generations of processes, files and cgroups come and go, and the tool grows
neither in memory nor in descriptors nor in time per report.

What it remembers is bounded, so that it grows until the bounds are met: the first half of the run is
for that. Over the second a line is fitted. SECONDS=600 makes it long (make check-soak).
"""
import collections
import os
import time

import harness
from fsharness import LoopFs, can_mount
from harness import KernelTest

SECONDS = int(os.environ.get("SECONDS", "24"))
ROUND = 250  # processes between two looks
INTERVAL = 0.05
GROWTH = 160 << 10  # bytes for each 1,000 processes
FDS = 8
SLOWER = 1.6  # CPU time per report: the end of the second half to its beginning

# Bounds that are met in time: those that --max-keys sets. Others are in thousands of processes.
TOOLS = {
    "sched": ("-s", "sched", "--by", "pid", "--max-keys", 256),
    "cgroups": ("-s", "sched,lock", "--by", "cgroup", "--max-keys", 256, "--slower", "1ms"),
    "ext4": ("-s", "ext4", "--by", "comm", "--max-keys", 32),
    "files": ("-s", "ext4", "--by", "file", "--max-keys", 32, "--slower", "1us"),
    "lock": ("-s", "lock", "--by", "pid", "--max-keys", 64),
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


def cpu_ns(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0])


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
            Look(processes, anon_bytes(pid), len(os.listdir("/proc/%d/fd" % pid)), cpu_ns(pid),
                 self.reports())
        )

    def reports(self):
        """So far: the file has grown to hundreds of MB in a long run, and is emptied here."""
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
        """[(processes, CPU time of a report in ns)] between the looks."""
        half = self.second_half
        return [(b.processes, (b.cpu_ns - a.cpu_ns) / max(1, b.reports - a.reports))
                for a, b in zip(half, half[1:])]

    def slowdown(self):
        """The fitted CPU time of a report at the end, to that at the beginning."""
        points = self.per_report()
        rise = slope(points) * (points[-1][0] - points[0][0])
        mean = sum(y for _, y in points) / len(points)
        return (mean + rise / 2) / max(1, mean - rise / 2)

    def faults(self):
        figures = (
            ("bytes for each 1,000 processes", self.growth(), GROWTH),
            ("descriptors more", self.more_fds(), FDS),
            ("times slower", self.slowdown(), SLOWER),
        )
        return ["%s: %.1f %s (up to %.1f)" % (self.name, got, what, most)
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

    def test_days(self):
        """generations of processes: no more memory, descriptors or time per report"""
        self.fs = LoopFs(self) if can_mount("ext4") else None
        self.group = self.cgroup() if harness.mount_of("cgroup2") else None
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
        self.note("%s: %d processes, %d reports, %d KB, %+.1f KB per 1,000 processes, %+d fds, "
                  "CPU per report x %.2f", s.name, last.processes, last.reports, last.anon >> 10,
                  s.growth() / 1024, s.more_fds(), s.slowdown())


if __name__ == "__main__":
    harness.main()
