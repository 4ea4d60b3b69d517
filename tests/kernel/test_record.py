#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""T1 by the kernel's own record of waits (CONFIG_SCHED_INFO), to the nanosecond; and without one."""
import os
import subprocess
import tempfile
import threading
import time

import harness
import test_values
from harness import TOOL, KernelTest, count, ref, total_ns

BTF = "/sys/kernel/btf/vmlinux"


def switches(pid, tid):
    """(voluntary, involuntary) switches of a thread, by the kernel's count."""
    with open("/proc/%d/task/%d/status" % (pid, tid)) as f:
        lines = dict(line.rstrip("\n").split(":", 1) for line in f)
    return int(lines["voluntary_ctxt_switches"]), int(lines["nonvoluntary_ctxt_switches"])


class Hooks(KernelTest):
    def test_hooks(self):
        """two hooks are enough"""
        (source,) = self.tool("-d", "0.1").end().meta["sources"]
        self.assertEqual(sorted(source["hooks"]), ["sched_switch", "sched_waking"])


class Moved(KernelTest):
    """Part of a wait before a move to another CPU is in the kernel's sum by then, and not in last_queued."""

    def push(self, tids, cpus):
        """Moves the threads, which mostly wait, from CPU to CPU."""
        turn = 0
        while not self.done.is_set():
            turn += 1
            for i, tid in enumerate(tids):
                os.sched_setaffinity(tid, {cpus[(turn + i) % 2]})
            self.done.wait(0.003)

    def moved(self):
        cpus = self.two_cpus()
        load = self.load("hog", "--wait", 7, 2)
        first = load.line()
        whole = self.tool("-t", ",".join(map(str, first["tids"]))).ready()
        each = self.tool("-p", first["pid"], "--by", "tid").ready()
        self.done = threading.Event()
        pusher = threading.Thread(target=self.push, args=(first["tids"], cpus))
        load.go()
        pusher.start()
        time.sleep(1.5)
        self.done.set()
        pusher.join()
        kernel = test_values.crew_delay_ns([load.line() for _ in first["tids"]])
        whole, each = whole.stop().final, each.stop().final
        load.end()
        return whole, each, kernel

    def test_moved(self):
        """threads that are moved while they wait: each one's run delay is schedstat's, to the nanosecond"""
        whole, each, kernel = self.undisturbed(self.moved)
        within = 0.001 if any(f["quality"]["inferred"] for f in (whole, each)) else 0
        for tid, delay in kernel.items():
            self.assertWithin(total_ns(each, "sched_run_delay", tid=tid), delay, within, msg=tid)
        self.assertWithin(total_ns(whole, "sched_run_delay"), sum(kernel.values()), within)
        self.note("%d waits, %.1f ms", count(whole, "sched_run_delay"), sum(kernel.values()) / 1e6)


class FoundRunning(KernelTest):
    """A T0 that is taken while its task still runs, and does not sleep, is of no wait."""

    def naps(self):
        cpu = self.two_cpus()[1]
        load = self.load("early", cpu, 3, 2)
        first = load.line()
        pid, tids = first["pid"], first["tids"]
        before = [switches(pid, tid) for tid in tids]
        tool = self.tool("-t", ",".join(map(str, tids))).ready()
        with ref.Tracer() as tracer:
            load.go()
            for _ in tids:
                load.line()
            events = tracer.stop()
        after = [switches(pid, tid) for tid in tids]
        final = tool.stop().final
        load.end()
        wakings = sum(e.name == "sched_waking" and e.fields["pid"] in tids for e in events)
        slept, left = (sum(a[i] - b[i] for a, b in zip(after, before)) for i in (0, 1))
        return final, wakings, slept, left

    def test_running(self):
        """wakeups that find their task running: as many samples as it slept, and as it was preempted"""
        final, wakings, slept, left = self.undisturbed(self.naps)
        self.note("%d wakings, slept %d times, preempted %d times", wakings, slept, left)
        self.assertGreater(wakings, 1000)
        self.assertGreater(left, 100)
        self.assertLess(slept, wakings / 10)
        self.assertLessEqual(abs(count(final, "sched_wakeup_latency") - slept), harness.hidden(final))
        self.assertLessEqual(abs(count(final, "sched_preempt_wait") - left), harness.hidden(final))


class NoRecord(test_values.Counts):
    """A kernel without CONFIG_SCHED_INFO, by a copy of its types that calls the record something else."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(BTF, "rb") as f:
            types = f.read()
        cls.file = tempfile.NamedTemporaryFile(prefix="ws-test-", suffix=".btf")
        cls.file.write(types.replace(b"\0sched_info\0", b"\0sched_none\0"))
        cls.file.flush()
        cls.options = cls.options + ["--btf", cls.file.name]

    @classmethod
    def tearDownClass(cls):
        cls.file.close()
        super().tearDownClass()

    def test_hooks(self):
        """then T1 is sched_wakeup"""
        (source,) = self.tool("-d", "0.1").end().meta["sources"]
        self.assertEqual(sorted(source["hooks"]),
                         ["sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_waking"])

    def test_check(self):
        """--check says so"""
        run = subprocess.run([TOOL, "--check", "-s", "sched", "--btf", self.file.name],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, r"(?m)^sched .* yes "
                                     r"\(queued at sched_wakeup: this kernel keeps no record of waits\)$")


if __name__ == "__main__":
    harness.main()
