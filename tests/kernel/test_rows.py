#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows of --by: who waits most, by the kernel's own account, and under the name that it has now."""
import csv
import os
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import KernelTest

INTERVAL_S = 0.3


class Steps:
    """A process that does the next step at each line: "sleep CPU", "name NAME", "exec NAME"."""

    SOURCE = """
import ctypes, os, sys, time
print(os.getpid(), flush=True)
for step, arg in (line.split() for line in sys.stdin):
    if step == "sleep":  # on a CPU, some waits
        os.sched_setaffinity(0, {int(arg)})
        for _ in range(5):
            time.sleep(0.002)
    elif step == "name":
        ctypes.CDLL(None).prctl(15, arg.encode())
    elif step == "exec":  # into a shell that goes on with the steps
        os.execv(arg, [arg, "-c", LOOP])
    print(step, flush=True)
"""
    LOOP = 'echo exec; while read -r step arg; do taskset -cp "$arg" $$ >&2; sleep 0.01; echo $step; done'

    def __init__(self, test):
        source = self.SOURCE.replace("LOOP", repr(self.LOOP))
        self.proc = subprocess.Popen(
            [sys.executable, "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        test.addCleanup(self.end)
        self.pid = int(self.proc.stdout.readline())

    def step(self, *words):
        print(*words, file=self.proc.stdin, flush=True)
        got = self.proc.stdout.readline().strip()
        assert got == words[0], (got, words)

    def end(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.communicate()


def comm_of(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
        return f.read().strip()


class Names(KernelTest):
    def watch(self, by, pid):
        self.outputs = {f: os.path.join(self.dir, f) for f in ("csv", "table")}
        more = [a for f, path in self.outputs.items() for a in ("-o", "%s:%s" % (f, path))]
        return self.tool("--by", by, "-p", pid, "-i", INTERVAL_S, *more).ready()

    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp(prefix="ws-rows-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def table_names(self, by, pid):
        """[comm of the row in each report]"""
        names, at = [], None
        with open(self.outputs["table"], encoding="utf-8") as f:
            for words in (line.split() for line in f):
                if words[:1] == [by.upper()]:
                    at = words.index("COMM")
                elif words[:1] == [str(pid)] and at is not None:
                    names.append(words[at])
        return names

    def csv_names(self, pid):
        """[(type, comm) of each row of the task]"""
        names = []
        with open(self.outputs["csv"], encoding="utf-8", newline="") as f:
            for row in csv.DictReader(f):
                labels = {row["label%d_key" % i]: row["label%d_value" % i] for i in range(1, 7)}
                if labels.get("pid") == str(pid) and "comm" in labels:
                    names.append((row["type"], labels["comm"]))
        return names

    def json_names(self, frame, pid):
        return {m["labels"]["comm"] for m in frame["metrics"] if m["labels"].get("pid") == str(pid)}

    def check(self, by, pid, report, old, new):
        """It has been `new` since before the last interval with a wait of its."""
        frames = [self.json_names(f, pid) for f in report.intervals]
        frames = [names for names in frames if names]
        self.assertEqual(frames[0], {old})
        self.assertEqual(frames[-1], {new})
        self.assertEqual(self.json_names(report.final, pid), {new})
        seen = self.csv_names(pid)
        self.assertEqual(seen[0], ("interval", old))
        self.assertEqual({name for kind, name in seen if kind == "final"}, {new})
        self.assertEqual([name for kind, name in seen if kind == "interval"][-1], new)
        table = self.table_names(by, pid)
        self.assertEqual((table[0], table[-1]), (old, new))

    def run_steps(self, by, rename, after):
        one, two = self.two_cpus()
        steps = Steps(self)
        old = comm_of(steps.pid)
        tool = self.watch(by, steps.pid)
        for cpu in (one, two, one, two):  # both banks have entries of both CPUs
            steps.step("sleep", cpu)
            steps.step("sleep", two if cpu == one else one)
            self.next_report(tool)
        steps.step("sleep", one)
        steps.step(*rename)
        for cpu in after:
            self.next_report(tool)
            steps.step("sleep", cpu)
        new = comm_of(steps.pid)
        self.assertNotEqual(old, new)
        self.next_report(tool, 2)
        self.check(by, steps.pid, tool.stop(), old, new)

    def link(self):
        path = os.path.join(self.dir, "execed")
        os.symlink("/bin/sh", path)
        return path

    def test_exec(self):
        """after its exec a process has its new name, in every format, interval and final"""
        for by in ("pid", "tid"):
            with self.subTest(by=by):
                self.run_steps(by, ("exec", self.link()), self.two_cpus()[:1])
                os.unlink(os.path.join(self.dir, "execed"))

    def test_prctl(self):
        """after its prctl(PR_SET_NAME) too, and where it waits on in odd and even intervals"""
        for by in ("pid", "tid"):
            with self.subTest(by=by):
                self.run_steps(by, ("name", "renamed"), self.two_cpus()[:1] * 3)

    def test_no_wait_since(self):
        """... and where it has not waited since then"""
        for by in ("pid", "tid"):
            with self.subTest(by=by):
                self.run_steps(by, ("name", "renamed"), ())


def of_time(cell):
    """A cell of time%: 67.4, or of several tasks together 3.7x."""
    text = cell.replace(",", "")
    return 100 * float(text[:-1]) if text.endswith("x") else float(text)


class Waits(KernelTest):
    """Three hogs pinned on one CPU beside a shell that is woken all the time: who waits most?"""

    SECONDS = 2

    def begin(self, by):
        cpu = self.two_cpus()[1]
        group = self.cgroup("ws-hogs-%d" % os.getpid())
        beside = self.cgroup("ws-beside-%d" % os.getpid())
        hogs = [
            self.load("hog", "--cpu", cpu, "--wait", 1, self.SECONDS, preexec_fn=group.enter())
            for _ in range(3)
        ]
        tids = [h.line()["tids"][0] for h in hogs]
        shell = subprocess.Popen(["sh", "-c", "while :; do sleep 0.001; done"], preexec_fn=beside.enter())
        self.addCleanup(shell.wait)
        self.addCleanup(shell.kill)
        names = {
            "pid": [str(h.pid) for h in hogs],
            "tid": [str(t) for t in tids],
            "comm": ["hog"],
            "cgroup": [group.relative],
        }[by]
        # What else the machine does may wait longer than they.
        return hogs, names, ["-c", group.path, "-c", beside.path]

    def measure(self, by):
        """(final report, {row: the kernel's account of its hogs: (run delay, turns on a CPU)})"""
        hogs, names, filters = self.begin(by)
        self.dir = tempfile.mkdtemp(prefix="ws-rows-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        more = ["-o", "csv:" + self.dir + "/csv", "-o", "table:" + self.dir + "/table"]
        tool = self.tool("--by", by, *filters, *more).ready()
        before = [harness.schedstat_of(h.pid) for h in hogs]
        for h in hogs:
            h.go()
        lines = [h.line() for h in hogs]
        after = [harness.schedstat_of(h.pid) for h in hogs]
        delays = [tuple(l["after"][k] - l["before"][k] for k in ("delay_ns", "slices")) for l in lines]
        if by != "tid":  # a main thread, which writes the lines, waits for a CPU, too
            delays = [tuple(d + getattr(a, k) - getattr(b, k) for d, k in zip(ds, ("waited_ns", "turns")))
                      for ds, b, a in zip(delays, before, after)]
        final = tool.stop().final
        for h in hogs:
            h.end()
        if len(names) == 1:
            delays = [tuple(map(sum, zip(*delays)))]
        return final, dict(zip(names, delays))

    def csv_rows(self, by):
        """[(name, row)] of the final report's run delays, in their order"""
        with open(self.dir + "/csv", encoding="utf-8", newline="") as f:
            return [
                (row["label1_value"], row)
                for row in csv.DictReader(f)
                if row["type"] == "final" and row["metric"] == "sched_run_delay"
                and row["label1_key"] == by
            ]

    def table_rows(self, by):
        """[{heading: cell}] of the final report's groups, in their order"""
        rows, heads = [], None
        with open(self.dir + "/table", encoding="utf-8") as f:
            for words in (line.replace(" s ", "s ").replace(" ms ", "ms ").split() for line in f):
                if words[:1] == [by.upper()] and "run-delay" in words:
                    heads, rows = words, []
                elif heads and len(words) != len(heads):
                    heads = None
                elif heads:
                    rows.append(dict(zip(heads, words)))
        return rows

    def check(self, by):
        final, want = self.measure(by)
        dur = final["dur_ns"]
        slack = 30e6  # a wait at each end, of each hog
        for name, (delay, turns) in want.items():
            m = harness.metric(final, "sched_run_delay", **{by: name})
            self.note("%s %s: run delay %.1f ms in %d waits, schedstat %.1f ms, %d turns", by, name,
                      m["sum"] / 1e6, m["count"], delay / 1e6, turns)
            self.assertWithin(m["sum"], delay, 0.02, slack)
            self.assertWithin(m["count"], turns, 0.05, 20)  # at its start and end
        rows = self.csv_rows(by)
        self.assertEqual({name for name, _ in rows[: len(want)]}, set(want), "first in CSV")
        for name, row in rows[: len(want)]:
            share = want[name][0] / dur
            self.assertWithin(float(row["sum_share"]), share, 0.05)
            self.assertEqual(int(row["sum_ns"]), harness.total_ns(final, "sched_run_delay", **{by: name}))
        sums = [int(row["sum_ns"]) for _, row in rows]
        self.assertEqual(sums, sorted(sums, reverse=True))
        table = self.table_rows(by)[: len(want)]
        cells = {row[by.upper()]: row for row in table}
        self.assertEqual({n[-8:] for n in cells}, {n[-8:] for n in want}, "first in the table")
        for row in table:
            name = next(n for n in want if n.endswith(row[by.upper()][-8:]))
            self.assertWithin(of_time(row["time%"]), 100 * want[name][0] / dur, 0.05, 5)
            # A share of the time is never above 100: three of them together waited for longer than it.
            self.assertTrue(row["time%"].endswith("x") or float(row["time%"]) <= 100, row)
            self.check_percentiles(row, harness.metric(final, "sched_run_delay", **{by: name}))
        # Each had a third of the CPU at most, while it ran.
        for name, (delay, _) in want.items():
            self.assertGreater(delay, 0.55 * self.SECONDS * 1e9 * (3 if len(want) == 1 else 1))

    def check_percentiles(self, row, m):
        """A hog, which is never woken, has the percentiles of its run delay, of as many waits as it had turns."""
        self.assertEqual(int(row["samples"].replace(",", "")), m["count"])
        for q in ("50", "99"):
            shown = 1000 * float(row[q + "th"].rstrip("~").replace(",", ""))
            self.assertWithin(shown, m["p"][q], 0.02, 100)
        self.assertWithin(1000 * float(row["max"].replace(",", "")), m["max"], 0.01)
        # It waits for the two others in turn: for the mean, within what the scheduler's slices vary.
        mean = m["sum"] / m["count"]
        self.assertTrue(0.02 * mean <= m["p"]["50"] <= 10 * mean and m["p"]["99"] >= 0.5 * mean, (mean, m["p"]))

    def test_pid(self):
        """three pinned hogs are the first rows of --by pid, with what schedstat says they waited"""
        self.check("pid")

    def test_tid(self):
        """... of --by tid"""
        self.check("tid")

    def test_comm(self):
        """... of --by comm, together"""
        self.check("comm")

    def test_cgroup(self):
        """... of --by cgroup, together"""
        self.check("cgroup")


if __name__ == "__main__":
    harness.main()
