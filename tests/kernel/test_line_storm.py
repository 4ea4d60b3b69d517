#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Storms of new code: what they cost is bounded, what is not decoded is counted, and a line that is fought
over is found all the same.
"""
import os
import platform
import shutil
import signal
import time

import harness
from harness import KernelTest
from test_line_counts import samples

FREQ = 20000
SECONDS = 4
# Of line_load.c and line_ips.c: so many wait at most, and are decoded ten times a second.
WAITING_MAX = 256
TURNS_A_SECOND = 10
MAP_MAX = 65536
CPU_SHARE = 0.2  # of one CPU, for the tool: decoding may take 0.05
RSS_KB = 65536
END_S = 20
TICK = os.sysconf("SC_CLK_TCK")


def cpu_s(pid):
    stat = harness.stat_of(pid)
    return (int(stat[11]) + int(stat[12])) / TICK


def peak_kb(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


def pointers_known(pid):
    """Entries of the tool's map of instruction pointers; it is held meanwhile, and takes no more."""
    ips = harness.bpf_map_of(pid, "ips")["id"]
    os.kill(pid, signal.SIGSTOP)
    try:
        return len(harness.bpftool("map", "dump", "id", str(ips)))
    finally:
        os.kill(pid, signal.SIGCONT)


class Storm(KernelTest):
    def during(self, tool, seconds):
        """CPU time that the tool takes, in parts of one CPU."""
        before, start = cpu_s(tool.proc.pid), time.monotonic()
        time.sleep(seconds)
        return (cpu_s(tool.proc.pid) - before) / (time.monotonic() - start)

    def check_counted(self, report):
        for frame in report.intervals + [report.final]:
            n = samples(frame)
            self.assertEqual(sum(n.values()) - n["all"], n["all"], n)
        n = samples(report.final)
        self.assertGreater(n["pending"], 0)
        self.assertEqual(report.final["quality"]["pending"], n["pending"])
        self.note("%s", n)
        return n

    def test_new_code(self):
        """code at ever new addresses: bounded in time and memory, counted; the contended line beside it is found"""
        self.two_cpus()
        if platform.machine() != "x86_64":
            self.skipTest("x86 only")
        lines = self.load("lines", "plain", SECONDS + 10)
        said = lines.line()
        storm = self.load("codes", "storm", SECONDS + 10, 4)
        storm.line()
        tool = self.tool("-s", "line", "--line-source", "clock", "--freq", FREQ,
                         "-p", "%d,%d" % (lines.pid, storm.pid), "1").ready()
        start = time.monotonic()
        share = self.during(tool, SECONDS)
        took = time.monotonic() - start
        known = pointers_known(tool.proc.pid)
        peak = peak_kb(tool.proc.pid)
        report = tool.stop(timeout=END_S)
        self.assertEqual(report.status, 0)
        n = self.check_counted(report)
        self.note("%.1f %% of a CPU, %d kB, %d pointers in %.1f s", 100 * share, peak, known, took)
        self.assertLess(share, CPU_SHARE)
        self.assertLess(peak, RSS_KB)
        most = WAITING_MAX * (TURNS_A_SECOND * took + 5)
        self.assertLessEqual(known, min(most, MAP_MAX))
        if n["pending"] < 1.2 * most:
            self.skipTest("the load had too little of the CPUs")
        self.assertIn(
            "lines`plain_pair", {r["name"].split(".")[0] for r in report.final["tables"]["contended"]
                                 if r["pid"] == said["pid"]})

    def test_compiler(self):
        """a compiler again and again: bounded, and counted"""
        cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if not cc:
            self.skipTest("no compiler")
        body = "".join("int f%d(int *p, int n) { while (n--) p[n] += p[n / 2] * %d; return *p; }\n" % (k, k)
                       for k in range(200))
        command = 'end=$(($(date +%%s) + %d)); while [ $(date +%%s) -lt $end ]; do ' \
            'printf "%%s" "$1" | "$0" -O2 -x c -c -o /dev/null -; done' % (SECONDS + 2)
        tool = self.tool("-s", "line", "--line-source", "clock", "1", "--", "sh", "-c", command, cc, body).ready()
        share = self.during(tool, SECONDS)
        peak = peak_kb(tool.proc.pid)
        report = tool.end()
        self.assertEqual(report.status, 0)
        self.check_counted(report)
        self.note("%.1f %% of a CPU, %d kB", 100 * share, peak)
        self.assertLess(share, CPU_SHARE)
        self.assertLess(peak, RSS_KB)


if __name__ == "__main__":
    harness.main()
