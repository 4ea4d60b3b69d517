#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The records of the golden tests written for Prometheus, read back by others' readers, against the record itself. TAP."""
import os
import subprocess
import sys

from truth import EDGES, families, fetched, recorded_labels, records, rendered, say, system_python

system_python("prometheus_client", "google.protobuf")
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

NS = 10**9
ZERO_THRESHOLD = 2.0**-30


def base_name(name, suffix):
    assert name.startswith("waitscope_") and name.endswith(suffix), name
    return name[len("waitscope_") : len(name) - len(suffix)]


def labels_of(labels):
    return recorded_labels([(k, v) for k, v in labels.items() if k != "le"])


class Seen:
    """What one of the forms says, in the shape of Truth."""

    def __init__(self):
        self.hists, self.counts, self.lost, self.noted, self.gauges = {}, {}, {}, {}, {}

    def counter(self, name, labels, value):
        base = base_name(name, "_total")
        if base == "lost":
            self.lost[dict(labels)["reason"]] = value
        elif base == "noted":
            self.noted[dict(labels)["event"]] = value
        else:
            self.counts[base, labels] = value


def seen_in_text(text):
    """Of histograms: {"le": {edge: count}, "count":, "sum":}."""
    seen = Seen()
    for f in text_string_to_metric_families(text):
        if f.type not in ("counter", "gauge", "histogram") or not f.documentation:
            raise ValueError(f"{f.name}: {f.type}, '{f.documentation}'")
        for s in f.samples:
            labels = labels_of(s.labels)
            if f.type == "counter":
                seen.counter(s.name, labels, s.value)
            elif f.type == "gauge":
                seen.gauges[s.name, labels] = s.value
            else:
                one = seen.hists.setdefault((base_name(f.name, "_seconds"), labels), {"le": {}})
                if s.name.endswith("_bucket"):
                    if float(s.labels["le"]) in one["le"]:
                        raise ValueError(f"{s}: twice")
                    one["le"][float(s.labels["le"])] = s.value
                else:
                    one[s.name.rsplit("_", 1)[1]] = s.value
    return seen


def native_of(h):
    """{index: samples} of spans and deltas."""
    out, index, n, deltas = {}, 0, 0, list(h.positive_delta)
    for span in h.positive_span:
        index += span.offset
        for _ in range(span.length):
            n += deltas.pop(0)
            out[index] = n
            index += 1
    if deltas:
        raise ValueError("more deltas than buckets")
    return out


def seen_in_proto(data):
    seen = Seen()
    for f in families(data):
        for m in f.metric:
            labels = recorded_labels([(p.name, p.value) for p in m.label])
            if f.type == 0:
                seen.counter(f.name, labels, m.counter.value)
            elif f.type == 1:
                seen.gauges[f.name, labels] = m.gauge.value
            else:
                key = (base_name(f.name, "_seconds"), labels)
                h = m.histogram
                if key in seen.hists:
                    raise ValueError(f"{key}: twice")
                seen.hists[key] = {
                    "le": {b.upper_bound: b.cumulative_count for b in h.bucket},
                    "count": h.sample_count, "sum": h.sample_sum, "schema": h.schema, "zero": h.zero_count,
                    "threshold": h.zero_threshold, "native": native_of(h), "spans": len(h.positive_span),
                    "start": h.created_timestamp.seconds * NS + h.created_timestamp.nanos,
                }
    return seen


def problems_of(seen, truth, native):
    bad = []
    for what in ("counts", "lost", "noted"):
        want = {key: float(n) for key, n in getattr(truth, what).items()}  # as Prometheus keeps them
        if getattr(seen, what) != want:
            bad.append(f"{what}: {getattr(seen, what)}, not {want}")
    if set(seen.hists) != set(truth.hists):
        bad.append(f"series: {set(seen.hists) ^ set(truth.hists)} in one of both")
    for key in set(seen.hists) & set(truth.hists):
        bad += [f"{key}: {p}" for p in hist_problems(seen.hists[key], truth.hists[key], truth.starts[key], native)]
    if not truth.end_ns:
        return bad
    gauges = {n: v for (n, l), v in seen.gauges.items() if not l}
    want = {"waitscope_in_flight": truth.in_flight,
            "waitscope_in_flight_longest_seconds": truth.longest_ns / NS,
            "waitscope_report_timestamp_seconds": truth.end_ns / NS}
    for name, value in want.items():
        if abs(gauges[name] - value) > 1e-5:
            bad.append(f"{name}: {gauges[name]}, not {value}")
    return bad


def hist_problems(one, h, start_ns, native):
    if one["count"] != h.count or abs(one["sum"] - h.sum / NS) > h.sum / NS * 1e-15:
        yield f"{one['count']} and {one['sum']}, not {h.count} and {h.sum} ns"
    le = {2.0**e: h.below(e) for e in EDGES}
    if not native:
        le[float("inf")] = h.count
    if one["le"] != le:
        yield f"le {one['le']}, not {le}"
    if not native:
        return
    want = {b: n for b, n in h.coarser(3).items() if n}
    if (one["schema"], one["zero"], one["threshold"]) != (3, h.zero, ZERO_THRESHOLD) or one["native"] != want:
        yield f"native {one['native']}, not {want}"
    if not one["spans"] or sum(want.values()) + h.zero != h.count:
        yield "no span, or buckets that are not the count"
    if one["start"] != start_ns:
        yield f"started at {one['start']}, not {start_ns}"


def main():
    promtool = fetched("prometheus")
    bad, n = 0, 0
    for record in records():
        name = os.path.basename(record)[:-5]
        results = []
        try:
            text, truth = rendered("prom", record)
            results.append(("text", problems_of(seen_in_text(text.decode()), truth, False)))
            data, truth = rendered("prom-proto", record)
            results.append(("protobuf", problems_of(seen_in_proto(data), truth, True)))
        except (ValueError, subprocess.CalledProcessError, AssertionError) as e:
            results.append(("read", [repr(e)]))
        if promtool and text:
            r = subprocess.run([os.path.join(promtool, "usr/bin/promtool"), "check", "metrics"], input=text,
                               capture_output=True, check=False)
            results.append(("promtool", [r.stdout.decode() + r.stderr.decode()]
                            if r.returncode or r.stdout or r.stderr else []))
        for what, problems in results:
            n += 1
            bad += bool(problems)
            say(n, f"{name}: {what}", problems)
    if not promtool:
        n += 1
        print(f"ok {n} - promtool # SKIP no promtool: tests/vm/fetch.sh prometheus failed")
    print(f"1..{n}")
    return bool(bad)


sys.exit(main())
