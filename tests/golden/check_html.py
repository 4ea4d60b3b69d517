#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check_html.py RECORD PAGE: a page against the same run in JSON. Every cell of its tables with a number says
what JSON says, the text in it is that number, and nothing but our own tags and attributes is in the page."""
import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

# Labels whose values are columns of a counter.
PIVOTS = {"ext4_es_lookups": "result", "ext4_es_hits": "kind", "line_samples": "result"}
VOID = {"meta"}
TAGS = set("""html head meta title style body header h1 h2 h3 p dl dt dd code details summary ul li nav a main div
table caption thead tbody tr th td small strong figure figcaption svg g path rect text script i""".split())
ATTRIBUTES = set("""lang charset http-equiv content name id class href tabindex role aria-label data-f data-v data-i
data-mono scope open viewbox d x y width height transform text-anchor""".split())


def fail(message):
    sys.exit("check_html.py: " + message)


class Node:
    def __init__(self, tag, attributes=(), parent=None):
        self.tag, self.at, self.parent, self.children = tag, dict(attributes), parent, []

    def find(self, tag):
        """Below it, in order; not within a table that lies in it."""
        for c in self.children:
            if isinstance(c, Node):
                if c.tag == tag:
                    yield c
                elif c.tag != "table" or tag == "table":
                    yield from c.find(tag)

    def text(self):
        return "".join(c if isinstance(c, str) else c.text() for c in self.children)


class Page(HTMLParser):
    """A tree; fails on tags that are not ours or not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("root")
        self.feed(text)
        self.close()
        if self.at is not self.root:
            fail(f"<{self.at.tag}> is not closed")

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            fail(f"<{tag}> is none of our tags")
        names = [a for a, _ in attrs]
        if len(set(names)) != len(names) or not set(names) <= ATTRIBUTES:
            fail(f"<{tag}> with attributes {attrs}")
        if dict(attrs).get("href", "#")[0] != "#":
            fail(f"a link out of the page: {attrs}")
        node = Node(tag, attrs, self.at)
        self.at.children.append(node)
        if tag not in VOID:
            self.at = node

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.at = self.at.parent

    def handle_endtag(self, tag):
        if tag != self.at.tag:
            fail(f"</{tag}> closes <{self.at.tag}>")
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.children.append(data)

    def handle_comment(self, data):
        fail(f"a comment: {data}")


def shown_time(ns, unit):
    """As the manual says: a decimal below 100, two digits below 0.1, thousands with commas."""
    v = ns / {"usec": 1e3, "msec": 1e6, "nsec": 1}[unit]
    if unit == "nsec":
        return {f"{ns:,}"}
    out = {f"{v:,.0f}"} if v >= 99.9 else set()
    if v < 100.1:
        out.add(f"{v:.1f}")
    if v < 0.11:
        out |= {f"{v:.{d}f}" for d in range(1, 9)} | {"0"}
    return out


def close(text, choices):
    """One of them, or a rounding of a half to the other side."""
    if text in choices:
        return True
    number = float(text.replace(",", ""))
    digits = len(text.partition(".")[2])
    return any(abs(number - float(c.replace(",", ""))) <= 1.01 * 10 ** -digits for c in choices
               if len(c.partition(".")[2]) == digits)


def check_shown(cell, head, counted):
    """The text of a cell is its value, in the unit that its column has."""
    text, value = cell.text(), cell.at["data-v"]
    unit = next((s.text() for s in head.find("small")), None)
    if unit:
        if not close(text.rstrip("*"), shown_time(int(value), unit)):
            fail(f"{head.text()}: shown as {text}, but it is {value} ns")
    elif text != value and not (counted and text == f"{int(value):,}"):
        fail(f"{head.text()}: shown as {text}, but it is {value}")


def at_path(o, path):
    for i, key in enumerate(path.split(".")):
        if key == "p":  # its keys have dots
            return o["p"][path.split(".", i + 1)[-1]]
        o = o[key]
    return o


HIST = {"sum": "sum", "min": "min", "max": "max"}


