#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_perfetto.py [RECORD] TRACE: a Perfetto trace, by a decoder of its own; against the same run in JSON.

Without RECORD: tracks are described before they are used, clocks are known, slices of a track nest.
"""
import json
import struct
import sys
from collections import Counter, defaultdict, namedtuple

from check_html import culprit_name

BEGIN, END, INSTANT, VALUE = 1, 2, 3, 4
MONOTONIC, REALTIME = 3, 1
GROUPS = {"cpu", "pid", "tid", "comm", "cgroup", "file", "unit", "container_id"}
WAITS = {"wakeup": "wakeup wait", "new": "first wait", "preempt": "preempt wait", "throttle": "throttle wait"}
NAME_BYTES = 1023

Event = namedtuple("Event", "ts type track name category notes flows ends value")
Slice = namedtuple("Slice", "track begin end event")


class Bad(Exception):
    """What is wrong."""


def check(ok, message):
    if not ok:
        raise Bad(message)


# ---- protocol buffers ----

def varint(data, at):
    value = shift = 0
    while True:
        check(at < len(data) and shift < 70, "a number that does not end")
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Field numbers and their values: numbers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            check(at + 8 <= len(data), "eight bytes that are not there")
            value, at = data[at:at + 8], at + 8
        else:
            check(tag & 7 == 2, f"wire type {tag & 7}")
            length, at = varint(data, at)
            check(at + length <= len(data), "a message longer than what holds it")
            value, at = data[at:at + length], at + length
        yield tag >> 3, value


def message(data):
    """One value a field, but for those that repeat: a list each."""
    out = defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


def one(m, number, default=None):
    check(len(m[number]) <= 1, f"field {number} twice")
    return m[number][0] if m[number] else default


def text(value):
    if value is None:
        return None
    s = value.decode("utf-8")
    check(all(c.isprintable() for c in s), f"not to be seen: {s!r}")
    return s


def double(value):
    return struct.unpack("<d", value)[0]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


# ---- a trace ----

class Trace:
    def __init__(self, data):
        self.tracks, self.events, self.clocks = {}, [], []
        self.words, self.categories = {}, {}
        packets = list(fields(data))
        check(packets and all(n == 1 for n, _ in packets), "not a list of packets")
        for i, (_, packet) in enumerate(packets):
            self.packet(message(packet), i == 0)

    def packet(self, p, first):
        check(one(p, 10) == 1, "not the one writer's packet")
        check(one(p, 13) == (1 if first else 2), "its state begins elsewhere than with the first packet")
        if first:
            defaults = message(one(p, 59, b""))
            check(one(defaults, 58) == MONOTONIC, f"clock {one(defaults, 58)}")
        if p[12]:
            interned = message(one(p, 12))
            for table, number in ((self.categories, 1), (self.words, 3)):
                for entry in interned[number]:
                    entry = message(entry)
                    table[one(entry, 1)] = text(one(entry, 2))
        if p[6]:
            snapshot = message(one(p, 6))
            at = {one(c, 1): one(c, 2) for c in map(message, snapshot[1])}
            check(set(at) == {MONOTONIC, REALTIME} and one(snapshot, 2) == MONOTONIC, f"clocks {at}")
            check(not self.clocks or at[MONOTONIC] > self.clocks[-1][MONOTONIC], "clocks that go back")
            self.clocks.append(at)
        if p[60]:
            self.describe(message(one(p, 60)))
        if p[11]:
            check(self.clocks, "an event before the clocks are compared")
            self.event(one(p, 8), message(one(p, 11)))

    def describe(self, d):
        uuid, parent = one(d, 1), one(d, 5)
        check(uuid and (parent is None or parent in self.tracks), f"track {uuid} of an unknown one")
        track = {"uuid": uuid, "parent": parent, "kind": "named", "name": text(one(d, 2)), "counter": bool(d[8])}
        if d[3]:
            process = message(one(d, 3))
            track.update(kind="process", pid=one(process, 1), name=text(one(process, 6)))
        if d[4]:
            thread = message(one(d, 4))
            track.update(kind="thread", pid=one(thread, 1), tid=one(thread, 2), name=text(one(thread, 5)))
        before = self.tracks.get(uuid)
        check(not before or (before["kind"], before["parent"]) == (track["kind"], parent), f"track {uuid} is two")
        self.tracks[uuid] = track

    def event(self, ts, e):
        track = one(e, 11)
        check(track in self.tracks, f"an event on track {track}, which nobody described")
        notes = {}
        for note in map(message, e[4]):
            word = self.words[one(note, 1)]
            check(word not in notes, f"{word} twice")
            notes[word] = text(one(note, 6)) if note[6] else one(note, 3)
        value = double(one(e, 44)) if e[44] else signed(one(e, 30)) if e[30] else None
        category = self.categories[one(e, 3)] if e[3] else None
        self.events.append(Event(ts, one(e, 9), track, text(one(e, 23)), category, notes, tuple(e[47]), tuple(e[48]),
                                 value))
        check((value is not None) == (one(e, 9) == VALUE) == self.tracks[track]["counter"], "a value without a counter")

    def thread(self, uuid):
        """(pid, tid) of the track or of the thread that it lies below; None: of none."""
        while uuid is not None:
            track = self.tracks[uuid]
            if track["kind"] == "thread":
                return track["pid"], track["tid"]
            uuid = track["parent"]
        return None

    def slices(self):
        """As they were written, which is as readers find them, who go by time and take what began last."""
        written, read = [], []
        for events, out in ((self.events, written), (sorted(self.events, key=lambda e: e.ts), read)):
            stacks = defaultdict(list)
            for e in events:
                if e.type == BEGIN:
                    stacks[e.track].append(e)
                elif e.type == END:
                    check(stacks[e.track], "an end without a beginning")
                    begun = stacks[e.track].pop()
                    check(begun.ts <= e.ts, "an end before its beginning")
                    out.append((e.track, begun.ts, e.ts, id(begun)))
            check(not any(stacks.values()), "a beginning without an end")
        check(sorted(written) == sorted(read), "slices that do not nest")
        by_id = {id(e): e for e in self.events}
        return [Slice(t, a, b, by_id[i]) for t, a, b, i in written]


# ---- what JSON says ----

def clean(s):
    """As the manual says it: the backslash and what nobody sees as \\xNN."""
    return "".join(c if c != "\\" and c.isprintable() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in s)


def begin_of(r):
    return max(r["mono_ns"] - r["wait_ns"], 0)


def expected_notes(r):
    notes = {"metric": clean(r["metric"]), "cpu": r["cpu"]}
    if r["cgroup"] is not None:
        notes["cgroup"] = clean(r["cgroup"])
    for key in ("dev", "mount", "path"):
        if r.get(key) is not None:
            notes[key] = clean(r[key])
    for key in ("bytes", "blocked_ns", "run_queue_ns", "cpu_ns"):
        if "op" in r and r[key] is not None and (key != "bytes" or r[key]):
            notes[key] = r[key]
    if r.get("waker"):
        notes["waker"] = r["waker"]["kind"]
        if "comm" in r["waker"]:
            notes.update(waker_comm=clean(r["waker"]["comm"]), waker_pid=r["waker"]["pid"], waker_tid=r["waker"]["tid"])
    if "addr" in r:
        notes.update(kind=clean(r["kind"]), addr=r["addr"])
        if r["name"] is not None:
            notes["name"] = clean(r["name"])
        if r.get("holders") and r["holders"][0]["tid"]:
            h = r["holders"][0]
            notes.update(holder_comm=clean(h["comm"]), holder_pid=h["pid"], holder_tid=h["tid"])
    notes.update(expected_prev(r))
    if r.get("last_cpu") is not None:
        notes["last_cpu"] = r["last_cpu"]
    return notes


def expected_prev(r):
    prev = r.get("prev")
    if not prev or prev["comm"] is None:
        return {}
    if not prev["tid"]:
        return {"prev_comm": "(idle)"}
    return {"prev_comm": clean(prev["comm"]), "prev_pid": prev["pid"], "prev_tid": prev["tid"]}


def frozen(notes):
    return tuple(sorted(notes.items()))


def same(got, want, what):
    got, want = Counter(got), Counter(want)
    check(got == want, f"{what}: the trace alone has {list((got - want).items())[:3]}, JSON alone "
                       f"{list((want - got).items())[:3]}")


def check_slow(trace, slices, slow):
    waits = [r for r in slow if "op" not in r and "addr" not in r]
    for category, records, name in (("wait", [r for r in slow if "op" not in r],
                                     lambda r: WAITS.get(r["kind"], clean(r.get("name") or r["kind"]))),
                                    ("operation", [r for r in slow if "op" in r], lambda r: clean(r["op"]))):
        got = [(trace.thread(s.track), s.begin, s.end - s.begin, s.event.name, frozen(s.event.notes))
               for s in slices if s.event.category == category]
        want = [((r["pid"], r["tid"]), begin_of(r), r["mono_ns"] - begin_of(r), name(r), frozen(expected_notes(r)))
                for r in records]
        same(got, want, category)
    legs = [(trace.thread(s.track), s.event.name, s.begin, s.end) for s in slices if s.event.category == "leg"]
    want = []
    for r in waits:
        queued = max(r["mono_ns"] - r.get("queue_to_run_ns", 0), 0)
        if "queue_to_run_ns" in r and queued >= begin_of(r):
            who = (r["pid"], r["tid"])
            want += [(who, "wake-to-queue", begin_of(r), queued), (who, "queue-to-run", queued, r["mono_ns"])]
    same(legs, want, "legs")
    got = [(trace.tracks[s.track]["name"], s.begin, s.end, s.event.name, frozen(s.event.notes))
           for s in slices if s.event.category == "cpu"]
    same(got, [(f"CPU {r['cpu']}", queued_at(r), r["mono_ns"],
                clean(r["comm"]), frozen({"comm": clean(r["comm"]), "pid": r["pid"], "tid": r["tid"],
                                          **expected_prev(r)})) for r in waits], "CPUs")
    check_culprits(trace, slices, waits)
    check_flows(trace, waits)


def told_whom(r):
    """Culprits fill the wait, which must not begin before the clock does."""
    return r["culprits"] if r.get("culprits") and r["mono_ns"] >= r["wait_ns"] else []


def queued_at(r):
    """Where the slice of the CPU's track begins."""
    return begin_of(r) if told_whom(r) else max(r["mono_ns"] - r.get("queue_to_run_ns", r["wait_ns"]), 0)


