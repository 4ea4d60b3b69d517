#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of a rendered file that a comparison with an expected file cannot make.

check.py table COLUMNS FILE | windows FIXTURE FILE | json SCHEMA FILE | csv FILE | prom FILE: silent and 0, or words and 1.
"""
import csv
import functools
import io
import json
import math
import re
import sys
import unicodedata

ESCAPES = re.compile(r"\x1b\[(?:[0-9;]*m|[HKJ])|\r")
ROWS_FIRST = 3  # of each table of a window of WINDOW_LEAST lines or more, before any has more
WINDOW_LEAST = 24
LAST_SLOT_NS = 2**38  # include/bucket.h: above, one bucket


def fail(text):
    sys.exit(f"check: {text}")


def no_controls(text, what):
    for ch in set(text):
        if ch != "\n" and unicodedata.category(ch) in ("Cc", "Cf", "Zl", "Zp"):
            fail(f"{what}: raw control or format character {ch!r}")


def width(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def check_table(columns, text):
    plain = ESCAPES.sub("", text)  # only the sequences the sink itself writes
    no_controls(plain, "table")
    for line in plain.split("\n"):
        if width(line) > columns:
            fail(f"{width(line)} columns, not {columns}: {line}")
        if line != line.rstrip():
            fail(f"trailing space: {line!r}")


def screens_of(fixture, text):
    """(columns, lines, what was drawn) of each report of a fixture that redraws a terminal."""
    size, sizes = [80, 0], []
    sections, waited = [], []
    with open(fixture, encoding="utf-8") as f:
        for words in (line.split() for line in f):
            if words[:2] == ["#", "sections:"]:
                sections = " ".join(words[2:]).split("|")
            elif words[:2] == ["#", "waited:"]:
                waited = " ".join(words[2:]).split("|")
            elif words[:1] in (["screen"], ["resize"]):
                size = [int(words[1]), int(words[2])]
            elif words[:1] in (["next"], ["again"]):
                sizes.append(tuple(size))
    sizes = sizes[1:]  # the first line of a record is what ran, not a report
    drawn = [s.split("\x1b[J")[0] for s in text.split("\x1b[H")[1:]]
    if len(drawn) != len(sizes) or sorted(sections) != sorted(waited):
        fail(f"{len(drawn)} screens, not {len(sizes)}, of {sections}, {waited}")
    return sections, waited, [(c, n, d) for (c, n), d in zip(sizes, drawn)]


class Screen:
    """Sections, each with the rows of its tables, and how many it says it leaves out."""

    def __init__(self, drawn):
        self.sections = []  # [title, [rows of a table, more of it]..., more of all]
        self.left_out = 0  # as one line at the end says
        in_table = False
        for raw in drawn.split("\n"):
            line = ESCAPES.sub("", raw)
            more = re.search(r"… ([\d,]+) more", line)
            more = int(more[1].replace(",", "")) if more else 0
            if raw.startswith("\x1b[1m"):
                self.sections.append([line, [], more])
                in_table = False
            elif "more row" in line:
                self.left_out = more
            elif more and in_table:
                self.sections[-1][1][-1][1] = more
            elif re.match(r"\x1b\[2m *[A-Z]{2}", raw):
                self.sections[-1][1].append([0, 0])
                in_table = True
            elif not line or line.startswith("quality: "):
                in_table = False
            elif in_table and not raw.startswith("\x1b[2m"):
                self.sections[-1][1][-1][0] += 1

    def total(self):
        """Rows of the report, shown or not: the same in each window."""
        shown = sum(rows for _, tables, _ in self.sections for rows, _ in tables)
        said = sum(more + sum(m for _, m in tables) for _, tables, more in self.sections)
        return shown + (self.left_out or said)


ALL_WAITS = {"preempt-wait", "run-delay"}  # of the records that windows are tested with


def side_rows(drawn):
    """What stands below a headline's percentiles."""
    return re.findall(r"^    ([a-z]+-[a-z]+) +[\d,]+ ", ESCAPES.sub("", drawn), re.M)


