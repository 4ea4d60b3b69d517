# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests beside hostile programs share: the programs, and a look at a run from outside."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import harness
from harness import KernelTest

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "names"))
import hostile  # noqa: E402 (its place is only known now)

SECONDS = 2
END_S = 4  # of a run of two seconds, on a machine that is otherwise at rest
STOP_S = 2  # from the first SIGINT to the end
GRACE_S = 0.6  # of that: RCU's grace periods, which main and its threads wait for when it attaches and detaches
# In one, or behind a mutex that another tracer holds while it is in one: calls in which main sleeps.
GRACE = re.compile("rcu|^tracepoint_probe_|^perf_trace_")
MAIN_KIB, WORKER_KIB = 40 << 10, 256 << 10
BASE = "base`hostile_lock"
CC = os.environ.get("CC", "cc")
PAUSE_S = 0.01
LONG_S = 1  # that main sleeps in one call of the kernel: then who else is in the kernel, and may hold what it waits for


class Watch(threading.Thread):
    """Looks at a run until it ends: peaks of memory, its children, how long it waited for a processor and for RCU."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.began, self.took = pid, time.monotonic(), None
        self.main_kib, self.worker_kib, self.grace_s = 0, 0, 0
        self.cpu = harness.Schedstat(0, 0, 0)
        self.looked, self.unseen_s = self.began, 0  # when last, and the longest time between two looks
        self.slept_s = collections.Counter()  # by what main or a thread of it slept in
        self.meanwhile = {}  # by a call in which main slept for long: the tasks that ran or were blocked, with theirs
        self.workers_waited_s = {}  # for a processor, by pid
        self.children, self.zombies = set(), {}
        self.start()

    @staticmethod
    def peak_kib(pid):
        try:
            with open("/proc/%d/status" % pid, encoding="ascii", errors="replace") as f:
                text = f.read()
        except OSError:
            return "", 0
        name = re.search(r"^Name:\t(.*)$", text, re.M)
        peak = re.search(r"^VmHWM:\s+(\d+) kB$", text, re.M)
        return name.group(1) if name else "", int(peak.group(1)) if peak else 0

    @staticmethod
    def calls_of(task):
        """Of the kernel, in which a task is that has no processor: the innermost six."""
        try:
            with open("/proc/%s/stack" % task, encoding="ascii") as f:
                return " < ".join(re.findall(r"^\[<0>\] (\S+?)\+", f.read(), re.M)[:6])
        except OSError:
            return ""  # it has ended

    def sleeps_in(self):
        """Calls of the kernel in which main sleeps, or a thread of it does uninterruptibly: the innermost of each."""
        stacks = set()
        for task in glob.glob("%d/task/*" % self.pid, root_dir="/proc"):
            state = harness.stat_of(task)[:1]
            if state == ["D"] or (state == ["S"] and task.endswith("/%d" % self.pid)):
                stacks.add(self.calls_of(task))
        return stacks

    def others(self):
        """A task each that is ready, runs or is blocked, with its last calls of the kernel."""
        for task in glob.glob("[0-9]*/task/*", root_dir="/proc"):
            stat = harness.stat_of(task)
            if stat[:1] in (["R"], ["D"]):
                yield "%s, %s, nice %s, CPU %s: %s" % (task, stat[0], stat[16], stat[36], self.calls_of(task))

    def spent(self):
        """In words, for who wants to know what took so long."""
        most = ", ".join("%.2f s in %s" % (s, calls) for calls, s in self.slept_s.most_common(5))
        beside = "".join("\nbeside %s: %s" % (calls, task) for calls, tasks in self.meanwhile.items() for task in tasks)
        return "ran %.2f s, slept %s; longest between two looks %.2f s%s" % (
            self.cpu.ran_ns / 1e9, most, self.unseen_s, beside)

    def look(self):
        before, self.looked = self.looked, time.monotonic()
        stacks = self.sleeps_in()
        if any(GRACE.search(calls) for calls in stacks):
            self.grace_s += self.looked - before
        self.slept_s.update({calls: self.looked - before for calls in stacks})
        for calls in stacks - self.meanwhile.keys():
            if self.slept_s[calls] > LONG_S and "epoll" not in calls:
                self.meanwhile[calls] = list(self.others())
        self.unseen_s = max(self.unseen_s, self.looked - before)
        self.main_kib = max(self.main_kib, self.peak_kib(self.pid)[1])
        try:
            self.cpu = harness.schedstat_of(self.pid)
            with open("/proc/%d/task/%d/children" % (self.pid, self.pid), encoding="ascii") as f:
                now = {int(p) for p in f.read().split()}
        except OSError:
            now = set()
        for pid in now:
            name, peak = self.peak_kib(pid)
            if name == "waitscope-names":
                self.children.add(pid)
                self.worker_kib = max(self.worker_kib, peak)
                try:
                    self.workers_waited_s[pid] = harness.schedstat_of(pid).waited_ns / 1e9
                except OSError:
                    pass  # it was ended meanwhile
            elif name == "waitscope-open":
                self.children.add(pid)
            if harness.stat_of(pid)[:1] == ["Z"]:
                self.zombies.setdefault(pid, [time.monotonic()] * 2)[1] = time.monotonic()

    def run(self):
        while harness.runs(self.pid):
            self.look()
            time.sleep(PAUSE_S)
        self.took = time.monotonic() - self.began

    def done(self):
        self.join(harness.PATIENCE_S)
        return self


class HostileTest(KernelTest):
    files = ()  # of hostile.py, beside `base`

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="ws-hostile-")
        try:
            cls.victim = os.path.join(cls.dir, "victim")
            source = os.path.join(harness.ROOT, "tests", "names", "prog", "victim.c")
            subprocess.run([CC, "-O2", "-static", "-fno-omit-frame-pointer", "-o", cls.victim, source], check=True)
            for name in ["base", *cls.files]:
                hostile.make(cls.victim, cls.dir, name)
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir, ignore_errors=True)

    def program(self, name, path=None, prefix=()):
        p = subprocess.Popen([*prefix, path or os.path.join(self.dir, name), "waits"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end_program, p)
        while p.stdout.readline() != b"ready\n":
            self.assertIsNone(p.poll(), name)
        return p

    @staticmethod
    def end_program(p):
        p.kill()
        p.stdin.close()
        p.stdout.close()
        p.wait()

    def run_watched(self, *args):
        tool = self.tool(*args)
        watch = Watch(tool.proc.pid)
        report = tool.end()
        return report, watch.done()

    @staticmethod
    def limit(quiet_s, watch):
        """In seconds: more for main having waited for a processor, and for grace periods that other work draws out."""
        return quiet_s + watch.cpu.waited_ns / 1e9 + max(0, watch.grace_s - GRACE_S)

    def check_report(self, report, watch, end_s=END_S):
        limit = self.limit(end_s, watch)
        self.note("%.2f s of %.2f, main %d MiB, worker %d MiB, names refused %d", watch.took, limit,
                  watch.main_kib >> 10, watch.worker_kib >> 10, report.final["quality"]["names_refused"])
        self.assertEqual(report.status, 0, report.stderr)
        self.assertEqual(report.lines[-1]["type"], "final")
        self.assertLess(watch.took, limit, watch.spent())
        self.assertGreater(watch.main_kib, 0)
        self.assertLess(watch.main_kib, MAIN_KIB)
        self.assertLess(watch.worker_kib, WORKER_KIB)

    def check_whole(self, report, watch, end_s=END_S):
        self.check_report(report, watch, end_s)
        self.check_gone(watch)

    def check_gone(self, watch):
        self.until(lambda: not any(harness.runs(p) for p in watch.children), "children gone")

    def names(self, report):
        return {r["name"] for r in report.final["tables"]["contended"] if r["name"]}
