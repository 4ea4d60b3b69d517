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

    def next_report(self, tool, n=1):
        """Waits for n more reports of intervals."""
        have = tool.json().count('"type":"interval"')
        self.until(lambda: tool.json().count('"type":"interval"') >= have + n, "a report")

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


if __name__ == "__main__":
    harness.main()
