#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the time went: the kernel's account of the same threads is the judge."""
import json
import os
import subprocess
import sys
import tempfile
import time

import harness
from harness import KernelTest, load_path, schedstat_of, total_ns
from test_throttle import limited_group

PARTS = ("running_ns", "waiting_ns", "throttled_ns", "asleep_ns")
TICK_NS = 10_000_000  # by which the account of a thread on a CPU lags, at most
SLEEPS = "import sys, time\nprint('up', flush=True)\ntime.sleep(600)"
# Children of one process, one after the other: what they ran is its account once they were reaped.
CHILDREN = """
import os, resource, sys
for _ in range(60):
    pid = os.fork()
    if not pid:
        for i in range(30000): pass
        os._exit(0)
    os.waitpid(pid, 0)
own, theirs = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(sum(u.ru_utime + u.ru_stime for u in (own, theirs)), flush=True)
"""

# It switches all the time: programs of ours are at the task storage of its CPU when the first walk comes by.
WRITES = """
import os, sys
f = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
print("up", flush=True)
while True:
    os.pwrite(f, bytes(4096), 0)
    os.fsync(f)
"""


def times(frame, of="threads", **labels):
    """The row of all threads or CPUs, or of a group; or None."""
    labels = {k: str(v) for k, v in labels.items()}
    for t in frame["tables"].get("times", ()):
        if t["of"] == of and (labels.items() <= t["labels"].items() if labels else not t["labels"]):
            return t
    return None


def whole_ns(t):
    return sum(t[part] for part in PARTS)


