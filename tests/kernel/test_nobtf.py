#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernels without BTF: raw tracepoints, and the types from --btf FILE.

The tool runs in a mount namespace of its own where the kernel shows no BTF; a copy of it lies there.
Other tests of the numbers are run again that way.
"""
import os
import subprocess

import harness
import test_filters
import test_report
import test_slower
import test_values
from harness import BUILD, ROOT, TOOL, KernelTest, count

COPY = "/sys/kernel/btf/copy"
LAUNCH = [os.path.join(ROOT, "tests", "kernel", "nobtf.sh")]


class NoBtf:
    launch = LAUNCH
    options = ["--btf", COPY]


class Words(KernelTest):
    def hidden(self, *args):
        """(exit status, stdout, stderr) of a run without kernel BTF."""
        run = subprocess.run(LAUNCH + [TOOL] + list(args), capture_output=True, text=True, timeout=60)
        return run.returncode, run.stdout, run.stderr

    def refused(self, status, words, *args):
        got, _, err = self.hidden("-d", "0.2", *args)
        self.assertEqual(got, status, err)
        self.assertIn(words, err)
        self.assertEqual(err.count("\n"), 1, err)

    def test_none(self):
        """without BTF and without --btf: exit 3, and the words name --btf"""
        self.refused(3, "--btf FILE")

    def test_not_there(self):
        """--btf with a file that is not there: exit 2 and its name"""
        self.refused(2, "--btf '/nonexistent': No such file", "--btf", "/nonexistent")

    def test_not_btf(self):
        """--btf with a file that is no BTF: exit 3 and its name"""
        self.refused(3, "--btf '/etc/passwd'", "--btf", "/etc/passwd")

    def test_other_kernel(self):
        """--btf with another kernel's types: exit 3 and the name of the kernel that runs"""
        ours = ".".join(os.uname().release.split(".")[:2])
        others = [v for v in ("5.10", "6.1", "6.12", "7.2") if v != ours]
        for version in others:
            path = os.path.join(ROOT, "tests", "btf", version + "-amd64.btf")
            self.refused(3, "the kernel that runs, " + os.uname().release, "--btf", path)

    def test_other_sources(self):
        """sources that need the kernel's own BTF say so, --btf or not"""
        for source in ("ext4", "lock", "futex", "line"):
            self.refused(3, "the kernel has no BTF", "-s", source, "--btf", COPY)

    def test_check(self):
        """--check says yes, and how"""
        status, out, err = self.hidden("--check", "-s", "sched", "--btf", COPY)
        self.assertEqual(status, 0, err)
        ways = [line for line in out.splitlines() if line.startswith("sched")]
        self.assertGreater(len(ways), 4)
        for line in ways:
            if "--why" in line:
                self.assertRegex(line, r" no: sched: --why: this kernel has no BTF$")
                continue
            self.assertRegex(line, r" yes \(raw tracepoints: this kernel has no BTF\)$")

    def test_cut_down(self):
        """a file that bpftool cut down to what the programs read is enough"""
        path = os.path.join(BUILD, "tests", "cut-down.btf")
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        subprocess.run(
            ["bpftool", "gen", "min_core_btf", "/sys/kernel/btf/vmlinux", path,
             os.path.join(BUILD, "bpf", "sched_raw.bpf.o")], check=True)
        self.assertLess(os.path.getsize(path), 100000)
        for more in ([], ["--by", "pid"], ["--slower", "0", "-q"], ["-c", "/"]):
            status, out, err = self.hidden("-d", "0.5", "-o", "json", "--btf", path, *more)
            self.assertEqual(status, 0, err)
            report = harness.Report(out)
            self.assertGreater(count(report.final, "sched_wakeup_latency"), 0, more)
            self.assertEqual(bool(report.slow), "--slower" in more)


class Hooks(NoBtf, KernelTest):
    def test_hooks(self):
        """meta names the same hooks, and the stamps' end: they are not in task storage"""
        (source,) = self.tool("-d", "0.1").end().meta["sources"]
        self.assertEqual(
            sorted(source["hooks"]),
            ["sched_process_free", "sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_waking"],
        )

    def test_in_flight(self):
        """in_flight, without the iterator: of 7 hogs on 1 CPU 6 wait, the longest is one of them"""
        load = self.load("hog", "--cpu", self.two_cpus()[1], "--wait", 7, 3)
        first = load.line()
        load.go()
        quality = self.tool("-p", first["pid"], "-d", "1").end().final["quality"]
        self.note("%s", quality)
        self.assertIn(quality["in_flight"], (6, 7))
        self.assertIn(quality["in_flight_longest"]["tid"], first["tids"])
        self.assertEqual(quality["in_flight_longest"]["comm"], "hog")


class Schedstat(NoBtf, test_values.Schedstat):
    WITHIN = 0.02  # T1 and T2 are stamped by another clock
    WAITS = 600  # of which a moment between the two, when a host takes the CPU, is a small part


class Counts(NoBtf, test_values.Counts):
    pass


class Legs(NoBtf, test_values.Legs):
    pass


class Quantiles(NoBtf, test_values.Quantiles):
    pass


class Edges(NoBtf, test_values.Edges):
    pass


class CgroupFilter(NoBtf, test_filters.CgroupFilter):
    pass


class TaskFilter(NoBtf, test_filters.TaskFilter):
    pass


class Follow(NoBtf, test_filters.Follow):
    pass


class Slower(NoBtf, test_slower.Slower):
    pass


class ShortLived(NoBtf, test_slower.ShortLived):
    pass


class Groups(NoBtf, KernelTest):
    busy_run = test_report.Live.busy_run
    test_by_tid_whole = test_report.Live.test_by_tid_whole
    test_group_buckets = test_report.Live.test_group_buckets


if __name__ == "__main__":
    harness.main()
