#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""T1 by the kernel's own record of waits (CONFIG_SCHED_INFO), to the nanosecond; and without one."""
import mmap
import os
import struct
import subprocess
import tempfile
import threading
import time

import harness
import realtime
import test_values
from harness import TOOL, KernelTest, count, groups, metric, ref, total_ns

BTF = "/sys/kernel/btf/vmlinux"


class Hooks(KernelTest):
    def test_hooks(self):
        """two hooks are enough"""
        (source,) = self.tool("-d", "0.1").end().meta["sources"]
        self.assertEqual(sorted(source["hooks"]), ["sched_switch", "sched_waking"])


class Moved(KernelTest):
    """Part of a wait before a move to another CPU is in the kernel's sum by then, and not in last_queued."""

    PERIOD_S = 0.003

    def push(self, tids, cpus):
        """Moves the threads, which mostly wait, from CPU to CPU."""
        turn = 0
        while not self.done.is_set():
            turn += 1
            for i, tid in enumerate(tids):
                os.sched_setaffinity(tid, {cpus[(turn + i) % 2]})
            self.done.wait(self.PERIOD_S)

    def moved(self):
        cpus = self.two_cpus()
        load = self.load("hog", "--wait", 7, 1)
        first = load.line()
        whole = self.tool("-t", ",".join(map(str, first["tids"]))).ready()
        each = self.tool("-p", first["pid"], "--by", "tid").ready()
        self.done = threading.Event()
        pusher = threading.Thread(target=self.push, args=(first["tids"], cpus))
        load.go()
        pusher.start()
        time.sleep(0.75)
        self.done.set()
        pusher.join()
        lines = [load.line() for _ in first["tids"]]
        whole, each = whole.stop().final, each.stop().final
        load.end()
        return whole, each, lines

    @staticmethod
    def seen(result):
        _, each, lines = result
        return all(count(each, "sched_run_delay", tid=line["tid"]) == line["after"]["slices"] - line["before"]["slices"]
                   for line in lines)

    def test_moved(self):
        """threads that are moved while they wait: each one's run delay is schedstat's, to the nanosecond"""
        whole, each, lines = self.undisturbed(self.moved, seen=self.seen)
        kernel = test_values.crew_delay_ns(lines)
        within = 0.001 if any(f["quality"]["inferred"] for f in (whole, each)) else 0
        # Where each attempt had a switch hidden, a wait that ended with it may be missing.
        missing = 0 if self.seen((whole, each, lines)) else harness.hidden(each) * metric(each, "sched_run_delay")["max"]
        for tid, delay in kernel.items():
            got = total_ns(each, "sched_run_delay", tid=tid)
            self.assertWithin(got, delay, within, missing, msg=tid)
        self.assertWithin(total_ns(whole, "sched_run_delay"), sum(kernel.values()), within, missing)
        self.note("%d waits, %.1f ms", count(whole, "sched_run_delay"), sum(kernel.values()) / 1e6)


class FoundRunning(KernelTest):
    """A T0 that is taken while its task still runs, and does not sleep, is of no wait."""

    def naps(self, buffer_kb):
        cpu = self.two_cpus()[1]
        load = self.load("early", cpu, 3, 2)
        first = load.line()
        pid, tids = first["pid"], first["tids"]
        before = [harness.switches_of("%d/task/%d" % (pid, tid)) for tid in tids]
        tool = self.tool("-t", ",".join(map(str, tids))).ready()
        with ref.Tracer(buffer_kb) as tracer:
            load.go()
            for _ in tids:
                load.line()
            events = tracer.stop()
        after = [harness.switches_of("%d/task/%d" % (pid, tid)) for tid in tids]
        final = tool.stop().final
        load.end()
        wakings = sum(e.name == "sched_waking" and e.fields["pid"] in tids for e in events)
        slept, left = (sum(a[i] - b[i] for a, b in zip(after, before)) for i in (0, 1))
        return final, wakings, slept, left

    def test_running(self):
        """wakeups that find their task running: as many samples as it slept, and as it was preempted"""
        final, wakings, slept, left = self.undisturbed(lambda: self.whole(self.naps))
        self.note("%d wakings, slept %d times, preempted %d times", wakings, slept, left)
        self.assertGreater(wakings, 1000)
        self.assertGreater(left, 100)
        self.assertLess(slept, wakings / 10)
        self.assertLessEqual(abs(count(final, "sched_wakeup_latency") - slept), harness.hidden(final))
        self.assertLessEqual(abs(count(final, "sched_preempt_wait") - left), harness.hidden(final))