class Times(KernelTest):
    def python(self, code, *args, **kwargs):
        proc = subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, text=True, **kwargs)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        return proc

    def temporary(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        return where.name

    def table(self, tool, *args):
        """What `waitscope report` draws of the record."""
        out = subprocess.run([harness.TOOL, "report", tool.json_path, *args], capture_output=True, text=True, check=True)
        return out.stdout

    def test_asleep(self):
        """a process that sleeps: asleep for all of its time, in the report's first line, too"""
        proc = self.python(SLEEPS)
        proc.stdout.readline()
        tool = self.tool("-p", proc.pid, "-s", "sched", "-i", "0.5").ready()
        self.next_report(tool, 2)
        final = tool.stop().final
        t = times(final)
        self.assertWithin(whole_ns(t), final["dur_ns"], 0.01)
        self.assertGreater(t["asleep_ns"], 0.99 * whole_ns(t), t)
        text = " ".join(self.table(tool).rpartition("final report after")[2].split())
        self.assertRegex(text, r"1 thread: on CPU [0-9.]+ %, waiting for a CPU [0-9.]+ %, asleep (99|100)")
        self.assertIn("ext4, lock, futex: not traced (-s ext4,lock,futex)", text)

    def test_first(self):
        """threads that switch all the time count from the start on: the first interval has all of them"""
        where = self.temporary()
        procs = [self.python(WRITES, os.path.join(where, name)) for name in "ab"]
        for proc in procs:
            proc.stdout.readline()
        for _ in range(12):
            tool = self.tool("-s", "ext4", "-p", ",".join(str(p.pid) for p in procs), "-i", "0.1", "-d", "0.15")
            first = tool.end().intervals[0]
            self.assertWithin(whole_ns(times(first)), 2 * first["dur_ns"], 0, 0.3 * first["dur_ns"])

    def hogs(self, *args, threads=2, seconds=1, **kwargs):
        """A run beside threads that share a CPU: (final report, their accounts by thread), taken while they are blocked."""
        load = self.load("hog", "--cpu", self.two_cpus()[1], "--wait", threads, seconds, **kwargs)
        tids = load.line()["tids"]
        tool = self.tool(*[a if a != "PID" else load.pid for a in args]).ready()
        load.go()
        accounts = {}
        for _ in tids:
            one = load.line()
            accounts[one["tid"]] = {k: one["after"][k] - one["before"][k] for k in ("run_ns", "delay_ns")}
        return tool.stop(), accounts

    def test_account(self):
        """threads that compute: what they ran and waited is what schedstat says"""
        report, accounts = self.hogs("-p", "PID", "--by", "tid", "-i", "0.25")
        for tid, account in accounts.items():
            t = times(report.final, tid=tid)
            self.note("%s: ran %d of %d, waited %d of %d", tid, t["running_ns"], account["run_ns"],
                      t["waiting_ns"], account["delay_ns"])
            # Also what it ran before and after its account was taken, which is little.
            self.assertWithin(t["running_ns"], account["run_ns"], 0.01, TICK_NS)
            self.assertWithin(t["waiting_ns"], account["delay_ns"], 0.01, TICK_NS)
            self.assertWithin(whole_ns(t), report.final["dur_ns"], 0.01)

    def test_groups(self):
        """the rows of threads add up to that of all, in each interval; intervals add up to the final"""
        report, _ = self.hogs("-p", "PID", "--by", "tid", "-i", "0.25")
        for frame in report.intervals + [report.final]:
            rows = [t for t in frame["tables"]["times"] if t["labels"]]
            for part in PARTS:
                self.assertEqual(sum(t[part] for t in rows), times(frame)[part], part)
        for part in PARTS:
            self.assertEqual(sum(times(i)[part] for i in report.intervals), times(report.final)[part], part)

    def test_ended(self):
        """processes that live for less than an interval count from their birth to their end"""
        tool = self.tool("--", sys.executable, "-c", CHILDREN)
        report = tool.end()
        ran_s = float(tool.stdout())
        t = times(report.final)
        self.note("ran %.3f s of %.3f", t["running_ns"] / 1e9, ran_s)
        # The account of a process has what it ran before its exec, and after its last look at itself.
        self.assertWithin(t["running_ns"] / 1e9, ran_s, 0.1, 0.02)
        self.assertGreater(whole_ns(t), report.final["dur_ns"], "more than one process")

    def test_throttled(self):
        """out of quota: all of it and the waiting are the kernel's run delay"""
        group = limited_group(self)
        report, accounts = self.hogs("-p", "PID", "--by", "tid", threads=1, seconds=2, preexec_fn=group.enter())
        (tid, account), = accounts.items()
        t = times(report.final, tid=tid)
        self.note("%s; kernel: %s", t, account)
        self.assertWithin(t["waiting_ns"] + t["throttled_ns"], account["delay_ns"], 0.01, TICK_NS)
        self.assertWithin(t["throttled_ns"], total_ns(report.final, "sched_throttle_wait", tid=tid), 0.02, TICK_NS)
        self.assertGreater(t["throttled_ns"], account["delay_ns"] / 2)

    def test_cgroup(self):
        """-c: the threads of the cgroup alone"""
        group = self.cgroup()
        inside = self.python(SLEEPS, preexec_fn=group.enter())
        inside.stdout.readline()
        self.python(SLEEPS).stdout.readline()
        final = self.tool("-c", group.path, "--by", "pid", "-d", "0.5").end().final
        t = times(final)
        self.assertWithin(whole_ns(t), final["dur_ns"], 0.02)
        self.assertEqual(times(final, pid=inside.pid)["asleep_ns"], t["asleep_ns"])

    def test_cpus(self):
        """without a filter: the CPUs, by /proc/stat; --cpu: these"""
        hog = self.load("hog", "--cpu", self.two_cpus()[1], 1, 60)
        hog.line()
        for args, cpus in ((), os.cpu_count()), (("--cpu", self.two_cpus()[1]), 1):
            final = self.tool("-d", "0.5", *args).end().final
            t = times(final, of="cpus")
            self.assertWithin(whole_ns(t), cpus * final["dur_ns"], 0.02)
            self.assertEqual(t["throttled_ns"], 0)
            if args:
                self.assertGreater(t["running_ns"] + t["waiting_ns"], 0.8 * whole_ns(t), t)
            self.assertIsNone(times(final))

    def verdict(self, code):
        """The words at the end of a final report on a process."""
        proc = self.python(code)
        proc.stdout.readline()
        tool = self.tool("-p", proc.pid, "--why", "-d", "2")
        final = tool.end().final
        self.note("%s", times(final))
        return final, " ".join(self.table(tool).split())

    def test_nobody_blamed(self):
        """who sleeps hardly waits: nobody is blamed, and the words say that it slept"""
        naps = SLEEPS.replace("time.sleep(600)", "[time.sleep(0.75) for _ in range(800)]")
        for code in (SLEEPS, naps):
            final, words = self.verdict(code)
            t = times(final)
            waited = total_ns(final, "sched_run_delay")
            if waited >= whole_ns(t) / 100:
                self.note("waited %d ns: others had the CPU", waited)
                continue
            self.assertNotRegex(words, "(most|largest part) of the waiting for a CPU")
            if waited:
                self.assertRegex(words, r"hardly any waiting for a CPU: [0-9.,]+ [a-z]+, [0-9.]+ % of the time; "
                                        r"1 thread: .*asleep (99|100)")

    def test_blamed(self):
        """who is kept from its CPU for half of its time has somebody to blame"""
        cpu = self.two_cpus()[1]
        self.load("hog", "--cpu", cpu, 1, 60).line()
        code = "import os\nos.sched_setaffinity(0, {%d})\nprint('up', flush=True)\nwhile True: pass" % cpu
        _, words = self.verdict(code)
        self.assertRegex(words, "(most|largest part) of the waiting for a CPU: ")
        self.assertNotIn("hardly any waiting for a CPU", words)

    def test_warm_up(self):
        """-w: what was before is not in it"""
        proc = self.python(SLEEPS)
        proc.stdout.readline()
        final = self.tool("-p", proc.pid, "-w", "0.6", "-d", "0.5").end().final
        self.assertWithin(whole_ns(times(final)), final["dur_ns"], 0.02)


if __name__ == "__main__":
    harness.main()
