#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is it counted for whom it should, and for nobody else? (rule 1)"""
import json
import os
import subprocess
import time

import harness
from fsharness import LoopFs
from harness import KernelTest, count, groups, load_path, metric, together, withheld


@together
class CgroupFilter(KernelTest):
    """Two hogs inside on one CPU make waits; a sleeper outside is woken all the time on it."""

    def setUp(self):
        super().setUp()
        self.cpu = self.two_cpus()[1]
        self.prefix = []

    def run_inside(self, group, *args):
        """The groups of a run with `args` while hogs are in `group`: (report, hogs, sleeper)."""
        hogs = self.load("hog", "--cpu", self.cpu, "--wait", 2, 1, preexec_fn=group.enter())
        inside = hogs.line()
        sleeper = self.load("sleeper", 500, 500)
        outside = sleeper.line()
        tool = self.tool("--by", "tid", *args, prefix=self.prefix).ready()
        hogs.go()
        sleeper.go()
        for _ in inside["tids"]:
            hogs.line()
        self.assertEqual(sleeper.line()["blocked"], 500)
        return tool.stop(), inside, outside

    def check(self, group, *args):
        report, inside, outside = self.run_inside(group, *args)
        found = groups(report.final, "sched_run_delay", "tid")
        for tid in inside["tids"]:
            self.assertIn(str(tid), found)
            self.assertGreater(found[str(tid)]["sum"], 200_000_000, "half of a second, with room")
        self.assertNotIn(str(outside["tid"]), found)
        self.assertLessEqual({int(t) for t in found}, set(inside["tids"]) | {inside["pid"]})
        whole = metric(report.final, "sched_run_delay")
        left = whole["count"] - sum(m["count"] for m in found.values())
        rest = whole["sum"] - sum(m["sum"] for m in found.values())
        self.assertTrue(0 <= left <= report.final["quality"]["map_full"], left)
        self.assertComplete(report.final)
        self.assertTrue(left * whole["min"] <= rest <= left * whole["max"], (left, rest))

    def test_path(self):
        """rule 1: -c PATH shows the hogs inside and nothing of the sleeper outside"""
        group = self.cgroup()
        self.check(group, "-c", group.path)

    def test_relative(self):
        """-c /PATH below the v2 mount"""
        group = self.cgroup()
        self.check(group, "-c", group.relative)

    def test_id(self):
        """-c ID"""
        group = self.cgroup()
        self.check(group, "-c", group.id)

    def test_nested(self):
        """rule 1: -c includes a nested cgroup"""
        group = self.cgroup()
        self.check(self.cgroup("inner", self.cgroup("middle", group)), "-c", group.path)

    def test_deep(self):
        """-c of a cgroup three levels down, also from within a cgroup namespace"""
        group = self.cgroup()
        middle = self.cgroup("middle", group)
        inner = self.cgroup("inner", middle)
        self.check(inner, "-c", inner.path)
        self.prefix = ["sh", "-c", 'echo $$ >%s/cgroup.procs && exec unshare -C "$@"' % middle.path, "sh"]
        self.check(inner, "-c", inner.path)
        self.check(inner, "-c", middle.path)

    def test_nested_later(self):
        """rule 1: -c includes a cgroup made after the start"""
        group = self.cgroup()
        tool = self.tool("-c", group.path, "--by", "tid").ready()
        hogs = self.load("hog", "--cpu", self.cpu, 2, 1,
                         preexec_fn=self.cgroup("late", group).enter())
        tids = hogs.line()["tids"]
        hogs.end()
        found = groups(tool.stop().final, "sched_run_delay", "tid")
        for tid in tids:
            self.assertIn(str(tid), found)

    def test_two(self):
        """several -c: tasks of either"""
        one = self.cgroup()
        two = self.cgroup("ws-test-two-%d" % os.getpid())
        self.check(one, "-c", one.path, "-c", two.path)
        self.check(two, "-c", one.path, "-c", two.path)

    def test_sibling(self):
        """-c does not take a cgroup whose name begins alike"""
        group = self.cgroup()
        other = self.cgroup(os.path.basename(group.path) + "-b")
        report, inside, _ = self.run_inside(other, "-c", group.path)
        self.assertEqual(count(report.final, "sched_run_delay"), 0)
        self.assertEqual(groups(report.final, "sched_run_delay", "tid"), {})

    def test_moved(self):
        """rule 1: a task that moves in is counted from then on, one that moves out no longer"""
        group = self.cgroup()
        hogs = self.load("hog", "--cpu", self.cpu, "--wait", 2, 4)
        first = hogs.line()
        tool = self.tool("-c", group.path, "-i", "0.5").ready()
        hogs.go()
        time.sleep(1.2)
        group.add(first["pid"])
        time.sleep(1.2)
        with open(group.mount + "/cgroup.procs", "w") as f:
            f.write(str(first["pid"]))
        time.sleep(1.2)
        seen = [count(i, "sched_preempt_wait") > 0 for i in tool.stop().intervals]
        self.assertEqual(seen[0], False, seen)
        self.assertIn(True, seen)
        self.assertEqual(seen[-1], False, seen)

    def test_by_cgroup(self):
        """--by cgroup names the path below the mount"""
        group = self.cgroup()
        hogs = self.load("hog", "--cpu", self.cpu, "--wait", 2, 1, preexec_fn=group.enter())
        first = hogs.line()
        tool = self.tool("--by", "cgroup", "-c", group.path).ready()
        hogs.go()
        for _ in first["tids"]:
            hogs.line()
        found = groups(tool.stop().final, "sched_preempt_wait", "cgroup")
        self.assertEqual(list(found), [group.relative])

    def in_units(self, by):
        """Blocks of primes in two cgroups of one unit, and in one of a container."""
        top = self.cgroup("ws-test-%d.slice" % os.getpid())
        unit = self.cgroup("ws-a.service", top)
        container = self.cgroup("docker-%s.scope" % ("0123456789abcdef" * 4), top)
        places = ((self.cgroup("x", unit), 101), (self.cgroup("y", unit), 103), (container, 107))
        tool = self.tool("--by", by, "-c", top.path, "-z", "-i", "0.3").ready()
        loads = [self.load("sleeper", n, 1000, preexec_fn=g.enter()) for g, n in places]
        for load in loads:
            load.line()
            load.go()
        for load, (_, n) in zip(loads, places):
            self.assertEqual(load.line()["blocked"], n)
            load.end()
        report = tool.stop()
        for metric_name in ("sched_wakeup_latency", "sched_run_delay"):
            rows = [m for m in report.final["metrics"] if m["name"] == metric_name and m["labels"]
                    and "cpu" not in m["labels"]]
            self.assertEqual(sum(m["count"] for m in rows), count(report.final, metric_name))
            self.assertEqual(sum(m["sum"] for m in rows), metric(report.final, metric_name)["sum"])
        return {tuple(m["labels"].items()): m["count"] for m in report.final["metrics"]
                if m["name"] == "sched_wakeup_latency" and m["labels"] and "cpu" not in m["labels"]}

    def test_by_unit(self):
        """--by unit joins the cgroups of a unit"""
        found = self.in_units("unit")
        self.assertEqual({k[0] for k in found},
                         {("unit", "ws-a.service"), ("unit", "docker-%s.scope" % ("0123456789abcdef" * 4))})
        self.assertEqual(len(found), 2)
        self.assertGreaterEqual(found[(("unit", "ws-a.service"),)], 204)

    def test_by_container(self):
        """--by container tells containers apart, and what is in none is one group"""
        found = self.in_units("container")
        self.assertEqual({k[0] for k in found},
                         {("container_id", "(none)"), ("container_id", "0123456789abcdef" * 4)})
        self.assertGreaterEqual(found[(("container_id", "0123456789abcdef" * 4),)], 107)


