#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts what make bench printed into docs/BENCHMARKS.md: in the section of this processor, and in the table
that has the verdicts of all processors side by side. Never by hand."""
import json
import os
import re
import sys

import table

PAGE = os.path.join(os.path.dirname(__file__), "..", "docs", "BENCHMARKS.md")
BEGIN, END = "<!-- make bench -->\n", "<!-- end -->\n"
HEAD = "### "  # of a processor's section
VERDICTS = re.compile(r"^#+ Verdicts\n\n\|.*\n\|.*\n((?:\|.*\n)+)", re.M)


def sections(text):
    """{processor: what was measured on it}, in the page's order."""
    parts = re.split("^" + HEAD + "(.*)\n", text, flags=re.M)
    return {name: body.strip("\n") for name, body in zip(parts[1::2], parts[2::2])}


def verdicts(body):
    """{(budget, at most): measured and verdict}"""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in VERDICTS.search(body + "\n").group(1).splitlines()]
    return {(what, limit): "%s: %s" % (value, words.split(":")[0]) for what, value, limit, words in rows}


def side_by_side(found):
    columns = {name: verdicts(body) for name, body in found.items()}
    budgets = list(dict.fromkeys(key for rows in columns.values() for key in rows))
    return table.rows(["budget", "at most", *columns],
                      [[*key, *(rows.get(key, "-") for rows in columns.values())] for key in budgets])


def page(text, name, new):
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit("bench-doc: error: %s: expected each marker once" % PAGE)
    head, rest = text.split(BEGIN)
    old, tail = rest.split(END)
    found = {name: re.sub("^#", "##", new, flags=re.M).strip("\n"), **{
        k: v for k, v in sections(old).items() if k != name}}
    body = ["", *side_by_side(found)]
    for title, lines in found.items():
        body += ["", HEAD + title, "", lines]
    return head + BEGIN + "\n".join(body) + "\n\n" + END + tail


def main():
    results = os.path.join(os.environ.get("O", "build"), "bench", "results")
    try:
        with open(results + ".json") as f:
            result = json.load(f)
        with open(results + ".md") as f:
            new = f.read()
    except FileNotFoundError as e:
        sys.exit("bench-doc: error: %s: not there (make bench writes it)" % e.filename)
    if result["quick"]:
        sys.exit("bench-doc: error: %s.json: of a quick run, expected one of `make bench`" % results)
    name = table.processor(result["machine"])
    with open(PAGE) as f:
        text = f.read()
    with open(PAGE, "w") as f:
        f.write(page(text, name, new))
    return 0


if __name__ == "__main__":
    sys.exit(main())
