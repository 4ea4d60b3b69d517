#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--slower of the ext4 source: which operations, on what, and where their time went."""
import collections
import os
import shutil
import subprocess
import time
import unittest

import fsharness
import harness
from harness import KernelTest

OPS = "ext4_op_latency"
LIMIT_NS = 1953125  # 2^-9 s: a boundary of buckets at every precision


def of(report, op):
    return [s for s in report.slow if s.get("op") == op]


def counted(frame, op):
    """Of an operation, in all metrics that have it."""
    return sum(m["count"] for m in frame["metrics"]
               if m["labels"].get("op") == op and "cpu" not in m["labels"] and "count" in m)


def above(m, limit_ns):
    """Samples in the buckets above a boundary."""
    b = m["buckets"]
    scale = 2 ** b["schema"]
    return sum(n for i, n in enumerate(b["counts"])
               if 2 ** ((b["offset"] + i - 1) / scale) * 1e9 >= limit_ns * 0.999)


class Ext4Slow(KernelTest):
    def traced(self, fs, args, load, *load_args):
        """The report of a load's work alone: tool up, a byte to the load, load done, tool down."""
        program = self.load(load, *load_args)
        program.line()
        fs.sync()
        tool = self.tool("-s", "ext4", "--dev", fs.path, *args).ready()
        program.go()
        self.done = program.end()
        return tool.stop()

    def assertSane(self, report):
        for s in report.slow:
            if s["blocked_ns"] is None:
                self.assertIn(s["op"], ("aio-read", "aio-write"))
                continue
            self.assertEqual(s["blocked_ns"] + s["run_queue_ns"] + s["cpu_ns"], s["wait_ns"], s)
            self.assertGreaterEqual(s["cpu_ns"], 0, s)

    def test_all(self):
        """--slower 0 prints each operation that is counted, with file, bytes and split"""
        fs = fsharness.LoopFs(self)
        name = fs.file("a \n\033[31mb")
        report = self.traced(fs, ("--slower", "0"), "fswrite", "--fsync", name, 40, 4096)
        self.assertSane(report)
        lines = collections.Counter(s["op"] for s in report.slow)
        self.note("%s", dict(lines))
        self.assertEqual(report.final["quality"]["lost_events"], 0)
        for op, n in lines.items():
            self.assertEqual(n, counted(report.final, op), op)
        mine = [s for s in report.slow if s["comm"] == "fswrite"]
        self.assertEqual(len([s for s in mine if s["op"] == "fsync"]), 40)
        writes = [s for s in mine if s["op"] == "write"]
        self.assertEqual([s["bytes"] for s in writes], [4096] * 40)
        for s in of(report, "fsync") + writes:
            self.assertEqual((s["dev"], s["mount"], s["path"]), (fs.dev, fs.path, name))
            self.assertEqual((s["metric"], s["kind"]), (OPS, s["op"]))
        for s in of(report, "commit"):
            self.assertEqual((s["path"], s["comm"]), (None, "jbd2/%s-8" % fs.name))

    def test_limit(self):
        """exactly the operations of the limit or longer are printed"""
        fs = fsharness.LoopFs(self)
        report = self.traced(fs, ("--slower", "%dns" % LIMIT_NS), "fswrite", "--fsync",
                             fs.file("f"), 400, 65536)
        self.assertSane(report)
        self.assertEqual([s for s in report.slow if s["wait_ns"] < LIMIT_NS], [])
        self.assertEqual(report.final["quality"]["lost_events"], 0)
        checked = 0
        for m in report.final["metrics"]:
            op = m["labels"].get("op")
            if op and "count" in m and "cpu" not in m["labels"]:
                self.assertEqual(len(of(report, op)), above(m, LIMIT_NS), m["labels"])
                checked += 1
        self.note("%d lines, %d kinds of operations", len(report.slow), checked)
        self.assertGreater(checked, 4)

    def test_nested(self):
        """operations inside of others come first and lie within them"""
        fs = fsharness.LoopFs(self)
        report = self.traced(fs, ("--slower", "0"), "fswrite", "--fsync", fs.file("f"), 20, 16384)
        mine = [s for s in report.slow
                if s["comm"] == "fswrite" and s["op"] in ("writepages", "fsync")]
        places = [i for i, s in enumerate(mine) if s["op"] == "writepages"]
        self.assertEqual(len(mine) - len(places), 20)
        # Who else writes it back first leaves an fsync nothing to write.
        others = len(of(report, "writepages")) - len(places)
        self.assertTrue(20 - others <= len(places) <= 20, "%d, %d by others" % (len(places), others))
        for i in places:
            s, outer = mine[i], mine[i + 1]
            self.assertEqual(outer["op"], "fsync")
            self.assertLessEqual(outer["mono_ns"] - outer["wait_ns"], s["mono_ns"] - s["wait_ns"])
            self.assertLessEqual(s["mono_ns"], outer["mono_ns"])
            self.assertLessEqual(s["blocked_ns"], outer["blocked_ns"])
            self.assertLessEqual(s["run_queue_ns"], outer["run_queue_ns"])

    def test_dsync(self):
        """an O_DSYNC write is a write and an fsync"""
        fs = fsharness.LoopFs(self)
        report = self.traced(fs, ("--slower", "0"), "fswrite", "--dsync", fs.file("f"), 30, 4096)
        mine = collections.Counter(s["op"] for s in report.slow if s["comm"] == "fswrite")
        self.assertEqual((mine["write"], mine["fsync"]), (30, 30))

    def test_deleted(self):
        """a file that was unlinked while it is open says so; one that is gone has its number"""
        fs = fsharness.LoopFs(self)
        program = self.load("churn", "--keep-open", 30, fs.path, 1, 60)
        program.line()
        tool = self.tool("-s", "ext4", "--dev", fs.path, "--slower", "0").ready()
        program.go()
        program.line()
        # The log is written while the last 30 are still open.
        self.until(lambda: tool.json().count('"op":"write"') == 60, "the log is written")
        program.go()
        program.end()
        writes = [s["path"] for s in of(tool.stop(), "write")]
        self.assertEqual(len(writes), 60)
        want = ["%s (deleted)" % fs.file("churn.0.%d" % i) for i in range(30, 60)]
        self.assertEqual(writes[30:], want)
        for i, path in enumerate(writes[:30]):
            self.assertTrue(path.startswith("inode ") or path.startswith(fs.file("churn.0.%d" % i)),
                            path)

    def test_task(self):
        """process, thread, CPU and cgroup are the operation's own; -p selects by them"""
        fs = fsharness.LoopFs(self)
        group = self.cgroup()
        cpu = sorted(os.sched_getaffinity(0))[-1]
        program = self.load("fswrite", "--fsync", fs.file("f"), 20, 4096,
                            preexec_fn=lambda: (group.add(os.getpid()),
                                                os.sched_setaffinity(0, [cpu])))
        pid = program.line()["pid"]
        other = self.load("fswrite", "--fsync", fs.file("other"), 20, 4096)
        other.line()
        tool = self.tool("-s", "ext4", "-p", pid, "--slower", "0").ready()
        program.go()
        other.go()
        program.end()
        other.end()
        report = tool.stop()
        self.assertEqual(len(of(report, "fsync")), 20)
        for s in report.slow:
            self.assertEqual((s["pid"], s["tid"], s["comm"]), (pid, pid, "fswrite"))
            self.assertEqual((s["cpu"], s["cgroup"]), (cpu, group.relative))
        self.assertSane(report)

    @unittest.skipUnless(shutil.which("fio"), "no fio")
    def test_async(self):
        """direct I/O that nobody waits for: whose it was, how long, and no split"""
        fs = fsharness.LoopFs(self)
        subprocess.run(["fio", "--name=w", "--filename=" + fs.file("d"), "--size=4M", "--rw=write",
                        "--bs=64k", "--end_fsync=1"], check=True, stdout=subprocess.DEVNULL)
        tool = self.tool("-s", "ext4", "--dev", fs.path, "--slower", "0").ready()
        subprocess.run(["fio", "--name=r", "--filename=" + fs.file("d"), "--size=4M", "--rw=read",
                        "--bs=64k", "--direct=1", "--ioengine=libaio", "--iodepth=4"],
                       check=True, stdout=subprocess.DEVNULL)
        report = tool.stop()
        if "iomap_dio_rw_begin" not in report.meta["sources"][0]["hooks"]:
            self.skipTest("no direct I/O tracepoints on this kernel")
        reads = of(report, "aio-read")
        lost = harness.withheld(report.final)
        self.note("%d of 64, withheld %d", len(reads), lost)
        self.assertTrue(64 - lost <= len(reads) <= 64)
        self.assertLessEqual(lost, 8)
        for s in reads:
            self.assertEqual((s["comm"], s["bytes"], s["path"]), ("fio", 65536, fs.file("d")))
            self.assertEqual((s["blocked_ns"], s["run_queue_ns"], s["cpu_ns"]), (None,) * 3)

    def test_flood(self):
        """more than can be written: the run ends on time, and what was lost is counted"""
        fs = fsharness.LoopFs(self)
        program = self.load("churn", fs.path, 2, 8000)
        program.line()
        began = time.monotonic()
        tool = self.tool("-s", "ext4", "--dev", fs.path, "--slower", "0").ready()
        program.go()
        program.end()
        report = tool.stop()
        took = time.monotonic() - began
        lost = report.final["quality"]["lost_events"]
        ops = sum(m["count"] for m in report.final["metrics"]
                  if "op" in m["labels"] and "count" in m and "cpu" not in m["labels"])
        self.note("%.1f s, %d lines, %d lost of %d", took, len(report.slow), lost, ops)
        self.assertLess(took, 60)
        self.assertGreater(len(report.slow), 1000)
        self.assertEqual(len(report.slow) + lost, ops)

    def test_both(self):
        """with the scheduler's waits beside them, each line is of one sort"""
        fs = fsharness.LoopFs(self)
        program = self.load("fswrite", "--fsync", fs.file("f"), 50, 4096)
        pid = program.line()["pid"]
        tool = self.tool("-s", "sched,ext4", "-p", pid, "--slower", "0").ready()
        program.go()
        program.end()
        report = tool.stop()
        self.assertEqual(report.final["quality"]["lost_events"], 0)
        self.assertEqual(len(of(report, "fsync")), 50)
        waits = [s for s in report.slow if "op" not in s]
        self.assertGreater(len(waits), 0)
        self.assertEqual([s for s in waits if not s["metric"].startswith("sched_")], [])


if __name__ == "__main__":
    harness.main()
