#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""-o html: the page of a run against its JSON, in a browser, and how large it is. TAP."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import zlib

import browser
import others
from others import Skip

HERE = os.path.dirname(os.path.abspath(__file__))
CHECK = os.path.join(HERE, "..", "golden", "check_html.py")
sys.path.insert(0, os.path.dirname(CHECK))
import check_html  # pylint: disable=wrong-import-position

MOST_BYTES = 3 << 20
made = {}


def page(name, *options):
    """A run's page and record; the page is then one of the replayed record, which must be the same."""
    if name not in made:
        where = tempfile.TemporaryDirectory()
        files = [os.path.join(where.name, n) for n in ("run.html", "run.json", "again.html")]
        others.waitscope("-q", "-s", "synth", "-o", "html:" + files[0], "-o", "json:" + files[1], *options)
        others.waitscope("report", files[1], "-q", "-o", "html:" + files[2])
        made[name] = where, files
    return made[name][1]


def check(record, html):
    result = subprocess.run([sys.executable, CHECK, record, html], capture_output=True, text=True)
    assert not result.returncode, result.stderr


def numbers():
    """Every number in its tables is JSON's, of a run with groups and hostile names."""
    for by in ("pid", "comm", "cgroup", "file", "cpu"):
        html, record, again = page(by, "-i", "0.1", "-d", "0.5", "--by", by, "--slower", "1500us")
        check(record, html)
        check(record, again)


# Records with all that tables have: locks and their holders, cache lines, single waits, culprits.
KINDS = ("slow", "slow_locks", "slow_ops", "contended", "contended_by", "contended_holders", "lines_clock", "lines_pmu",
         "watch", "why", "why_by", "why_none", "why_slow", "ext4", "losses")
# What JSON has besides: the buckets of percentiles, how lengths lie, and what rows are known by in other tables.
NOT_SHOWN = {"buckets", "lengths", "few", "v", "seq", "dur_ns", "cgroup_id", "wait_ns.count", "contended.pid", "source",
             "futex.op", "line.addr", "dev", "mount", "bytes", "last_cpu", "place", "joins", "nodes", "memory_node",
             "waker.kind",  # with a name, a task
             "times",  # in percents, which check_html holds
             "latency_cycles.count", "latency_cycles.sum", "latency_cycles.min", "latency_cycles.max", "offsets.hitm",
             "offsets.latency_cycles", "waker.pid", "waker.tid", "prev.pid", "prev.tid"}


