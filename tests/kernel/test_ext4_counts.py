#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ext4: every count against the kernel's own, on file systems of our own."""
import os
import re
import signal
import subprocess
import time

import harness
from fsharness import LoopFs
from harness import KernelTest

ES = "ext4_es_lookups"
OPS = "ext4_op_latency"


def values(frame, name, fs, key):
    """{value of the label: count} of a counter of one file system, without CPUs and groups."""
    found = {}
    for m in frame["metrics"]:
        labels = m["labels"]
        if m["name"] == name and labels.get("dev") == fs.dev and "cpu" not in labels:
            found[labels[key]] = found.get(labels[key], 0) + m["value"]
    return found


def lookups(frame, fs):
    """(hits, misses)"""
    v = values(frame, ES, fs, "result")
    return v.get("hit", 0), v.get("miss", 0)


def ops(frame, fs):
    """{operation: count}"""
    return {
        m["labels"]["op"]: m["count"]
        for m in frame["metrics"]
        if "count" in m and m["labels"].get("dev") == fs.dev and "op" in m["labels"]
    }


class PerfStat:
    """The kernel's tracepoints counted by perf, until stop()."""

    def __init__(self, test, events, fs):
        """events: (name, more of a filter) or name"""
        if subprocess.run(["sh", "-c", "command -v perf"], stdout=subprocess.DEVNULL).returncode:
            test.skipTest("no perf")
        control, tell = os.pipe()
        hear, ack = os.pipe()
        # It says so when it has begun: a slow machine's perf takes its time.
        command = ["perf", "stat", "-a", "-x", ",", "--delay=-1", "--control=fd:%d,%d" % (control, ack)]
        for event in events:
            only = "dev == %d" % fs.kernel_dev
            if isinstance(event, tuple):
                event, more = event
                only += " && " + more
            command += ["-e", event, "--filter", only]
        self.proc = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, pass_fds=(control, ack))
        test.addCleanup(self.kill)
        os.close(control)
        os.close(ack)
        try:
            os.write(tell, b"enable\n")
        except BrokenPipeError:
            pass  # nor will it answer
        answer = os.read(hear, 100)
        os.close(tell)
        os.close(hear)
        if not answer.startswith(b"ack\n"):
            test.skipTest("perf: " + self.proc.stderr.read().strip())

    def stop(self):
        """The counts, in the events' order."""
        self.proc.send_signal(signal.SIGINT)
        _, text = self.proc.communicate(timeout=20)
        return [int(line.split(",")[0]) for line in text.splitlines() if re.match(r"\d+,", line)]

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        self.proc.stderr.close()


class Ext4(KernelTest):
    def setUp(self):
        super().setUp()
        self.fs = LoopFs(self)

    def trace(self, *args):
        return self.tool("-s", "ext4", "-i", "0.5", *args).ready()

    def work(self, name, *args):
        """A load from its first byte to its end; its last line."""
        load = self.load(name, *args)
        load.line()
        load.go()
        return load.end()[-1]

    def complete(self, final):
        """Nothing is lost. A switch that the kernel hid is of no operation's count, only of its split."""
        self.assertComplete(final, sum(ops(final, self.fs).values()))
        return final


