#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ext4: where an operation's time went: blocked, on the run queue, on a CPU."""
import os
import subprocess
import time

import harness
from fsharness import LoopFs
from harness import KernelTest


def timed(frame):
    """Operations, all of them: those that have a sum."""
    return [m for m in frame["metrics"] if "sum" in m and "op" in m["labels"]]


def row(frame, fs, op):
    for m in timed(frame):
        if m["labels"]["op"] == op and m["labels"]["dev"] == fs.dev and len(m["labels"]) <= 3:
            return m
    raise AssertionError("no %s on %s" % (op, fs.dev))


class Split(KernelTest):
    SOURCES = "ext4"  # by its own program at sched_switch

    def tracing(self, *args):
        return self.tool("-s", self.SOURCES, *args).ready()

    def hogs(self, cpu, n):
        self.load("hog", "--cpu", cpu, n, 600).line()

    def fsyncs(self, fs, cpu, n, nice):
        """(what a trace says of `n` fsyncs by a process on this CPU, its run delay by schedstat)"""
        def pinned():
            os.sched_setaffinity(0, {cpu})
            os.nice(nice)

        load = self.load("fswrite", "--fsync", fs.file("a"), n, 4096, preexec_fn=pinned)
        load.line()
        tool = self.tracing("--pid", load.pid)
        load.go()
        (did,) = load.end()
        return row(tool.stop().final, fs, "fsync"), did["delay_ns"]

    def test_never_more(self):
        """blocked + run queue is never more than the total: each row, each frame, crowded CPUs"""
        fs = LoopFs(self)
        for cpu in self.two_cpus():
            self.hogs(cpu, 2)
        tool = self.tracing("-i", "0.1", "--by", "tid")
        loads = [self.load("churn", fs.path, 4, 150),
                 self.load("fswrite", "--fsync", fs.file("a"), 150, 16384),
                 self.load("fallocate", fs.file("b"), 60)]
        for load in loads:
            load.line()
            load.go()
        for load in loads:
            load.end()
        report = tool.stop()
        rows = 0
        for frame in report.intervals + [report.final]:
            for m in timed(frame):
                if "blocked_ns" not in m:
                    continue
                rows += 1
                self.assertLessEqual(m["blocked_ns"] + m["run_queue_ns"], m["sum"], m["labels"])
                self.assertEqual(m["blocked_ns"] + m["run_queue_ns"] + m["cpu_ns"], m["sum"])
        self.note("%d rows, %s", rows, report.final["quality"])
        self.assertGreater(rows, 50)
        self.assertEqual(report.final["quality"]["clamped"], 0)

    def stacked(self):
        """(a file system, one in a file of it, a load ready to fsync in that, the tool)"""
        below = LoopFs(self, size_mb=320)
        fs = LoopFs(self, size_mb=64, where=below.path)
        load = self.load("fswrite", "--fsync", fs.file("a"), 1, 4096)
        load.line()
        below.sync()
        return below, fs, load, self.tracing("--pid", load.pid)

    def stuck(self, load):
        load.go()
        self.until(lambda: harness.stat_of(load.pid)[0] == "D", "it waits for the device")

    def frozen(self):
        """(the final report over one fsync whose device stands still for a second, its row)"""
        below, fs, load, tool = self.stacked()
        self.freeze(below, "-f")
        try:
            self.stuck(load)
            time.sleep(1)
        finally:
            self.freeze(below, "-u")
        load.end()
        final = tool.stop().final
        return final, row(final, fs, "fsync")

    def test_frozen(self):
        """an fsync whose device stands still for a second was blocked for it"""
        final, m = self.undisturbed(self.frozen, 4)
        self.note("%.1f ms, of it blocked %.1f", m["sum"] / 1e6, m["blocked_ns"] / 1e6)
        self.assertEqual(m["count"], 1)
        self.assertGreater(m["sum"], 0.9e9)
        self.assertGreater(m["blocked_ns"], 0.9e9)

    def freeze(self, fs, how):
        done = subprocess.run(["fsfreeze", how, fs.path], stderr=subprocess.PIPE, text=True)
        if done.returncode and how == "-f":
            self.skipTest("fsfreeze: " + done.stderr.strip())

    def test_in_flight(self):
        """an fsync that has not ended is an edge, with its task, and no sample"""
        below, _, load, tool = self.stacked()
        self.freeze(below, "-f")
        try:
            self.stuck(load)
            time.sleep(0.5)
            final = tool.stop().final
        finally:
            self.freeze(below, "-u")
        load.end()
        q = final["quality"]
        self.note("%s", q)
        self.assertGreaterEqual(q["in_flight"], 1)
        self.assertGreater(q["in_flight_longest_ns"], 0.2e9)
        self.assertNotIn("fsync", [m["labels"]["op"] for m in timed(final)])

    def test_crowded(self):
        """an operation's run-queue time is what schedstat says, alone and in a crowd on its CPU"""
        cpu = self.two_cpus()[1]
        fs = LoopFs(self)
        # As nice as the hogs it may get the CPU at every wakeup: so it is the nicer.
        for name, crowd, nice in (("alone", 0, 0), ("crowded", 3, 10)):
            if crowd:
                self.hogs(cpu, crowd)
            m, delay_ns = self.fsyncs(fs, cpu, 200, nice)
            self.note("%s: %.1f ms, blocked %.1f, run queue %.1f, schedstat %.1f", name,
                      m["sum"] / 1e6, m["blocked_ns"] / 1e6, m["run_queue_ns"] / 1e6, delay_ns / 1e6)
            self.assertEqual(m["count"], 200)
            # Waiting begins with the waker, queueing a moment later. Between two fsyncs there is little.
            self.assertLessEqual(m["run_queue_ns"], 1.05 * delay_ns + 200 * 50_000)
            self.assertGreaterEqual(m["run_queue_ns"], 0.7 * delay_ns - 1_000_000)
        # How long a turn of the others takes is the scheduler's affair: 0.04 to 1.4 ms for each fsync were seen.
        self.assertGreater(m["run_queue_ns"], 8_000_000)


class Together(Split):
    SOURCES = "ext4,sched"  # by the scheduler source's program, whichever is named first

    def test_hooks(self):
        """one program on each scheduler event, whoever asks"""
        sched, ext4 = self.tracing("-d", "0.1").end().meta["sources"]
        self.assertEqual(sorted(sched["hooks"]), ["sched_switch", "sched_waking"])
        self.assertEqual([h for h in ext4["hooks"] if h.startswith("sched_")], [])

    def test_same_moments(self):
        """an operation's run-queue time is never more than the scheduler's of its task, and most of it here"""
        cpu = self.two_cpus()[1]
        fs = LoopFs(self)
        self.hogs(cpu, 3)

        def pinned():
            os.sched_setaffinity(0, {cpu})

        loads = [self.load("fswrite", "--fsync", fs.file("f%d" % i), 100, 4096, preexec_fn=pinned) for i in range(3)]
        tool = self.tracing("--by", "tid")
        for load in loads:
            load.line()
            load.go()
        for load in loads:
            load.end()
        final = tool.stop().final
        for load in loads:
            fsync = harness.metric(final, "ext4_op_latency", op="fsync", tid=load.pid)
            waited = harness.total_ns(final, "sched_run_delay", tid=load.pid)
            self.note("%d: %d ns of %d", load.pid, fsync["run_queue_ns"], waited)
            self.assertEqual(fsync["count"], 100)
            self.assertLessEqual(fsync["run_queue_ns"], waited)
            self.assertGreater(fsync["run_queue_ns"], 0.2 * waited)


if __name__ == "__main__":
    harness.main()