def leaves(value, path=()):
    """(what holds it, its key, path) of each number and text, but for those not shown."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        at = path if isinstance(key, int) else (*path, key)
        if {key, ".".join(at[-2:])} & NOT_SHOWN:
            continue
        if isinstance(one, (dict, list)):
            yield from leaves(one, at)
        elif isinstance(one, str) and check_html.plain(one) or isinstance(one, (int, float)) and not isinstance(one, bool):
            yield value, key, at


def with_final(name):
    with open(os.path.join(os.path.dirname(CHECK), "expected", name + ".json"), encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    if not any(r["type"] == "final" for r in lines):
        last = [r for r in lines if r["type"] == "interval"][-1]
        lines.append(json.loads(json.dumps(dict(last, type="final", end="done"))))
    return lines


def taken(tree, lines):
    try:
        check_html.check_numbers_of(tree, lines)
    except (SystemExit, LookupError, ValueError):
        return False
    return True


def told_apart():
    """Slow waits, locks, holders, lines, culprits, quality: what differs in one number or name of JSON is refused."""
    seen, passed = 0, set()
    with tempfile.TemporaryDirectory() as where:
        html, record = os.path.join(where, "a.html"), os.path.join(where, "a.json")
        for name in KINDS:
            lines = with_final(name)
            write(record, lines)
            others.waitscope("report", record, "-q", "-n", "0", "-o", "html:" + html)
            check(record, html)
            with open(html, encoding="utf-8") as f:
                tree = check_html.Page(f.read())
            assert taken(tree, lines), name
            for r in lines:
                parts = [(r, ())] if r["type"] == "slow" else [(r[k], (k,)) for k in ("tables", "quality", "self")
                                                               if k in r] if r["type"] == "final" else []
                for part, path in parts:
                    for holder, key, at in list(leaves(part, (r["type"], *path))):
                        before = holder[key]
                        if key == "comm" and holder.get("idle") or key == "addr" and holder is r and r["name"]:
                            continue  # the idle task, and a lock that has a name
                        holder[key] = before + "x" if isinstance(before, str) else before + 1
                        if taken(tree, lines):
                            passed.add((name, ".".join(at), before))
                        holder[key] = before
                        seen += 1
    assert not passed, f"{len(passed)} of {seen} were taken: {sorted(map(str, passed))[:40]}"
    assert seen > 1500, f"{seen} numbers and names"
    print(f"# {seen} numbers and names, each of which was missed")


def write(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def short_of(record, few, n):
    """The record with its first intervals alone: those that follow repeat them, and 500 MB take Python half a minute."""
    with open(record, encoding="utf-8") as f, open(few, "w", encoding="utf-8") as to:
        for line in f:
            interval = line.startswith('{"v":1,"type":"interval"')
            n -= interval
            if not interval or n >= 0:
                to.write(line)
    assert n < 0, "no intervals in it"


def with_more(interval):
    """With cache lines, and who made tasks wait, which made-up runs do not have."""
    one = json.loads(interval)
    for name, table in (("lines_pmu", "contended"), ("why", "culprits")):
        golden = next(r for r in with_final(name) if r["type"] == "interval")
        one["tables"].setdefault(table, []).extend(golden["tables"][table])
        one["metrics"] += golden["metrics"] if table == "culprits" else []
    return json.dumps(one, separators=(",", ":"))


def hour():
    """An hour at 1 s is at most 3 MB, and its columns are joined intervals."""
    with tempfile.TemporaryDirectory() as where:
        short, long, html = (os.path.join(where, n) for n in ("s.json", "l.json", "l.html"))
        others.waitscope("-q", "-s", "synth", "-i", "0.05", "-d", "2", "--by", "pid", "--slower", "1ms",
                         "-o", "json:" + short)
        with open(short, encoding="utf-8") as f:
            lines = f.read().splitlines()
        intervals = [with_more(line) for line in lines if '"type":"interval"' in line]
        slow = [line for line in lines if '"type":"slow"' in line]
        assert len(slow) > 400, f"{len(slow)} slow waits"
        with open(long, "w", encoding="utf-8") as f:
            f.write(lines[0] + "\n")
            for seq in range(1, 3601):
                if seq % 9 == 0:
                    f.write(slow[seq // 9 % len(slow)] + "\n")
                line = intervals[seq * 7 % len(intervals)]
                line = re.sub(r'"seq":\d+', f'"seq":{seq}', line, count=1)
                f.write(re.sub(r'"dur_ns":\d+', '"dur_ns":1000000000', line, count=1) + "\n")
        record = os.path.join(where, "all.json")
        others.waitscope("report", long, "-q", "-n", "0", "-o", "html:" + html, "-o", "json:" + record)
        size = os.path.getsize(html)
        print(f"# an hour: {size} bytes")
        assert size <= MOST_BYTES, f"{size} bytes"
        with open(html, encoding="utf-8") as f:
            text = f.read()
        assert "A column is 32 intervals, joined exactly" in text
        assert "Heat map of sched_wakeup_latency: from" in text and "113 columns of time" in text
        final = next((line for line in lines if '"type":"final"' in line))
        few = os.path.join(where, "few.json")
        short_of(record, few, len(intervals))
        check(few, html)
        assert "400 waits were longer than --slower; the longest 200 are here" in text
        tables = json.loads(final)["tables"]
        for panel in ("id=contended", "id=culprits", "id=lines"):
            assert panel in text, panel
        assert tables["contended"] and "id=contended" in text, tables.keys()
        assert json.loads(final)["metrics"], "no metrics in it"


def pixels(png):
    """Width, height and rows of RGB of a PNG of 8-bit RGB or RGBA."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and color in (2, 6), (depth, color)
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    size = 3 if color == 2 else 4
    raw, line, rows = zlib.decompress(data), width * size, []
    before = bytearray(line)
    for y in range(height):
        kind, now = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1:(y + 1) * (line + 1)])
        for i in range(line):
            a = now[i - size] if i >= size else 0
            b, c = before[i], before[i - size] if i >= size else 0
            if kind == 1:
                now[i] = now[i] + a & 255
            elif kind == 2:
                now[i] = now[i] + b & 255
            elif kind == 3:
                now[i] = now[i] + (a + b) // 2 & 255
            elif kind == 4:
                p = a + b - c
                pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
                now[i] = now[i] + (a if pa <= pb and pa <= pc else b if pb <= pc else c) & 255
        rows.append(now)
        before = now
    return width, height, size, rows


