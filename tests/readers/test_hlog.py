#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-o hlog, read by what others wrote: every tag, its counts, its percentiles. TAP."""
import json
import os
import re
import subprocess
import tempfile

import others
from others import Skip

HERE = os.path.dirname(os.path.abspath(__file__))
PER_MILLE = {"50": 500, "90": 900, "99": 990, "99.9": 999}
DIGITS = 1 / 1000  # three significant digits, which is what the log's head says
made = {}


def logs():
    """One run, live and replayed: the log, and the record of the same intervals."""
    if not made:
        made["dir"] = tempfile.TemporaryDirectory()
        log, record, again = (os.path.join(made["dir"].name, n) for n in ("l.hlog", "r.json", "a.hlog"))
        others.waitscope("-q", "-s", "synth", "-i", "0.1", "-d", "0.5", "--by", "comm",
                         "-o", "hlog:" + log, "-o", "json:" + record)
        others.waitscope("report", record, "-q", "-o", "hlog:" + again)
        made.update(log=log, record=record, again=again)
    return made["log"], made["record"], made["again"]


def in_json(record):
    with open(record, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    intervals = [[m for m in r["metrics"] if "buckets" in m] for r in lines if r["type"] == "interval"]
    final = [m for m in lines[-1]["metrics"] if "buckets" in m]
    return intervals, final


def plain(text):
    """\\xNN is the byte NN."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), text.encode()).decode()


def key(tag):
    """The metric and its labels."""
    name, _, labels = tag.partition("{")
    assert not labels or labels[-1] == "}", tag
    return name, tuple(tuple(map(plain, one.split("="))) for one in labels[:-1].split(";") if one)


def check(intervals, final, read):
    want = [m for interval in intervals for m in interval]
    assert len(want) > 100, f"{len(want)} histograms are too few to tell"
    assert len(read) == len(want), f"{len(read)} histograms were read, {len(want)} written"
    sums = {}
    for m, r in zip(want, read):
        assert key(r["tag"]) == (m["name"], tuple(m["labels"].items())), f"{r['tag']}: {m['name']} {m['labels']}"
        assert r["count"] == m["count"], f"{r['tag']}: {r['count']} samples, in JSON {m['count']}"
        sums[r["tag"]] = sums.get(r["tag"], 0) + r["count"]
        for (percent, ns), got in zip((m["p"] or {}).items(), r["at"]):
            assert abs(got - ns) <= max(ns * DIGITS, 1), f"{r['tag']}: p{percent} {got}, in JSON {ns}"
    for m in final:
        tag = next(t for t in sums if key(t) == (m["name"], tuple(m["labels"].items())))
        assert sums[tag] == m["count"], f"{tag}: {sums[tag]} of all intervals, in the final report {m['count']}"


def read_by(*command, cwd=None):
    out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd).stdout
    return [json.loads(line) for line in out.splitlines()]


def by_python():
    """PyPI hdrhistogram reads every tag: counts equal, percentiles within three digits."""
    python = others.python_with("hdrhistogram", "hdrh")
    if not python:
        raise Skip("no hdrhistogram from PyPI")
    log, record, _ = logs()
    check(*in_json(record), read_by(python, os.path.join(HERE, "hlog.py"), log, *map(str, PER_MILLE.values())))


def by_node():
    """npm hdr-histogram-js reads every tag: counts equal, percentiles within three digits."""
    where = others.node_modules_with("hdr-histogram-js", "hdr-histogram-js")
    if not where:
        raise Skip("no hdr-histogram-js from npm")
    log, record, _ = logs()
    check(*in_json(record), read_by("node", os.path.join(HERE, "hlog.js"), log, *map(str, PER_MILLE.values()),
                                    cwd=where))


def replayed():
    """waitscope report writes the same log from the record."""
    log, _, again = logs()
    with open(log, "rb") as a, open(again, "rb") as b:
        assert a.read() == b.read(), "not the same bytes"


others.run(by_python, by_node, replayed)