@together
class TaskFilter(KernelTest):
    def hogs(self):
        """Four threads on one CPU, going."""
        load = self.load("hog", "--cpu", self.two_cpus()[1], "--wait", 4, 1)
        return load, load.line()

    def run_hogs(self, *args):
        load, first = self.hogs()
        other, second = self.hogs()
        words = {"pid": first["pid"], "tid": first["tids"][1]}
        tool = self.tool("--by", "tid", *[str(a).format(**words) for a in args]).ready()
        load.go()
        other.go()
        for l in (load, other):
            for _ in first["tids"]:
                l.line()
        found = {int(t) for t in groups(tool.stop().final, "sched_preempt_wait", "tid")}
        return first, second, found

    def test_pid(self):
        """rule 1: -p takes all threads of the process and no other"""
        first, _, found = self.run_hogs("-p", "{pid}")
        self.assertEqual(found - {first["pid"]}, set(first["tids"]))

    def test_tid(self):
        """rule 1: -t takes that thread alone"""
        first, _, found = self.run_hogs("-t", "{tid}")
        self.assertEqual(found, {first["tids"][1]})

    def test_comm(self):
        """--comm takes a glob, and the woken task's name, not the waker's"""
        pairs = (("ho[g]", True), ("*og", True), ("h?g", True), ("ho", False), ("*zq*", False))
        for glob, want in pairs:
            with self.subTest(glob=glob):
                load = self.load("hog", "--cpu", self.two_cpus()[1], "--wait", 2, 1)
                tids = load.line()["tids"]
                tool = self.tool("--comm", glob, "--by", "tid").ready()
                load.go()
                for _ in tids:
                    load.line()
                found = groups(tool.stop().final, "sched_preempt_wait", "tid")
                self.assertEqual([str(t) in found for t in tids], [want, want])
                self.assertEqual({m["labels"]["comm"] for m in found.values()} - {"hog"}, set())

    def test_cpu(self):
        """--cpu takes waits that ended on that CPU"""
        cpus = self.two_cpus()
        loads = [self.load("hog", "--cpu", c, "--wait", 2, 1) for c in cpus]
        firsts = [l.line() for l in loads]
        pids = ",".join(str(f["pid"]) for f in firsts)
        tool = self.tool("-p", pids, "--cpu", cpus[1], "--by", "pid").ready()
        for l in loads:
            l.go()
        for l, f in zip(loads, firsts):
            for _ in f["tids"]:
                l.line()
        final = tool.stop().final
        found = groups(final, "sched_preempt_wait", "pid")
        self.assertEqual(list(found), [str(firsts[1]["pid"])])
        here = metric(final, "sched_preempt_wait", cpu=cpus[1])
        self.assertEqual(here["count"], count(final, "sched_preempt_wait"))

    def test_self(self):
        """rule 11: its own threads are not in the data"""
        tool = self.tool("--by", "pid", "-i", "0.05", "-d", "1").ready()
        final = tool.end().final
        self.assertNotIn(str(tool.proc.pid), groups(final, "sched_run_delay", "pid"))

    def test_idle(self):
        """rule 4: the idle task is never stamped"""
        final = self.tool("--by", "tid", "-d", "0.5").end().final
        self.assertNotIn("0", groups(final, "sched_run_delay", "tid"))


