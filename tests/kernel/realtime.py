# SPDX-License-Identifier: GPL-2.0-or-later
"""Tasks of SCHED_FIFO that wait for each other, so that others' work has no part in it; each says by its own clock what it kept."""
import os
import subprocess
import sys
import unittest


def refused():
    """Why no task may be SCHED_FIFO here, or None. Root is refused, too, where its cgroup has no time for such tasks:
    CONFIG_RT_GROUP_SCHED, cpu.rt_runtime_us."""
    was = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as e:
        return "no SCHED_FIFO: %s" % e.strerror
    os.sched_setscheduler(0, *was)
    return None


REFUSED = refused()
needed = unittest.skipIf(REFUSED, REFUSED)


def start(test, text, *args, fds=()):
    """Begins one, which says "ready"; `fds`, its last arguments, are handed to it. It ends with the test."""
    p = subprocess.Popen([sys.executable, "-c", BEGIN + text, *map(str, args), *map(str, fds)], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, pass_fds=fds)

    def end():
        p.kill()
        p.stdin.close()
        p.stdout.close()
        p.wait()

    test.addCleanup(end)
    return p


def all_ready(test, *tasks):
    for p in tasks:
        test.assertEqual(p.stdout.readline(), b"ready\n")


def run(p):
    """Has a task that is ready do its work; the numbers that it says."""
    p.stdin.write(b"go\n")
    p.stdin.flush()
    return [int(word) for word in p.stdout.readline().split()]


BEGIN = """
import os, sys, time
def begin(priority, cpu=None, name=None):
    if name:
        with open("/proc/self/comm", "w") as f:
            f.write(name)
    if cpu:
        os.sched_setaffinity(0, [int(cpu)])
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(priority)))
    print("ready", flush=True)
"""

# CPU, priority: waits for a byte, again and again.
VICTIM = """
cpu, priority = sys.argv[1:]
begin(priority, cpu)
while os.read(0, 1):
    pass
"""

# CPU, priority, name, how many turns, ns of a turn[,...], the victim's pipe: wakes the victim and keeps the CPU. Says what
# it kept it in turns of each length, from the shortest on.
WAKER = """
cpu, priority, name, n, turns, wake = sys.argv[1:]
n, turns, wake = int(n), [int(ns) for ns in turns.split(",")], int(wake)
begin(priority, cpu, name)
sys.stdin.readline()
kept = dict.fromkeys(sorted(turns), 0)
for i in range(n):
    ns = turns[i % len(turns)]
    since = time.monotonic_ns()
    os.write(wake, b"x")
    while time.monotonic_ns() - since < ns:
        pass
    kept[ns] += time.monotonic_ns() - since
    time.sleep(ns * 5e-10)
print(*kept.values(), flush=True)
sys.stdin.readline()
"""

# CPU, priority, name: keeps the CPU until each of the moments that it is told.
KEEPER = """
cpu, priority, name = sys.argv[1:]
begin(priority, cpu, name)
for line in sys.stdin:
    while time.monotonic_ns() < int(line):
        pass
"""

# Priority, how many times, "CPU:ns" of each stay[,...], the victims[,...], pipes of the victims and of the keepers: wakes a
# victim, each in its turn, while all its CPUs are kept, and moves it from one to the next; where it is last it has the CPU at the
# end of its stay. Says how long they waited in each stay.
MOVER = """
priority, n, stays, victims, *pipes = sys.argv[1:]
stays = [tuple(map(int, stay.split(":"))) for stay in stays.split(",")]
victims, pipes = list(map(int, victims.split(","))), list(map(int, pipes))
wake, keepers = pipes[:len(victims)], pipes[len(victims):]
begin(priority)
sys.stdin.readline()
waited = [0] * len(stays)
for turn in range(int(n)):
    who = turn % len(victims)
    os.sched_setaffinity(victims[who], {stays[0][0]})
    end = time.monotonic_ns() + sum(ns for cpu, ns in stays) + 3000000
    for fd in keepers:
        os.write(fd, b"%d\\n" % end)
    time.sleep(0.003)
    since = time.monotonic_ns()
    os.write(wake[who], b"x")
    for i, (cpu, ns) in enumerate(stays):
        if i + 1 < len(stays):
            time.sleep(ns * 1e-9)
            os.sched_setaffinity(victims[who], {stays[i + 1][0]})
        at = min(time.monotonic_ns(), end) if i + 1 < len(stays) else end
        waited[i] += max(at - since, 0)
        since = at
    time.sleep(max(end - time.monotonic_ns(), 0) * 1e-9 + 0.005)
print(*waited, flush=True)
sys.stdin.readline()
"""