def colors(png):
    """How many of its pixels have which colour."""
    _, _, size, rows = pixels(png)
    seen = {}
    for row in rows:
        for i in range(0, len(row), size):
            key = bytes(row[i:i + 3])
            seen[key] = seen.get(key, 0) + 1
    return seen


def need_browser():
    if not browser.find():
        raise Skip("no chromium")


def rgb(text):
    return bytes.fromhex(text)


def opened():
    """A browser opens it from a file: no request, no complaint, dark and light, wide and narrow, not blank."""
    need_browser()
    html = page("pid", "-i", "0.1", "-d", "0.5", "--by", "pid", "--slower", "1500us")[0]
    with browser.Browser() as b:
        b.open(html)
        for scheme, background in (("light", "ffffff"), ("dark", "0f141a")):
            b.look(prefers_color_scheme=scheme)
            for width in (420, 1280):
                seen = colors(b.picture(width, 900))
                share = seen.get(rgb(background), 0) / sum(seen.values())
                assert 0.3 < share < 0.97 and len(seen) > 50, f"{scheme} {width}: {share}, {len(seen)} colours"
                sideways = b.run("document.documentElement.scrollWidth - innerWidth")
                assert sideways <= 0, f"{scheme} {width}: {sideways} pixels stick out"
        assert b.requests() == ["file://" + os.path.abspath(html)], b.requests()
        assert not b.complaints(), b.complaints()


CUT = """[...document.querySelectorAll('.wide')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth)
.map(e => e.getAttribute('aria-label'))"""
# A row of these has more columns than there are on a window.
WIDER = {"Contended addresses", "Who held it", "Cache lines", "Slow waits", "Slow operations"}


def uncut():
    """On windows of 1000 pixels and more no column of the overview is cut off, from 1200 on none of any table of metrics."""
    need_browser()
    with browser.Browser() as b:
        for html in (page("none", "-i", "0.1", "-d", "0.5")[0], full(), records()[2]):
            b.open(html)
            for width in (1000, 1200, 1280, 1320, 1440):
                b.picture(width, 900)
                cut = set(b.run(CUT))
                assert "All waits, by metric" not in cut, f"{os.path.basename(html)}, {width}: {cut}"
                assert width < 1200 or cut <= WIDER, f"{os.path.basename(html)}, {width}: {cut}"


SORTED = """(() => { const t = [...document.querySelectorAll('table[data-f=metrics]')][1];
const i = [...t.tHead.rows[0].cells].findIndex(c => c.dataset.f === 'count');
t.tHead.rows[0].cells[i].querySelector('button').click();
return [t.tHead.rows[0].cells[i].getAttribute('aria-sort'),
	...[...t.tBodies[0].rows].map(r => Number(r.cells[i].dataset.v))]; })()"""
CHOSEN = """(() => { const p = document.querySelector('.panels'), s = p.querySelector('select');
s.value = '2'; s.dispatchEvent(new Event('change'));
return [...p.querySelectorAll(':scope > details')].map(d => d.open && !d.hidden); })()"""


