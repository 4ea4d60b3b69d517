#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Locks: loads that contend for known locks, the same waits in the kernel's own raw trace, sums,
filters, groups, overflow."""
import os
import random
import signal
import time

import fsharness
import harness
import lock_trace as ref
from harness import KernelTest, metric

SLEEPERS = 32  # threads or processes of a load that meet at one futex
BUSY_MS = (700, 1400, 2800, 5600)  # on a busy machine a load's threads may hardly run at once


def rows(frame):
    return [r for r in frame["tables"].get("contended", []) if r["source"] == "lock"]


def by_lock(frame):
    """{(address, kind): row} of a report without groups; the others under None."""
    return {
        None if r["other"] else (int(r["addr"], 16), r["kind"]): r for r in rows(frame)
    }


def uncounted(frame):
    """Waits that the kernel did not let the programs see, or of which they saw one half."""
    q = frame["quality"]
    return q["recursion_misses"] + q["unpaired"] + q["missed"]


class LockTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.two_cpus()
        self.loads = []

    def contend(self, *args, **kwargs):
        load = self.load("locks", *args, **kwargs)
        load.pid = load.line()["pid"]
        self.loads.append(load)
        return load

    def run_load(self, load):
        load.go()
        (end,) = load.end()
        return end["ops"]

    def locks(self, *args, **kwargs):
        return self.tool("-s", "lock", *args, **kwargs)

    def traced(self, load, *args):
        """The report and the raw trace of one load, both from before its start to after its end."""
        tool = self.locks(*args).ready()
        with ref.Tracer() as tracer:
            self.run_load(load)
            tracer.stop()
            final = tool.stop().final
        return final, ref.replay(tracer.events)

    def assertSums(self, frame):
        """The rows are the whole, and so are the CPUs."""
        whole = metric(frame, "lock_wait")
        found = rows(frame)
        self.assertEqual(sum(r["count"] for r in found), whole["count"])
        self.assertEqual(sum(r["wait_ns"]["sum"] for r in found), whole["sum"])
        cpus = [m for m in frame["metrics"] if m["name"] == "lock_wait" and "cpu" in m["labels"]]
        self.assertEqual(sum(m["count"] for m in cpus), whole["count"])
        self.assertEqual(sum(m["sum"] for m in cpus), whole["sum"])
        for r in found:
            self.assertEqual(r["count"], r["wait_ns"]["count"])

    def waited_for(self, mine, what, n, *more, args=()):
        """The one row that is mine(row), of a load whose threads met at it often enough."""
        for ms in BUSY_MS:
            load = self.contend(what, n, ms, *more)
            tool = self.locks("-p", load.pid, "--follow", *args).ready()
            self.run_load(load)
            final = tool.end().final
            found = [r for r in rows(final) if mine(r)]
            self.assertLessEqual(len(found), 1, [(r["kind"], r["name"], r["count"]) for r in found])
            if found and found[0]["count"] > 10 and found[0]["threads"] >= 2:
                return found[0]
        self.fail([(r["kind"], r["name"], r["count"]) for r in rows(final)][:8])
        return None

    @staticmethod
    def pipe(row):
        """A process has mutexes of others in its way, too."""
        return row["name"] == "pipe_inode_info.mutex?"

    @staticmethod
    def bucket(row):
        """Of the futex that the load is about: the barrier's, and those of threads that end, have others."""
        return row["name"].rstrip("?") == "futex_hash_bucket.lock" and row["count"] > 3 * SLEEPERS

    def named(self, frame, name, kind):
        return [r for r in rows(frame) if r["kind"] == kind and r["name"] == name]


