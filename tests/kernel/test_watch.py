#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Watched addresses: every access counted, and told what it was; bounds that hold; words for what
cannot be watched; and nothing left behind.
"""
import os
import platform
import signal
import subprocess
import sys
import time

import harness
from harness import KernelTest, bpf_ids, bpf_leaked

STAT_FOREVER = """
import os
while True:
    os.stat("/etc/passwd")
"""


def rows(frame):
    return [r for r in frame["tables"]["contended"] if r["source"] == "watch"]


def line_of(row):
    """Where its 64 bytes begin; the row's address is that of the hottest word."""
    return int(row["addr"], 16) & ~63


class WatchTest(KernelTest):
    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64":
            self.skipTest("x86 only")

    def watching(self, load, *args):
        """(what the load says, the tool, which counts now)"""
        said = load.line()
        tool = self.tool("-s", "watch", "-p", said["pid"], *args)
        tool.ready()
        return said, tool

    def touched(self, n, names, *args, mode=()):
        load = self.load("accesses", n, *mode)
        watches = [w for name in names for w in ("--watch", name)]
        said, tool = self.watching(load, *watches, *args)
        load.go()
        load.end()
        return said, tool.end()

    def refused(self, status, *args):
        """The words of a run that must not start."""
        tool = self.tool("-d", "1", *args)
        self.assertEqual(tool.wait(), status, "%s %s" % (args, tool.stderr()))
        return tool.stderr()


class Counts(WatchTest):
    def test_kinds(self):
        """loads, stores, locked adds, swaps: each counted exactly, and told what it was"""
        n = 500
        names = ("loaded", "stored", "locked", "swapped")
        said, report = self.touched(n, names)
        found = {r["name"].partition("`")[2]: r for r in rows(report.final)}
        self.assertEqual(sorted(found), sorted(names))
        for name, reads, writes, locked in (
            ("loaded", n, 0, 0), ("stored", 0, n, 0), ("locked", n, n, n), ("swapped", n, n, n)
        ):
            row = found[name]
            got = row["count"], row["reads"], row["writes"], row["locked"]
            self.assertEqual(got, (n, reads, writes, locked), name)
            self.assertEqual([(t["tid"], t["samples"]) for t in row["tids"]], [(said["tid"], n)])
            self.assertEqual((row["cpus"], row["transfers"]), ([0], 0))
            self.assertTrue(row["exact"])
            self.assertEqual(row["sampler"], "breakpoint")
            self.assertIsNone(row["share_ppm"])
            self.assertTrue(row["place"].startswith("accesses.c:"), row["place"])
            (site,) = row["sites"]
            self.assertEqual(site["count"], n)
            self.assertTrue(site["sym"].startswith("accesses`touch"), site["sym"])
        self.assertTrue(report.final["quality"]["complete"])

    def test_overwritten_base_and_narrow(self):
        """a load that overwrites its own base is a read; four bytes are watched alone"""
        n = 300
        _, report = self.touched(n, ("followed", "narrow+4"))
        found = {r["name"].partition("`")[2]: r for r in rows(report.final)}
        self.assertEqual((found["followed"]["reads"], found["followed"]["writes"]), (n, 0))
        narrow = found["narrow[1]"]
        self.assertEqual((narrow["reads"], narrow["writes"]), (0, n))
        self.assertEqual(narrow["tids"][0]["write_bytes"], "0xf0")

    def test_two_threads(self):
        """two threads on two CPUs: counts of each, false sharing, and how often it changed CPU"""
        self.two_cpus()
        n = 2000
        _, report = self.touched(n, ("halves:16",), mode=("two",))
        (row,) = rows(report.final)
        self.assertEqual([t["samples"] for t in row["tids"]], [n, n])
        self.assertEqual({t["write_bytes"] for t in row["tids"]}, {"0xff", "0xff00"})
        self.assertEqual((row["cpus"], row["cores"], row["sharing"]), ([0, 1], 2, "false"))
        self.assertEqual((row["reads"], row["writes"]), (2 * n, 2 * n))
        self.assertGreater(row["transfers"], 0)
        self.assertLess(row["transfers"], 2 * n)
        self.assertAlmostEqual(
            row["interleave_ppm"], row["transfers"] / (2 * n - 1) * 1e6, delta=2
        )
        self.note("%d transfers of %d", row["transfers"], 2 * n)

    def test_intervals(self):
        """intervals add up to the whole; an interval without an access is shown too"""
        _, report = self.touched(1500, ("loaded",), "-i", "0.05")
        counts = [r["count"] for i in report.intervals for r in rows(i)]
        self.assertEqual(len(counts), len(report.intervals))
        self.assertEqual(sum(counts), 1500)

    def test_another_process(self):
        """what another process has at that address is not counted"""
        other = self.load("accesses", 300, preexec_fn=fixed_addresses)
        load = self.load("accesses", 200, preexec_fn=fixed_addresses)
        theirs = other.line()
        said, tool = self.watching(load, "--watch", "stored")
        if theirs["stored"] != said["stored"]:
            self.skipTest("addresses cannot be fixed here")
        for one in (other, load):
            one.go()
            one.end()
        (row,) = rows(tool.end().final)
        self.assertEqual((row["count"], row["foreign"]), (200, 300))

    def test_warm_up(self):
        """-w: nothing is watched, nor spent, before it is over"""
        load = self.load("accesses", 1, "fast")
        said = load.line()
        load.go()
        tool = self.tool("-s", "watch", "-p", said["pid"], "--watch", "stored", "--confirm", 50,
                         "-w", "0.3", "-d", "5")
        (row,) = rows(tool.end().final)
        load.kill()
        self.assertEqual(row["count"], 50)


