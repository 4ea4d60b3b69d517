# SPDX-License-Identifier: GPL-2.0-or-later
"""The sides of the comparison: nothing, empty programs, waitscope, its peers."""
import os
import re
import shutil
import signal
import subprocess
import time

ATTACH_LIMIT_S = 20
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
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.wait_attached()

    def wait_attached(self):
        end = time.monotonic() + ATTACH_LIMIT_S
        n, since = 0, time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.02)
            if self.process.poll() is not None:
                words = self.process.stderr.read().decode(errors="replace").strip()
                self.process = None
                raise Failed("does not run here: %s" % (words.splitlines() or ["no message"])[-1])
            now = hooks_of(self.process.pid)
            if now != n:
                n, since = now, time.monotonic()
            elif n and time.monotonic() - since > STABLE_S:
                return
        self.finish()
        raise Failed("attached nothing within %d s" % ATTACH_LIMIT_S)

    def finish(self):
        if not self.process:
            return
        self.process.send_signal(self.stop)
        try:
            self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self.process = None


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


def all_sides(build, cgroup, quick):
    tool = [os.path.join(build, "waitscope"), "-q", "-o", "json:/dev/null"]
    bench = os.path.join(build, "bench")
    sides = [
        Side("none", None),
        Side("empty programs", [bench + "/attach", bench + "/empty.bpf.o"]),
        Side("waitscope", tool),
        Side("runqlat", ["runqlat", "1000"]),
    ]
    if quick:
        return sides
    sides[3:3] = [
        Side("waitscope --by pid", tool + ["--by", "pid"]),
        Side("waitscope --by cgroup", tool + ["--by", "cgroup"]),
        Side("waitscope -c CG", tool + ["-c", cgroup]),
        Side("waitscope --slower 10ms", tool + ["--slower", "10ms"]),
    ]
    sides += [
        Side("runqlat -L", ["runqlat", "-L", "1000"]),
        Side("bpftrace runqlat.bt", ["runqlat.bt"]),
        PerfSched(build),
    ]
    return sides