class Counts(LockTest):
    def compare(self, least, kinds, *args):
        """Counts and sums of locks that only the load waited for, against the raw trace."""
        *what, ms = args
        for longer in (1, 1, 2, 2, 4, 4):  # as BUSY_MS
            load = self.contend(*what, longer * ms)
            tids = set(harness.threads_of(load.pid))
            final, truth = self.traced(load)
            if sum(w.tid in tids and w.kind in kinds for w in truth.waits) >= 2 * least:
                break
        ours = by_lock(final)
        lost = uncounted(final)
        mine = {w.lock for w in truth.waits} - {
            w.lock for w in truth.waits if w.interrupt or w.tid not in tids
        }
        compared = 0
        for (lock, kind), ns in ref.by_lock(truth.waits).items():
            if lock not in mine or kind not in kinds or len(ns) < least:
                continue
            row = ours[lock, kind]
            self.note("%s %s: %d, traced %d, lost %d", row["name"], kind, row["count"], len(ns), lost)
            self.assertLessEqual(abs(row["count"] - len(ns)), lost)
            # the tracer stamps its event before our program runs, or after
            self.assertWithin(row["wait_ns"]["sum"], sum(ns), 0.2, 2000 * len(ns))
            self.assertLess(row["wait_ns"]["max"], final["dur_ns"])
            compared += 1
        self.assertGreater(compared, 0)
        self.assertSums(final)

    def test_pipe(self):
        """lock: the mutex of a pipe, waits counted as the raw trace has them"""
        self.compare(50, ("mutex",), "pipe", 2, 700)

    def test_mmap(self):
        """lock: mmap_lock for reading and writing, waits counted as the raw trace has them"""
        self.compare(20, ("rwsem:r", "rwsem:w"), "mmap", 4, 700)

    def test_all(self):
        """lock: all waits of a filtered process, of whatever lock, are those of the raw trace"""
        for ms in BUSY_MS:
            load = self.contend("mmap", 4, ms)
            tids = set(harness.threads_of(load.pid))
            final, truth = self.traced(load, "-p", load.pid)
            want = [w for w in truth.waits if w.tid in tids and not w.interrupt]
            if len(want) > 10:
                break
        whole = metric(final, "lock_wait")
        self.note("%d, traced %d, lost %d", whole["count"], len(want), uncounted(final))
        self.assertGreater(len(want), 10)
        self.assertLessEqual(abs(whole["count"] - len(want)), uncounted(final))
        self.assertSums(final)


class Names(LockTest):
    def named_so(self, name):
        return lambda row: row["kind"] == "rwsem:w" and row["name"] == name

    def test_mmap_lock(self):
        """lock: threads that map and fault wait for mm_struct.mmap_lock"""
        row = self.waited_for(self.named_so("mm_struct.mmap_lock"), "mmap", 4)
        self.assertLessEqual(row["threads"], 5)
        self.assertGreaterEqual(row["threads"], 2)
        self.assertTrue(set(row["cpus"]) <= os.sched_getaffinity(0))
        if row["place"]:  # it has none if the process had ended before it was named
            self.assertRegex(row["place"], r"^of locks, pid \d+$")
        sites = [s["sym"].split("+")[0] for s in row["sites"]]
        self.assertTrue({"vm_mmap_pgoff", "__vm_munmap"} & set(sites), sites)

    def test_sockets(self):
        """lock: readers of a UNIX socket wait for unix_sock.iolock, though two caches of that struct are merged with others"""
        mutexes = set()
        for ms in BUSY_MS:
            load = self.contend("socket", 2, ms)
            tool = self.locks("-p", load.pid).ready()
            self.run_load(load)
            mutexes = {r["name"] for r in rows(tool.end().final) if r["kind"] == "mutex"}
            if mutexes:
                break
        self.assertIn("unix_sock.iolock", mutexes)

    def test_others_memory(self):
        """lock: who reads what a process maps waits for that one's mmap_lock: the row says whose it is"""
        load = self.contend("mmap", 2, 60000)
        tool = self.tool("-s", "lock").ready()
        load.go()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            with open("/proc/%d/smaps_rollup" % load.pid, "rb") as f:
                f.read()
        final = tool.stop().final
        load.kill()
        places = {r["place"] for r in rows(final) if r["name"] == "mm_struct.mmap_lock" and r["kind"] == "rwsem:r"}
        self.assertIn("of locks, pid %d" % load.pid, places)

    def test_directory(self):
        """lock: processes that create and unlink in one directory wait for its i_rwsem"""
        fs = fsharness.LoopFs(self)
        self.waited_for(self.named_so("ext4_inode_info.vfs_inode.i_rwsem"), "dir", 4, fs.path)

    def test_pipe(self):
        """lock: writers and readers of a pipe wait in anon_pipe_read and _write, for its mutex"""
        row = self.waited_for(self.pipe, "pipe", 2)
        self.assertEqual(row["kind"], "mutex")
        self.assertRegex(row["place"], r"^inferred from anon_pipe_(read|write)$|^inferred from pipe_(read|write)$")
        self.assertTrue(row["name_inferred"])
        self.assertLessEqual(row["threads"], 4)
        for site in row["sites"]:
            self.assertIn("pipe_", site["sym"])

    def test_private_futex(self):
        """lock: the bucket of a futex that one process uses: whose table it is in"""
        row = self.waited_for(self.bucket, "futex", SLEEPERS)
        self.assertEqual(row["kind"], "spinlock")
        if self.private_futexes():
            self.assertEqual((row["name"], row["place"]), ("futex_hash_bucket.lock", "of locks, pid %d" % self.loads[-1].pid))
        else:
            self.assertRegex(row["place"], "^inferred from futex_")

    def test_shared_futex(self):
        """lock: the bucket of a futex that processes share, by the functions that take its lock"""
        row = self.waited_for(self.bucket, "shared", SLEEPERS)
        self.assertEqual((row["kind"], row["name"]), ("spinlock", "futex_hash_bucket.lock?"))
        self.assertRegex(row["place"], "^inferred from futex_")

    def private_futexes(self):
        """Processes have tables of their own: its functions are there (6.16)."""
        with open("/proc/kallsyms", encoding="ascii") as f:
            return any(line.split()[2] == "futex_hash_allocate_default" for line in f)


