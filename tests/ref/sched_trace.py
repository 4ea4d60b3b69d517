#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference for scheduler waits: the kernel's own event trace, read raw, in nanoseconds.

It shares no code and no BPF with waitscope: sched_* events of an own tracefs instance, their binary
ring buffer decoded by the kernel's own format files, and the definitions of the manual applied to
the whole list afterwards, when everything is known. A lost event makes it fail.

    sched_trace.py record SECONDS [--tid T]...      waits of the next SECONDS as JSON, one a line
    with Tracer() as t: ...; t.stop(); replay(t.events).waits
"""
import argparse
import collections
import contextlib
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

EVENTS = {  # and the fields that are wanted
    "sched_waking": ("pid",),
    "sched_wakeup": ("pid",),
    "sched_wakeup_new": ("pid",),
    "sched_switch": ("prev_pid", "prev_state", "next_pid", "next_comm"),
    "sched_process_exec": ("pid", "old_pid"),
}
PREEMPTED = 0x100  # TASK_REPORT_MAX in prev_state: switched out by preemption, whatever its state
BUFFER_KB = 65536  # of each CPU: a million events
EXEC_NS = 1_000_000_000  # longer than an exec takes from the exchange of ids to its event

Event = collections.namedtuple("Event", "ts cpu name fields")
Hole = collections.namedtuple("Hole", "tid since to")
Wait = collections.namedtuple("Wait", "tid kind t0 t1 t2 cpu prev comm")


class TraceError(Exception):
    pass


class Lost(TraceError):
    """There were more events than the buffer holds."""


# ---- tracefs ----


class Tracefs:
    """The mounted tracefs, or one of our own in a private place."""

    def __init__(self):
        self.own = None
        self.path = self._mounted()
        if not self.path:
            self.own = tempfile.mkdtemp(prefix="ws-tracefs-")
            try:
                subprocess.run(["mount", "-t", "tracefs", "none", self.own], check=True)
            except subprocess.CalledProcessError as e:
                os.rmdir(self.own)
                raise TraceError("cannot mount tracefs (root?)") from e
            self.path = self.own

    @staticmethod
    def _mounted():
        with open("/proc/self/mountinfo") as f:
            for line in f:
                left, right = line.split(" - ")
                if right.split()[0] == "tracefs":
                    return left.split()[4]
        return None

    def close(self):
        if self.own:
            subprocess.run(["umount", self.own], check=True)
            os.rmdir(self.own)
            self.own = None


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read()


@contextlib.contextmanager
def ahead():
    """Before others of this CPU, where that is allowed: what was traced is over, and beside a load it may be millions."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, nice)


# ---- the ring buffer ----

FIELD = re.compile(r"\tfield:(.+?);\toffset:(\d+);\tsize:(\d+);\tsigned:(\d);")


class Format:
    """One event's layout, from its format file: only the fields that are asked for."""

    CODES = {(1, 0): "B", (4, 1): "i", (4, 0): "I", (8, 1): "q", (8, 0): "Q"}

    def __init__(self, name, text, wanted):
        self.name = name
        self.id = int(re.search(r"^ID: (\d+)", text, re.M).group(1))
        codes, end, self.fields = "=", 0, []
        for decl, offset, size, signed in sorted(FIELD.findall(text), key=lambda f: int(f[1])):
            field = re.sub(r"\[.*\]", "", decl.split()[-1])
            if field not in wanted:
                continue
            code = size + "s" if "[" in decl else self.CODES[int(size), int(signed)]
            codes += "%dx%s" % (int(offset) - end, code)
            end = int(offset) + int(size)
            self.fields.append(field)
        self.unpack_from = struct.Struct(codes).unpack_from
        missing = set(wanted) - set(self.fields)
        if missing:
            raise TraceError("%s: this kernel has no field %s" % (name, ", ".join(missing)))

    def decode(self, data, at):
        return dict(zip(self.fields, self.unpack_from(data, at)))


def page_records(page):
    """(timestamp, offset of the record's data) of every record in a sub-buffer."""
    ts, commit = struct.unpack_from("=QQ", page, 0)
    if commit & (1 << 31):
        raise Lost("the ring buffer lost events")
    at, end = 16, 16 + (commit & 0xFFFFF)
    while at < end:
        (head,) = struct.unpack_from("=I", page, at)
        kind, delta = head & 31, head >> 5
        at += 4
        if kind == 29:  # padding
            if not delta:
                return
            ts += delta
            at += struct.unpack_from("=I", page, at)[0]
        elif kind == 30:  # time extend
            ts += delta + (struct.unpack_from("=I", page, at)[0] << 27)
            at += 4
        elif kind == 31:  # absolute time, 59 bits
            low = delta + (struct.unpack_from("=I", page, at)[0] << 27)
            ts = (ts & (0x1F << 59)) | low
            at += 4
        else:
            ts += delta
            if kind:
                yield ts, at
                at += kind * 4
            else:
                yield ts, at + 4
                at += struct.unpack_from("=I", page, at)[0]