def check_culprits(trace, slices, waits):
    """One after another below the wait, as long as JSON says, and ending with it."""
    got = [(trace.tracks[s.track]["name"], s.begin, s.end - s.begin, s.event.name, frozen(s.event.notes))
           for s in slices if s.event.category == "culprit"]
    want, outer = [], defaultdict(list)
    for r in waits:
        at = begin_of(r)
        for k in told_whom(r):
            notes = {key: clean(k[key]) if isinstance(k[key], str) else k[key]
                     for key in ("kind", "comm", "pid", "tid", "cgroup") if k[key] is not None}
            want.append((f"CPU {r['cpu']}", at, k["ns"], clean(culprit_name(k)),
                         frozen({**notes, "meaning": "a sum over the wait, not a moment in it"})))
            at += k["ns"]
        check(not told_whom(r) or at == r["mono_ns"], f"culprits of {r['wait_ns']} ns end {r['mono_ns'] - at} ns early")
    same(got, want, "culprits")
    for s in slices:
        if s.event.category == "cpu":
            outer[s.track].append((s.begin, s.end))
    for s in slices:
        check(s.event.category != "culprit" or any(a <= s.begin and s.end <= b for a, b in outer[s.track]),
              f"{s.event.name} lies in no wait of its track")


def check_flows(trace, waits):
    starts = {f: e for e in trace.events for f in e.flows}
    ends = {f: e for e in trace.events for f in e.ends}
    check(len(starts) == sum(len(e.flows) for e in trace.events), "a flow that starts twice")
    check(starts.keys() == ends.keys(), "a flow without its other end")
    got = [(trace.thread(starts[f].track), starts[f].ts, trace.thread(ends[f].track), ends[f].ts) for f in starts]
    want = [((r["waker"]["pid"], r["waker"]["tid"]), begin_of(r), (r["pid"], r["tid"]), begin_of(r))
            for r in waits if r.get("waker") and r["waker"]["kind"] == "task"]
    same(got, want, "flows")


