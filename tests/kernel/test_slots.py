#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stamps: of tasks that were there before, in the table of slots (bpf/sched.bpf.c), and of tasks that died unseen."""
import subprocess
import sys
import time

import harness
from harness import KernelTest, count, groups, total_ns
from test_record import Epoch
from test_why import comm_of

SLOTS = 766
WAITS_MAX = 10_000_000


def rests(pid, tid):
    """(does it sleep?, its sum of waits and how often it came to a CPU)"""
    task = "%d/task/%d" % (pid, tid)
    account = harness.schedstat_of(task)
    return harness.stat_of(task)[0] == "S", (account.waited_ns, account.turns)


class Crowd:
    """A process of many threads that all sleep, born at the first wake(), at which all of them are woken some times."""

    SOURCE = """
import os, sys, threading, time
threading.stack_size(65536)
threads, woken, turn = int(sys.argv[1]), 0, 0
bell = threading.Condition()
def naps():
    global woken
    mine = 0
    with bell:
        while True:
            while mine == turn:
                bell.wait()
            mine, woken = turn, woken + 1
print(os.getpid(), flush=True)
for line in sys.stdin:
    if line == "0\\n":
        break
    for _ in range(threads - threading.active_count() + 1):
        threading.Thread(target=naps, daemon=True).start()
    for _ in range(int(line)):
        with bell:
            turn, woken = turn + 1, 0
            bell.notify_all()
        while woken < threads:
            time.sleep(0.001)
    print(flush=True)
os._exit(0)
"""

    UNDER = ("sh", "-c", '"$@"; exec sleep 1000', "sh")  # a parent that outlives it

    def __init__(self, test, threads, under=()):
        self.proc = subprocess.Popen([*under, sys.executable, "-c", self.SOURCE, str(threads)],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.end)
        self.pid = int(self.proc.stdout.readline())

    def wake(self, times):
        self.proc.stdin.write("%d\n" % times)
        self.proc.stdin.flush()
        self.proc.stdout.readline()

    def delays(self):
        """{tid: its sum of waits and its turns}, when all sleep but the first thread, which speaks to us."""
        before, now = None, {}
        while now != before or not all(asleep for asleep, _ in now.values()):
            time.sleep(0.05)
            before, now = now, {tid: rests(self.pid, tid) for tid in harness.threads_of(self.pid) if tid != self.pid}
        return {tid: account for tid, (_, account) in now.items()}

    def leave(self):
        """It ends; its parent does not, and sleeps."""
        self.proc.stdin.write("0\n")
        self.proc.stdin.flush()
        while comm_of(self.proc.pid) != "sleep":
            time.sleep(0.01)

    def end(self):
        if self.proc.pid != self.pid:
            self.proc.kill()
        self.proc.stdin.close()
        self.proc.stdout.close()
        self.proc.wait()


class Together(KernelTest):
    """
    One interrupt wakes many tasks of which nothing has been seen yet. A CPU has memory for four new stamps until interrupts
    are on again.
    """

    def test_first(self):
        """the first wakeups of 64 threads, by one interrupt of a timer: none is missed"""
        cpu = self.two_cpus()[1]
        load = self.load("together", 64, cpu)
        tids = load.line()["tids"]
        tool = self.tool("-t", ",".join(map(str, tids))).ready()
        load.go()
        load.line()
        final = tool.stop().final
        load.end()
        quality = final["quality"]
        self.assertEqual((quality["map_full"], quality["missed"]), (0, 0))
        self.assertLessEqual(abs(count(final, "sched_wakeup_latency") - len(tids)), harness.hidden(final))


class Slots(KernelTest):
    def crowd(self):
        crowd = Crowd(self, SLOTS + SLOTS // 2)
        crowd.wake(1)
        before = crowd.delays()
        tool = self.tool("-p", crowd.pid, "--by", "tid", "--max-keys", "4096").ready()
        table = Epoch(tool)
        self.assertEqual(table.at["slots"][1], SLOTS * 64)
        crowd.wake(4)
        after, taken = crowd.delays(), len(table.slots())
        final = tool.stop().final
        crowd.end()
        return final, {
            tid: (ns - before[tid][0], turns - before[tid][1]) for tid, (ns, turns) in after.items()}, taken

    @staticmethod
    def unseen(final, kernel):
        """Tasks of which a switch was hidden: if it was their last, no later one tells of it."""
        return {tid for tid, (_, turns) in kernel.items() if count(final, "sched_run_delay", tid=tid) < turns}

    def test_more_tasks(self):
        """half as many tasks again as there are slots: each one's run delay is schedstat's, to the nanosecond"""
        final, kernel, taken = self.undisturbed(self.crowd, seen=lambda result: not self.unseen(*result[:2]))
        self.note("%d tasks, %d slots taken, %d waits", len(kernel), taken, count(final, "sched_run_delay"))
        self.assertGreater(taken, SLOTS // 2)
        self.assertGreater(len(kernel), taken)
        unseen = self.unseen(final, kernel)
        self.assertLessEqual(len(unseen), 2 + harness.hidden(final) // 10)
        off = [tid for tid, (ns, _) in kernel.items()
               if tid not in unseen and total_ns(final, "sched_run_delay", tid=tid) != ns]
        # A task of which a switch was hidden, and no later one seen, has a wait that is not known.
        self.assertLessEqual(len(off), harness.hidden(final), off)

    def died(self, epoch, crowd):
        """Tasks that get slots, and end while no tracepoint reports it; others at their addresses."""
        crowd.wake(3)
        epoch.set(0)
        crowd.leave()
        time.sleep(0.2)
        epoch.set(epoch.value)
        dead = epoch.slots()
        for _ in range(4):
            crowd = Crowd(self, SLOTS // 4)
            crowd.wake(3)
            crowd.end()
        again = dead - epoch.slots()
        self.note("%d slots of the dead and others, %d used again", len(dead), len(again))
        self.assertTrue(again)

    def test_died_unseen(self):
        """a task at the address of one that died unseen does not go on with its counts"""
        tool = self.tool("-i", "1000").ready()
        self.died(Epoch(tool), Crowd(self, SLOTS // 4, Crowd.UNDER))
        final = tool.stop().final
        # A busy machine makes some 100,000 in these seconds; a stamp that one of the dead left behind made 10^12 (30158a7).
        self.assertLess(final["quality"]["inferred"], WAITS_MAX)
        self.assertLess(count(final, "sched_run_delay"), WAITS_MAX)

    def test_followed_unseen(self):
        """... nor is it followed because that one was"""
        crowd = Crowd(self, SLOTS // 4, Crowd.UNDER)
        tool = self.tool("-i", "1000", "-p", crowd.proc.pid, "--follow", "--by", "pid").ready()
        self.died(Epoch(tool), crowd)
        self.assertEqual(list(groups(tool.stop().final, "sched_run_delay", "pid")), [str(crowd.pid)])


if __name__ == "__main__":
    harness.main()
