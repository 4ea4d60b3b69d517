#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-o tui over a real run: what all of waitscope costs then. Alone on the machine, as all that traces it. TAP."""
import os
import re
import subprocess
import time

import others
from others import Skip, WAITSCOPE
from terminal import Terminal, calibrate, cpu_ns

BACK_TAB = "\x1b[Z"
GROUPS, PART, PART_S = 1000, 0.01, 4


def part_of_cpu(t):
    """Of a CPU, of all that the process does in PART_S: at least three reports come in that time."""
    before, began = cpu_ns(t.pid), time.monotonic()
    while time.monotonic() - began < PART_S:
        t.read(0.2)
    return (cpu_ns(t.pid) - before) / 1e9 / (time.monotonic() - began)


def test_cost():
    """1,000 processes by pid, each woken once a second: reading, keeping and drawing them takes 1 % of a CPU

    The best of up to eight parts of PART_S: others may use the core, and its caches.
    """
    if os.geteuid():
        raise Skip("not root")
    naps = subprocess.Popen([os.path.join(os.path.dirname(WAITSCOPE), "tests", "load", "naps"), str(GROUPS), "1000"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        naps.stdout.readline()
        with Terminal(WAITSCOPE, "-s", "sched", "--by", "pid", "-o", "tui") as t:
            t.await_("q quit")
            t.read(3)
            t.press(BACK_TAB, lambda text: re.search(r"^ *\d+ +naps ", text, re.M))
            for _ in range(8):
                slower, part = calibrate(), part_of_cpu(t)
                print(f"# {100 * part:.2f} % of a CPU, {slower:.2f} times slower", flush=True)
                if part < PART * slower:
                    break
            t.keys("q")
            status = t.wait()
    finally:
        naps.stdin.close()
        naps.wait()
        naps.stdout.close()
    assert status == 0 and 0.0005 < part < PART * slower, f"{100 * part:.2f} % of a CPU"


others.run(test_cost)
