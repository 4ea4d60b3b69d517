#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Futexes: counts against what the callers themselves were returned, and against a raw trace."""
import collections
import os
import re
import signal
import subprocess
import tempfile
import time

import harness
from harness import KernelTest, buckets, count, metric, together, total_ns

# Without tracefs and the right to mount it, the tracepoints of all system calls are what is left.
NO_TRACEFS = (
    "unshare", "-m", "sh", "-c",
    "for d in /sys/kernel/debug/tracing /sys/kernel/debug /sys/kernel/tracing; do umount -lq $d; done;"
    'exec setpriv --bounding-set -sys_admin "$@"',
    "sh",
)


METRICS = {"lock": "futex_wait", "work": "futex_idle", "lock or work": "futex_lock_or_work"}


def rows(frame, **wanted):
    """The frame's futex rows, those with such values."""
    return [
        r for r in frame["tables"].get("contended", [])
        if r["source"] == "futex" and all(r[k] == v for k, v in wanted.items())
    ]


def at(frame, addr):
    """The rows of an address: one for each class that its waits had."""
    return rows(frame, addr=addr)


def sum_of(found, *path):
    total = 0
    for r in found:
        for key in path:
            r = r[key]
        total += r
    return total


def states(pid):
    """Of a process's threads: "S", "R", ..."""
    return [harness.stat_of("%d/task/%d" % (pid, t))[0] for t in harness.threads_of(pid)]


def asleep(pid, n):
    return states(pid) == ["S"] * n