class EsLookups(Ext4):
    def counted(self, tool, before):
        """(ours, the kernel's): hits and misses; nobody else uses the file system."""
        self.fs.sync()
        after = self.fs.es_counters()
        final = tool.stop().final
        return final, lookups(final, self.fs), tuple(a - b for a, b in zip(after, before))

    def test_mmap_readers(self):
        """look-ups of processes that mmap-read sparse files equal es_shrinker_info"""
        self.fs.sync()
        before = self.fs.es_counters()
        tool = self.trace("--dev", self.fs.path)
        self.work("mmapread", "--random", self.fs.path, 4, 16, 2)
        final, ours, kernel = self.counted(tool, before)
        self.note("%d hits, %d misses", *ours)
        self.assertEqual(ours, kernel)
        self.assertGreater(ours[0], 4 * 16 * 256)
        self.complete(final)

    def test_writes(self):
        """look-ups of writes, truncations and writeback equal es_shrinker_info, without --dev"""
        self.fs.sync()
        before = self.fs.es_counters()
        tool = self.trace()
        self.work("fswrite", "--fsync", self.fs.file("a"), 200, 8192)
        self.work("churn", self.fs.path, 2, 100)
        self.work("fallocate", self.fs.file("b"), 20)
        _, ours, kernel = self.counted(tool, before)
        self.note("%d hits, %d misses", *ours)
        self.assertEqual(ours, kernel)
        self.assertGreater(ours[1], 0)

    def test_fibmap(self):
        """N FIBMAPs are exactly N look-ups, all hits of a written or unwritten extent"""
        load = self.load("fibmap", self.fs.file("f"), 5000)
        load.line()
        self.fs.sync()
        tool = self.trace("--pid", load.pid)
        load.go()
        load.end()
        final = tool.stop().final
        self.assertEqual(lookups(final, self.fs), (5000, 0))
        kinds = values(final, "ext4_es_hits", self.fs, "kind")
        self.assertEqual(sum(kinds.values()), 5000)
        self.assertEqual(kinds["hole"], 0)
        self.assertEqual(kinds["delayed"], 0)

    def test_holes(self):
        """pages of holes are hits of the kind hole"""
        tool = self.trace("--dev", self.fs.path)
        self.work("mmapread", self.fs.path, 1, 16, 1)
        final = tool.stop().final
        kinds = values(final, "ext4_es_hits", self.fs, "kind")
        self.assertGreaterEqual(kinds["hole"], 16 * 256 - 1)

    def test_cpus_add_up(self):
        """the CPUs' look-ups add up to the device's, in every frame"""
        tool = self.trace("--dev", self.fs.path)
        self.work("mmapread", self.fs.path, 4, 8, 4)
        report = tool.stop()
        for frame in report.intervals + [report.final]:
            cpus = sum(m["value"] for m in frame["metrics"]
                       if m["name"] == ES and "cpu" in m["labels"])
            self.assertEqual(cpus, sum(lookups(frame, self.fs)))
        self.assertGreater(cpus, 4 * 8 * 256)

    def test_intervals_add_up(self):
        """intervals add up to the final report: look-ups and operations"""
        tool = self.trace("--dev", self.fs.path)
        self.work("fswrite", "--fsync", "--pause", 2500, self.fs.file("a"), 500, 4096)
        report = tool.stop()
        added, looked = {}, [0, 0]
        for frame in report.intervals:
            for op, n in ops(frame, self.fs).items():
                added[op] = added.get(op, 0) + n
            looked = [a + b for a, b in zip(looked, lookups(frame, self.fs))]
        self.assertEqual(added, ops(report.final, self.fs))
        self.assertEqual(tuple(looked), lookups(report.final, self.fs))
        self.assertGreater(len(report.intervals), 1)

    def test_groups(self):
        """--by comm: the groups' look-ups and times add up to those of the device"""
        tool = self.trace("--dev", self.fs.path, "--by", "comm", "--es-time")
        self.work("mmapread", self.fs.path, 2, 8, 2)
        final = tool.stop().final
        whole = grouped = timed = 0
        for m in final["metrics"]:
            if m["name"] == ES and "cpu" not in m["labels"]:
                if "comm" in m["labels"]:
                    grouped += m["value"]
                else:
                    whole += m["value"]
            if m["name"] == "ext4_es_lookup_latency" and "comm" not in m["labels"]:
                timed += m["count"]
        self.assertTrue(0 <= whole - grouped <= final["quality"]["map_full"], (whole, grouped))
        self.assertComplete(final, whole)
        self.assertEqual(whole, timed)
        self.assertGreater(whole, 2 * 8 * 256)

    def test_files(self):
        """--by file: each file's look-ups, by its path"""
        path = self.fs.file("named")
        load = self.load("fibmap", path, 1000)
        load.line()
        self.fs.sync()
        tool = self.trace("--dev", self.fs.path, "--by", "file")
        load.go()
        load.end()
        final = tool.stop().final
        files = {m["labels"]["file"]: m["value"] for m in final["metrics"]
                 if m["name"] == ES and m["labels"].get("result") == "hit"
                 and "file" in m["labels"]}
        self.assertEqual(files.get(path), 1000, files)