class Reports(LockTest):
    def test_intervals(self):
        """lock: intervals add up to the final report, row by row"""
        load = self.contend("pipe", 2, 2500)
        tool = self.locks("-p", load.pid, "-i", "0.1").ready()
        self.run_load(load)
        report = tool.end()
        self.assertGreater(len(report.intervals), 1)
        for frame in report.intervals + [report.final]:
            self.assertSums(frame)
        for key, row in by_lock(report.final).items():
            parts = [by_lock(f)[key] for f in report.intervals if key in by_lock(f)]
            self.assertEqual(sum(r["count"] for r in parts), row["count"])
            self.assertEqual(sum(r["wait_ns"]["sum"] for r in parts), row["wait_ns"]["sum"])
            self.assertEqual(max(r["wait_ns"]["max"] for r in parts), row["wait_ns"]["max"])
            self.assertEqual(min(r["wait_ns"]["min"] for r in parts), row["wait_ns"]["min"])

    def test_interrupted(self):
        """lock: SIGINT at any moment, and the report is whole"""
        for _ in range(4):
            load = self.contend("mmap", 3, 2000)
            tool = self.locks("-i", "0.1").ready()
            load.go()
            time.sleep(random.uniform(0.05, 0.5))
            report = tool.stop(signal.SIGINT)
            load.kill()
            self.assertEqual(report.status, 0)
            self.assertSums(report.final)

    def test_stacks(self):
        """lock: a stack of every wait does not lengthen the waits of a pipe's mutex tenfold"""
        for _ in range(5):  # who has the CPU when a holder is preempted lengthens them, too
            plain, stacked = self.median_wait(0), self.median_wait(1)
            if stacked < 10 * plain:
                break
        self.assertLess(stacked, 10 * plain)

    def median_wait(self, every):
        """Of a pipe's mutex, in ns, with a stack of one wait in `every`."""
        row = self.waited_for(self.pipe, "pipe", 2, args=("--stack-every", every))
        self.assertEqual(row["kind"], "mutex")
        stacks = sum(s["count"] for s in row["sites"])
        p50 = row["wait_ns"]["p"]["50"]
        self.note("every %d: %d waits, %d stacks, p50 %d ns", every, row["count"], stacks, p50)
        self.assertGreater(stacks, 0)
        return p50

    def test_overflow(self):
        """lock: more locks than --max-keys: the others share a row, sums stay true"""
        for ms in (120, 240, 480, 960):  # as BUSY_MS
            loads = [self.contend("pipe", 2, ms) for _ in range(40)]
            # One interval: rows that rest in one leave later, for the same row of others.
            tool = self.locks("--max-keys", 16, "-i", "600").ready()
            for load in loads:
                self.run_load(load)
            final = tool.stop().final
            self.assertSums(final)
            other = by_lock(final).get(None)
            if other:
                break
        self.assertIsNotNone(other, "%d locks had waits" % len(by_lock(final)))
        self.assertEqual(other["kind"], "other")
        self.assertGreater(other["count"], 0)
        self.assertGreaterEqual(final["quality"]["map_full"], other["count"])

    def test_cold(self):
        """lock: locks that rest make room for new ones when the map fills, sums stay true"""
        for ms in (150, 300, 600, 1200):  # as BUSY_MS
            loads = [self.contend("pipe", 2, ms) for _ in range(40)]
            tool = self.locks("--max-keys", 16, "-i", "0.02").ready()
            for load in loads:
                self.run_load(load)
            report = tool.stop()
            for frame in report.intervals + [report.final]:
                self.assertSums(frame)
            seen = {lock for f in report.intervals for lock in by_lock(f)} - {None}
            if len(seen) > 32:
                break
        left = set(by_lock(report.final)) - {None}
        other = by_lock(report.final).get(None, {"count": 0})
        self.note("%d locks seen, %d at the end, %d waits of others", len(seen), len(left),
                  other["count"])
        self.assertGreater(len(seen), 32)
        self.assertLess(len(left), len(seen))
        total = sum(metric(f, "lock_wait")["count"] for f in report.intervals)
        self.assertEqual(metric(report.final, "lock_wait")["count"], total)


