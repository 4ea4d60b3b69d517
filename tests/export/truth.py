# SPDX-License-Identifier: GPL-2.0-or-later
"""What a record (JSON Lines) says that Prometheus and OTLP must be told: an account of its own, in exact
arithmetic, from the intervals of the record alone. And readers of what was written."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import unicodedata
from datetime import datetime, timezone

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WS = os.path.join(os.environ.get("O", "build"), "waitscope")
LOSSES = ("unpaired", "clamped", "map_full", "recursion_misses", "lost_events", "untraced")
NOTED = ("missed", "over_range", "inferred", "pending", "names_refused", "watches", "watched_ns")
EDGES = range(-20, 7)  # 1 us to 64 s
BY_KEYS = ("pid", "tid", "comm", "cgroup", "file", "unit", "container")


def system_python(*modules):
    """Goes on in the distribution's Python where another comes first that lacks what the tests take."""
    try:
        for module in modules:
            __import__(module)
    except ImportError:
        if "WS_SYSTEM_PYTHON" in os.environ:
            raise
        os.environ["WS_SYSTEM_PYTHON"] = "1"
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


def recorded_labels(labels):
    """Without what is only derived from the path of a cgroup (tests/unit/test_cgroup_words.c)."""
    derived = ("unit", "container_id", "pod_uid") if any(k == "cgroup" for k, _ in labels) else ()
    return frozenset((k, v) for k, v in labels if k not in derived)


def clean(text):
    out = ""
    for c in text:
        if ord(c) < 0x20 or ord(c) == 0x7F:
            out += f"\\x{ord(c):02x}"
        elif unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            out += "\ufffd"
        else:
            out += c
    return out


class Hist:
    def __init__(self):
        self.count = self.sum = self.zero = 0
        self.schema = None
        self.buckets = {}  # Prometheus' index: samples

    def coarser(self, schema):
        """Buckets at that schema: bucket b of schema s lies in bucket ceil(b / 2) of schema s - 1."""
        by = 2 ** (self.schema - schema)
        out = {}
        for b, n in self.buckets.items():
            out[-(-b // by)] = out.get(-(-b // by), 0) + n
        return out

    def add(self, m):
        b = m["buckets"]
        schema = b["schema"] if self.schema is None else min(self.schema, b["schema"])
        mine = self.coarser(schema) if self.schema is not None else {}
        self.schema = b["schema"]
        self.buckets = {b["offset"] + k: n for k, n in enumerate(b["counts"]) if n}
        theirs = self.coarser(schema)
        for k, n in theirs.items():
            mine[k] = mine.get(k, 0) + n
        self.schema, self.buckets = schema, mine
        self.count += m["count"]
        self.sum += m["sum"]
        self.zero += b["zero"]

    def below(self, edge):
        """Samples of at most 2^edge seconds; that many are known exactly."""
        return self.zero + sum(n for b, n in self.buckets.items() if b <= edge * 2**self.schema)


def moment_ns(text):
    """RFC 3339 with nanoseconds, in UTC."""
    whole, part = text.rstrip("Z").split(".")
    seconds = datetime.fromisoformat(whole).replace(tzinfo=timezone.utc).timestamp()
    return int(seconds) * 10**9 + int(part)


class Truth:
    """(name, frozenset of labels) -> Hist or count, and what the quality says."""

    def __init__(self, path, by=None):
        self.hists, self.counts, self.starts, self.lost, self.noted = {}, {}, {}, {}, {}
        self.by = by
        self.end_ns = None
        self.kinds = {}
        with open(path, encoding="utf-8") as f:
            records = [json.loads(line) for line in f]
        intervals = [r for r in records if r["type"] == "interval"]
        final = [r for r in records if r["type"] == "final"]
        if final and sum(r["dur_ns"] for r in intervals) != final[-1]["dur_ns"]:
            intervals = final[-1:]
        for r in intervals:
            self.take(r)

    def take(self, r):
        first = self.end_ns is None
        self.end_ns = moment_ns(r["ts"])
        begin = self.end_ns - r["dur_ns"]
        if first:
            self.start_ns = begin
        for m in r["metrics"]:
            self.take_metric(m, begin)
        q = r["quality"]
        for key in LOSSES:
            self.lost[key] = self.lost.get(key, 0) + q[key]
        for key in NOTED:
            self.noted[key] = self.noted.get(key, 0) + q.get(key, 0)
        self.in_flight, self.longest_ns = q["in_flight"], q["in_flight_longest_ns"]

    def take_metric(self, m, begin):
        labels = m["labels"]
        if list(labels) == ["cpu"] and self.by != "cpu":
            return
        if next(iter(labels), None) == self.by and self.by in BY_KEYS and not m.get("value", m.get("count")):
            return  # a group without a sample
        key = (m["name"], frozenset((k, clean(v)) for k, v in labels.items()))
        self.starts.setdefault(key, begin)
        if "buckets" in m:
            self.hists.setdefault(key, Hist()).add(m)
        else:
            self.counts[key] = self.counts.get(key, 0) + m["value"]


def records():
    """The records of the golden tests."""
    return sorted(glob.glob(os.path.join(TOP, "tests/golden/expected/*.json")))


def rendered(sink, record):
    """What a sink makes of a record, and what the record says of that."""
    with open(record, encoding="utf-8") as f:
        by = (json.loads(f.readline()).get("options") or {}).get("by")
    with tempfile.TemporaryDirectory() as d:
        to = os.path.join(d, "out")
        subprocess.run([WS, "report", "-q", record, "-o", f"{sink}:{to}"], check=True, stderr=subprocess.PIPE)
        if os.listdir(d) != ["out"]:
            raise ValueError(f"left behind: {os.listdir(d)}")
        with open(to, "rb") as f:
            return f.read(), Truth(record, by)


def say(n, name, problems):
    print(f"{'not ' if problems else ''}ok {n} - {name}")
    for p in problems[:20]:
        print(f"# {p}")


def fetched(what):
    """The directory of what tests/vm/fetch.sh fetches, or None."""
    r = subprocess.run([os.path.join(TOP, "tests/vm/fetch.sh"), what], capture_output=True, text=True, check=False)
    return r.stdout.strip() if r.returncode == 0 else None


def families(data):
    """Delimited MetricFamily messages, read by what protoc makes of metrics.proto."""
    with tempfile.TemporaryDirectory() as d:
        here = os.path.join(TOP, "tests/export")
        subprocess.run(["protoc", f"--proto_path={here}", f"--python_out={d}", "metrics.proto"], check=True)
        sys.path.insert(0, d)
        try:
            import metrics_pb2
        finally:
            sys.path.remove(d)
    out, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        family = metrics_pb2.MetricFamily()
        family.ParseFromString(data[at : at + size])
        if len(data) < at + size or family.SerializeToString() == b"" or list(unknown(family)):
            raise ValueError(f"a family that is not whole or has unknown fields, at {at}")
        at += size
        out.append(family)
    return out


def unknown(message):
    """Fields that metrics.proto lacks, anywhere below."""
    from google.protobuf.internal import python_message  # noqa: F401 # which implementation, does not matter
    for number in getattr(message, "UnknownFields", lambda: ())():
        yield number
    for field, value in message.ListFields():
        if field.message_type:
            for one in value if field.label == field.LABEL_REPEATED else (value,):
                yield from unknown(one)
