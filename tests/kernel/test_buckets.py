#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""No compiler may change a number (DESIGN, rule 17): the tool that finds its programs' buckets wrong makes no
report, and no report of any test has buckets that its exact counts and sums contradict (harness.py).

What a compiler has done is done again by a library that is preloaded (wrong_table.c).
"""
import copy
import os
import subprocess

import fsharness
import harness
import test_throttle
from harness import BUILD, HISTOGRAMS, METRICS, ROOT, TOOL, KernelTest, Report

LIBRARY = os.path.join(BUILD, "tests", "kernel", "wrong_table.so")
WAYS = ("zeros", "threshold", "place")
PMU = [os.path.join(ROOT, "tests", "kernel", "pmu.sh")]
NO_BTF = [os.path.join(ROOT, "tests", "kernel", "nobtf.sh")]

# Every object whose programs fill histograms, in each way that it fills them.
OBJECTS = (  # what, launcher, options
    ("sched", [], ["-s", "sched"]),
    ("sched, groups", [], ["-s", "sched", "--by", "comm"]),
    ("sched, other precision", [], ["-s", "sched", "--precision", "3"]),
    ("sched, raw tracepoints", NO_BTF, ["-s", "sched", "--btf", "/sys/kernel/btf/copy"]),
    ("ext4", [], ["-s", "ext4"]),
    ("ext4, groups", [], ["-s", "ext4", "--by", "pid"]),
    ("lock", [], ["-s", "lock"]),
    ("futex", [], ["-s", "futex"]),
    ("line, latencies", PMU, ["-s", "line", "--line-source", "pmu"]),
)

GROUPS = ("pid", "tid", "comm", "cgroup", "cpu")
EXT4 = ("ext4_op_latency", "jbd2_start_wait", "jbd2_handle_held", "jbd2_commit")


def run(launch, *args, **env):
    command = launch + [TOOL] + list(args)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, **env})


def spoilt(launch, how, *args, **env):
    return run(launch, *args, LD_PRELOAD=LIBRARY, WRONG_TABLE=how, **env)


class StartTest(KernelTest):
    def test_refused(self):
        """a program with another table: exit 3, no report, and the compiler's name; for every object"""
        version = subprocess.run(["strings", "-a", BUILD + "/bpf/sched.bpf.o"], capture_output=True, text=True)
        (compiler,) = {w for w in version.stdout.splitlines() if "lang 1" in w or "lang 2" in w}
        for what, launch, options in OBJECTS:
            for how in WAYS:
                done = spoilt(launch, how, *options, "-d", "0.2", "-o", "json")
                words = "%s, %s: %d, %s" % (what, how, done.returncode, done.stderr)
                self.assertEqual((done.returncode, done.stdout), (3, ""), words)
                self.assertEqual(done.stderr.count("\n"), 1, words)
                self.assertIn("the BPF programs that '%s' built put" % compiler, done.stderr)

    def test_right(self):
        """the same runs with their own tables: a report"""
        for what, launch, options in OBJECTS:
            done = run(launch, *options, "-d", "0.2", "-o", "json", LD_PRELOAD=LIBRARY)
            self.assertEqual(done.returncode, 0, what + ": " + done.stderr)
            Report(done.stdout).final

    def test_default_sources(self):
        """among the default sources, too, it is an error: none of them is left out in silence"""
        done = spoilt([], "zeros", "-d", "0.2", "-o", "json")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertIn("into other buckets", done.stderr)

    def test_check(self):
        """--check says that buckets are compared, or why they cannot be; then the run goes on"""
        self.assertIn("BPF test runs      yes: at the start buckets are", run([], "--check", "-s", "sched").stdout)
        if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
            self.skipTest("a pid namespace: without test runs our own number is not known")
        said = run([], "--check", "-s", "sched", LD_PRELOAD=LIBRARY, NO_TEST_RUN="1")
        self.assertIn("BPF test runs      no: not supported by this kernel; buckets are not", said.stdout)
        self.assertEqual(said.returncode, 0, said.stdout)
        done = run([], "-s", "sched", "-d", "0.2", "-o", "json", LD_PRELOAD=LIBRARY, NO_TEST_RUN="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        Report(done.stdout).final


class ReportTest(KernelTest):
    """Each path that fills a histogram: seen here, filled, and its sum as its buckets have it."""

    def seen(self, wanted):
        """wanted: (name, label keys) of histograms that this run must have filled."""
        for name, keys in wanted:
            self.assertGreater(HISTOGRAMS.get((name, tuple(keys)), 0), 0, "%s %s" % (name, keys))

    def beside(self, load, *options):
        HISTOGRAMS.clear()
        tool = self.tool(*options, "-d", "0.8").ready()
        work = load()
        report = tool.end()
        self.assertEqual(report.status, 0, report.stderr)
        work.kill()
        return report

    def waiters(self):
        return self.load("hog", "--cpu", 0, 3, 600)

    def test_sched(self):
        """whole and CPUs, and every key of groups"""
        self.beside(self.waiters, "-s", "sched")
        self.seen((m, keys) for m in METRICS for keys in ((), ("cpu",)))
        for by in harness.few(GROUPS, ("pid", "comm", "cpu")):
            self.beside(self.waiters, "-s", "sched", "--by", by)
            keys = {"pid": ("comm", "pid"), "tid": ("comm", "pid", "tid")}.get(by, (by,))
            self.seen((m, keys) for m in METRICS)

    def test_quota(self):
        """waits for CPU quota"""
        group = test_throttle.limited_group(self)
        self.beside(lambda: self.load("hog", 2, 600, preexec_fn=group.enter()), "-s", "sched")
        self.seen([("sched_throttle_wait", ())])

    def test_ext4(self):
        """operations and the journal, of the whole and of groups"""
        fs = fsharness.LoopFs(self)

        def work():
            return self.went(self.load("fswrite", "--fsync", "--over", fs.file("a"), 10000000, 4096))

        self.beside(work, "-s", "ext4", "--dev", fs.path)
        self.seen((m, ("dev", "mount", "op")) for m in EXT4)
        for by in harness.few(("pid", "comm", "cgroup", "file"), ("pid", "file")):
            self.beside(work, "-s", "ext4", "--by", by, "--dev", fs.path)
            keys = [k for name, k in HISTOGRAMS if name == "ext4_op_latency" and by in k and HISTOGRAMS[name, k]]
            self.assertTrue(keys, by)

    def test_lock(self):
        """waits for locks: the whole, each lock, locks of groups"""
        self.two_cpus()

        def work():
            return self.load("locks", "pipe", 2, 600000)

        for options in ((), ("--by", "pid")):
            self.beside(lambda: self.went(work()), "-s", "lock", *options)
            self.seen([("lock_wait", ()), ("lock wait_ns", options[1:])])

    def test_futex(self):
        """waits for futexes: the whole, each address, addresses of groups"""

        def work():  # to its end: it has processes of its own
            load = self.went(self.load("futex", "shared", 300))
            load.end()
            return load

        for options in ((), ("--by", "pid")):
            self.beside(work, "-s", "futex", *options)
            self.seen([("futex_wait", ()), ("futex wait_ns", options[1:])])

    def went(self, load):
        load.line()
        load.go()
        return load


class CheckTest(KernelTest):
    """The check of reports itself: it would have seen what clang 19 did."""

    def unchecked(self, how, *options):
        if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
            self.skipTest("a pid namespace: without test runs our own number is not known")
        hog = self.load("hog", "--cpu", 0, 3, 600)
        done = spoilt([], how, "-d", "0.5", "-o", "json", *options, NO_TEST_RUN="1")
        hog.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_seen(self):
        """a report out of a table of zeros fails the check of every test: groups and whole"""
        for options in (("-s", "sched", "--by", "comm"), ("-s", "sched")):
            text = self.unchecked("zeros", *options)
            with self.assertRaisesRegex(AssertionError, r"buckets of sched_\w+ .*sum \d+, by its buckets"):
                Report(text)

    def test_each(self):
        """... and so does any one wrong: a count, a sum, a bucket"""
        done = run([], "-s", "synth", "-o", "json", "0.1", "1")
        report = Report(done.stdout)
        for spoil in (
            lambda h: h.update(count=h["count"] + 1),
            lambda h: h.update(sum=2 * h["sum"]),
            lambda h: h["buckets"].update(offset=h["buckets"]["offset"] + 1),
            lambda h: h["buckets"].update(zero=1),
        ):
            lines = copy.deepcopy(report.lines)
            spoil(next(h for line in lines for _, _, h in harness.histograms(line) if h["count"]))
            with self.assertRaisesRegex(AssertionError, "buckets of"):
                harness.check_report(lines)

    def test_mean(self):
        """Waits that nobody saw end count as so many of their mean, in whole ns: their sum may be that much more."""
        n, schema, offset = 10, 6, -1488
        mean = int(harness.edge(schema, offset))
        self.assertWithin(harness.edge(schema, offset), mean + 0.25, 0.01)  # and the mean is 0.9 ns above `mean`
        h = {"count": n, "sum": n * mean + n - 1, "min": mean, "max": mean,
             "buckets": {"schema": schema, "offset": offset, "counts": [n], "zero": 0}}
        line = {"name": "sched_queue_to_run", **h}
        for inferred in (0, n // 2 - 1):
            with self.assertRaisesRegex(AssertionError, "buckets of sched_queue_to_run .*: sum"):
                harness.check_report([{"quality": {"inferred": inferred}, "metrics": [line]}])
        harness.check_report([{"quality": {"inferred": n}, "metrics": [line]}])
        line["sum"] = n * (mean + 2)
        with self.assertRaisesRegex(AssertionError, "buckets of sched_queue_to_run .*: sum"):
            harness.check_report([{"quality": {"inferred": n}, "metrics": [line]}])

    def test_beyond(self):
        """The last bucket has whatever is longer, and nothing that is shorter."""
        schema, longest = 5, 492 * 10**9
        b = {"schema": schema, "offset": harness.TOP_SLOT[schema], "counts": [1], "zero": 0}
        h = {"name": "futex_idle", "count": 1, "sum": longest, "min": longest, "max": longest, "buckets": b}
        harness.check_report([{"metrics": [h]}])
        for end in ("min", "max"):
            with self.assertRaisesRegex(AssertionError, "buckets of futex_idle : " + end):
                harness.check_report([{"metrics": [{**h, end: 10**9}]}])


if __name__ == "__main__":
    harness.main()
