#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--why beside real-time tasks: what their limits took, by the tasks' own clocks, and whose class is told."""
import ctypes
import os
import struct
import subprocess
import sys
import unittest

import harness
import realtime
from harness import KernelTest, total_ns
from test_why import blame, controlled_group, culprits, put, stolen_ns

MS = 1_000_000
SECONDS = 2.2
SYS_SCHED_SETATTR = {"x86_64": 314}.get(os.uname().machine, 274)

# Its own clock: what it computes without a pause, and the pauses that are longer than GAP_MS.
COMPUTES = """
import ctypes, os, struct, sys, time
SETATTR, CPU, SECONDS, GAP_MS, NAME, POLICY = int(sys.argv[1]), *sys.argv[2:7]
if CPU != "-":
    os.sched_setaffinity(0, [int(CPU)])
with open("/proc/self/comm", "w") as f:
    f.write(NAME)
words = [int(w) for w in POLICY.split(",")]
if words[0] == 6:
    attr = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, *[w * 1000000 for w in words[1:]])
    if ctypes.CDLL(None).syscall(SETATTR, 0, attr, 0):
        sys.exit("refused")
elif words[0]:
    os.sched_setscheduler(0, words[0], os.sched_param(words[1]))
print("ready", flush=True)
sys.stdin.readline()
now = time.monotonic_ns
end = now() + int(float(SECONDS) * 1e9)
last, gaps, longest = now(), 0, 0
while last < end:
    t = now()
    if t - last > int(GAP_MS) * 1000000:
        gaps += t - last
        longest = max(longest, t - last)
    last = t
print(gaps, longest, flush=True)
"""
# Runs 2 ms of each 8 and sleeps between.
NAPS = COMPUTES.replace("    last = t\n", "    last = t\n    if t // 2000000 % 4 == 0:\n        time.sleep(0.006)\n        last = now()\n")


def deadline_refused():
    """Why no task may be SCHED_DEADLINE here, or None."""
    pid = os.fork()
    if not pid:
        attr = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, 10 * MS, 100 * MS, 100 * MS)
        os._exit(bool(ctypes.CDLL(None).syscall(SYS_SCHED_SETATTR, 0, attr, 0)))
    return "no SCHED_DEADLINE" if os.waitpid(pid, 0)[1] else None


def runtime_limit():
    """Of real-time tasks, as a share; 1: there is none here."""
    with open("/proc/sys/kernel/sched_rt_runtime_us", encoding="ascii") as f, \
            open("/proc/sys/kernel/sched_rt_period_us", encoding="ascii") as g:
        runtime, period = int(f.read()), int(g.read())
    return 1 if runtime < 0 else runtime / period


deadline_needed = unittest.skipIf(deadline_refused(), deadline_refused() or "")


class RealTimeTest(KernelTest):
    def task(self, cpu, name, policy, gap_ms=5, program=COMPUTES, **kwargs):
        """One that is ready; `policy` as POLICY has it. It ends with the test."""
        words = SYS_SCHED_SETATTR, cpu, SECONDS, gap_ms, name, ",".join(map(str, policy))
        p = subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, **kwargs)

        def end():
            p.kill()
            p.stdin.close()
            p.stdout.close()
            p.wait()

        self.addCleanup(end)
        self.assertEqual(p.stdout.readline(), "ready\n")
        return p

    @staticmethod
    def go(p):
        p.stdin.write("go\n")
        p.stdin.flush()

    def watched(self, tasks, *options):
        """(the final report, what each of the tasks says)"""
        tool = self.tool("-s", "sched", "--why", "-b", "tid", "-t", ",".join(str(p.pid) for p in tasks), *options).ready()
        for p in tasks:
            self.go(p)
        said = [[int(w) for w in p.stdout.readline().split()] for p in tasks]
        report = tool.stop()
        waited = total_ns(report.final, "sched_run_delay") + total_ns(report.final, "sched_throttle_wait")
        self.assertEqual(sum(r["wait_ns"] for r in culprits(report.final)), waited)
        return report, said

    def assertLimited(self, final, pid, kind, gaps, stolen):
        """All of its own pauses, but for what a host took and others had, were for that limit; none for idling."""
        got = {k: blame(final, victim=pid, kind=k) for k in ("rt-throttle", "dl-throttle", "throttle", "idle-exit")}
        all_ns = blame(final, victim=pid)
        self.note("paused %.0f ms by its own clock, waited %.0f: %s; stolen %.0f", gaps / MS, all_ns / MS,
                  ", ".join("%s %.1f" % (k, v / MS) for k, v in got.items()), stolen / MS)
        self.assertGreaterEqual(got[kind], 0.85 * gaps - stolen - 10 * MS)
        self.assertLessEqual(got[kind], 1.02 * gaps + 10 * MS)
        self.assertLess(got["idle-exit"], 0.05 * gaps + 2 * MS)
        for other in {"rt-throttle", "dl-throttle", "throttle"} - {kind}:
            self.assertEqual(got[other], 0, other)