def of_metric(metric, field):
    return at_path(metric, field)


def of_contended(row, field):
    if field.split(".")[0] in ("sum", "min", "max", "p"):
        return at_path(row["wait_ns"], field)
    return at_path(row, field)


def cleaned(text):
    return re.sub(r"[\x00-\x1f\x7f]", lambda m: "\\x%02x" % ord(m[0]), text)


def counter_sum(metrics, row, field):
    """What the counters of a column's metric and value come to, for the labels of the row."""
    name, _, value = field.partition(" ")
    pivot = PIVOTS.get(name)  # its values are columns
    columns = PIVOTS.values() if pivot else ()
    mine = {k: v for k, v in row["labels"].items() if k not in columns}
    total = 0
    for m in metrics:
        labels = dict(m["labels"])
        if m["name"] == name and cleaned(labels.pop(pivot, "") if pivot else "") == value:
            total += m["value"] if {k: v for k, v in labels.items() if k not in columns} == mine else 0
    return total


def rows_of(table):
    heads = [th for th in next(table.find("thead")).find("th")]
    for row in next(table.find("tbody")).find("tr"):
        cells = [c for c in row.children if isinstance(c, Node)]
        if len(cells) != len(heads):
            fail(f"{table.at['data-f']}: {len(cells)} cells below {len(heads)} heads")
        yield row, list(zip(heads, cells))


def plain(text):
    return text.isascii() and text.isprintable()


def check_labels(row, labels):
    head = next(row.find("th")).text()
    for k, v in labels.items():
        if plain(v) and v not in head:
            fail(f"the row '{head}' is of {labels}")


def check_numbers(table, final, counted, find):
    """Cells with numbers of a table whose rows have a number themselves."""
    n = 0
    for row, cells in rows_of(table):
        for head, cell in cells:
            if "data-v" not in cell.at:
                continue
            if head.at.get("data-f") == "time_share":
                check_time_share(final, row, cells, cell)
                continue
            want = find(final, row, cell, head.at.get("data-f"))
            if str(want) != cell.at["data-v"]:
                fail(f"{table.at['data-f']}: {head.text()} of '{next(row.find('th')).text()}': "
                     f"{cell.at['data-v']}, in JSON {want}")
            check_shown(cell, head, counted)
            n += 1
    return n


def check_time_share(final, row, cells, cell):
    """What a group waited: of the metric of its row and of the one whose sum stands beside it, in percent, never more
    than 100: what several tasks waited together is a multiple of the time."""
    shown = {cell.at["data-i"] for head, cell in cells if head.text().startswith("throttled") and "data-i" in cell.at}
    parts = {int(i) for i in shown | {row.at["data-i"]}}
    waited = sum(final["metrics"][i]["sum"] for i in parts)
    times, text = waited / final["dur_ns"], cell.text()
    many = text.endswith("x")
    number = float(text.rstrip("x").replace(",", ""))
    if str(waited) != cell.at["data-v"] or (number if not many else 1) > 100 or many != (times > 1.0005):
        fail(f"'{next(row.find('th')).text()}' waited {waited} ns of {final['dur_ns']}: {text}")
    if abs(number - (times if many else 100 * times)) > max(0.06, 0.06 * number):
        fail(f"{text} of the time, but it is {times} times")


def metric_value(final, row, cell, field):
    metric = final["metrics"][int(cell.at.get("data-i", row.at["data-i"]))]
    if "data-i" not in cell.at:
        check_labels(row, metric["labels"])
        if not metric["labels"] and next(row.find("th")).text() != metric["name"]:
            fail(f"the row '{next(row.find('th')).text()}' is of {metric['name']}")
    check_few(cell, field, metric)
    return of_metric(metric, field)


def check_few(cell, field, hist):
    """A percentile that few waits lie beyond has its mark, and no other number."""
    few = field.startswith("p.") and field[2:] in (hist.get("few") or [])
    if cell.text().endswith("*") != few:
        fail(f"{field} is {cell.text()}, and few: {hist.get('few')}")


