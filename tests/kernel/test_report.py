#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Does a live report agree with itself and with its schema?"""
import collections
import copy
import csv
import io
import os
import signal
import statistics
import subprocess
import sys
import time

import harness
from harness import METRICS, ROOT, KernelTest, buckets, groups, metric

sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
import check as golden  # noqa: E402 (its place is only known now)


def add_up(parts):
    """count, sum, min, max and buckets of several metrics together."""
    full, zero = collections.Counter(), 0
    parts = [p for p in parts if p and p["count"]]
    for p in parts:
        b, z = buckets(p)
        full.update(b)
        zero += z
    return {
        "count": sum(p["count"] for p in parts),
        "sum": sum(p["sum"] for p in parts),
        "min": min((p["min"] for p in parts), default=None),
        "max": max((p["max"] for p in parts), default=None),
        "buckets": (dict(full), zero),
    }


def as_sum(m):
    return add_up([m])


class Live(KernelTest):
    def busy_run(self, *args, tasks=1000):
        """A run over moving threads, hogs and short-lived tasks."""
        cpus = self.two_cpus()
        tool = self.tool(*args).ready()
        loads = [self.load("migrate", 4, 1000, *cpus), self.load("spawn", tasks, 8),
                 self.load("hog", "--cpu", cpus[0], 2, 1)]
        for load in loads:
            load.end()
        return tool

    def test_schema(self):
        """every line of a live run validates against the JSON Schema, and the schema is no sieve"""
        try:
            import jsonschema  # noqa: F401 (what reads the schema takes it)
        except ImportError:
            self.skipTest("no python3-jsonschema")
        schema = golden.Schema(os.path.join(ROOT, "docs", "waitscope.schema.json"))
        for by in ("cpu", "pid", "tid", "comm", "cgroup"):
            # Python takes long to read a row of every task: those of the loads say as much.
            report = self.busy_run("--by", by, "-i", "0.6", "--slower", "2ms", "--comm", "[hms]*",
                                   tasks=100).stop()
            kinds = collections.Counter(l["type"] for l in report.lines)
            self.assertEqual((kinds["meta"], kinds["final"]), (1, 1))
            self.assertGreater(kinds["interval"], 1)
            for line in report.lines:
                try:
                    schema.check(line)
                except SystemExit as e:
                    self.fail("--by %s: %s: %s" % (by, e, str(line)[:300]))
        for broken in self.breakages(report.final):
            self.assertFalse(schema.whole.is_valid(broken), str(broken)[:300])
            with self.assertRaises(SystemExit, msg=str(broken)[:300]):
                schema.check(broken)

    @staticmethod
    def breakages(frame):
        for key in ("v", "type", "metrics", "quality", "dur_ns"):
            broken = copy.deepcopy(frame)
            del broken[key]
            yield broken
        for key in ("count", "sum", "buckets", "labels"):
            broken = copy.deepcopy(frame)
            broken["metrics"][0][key] = None
            yield broken

    def test_cpus(self):
        """sums over CPUs are the whole: count, sum, min, max and every bucket"""
        final = self.busy_run().stop().final
        for name in METRICS:
            per_cpu = groups(final, name, "cpu")
            self.assertGreaterEqual(len(per_cpu), 2)
            self.assertEqual(add_up(per_cpu.values()), as_sum(metric(final, name)), name)
            self.assertGreater(metric(final, name)["count"], 0, name)

    def test_by_tid_whole(self):
        """sums over threads are the whole, but for the waits counted as map_full

        The kernel makes new entries from a stock of each CPU that it fills again a little later: of two
        new threads in a row, the second may find it empty. A task whose stamp finds no room is in neither.
        """
        final = self.busy_run("--by", "tid").stop().final
        full = final["quality"]["map_full"]
        self.note("map_full %d", full)
        waits = metric(final, "sched_run_delay")["count"]
        self.assertLessEqual(full, 3 + waits // 1000)
        for name in METRICS:
            parts = [p for p in groups(final, name, "tid").values() if p["count"]]
            whole = metric(final, name)
            left = whole["count"] - sum(p["count"] for p in parts)
            self.assertTrue(0 <= left <= full, "%s: %d are in no group, map_full %d" % (name, left, full))
            rest = whole["sum"] - sum(p["sum"] for p in parts)
            self.assertTrue(left * whole["min"] <= rest <= left * whole["max"], (name, left, rest))
            if left:
                continue
            self.assertEqual(max(p["max"] for p in parts), whole["max"])
            self.assertEqual(min(p["min"] for p in parts), whole["min"])

    def check_intervals(self, report):
        frames = report.intervals
        self.assertEqual([f["seq"] for f in frames], list(range(1, len(frames) + 1)))
        for name in METRICS:
            want = as_sum(metric(report.final, name))
            self.assertEqual(add_up([metric(f, name) for f in frames]), want, name)
            for cpu in groups(report.final, name, "cpu"):
                want = as_sum(metric(report.final, name, cpu=cpu))
                got = add_up([metric(f, name, cpu=cpu) for f in frames])
                self.assertEqual(got, want, "%s cpu %s" % (name, cpu))
        self.assertEqual(sum(f["dur_ns"] for f in frames), report.final["dur_ns"])
        for loss in ("unpaired", "clamped", "map_full", "lost_events"):
            self.assertEqual(sum(f["quality"][loss] for f in frames), report.final["quality"][loss])

    def test_intervals_counted(self):
        """rule 7: consecutive intervals add up to the final exactly (INTERVAL COUNT)"""
        tool = self.busy_run("0.25", "8")
        report = tool.end()
        self.assertEqual(len(report.intervals), 8)
        self.check_intervals(report)

    def test_intervals_interrupted(self):
        """rule 7: consecutive intervals add up to the final exactly (SIGINT within one)"""
        report = self.busy_run("-i", "0.35").stop(signal.SIGINT)
        self.assertGreater(len(report.intervals), 2)
        self.check_intervals(report)

    def drift_ns(self):
        """How much further from the clock's grid the later twenty of forty ends are, by their medians."""
        step = 50_000_000
        ends = [i["mono_ns"] for i in self.tool("0.05", "40").end().intervals]
        self.assertEqual(len(ends), 40)
        off = [end - ends[0] - i * step for i, end in enumerate(ends)]
        return statistics.median(off[20:]) - statistics.median(off[:20])

    def test_interval_lengths(self):
        """intervals do not drift: their ends stay where the clock puts them

        On a busy machine some come late, and one may not come at all; a drift is in every run.
        """
        for _ in range(5):
            drift_ns = self.drift_ns()
            self.note("the later half ends %+.2f ms off the earlier", drift_ns / 1e6)
            if abs(drift_ns) < 10_000_000:
                break
        self.assertLess(abs(drift_ns), 10_000_000)

    def late_s(self, stall_s, interval_s):
        """How late the second interval ends after a first report that took `stall_s` to write."""
        r, w = harness.small_pipe()
        proc = subprocess.Popen([harness.TOOL, "-s", "synth", "-o", "json", str(interval_s), "3"], stdout=w)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        os.close(w)
        with open(r) as out:
            text = out.readline() + out.read(1)  # the first report has begun
            time.sleep(stall_s)
            report = harness.Report(text + out.read())
        first, second = (i["mono_ns"] for i in report.intervals[:2])
        return (second - first) / 1e9 - interval_s

    def test_stalled(self):
        """a report that takes long makes no later interval late"""
        for _ in range(3):  # others may have the CPU
            late_s = self.late_s(0.4, 0.8)
            self.note("%.1f ms late", late_s * 1000)
            if late_s < 0.1:
                break
        self.assertLess(late_s, 0.1)

    def test_warm_up(self):
        """-w: what happens in the warm-up is not counted"""
        for warm_up in (2, 10, 50):
            tool = self.tool("-w", warm_up, "-d", "0.5", "--comm", "spawn")
            time.sleep(0.6)
            self.load("spawn", 500, 4).end()
            ended = time.monotonic_ns()
            final = tool.end(3 * harness.PATIENCE_S).final
            if ended < final["mono_ns"] - final["dur_ns"]:  # in time
                break
        else:
            self.fail("500 tasks took longer than a warm-up of %d s" % warm_up)
        self.assertEqual(metric(final, "sched_queue_to_run")["count"], 0)
        self.assertTrue(0.49e9 < final["dur_ns"] < 1.5e9, final["dur_ns"])

    def test_group_buckets(self):
        """--by: a group's buckets add up to its count, as the whole's do"""
        final = self.busy_run("--by", "pid").stop().final
        for m in final["metrics"]:
            full, zero = buckets(m)
            self.assertEqual(sum(full.values()) + zero, m["count"], m["labels"])

    def test_formats(self):
        """several -o at once tell the same: JSON, CSV and table files of one run"""
        paths = {k: os.path.join(self.dir(), k) for k in ("json", "csv", "table")}
        args = [a for k, p in paths.items() for a in ("-o", "%s:%s" % (k, p))]
        tool = harness.Tool(self, args + ["-d", "1"], json_out=False)
        self.load("spawn", 200, 4).end()
        self.assertEqual(tool.wait(), 0, tool.stderr())
        with open(paths["json"]) as f:
            final = harness.Report(f.read()).final
        want = metric(final, "sched_wakeup_latency")["count"]
        with open(paths["csv"]) as f:
            rows = list(csv.DictReader(io.StringIO(f.read())))
        self.assertIn(str(want), [r["count"] for r in rows
                                  if r["metric"] == "sched_wakeup_latency" and r["type"] == "final"])
        with open(paths["table"]) as f:
            self.assertIn("{:,} samples".format(want), f.read())
        self.assertEqual(tool.stdout(), "")

    def dir(self):
        import shutil
        import tempfile
        path = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return path

    def test_cost(self):
        """cost is measured: ns per event and share of a CPU are there and of a sane size"""
        cost = self.busy_run("-i", "0.5").stop().final["self"]
        self.note("cost %s", cost)
        self.assertTrue(10 < cost["bpf_ns_per_event"] < 20000, cost)
        self.assertTrue(0 < cost["bpf_cpu_ppm"] < 500000, cost)
        self.assertTrue(0 <= cost["user_cpu_ppm"] < 200000, cost)


if __name__ == "__main__":
    harness.main()