class Limits(RealTimeTest):
    def limited(self, policy):
        """Where others wait for the CPU, the server that lets them run may come first: then they had it, and are blamed."""
        cpu, tries = self.two_cpus()[1], 6
        while tries:
            p = self.task(cpu, "ws-limited", policy)
            before = stolen_ns(cpu)
            report, ((gaps, longest),) = self.watched([p])
            stolen = stolen_ns(cpu) - before
            if longest < (1 - runtime_limit()) * 0.5e9:
                self.skipTest("real-time tasks are not kept from running here")
            others = blame(report.final, victim=p.pid, kind="task")
            limit = blame(report.final, victim=p.pid, kind="rt-throttle")
            self.note("%.0f ms for the limit, %.0f for others, of %.0f", limit / MS, others / MS, gaps / MS)
            self.assertGreaterEqual(limit + others, 0.8 * gaps - stolen - 10 * MS)
            self.assertLess(blame(report.final, victim=p.pid, kind="idle-exit"), 0.05 * gaps + 2 * MS)
            if others < 0.1 * gaps:
                break
            tries -= 1
        if tries:
            self.assertLimited(report.final, p.pid, "rt-throttle", gaps, stolen)
        else:
            self.note("others had the CPU in each of its pauses")

    @realtime.needed
    def test_fifo(self):
        """a SCHED_FIFO task that computes all the time: its pauses are for the limit of real-time tasks"""
        self.limited((1, 10))

    @realtime.needed
    def test_round_robin(self):
        """... and one of SCHED_RR"""
        self.limited((2, 10))

    @realtime.needed
    def test_behind(self):
        """one that waits behind a higher priority all along: for that task, and for the limit when there is no other"""
        cpu = self.two_cpus()[1]
        low, high = self.task(cpu, "ws-low", (1, 10)), self.task(cpu, "ws-high", (1, 20))
        report, ((low_gaps, _), (high_gaps, longest)) = self.watched([low, high])
        if longest < (1 - runtime_limit()) * 0.5e9:
            self.skipTest("real-time tasks are not kept from running here")
        behind = blame(report.final, victim=low.pid, kind="task", tid=high.pid)
        limit = blame(report.final, victim=low.pid, kind="rt-throttle")
        others = blame(report.final, victim=low.pid, kind="task") - behind
        self.note("paused %.0f ms, behind the other %.0f, for the limit %.1f of its %.1f", low_gaps / MS, behind / MS, limit / MS,
                  high_gaps / MS)
        self.assertGreater(behind, 0.8 * SECONDS * runtime_limit() * 1e9 - 100 * MS)
        self.assertGreaterEqual(limit + others, 0.7 * high_gaps - 10 * MS)
        self.assertLess(blame(report.final, victim=low.pid, kind="idle-exit"), 0.05 * high_gaps + 2 * MS)

    @realtime.needed
    def test_within(self):
        """a SCHED_FIFO task that keeps to its share, and one that is not real-time: nothing is for a limit"""
        cpu = self.two_cpus()[1]
        tasks = [self.task(cpu, "ws-naps", (1, 10), program=NAPS), self.task(cpu, "ws-plain", (0,))]
        final = self.watched(tasks)[0].final
        self.assertGreater(total_ns(final, "sched_run_delay"), 0)
        for kind in ("rt-throttle", "dl-throttle"):
            self.assertEqual(blame(final, kind=kind), 0)

    @deadline_needed
    def test_deadline(self):
        """SCHED_DEADLINE tasks that use up their budget, also by several periods at once"""
        for budget in ((10, 100, 100), (2, 20, 20), (5, 10, 50)):
            p = self.task("-", "ws-deadline", (6, *budget), gap_ms=2)
            report, ((gaps, _),) = self.watched([p])
            if not gaps:
                self.skipTest("budgets are not kept to here")
            self.assertLimited(report.final, p.pid, "dl-throttle", gaps, 0)

    @realtime.needed
    def test_quota(self):
        """a cgroup out of CPU quota beside a real-time task: its limit is its own"""
        cpu, group = self.two_cpus()[1], controlled_group(self, "rtquota", "cpu")
        if group.v1:
            put(group, "cpu.cfs_period_us", 50000)
            put(group, "cpu.cfs_quota_us", 5000)
        else:
            put(group, "cpu.max", "5000 50000")
        plain = self.task(cpu, "ws-quota", (0,), preexec_fn=group.enter())
        nap = self.task(cpu, "ws-naps", (1, 10), program=NAPS)
        final = self.watched([plain, nap])[0].final
        got = blame(final, victim=plain.pid, kind="throttle")
        self.note("out of quota %.0f ms", got / MS)
        self.assertEqual(got, total_ns(final, "sched_throttle_wait", tid=plain.pid))
        self.assertGreater(got, 0.3e9)
        for kind in ("rt-throttle", "dl-throttle"):
            self.assertEqual(blame(final, kind=kind), 0)