class Operations(Ext4):
    EVENTS = (
        "ext4:ext4_sync_file_exit",
        "jbd2:jbd2_handle_start",
        "jbd2:jbd2_handle_stats",
        "jbd2:jbd2_end_commit",
        "ext4:ext4_ext_map_blocks_exit",
        ("ext4:ext4_da_write_end", "copied != 0"),
        "ext4:ext4_writepages_result",
        "ext4:ext4_unlink_exit",
        "ext4:ext4_truncate_exit",
        "ext4:ext4_fallocate_exit",
    )
    OPS = ("fsync", "start-wait", "handle-held", "commit", "map-blocks", "write", "writepages",
           "unlink", "truncate", "fallocate")

    def test_perf(self):
        """fsync, handles, commits, maps, writes, unlinks ... equal perf's counts and jbd2's own"""
        self.fs.sync()
        tool = self.trace("--dev", self.fs.path)
        perf = PerfStat(self, self.EVENTS, self.fs)
        commits = self.fs.transactions()
        self.work("fswrite", "--fsync", self.fs.file("a"), 300, 4096)
        self.work("churn", self.fs.path, 2, 200)
        self.work("fallocate", self.fs.file("b"), 50)
        self.fs.sync()
        commits = self.fs.transactions() - commits
        kernel = dict(zip(self.OPS, perf.stop()))
        final = self.complete(tool.stop().final)
        ours = ops(final, self.fs)
        self.note("%s", ours)
        self.assertEqual({op: ours.get(op, 0) for op in self.OPS}, kernel)
        self.assertEqual(ours["commit"], commits)
        for phase in ("locking", "flushing", "logging"):
            self.assertEqual(ours["commit-" + phase], commits)
        self.assertGreaterEqual(ours["fsync"], 300)
        self.assertGreaterEqual(ours["unlink"], 400)

    def test_dsync(self):
        """O_DSYNC writes are writes and fsyncs"""
        load = self.load("fswrite", "--dsync", self.fs.file("a"), 100, 4096)
        load.line()
        tool = self.trace("--pid", load.pid)
        load.go()
        load.end()
        ours = ops(tool.stop().final, self.fs)
        self.assertEqual(ours["fsync"], 100)
        self.assertEqual(ours["write"], 100)

    def test_retries(self):
        """writes from memory never touched: a segment that copied nothing is a retry, no write"""
        load = self.load("fswrite", "--untouched", self.fs.file("a"), 100, 4096)
        load.line()
        tool = self.trace("--pid", load.pid)
        load.go()
        load.end()
        final = tool.stop().final
        retries = values(final, "ext4_events", self.fs, "event").get("write-retry", 0)
        self.note("%d retries", retries)
        self.assertEqual(ops(final, self.fs)["write"], 100)
        self.assertGreater(retries, 0)
        self.assertLessEqual(retries, 100)

    def test_cached_reads(self):
        """300,000 reads that the page cache answers fire no event

        Lookups are those of all tasks: a commit of the journal, which looks up the journal's own
        blocks, may still come after the synchronisation. Then it is tried again.
        """
        for _ in range(5):
            load = self.load("cachedread", self.fs.file("a"), 300000)
            load.line()
            self.fs.sync()
            commits = self.fs.transactions()
            tool = self.trace("--pid", load.pid)
            load.go()
            load.end()
            final = tool.stop().final
            self.assertEqual(ops(final, self.fs), {})
            if self.fs.transactions() == commits:
                break
            self.note("%d lookups, %d commits meanwhile", sum(lookups(final, self.fs)),
                      self.fs.transactions() - commits)
        self.assertEqual(lookups(final, self.fs), (0, 0))

    def test_events(self):
        """punched holes, zeroed and collapsed ranges are counted, fallocate and truncate timed"""
        load = self.load("fallocate", self.fs.file("a"), 30)
        load.line()
        tool = self.trace("--pid", load.pid)
        load.go()
        did = load.end()[-1]
        final = tool.stop().final
        events = values(final, "ext4_events", self.fs, "event")
        self.assertEqual(events["punch-hole"], did["punch"])
        self.assertEqual(events["zero-range"], did["zero"])
        self.assertEqual(events["collapse-range"], did["collapse"])
        ours = ops(final, self.fs)
        self.assertEqual(ours["fallocate"], did["fallocate"])
        self.assertGreaterEqual(ours["truncate"], did["truncate"])

    def test_direct(self):
        """direct reads and writes by direction, with their bytes"""
        path = self.fs.file("a")
        with open(path, "wb") as f:
            f.write(b"x" * (200 * 4096))
        self.fs.sync()
        tool = self.trace("--dev", self.fs.path, "--comm", "dd")
        dd = ["dd", "bs=4k", "status=none"]
        subprocess.run(dd + ["if=" + path, "of=/dev/null", "iflag=direct"], check=True)
        subprocess.run(dd + ["if=/dev/zero", "of=" + path, "oflag=direct", "conv=notrunc",
                             "count=150"], check=True)
        final = tool.stop().final
        ours = ops(final, self.fs)
        self.assertEqual((ours["dio-read"], ours["dio-write"]), (200, 150))
        sizes = values(final, "ext4_op_bytes", self.fs, "op")
        self.assertEqual((sizes["dio-read"], sizes["dio-write"]), (200 * 4096, 150 * 4096))

    def test_two(self):
        """two file systems are kept apart, and --dev takes one of them"""
        other = LoopFs(self)
        loads = [self.load("fswrite", "--fsync", fs.file("a"), n, 4096)
                 for fs, n in ((self.fs, 40), (other, 70))]
        for load in loads:
            load.line()
        tool = self.trace()
        one = self.trace("--dev", other.path)
        for load in loads:
            load.go()
        for load in loads:
            load.end()
        final = tool.stop().final
        self.assertEqual(ops(final, self.fs)["fsync"], 40)
        self.assertEqual(ops(final, other)["fsync"], 70)
        final = one.stop().final
        self.assertEqual(ops(final, self.fs), {})
        self.assertEqual(ops(final, other)["fsync"], 70)
        for m in final["metrics"]:
            self.assertEqual(m["labels"]["dev"], other.dev)

    def test_command(self):
        """a command's operations are counted from its exec on, its children's with it"""
        path = self.fs.file("a")
        script = "for i in 1 2 3; do dd if=/dev/zero of=%s bs=4k count=1 conv=fsync 2>/dev/null; " \
                 "done" % path
        report = self.tool("-s", "ext4", "--", "sh", "-c", script).end()
        self.assertEqual(report.status, 0, report.stderr)
        self.assertEqual(ops(report.final, self.fs)["fsync"], 3)

    def test_own(self):
        """what waitscope itself writes to ext4, and its look-ups for that, are not in the data"""
        out = self.fs.file("out")
        load = self.load("fibmap", self.fs.file("f"), 1000)
        load.line()
        self.fs.sync()
        others = PerfStat(self, [("ext4:ext4_es_lookup_extent_exit", 'comm != "waitscope"')], self.fs)
        before = self.fs.es_counters()
        tool = self.trace("--dev", self.fs.path, "-i", "0.05", "-o", "json:" + out)
        time.sleep(1)
        load.go()
        load.end()
        final = tool.stop().final
        all_of_them = sum(self.fs.es_counters()) - sum(before)
        seen, found = others.stop()[0], sum(lookups(final, self.fs))
        self.note("%d look-ups, %d of others, %d in the data", all_of_them, seen, found)
        self.assertGreater(os.path.getsize(out), 2000)
        self.assertNotIn("write", ops(final, self.fs))
        self.assertGreater(all_of_them, seen)
        self.assertGreaterEqual(seen, 1000)
        self.assertEqual(found, seen)


if __name__ == "__main__":
    harness.main()
