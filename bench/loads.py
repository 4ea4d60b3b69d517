# SPDX-License-Identifier: GPL-2.0-or-later
"""The loads. Each gives time per operation in ns: lower is better."""
import json
import os
import re
import shutil
import subprocess
import time

import machine
import stats

CGROUP = machine.bench_cgroup()
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


class Begun:
    """A load program that says its pid, then waits for a byte; `end` has what it said last."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=LoadGroup.enter
        )
        self.pid = json.loads(self.process.stdout.readline())["pid"]

    def begin(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        text = self.process.communicate()[0]
        if self.process.returncode:
            raise subprocess.CalledProcessError(self.process.returncode, self.process.args)
        return json.loads(text.splitlines()[-1])


def timed(command):
    """(ns, what it said) of a load program's work, without its preparations."""
    load = Begun(command)
    began = time.monotonic_ns()
    load.begin()
    said = load.end()
    return time.monotonic_ns() - began, said


def find(pattern, text):
    m = re.search(pattern, text)
    if not m:
        raise ValueError("expected %r in %r" % (pattern, text))
    return float(m.group(1))


class Loads:
    def __init__(self, build, place, quick):
        self.bin = os.path.join(build, "bench")
        self.load_bin = os.path.join(build, "tests", "load")
        self.place = place
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

    def calls(self, mode, rounds, slices, *args):
        """CPU time of a call. Its first quartile of slices: disturbances only add."""
        text = run([self.bin + "/calls", mode, str(rounds), str(slices * self.scale), *args], LOAD_CPU)
        return stats.low([float(line.split()[1]) for line in text.splitlines()])

    def lookup(self):
        return self.calls("lookup", 5000, 80, self.place.file("lookup"))

    def pwrite(self):
        return self.calls("pwrite", 2500, 80, self.place.file("pwrite"))

    def futex_again(self):
        return self.calls("futex", 5000, 80)

    def loop(self):
        return self.calls("loop", 320000, 8)  # 20 ms: some 20 samples

    def walk(self):
        return self.calls("walk", 320000, 8)

    def sparse_pages(self):
        """80 processes read sparse files of their own through mappings."""
        command = [self.load_bin + "/mmapread", self.place.fs.path, "80", "4", str(3 * self.scale)]
        took, said = timed(command)
        return took / said["pages"]

    def pipe_lock(self):
        took, said = timed([self.load_bin + "/locks", "pipe", "2", str(250 * self.scale)])
        return took / said["ops"]

    def lookups(self):
        return [("extent status look-up", "FIBMAP", self.lookup)]

    def writes(self):
        return [("4 KiB pwrite", "pwrite", self.pwrite)]

    def mmapread(self):
        return [("mmap-read of sparse files, 80 processes", "page", self.sparse_pages)]

    def lock(self):
        return [("one pipe, 2 writers and 2 readers", "read or write", self.pipe_lock)]

    def futex(self):
        return [("futex call that fails at once", "call", self.futex_again)]

    def line(self):
        return [
            ("loop in registers", "64 steps", self.loop),
            ("loop over private memory", "64 steps", self.walk),
        ]

    def sched(self, quick):
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
        return [r[:3] for r in rows if r[3] is None or shutil.which(r[3])]