@together
class Follow(KernelTest):
    """spawn's children are processes and threads by turns: 100 of each, all new tasks."""

    def check(self, report, *want):
        """One of `want` new tasks were seen, give or take what the kernel did not report."""
        f = report.final
        new = count(f, "sched_queue_to_run") - count(f, "sched_wakeup_latency")
        self.note("%d new tasks, withheld %d", new, withheld(f))
        self.assertLessEqual(min(abs(new - w) for w in want), withheld(f))
        self.assertLess(withheld(f), 20)

    def command(self, *args):
        return self.tool(*args, "--", load_path("spawn"), 200, 4).end()

    def attached(self, option, *args):
        load = self.load("spawn", 200, 4)
        pid = load.line()["pid"]
        tool = self.tool(option, pid, *args).ready()
        load.go()
        load.end()
        return tool.stop()

    def test_command(self):
        """-- COMMAND follows children and threads by default"""
        self.check(self.command(), 200)

    def test_command_not(self):
        """-- COMMAND with --no-follow: its threads, not its children"""
        self.check(self.command("--no-follow"), 100)

    def test_pid(self):
        """-p: threads made later, not children"""
        self.check(self.attached("-p"), 100)

    def test_pid_follow(self):
        """-p with --follow: threads and children made later"""
        self.check(self.attached("-p", "--follow"), 200)

    def test_tid(self):
        """-t: nobody else"""
        self.check(self.attached("-t"), 0)

    def test_grandchildren(self):
        """-- COMMAND follows through a shell, its child and its grandchildren"""
        script = "(%s 100 2 </dev/null; exit 0); exit 0" % load_path("spawn")
        report = self.tool("--", "/bin/sh", "-c", script).end()
        # The subshell and spawn are new as well, where the shell forks for them.
        self.check(report, 100, 101, 102)


