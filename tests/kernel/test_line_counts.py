#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What became of the samples of cache lines: programs whose code is all of one kind are found to be that,
and whatever is sampled, its parts add up to it.
"""
import platform

import harness
from harness import KernelTest

SECONDS = 2
FREQ = 997
MOST = 0.75  # of a program's samples; the rest: its start, the kernel's code, what is not decoded yet
FULL_FREQ = 20000
ACCESSES_MAX = 32768  # in an interval


def samples(frame):
    """{"all": N, "placed": N, ...}"""
    return {
        m["labels"].get("result", "all"): m["value"]
        for m in frame["metrics"]
        if m["name"] == "line_samples"
    }


class Counts(KernelTest):
    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64":
            self.skipTest("x86 only")

    def of(self, mode, *args, seconds=SECONDS, threads=1):
        """(CPU time of the program, in s; what became of its samples); the parts of all reports checked."""
        tool = self.tool("-s", "line", "--line-source", "clock", *args, "--",
                         harness.load_path("codes"), mode, seconds, threads)
        report = tool.end(timeout=60)
        final = samples(report.final)
        for frame in report.intervals + [report.final]:
            n = samples(frame)
            self.assertEqual(sum(n.values()) - n["all"], n["all"], n)
            self.assertEqual(frame["quality"]["pending"], n["pending"])
        for result, value in final.items():
            self.assertEqual(sum(samples(i)[result] for i in report.intervals), value, result)
        self.note("%s: %s", mode, final)
        cpu_ns = harness.json.loads(tool.stdout().splitlines()[-1])["cpu_ns"]
        return cpu_ns / 1e9, final, report

    def mostly(self, mode, result):
        cpu_s, n, _ = self.of(mode, 0.5)
        self.assertGreaterEqual(n[result], MOST * (n["all"] - n["pending"]), n)
        self.assertGreater(n[result], 0)
        # The clock is true: nothing is counted twice, and not much is lost where a host takes CPUs away.
        self.assertLessEqual(n["all"], 1.1 * FREQ * cpu_s + 50)
        self.assertGreaterEqual(n["all"], 0.3 * FREQ * cpu_s)

    def test_no_operand(self):
        """calculations only: no operand"""
        self.mostly("arith", "no-operand")

    def test_not_computable(self):
        """loads that overwrite their own base: not computable"""
        self.mostly("chase", "not-computable")

    def test_undecoded(self):
        """behind bytes that are no instructions: undecoded"""
        self.mostly("nonsense", "undecoded")

    def test_32_bit(self):
        """a 32-bit code segment: 32-bit"""
        self.mostly("code32", "32-bit")

    def test_placed(self):
        """a counter: placed, though nobody contends for it"""
        self.mostly("own", "placed")

    def test_pending(self):
        """code that never ran before: pending"""
        _, n, _ = self.of("storm", 0.5)
        self.assertGreater(n["pending"], n["all"] / 4)

    def test_no_room(self):
        """more accesses than an interval has room for: no room, and a loss"""
        # without short watches nothing but the interval's end makes room
        _, n, report = self.of("scatter", "--freq", FULL_FREQ, "--confirm", 0, 6, seconds=6, threads=2)
        if n["placed"] + n["no-room"] <= 2 * ACCESSES_MAX:  # some are of one place
            self.skipTest("the load had too little of the CPUs")
        self.assertGreater(n["no-room"], 0)
        self.assertEqual(report.final["quality"]["map_full"], n["no-room"])


if __name__ == "__main__":
    harness.main()
