#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Which bucket a value belongs to, by whole numbers alone: {schema, value, slot} rows for C.

Bucket j of schema s ends at 10^9 * 2^(j / 2^s) ns, so v is not above it exactly when
v^(2^s) <= 10^(9 * 2^s) * 2^j. Nothing here knows the thresholds or the method of include/bucket.h.
"""
import math
import random

OCTAVES = 38
END = 256 * 10**9 + 1
RANDOM_ROWS = 30000


def within(v, s, j):
    """Is v at or below the upper edge of bucket j?"""
    left, right = v ** (1 << s), 10 ** (9 << s)
    return left <= right << j if j >= 0 else left << -j <= right


def bucket(v, s):
    """The bucket that holds v: a guess, then exact steps."""
    j = math.ceil((math.log2(v) - math.log2(10**9)) * (1 << s))
    while not within(v, s, j):
        j += 1
    while within(v, s, j - 1):
        j -= 1
    return j


def last_value(s, j):
    """The largest whole number at or below the upper edge of bucket j."""
    v = max(1, int(10**9 * 2.0 ** (j / (1 << s))))
    while not within(v, s, j):
        v -= 1
    while within(v + 1, s, j):
        v += 1
    return v


def values(s):
    """Every boundary of every octave with its neighbours, and the ends."""
    first, slots = bucket(1, s), OCTAVES << s
    found = {1, 2, 3, END - 2, END - 1}
    for j in range(first, first + slots):
        v = last_value(s, j)
        found.update((v - 1, v, v + 1))
    return sorted(v for v in found if 0 < v < END)


def rows():
    for s in range(3, 7):
        for v in values(s):
            yield s, v
    dice = random.Random(1)
    for _ in range(RANDOM_ROWS):
        v = int(2 ** dice.uniform(0, math.log2(END)))
        yield dice.randrange(3, 7), min(max(v, 1), END - 1)


def main():
    first = {s: bucket(1, s) for s in range(3, 7)}
    for s in range(3, 7):
        print(f"#define TRUE_BASE_{s} ({first[s]})")
    print("static const struct truth truths[] = {")
    for s, v in rows():
        print(f"\t{{{s}, {v}ULL, {bucket(v, s) - first[s]}}},")
    print("};")


if __name__ == "__main__":
    main()