FSYNCS = 61


class Workers(KernelTest):
    """io_uring's worker threads join their process without a fork event; all fsyncs of the load are theirs."""

    def setUp(self):
        super().setUp()
        self.fs = LoopFs(self)
        self.file = os.path.join(self.fs.path, "data")
        probe = subprocess.run([load_path("uring"), self.file, "1"], stdin=subprocess.DEVNULL, capture_output=True)
        if probe.returncode == 77:
            self.skipTest("io_uring: not in this kernel, or forbidden (kernel.io_uring_disabled)")

    def fsyncs(self, report):
        quality = report.final["quality"]
        self.note("unpaired %d, missed %d", quality["unpaired"], quality["missed"])
        return count(report.final, "ext4_op_latency", op="fsync")

    def command(self, *args, load=()):
        tool = self.tool("-s", "ext4", *args, "--", load_path("uring"), *load, self.file, FSYNCS)
        return self.fsyncs(tool.end())

    def attached(self, option, *args, load=(), who="tid"):
        uring = self.load("uring", *load, self.file, FSYNCS)
        ids = uring.line()
        tool = self.tool("-s", "ext4", option, ids[who], *args).ready()
        uring.go()
        uring.end()
        return self.fsyncs(tool.stop())

    def test_command(self):
        """-- COMMAND: io_uring's workers belong to it, also without --follow, and those of a second thread"""
        self.assertEqual(self.command(), FSYNCS)
        self.assertEqual(self.command("--no-follow"), FSYNCS)
        self.assertEqual(self.command(load=("--thread",)), FSYNCS)

    def test_tid(self):
        """-t TID --follow: the workers that this thread makes, be it the first of its process or another"""
        self.assertEqual(self.attached("-t", "--follow"), FSYNCS)
        self.assertEqual(self.attached("-t", "--follow", load=("--thread",)), FSYNCS)

    def test_tid_not(self):
        """-t TID: not those that another thread makes (--follow), none at all (without)"""
        self.assertEqual(self.attached("-t", "--follow", load=("--thread",), who="pid"), 0)
        self.assertEqual(self.attached("-t"), 0)

    def test_pid(self):
        """-p PID: all workers of the process"""
        self.assertEqual(self.attached("-p"), FSYNCS)

    def test_rows(self):
        """-- COMMAND --by tid: each worker has a row of its waits for a CPU"""
        tool = self.tool("-s", "sched", "--by", "tid", "--", load_path("uring"), self.file, FSYNCS)
        final = tool.end().final
        workers = json.loads(tool.stdout().splitlines()[1])["workers"]
        self.assertTrue(workers)
        rows = groups(final, "sched_run_delay", "tid")
        self.note("workers %s, rows %s", workers, sorted(rows))
        self.assertLessEqual({str(w) for w in workers}, set(rows))


if __name__ == "__main__":
    harness.main()