def driven():
    """Tables sort, panels are chosen from a list, all of it by keyboard; names stay text."""
    need_browser()
    html = page("pid", "-i", "0.1", "-d", "0.5", "--by", "pid", "--slower", "1500us")[0]
    with browser.Browser() as b:
        b.open(html)
        for way in ("descending", "ascending"):
            got = b.run(SORTED)
            assert got[0] == way and len(got) > 4, got
            assert got[1:] == sorted(got[1:], reverse=way == "descending"), got
        chosen = b.run(CHOSEN)
        assert chosen.count(True) == 1 and chosen[2], chosen
        assert b.run("document.querySelectorAll('b').length") == 0, "a name became an element"
        assert b.run("[...document.querySelectorAll('th button')].every(b => b.tabIndex === 0)")
        assert b.run("[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label'))")
        assert not b.complaints(), b.complaints()


def full():
    """A page with all that pages have: a record with groups, slow waits, operations, addresses, lines and culprits."""
    if "full" not in made:
        where = tempfile.TemporaryDirectory()
        record, html = os.path.join(where.name, "f.json"), os.path.join(where.name, "f.html")
        lines = with_final("contended_holders")
        at = lines.index(next(r for r in lines if r["type"] == "interval"))
        for name in ("lines_pmu", "why_by", "ext4_by_pid"):
            for other in with_final(name):
                for r in [r for r in lines if r["type"] == other["type"] and r["type"] in ("interval", "final")][:1]:
                    r["metrics"] += [m for m in other["metrics"] if "buckets" in m or "value" in m]
                    for key, rows in other["tables"].items():
                        r["tables"][key] = r["tables"].get(key, []) + rows
        for name in ("slow_locks", "slow_ops", "why_slow"):
            lines[at:at] = [r for r in with_final(name) if r["type"] == "slow"]
        write(record, lines)
        others.waitscope("report", record, "-q", "-n", "0", "-o", "html:" + html)
        made["full"] = where, html
    return made["full"][1]


FOCUS = """(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
return [e.tagName, e.textContent.trim().slice(0, 40), s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2,
	e.closest('th') ? e.closest('th').getAttribute('aria-sort') : e.value || '',
	r.bottom > 0 && r.top < innerHeight]; })()"""


def keyboard():
    """Tab comes by everything that does something, each seen to be where the keys go; Enter and Space sort, arrows choose."""
    need_browser()
    html = page("pid", "-i", "0.1", "-d", "0.5", "--by", "pid", "--slower", "1500us")[0]
    with browser.Browser() as b:
        b.open(html)
        wanted = b.run("[...document.querySelectorAll('main th button, main select, nav a')]"
                       ".filter(e => e.checkVisibility()).length")
        kinds, sorts, chosen = {}, 0, 0
        for _ in range(4 * wanted):
            b.key("Tab")
            tag, text, outlined, state, seen = b.run(FOCUS)
            if tag == "BODY":
                break
            assert outlined and seen, f"nobody sees that the keys go to {tag} '{text}'"
            kinds[tag] = kinds.get(tag, 0) + 1
            if tag == "BUTTON" and sorts < 3:
                assert state is None, state
                for name, typed, way in (("Enter", "\r", "descending"), (" ", " ", "ascending")):
                    b.key(name, typed)
                    assert b.run(FOCUS)[3] == way, f"{name!r} on {text}: {b.run(FOCUS)}"
                sorts += 1
            if tag == "SELECT" and not chosen:
                b.key("ArrowDown")
                assert b.run(FOCUS)[3] == "1", f"{b.run(FOCUS)}"
                assert b.run("[...document.activeElement.closest('.panels').children].filter(d => d.open).length") == 1
                chosen += 1
        assert kinds["BUTTON"] + kinds["SELECT"] + kinds["A"] == wanted and sorts == 3 and chosen, f"{kinds} of {wanted}"
        assert kinds.get("SUMMARY", 0) > 0 and kinds.get("DIV", 0) > 0, kinds  # what opens, and tables that scroll
        assert not b.complaints(), b.complaints()


AXE = """axe.run(document, {resultTypes: ['violations']}).then(r => [r.passes.length,
	r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' '))])"""
# What axe cannot compute contrasts over: the shade that tells that a table goes on.
PLAIN = "document.head.append(Object.assign(document.createElement('style'), {textContent: '.wide{background:none!important}'}))"