def counter_value(final, row, cell, field):
    return counter_sum(final["metrics"], final["metrics"][int(row.at["data-i"])], field)


def contended_value(final, row, cell, field):
    contended = final["tables"]["contended"][int(row.at["data-i"])]
    check_few(cell, field, contended["wait_ns"] or {})
    return of_contended(contended, field)


def check_texts(what, by, want):
    """Cells of text by what JSON has for their columns; a column that is not there has nothing in JSON."""
    n = 0
    for field, value in want.items():
        if field not in by:
            if value is not None:
                fail(f"{what}: no column for {field} {value}")
            continue
        value = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        if "data-v" not in by[field].at and plain(value):
            if by[field].text() != value:
                fail(f"{what}: {field} is {by[field].text()}, in JSON {value}")
            n += 1
    return n


NOT_COLUMNS = {"source", "other", "name_inferred", "pid", "labels", "wait_ns", "cpus", "latency_cycles", "hitm", "nodes",
               "memory_node", "joins", "line", "sites", "holders", "futex", "tids", "offsets"}  # or elsewhere, or parts


def check_contended(table, final):
    """Text of the table of addresses, and that each thing known of a row has a column or a table of its own."""
    n = 0
    for row, cells in rows_of(table):
        by = {head.at["data-f"]: cell for head, cell in cells if head.at["data-f"]}
        want = dict(final["tables"]["contended"][int(row.at["data-i"])])
        name, other = next(row.find("th")).text(), want["other"]
        if not other and plain(want["name"] or want["addr"]):
            said = (want["name"] or want["addr"]) + (" (inferred)" if want.get("name_inferred") else "")
            if name != said:
                fail(f"contended: {name}, in JSON {said}")
        columns = {k: v for k, v in want.items() if k not in NOT_COLUMNS and k != "name"}
        if any(head.at["data-f"] == "labels" for head, _ in cells):
            columns["labels"] = next(iter(want["labels"].values()), None)
        elif want["labels"]:
            fail(f"contended {name}: no column for {want['labels']}")
        columns["cpus"] = " ".join(map(str, want["cpus"])) or None
        for part in ("local", "remote"):
            columns["hitm." + part] = want["hitm"][part] if want.get("hitm") else None
        for percent in (want.get("latency_cycles") or {"p": {}})["p"] or {}:
            columns["latency_cycles.p." + percent] = 1 if percent in SHOWN else None
        n += check_texts("contended " + name, by, columns)
    return n


SHOWN = ("50", "99")
PARTS = {"sites": "sites", "holders": "holders", "futex": "futex", "line.members": "line", "offsets": "offsets",
         "tids": "tids"}


def check_parts(page, table, final):
    """What is known of a row besides is in its details, and nowhere else."""
    for row, _ in rows_of(table):
        want = final["tables"]["contended"][int(row.at["data-i"])]
        panels = [d for d in page.root.find("details") if d.at.get("data-i") == row.at["data-i"]]
        has = {f for f, key in PARTS.items() if (at_path(want, f) if want.get(key) else None)}
        if len(panels) != bool(has):
            fail(f"{len(panels)} details of {want['name'] or want['addr']}, which has {has}")
        if has and {t.at["data-f"] for t in tables_of(panels[0])} != has:
            fail(f"details of {want['name'] or want['addr']} lack {has}")


SPOKEN = {"idle-exit": "way out of idle", "irq": "hard interrupts", "softirq": "soft interrupts", "steal": "hypervisor",
          "throttle": "out of quota", "kernel": "kernel: reschedule due", "unexplained": "unexplained"}


def culprit_name(row):
    """As the manual says who was waited for."""
    if row["kind"] in SPOKEN:
        return f"({SPOKEN[row['kind']]})"
    if row["pid"]:
        return f"{row['comm'] or '?'} {row['tid'] or row['pid']}"
    return row["comm"] or row["cgroup"] or "(other tasks)"