class Tracer:
    """Records from __enter__ to stop(); then `events`, in time order."""

    EVENTS = {"sched": EVENTS}  # by system
    OPTIONAL = ()  # systems that a kernel may lack some events of

    def __init__(self, buffer_kb=BUFFER_KB):
        self.buffer_kb = buffer_kb
        self.fs = None
        self.dir = None
        self.events = []

    def __enter__(self):
        try:
            self.fs = Tracefs()
            self._setup()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc):
        self.close()

    def _setup(self):
        path = os.path.join(self.fs.path, "instances", "ws-ref-%d" % os.getpid())
        os.mkdir(path)
        self.dir = path
        write(self.dir + "/tracing_on", "0")
        write(self.dir + "/trace_clock", "mono")
        write(self.dir + "/options/overwrite", "0")
        self._buffers()
        self.formats = {}
        for system, events in self.EVENTS.items():
            for name, wanted in events.items():
                self._enable(system, name, wanted)
        self.record(True)

    def record(self, on):
        """Whether it records what happens from now on; the events stay enabled."""
        write(self.dir + "/tracing_on", "1" if on else "0")

    def _enable(self, system, name, wanted):
        where = "%s/events/%s/%s" % (self.dir, system, name)
        if os.path.isdir(where):
            fmt = Format(name, read(where + "/format"), wanted)
            self.formats[fmt.id] = fmt
            write(where + "/enable", "1")
        elif system not in self.OPTIONAL:
            raise TraceError("this kernel has no event %s:%s" % (system, name))

    def _buffers(self):
        """Makes them and fills them once, each on its CPU: the first use of a page that a host has yet to
        back stalls the CPU in the middle of an event, which who stands behind us at the tracepoint sees later."""
        write(self.dir + "/buffer_size_kb", str(self.buffer_kb))
        write(self.dir + "/tracing_on", "1")
        before = os.sched_getaffinity(0)
        fd = os.open(self.dir + "/trace_marker", os.O_WRONLY)
        try:
            for cpu in before:
                os.sched_setaffinity(0, {cpu})
                for _ in range(self.buffer_kb):
                    try:
                        os.write(fd, b"-" * 1000)
                    except OSError:  # full
                        break
        finally:
            os.close(fd)
            os.sched_setaffinity(0, before)
        write(self.dir + "/tracing_on", "0")
        write(self.dir + "/trace", "")

    def stop(self):
        self.record(False)
        with ahead():
            return self._events()

    def _events(self):
        self.events = []
        for cpu_dir in glob.glob(self.dir + "/per_cpu/cpu*"):
            self._check_losses(cpu_dir)
            self._read_cpu(cpu_dir, int(cpu_dir.rsplit("cpu", 1)[1]))
        self.events.sort(key=lambda e: e.ts)  # stable: each CPU's own order stays
        return self.events

    @staticmethod
    def _check_losses(cpu_dir):
        stats = dict(l.split(": ") for l in read(cpu_dir + "/stats").splitlines() if ": " in l)
        for what in ("overrun", "commit overrun", "dropped events"):
            if int(stats[what]):
                raise Lost("%s: %s %s" % (os.path.basename(cpu_dir), stats[what], what))

    def _read_cpu(self, cpu_dir, cpu):
        size = 4096
        if os.path.exists(self.dir + "/buffer_subbuf_size_kb"):
            size = int(read(self.dir + "/buffer_subbuf_size_kb")) * 1024
        fd = os.open(cpu_dir + "/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        try:
            while True:
                try:
                    page = os.read(fd, size)
                except BlockingIOError:
                    break
                if not page:
                    break
                self._read_page(page, cpu)
        finally:
            os.close(fd)

    def _read_page(self, page, cpu):
        for ts, at in page_records(page):
            fmt = self.formats.get(struct.unpack_from("=H", page, at)[0])
            if fmt:
                self.events.append(Event(ts, cpu, fmt.name, fmt.decode(page, at)))

    def close(self):
        if self.dir:
            os.rmdir(self.dir)
            self.dir = None
        if self.fs:
            self.fs.close()
            self.fs = None


# ---- the definitions, applied ----


class Task:
    """A task, whatever its id is at the moment: an exec from a thread changes it on the CPU."""

    __slots__ = ("t0", "t1", "kind", "on_cpu", "seen")

    def __init__(self):
        self.t0 = self.t1 = self.kind = None
        self.on_cpu = False
        self.seen = None  # when last: until then it may have waited since before the trace


class Replay:
    """Every wait that began and ended in the trace.

    A wakeup found on a CPU or queued changes nothing. T0 may come before the switch-out that it
    undoes (the waker already saw the sleeper's state), so a blocking switch-out keeps it.

    Where a sandbox hides threads from tracers, their switches are missing, and on that CPU a task is
    switched out that was never switched in. Such a hole is noted, and what it hides is not guessed.
    """

    def __init__(self):
        self.tasks = {}
        self.renamed = {}  # (tid, tid): when execs exchanged the two
        self.running = {}  # cpu -> (tid, task, since)
        self.waits = []
        self.holes = []  # woken, switched in or out in between, unreported

    def task(self, tid):
        return self.tasks.setdefault(tid, Task())

    def waking(self, e):
        t = self.task(e.fields["pid"])
        if t.t1 is None:
            t.t0 = e.ts

    def wakeup(self, e):
        t = self.task(e.fields["pid"])
        if t.on_cpu:
            t.t0 = None
        elif t.t1 is None:
            t.t1, t.kind = e.ts, "wakeup"
            if t.t0 is None and t.seen:
                self.holes.append(Hole(e.fields["pid"], t.seen, e.ts))
            t.seen = e.ts

    def wakeup_new(self, e):
        t = self.tasks[e.fields["pid"]] = Task()
        t.t1, t.kind, t.seen = e.ts, "new", e.ts

    def switch(self, e):
        self._out(e, e.fields["prev_pid"], e.fields["prev_state"])
        self._in(e, e.fields["next_pid"])

    def _out(self, e, tid, state):
        was, t, since = self.running.get(e.cpu) or (tid, self.task(tid), e.ts)
        if was != tid:
            t = self._other(e, was, t, since, tid)
        t.on_cpu, t.seen = False, e.ts
        if state == 0 or state & PREEMPTED:
            t.t0, t.t1, t.kind = None, e.ts, "preempt"
        else:
            t.t1 = None

    def _other(self, e, was, t, since, tid):
        """Not the task that was switched in here: an exec gave it another id, or there is a hole."""
        if any(since < ts < e.ts + EXEC_NS for ts in self.renamed.get((was, tid), ())):
            self.tasks[tid] = t
            return t
        self._hole(was, t, since, e.ts)
        other = self.task(tid)
        self._hole(tid, other, since, e.ts)
        return other

    def _hole(self, tid, t, since, to):
        if not tid:
            return
        self.holes.append(Hole(tid, since if t.t1 is None else t.t1, to))
        t.t0 = t.t1 = None
        t.on_cpu = False

    def note_exec(self, e):
        old, new = e.fields["old_pid"], e.fields["pid"]
        if old != new:
            for pair in ((old, new), (new, old)):
                self.renamed.setdefault(pair, []).append(e.ts)

    def _in(self, e, tid):
        t = Task() if tid == 0 else self.task(tid)  # every CPU has its own idle task
        self.running[e.cpu] = (tid, t, e.ts)
        if tid == 0:
            return
        if t.t1 is not None:
            comm = e.fields["next_comm"].split(b"\0")[0].decode("utf-8", "replace")
            self.waits.append(
                Wait(tid, t.kind, t.t0, t.t1, e.ts, e.cpu, e.fields["prev_pid"], comm)
            )
        elif t.seen:
            self.holes.append(Hole(tid, t.seen, e.ts))
        t.t0 = t.t1 = None
        t.on_cpu, t.seen = True, e.ts

    HANDLERS = {
        "sched_waking": waking,
        "sched_wakeup": wakeup,
        "sched_wakeup_new": wakeup_new,
        "sched_switch": switch,
    }


def replay(events):
    r = Replay()
    for e in events:  # before the rest: the ids are exchanged a while before the event says so
        if e.name == "sched_process_exec":
            r.note_exec(e)
    with ahead():
        for e in events:
            if e.name in r.HANDLERS:
                r.HANDLERS[e.name](r, e)
    return r


def length(w):
    """What the wait is as a whole: T2 - T0 of a wakeup, else T2 - T1."""
    return w.t2 - (w.t1 if w.t0 is None else w.t0)


def samples(ws):
    """The waits as lists of ns by metric, as the manual defines the metrics."""
    out = collections.defaultdict(list)
    for w in ws:
        out["sched_run_delay"].append(w.t2 - w.t1)
        if w.kind == "preempt":
            out["sched_preempt_wait"].append(w.t2 - w.t1)
            continue
        out["sched_queue_to_run"].append(w.t2 - w.t1)
        if w.t0 is not None:
            out["sched_wakeup_latency"].append(w.t2 - w.t0)
            out["sched_wake_to_queue"].append(w.t1 - w.t0)
    return out


def quantile(values, q):
    """Nearest rank, from the sorted exact values; q in percent, as text or number."""
    rank = max(1, -(-int(round(float(q) * 10**7)) * len(values) // 10**9))
    return sorted(values)[rank - 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["record"])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--tid", type=int, action="append", help="only this thread (repeatable)")
    parser.add_argument("--summary", action="store_true", help="quantiles instead of waits")
    args = parser.parse_args()
    with Tracer() as t:
        time.sleep(args.seconds)
        t.stop()
        found = [w for w in replay(t.events).waits if not args.tid or w.tid in args.tid]
    if not args.summary:
        for w in found:
            print(json.dumps(w._asdict()))
        return
    for name, values in sorted(samples(found).items()):
        p = {q: quantile(values, q) for q in ("50", "90", "99", "99.9")}
        print(json.dumps({"name": name, "count": len(values), "sum": sum(values),
                          "min": min(values), "max": max(values), "p": p}))


if __name__ == "__main__":
    try:
        main()
    except TraceError as error:
        sys.exit("sched_trace.py: error: %s" % error)
