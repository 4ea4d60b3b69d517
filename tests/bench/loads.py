# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads. Each gives time per operation in ns: lower is better."""
import os
import re
import shutil
import subprocess
import time

import machine
import stats

CGROUP = os.path.join(machine.cgroup_mount(), "waitscope-bench")
LOAD_CPU = "1"


class LoadGroup:
    """The cgroup that loads run in, for `-c`; undone at the end."""

    def __enter__(self):
        try:
            os.mkdir(CGROUP)
        except FileExistsError:
            pass
        return self

    def __exit__(self, *exc):
        os.rmdir(CGROUP)

    @staticmethod
    def enter():
        with open(CGROUP + "/cgroup.procs", "w") as f:
            f.write("0")


def run(command, cpus=None):
    if cpus:
        command = ["taskset", "-c", cpus] + command
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, preexec_fn=LoadGroup.enter
    )
    return done.stdout + done.stderr


def find(pattern, text):
    m = re.search(pattern, text)
    if not m:
        raise ValueError("expected %r in %r" % (pattern, text))
    return float(m.group(1))


class Loads:
    def __init__(self, build, quick):
        self.bin = os.path.join(build, "bench")
        self.scale = 1 if quick else 3

    def pipe(self, a, b, rounds, slices):
        text = run([self.bin + "/pipe", a, b, str(rounds), str(slices)])
        return stats.low([float(line.split()[0]) for line in text.splitlines()])

    def pipe_one(self):
        return self.pipe(LOAD_CPU, LOAD_CPU, 2500, 80 * self.scale)

    def pipe_two(self):
        return self.pipe("0", "1", 500, 12 * self.scale)

    def perf_pipe(self):
        text = run(["perf", "bench", "sched", "pipe", "-l", str(100000 * self.scale)], LOAD_CPU)
        return 1000 * find(r"([\d.]+) usecs/op", text)

    def hackbench(self):
        loops, groups = 1000 * self.scale, 2
        text = run(["hackbench", "-s", "100", "-l", str(loops), "-g", str(groups), "-f", "10"])
        messages = loops * groups * 10 * 10
        return 1e9 * find(r"Time: ([\d.]+)", text) / messages

    def requests(self):
        return float(run([self.bin + "/requests", "8", str(4000 * self.scale)]))

    def tbench(self):
        server = subprocess.Popen(["tbench_srv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            text = run(["tbench", "-t", "2", "2", "127.0.0.1"])
        finally:
            server.kill()
            server.wait()
        return 1e9 / find(r"Throughput ([\d.]+) MB/sec", text)  # ns per MB

    def table(self, quick):
        rows = [
            ("pipe, one CPU", "round trip", self.pipe_one, None),
            ("pipe, two CPUs", "round trip", self.pipe_two, None),
        ]
        if not quick:
            rows += [
                ("perf bench sched pipe, one CPU", "round trip", self.perf_pipe, "perf"),
                ("hackbench, 80 tasks", "message", self.hackbench, "hackbench"),
                ("request loop, 8 workers", "request", self.requests, None),
                ("tbench, 2 clients", "MB", self.tbench, "tbench"),
            ]
        return [r for r in rows if r[3] is None or shutil.which(r[3])]