def check_culprits(table, rows, most):
    """Names, kinds, who waited, and numbers; a share is of all that was waited."""
    n, everything, seen = 0, sum(r["wait_ns"] for r in rows), []
    for line, cells in rows_of(table):
        seen.append(int(line.at["data-i"]))
        want = rows[seen[-1]]
        for head, cell in cells:
            field, text = head.at["data-f"], cell.text()
            if field == "share":
                if text != cell.at["data-v"] or abs(float(text) - 100 * want["wait_ns"] / everything) > 0.1:
                    fail(f"culprits: {text} % of {want['wait_ns']} ns of {everything}")
            elif "data-v" in cell.at:
                if str(at_path(want, field)) != cell.at["data-v"]:
                    fail(f"culprits: {head.text()} {cell.at['data-v']}, in JSON {want}")
                check_shown(cell, head, True)
            else:
                said = culprit_name(want) if not field else (at_path(want, field) or "") if field in want or \
                    field.partition(".")[2] in want["victim"] else ""
                if plain(said) and text != said:
                    fail(f"culprits: {head.text()} is {text}, in JSON {want}")
            n += 1
        if not {"wait_ns", "count", "kind", *["cgroup"] * (want["cgroup"] is not None), *("victim." + k for k in want["victim"])} <= {h.at["data-f"] for h, _ in cells}:
            fail(f"culprits: not all columns of {want}")
    if len(set(seen)) != len(seen) or len(seen) + most != len(rows):
        fail(f"culprits: {len(seen)} rows and {most} more, in JSON {len(rows)}")
    return n


def check_verdict(page, final):
    """At the head, of whom tasks waited for most and how much is not explained; only if anything was waited."""
    rows = final.get("tables", {}).get("culprits", [])
    everything = sum(r["wait_ns"] for r in rows)
    found = [u for u in page.root.find("ul") if u.at.get("class") == "verdict"]
    held = [c for c in final.get("tables", {}).get("contended", []) if c.get("holders")]
    if len(found) != (everything > 0 or bool(held)):
        fail(f"{len(found)} verdicts of {everything} ns, {len(held)} rows with holders")
    if not everything:
        return
    for verdict in found:
        said = [li.text() for li in verdict.find("li")]
        for words, kinds in ((r"interrupts: ([0-9.]+) % of the waiting", ("irq", "softirq")),
                             (r"taken by the hypervisor: ([0-9.]+) %", ("steal",)),
                             (r"unexplained: ([0-9.]+) %", ("unexplained",))):
            part = [m[1] for m in (re.search(words, line) for line in said) if m]
            of = 100 * sum(r["wait_ns"] for r in rows if r["kind"] in kinds) / everything
            if len(part) != 1 or abs(float(part[0]) - of) > 0.1:
                fail(f"the verdict {said}, but {kinds} is {of} %")
        check_tail(final, rows, [line for line in said if line.startswith("of the tail")])