def counters_of(report):
    """(series, statistic) and value, as JSON has it."""
    seconds = report["dur_ns"] / 1e9
    for m in report["metrics"]:
        if next(iter(m["labels"]), None) in GROUPS or not seconds:
            continue
        name = " ".join([m["name"], *m["labels"].values()])
        if "value" in m:
            yield (name, "rate"), m["value"] / seconds
            continue
        yield (name, "rate"), m["count"] / seconds
        yield (name, "waited"), m["sum"] / 1e9 / seconds
        yield (name, "max"), m["max"] or 0
        if m["p"] is not None:
            for percent, ns in m["p"].items():
                yield (name, "p" + percent), ns


def is_name(got, want):
    """Long ones are cut."""
    return got == clean(want) or (len(want.encode()) > NAME_BYTES and clean(want).startswith(got[:NAME_BYTES // 4]))


def check_counters(trace, reports):
    at = defaultdict(list)
    for e in trace.events:
        if e.type == VALUE:
            at[e.ts].append(e)
    times = [(r, max(r["mono_ns"] - r["dur_ns"], 0)) for r in reports]
    closing = reports[-1]["mono_ns"] if reports else None
    if closing in at and closing not in (ns for _, ns in times):
        times.append((reports[-1], closing))
    seen = 0
    for report, ns in times:
        for (name, stat), value in counters_of(report):
            fit = [e for e in at[ns] if trace.tracks[e.track]["name"] == stat and
                   is_name(trace.tracks[trace.tracks[e.track]["parent"]]["name"], name)]
            check(any(abs(e.value - value) <= abs(value) * 1e-9 for e in fit),
                  f"{name} {stat} at {ns}: {[e.value for e in fit]}, in JSON {value}")
            seen += 1
    if not any(m["p"] is None for r in reports for m in r["metrics"] if "p" in m):
        total = sum(map(len, at.values()))
        check(total == seen, f"{total} values of counters, {seen} in JSON")


def compare(trace, slices, lines):
    reports = [r for r in lines if r["type"] == "interval"] or [r for r in lines if r["type"] == "final"]
    check_slow(trace, slices, [r for r in lines if r["type"] == "slow"])
    check_counters(trace, reports)
    losses = [e.ts for e in trace.events if e.category == "quality"]
    same(losses, [r["mono_ns"] for r in reports if not r["quality"]["complete"]], "losses")


def check_files(record, path):
    with open(path, "rb") as f:
        trace = Trace(f.read())
    slices = trace.slices()
    if record:
        with open(record, encoding="utf-8") as f:
            compare(trace, slices, [json.loads(line) for line in f])
    return trace, slices


def main(*args):
    try:
        check_files(args[0] if len(args) > 1 else None, args[-1])
    except Bad as bad:
        sys.exit(f"check_perfetto.py: {bad}")


if __name__ == "__main__":
    main(*sys.argv[1:])
