# SPDX-License-Identifier: GPL-2.0-or-later
"""The sides of the comparison: nothing, empty programs, waitscope, its peers."""
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import machine

ATTACH_LIMIT_S = 20
FINISH_LIMIT_S = 30
STABLE_S = 0.25  # no new link for that long: attached
TRACER_CPU = "0"
HOOK_FD = re.compile(r"bpf[_-]link|\[perf_event\]|raw-tracepoint")


def hooks_of(pid):
    """How many descriptors of the process hang on events."""
    n = 0
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            try:
                n += bool(HOOK_FD.search(os.readlink("/proc/%d/fd/%s" % (pid, fd))))
            except OSError:
                continue  # closed meanwhile
    except OSError:
        return 0
    return n


class Failed(Exception):
    """This side cannot be had here; the text says why."""


class Side:
    stdout = subprocess.DEVNULL

    def __init__(self, name, command, stop=signal.SIGINT):
        self.name = name
        self.command = command
        self.stop = stop
        self.process = None

    def start(self):
        if not self.command:
            return
        if not shutil.which(self.command[0]):
            raise Failed("%s is not installed" % self.command[0])
        self.process = subprocess.Popen(
            ["taskset", "-c", TRACER_CPU] + self.command,
            stdin=subprocess.PIPE,
            stdout=self.stdout,
            stderr=subprocess.PIPE,
        )
        self.wait_attached()

    def wait_attached(self):
        end = time.monotonic() + ATTACH_LIMIT_S
        n, since = 0, time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.02)
            if self.process.poll() is not None:
                self.failed(self.process.stderr.read())
            now = hooks_of(self.process.pid)
            if now != n:
                n, since = now, time.monotonic()
            elif n and time.monotonic() - since > STABLE_S:
                return
        self.finish()
        raise Failed("attached nothing within %d s" % ATTACH_LIMIT_S)

    def failed(self, stderr):
        """Its last words are the reason."""
        self.process = None
        words = stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise Failed("does not run here: %s" % words[-1].strip(" ()"))

    def finish(self):
        if not self.process:
            return
        self.process.send_signal(self.stop)
        try:
            self.process.communicate(timeout=FINISH_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self.process = None


class Tool(Side):
    """waitscope, its JSON kept here: its first line says that everything is attached."""

    stdout = subprocess.PIPE

    def __init__(self, name, command):
        super().__init__(name, command + ["-q", "-o", "json"])
        self.lines = []
        self.reader = None

    def wait_attached(self):
        first = self.process.stdout.readline()
        if not first:
            self.failed(self.process.communicate()[1])
        self.lines = [first]
        self.reader = threading.Thread(target=self.lines.extend, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def finish(self):
        if not self.process:
            return
        self.process.send_signal(self.stop)
        self.process.wait(timeout=FINISH_LIMIT_S)
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.stdin.close()
        self.process = None

    @property
    def final(self):
        return json.loads(self.lines[-1])


class PerfSched(Side):
    """perf sched record: its data is looked at for lost events, then removed."""

    def __init__(self, build):
        self.data = os.path.join(build, "bench", "perf.data")
        super().__init__("perf sched record", ["perf", "sched", "record", "-o", self.data])
        self.lost = 0

    def finish(self):
        super().finish()
        if not os.path.exists(self.data):
            return
        run = subprocess.run(
            ["perf", "report", "-i", self.data, "--stats"], capture_output=True, text=True, check=False
        )
        self.lost += sum(int(n) for n in re.findall(r"LOST(?:_SAMPLES)? events:\s+(\d+)", run.stdout))
        os.unlink(self.data)


def tool(build, name, *options):
    """waitscope with these options; the name says them."""
    return Tool(name, [os.path.join(build, "waitscope"), *options])


def own(build, *options):
    return tool(build, " ".join(("waitscope",) + options), *options)


NOBTF = os.path.join(os.path.dirname(__file__), "..", "tests", "kernel", "nobtf.sh")


def own_raw(build, *options):
    """As on a kernel without BTF."""
    command = [NOBTF, os.path.join(build, "waitscope"), "-s", "sched", "--btf", "/sys/kernel/btf/copy"]
    return Tool("waitscope on raw tracepoints", [*command, *options])


PMU = os.path.join(os.path.dirname(__file__), "..", "tests", "kernel", "pmu.sh")


def own_pmu(build, *options):
    """As on a machine with a PMU."""
    return Tool("waitscope with a PMU", [PMU, os.path.join(build, "waitscope"), *options])


def attached(build, name, stem):
    """A BPF object of bench."""
    bench = os.path.join(build, "bench")
    return Side(name, [bench + "/attach", "%s/%s.bpf.o" % (bench, stem)])


def empty(build, stem):
    return attached(build, "empty programs", stem)


def choose(quick, always, more):
    return [Side("none", None)] + always + ([] if quick else more)


def of_sched(build, quick):
    more = [
        own(build, "-s", "sched", "--by", "pid"),
        own(build, "-s", "sched", "--by", "cgroup"),
        tool(build, "waitscope -s sched -c CG", "-s", "sched", "-c", machine.bench_cgroup()),
        own(build, "-s", "sched", "--slower", "10ms"),
        Side("runqlat -L", ["runqlat", "-L", "1000"]),
        Side("bpftrace runqlat.bt", ["runqlat.bt"]),
        PerfSched(build),
    ]
    return choose(quick, [
        empty(build, "empty"),
        own(build, "-s", "sched"),
        own(build),
        own(build, "--why"),
        Side("runqlat", ["runqlat", "1000"]),
    ], more)


def bpftrace(name, program):
    return Side("bpftrace " + name, ["bpftrace", "-e", program])


ES_EXIT = "ext4:ext4_es_lookup_extent_exit"
COUNT_LOOKUPS = "tracepoint:%s { @[args->found] = count(); }" % ES_EXIT
HIST_WRITES = (
    "tracepoint:ext4:ext4_da_write_begin { @s[tid] = nsecs; } "
    "tracepoint:ext4:ext4_da_write_end /@s[tid]/ { @us = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]); }"
)


def of_lookups(build, quick):
    return choose(quick, [
        empty(build, "empty_ext4"),
        own(build, "-s", "ext4"),
    ], [
        own(build),
        own(build, "-s", "ext4", "--by", "pid"),
        own(build, "-s", "ext4", "--by", "file"),
        own(build, "-s", "ext4", "--es-time"),
        Side("perf stat", ["perf", "stat", "-a", "-e", ES_EXIT]),
        bpftrace("count()", COUNT_LOOKUPS),
    ])


def of_writes(build, quick):
    return choose(quick, [
        empty(build, "empty_ext4"),
        own(build, "-s", "ext4"),
        attached(build, "fsdist's scheme", "fsdist_scheme"),
    ], [
        own(build),
        own(build, "-s", "ext4", "--by", "pid"),
        own(build, "-s", "ext4", "--by", "file"),
        own(build, "-s", "ext4", "--slower", "10ms"),
        Side("fsdist", ["fsdist", "-t", "ext4", "1000"]),
        Side("ext4dist", ["ext4dist", "1000"]),
        bpftrace("hist()", HIST_WRITES),
    ])


def of_mmapread(build, quick):
    return choose(quick, [
        own(build, "-s", "ext4"),
        own(build),
    ], [
        Side("perf stat", ["perf", "stat", "-a", "-e", ES_EXIT]),
        bpftrace("count()", COUNT_LOOKUPS),
    ])


def of_lock(build, quick):
    return choose(quick, [
        empty(build, "empty_lock"),
        own(build, "-s", "lock"),
        own(build, "-s", "lock", "--stack-every", "1"),
    ], [
        own(build, "-s", "lock", "--stack-every", "100"),
        Side("perf lock contention", ["perf", "lock", "contention", "-a", "-b"]),
        Side("klockstat", ["klockstat"]),
    ])


def of_futex(build, quick):
    return choose(quick, [
        empty(build, "empty_futex"),
        own(build, "-s", "futex"),
    ], [
        own(build, "-s", "futex", "--by", "pid"),
        bpftrace("futex hist()",
                 "tracepoint:syscalls:sys_enter_futex { @s[tid] = nsecs; } "
                 "tracepoint:syscalls:sys_exit_futex /@s[tid]/ "
                 "{ @us = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]); }"),
    ])


def of_line(build, quick):
    return choose(quick, [
        empty(build, "empty_line"),
        own(build, "-s", "line"),
    ], [
        Side("perf record -F 997", ["perf", "record", "-q", "-a", "-F", "997", "-e", "cpu-clock", "-o", "/dev/null"]),
        Side("perf c2c record", ["perf", "c2c", "record", "-a", "-o", "/dev/null"]),
    ])
