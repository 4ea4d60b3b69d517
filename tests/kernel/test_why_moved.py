#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--why: waits that go on on another CPU, and whom they waited for on each."""
import threading
import time

import harness
import realtime
import test_record
from harness import KernelTest, metric, total_ns
from test_why import blame, controlled_group, culprits, put


class Pushed(test_record.Moved):
    """Waits that go on on another CPU: what they waited for on the one before is told, too."""

    PERIOD_S = 0.012  # of a wait three moves are kept apart: beside other work it is longer
    STAYS = 200  # of a CPU a few more than these are kept: who switches more often in a wait pushes them out

    def test_moved(self):
        """threads that are moved while they wait: whom they waited for is known on each CPU"""
        cpus = self.two_cpus()
        load = self.load("hog", "--wait", 7, 2)
        first = load.line()
        tool = self.tool("--why", "-t", ",".join(map(str, first["tids"]))).ready()
        self.done = threading.Event()
        pusher = threading.Thread(target=self.push, args=(first["tids"], cpus))
        load.go()
        pusher.start()
        rate = harness.switches_per_s(1.5)
        self.done.set()
        pusher.join()
        load.end()
        final = tool.stop().final
        waited = sum(r["wait_ns"] for r in culprits(final))
        rest = blame(final, kind="unexplained")
        longest = metric(final, "sched_run_delay")["p"]["90"]
        self.note("%.0f ms, of a wait %.0f, %.0f switches a second, %.1f %% unexplained", waited / 1e6, longest / 1e6,
                  rate, 100 * rest / waited)
        self.assertEqual(waited, total_ns(final, "sched_run_delay") + total_ns(final, "sched_throttle_wait"))
        # As if all were on one CPU: exact where the machine is at rest, never red where it is not.
        if longest < 3 * self.PERIOD_S * 1e9 and rate * longest / 1e9 < self.STAYS:
            self.assertLess(rest, 0.1 * waited)


def ready(test, stays, count, rounds):
    """Tasks that wait in `stays`, of (CPU, ms) each: who keeps each CPU, {CPU: name}, the numbers of those `count` that wait, and
    the one that moves them, in turn, `rounds` times."""
    names = {stays[0][0]: "ws-here", stays[1][0]: "ws-there"}
    keepers = [realtime.start(test, realtime.KEEPER, cpu, 50, name) for cpu, name in names.items()]
    victims = [realtime.start(test, realtime.VICTIM, stays[0][0], 10) for _ in range(count)]
    pids = ",".join(str(p.pid) for p in victims)
    mover = realtime.start(test, realtime.MOVER, 60, rounds, ",".join("%d:%d" % (cpu, ms * 1_000_000) for cpu, ms in stays),
                           pids, fds=[p.stdin.fileno() for p in (*victims, *keepers)])
    realtime.all_ready(test, *keepers, *victims, mover)
    return names, pids, mover


class Whom(KernelTest):
    """A wait on two CPUs in turn, each of which one task keeps all the time."""

    ROUNDS = 12
    MS = (4, 12, 3)  # on one, on the other, and back

    @realtime.needed
    def test_whom(self):
        """a wait that goes on on another CPU and back: who kept each is blamed for the time there, by the mover's clock"""
        here, there = self.two_cpus()
        on = (here, there, here)
        names, pids, mover = ready(self, tuple(zip(on, self.MS)), 1, self.ROUNDS)
        tool = self.tool("--why", "-t", pids).ready()
        waited = realtime.run(mover)
        final = tool.stop().final
        rest = blame(final, kind="unexplained")
        # What came between: the mover itself, interrupts, a host that stopped a CPU.
        other = sum(r["wait_ns"] for r in culprits(final) if r["comm"] not in names.values()) - rest
        self.note("%.1f ms by others, %.1f unexplained", other / 1e6, rest / 1e6)
        for cpu, name in names.items():
            ns = sum(ns for at, ns in zip(on, waited) if at == cpu)
            got = blame(final, comm=name)
            self.note("%s: blamed for %.1f of %.1f ms", name, got / 1e6, ns / 1e6)
            self.assertWithin(got, ns, 0.1, other)
        self.assertLess(rest, 0.1 * sum(waited))


class Forgotten(KernelTest):
    """
    The kernel has no memory for what is to be remembered of a move: it is taken on account of the cgroup that the tool began in,
    which is allowed no more.
    """

    VICTIMS = 60  # there is some memory left for a part of them
    MS = (8, 4)  # on one CPU, and on the other

    def started(self, group, *options):
        """The tool, which is in the group no more."""
        tool = self.tool(*options, prefix=("sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', group.path)).ready()
        with open(group.path + "/cgroup.procs") as f:
            pids = f.read().split()
        for pid in pids:
            with open(group.mount + "/cgroup.procs", "w") as f:
                f.write(pid)
        return tool

    @staticmethod
    def allow(group, used):
        try:
            put(group, "memory.limit_in_bytes" if group.v1 else "memory.max", used)
        except OSError:
            pass  # v1: more is used; but what the CPUs had in stock was given back

    def squeeze(self, group):
        """The group may have what it has, and what it gives back it may not have again."""
        self.allow(group, 0)
        if group.v1:
            with open(group.path + "/memory.usage_in_bytes") as f:
                self.allow(group, f.read())

    def squeeze_on(self, group, done):
        while not done.wait(0.01):
            self.squeeze(group)

    @realtime.needed
    def test_forgotten(self):
        """a wait that goes on on another CPU, and nothing could be remembered of the one before: nobody is blamed for it"""
        cpus = self.two_cpus()
        group = controlled_group(self, "memory", "memory")
        names, pids, mover = ready(self, tuple(zip(cpus, self.MS)), self.VICTIMS, self.VICTIMS)
        tool = self.started(group, "--why", "-t", pids)
        done = threading.Event()
        squeezer = threading.Thread(target=self.squeeze_on, args=(group, done))
        for _ in range(50):  # what was in use at the tool's start is given back later
            self.squeeze(group)
            time.sleep(0.01)
        squeezer.start()
        waited = realtime.run(mover)
        done.set()
        squeezer.join()
        final = tool.stop().final
        rest = blame(final, kind="unexplained")
        total = sum(r["wait_ns"] for r in culprits(final))
        self.assertEqual(total, total_ns(final, "sched_run_delay") + total_ns(final, "sched_throttle_wait"))
        other = sum(r["wait_ns"] for r in culprits(final) if r["comm"] not in names.values()) - rest
        for name, ns in zip(names.values(), waited):
            got = blame(final, comm=name)
            self.note("%s: blamed for %.1f of %.1f ms", name, got / 1e6, ns / 1e6)
            self.assertLess(got, 1.1 * ns + other)
        self.note("%.1f ms by others, %.1f unexplained", other / 1e6, rest / 1e6)
        if rest < 5_000_000 * sum(self.MS):
            self.skipTest("the kernel had memory for all moves")


if __name__ == "__main__":
    harness.main()