def check_windows(fixture, text):
    """`# sections:` are in order; `# waited:` the same, that in which most was waited first."""
    sections, waited, screens = screens_of(fixture, text)
    totals = set()
    for columns, height, drawn in screens:
        what = f"{columns}x{height}"
        check_table(columns, drawn)
        lines = ESCAPES.sub("", drawn).rstrip("\n").split("\n")
        if len(lines) > height - 1:
            fail(f"{what}: {len(lines)} lines")
        if not any(line.startswith("quality: ") for line in lines[-5:]):  # it wraps, and its cost
            fail(f"{what}: no quality: {lines[-5:]}")
        if height < 3:
            continue
        screen = Screen(drawn)
        totals.add(screen.total())
        titles = [title for title, _, _ in screen.sections]
        shown = [name for name in sections if name in waited[:len(titles)]]
        for title, name in zip(titles, shown):
            if not title.startswith(name):
                fail(f"{what}: {title}, not {name}: most was waited in {waited}")
        if len(titles) < len(sections) and not screen.left_out:
            fail(f"{what}: only {titles}, and no word of it")
        if height >= WINDOW_LEAST and not (ALL_WAITS <= set(side_rows(drawn))):
            fail(f"{what}: not {ALL_WAITS}, but {side_rows(drawn)}")
        for title, tables, more in screen.sections:
            if not tables and not side_rows(drawn):
                fail(f"{what}: no table below {title}")
            for rows, more_here in tables:
                if height >= WINDOW_LEAST and rows < ROWS_FIRST and (more_here or more):
                    fail(f"{what}: {rows} rows, and {more_here or more} more of {title}")
        if height >= WINDOW_LEAST and len(titles) < len(sections) - 1:
            fail(f"{what}: only {titles}")
    if len(totals) != 1:
        fail(f"rows shown and rows left out: {totals}")