def fixed_addresses():
    """personality(ADDR_NO_RANDOMIZE)"""
    import ctypes

    ctypes.CDLL(None).personality(0x0040000)


class Bounds(WatchTest):
    def test_confirm(self):
        """--confirm 1000: 1000 of them, the run ends, and the program has its speed back"""
        load = self.load("accesses", 1, "fast")
        said = load.line()
        load.go()
        free = [load.line() for _ in range(3)]
        began = time.monotonic()
        tool = self.tool("-s", "watch", "-p", said["pid"], "--watch", "stored", "--confirm", 1000)
        report = tool.end()
        (row,) = rows(report.final)
        self.assertEqual((row["count"], row["bound"], row["stopped"]), (1000, 1000, True))
        self.assertEqual(report.final["end"], "1000 accesses seen")
        self.assertLess(time.monotonic() - began, harness.PATIENCE_S)
        after = [load.line() for _ in range(20)][-5:]

        def speed(lines):
            return max(line["ops"] / line["ns"] for line in lines)

        self.note("%.3f operations a ns before, %.3f after", speed(free), speed(after))
        self.assertGreater(speed(after), speed(free) / 4)

    def test_bound_of_all(self):
        """several watches share the bound"""
        _, report = self.touched(900, ("loaded", "stored"), "--confirm", "1000")
        self.assertEqual(sum(r["count"] for r in rows(report.final)), 1000)

    def test_with_other_sources(self):
        """beside another source the run goes on when enough was seen"""
        load = self.load("accesses", 400)
        said = load.line()
        tool = self.tool("-s", "sched", "-p", said["pid"], "--watch", "stored", "--confirm", 100,
                         "-i", "0.2")
        tool.ready()
        load.go()
        load.end()
        report = tool.end()
        (row,) = rows(report.final)
        self.assertEqual((row["count"], row["stopped"]), (100, True))
        self.assertIn(str(said["pid"]), report.final["end"])

    def test_interrupted(self):
        """SIGINT in the midst of it: a report, no breakpoint and no program left"""
        before = bpf_ids()
        load = self.load("accesses", 1, "fast")
        said = load.line()
        load.go()
        tool = self.tool("-s", "watch", "-p", said["pid"], "--watch", "stored",
                         "--confirm", 1000000)
        tool.ready()
        time.sleep(1)
        (row,) = rows(tool.stop(signal.SIGINT).final)
        self.assertGreater(row["count"], 0)
        self.assertFalse(row["stopped"])
        self.assertEqual(bpf_leaked(before), set())
        slots = ["--watch", "halves:16", "--watch", "loaded", "--watch", "locked"]
        again = self.tool("-s", "watch", "-p", said["pid"], *slots, "-d", "0.2")
        again.end()  # all four registers are free
        load.kill()


class Confirm(WatchTest):
    def test_sampled_line(self):
        """-s line --confirm: the line that sampling found is watched, to the bound"""
        self.two_cpus()
        found = None
        for seconds in (4, 4, 8, 16):
            load = self.load("lines", "plain", seconds + 2)
            said = load.line()
            tool = self.tool("-s", "line", "--confirm", 1500, "-p", said["pid"], "-d", seconds)
            report = tool.end()
            load.kill()
            found = rows(report.final) or found
            if found and found[0]["stopped"]:  # not sampled at the last moment
                break
        if not found:
            self.skipTest("the line was not sampled")
        (row,) = found
        self.assertEqual(line_of(row), int(said["lines"][0], 16))
        self.assertEqual((row["count"], row["stopped"]), (1500, True))
        if len(row["tids"]) == 2:  # 1500 traps take 30 ms: one may not have run in them
            self.assertEqual(row["sharing"], "false")
        self.assertGreater(row["reads"] + row["writes"], 1499)
        self.assertEqual(sum(r["count"] for i in report.intervals for r in rows(i)), 1500)
        sampled = [r for r in report.final["tables"]["contended"] if r["source"] == "line"]
        self.assertIn(line_of(row), [line_of(r) for r in sampled])


    def test_refused_line(self):
        """-s line --confirm with all debug registers taken: the run goes on, its row says why not"""
        self.two_cpus()
        other = self.load("accesses", 60)
        self.addCleanup(other.kill)
        taken = self.tool("-s", "watch", "-p", other.line()["pid"], "--watch", "halves:16", "--watch",
                          "loaded", "--watch", "stored", "--confirm", 1000000, "-d", "60").ready()
        load = self.load("lines", "plain", 12)
        said = load.line()
        tool = self.tool("-s", "line", "--line-source", "clock", "--confirm", 1500, "-p", said["pid"],
                         "-d", "5", "0.5")
        report = tool.end()
        load.kill()
        taken.stop()
        self.assertEqual((report.status, report.stderr), (0, ""))
        at = int(said["lines"][0], 16) & ~63
        mine = [r for r in report.final["tables"]["contended"] if line_of(r) == at]
        if not mine:
            self.skipTest("the line was not sampled")
        (row,) = mine
        self.assertEqual(row["source"], "line")
        self.assertIn("no debug register is free", row["unconfirmed"])