class FutexTest(KernelTest):
    PREFIX = ()
    HOOK = None

    def run_load(self, *args, tool_args=(), before_go=None):
        """(final report, the load's words by name, its pid)"""
        load = self.load("futex", *args)
        pid = load.line()["pid"]
        tool = self.tool("-s", "futex", "-p", pid, *tool_args, prefix=self.PREFIX).ready()
        load.go()
        if before_go:
            before_go(load)
        words = {w["name"]: w for w in load.end()}
        report = tool.end()  # its target has ended
        self.assertEqual(report.status, 0, report.stderr)
        if self.HOOK:
            self.assertIn(self.HOOK, report.meta["sources"][0]["hooks"])
        return report, words, pid

    def assertNothingLost(self, frame):
        for loss in ("clamped", "map_full", "lost_events", "over_range", "unpaired", "recursion_misses"):
            self.assertEqual(frame["quality"][loss], 0, frame["quality"])

    def assertWord(self, frame, word):
        """A word's rows have exactly the counts that its callers had."""
        found = at(frame, word["addr"])
        self.assertEqual(sum_of(found, "count"), word["waits"], word)
        for name in ("eagain", "timeouts", "woken"):
            self.assertEqual(sum_of(found, "futex", name), word[name], (name, word, found))
        self.assertWakes(found, word)
        waited = sum_of(found, "wait_ns", "sum")
        self.assertLessEqual(waited, word["ns"])
        self.assertGreaterEqual(waited, word["ns"] * 0.2)
        self.note("%s: %d waits, %.1f ms of %.1f", word["name"], word["waits"], waited / 1e6, word["ns"] / 1e6)
        return found

    def assertThreads(self, row, n):
        """At least so many: two whose numbers are a multiple of 64 apart are one."""
        self.assertLessEqual(row["threads"], n)
        self.assertGreaterEqual(row["threads"], n - n // 2)

    def assertWakes(self, found, word):
        """Calls that woke nobody before anybody had waited are left out."""
        wakes = sum_of(found, "futex", "wakes")
        self.assertLessEqual(wakes, word["wakes"])
        self.assertGreaterEqual(wakes, word["wakers"])

    def assertSums(self, frame):
        """The metrics are the sums of the rows by class, exactly, and those of the CPUs too."""
        for r in rows(frame):
            self.assertEqual(r["futex"]["idle"], r["class"] == "work")
        for of_class, name in METRICS.items():
            of = rows(frame, **{"class": of_class})
            whole = metric(frame, name)
            self.assertEqual(whole["count"], sum_of(of, "count"), name)
            self.assertEqual(whole["sum"], sum_of(of, "wait_ns", "sum"), name)
            if of and whole["count"]:
                self.assertEqual(whole["max"], max(r["wait_ns"]["max"] for r in of if r["count"]))
            cpus = [m for m in frame["metrics"] if m["name"] == name and "cpu" in m["labels"]]
            self.assertEqual(whole["count"], sum(m["count"] for m in cpus), name)
            self.assertEqual(whole["sum"], sum(m["sum"] for m in cpus), name)


@together
class Exact(FutexTest):
    def check(self, *args, of_class=None):
        report, words, pid = self.run_load(*args)
        for frame in (report.final,):
            self.assertNothingLost(frame)
            self.assertSums(frame)
        for word in words.values():
            for r in self.assertWord(report.final, word):
                self.assertEqual((r["pid"], r["owner"]), (pid, "futex"))
                if of_class and r["count"]:
                    self.assertEqual(r["class"], of_class)
        return report, words

    def test_threads(self):
        """six threads and a lock: waits, wakes and woken are what they count themselves"""
        report, words = self.check("threads", 60, of_class="lock")
        (row,) = at(report.final, words["threads"]["addr"])
        self.assertThreads(row, 6)
        self.assertEqual(row["futex"]["op"], "wait")
        self.assertGreater(words["threads"]["waits"], 50)

    def test_pi(self):
        """FUTEX_LOCK_PI is a lock"""
        report, words = self.check("pi", 40, of_class="lock")
        (row,) = at(report.final, words["pi"]["addr"])
        self.assertEqual(row["futex"]["op"], "lock_pi")

    def test_eagain(self):
        """a value that has changed is no wait: 997 of them, none in the histogram"""
        report, words = self.check("eagain", 997)
        self.assertEqual(words["eagain"]["eagain"], 997)
        self.assertEqual(count(report.final, "futex_wait"), 0)

    def test_timeout(self):
        """time-outs are waits, and counted: 97 of 1 ms"""
        report, words = self.check("timeout", 97, of_class="lock")
        self.assertGreater(metric(report.final, "futex_wait")["min"], 900_000)

    def test_failed(self):
        """calls that fail are nothing: no row"""
        report, words = self.check("failed", 50)
        self.assertEqual(words["failed"]["failed"], 50)
        self.assertEqual(at(report.final, words["failed"]["addr"]), [])

    def test_signal(self):
        """waits that a signal ends are waits"""
        _, words = self.check("signal", 50, of_class="lock")
        self.assertEqual(words["signal"]["eintr"], 50)

    def test_bitset(self):
        """FUTEX_WAIT_BITSET for a counter that begins at 0 may be for a lock or for work"""
        report, words = self.check("bitset", 200, of_class="lock or work")
        (row,) = [r for r in at(report.final, words["bitset"]["addr"]) if r["count"]]
        self.assertEqual(row["futex"]["op"], "wait_bitset")

    def optional(self, mode, n):
        probe = subprocess.run([harness.load_path("futex"), mode, "1"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if probe.returncode == 3:
            self.skipTest(probe.stderr.strip())
        return self.check(mode, n)

    def test_futex2(self):
        """futex_wait and futex_wake (6.7)"""
        report, words = self.optional("futex2", 200)
        for row in at(report.final, words["futex2"]["addr"]):
            if row["count"]:
                self.assertEqual(row["futex"]["op"], "futex_wait")

    def test_waitv(self):
        """futex_waitv (5.16): a wait is its who was woken, the second of two"""
        report, words = self.optional("waitv", 200)
        self.assertGreater(words["waitv"]["waits"], 10)

    def test_requeue(self):
        """a waiter that is moved belongs to the futex that it waited for"""
        report, words = self.check("requeue")
        self.assertEqual(words["from"]["waits"], 4)
        self.assertEqual(words["from"]["woken"], 4)


@together
class ExactRaw(Exact):
    """The same, where tracefs is out of reach."""

    PREFIX = NO_TRACEFS
    HOOK = "sys_enter"

    def test_compat(self):
        """... and the calls of 32-bit programs, which only these hooks see"""
        self.optional("compat", 50)


for _name in dir(ExactRaw):
    if _name.startswith("test_") and _name in vars(Exact):
        def _again(self, _name=_name):
            getattr(super(ExactRaw, self), _name)()
        _again.__doc__ = "without tracefs: " + getattr(Exact, _name).__doc__
        setattr(ExactRaw, _name, _again)


@together
class Shared(FutexTest):
    def test_shared(self):
        """a futex that two processes share, each at its own address, is one row"""
        for prefix in ((), NO_TRACEFS):
            with self.subTest(prefix=prefix):
                self.PREFIX = prefix
                report, words, _ = self.run_load("shared", 100, tool_args=("--follow",))
                word = words["shared"]
                locks = rows(report.final, **{"class": "lock"})
                (row,) = locks
                self.assertIsNone(row["pid"], "nobody's alone")
                self.assertThreads(row, 2)
                self.assertEqual(row["count"], word["waits"])
                self.assertEqual(row["futex"]["woken"], word["woken"])
                self.assertWakes([row], word)
                self.assertSums(report.final)

    def test_intervals(self):
        """... and in the intervals too, which add up to the whole"""
        report, words, _ = self.run_load("shared", 3000, tool_args=("--follow", "-i", "0.1"))
        frames = report.intervals
        self.assertGreater(len(frames), 2)
        for f in frames:
            self.assertSums(f)
            self.assertLessEqual(len(rows(f, **{"class": "lock"})), 1)
        self.assertEqual(sum(count(f, "futex_wait") for f in frames), words["shared"]["waits"])
        self.assertEqual(sum(sum_of(rows(f), "futex", "woken") for f in frames), words["shared"]["woken"])

    def test_by(self):
        """--by pid: a row for each of the two, and their sum is the whole"""
        report, words, pid = self.run_load("shared", 100, tool_args=("--follow", "--by", "pid"))
        locks = rows(report.final, **{"class": "lock"})
        self.assertEqual(len(locks), 2)
        self.assertIn(str(pid), [r["labels"]["pid"] for r in locks])
        self.assertEqual(sum_of(locks, "count"), words["shared"]["waits"])
        self.assertSums(report.final)


@together
class Ends(FutexTest):
    def test_killed(self):
        """threads killed while they wait: in flight before, and waits when they have ended"""
        load = self.load("futex", "killed")
        pid = load.line()["pid"]
        tool = self.tool("-s", "futex", "-p", pid, "-i", "0.2").ready()
        load.go()
        tool.await_line('"in_flight":3')
        os.kill(pid, signal.SIGKILL)
        load.proc.wait()
        final = tool.end().final
        (row,) = rows(final)
        self.assertEqual(row["count"], 3)
        self.assertThreads(row, 3)
        self.assertEqual(final["quality"]["in_flight"], 0)
        self.assertNothingLost(final)

    def in_flight_of(self, sources, *args):
        """(waits in flight at the end of a run, the longest, the longest by the program's own clock), in ns."""
        load = self.load("briefly", 8)
        pid = load.line()["pid"]
        quality = self.tool("-s", sources, "-p", pid, *args, "0.3", "1").end().final["quality"]
        (truth,) = load.end()
        self.note("%s: %d in flight, longest %.2f ms of %.2f", sources, quality["in_flight"],
                  quality["in_flight_longest_ns"] / 1e6, truth["longest_ns"] / 1e6)
        return quality["in_flight"], quality["in_flight_longest_ns"], truth["longest_ns"]

    def test_ages(self):
        """what is in flight has not waited longer than any wait took: names are looked up later"""
        found = [self.in_flight_of("futex") for _ in range(3)]
        found += [self.in_flight_of("sched,lock,futex", *args) for args in ((), ("--by", "tid"))]
        for n, longest_ns, truth_ns in found:
            self.assertIn(n, range(1, 2 * 8 + 1))
            self.assertLessEqual(longest_ns, truth_ns)

    def test_edges(self):
        """waits begun before the start are missed, those that go on at the end are in flight"""
        load = self.load("futex", "killed")
        pid = load.line()["pid"]
        load.go()
        self.until(lambda: asleep(pid, 4), "three threads wait, and who started them")
        tool = self.tool("-s", "futex", "-p", pid).ready()
        os.kill(pid, signal.SIGKILL)
        load.proc.wait()
        final = tool.end().final
        self.assertEqual(final["quality"]["missed"], 3)
        self.assertNothingLost(final)
        self.assertEqual(rows(final), [])

    def test_restart(self):
        """a wait that is stopped and goes on is two, and the second is the shorter"""
        for prefix in ((), NO_TRACEFS):
            with self.subTest(prefix=prefix):
                self.PREFIX = prefix

                def stop(load):
                    self.until(lambda: asleep(load.pid, 2), "the thread waits, and who started it")
                    os.kill(load.pid, signal.SIGSTOP)
                    self.until(lambda: states(load.pid) == ["T", "T"], "both are stopped")
                    os.kill(load.pid, signal.SIGCONT)

                report, words, _ = self.run_load("restart", before_go=stop)
                (row,) = at(report.final, words["restart"]["addr"])
                self.assertEqual(words["restart"]["waits"], 1)
                self.assertEqual(row["count"], 2)
                self.assertEqual(row["futex"]["timeouts"], 1)
                self.assertNothingLost(report.final)

    def test_exec(self):
        """an exec makes another process of it: the same address is another futex"""
        load = self.load("futex", "exec")
        pid = load.line()["pid"]
        tool = self.tool("-s", "futex", "-p", pid).ready()
        load.go()
        load.line()
        load.end()
        final = tool.stop().final
        self.assertEqual(sum_of(rows(final), "futex", "eagain"), 5)

    def test_warmup(self):
        """what the warm-up counted is forgotten"""
        load = self.load("futex", "timeout", 1000)
        pid = load.line()["pid"]
        tool = self.tool("-s", "futex", "-p", pid, "-w", "0.5", "-d", "0.5").ready()
        load.go()
        final = tool.end().final
        # Each is of a millisecond or more, one after the other, and the first one may have begun in the warm-up.
        self.assertLessEqual(count(final, "futex_wait"), 1 + final["dur_ns"] // 1_000_000)
        self.assertSums(final)
        load.kill()


@together
class Class(FutexTest):
    def test_glibc(self):
        """glibc: mutexes and reader-writer locks are locks, a join is work, condition variables and semaphores are either"""
        # So many that it is there for some reports: libc's functions may be late in the first one.
        report, words, _ = self.lossless(lambda: self.run_load("glibc", 5000), ("names_refused",), attempts=2)
        want = {"mutex": "lock", "rwlock": "lock", "shared rwlock": "lock", "join": "work",
                "cond": "lock or work", "semaphore": "lock or work"}
        seen = collections.Counter()
        for r in rows(report.final):
            for name, w in words.items():
                start = int(w["addr"], 16)
                if start <= int(r["addr"], 16) < start + w["len"]:
                    if r["count"]:
                        self.assertEqual(r["class"], want[name], (name, r))
                    seen[name] += r["count"]
        for name in set(want) - {"mutex"}:  # which may never be waited for
            self.assertGreater(seen[name], 0, name)
        self.assertSums(report.final)


class Filters(FutexTest):
    def two(self, *tool_args, **load_args):
        """Two loads at once: their rows by pid, and the report."""
        loads = [self.load("futex", "timeout", 50, **a) for a in (load_args.get("first", {}), {})]
        pids = [l.line()["pid"] for l in loads]
        args = [str(a).format(*pids) for a in tool_args]
        tool = self.tool("-s", "futex", *args).ready()
        for l in loads:
            l.go()
        for l in loads:
            l.end()
        return tool.stop().final, pids

    def counts(self, final):
        n = collections.Counter()
        for r in rows(final):
            n[r["pid"]] += r["count"]
        return n

    @together
    def test_none(self):
        """no filter: both processes, 50 waits each"""
        final, pids = self.two()
        n = self.counts(final)
        self.assertEqual([n[p] for p in pids], [50, 50])
        self.assertSums(final)

    @together
    def test_pid(self):
        """-p: the other process is not there"""
        final, pids = self.two("-p", "{0}")
        self.assertEqual(self.counts(final), {pids[0]: 50})

    @together
    def test_cgroup(self):
        """-c: a futex of another cgroup does not appear"""
        group = self.cgroup()
        final, pids = self.two("-c", group.path, first={"preexec_fn": group.enter()})
        self.assertEqual(self.counts(final), {pids[0]: 50})

    def test_comm(self):
        """--comm, and ourselves are never there"""
        final, pids = self.two("--comm", "fu*ex")  # others run futex32 beside us
        self.assertEqual(self.counts(final), {pids[0]: 50, pids[1]: 50})
        final, _ = self.two("--comm", "nobody")
        self.assertEqual(rows(final), [])

    @together
    def test_by(self):
        """--by tid, comm, cgroup: rows of each group, sums are the whole"""
        for by in ("pid", "tid", "comm", "cgroup"):
            with self.subTest(by=by):
                final, pids = self.two("--by", by)
                self.assertSums(final)
                ours = [r for r in rows(final) if r["pid"] in pids]
                self.assertEqual(sum_of(ours, "count"), 100)
                for r in ours:
                    if by in ("pid", "tid"):
                        self.assertEqual(r["labels"][by], str(r["pid"]))
                    elif by == "comm":
                        self.assertEqual(r["labels"]["comm"], "futex")

    @together
    def test_overflow(self):
        """addresses without room are counted together: sums stay true"""
        load = self.load("futex", "threads", 40)
        pid = load.line()["pid"]
        # One interval: rows that rest in one leave later, for the same row of others.
        tool = self.tool("-s", "futex", "--max-keys", 16, "-i", "600").ready()
        others = [self.load("futex", "timeout", 5) for _ in range(40)]
        for l in others:
            l.line()
            l.go()
        load.go()
        words = [w for l in others for w in l.end()]
        words += load.end()
        final = tool.stop().final
        other = [r for r in rows(final) if r["other"]]
        self.assertTrue(other)
        self.assertGreater(final["quality"]["map_full"], 0)
        self.assertSums(final)
        self.assertGreaterEqual(count(final, "futex_wait"), sum(w["waits"] for w in words))


    def test_churn(self):
        """processes that have ended make room: their waits go to others, and sums stay true"""
        tool = self.tool("-s", "futex", "--comm", "futex", "--max-keys", 32, "-i", "0.05").ready()
        waits = 0
        for _ in range(150):
            load = self.load("futex", "timeout", 2)
            load.line()
            load.go()
            waits += sum(w["waits"] for w in load.end())
            time.sleep(0.02)
        self.next_report(tool, 5)  # those that ended are gone
        last = self.load("futex", "timeout", 7)
        pid = last.line()["pid"]
        last.go()
        waits += sum(w["waits"] for w in last.end())
        final = tool.stop().final
        self.assertEqual(count(final, "futex_wait"), waits)
        self.assertSums(final)
        self.assertEqual(sum_of(rows(final, pid=pid), "count"), 7, "there was no room for it")
        self.note("%d waits, %d with others, map_full %d", waits, sum_of(rows(final, other=True), "count"),
                  final["quality"]["map_full"])

    def test_many(self):
        """9,000 addresses, beside processes that use 200 each and end: reports on time, and sums stay true"""
        tool = self.tool("-s", "futex", "--comm", "futexes", "-i", "0.5").ready()
        loads = [self.load("futexes", kept, 200) for kept in (9000, 0, 0)]
        waits = sum(l.line()["waits"] for l in loads)
        self.next_report(tool, 8)
        words = [l.end()[0] for l in loads]
        waits += sum(w["waits"] for w in words)
        cpu_s = sum(map(int, harness.stat_of(tool.proc.pid)[11:13])) / os.sysconf("SC_CLK_TCK")
        reports = tool.reports()
        final = tool.stop().final
        # Each row whose address had left with its process had all others walked for it.
        self.assertLess(cpu_s, 0.5 + 0.4 * reports)
        self.assertEqual(sum(count(final, name) for name in METRICS.values()), waits)
        self.assertSums(final)
        self.note("%d processes, %d waits, %d reports, %.2f s of CPU time", sum(w["processes"] for w in words),
                  waits, reports, cpu_s)


@together
class Sites(FutexTest):
    def test_sites(self):
        """a new address has a call site, after that one wait in --stack-every has"""
        report, words, _ = self.run_load("threads", 60, tool_args=("--stack-every", "0"))
        (row,) = at(report.final, words["threads"]["addr"])
        self.assertEqual(sum(s["count"] for s in row["sites"]), 1)
        report, words, _ = self.run_load("threads", 60, tool_args=("--stack-every", "1"))
        (row,) = at(report.final, words["threads"]["addr"])
        self.assertEqual(sum(s["count"] for s in row["sites"]), words["threads"]["waits"])


class Trace:
    """tracefs' own record of futex calls, in an instance of ours: {(uaddr, outcome): count} of a process."""

    ENTER = re.compile(r"-(\d+)\s.*sys_futex\(uaddr: 0x([0-9a-f]+), op: (?:0x)?([0-9a-f]+)")
    EXIT = re.compile(r"-(\d+)\s.*sys_futex -> 0x([0-9a-f]+)")
    WAITS = (0, 9)  # WAIT, WAIT_BITSET

    def __init__(self, test):
        self.dir = tempfile.mkdtemp(prefix="ws-test-")
        mount = subprocess.run(["mount", "-t", "tracefs", "none", self.dir], stderr=subprocess.PIPE, text=True)
        if mount.returncode:
            os.rmdir(self.dir)
            test.skipTest("no tracefs: " + mount.stderr.strip())
        self.instance = os.path.join(self.dir, "instances", "ws-test-%d" % os.getpid())
        test.addCleanup(self.close)
        os.mkdir(self.instance)
        if not os.path.isdir(self.instance + "/events/syscalls/sys_enter_futex"):
            test.skipTest("the kernel has no tracepoints of single system calls")
        self.write("buffer_size_kb", "8192")
        for way in ("enter", "exit"):  # of the load alone: others may make more calls than fit
            self.write("events/syscalls/sys_%s_futex/filter" % way, 'comm == "futex"')
            self.write("events/syscalls/sys_%s_futex/enable" % way, "1")

    def write(self, name, text):
        with open(os.path.join(self.instance, name), "w") as f:
            f.write(text)

    def close(self):
        if os.path.isdir(self.instance):
            os.rmdir(self.instance)
        if os.path.ismount(self.dir):
            subprocess.run(["umount", self.dir], check=True)
            os.rmdir(self.dir)

    def counts(self, tids):
        """Waits, and EAGAINs, by address, of these threads or all."""
        found, open_call = collections.Counter(), {}
        with open(self.instance + "/trace", errors="replace") as f:
            for line in f:
                if line.startswith("#"):
                    continue
                m = self.ENTER.search(line)
                if m:
                    open_call[m[1]] = (int(m[2], 16), int(m[3], 16) & 0x7f)
                    continue
                m = self.EXIT.search(line)
                if not m or m[1] not in open_call:
                    continue
                addr, op = open_call.pop(m[1])
                if op in self.WAITS:
                    ret = int(m[2], 16)
                    ret -= (ret >> 63) << 64
                    found[addr, "eagain" if ret == -11 else "wait"] += 1
        return found


class Reference(FutexTest):
    def test_trace(self):
        """counts by address are those of a tracefs trace of the same run"""
        trace = Trace(self)
        report, words, _ = self.run_load("glibc", 200)
        ref = trace.counts(None)
        self.assertNothingLost(report.final)
        compared = 0
        for r in rows(report.final):
            if r["op" if "op" in r else "futex"] is None:
                continue
            addr = int(r["addr"], 16)
            same = at(report.final, r["addr"])
            self.assertEqual(sum_of(same, "count"), ref[addr, "wait"], r)
            self.assertEqual(sum_of(same, "futex", "eagain"), ref[addr, "eagain"], r)
            compared += r["count"]
        self.note("%d waits at %d addresses", compared, len(rows(report.final)))
        self.assertGreater(compared, 300)


if __name__ == "__main__":
    harness.main()
