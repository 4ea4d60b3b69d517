#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_hlog.py RECORD LOG: an HdrHistogram log against the same run in JSON, by a decoder of its own."""
import base64
import json
import re
import struct
import sys
import zlib
from datetime import datetime, timezone

HIGHEST_NS = 3600 * 10**9
HEAD = struct.Struct(">IIIIqqd")


def fail(message):
    sys.exit("check_hlog.py: " + message)


def tag_of(metric):
    """As the manual says it: blanks, commas, what nobody sees and the signs of its own as \\xNN."""
    def clean(text):
        out = ""
        for c in text:
            if c in "\\, ;={}" or not c.isprintable():
                out += "".join("\\x%02x" % b for b in c.encode())
            else:
                out += c
        return out

    labels = ";".join(clean(k) + "=" + clean(v) for k, v in metric["labels"].items())
    return metric["name"] + ("{" + labels + "}" if labels else "")


def number(data, at):
    value = shift = 0
    for i in range(9):
        byte = data[at]
        at += 1
        if i == 8:
            value |= byte << shift
            break
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value >> 1 ^ -(value & 1), at


def lowest_of(index):
    """The smallest value that is counted at an index: 2,048 of 1 ns, then 1,024 in each octave."""
    octave = max(index // 1024 - 1, 0)
    return (index - octave * 1024) << octave


def decode(text):
    packed = base64.b64decode(text, validate=True)
    cookie, length = struct.unpack(">II", packed[:8])
    if cookie != 0x1C849304 | 0x10 or length != len(packed) - 8:
        fail(f"cookie {cookie:#x}, {length} bytes of {len(packed) - 8}")
    data = zlib.decompress(packed[8:])
    cookie, length, offset, digits, lowest, highest, ratio = HEAD.unpack(data[:40])
    if (cookie, offset, digits, lowest, highest, ratio) != (0x1C849303 | 0x10, 0, 3, 1, HIGHEST_NS, 1.0):
        fail(f"head: {HEAD.unpack(data[:40])}")
    if length != len(data) - 40:
        fail(f"{length} bytes of counts, {len(data) - 40} there")
    counts, index, at = {}, 0, 40
    while at < len(data):
        n, at = number(data, at)
        if n > 0:
            counts[lowest_of(index)] = n
        index += -n if n < 0 else 1
    return counts


def width(value):
    return 1 << max(value.bit_length() - 11, 0)


def expected(metric):
    """Of each bucket: its middle, which lies within [min, max], and its count."""
    b = metric["buckets"]
    values = [(0, b["zero"])] if b["zero"] else []
    for k, n in enumerate(b["counts"]):
        if n:
            middle = 2.0 ** ((b["offset"] + k - 0.5) / 2.0 ** b["schema"]) * 1e9
            values.append((min(max(round(middle), metric["min"]), metric["max"]), n))
    return [(min(v, HIGHEST_NS), n) for v, n in values]


def compare(metric, counts, what):
    if sum(counts.values()) != metric["count"]:
        fail(f"{what}: {sum(counts.values())} samples, in JSON {metric['count']}")
    left = dict(counts)
    for value, n in expected(metric):
        low = value - value % width(value)
        if left.get(low, 0) < n:
            fail(f"{what}: {left.get(low, 0)} samples at {low}, not {n}")
        left[low] -= n
    if any(left.values()):
        fail(f"{what}: samples where JSON has none: {left}")


def main(record, log):
    with open(record, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with open(log, encoding="utf-8", newline="\n") as f:
        text = f.read()
    reports = [r for r in lines if r["type"] == "interval"] or [r for r in lines if r["type"] == "final"]
    want = [(r, m) for r in reports for m in r["metrics"] if "buckets" in m]
    head = [line for line in text.split("\n") if line[:1] in ('#', '"')]
    got = [line for line in text.split("\n") if line and line[:1] not in ('#', '"')]
    if not any(re.match(r"#\[StartTime: \d+\.\d{3} \(seconds since epoch\), ", line) for line in head):
        fail(f"no start time: {head}")
    if len(got) != len(want):
        fail(f"{len(got)} lines, in JSON {len(want)} histograms")
    for line, (report, metric) in zip(got, want):
        tag, start, length, most, data = re.fullmatch(
            r"Tag=([^, ]+),(\d+\.\d{3}),(\d+\.\d{3}),(\d+\.\d{3}),([A-Za-z0-9+/=]+)", line).groups()
        if tag != tag_of(metric):
            fail(f"tag {tag}, in JSON {tag_of(metric)}")
        compare(metric, decode(data), tag)
        end = datetime.fromisoformat(report["ts"][:19]).replace(tzinfo=timezone.utc).timestamp()
        began = max(end + float("0" + report["ts"][19:-1]) - report["dur_ns"] / 1e9, 0)
        if abs(float(start) - began) > 0.0011 or abs(float(length) - report["dur_ns"] / 1e9) > 0.0006:
            fail(f"{tag}: from {start} for {length}, in JSON from {began} for {report['dur_ns']}")
        if abs(float(most) - (metric["max"] or 0) / 1e6) > 0.0006:
            fail(f"{tag}: maximum {most}, in JSON {metric['max']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
