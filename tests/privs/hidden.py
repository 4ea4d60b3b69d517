#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""hidden.py ROOT.json USER.json [USER_TEXT...]: the same load, as root and as a user to whom the kernel
shows no addresses, saw it. Does anything in the user's reports give one away, and are what stands for
them still of use? Prints what is wrong; exit 1."""
import json
import re
import sys

KERNEL = re.compile(r"0x[89a-f][0-9a-f]{15}(?![0-9a-f])")


def reports(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def rows(report):
    return [r for r in report.get("tables", {}).get("contended", []) if not r["other"]]


def strings(value):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [s for v in value for s in strings(v)]
    return [value] if isinstance(value, str) else []


def addresses(text):
    return {int(a, 16) for a in KERNEL.findall(text)}


def image():
    """From the lowest to the highest symbol of the kernel's code and data; modules lie there, too."""
    at = []
    with open("/proc/kallsyms", encoding="utf-8") as f:
        for line in f:
            addr = int(line.split(None, 1)[0], 16)
            if addr >> 63:
                at.append(addr)
    return min(at), max(at)


def by_name(report):
    """Address of each name that one row has, and nothing else has."""
    found = {}
    for r in rows(report):
        found.setdefault(r["name"], set()).add(int(r["addr"], 16))
    return {n: a.pop() for n, a in found.items() if n and len(a) == 1}


def main():
    root, user = reports(sys.argv[1]), reports(sys.argv[2])
    known = addresses(" ".join(strings(root)))
    low, high = image()
    problems = []
    shown = addresses(" ".join(strings(user)))
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            seen = addresses(f.read())
        leaked = {a for a in seen if a in known or low <= a <= high}
        if leaked:
            problems.append(f"{path.split('/')[-1]}: {len(leaked)} of {len(seen)} are the kernel's: {min(leaked):#x}")
        if not seen:
            problems.append(f"{path.split('/')[-1]}: no address at all")
    canonical = {a for a in shown if a >> 47 == (1 << 17) - 1}
    if 2 * len(canonical) > len(shown):
        problems.append(f"{len(canonical)} of {len(shown)} could be the kernel's")
    if not known:
        problems.append("root saw no address")

    if user[0].get("addresses") != "hidden" or "addresses" in root[0]:
        problems.append("meta does not say which are hidden")

    # What is one lock stays one, through all intervals and at its place on the line.
    finals = by_name(root[-1]), by_name(user[-1])
    common = set(finals[0]) & set(finals[1])
    if not common:
        problems.append(f"no lock in common: {sorted(map(str, finals[0]))}, {sorted(map(str, finals[1]))}")
    for name in common:
        if finals[0][name] % 64 != finals[1][name] % 64:
            problems.append(f"{name}: {finals[0][name]:#x} is {finals[1][name]:#x}: not at its place on the line")
    intervals = [by_name(r) for r in user if r["type"] == "interval"]
    lasting = 0
    for name in common:
        seen = {i[name] for i in intervals if name in i}
        lasting += sum(name in i for i in intervals) >= 2
        if seen - {finals[1][name]}:
            problems.append(f"{name}: {sorted(map(hex, seen))} in intervals, {finals[1][name]:#x} in the final report")
    if not lasting:
        problems.append("no lock of two intervals")
    for r in rows(user[-1]):
        if "line" in r and r["line"] and int(r["line"]["addr"], 16) != int(r["addr"], 16) & ~63:
            problems.append(f"{r['addr']} is not on its line {r['line']['addr']}")

    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