class Classes(RealTimeTest):
    def beside(self, policy, *options):
        """The report of a plain task beside one of that class, and both."""
        cpu = self.two_cpus()[1]
        plain = self.task(cpu, "ws-plain", (0,))
        other = self.task("-" if policy[0] == 6 else cpu, "audiod", policy, program=NAPS)
        tool = self.tool("-s", "sched", "--why", "-t", plain.pid, "--slower", "500us", *options).ready()
        for p in (plain, other):
            self.go(p)
        plain.stdout.readline()
        return tool.stop(), plain, other

    def named(self, policy, **wanted):
        for options in ((), ("-b", "tid")):
            report = self.beside(policy, *options)[0]
            rows = [r for r in culprits(report.final) if r["comm"] == "audiod" and r["kind"] == "task"]
            self.note("%s: %s", " ".join(options), [(r["wait_ns"], r.get("class"), r.get("priority")) for r in rows])
            self.assertGreater(sum(r["wait_ns"] for r in rows), 0 if policy[0] == 6 else 50 * MS)
            parts = [c for w in report.slow for c in w["culprits"] if c["comm"] == "audiod"]
            for r in rows + parts:
                self.assertEqual({k: r[k] for k in ("class", "priority") if k in r}, wanted)
            self.assertTrue(parts or policy[0] == 6)
            others = [r for r in culprits(report.final) if r["kind"] != "task" or r["comm"] == "ws-plain"]
            self.assertFalse([r for r in others if "class" in r], others)

    @realtime.needed
    def test_fifo(self):
        """a culprit of SCHED_FIFO is told with its priority, in the tables and of single waits"""
        self.named((1, 50), **{"class": "SCHED_FIFO", "priority": 50})

    @realtime.needed
    def test_round_robin(self):
        """... one of SCHED_RR"""
        self.named((2, 99), **{"class": "SCHED_RR", "priority": 99})

    def test_plain(self):
        """... and one that is not real-time has none"""
        self.named((0,))

    @realtime.needed
    def test_words(self):
        """a table and the verdict call it audiod, SCHED_FIFO 50"""
        cpu = self.two_cpus()[1]
        plain, other = self.task(cpu, "ws-plain", (0,)), self.task(cpu, "audiod", (1, 50))
        tool = self.tool("-s", "sched", "--why", "-t", plain.pid, "-d", "3", "-o", "table", "-n", "0").ready()
        for p in (plain, other):
            self.go(p)
        tool.end()
        text = tool.stdout()
        self.assertRegex(text, r"(?m)^audiod, SCHED_FIFO 50 +task ")
        self.assertRegex(text, r"(?m)^most of the waiting for a CPU: audiod, SCHED_FIFO 50, \d")


if __name__ == "__main__":
    harness.main()
