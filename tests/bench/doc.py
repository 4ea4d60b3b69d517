#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts what make bench printed into docs/BENCHMARKS.md, between its markers: never by hand."""
import os
import sys

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "BENCHMARKS.md")
BEGIN, END = "<!-- make bench -->\n", "<!-- end -->\n"


def main():
    results = os.path.join(os.environ.get("O", "build"), "bench", "results.md")
    try:
        with open(results) as f:
            new = f.read()
    except FileNotFoundError:
        sys.exit("bench-doc: error: %s: not there (make bench writes it)" % results)
    with open(PAGE) as f:
        text = f.read()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("bench-doc: error: %s: expected each marker once" % PAGE)
    head, rest = text.split(BEGIN)
    with open(PAGE, "w") as f:
        f.write(head + BEGIN + "\n" + new + "\n" + END + rest.split(END)[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
