#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What takes the samples of lines, and what is said of it; on made-up machines: a directory bound over sysfs
in a mount namespace of our own, where "mem-loads" is an event that any kernel has.
"""
import os
import shutil
import subprocess
import tempfile

import harness
from harness import KernelTest

DEVICES = "/sys/bus/event_source/devices"
SOFTWARE = "1"  # perf_event_attr.type
PAGE_FAULTS = "2"  # of which every sample has an address
NO_TYPE = "99999"


class LineSource(KernelTest):
    def devices(self, files):
        """A prefix for the tool: it sees these devices and no others."""
        top = tempfile.mkdtemp(prefix="ws-pmu-")
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(top, path)), exist_ok=True)
            with open(os.path.join(top, path), "w") as f:
                f.write(text + "\n")
        script = 'mount --bind "$0" %s && exec "$@"' % DEVICES
        prefix = ["unshare", "-m", "sh", "-c", script, top]
        if not os.path.isdir(DEVICES) or subprocess.run(
            prefix + ["true"], stderr=subprocess.DEVNULL
        ).returncode:
            self.skipTest("no private mounts, or no %s" % DEVICES)
        return prefix

    def intel(self, kind):
        return self.devices({
            "cpu/type": kind,
            "cpu/format/ldlat": "config1:0-15",
            "cpu/events/mem-loads": "config=%s,ldlat=3" % PAGE_FAULTS,
        })

    def run_line(self, prefix, *args):
        return self.tool("-s", "line", "-d", "1", *args, prefix=prefix).end()

    def line(self, report):
        (line,) = report.meta["sources"]
        return line

    def test_nothing_offered(self):
        """no such PMU: the clock, and why; --line-source pmu is an error, 3"""
        prefix = self.devices({"cpu/type": "4", "cpu/events/cycles": "event=0x76"})
        report = self.run_line(prefix)
        self.assertEqual(report.status, 0)
        self.assertEqual(self.line(report)["hooks"], ["cpu-clock"])
        (lacks,) = self.line(report)["lacks"]
        self.assertIn("offers no PMU", lacks)
        self.assertIn("note: line: HITM and latency: this machine offers no PMU", report.stderr)
        tool = self.tool("-s", "line", "--line-source", "pmu", "-d", "1", prefix=prefix)
        self.assertEqual(tool.wait(), 3)
        self.assertIn("error: line: this machine offers no PMU", tool.stderr())

    def test_clock_asked_for(self):
        """--line-source clock: nothing is missing, nothing is said"""
        report = self.run_line([], "--line-source", "clock")
        self.assertEqual(self.line(report)["hooks"], ["cpu-clock"])
        self.assertNotIn("lacks", self.line(report))
        self.assertEqual(report.stderr, "")

    def test_groups(self):
        """--by beside a source that has groups: a note; alone it is refused"""
        report = self.tool("-s", "sched,line", "--line-source", "clock", "--by", "pid", "-d", "0.3").end()
        self.assertEqual(report.status, 0)
        self.assertEqual(
            report.stderr, "waitscope: note: line: --by means nothing to it: its rows name their threads\n"
        )
        self.assertTrue(harness.groups(report.final, "sched_run_delay", "pid"))
        self.assertTrue(all(not r["labels"] for r in report.final["tables"]["contended"]))
        tool = self.tool("-s", "line", "--by", "pid", "-d", "0.3")
        self.assertEqual(tool.wait(), 2)

    def test_event_refused(self):
        """an event that the kernel refuses: the clock, and which event"""
        report = self.run_line(self.intel(NO_TYPE))
        self.assertEqual(self.line(report)["hooks"], ["cpu-clock"])
        (lacks,) = self.line(report)["lacks"]
        self.assertIn("mem-loads", lacks)

    def test_event_opens(self):
        """an event that opens on every CPU: it is taken"""
        prefix = self.intel(SOFTWARE)
        tool = self.tool("-s", "line", "-d", "2", prefix=prefix)
        tool.ready()
        for _ in range(200):  # page faults
            subprocess.run(["true"], check=True)
        report = tool.end()
        if self.line(report)["hooks"] == ["cpu-clock"] and any(
            "6.2" in text for text in self.line(report)["lacks"]
        ):
            self.skipTest("no bpf_cast_to_kern_ctx")
        self.assertEqual(self.line(report)["hooks"], ["cpu/mem-loads/"])
        self.assertNotIn("lacks", self.line(report))
        self.assertEqual(report.final["quality"]["map_full"], 0)


if __name__ == "__main__":
    harness.main()