def spoken():
    """npm axe-core finds nothing that keeps people out: names, heads, order, contrast; in both schemes, with all open."""
    need_browser()
    where = others.node_modules_with("axe-core", "axe-core")
    if not where:
        raise Skip("no axe-core from npm")
    with open(os.path.join(where, "node_modules", "axe-core", "axe.min.js"), encoding="utf-8") as f:
        axe = f.read()
    with browser.Browser() as b:
        for html in (full(), records()[2]):
            for scheme in ("light", "dark"):
                b.look(prefers_color_scheme=scheme)
                b.open(html)
                b.run(PLAIN + "; document.querySelectorAll('details').forEach(d => d.open = true)")
                b.run(axe + "; 0")
                passed, bad = b.run(AXE)
                assert not bad and passed > 30, f"{os.path.basename(html)}, {scheme}: {passed} rules hold, {bad}"
        b.open(full())
        names = b.run("[...document.querySelectorAll('svg')].map(s => [s.getAttribute('role'), s.getAttribute('aria-label')])")
        assert len(names) > 8 and all(role == "img" and name for role, name in names), names
        tables = b.run("[...document.querySelectorAll('table')].map(t => [!!t.caption, t.tHead.rows.length, "
                       "[...t.tHead.rows[0].cells].every(c => c.scope === 'col'), "
                       "[...t.querySelectorAll(':scope > tbody > tr > th')].every(c => c.scope === 'row')])")
        assert len(tables) > 15 and all(t == [True, 1, True, True] for t in tables), tables


PAPER = 1035  # pixels: A4 across, less the margins
OUT = """[...document.querySelectorAll('table, svg, p, dl, li')].filter(e => e.checkVisibility())
.map(e => [e.tagName + ' ' + e.textContent.slice(0, 60), e.getBoundingClientRect().right - innerWidth]).filter(e => e[1] > 1)"""


def on_paper():
    """Printed, nothing is cut off or closed: all columns of all tables and all panels are within the paper."""
    need_browser()
    pages = [page("pid", "-i", "0.1", "-d", "0.5", "--by", "pid", "--slower", "1500us")[0], full(), records()[2]]
    with browser.Browser() as b:
        for html in pages:
            b.open(html)
            b.paper(PAPER)
            b.run("dispatchEvent(new Event('beforeprint'))")
            out = b.run(OUT)
            assert not out, f"{os.path.basename(html)}: sticks out of the paper: {out[:4]}"
            assert b.run("[...document.querySelectorAll('nav, .pick')].every(e => !e.getBoundingClientRect().width)")
            b.run("dispatchEvent(new Event('afterprint'))")
            b.paper()


def printed():
    """PyPI pymupdf finds every cell of every table, with and without scripts, in the PDF that the browser prints."""
    need_browser()
    python = others.python_with("pymupdf", "pymupdf")
    if not python:
        raise Skip("no pymupdf from PyPI")
    read = "import pymupdf, sys\nfor p in pymupdf.open(sys.argv[1]): print(p.get_text())"
    with tempfile.TemporaryDirectory() as where:
        for scripts in (True, False):
            with browser.Browser() as b:
                b.call("Emulation.setScriptExecutionDisabled", value=not scripts)
                b.open(full())
                path = os.path.join(where, "p.pdf")
                with open(path, "wb") as f:
                    f.write(b.pdf())
                b.call("Emulation.setScriptExecutionDisabled", value=False)
                cells = b.run("[...document.querySelectorAll('td, tbody th')].filter(c => !c.querySelector('table') && !c.closest('td details'))"
                              ".map(c => c.textContent.trim())")
            text = subprocess.run([python, "-c", read, path], check=True, capture_output=True, text=True).stdout
            on = re.sub(r"\s", "", text)
            lost = [c for c in cells if c.isascii() and re.sub(r"\s", "", c) not in on]
            assert len(cells) > 500 and not lost, f"scripts {scripts}: {len(lost)} of {len(cells)} cells: {lost[:9]}"