class Epoch:
    """The tool's `epoch`: while it is 0 its programs count nothing, as if a host hid all switches."""

    def __init__(self, tool):
        bss = harness.bpf_map_of(tool.proc.pid, r"sched_..\.bss")
        types = harness.bpftool("btf", "dump", "id", str(bss["btf_id"]))["types"]
        ids = {t["id"]: t["name"] for t in types if t["kind"] == "VAR"}
        (section,) = [t for t in types if t["kind"] == "DATASEC" and t["name"] == ".bss"]
        self.at = {ids[v["type_id"]]: (v["offset"], v["size"]) for v in section["vars"]}
        self.data = self.mapped(bss)
        self.value = struct.unpack_from("<Q", self.data, self.at["epoch"][0])[0]

    @staticmethod
    def mapped(bss):
        """Its bytes as the programs see them: what they write meanwhile stays."""
        fd = harness.bpf_map_fd(bss["id"])
        try:
            return mmap.mmap(fd, (bss["bytes_value"] + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE)
        finally:
            os.close(fd)

    def set(self, value):
        struct.pack_into("<Q", self.data, self.at["epoch"][0], value)

    def slots(self):
        """The tasks that have one."""
        at, size = self.at["slots"]
        return {row[7] for row in struct.iter_unpack("<8Q", self.data[at:at + size])} - {0}


class HiddenToTheEnd(KernelTest):
    """Switches that no tracepoint reports, of a task that is not seen to come to a CPU again."""

    NAPS = 20
    TASKS = 3

    def child(self, begin, say, seen):
        with open("/proc/self/comm", "w") as f:
            f.write("ws-hidden")
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # it spins to its end on its CPU
        os.write(say, b"x")
        os.read(begin, 1)
        for _ in range(self.NAPS):
            time.sleep(0.001)
        os.write(say, b"x")
        while not seen[0]:
            pass

    def hide(self, epoch):
        seen = mmap.mmap(-1, mmap.PAGESIZE)
        begin, say = os.pipe(), os.pipe()
        pid = os.fork()
        if not pid:
            try:
                self.child(begin[0], say[1], seen)
            finally:
                os._exit(0)
        os.close(say[1])  # if the child fails, its end is read
        try:
            self.assertEqual(os.read(say[0], 1), b"x")
            epoch.set(0)
            os.write(begin[1], b"x")
            self.assertEqual(os.read(say[0], 1), b"x")
        finally:
            epoch.set(epoch.value)
            seen[0] = 1
            os.waitpid(pid, 0)
            for fd in (*begin, say[0]):
                os.close(fd)

    @realtime.needed
    def test_groups(self):
        """waits that were hidden until the task ended count for its group as they do for the whole"""
        tool = self.tool("--comm", "ws-hidden", "--by", "tid", "-i", "1000").ready()
        epoch = Epoch(tool)
        for _ in range(self.TASKS):
            self.hide(epoch)
        final = tool.stop().final
        self.assertGreaterEqual(final["quality"]["inferred"], self.NAPS * self.TASKS)
        for name in ("sched_queue_to_run", "sched_run_delay"):
            parts = groups(final, name, "tid").values()
            self.assertGreaterEqual(count(final, name), self.NAPS * self.TASKS)
            self.assertEqual(sum(p["count"] for p in parts), count(final, name))
            self.assertEqual(sum(p["sum"] for p in parts), metric(final, name)["sum"])


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
