#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference for --why: what a CPU did in a stretch of time, by the kernel's own event trace.

No code and no BPF of waitscope, and another way to the answer: the whole list of switches and interrupts of
a CPU, cut into segments of one class each, of which those within the stretch are added up.
"""
import bisect
import collections

import sched_trace

VECTORS = ("local_timer", "reschedule", "call_function", "call_function_single", "irq_work",
           "x86_platform_ipi", "spurious_apic", "error_apic", "thermal_apic", "threshold_apic",
           "deferred_error_apic")

# Of an event and the one next to it on the CPU: hardly anything is done between the two but what tracers do.
ADJACENT = {("reschedule_entry", "reschedule_exit"), ("softirq_exit", "softirq_entry")}

Segment = collections.namedtuple("Segment", "start kind tid")


class Tracer(sched_trace.Tracer):
    """As the scheduler's reference, of several systems' events."""

    EVENTS = {
        "sched": {"sched_switch": ("prev_pid", "next_pid"),
                  "sched_migrate_task": ("pid", "orig_cpu", "dest_cpu")},
        "irq": {"irq_handler_entry": (), "irq_handler_exit": (), "softirq_entry": (), "softirq_exit": ()},
        "irq_vectors": {v + end: () for v in VECTORS for end in ("_entry", "_exit")},
    }
    OPTIONAL = ("irq_vectors",)  # x86's


class Cpu:
    """Segments of one CPU, each of one class, one after the other."""

    def __init__(self):
        self.segments = []
        self.switches = []
        self.holes = []  # when a task left that had not come: where a sandbox hides threads from tracers
        self.tid = None
        self.hard = 0
        self.soft = False

    def cut(self, ts):
        if self.hard:
            kind = "irq"
        elif self.soft:
            kind = "softirq"
        elif self.tid is None:
            kind = "unknown"
        else:
            kind = "task" if self.tid else "idle-exit"
        self.segments.append(Segment(ts, kind, self.tid if kind == "task" else None))

    def take(self, e):
        if e.name == "sched_switch":
            if self.tid not in (None, e.fields["prev_pid"]):
                self.holes.append((self.segments[-1].start, e.ts))
            self.tid = e.fields["next_pid"]
            self.switches.append(e.ts)
            self.hard, self.soft = 0, False
        elif e.name.startswith("softirq_"):
            self.soft = e.name == "softirq_entry"
        elif e.name.endswith("_entry"):
            self.hard += 1
        elif e.name.endswith("_exit"):
            self.hard = max(0, self.hard - 1)
        self.cut(e.ts)


class Timeline:
    def __init__(self, events):
        self.cpus = collections.defaultdict(Cpu)
        self.moves = collections.defaultdict(list)
        self.gaps = []
        with sched_trace.ahead():
            self._take(events)
        self.gaps.sort()
        self.starts = {c: [s.start for s in v.segments] for c, v in self.cpus.items()}

    def _take(self, events):
        last = {}
        for e in events:
            if e.name == "sched_migrate_task":
                self.moves[e.fields["pid"]].append(e.ts)
                continue
            self.cpus[e.cpu].take(e)
            before = last.get(e.cpu)
            if before and (before.name, e.name) in ADJACENT:
                self.gaps.append(e.ts - before.ts)
            last[e.cpu] = e

    def edge_ns(self):
        """What the tracers at one event took in all, of the events of this trace: in 19 of 20 it was not more."""
        return self.gaps[len(self.gaps) * 19 // 20] if self.gaps else 0

    def moved(self, tid, start, end):
        return any(start <= ts <= end for ts in self.moves[tid])

    def switches(self, cpu, start, end):
        at = self.cpus[cpu].switches
        return bisect.bisect_left(at, end) - bisect.bisect_right(at, start)

    def hidden(self, cpu, start, end):
        return any(since < end and to > start for since, to in self.cpus[cpu].holes)

    def parts(self, cpu, start, end, waiter):
        """({(kind, tid or None): ns} of that stretch, segments in it); None: it began before the trace.

        It is a wait of the task `waiter`, which did not run meanwhile: where it seems to at first, it was on its way
        out, and that is the time of whoever came to the CPU.
        """
        segments, starts = self.cpus[cpu].segments, self.starts[cpu]
        i = first = bisect.bisect_right(starts, start) - 1
        if i < 0:
            return None, 0
        pieces = []
        while i < len(segments) and segments[i].start < end:
            to = segments[i + 1].start if i + 1 < len(segments) else end
            ns = min(to, end) - max(segments[i].start, start)
            if ns > 0:
                pieces.append(((segments[i].kind, segments[i].tid), ns))
            i += 1
        others = (k for k, (who, _) in enumerate(pieces) if who[0] == "idle-exit" or who[1] not in (None, waiter))
        left = next(others, 0)
        if not any(who == ("task", waiter) for who, _ in pieces[:left]):
            left = 0
        early, pieces = sum(ns for _, ns in pieces[:left]), pieces[left:]
        out = collections.Counter()
        for who, ns in pieces:
            out[who] += ns
        if early and pieces:
            out[next((who for who, _ in pieces if who[0] == "task"), pieces[0][0])] += early
        return out, i - first