def without_script():
    """Without scripts all pictures and tables are there, the same ones, and open with the browser's own means."""
    need_browser()
    html = page("pid", "-i", "0.1", "-d", "0.5", "--by", "pid", "--slower", "1500us")[0]
    said = []
    with browser.Browser() as b:
        for off in (True, False):
            b.call("Emulation.setScriptExecutionDisabled", value=off)
            b.open(html)
            b.call("Emulation.setScriptExecutionDisabled", value=False)
            said.append((b.run("document.querySelectorAll('svg').length"), b.run("document.querySelectorAll('td').length")))
            if not off:
                break
            assert b.run("document.querySelectorAll('button,select').length") == 0
            assert b.run("[...document.querySelectorAll('details')].every(d => !d.hidden)")
            assert len(colors(b.picture(1280, 900))) > 50, "blank"
            assert b.run("(() => { const d = document.querySelectorAll('.panels details')[1]; d.firstElementChild.click(); "
                         "return d.open && d.querySelector('svg').getBoundingClientRect().height > 100; })()")
    assert said[0] == said[1] and said[0][0] > 20 and said[0][1] > 200, said


def records():
    """Two records of different length, of groups with hostile names."""
    if "diff" not in made:
        where = tempfile.TemporaryDirectory()
        files = [os.path.join(where.name, n) for n in ("a.json", "b.json", "d.html", "d.json")]
        for path, duration in zip(files, ("0.5", "0.9")):
            others.waitscope("-q", "-s", "synth", "-i", "0.1", "-d", duration, "--by", "comm", "-o", "json:" + path)
        for path, form in zip(files[2:], ("html", "json")):
            others.waitscope("diff", *files[:2], "-q", "-n", "0", "-o", f"{form}:{path}")
        made["diff"] = where, files
    return made["diff"][1]


def key(row):
    labels = ",".join(f'{k}="{v}"' for k, v in row["labels"].items())
    return check_html.cleaned(row["metric"] + ("{" + labels + "}" if labels else ""))


def compared():
    """diff -o html: every number of its rows is JSON's, and two pictures have one scale."""
    _, _, html, record = records()
    with open(html, encoding="utf-8") as f:
        text = f.read()
    with open(record, encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    check_html.check_script(text)
    page = check_html.Page(text)
    table = next(page.root.find("table"))
    want = {(key(r), r["stat"]): r for r in rows}
    seen = 0
    for row, cells in check_html.rows_of(table):
        by = {h.at["data-f"]: c for h, c in cells}
        r = want.pop((by["metric"].text(), by["stat"].text()))
        assert by["verdict"].text() == r["verdict"], r
        for field in ("base", "new", "ratio", "ci.0", "ci.1", "p", "beyond"):
            value = r[field] if "." not in field else r["ci"] and r["ci"][int(field[3:])]
            cell = by[field].at.get("data-v")
            assert (value is None) == (cell is None) and (cell is None or float(cell) == value), (field, cell, r)
            seen += cell is not None
    assert not want and seen > 100, f"{len(want)} rows are not there, {seen} numbers are"
    pairs = 0
    for figure in re.findall(r'<div class="fig two"><figure tabindex=0><svg [^>]*"Heat map.*?</ul>', text, re.S):
        maps = figure.split("<figure")[1:]
        ticks = [re.findall(r'y=([0-9.]+) text-anchor=end>([^<]+)<', m) for m in maps]
        assert len(maps) == 2 and ticks[0] == ticks[1] and ticks[0], figure[:400]
        assert figure.count("<ul class=legend") == 1
        pairs += 1
    assert pairs > 5, f"{pairs} pairs of pictures"


def compared_opened():
    """diff -o html in a browser: no request, no complaint, one of many panels."""
    need_browser()
    html = records()[2]
    with browser.Browser() as b:
        b.open(html)
        assert b.requests() == ["file://" + os.path.abspath(html)], b.requests()
        assert b.run(CHOSEN).count(True) == 1
        assert len(colors(b.picture(1280, 900))) > 20
        assert not b.complaints(), b.complaints()


if __name__ == "__main__":
    others.run(numbers, told_apart, hour, opened, uncut, driven, keyboard, spoken, on_paper, printed, without_script,
               compared, compared_opened)
