#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference for lock waits: the kernel's own event trace, read raw, in nanoseconds.

It shares no code and no BPF with waitscope: lock:contention_* of an own tracefs instance, and the
definitions of the manual applied to the whole list afterwards.

    lock_trace.py record SECONDS        waits of the next SECONDS by lock, as JSON, one a line
    with Tracer() as t: ...; t.stop(); replay(t.events).waits
"""
import argparse
import collections
import json
import sys
import time

import sched_trace

SPIN, READ, WRITE, RT, PERCPU, MUTEX = (1 << i for i in range(6))
KINDS = {
    0: "semaphore",
    SPIN: "spinlock",
    SPIN | READ: "rwlock:r",
    SPIN | WRITE: "rwlock:w",
    MUTEX: "mutex",
    MUTEX | SPIN: "mutex",
    READ: "rwsem:r",
    WRITE: "rwsem:w",
    PERCPU | READ: "percpu-rwsem:r",
    PERCPU | WRITE: "percpu-rwsem:w",
    RT: "rt-mutex",
    RT | READ: "rt-rwlock:r",
    RT | WRITE: "rt-rwlock:w",
}
IN_INTERRUPT = 0x18  # TRACE_FLAG_HARDIRQ, _SOFTIRQ in common_flags
IN_NMI = 0x40

Wait = collections.namedtuple("Wait", "lock kind tid interrupt begin end cpu")


class Tracer(sched_trace.Tracer):
    EVENTS = {"lock": {
        "contention_begin": ("common_flags", "common_pid", "lock_addr", "flags"),
        "contention_end": ("common_flags", "common_pid", "lock_addr"),
    }}


class Replay:
    """Every wait that began and ended in the trace; `odd` has the ends and begins that did not."""

    def __init__(self):
        self.spins = collections.defaultdict(list)  # (cpu, tid) -> [begin]
        self.sleeps = {}  # tid -> begin
        self.waits = []
        self.odd = []

    def contention_begin(self, e):
        f, tid = e.fields, e.fields["common_pid"]
        if f["flags"] & (SPIN | MUTEX) == SPIN:
            self.spins[e.cpu, tid].append(e)
            return
        old = self.sleeps.get(tid)
        if old and old.fields["lock_addr"] == f["lock_addr"] and f["flags"] & MUTEX:
            return  # from sleeping to spinning, or back: the same wait
        if old:
            self.odd.append(old)
        self.sleeps[tid] = e

    def contention_end(self, e):
        f, tid = e.fields, e.fields["common_pid"]
        stack = self.spins[e.cpu, tid]
        for i in range(len(stack) - 1, -1, -1):
            if stack[i].fields["lock_addr"] == f["lock_addr"]:
                self.odd += stack[i + 1:]
                self._wait(stack[i], e)
                del stack[i:]
                return
        begin = self.sleeps.get(tid)
        if not begin or begin.fields["lock_addr"] != f["lock_addr"]:
            self.odd.append(e)
            return
        self._wait(begin, e)
        del self.sleeps[tid]

    def _wait(self, begin, end):
        f = begin.fields
        flags = f["common_flags"]
        self.waits.append(
            Wait(f["lock_addr"], KINDS.get(f["flags"], "lock"), f["common_pid"],
                 bool(flags & (IN_INTERRUPT | IN_NMI)), begin.ts, end.ts, end.cpu)
        )


def replay(events):
    r = Replay()
    for e in events:
        getattr(r, e.name)(e)
    return r


def by_lock(waits):
    """{(address, kind): [ns]}"""
    out = collections.defaultdict(list)
    for w in waits:
        out[w.lock, w.kind].append(w.end - w.begin)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=["record"])
    parser.add_argument("seconds", type=float)
    args = parser.parse_args()
    with Tracer() as t:
        time.sleep(args.seconds)
        t.stop()
        r = replay(t.events)
    for (lock, kind), ns in sorted(by_lock(r.waits).items(), key=lambda i: -sum(i[1])):
        print(json.dumps({"addr": "0x%x" % lock, "kind": kind, "count": len(ns), "sum": sum(ns),
                          "max": max(ns)}))


if __name__ == "__main__":
    try:
        main()
    except sched_trace.TraceError as error:
        sys.exit("lock_trace.py: error: %s" % error)