def check_tail(final, rows, said):
    """The waits longer than the power of two of a second below their 99th percentile, and whose they were."""
    lengths = {}
    for m in final["metrics"]:
        if m["name"] in ("sched_run_delay", "sched_throttle_wait") and not m["labels"]:
            b = m["buckets"]
            lengths[-20] = lengths.get(-20, 0) + b["zero"]
            for i, n in enumerate(b["counts"]):
                at = max(-20, -(-(b["offset"] + i) // 2 ** b["schema"]))
                lengths[at] = lengths.get(at, 0) + n
    waits = sum(lengths.values())
    known = all(sum(r["lengths"]["ns"]) == r["wait_ns"] for r in rows)
    at = next((at for at in sorted(lengths) if sum(n for a, n in lengths.items() if a <= at) >= 0.99 * waits), -20)
    if len(said) != (known and waits > 0 and at > -20):
        fail(f"the verdict of the tail is {said}, of {waits} waits by length {lengths}")
    if not said:
        return
    tail, blame = sum(n for a, n in lengths.items() if a >= at), {}
    for r in rows:
        who = r["kind"], r["pid"], r["tid"], None if r["pid"] else r["comm"], None if r["pid"] else r["cgroup"]
        ns = sum(ns for i, ns in enumerate(r["lengths"]["ns"]) if r["lengths"]["offset"] + i >= at)
        blame[who] = blame.get(who, 0) + ns
    most = max(ns for who, ns in blame.items() if who[0] != "unexplained")
    m = re.match(r"of the tail, ([0-9,]+) waits? over .* \(([0-9.]+) % of all\): .*, ([0-9.]+) % of ", said[0])
    if not m or int(m[1].replace(",", "")) != tail or abs(float(m[2]) - 100 * tail / waits) > 0.1 or \
            abs(float(m[3]) - 100 * most / sum(blame.values())) > 0.1:
        fail(f"the verdict says {said}; {tail} waits of {waits}, {blame}")


NOT_IN_EACH = {"took_at", "released_at", "class", "priority"}  # left out where it is not known


def check_inner(table, value):
    """A table within a row of contended addresses, column by column as in JSON."""
    want = at_path(value, table.at["data-f"])
    want = want if isinstance(want, list) else [want]
    got = list(rows_of(table))
    if len(got) != len(want):
        fail(f"{table.at['data-f']}: {len(got)} rows, in JSON {len(want)}")
    n = 0
    for (_, cells), of in zip(got, want):
        for head, cell in cells:
            field, text = head.at["data-f"], cell.text()
            value = of.get(field) if field in NOT_IN_EACH else of[field]
            if isinstance(value, bool):
                value = str(value).lower()
            if "data-v" in cell.at or value is None or plain(str(value)):
                said = {""} if value is None else {str(value)}
                if "data-v" in cell.at:
                    said.add(f"{int(value):,}")
                    if cell.at["data-v"] != str(value):
                        fail(f"{table.at['data-f']}: {head.text()} is {cell.at['data-v']}, in JSON {value}")
                if text not in said:
                    fail(f"{table.at['data-f']}: {head.text()} is {text}, in JSON {value}")
                n += 1
    return n


SLOW_TIMES = ("blocked_ns", "run_queue_ns", "cpu_ns", "wake_to_queue_ns", "queue_to_run_ns")


def waker_of(w):
    waker = w.get("waker")
    return waker and waker.get("comm", waker["kind"])


def ran_before(w):
    prev = w.get("prev")
    return None if not prev or prev["comm"] is None else prev["comm"] if prev["tid"] else "idle"


def check_slow(table, slow):
    left = {}
    for w in slow:
        left.setdefault((w["mono_ns"], w["tid"], w["wait_ns"]), []).append(w)
    n, last = 0, None
    for row, cells in rows_of(table):
        by = {head.at["data-f"]: cell for head, cell in cells}
        key = (int(row.at["data-mono"]), int(by["tid"].at["data-v"]), int(by["wait_ns"].at["data-v"]))
        if not left.get(key):
            fail(f"a slow wait that is not in JSON: {key}")
        w = left[key].pop(0)
        n += check_texts(f"slow {key}", by, {
            "comm": w["comm"], "kind": w["kind"], "metric": w["metric"], "cgroup": w["cgroup"], "op": w.get("op"),
            "path": w.get("path"), "name": w.get("name") or w.get("addr"), "waker": waker_of(w), "prev": ran_before(w),
            **{k: w.get(k) for k in SLOW_TIMES}})
        for head, cell in cells:
            if "data-v" in cell.at:
                if str(w[head.at["data-f"]]) != cell.at["data-v"]:
                    fail(f"slow: {head.text()} {cell.at['data-v']}, in JSON {w[head.at['data-f']]}")
                check_shown(cell, head, False)
                n += 1
        inner = list(by["culprits"].find("table")) if "culprits" in by else []
        if len(inner) != bool(w.get("culprits") or w.get("holders")) + bool(w.get("behind")):
            fail(f"slow: {len(inner)} tables of what {key} waited for")
        n += sum(check_inner(table, w) for table in inner)
        if by["ts"].text() != w["ts"] or (last is not None and last < key[2]):
            fail(f"slow: {by['ts'].text()} after a wait of {last}")
        last = key[2]
    return n


def check_facts(table, final):
    for row in next(table.find("tbody")).find("tr"):
        name, cell = next(row.find("th")).at["data-f"], next(row.find("td"))
        value = at_path(final, name)
        if float(cell.at["data-v"]) != float(value) or cell.text() not in (
                str(value), f"{value:,}", f"{float(value):.1f}"):
            fail(f"{name}: {cell.text()}, in JSON {value}")


def check_flight(page, final):
    """Who still waited at the end, in words."""
    longest = final["quality"].get("in_flight_longest")
    said = [m for p in page.root.find("p") for m in
            [re.search(r"Still waiting at the end: ([0-9,]+), longest (.*) \((\d+)\), for", p.text())] if m]
    if len(said) != bool(final["quality"]["in_flight"]):
        fail(f"{len(said)} words of {longest}")
    for m in said:
        if m[1] != f"{final['quality']['in_flight']:,}" or longest and int(m[3]) != longest["tid"] or \
                longest and plain(longest["comm"]) and m[2] != longest["comm"]:
            fail(f"{m[0]}, in JSON {longest}")


def tables_of(node):
    for t in node.find("table"):
        yield t
        yield from tables_of(t)


def inside(table):
    while table and (table.tag not in ("tr", "details") or not {"data-i", "data-mono"} & set(table.at)):
        table = table.parent
    return table


def check_tables(page, final, slow):
    n = 0
    for table in tables_of(page.root):
        kind = table.at["data-f"]
        row = inside(table)
        if row and "data-mono" in row.at:
            continue  # check_slow
        if row:
            n += check_inner(table, final["tables"]["contended"][int(row.at["data-i"])])
        elif kind == "metrics":
            n += check_numbers(table, final, True, metric_value)
        elif kind == "counters":
            n += check_numbers(table, final, True, counter_value)
        elif kind == "contended":
            n += check_numbers(table, final, True, contended_value) + check_contended(table, final)
            check_parts(page, table, final)
        elif kind == "culprits":
            rest = [p.text() for p in page.root.find("p") if "-n 0 has all" in p.text()]
            rows, shown = final["tables"]["culprits"], len(list(rows_of(table)))
            if shown < len(rows) and not any(t.startswith(f"{len(rows) - shown:,} more") for t in rest):
                fail(f"culprits: {shown} of {len(rows)} rows, and no word of the rest: {rest}")
            n += check_culprits(table, rows, len(rows) - shown)
        elif kind == "slow":
            n += check_slow(table, slow)
        elif kind in ("quality", "self"):
            check_facts(table, final)
        else:
            fail(f"a table of {kind}")
    return n


SERIES = 512  # of which heat maps are kept
LINE_LEFT, LINE_BYTE, LINE_TOP, LINE_STRIP, LINE_HALF, LINE_MOST = 170, 9, 20, 22, 9, 16


def strips_of(svg):
    """The bytes that a cache line's picture shows: of each strip those read and those written."""
    strips = {}
    for rect in svg.find("rect"):
        x, y, width, height = (int(rect.at[a]) for a in ("x", "y", "width", "height"))
        at, off = divmod(y - LINE_TOP - 2, LINE_STRIP)
        if height != LINE_HALF or off not in (0, LINE_HALF) or (x - LINE_LEFT) % LINE_BYTE or width % LINE_BYTE:
            fail(f"a rectangle at {x},{y} in a cache line's picture")
        if rect.at["class"] != ("c8" if off else "c4"):
            fail(f"a rectangle of class {rect.at['class']}")
        first = (x - LINE_LEFT) // LINE_BYTE
        for byte in range(first, first + width // LINE_BYTE):
            strips.setdefault(at, ([], []))[bool(off)].append(byte)
    return strips


def check_strips(page, final):
    """Each cache line with threads has one, of the busiest."""
    for table in page.root.find("table"):
        if table.at["data-f"] != "contended":
            continue
        for row in table.find("tr"):
            if "data-i" not in row.at:
                continue
            threads = final["tables"]["contended"][int(row.at["data-i"])].get("tids", [])
            figures = [f for d in page.root.find("details") if d.at.get("data-i") == row.at["data-i"]
                       for f in d.find("figure")]
            if len(figures) != (len(threads) > 0):
                fail(f"{len(figures)} pictures of a line with {len(threads)} threads")
            for svg in figures and figures[0].find("svg"):
                got = strips_of(svg)
                want = {i: tuple([b for b in range(64) if int(t[k], 16) >> b & 1] for k in ("read_bytes", "write_bytes"))
                        for i, t in enumerate(threads[:LINE_MOST])}
                if got != {i: w for i, w in want.items() if w[0] or w[1]}:
                    fail(f"strips {got}, in JSON {want}")
                said = re.findall(r"(\d+)\.\.(\d+)", svg.at["aria-label"])
                if sum(int(b) - int(a) + 1 for a, b in said) != sum(len(w[0]) + len(w[1]) for w in want.values()):
                    fail(f"spoken: {svg.at['aria-label']}")


def check_script(text):
    """One script, which the policy in the head names by its hash."""
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, re.S)
    if len(scripts) != 1 or text.count("<script") != 1:
        fail(f"{text.count('<script')} scripts")
    want = "'sha256-" + base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode() + "'"
    if f"default-src 'none'; style-src 'unsafe-inline'; script-src {want};" not in text:
        fail(f"the script's hash is {want}: html_script_hash")


def check_page(lines, text):
    finals = [r for r in lines if r["type"] == "final"]
    if not finals:
        if text:
            fail("a page of a run that has not ended")
        return
    bad = re.search(r"[^\n\x20-\x7e\xa0-\U0010ffff]|[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]", text)
    if bad:
        fail(f"a character that nobody sees: {bad[0]!r}")
    if re.search(r"(?i)https?://|url\(|@import|javascript:", text.replace("http-equiv", "")):
        fail("an outside address")
    check_script(text)
    check_numbers_of(Page(text), lines)
    series = {(m["name"], *m["labels"].items()) for r in lines if r["type"] == "interval" for m in r["metrics"]}
    if 0 < len(series) < SERIES and "No heat map" in text:
        fail(f"no heat map of one of {len(series)} series")


SHARES = (("running_ns", "on CPU"), ("waiting_ns", "waiting for a CPU"), ("throttled_ns", "out of CPU quota"), ("asleep_ns", "asleep"))


def check_times(tree, final):
    """The first line divides the threads' time as the record does, to 1 %."""
    (times,) = [t for t in final["tables"].get("times", []) if not t["labels"]] or [None]
    text = " ".join(p.text() for p in tree.root.find("p") if p.at.get("class") == "summary")
    if not times or times["of"] != "threads":
        return
    whole = sum(times[key] for key, _ in SHARES)
    for key, words in SHARES:
        said = re.search(words + r" ([0-9.]+) %", text)
        if not said and 100 * times[key] < 0.5 * whole:
            continue
        if not said or abs(float(said[1]) - 100 * times[key] / whole) > 1:
            fail(f"the first line has no {words} of {100 * times[key] / whole} %: {text}")


def check_numbers_of(tree, lines):
    finals = [r for r in lines if r["type"] == "final"]
    n = check_tables(tree, finals[-1], [r for r in lines if r["type"] == "slow"])
    check_strips(tree, finals[-1])
    check_flight(tree, finals[-1])
    check_verdict(tree, finals[-1])
    check_times(tree, finals[-1])
    whom = [t for t in tree.root.find("table") if t.at["data-f"] == "culprits" and not inside(t)]
    if bool(finals[-1].get("tables", {}).get("culprits")) != bool(whom):
        fail("a table of whom tasks waited for")
    if n < len([m for m in finals[-1]["metrics"] if not m["labels"] and m.get("count")]):
        fail(f"only {n} numbers")


def main(record, page):
    with open(record, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    with open(page, encoding="utf-8", newline="") as f:
        check_page(lines, f.read())


if __name__ == "__main__":
    main(*sys.argv[1:])