def strict_pairs(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        fail(f"key twice: {keys}")
    return dict(pairs)


def upper_ns(buckets, k):
    return 2.0 ** ((buckets["offset"] + k) / 2.0 ** buckets["schema"]) * 1e9


def quantile(metric, text):
    """Nearest rank from the buckets alone: geometric middle, clamped to [min, max]."""
    whole, _, part = text.partition(".")
    scaled = int(whole) * 10 ** len(part) + int(part or 0)
    hundred = 100 * 10 ** len(part)
    rank = max(1, -(-metric["count"] * scaled // hundred))
    b = metric["buckets"]
    seen = b["zero"]
    if rank <= seen:
        return 0, rank
    for k, n in enumerate(b["counts"]):
        seen += n
        if rank <= seen:
            middle = upper_ns(b, k) / 2.0 ** (0.5 / 2.0 ** b["schema"])
            return min(max(middle, metric["min"]), metric["max"]), rank
    fail(f"{metric['name']}: {metric['count']} samples, but {seen} in buckets")


def check_metric(m):
    b = m["buckets"]
    if b["zero"] + sum(b["counts"]) != m["count"]:
        fail(f"{m['name']}: buckets do not add up to count")
    if not m["count"]:
        return
    if b["counts"] and not (b["counts"][0] and b["counts"][-1]):
        fail(f"{m['name']}: counts not trimmed")
    if m["max"] and m["max"] < LAST_SLOT_NS:
        last = len(b["counts"]) - 1
        if not upper_ns(b, last - 1) * (1 - 1e-12) <= m["max"] <= upper_ns(b, last) * (1 + 1e-12):
            fail(f"{m['name']}: max {m['max']} is not in the last bucket")
    few = []
    for text, ns in m["p"].items():
        want, rank = quantile(m, text)
        if abs(ns - want) > 1 + want * 1e-9:
            fail(f"{m['name']} p{text}: {ns}, from the buckets {want}")
        if m["count"] - rank < 10:
            few.append(text)
    if few != m["few"]:
        fail(f"{m['name']}: few {m['few']}, from the ranks {few}")


def check_split(m):
    if "cpu_ns" in m and m["blocked_ns"] + m["run_queue_ns"] + m["cpu_ns"] != m["sum"]:
        fail(f"{m['name']}: the split does not add up to the sum")


def check_line(c):
    """What its places say adds up to what the line says; what is not told is null, not 0."""
    latencies = [c["latency_cycles"]] + [o["latency_cycles"] for o in c["offsets"]]
    for h in latencies:
        if h is not None:
            check_metric({"name": "cycles of " + c["addr"], **h})
    if c["latency_cycles"]:
        if c["latency_cycles"]["count"] != sum(h["count"] for h in latencies[1:] if h):
            fail(f"{c['addr']}: latencies of its places do not add up")
    elif any(latencies):
        fail(f"{c['addr']}: a place has latencies, the line has none")
    told = [o["hitm"] for o in c["offsets"] if o["hitm"]]
    if (c["hitm"] is None) != (not told):
        fail(f"{c['addr']}: HITM {c['hitm']}, of its places {told}")
    for where in c["hitm"] or ():
        if c["hitm"][where] != sum(h[where] for h in told):
            fail(f"{c['addr']}: {where} HITM of its places do not add up")


def check_contended(c):
    if "sampler" in c:
        check_line(c)
    if c["wait_ns"] is not None:
        check_metric({"name": c["name"] or c["addr"], **c["wait_ns"]})
        if c["wait_ns"]["count"] != c["count"]:
            fail(f"{c['name']}: {c['count']} waits, {c['wait_ns']['count']} in the histogram")
    if c["cpus"] != sorted(set(c["cpus"])):
        fail(f"{c['name']}: CPUs {c['cpus']}")


def check_sums(metrics):
    """The CPUs of a metric add up to its whole."""
    whole = {m["name"]: m for m in metrics if not m["labels"] and "count" in m}
    for name, w in whole.items():
        cpus = [m for m in metrics if m["name"] == name and list(m["labels"]) == ["cpu"]]
        if cpus and sum(m["count"] for m in cpus) != w["count"]:
            fail(f"{name}: the CPUs do not add up to the whole")


def in_place(part, definitions):
    """A schema without references: jsonschema looks each of them up, for each value, and takes four times as long."""
    if isinstance(part, list):
        return [in_place(p, definitions) for p in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return in_place(definitions[part["$ref"].removeprefix("#/definitions/")], definitions)
    return {key: in_place(p, definitions) for key, p in part.items()}


TYPES = {"string": str, "null": type(None), "boolean": bool, "integer": int}


def surely(part):
    """A test of single values: those it passes keep to this part of a schema. None: the library has to look."""
    if not isinstance(part, dict):
        return None
    asked = {key: of for key, of in part.items() if key != "description"}
    const = asked.get("const")
    if len(asked) == 1 and type(const) in (int, str):
        return lambda value: type(value) is type(const) and value == const
    types = [asked.pop("type", None)] if isinstance(part.get("type"), str) else asked.pop("type", [])
    kinds = {TYPES.get(name) for name in types}
    if None in kinds or not kinds:
        return None
    if kinds == {int}:
        least, most = asked.pop("minimum", -math.inf), asked.pop("maximum", math.inf)
        return None if asked else lambda value: type(value) is int and least <= value <= most
    length = asked.pop("minLength", 0) if kinds == {str} else 0
    return None if asked else lambda value: type(value) in kinds and (not length or len(value) >= length)


def quick_validator():
    """jsonschema's, which makes a validator for each value, less those values: most of a record."""
    from jsonschema import Draft7Validator, validators
    theirs = Draft7Validator.VALIDATORS
    of_part = {}

    def passes(part, values):
        if id(part) not in of_part:
            of_part[id(part)] = part, surely(part)  # with the part itself: ids of what is gone are given again
        test = of_part[id(part)][1]
        return test and all(map(test, values))

    def items(validator, part, instance, schema):
        if not (isinstance(instance, list) and passes(part, instance)):
            yield from theirs["items"](validator, part, instance, schema)

    def properties(validator, parts, instance, schema):
        rest = parts
        if isinstance(instance, dict):
            rest = {key: part for key, part in parts.items()
                    if key in instance and not passes(part, (instance[key],))}
        yield from theirs["properties"](validator, rest, instance, schema)

    return validators.extend(Draft7Validator, {"items": items, "properties": properties})


@functools.lru_cache(maxsize=None)
class Schema:
    """Keeps to the schema: to all that it asks of each line, and to exactly one of the forms of its `oneOf`."""

    def __init__(self, path):
        from jsonschema import Draft7Validator
        with open(path, encoding="utf-8") as f:
            schema = json.load(f)
        Draft7Validator.check_schema(schema)
        self.whole = Draft7Validator(schema)
        definitions = schema["definitions"]
        of_each = {key: part for key, part in schema.items() if key not in ("oneOf", "definitions")}
        quick = quick_validator()
        self.of_each = quick(in_place(of_each, definitions))
        forms = [in_place(form, definitions) for form in schema["oneOf"]]
        self.forms = [(form["properties"]["type"]["const"], quick(form)) for form in forms]

    def check(self, record):
        """A form of another type cannot be it: none is asked."""
        if self.of_each.is_valid(record) and \
                sum(form.is_valid(record) for of, form in self.forms if of == record["type"]) == 1:
            return
        for error in self.whole.iter_errors(record):  # in its words
            fail(f"schema: {list(error.path)}: {error.message[:300]}")
        fail(f"schema: no one form of it: {json.dumps(record)[:300]}")


def check_json(schema_path, text):
    schema = Schema(schema_path)
    no_controls(text, "json")
    if text and not text.endswith("\n"):
        fail("json: the last line is not whole")
    for line in text.splitlines():
        record = json.loads(line, object_pairs_hook=strict_pairs, parse_constant=fail)
        schema.check(record)
        for m in record.get("metrics", []):
            if "buckets" in m:
                check_metric(m)
                check_split(m)
        for c in record.get("tables", {}).get("contended", []):
            check_contended(c)
        check_sums(record.get("metrics", []))
        if json.loads(json.dumps(record)) != record:
            fail("json: does not survive a round trip")


def check_csv(text):
    no_controls(text, "csv")
    rows = list(csv.reader(io.StringIO(text), strict=True))
    head = rows[0]
    if len(set(head)) != len(head):
        fail("csv: a column twice")
    for row in rows[1:]:
        if len(row) != len(head):
            fail(f"csv: {len(row)} cells, not {len(head)}: {row}")
        if row == head:
            fail("csv: a second header")
        for cell in row:
            if cell[:1] in ("=", "+", "-", "@"):
                fail(f"csv: a formula: {cell}")


def csv_cells(m, quality):
    """What the columns of a metric's row say, of those that no other metric of the report shares by chance."""
    want = {"metric": m["name"], "value": m.get("value"), "count": m.get("count"), "sum_ns": m.get("sum"),
            "min_ns": m.get("min"), "max_ns": m.get("max"), "few": " ".join(m.get("few") or []),
            "blocked_ns": m.get("blocked_ns"), "run_queue_ns": m.get("run_queue_ns"), "cpu_ns": m.get("cpu_ns"),
            "complete": str(quality["complete"]).lower(), "missed": quality["missed"]}
    want.update(zip((f"label{i}_key" for i in range(1, 7)), [*m["labels"], *6 * [""]]))
    want.update({f"p{q}_ns": round(ns) for q, ns in (m.get("p") or {}).items()})
    return {key: "" if value is None else str(value) for key, value in want.items()}


def check_csv_says(text, record):
    """The rows of each report begin with its metrics, in whatever order, with the numbers of JSON; its tables follow."""
    rows = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row["metric"] != "time":  # the table `times`; normal.csv and why.csv have some
            rows.setdefault((row["type"], row["seq"]), []).append(row)
    reports = {}  # of one number, where a record was made by hand: one
    for line in map(json.loads, record.splitlines()):
        if "metrics" in line:
            reports.setdefault((line["type"], str(line["seq"])), []).append(line)
    for key, lines in reports.items():
        here, metrics = rows.get(key, []), [(m, line["quality"]) for line in lines for m in line["metrics"]]
        more = sum(len(line["tables"].get(name, [])) for line in lines for name in ("contended", "culprits"))
        if not len(metrics) <= len(here) <= len(metrics) + more:
            fail(f"csv: {len(here)} rows of {key}, in JSON {len(metrics)} and {more}")
        for m, quality in metrics:
            want = csv_cells(m, quality)
            same = [i for i, row in enumerate(here) if all(row[cell] == text for cell, text in want.items())]
            if not same:
                fail(f"csv: no row {want}")
            del here[same[0]]


def check_prom(text):
    """Lines of the form that the format has; what they say is for tests/export."""
    no_controls(text, "prom")
    label = r'[a-z_]+="(?:[^"\\]|\\[\\"n])*"'
    line = re.compile(rf"# (HELP|TYPE) waitscope_\w+ .+|waitscope_\w+(\{{{label}(,{label})*\}})? [-+.\de]+")
    for one in text.splitlines():
        if not line.fullmatch(one):
            fail(f"prom: {one}")


def main(what, *args):
    with open(args[-1], encoding="utf-8", newline="") as f:
        text = f.read()
    if what == "table":
        check_table(int(args[0]), text)
    elif what == "windows":
        check_windows(args[0], text)
    elif what == "json":
        check_json(args[0], text)
    elif what == "prom":
        check_prom(text)
    else:
        check_csv(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
