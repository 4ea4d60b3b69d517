#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that reads foreign files: what it may, what it survives, how long anybody waits."""
import os
import signal
import subprocess
import sys
import time
import unittest

import hostile
import test_names
from test_names import harness

import realtime  # of tests/kernel, as the harness is

LIMIT_S = 4  # of a first name; a hundred times what one takes
RSS_KIB = 256 << 10
NAME_S, REPORT_S = 0.1, 0.5  # of a report's time: for a name, and for all (names.h)
HOG_S = 0.25  # between the two
MANY = 40000  # variables: the first name of a file that has them takes 25 ms and more, so that it is under way
AMID_S = 0.005  # by then
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
print("here", flush=True)
time.sleep(float(sys.argv[2]))
end = time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    pass
"""


def status(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def walls(how):
    """{act: what came of it}, in the sandbox or free."""
    path = os.path.join(harness.BUILD, "tests", "names", "walls")
    done = subprocess.run([path, how], capture_output=True, text=True, check=True)
    return dict(line.split("\t") for line in done.stdout.splitlines())


class Walls(unittest.TestCase):
    def setUp(self):
        if os.geteuid():
            self.skipTest("not root")

    def test_walls(self):
        """What may not be is refused or the end: opens, sockets, processes, memory, code, long computing"""
        free, within = walls("free"), walls("sandbox")
        self.assertGreater(len(free), 15)
        self.assertEqual({a: "done" for a in free}, free)
        self.assertEqual(free.keys(), within.keys())
        self.assertEqual({a: r for a, r in within.items() if r not in ("refused", "killed")}, {})


def may_have_network():
    """Does the machine give user name spaces, and with them networks, to everybody? Not in a chroot."""
    return not subprocess.run(["unshare", "--user", "--net", "true"], stderr=subprocess.DEVNULL, check=False).returncode


class Worker(test_names.NamesTest):
    def ready(self):
        p = self.program(self.build("kw.c", "-g"))
        self.check(p, "kw.c")
        return p, self.ask.worker()

    def test_privileges(self):
        """No capabilities, no new ones, a filter of system calls, an own network, few limits"""
        if harness.SANITIZED:
            self.skipTest("sanitizers need more than the filter allows")
        _, pid = self.ready()
        words = status(pid)
        for field in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(words[field], 16), 0, field)
        self.assertEqual((words["Seccomp"], words["NoNewPrivs"]), ("2", "1"))
        with open("/proc/%d/limits" % pid, encoding="ascii") as f:
            limits = {line[:26].strip(): line[26:].split() for line in f}
        self.assertEqual(limits["Max file size"][:2], ["0", "0"])
        self.assertEqual(limits["Max core file size"][:2], ["0", "0"])
        self.assertLess(int(limits["Max address space"][0]), 256 << 20)
        self.assertEqual(limits["Max processes"][:2], ["0", "0"])
        self.assertLessEqual(int(limits["Max open files"][1]), 1024)
        self.assertLessEqual(int(limits["Max cpu time"][1]), 3600)
        # A terminal's signals are for the tool. But its session is ours: one of its own would have an autogroup
        # of its own, with as much of the processors as all of ours (and, in turns, none for half a second).
        self.assertEqual(os.getpgid(pid), pid)
        self.assertEqual(os.getsid(pid), os.getsid(0))
        if may_have_network():
            self.assertNotEqual(os.stat("/proc/%d/ns/net" % pid).st_ino, os.stat("/proc/self/ns/net").st_ino)

    def test_killed(self):
        """Killed from outside: names return, and no file is blamed for it"""
        p, pid = self.ready()
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
        self.check(p, "kw.c")
        self.assertNotEqual(self.ask.worker(), pid)

    def test_stopped(self):
        """Stopped from outside: it is replaced"""
        p, pid = self.ready()
        os.kill(pid, signal.SIGSTOP)
        self.ask.data(p.pid, p.spots[0].addr + 1)
        self.check(p, "kw.c")
        self.assertNotEqual(self.ask.worker(), pid)

    def test_left(self):
        """Stopped, and then nobody to ask it: it is gone all the same"""
        asks = test_names.Ask(self)
        pid = asks.worker()
        os.kill(pid, signal.SIGSTOP)
        asks.proc.kill()
        self.assertEqual(asks.end(), -signal.SIGKILL)
        end = time.monotonic() + LIMIT_S
        while harness.runs(pid) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(harness.runs(pid))

    def as_reports(self):
        """Names have no more time than a report gives them: (who asks, the worker, the opener)."""
        ask = test_names.Ask(self, "--as-reports")
        return ask, ask.worker(), ask.child("waitscope-open")

    def beside_hog(self, after_s, spots):
        """A report has the name, down to the member, of one of spots: (process, where). Each time HOG has the worker's CPU."""
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU only")
        ask, worker, opener = self.as_reports()
        for pid in worker, opener:
            os.sched_setaffinity(pid, {cpus[0]})
        os.sched_setaffinity(ask.proc.pid, {cpus[1]})
        delayed = []
        for pid, addr in spots:  # on a busy machine others may have it besides
            with subprocess.Popen([sys.executable, "-c", HOG, str(cpus[0]), str(after_s), str(HOG_S)],
                                  stdout=subprocess.PIPE, text=True) as hog:
                self.assertEqual(hog.stdout.readline(), "here\n")
                began = time.monotonic()
                ask.report()
                found = ask.once(pid, addr)[0]
                took = time.monotonic() - began
            # Linux 6.18: the fair server may run the worker all the same, 50 ms of a second (sched/deadline.c).
            if took > NAME_S:
                delayed.append(found)
            if delayed and found == "member":
                break
        self.assertTrue(delayed, "no hog had the processor for as long as a name may take")
        self.assertEqual(delayed[-1], "member")

    def test_nice(self):
        """While nobody waits for them they are nice: 19, and when a report has asked as nice as who asks"""
        ask, worker, opener = self.as_reports()
        nice = lambda: {os.getpriority(os.PRIO_PROCESS, pid) for pid in (worker, opener)}
        p = self.program(self.build("kw.c", "-g"))
        ask.report()
        ask.once(p.pid, p.spots[0].addr)
        self.assertEqual(nice(), {os.getpriority(os.PRIO_PROCESS, ask.proc.pid)})
        ask.trim()
        self.assertEqual(nice(), {19})

    @realtime.needed
    def test_run_queue(self):
        """Other work has its processor for longer than a name may take: that time is not the name's"""
        p = self.program(self.build("kw.c", "-g"))
        self.beside_hog(0, [(p.pid, s.addr) for s in p.spots if s.path and not s.path.startswith("+")][:5])

    @realtime.needed
    def test_run_queue_amid(self):
        """... nor is it the look-up's, if that has begun: it is not given up by who does it"""
        if harness.SANITIZED:
            self.skipTest("a look-up takes several times as long")
        with open(os.path.join(self.dir, "many.h"), "w", encoding="ascii") as f:
            for i in range(MANY):
                f.write("struct many%d { int a; long b[%d]; } many%d;\n" % (i, i % 7 + 1, i))
        programs = [self.program(self.build("kw.c", "-g", "-include", f.name, name="many%d" % i)) for i in range(3)]
        self.beside_hog(AMID_S, [(p.pid, p.spots[0].addr) for p in programs])

    def test_no_run_queue(self):
        """The opener hangs: that is waited for as long as a name may take, and not as long as all of a report"""
        ask, _, opener = self.as_reports()
        p = self.program(self.build("kw.c", "-g"))
        os.kill(opener, signal.SIGSTOP)
        try:
            ask.report()
            began = time.monotonic()
            found = ask.once(p.pid, p.spots[0].addr)[0]
            took = time.monotonic() - began
        finally:
            os.kill(opener, signal.SIGCONT)
        self.assertEqual(found, "none")
        self.assertGreater(took, NAME_S * 0.9)
        self.assertLess(took, REPORT_S * 0.8)

    def test_given_up(self):
        """A look-up that is given up is over: the next name of the report does not stand behind it"""
        ask, _, _ = self.as_reports()
        victim = self.build("victim.c", "-O2", "-static", name="victim")
        base = self.program(hostile.make(victim, self.dir, "base"))
        lock = base.at("lock")
        ask.data(base.pid, lock)
        behind = []
        for name in ("attributes", "nested", "bases"):
            p = self.program(hostile.make(victim, self.dir, name))
            ask.report()
            began = time.monotonic()
            ask.once(p.pid, lock)
            if time.monotonic() - began > NAME_S * 0.9:
                behind.append(ask.once(base.pid, lock)[1])
        self.assertIn("base`hostile_lock", behind)

    def test_hostile(self):
        """Beside each hostile file: an answer in time, bounded memory, and the others' names"""
        victim = self.build("victim.c", "-O2", "-static", name="victim")
        base = self.program(hostile.make(victim, self.dir, "base"))
        lock = base.at("lock")
        self.assertEqual(self.ask.data(base.pid, lock)[:2], ("object", "base`hostile_lock"))
        for name in hostile.ALL:
            with self.subTest(name=name):
                p = self.program(hostile.make(victim, self.dir, name))
                began = time.monotonic()
                text = self.ask.once(p.pid, lock)[1]
                self.assertLess(time.monotonic() - began, LIMIT_S)
                self.assertTrue(text.startswith(name), text)
                if name == "packs":  # the demangler's bound refuses it at once: the symbol stands for it
                    self.assertRegex(self.ask.data(p.pid, lock)[1], "^packs`_Z1vIDp")
                self.assertEqual(self.ask.data(base.pid, lock)[:2], ("object", "base`hostile_lock"))
                self.assertLess(self.ask.rss_kib("VmHWM"), RSS_KIB)


if __name__ == "__main__":
    harness.main()