class Kernel(WatchTest):
    def test_kernel_line(self):
        """a line of the kernel's, found by sampling: watched, hit by kernel code"""
        self.two_cpus()
        pids = []
        for cpu in (0, 1):
            proc = subprocess.Popen(
                [sys.executable, "-c", "import os; os.sched_setaffinity(0, {%d})\n%s"
                 % (cpu, STAT_FOREVER)]
            )
            self.addCleanup(proc.wait)
            self.addCleanup(proc.kill)
            pids.append(proc.pid)
        row = None
        for _ in range(4):
            found = self.tool("-s", "line", "--freq", 4999, "-d", "2").end().final
            lines = [r for r in found["tables"]["contended"] if not r["pid"]
                     and "lockref" in r["sites"][0]["sym"]
                     and {t["pid"] for t in r["tids"]} & set(pids)]
            if not lines:
                continue
            best = max(lines, key=lambda r: r["rank"])
            at = int(best["addr"], 16) & ~7
            tool = self.tool("-s", "watch", "--watch", hex(at), "--confirm", 2000, "-d", "20")
            (row,) = rows(tool.end().final)
            if row["stopped"]:
                break
        if not row:
            self.skipTest("no line of a dentry's was sampled")
        self.assertEqual(row["count"], 2000)
        self.assertIsNone(row["owner"])
        self.assertTrue({t["pid"] for t in row["tids"]} & set(pids))
        self.assertTrue(all("`" not in s["sym"] for s in row["sites"]), row["sites"])
        self.assertGreater(row["locked"], 0)


class Refused(WatchTest):
    def setUp(self):
        super().setUp()
        self.pid = self.load("accesses", 1).line()["pid"]

    def test_addresses(self):
        """unmapped, unaligned, across lines, without a process: refused, quoting what was given"""
        at = ("-p", self.pid)
        for args, status, words in (
            (("--watch", "0x1000", *at), 2, "'0x1000': 0x1000 is not mapped in process"),
            (("--watch", "stored+1:8", *at), 2, "not aligned"),
            (("--watch", "stored+2:4", *at), 2, "a multiple of 4"),
            (("--watch", "stored+56:16", *at), 2, "crosses a cache line"),
            (("--watch", "stored:3", *at), 2, "LEN '3': expected 1, 2, 4, 8, 16, 24 or 32"),
            (("--watch", "nosuchthing", *at), 2, "'nosuchthing'"),
            (("--watch", "libnosuch.so`stored", *at), 2, "'libnosuch.so`stored'"),
            (("--watch", "12ab", *at), 2, "'12ab'"),
            (("--watch", "stored+x", *at), 2, "'stored+x'"),
            (("--watch", "stored", "--watch", "stored", *at), 2, "watched already"),
            (("--watch", "loaded:32", "--watch", "stored", *at), 2, "too many"),
            (("--watch", "0x5500001000"), 2, "expected one -p PID"),
            (("--watch", "0x5500001000", *at, "-p", os.getpid()), 2, "expected one -p PID"),
            (("--watch", "stored", "--follow", *at), 2, "--follow"),
            (("--watch", "0xfff0000000000000"), 2, "not mapped in the kernel"),
            (("--watch", "0x8000000000000000"), 2, "not mapped in the kernel"),
            (("--watch", "0xffff7fffffff0000"), 2, "not mapped in the kernel"),
        ):
            with self.subTest(args=args):
                said = self.refused(status, *args)
                self.assertIn(words, said)
                self.assertEqual(said.count("\n"), 1, said)

    def test_not_permitted(self):
        """a kernel address without CAP_SYS_ADMIN: refused, and says what is missing"""
        allowed = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all"]
        got = subprocess.run(
            allowed + [harness.TOOL, "--watch", "0xffff888000001000", "-d", "1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        )
        self.assertEqual(got.returncode, 3, got.stderr)
        self.assertIn("'0xffff888000001000'", got.stderr)
        self.assertIn("CAP_SYS_ADMIN", got.stderr)

    def test_registers_in_use(self):
        """all debug registers taken: refused, with the reason"""
        first = self.tool("-s", "watch", "-p", self.pid, "--watch", "halves:16", "--watch",
                          "loaded", "--watch", "stored", "-d", "30")
        first.ready()
        said = self.refused(3, "--watch", "locked", "-p", self.pid)
        self.assertIn("'locked'", said)
        self.assertIn("no debug register is free", said)
        first.stop()


if __name__ == "__main__":
    harness.main()