class Filters(LockTest):
    def test_cgroup(self):
        """lock: what another cgroup waits for does not appear"""
        one, two = self.cgroup("ws-one-%d" % os.getpid()), self.cgroup("ws-two-%d" % os.getpid())
        inside = self.contend("mmap", 4, 900, preexec_fn=one.enter())
        outside = self.contend("mmap", 4, 900, preexec_fn=two.enter())
        both = self.locks("--by", "cgroup").ready()
        tool = self.locks("-c", one.path, "--by", "cgroup").ready()
        inside.go()
        outside.go()
        inside.end()
        outside.end()
        found = rows(tool.stop().final)
        self.assertEqual({r["labels"]["cgroup"] for r in found}, {one.relative})
        self.assertGreater(sum(r["count"] for r in found), 0)
        groups = {r["labels"].get("cgroup") for r in rows(both.stop().final)}
        self.assertTrue({one.relative, two.relative} <= groups, groups)

    def test_groups(self):
        """lock: --by pid, tid and comm: who waits, and the sums stay true"""
        load = self.contend("mmap", 4, 1500)
        tids = {str(t) for t in harness.threads_of(load.pid)}
        tools = {
            by: self.locks("--by", by).ready() for by in ("pid", "tid", "comm")
        }
        self.run_load(load)
        for by, tool in tools.items():
            final = tool.stop().final
            self.assertSums(final)
            groups = {r["labels"][by] for r in self.named(final, "mm_struct.mmap_lock", "rwsem:w")}
            mine = {"pid": {str(load.pid)}, "tid": tids, "comm": {"locks"}}[by]
            self.assertTrue(groups & mine, (groups, mine))

    def test_self(self):
        """lock: waitscope's own waits are not in it"""
        tool = self.locks("--by", "pid", "-i", "0.05", "-d", "1").ready()
        final = tool.end().final
        self.assertNotIn(str(tool.proc.pid), {r["labels"].get("pid") for r in rows(final)})


class Refused(LockTest):
    def test_old_kernel(self):
        """lock: types of a kernel before 5.19: exit 3, and says what it lacks"""
        old = os.path.join(harness.ROOT, "tests", "btf", "5.10-amd64.btf")
        tool = self.locks("--btf", old, "-d", "1", json_out=False)
        self.assertEqual(tool.wait(), 3)
        self.assertIn("no lock:contention_begin tracepoint", tool.stderr())


class Slots(LockTest):
    ENOUGH_S, LEAST = 30, 20000

    def counted(self, tool, since):
        """(waits in the whole lines from offset `since` on, offset after them)."""
        with open(tool.json_path, "rb") as f:
            f.seek(since)
            lines = f.read()
        lines = lines[:lines.rfind(b"\n") + 1]
        frames = harness.Report(lines.decode()).intervals
        return sum(metric(f, "lock_wait")["count"] for f in frames), since + len(lines)

    def test_stuck(self):
        """lock: after many contended waits none is taken for running, none outlasted the run

        A million, or as many as ENOUGH_S give on a busy machine; EVENTS, however long they take.
        """
        wanted = int(os.environ.get("EVENTS", "1000000"))
        end = time.monotonic() + (self.ENOUGH_S if "EVENTS" not in os.environ else 10**9)
        tool = self.locks("--stack-every", "1000", "-i", "1").ready()
        seen, at = 0, 0
        while seen < wanted and (time.monotonic() < end or seen < self.LEAST):
            loads = [self.contend("pipe", 2, 2000), self.contend("mmap", 2, 2000)]
            for load in loads:
                load.go()
            for load in loads:
                load.end()
            more, at = self.counted(tool, at)
            seen += more
        final = tool.stop().final
        q = final["quality"]
        spin = max((r["wait_ns"]["max"] for r in rows(final) if r["kind"] == "spinlock"), default=0)
        self.note("%d waits in %d s, longest spin %d us, unpaired %d, recursion misses %d", seen,
                  final["dur_ns"] // 10**9, spin // 1000, q["unpaired"], q["recursion_misses"])
        self.assertSums(final)
        self.assertLess(spin, final["dur_ns"])
        self.assertLess(spin, 10**9)
        self.assertLess(q["unpaired"], 3 + seen / 10000)


if __name__ == "__main__":
    harness.main()
