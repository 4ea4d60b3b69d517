#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws records with `waitscope report`, compares with expected/, and checks what a comparison cannot. TAP.

test_golden.py [--update] [WORD...]: all records and cases, or those whose names have one of the words. --update writes
what comes out to expected/ (look at the difference before it is committed).

A record is expected/NAME.json, as -o json writes it. Written again it is the same bytes; so is NAME.csv where there is
one, and NAME.prom; all CSV, HdrHistogram logs, pages and timelines are held against it. `cases` lists the tables that are drawn of records;
windows/ has those of a terminal that is drawn anew at each report, which only a run does (window.c).
"""
import difflib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from fcntl import ioctl

import check
import check_hlog
import check_html
import check_perfetto

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import tap  # noqa: E402

BUILD = os.environ.get("O", "build")
TOOL, WINDOW = os.path.join(BUILD, "waitscope"), os.path.join(BUILD, "tests/golden/window")
SCHEMA = os.path.join(HERE, "..", "..", "docs", "waitscope.schema.json")
EXPECTED = os.path.join(HERE, "expected")
WIDTHS = 40, 64, 80, 120, 200
# A report ends with a final one. Where the record has none, report makes it of the intervals: the same rows again.
MADE_FINAL = {
    "table": re.compile(r"\n\nwaitscope  [^\n]*\nfinal report after [^\n]*: record e[^\n]*\n.*\Z", re.S),
    "csv": re.compile(r"^final,.*\n", re.M),
    "json": re.compile(r'^\{"v":1,"type":"final",.*"end":"record ends early".*\n', re.M),
}
update = False


def record_of(name):
    return os.path.join(EXPECTED, name + ".json")


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def run(command, **more):
    environment = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8", TERM="xterm", COLUMNS="")
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, check=False, **more)
    assert done.returncode == 0 and not done.stderr, f"{' '.join(command)}: status {done.returncode}, {done.stderr.decode()}"
    return done.stdout


def on_terminal(columns, lines, command):
    """What a command writes to a terminal of this size."""
    ours, theirs = pty.openpty()
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.OPOST  # a newline stays one byte
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with tempfile.TemporaryFile() as written:
        reader = subprocess.Popen(["cat"], stdin=ours, stdout=written, stderr=subprocess.DEVNULL)
        try:
            run(command, stdin=subprocess.DEVNULL, stdout=theirs)
        finally:
            os.close(theirs)
            os.close(ours)
            reader.wait()
        written.seek(0)
        return written.read()


def as_expected(name, text):
    """The text is that of expected/NAME."""
    path = os.path.join(EXPECTED, name)
    if update:
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(text)
    different = list(difflib.unified_diff(read(path).splitlines(), text.splitlines(), "expected/" + name, "what came",
                                          lineterm="", n=1))
    assert not different, "\n".join(different[:40])
    assert read(path) == text, f"expected/{name}: the ends of lines differ"


def without_made_final(form, text, record):
    """The output less the final report that is not in the record."""
    if '"type":"final"' in record:
        return text
    text, times = MADE_FINAL[form].subn("\n" if form == "table" else "", text)
    assert times >= (form != "csv"), f"{form}: no final report was made of a record that has none"
    return text


def formats(name):
    """Every format of a record, each held against the record."""
    record = read(record_of(name))
    with tempfile.TemporaryDirectory() as where:
        made = {form: os.path.join(where, form) for form in ("json", "csv", "prom", "hlog", "html", "perfetto")}
        run([TOOL, "report", record_of(name), *(f"-o{form}:{path}" for form, path in made.items())] + ["-q"])
        check.check_json(SCHEMA, read(made["json"]))
        assert without_made_final("json", read(made["json"]), record) == record, f"{name}.json is not what it was"
        csv = without_made_final("csv", read(made["csv"]), record)
        check.check_csv(csv)
        check.check_csv_says(read(made["csv"]), read(made["json"]))
        check.check_prom(read(made["prom"]))
        for form, text in (("csv", csv), ("prom", read(made["prom"]))):
            if os.path.exists(os.path.join(EXPECTED, f"{name}.{form}")):
                as_expected(f"{name}.{form}", text)
        for form, of in (("hlog", check_hlog), ("html", check_html), ("perfetto", check_perfetto)):
            of.main(made["json"], made[form])


def case(name, record, screen, options):
    """A table of a record, with options, into a pipe or on a terminal of a size."""
    command = [TOOL, "report", record_of(record), "-q", "--color=never", *options.split()]
    if screen == "pipe":
        # Slow waits into a pipe are not cut: there is no width to keep.
        columns, text = 4096 if '"type":"slow"' in read(record_of(record)) else 80, run(command, stdout=subprocess.PIPE)
    else:
        columns, lines = (int(n) for n in (screen + "x0").split("x")[:2])
        text = on_terminal(columns, lines, command)
    text = without_made_final("table", text.decode(), read(record_of(record)))
    as_expected(name + ".table", text)
    check.check_table(columns, text)


def every_cpu():
    """300 CPUs have a row each, in their order, with their samples."""
    text = run([TOOL, "report", record_of("cpus300"), "-q", "--color=never"], stdout=subprocess.PIPE).decode()
    check.check_table(80, text)
    rows = re.findall(r"^ *(\d+) +([\d,]+) ", text.split("\nCPU ")[1].split("\n\n")[0], re.M)
    interval = next(line for line in map(json.loads, read(record_of("cpus300")).splitlines()) if line["type"] == "interval")
    want = [(m["labels"]["cpu"], f"{m['count']:,}") for m in interval["metrics"]
            if m["name"] == "sched_wakeup_latency" and "cpu" in m["labels"]]
    assert rows == want and len(want) == 300, f"{rows}, not {want}"


def window(steps, name):
    with open(steps, encoding="utf-8") as f:
        return run([WINDOW, record_of(name)], stdin=f, stdout=subprocess.PIPE).decode()


def drawn_anew(name):
    """A terminal, resized between reports, as windows/NAME.txt says."""
    steps = os.path.join(HERE, "windows", name + ".txt")
    text = window(steps, name)
    if "# sections: " in read(steps):
        check.check_windows(steps, text)
    else:
        as_expected(name + ".table", text)
        check.check_table(max(int(n) for n in re.findall(r"^(?:screen|resize) (\d+)", read(steps), re.M)), text)


def every_window(name, columns, option):
    """Each height from 2 lines to 70: the first rows, the foot, and what is left out adds up."""
    head = read(os.path.join(HERE, "windows", name + ".txt")).split("\nnext\n")[0]
    sizes = "".join(f"resize {columns} {lines}\nagain\n" for lines in range(2, 71))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as steps:
        steps.write(f"{head}\noptions {option}\nnext\nnext\n{sizes}")
        steps.flush()
        check.check_windows(steps.name, window(steps.name, name))


def same_on_stdout(form):
    """A file and standard output get the same bytes."""
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "file")
        command = [TOOL, "report", "-q", record_of("normal"), "-o"]
        run(command + [f"{form}:{path}"])
        with open(path, "rb") as f:
            assert f.read() == run(command + [form], stdout=subprocess.PIPE)


def cases():
    """(name, record, screen, options) of each line of `cases`."""
    for line in read(os.path.join(HERE, "cases")).splitlines():
        if line and not line.startswith("#"):
            name, record, screen, options = (word.strip() for word in line.split("|")[:4])
            yield name, name if record == "=" else record, screen, options


def test(title, do, *args):
    """A test for tap.py; checks end the program with their words."""
    def one():
        try:
            do(*args)
        except SystemExit as end:
            raise AssertionError(end.code) from end
    one.__doc__ = title.strip()
    return one


def all_used(records):
    steps = [name[:-4] for name in os.listdir(os.path.join(HERE, "windows"))]
    used = {name + ".table" for name in [one[0] for one in cases()] + steps}
    unused = set(os.listdir(EXPECTED)) - used - {name + end for name in records for end in (".json", ".csv", ".prom")}
    assert not unused, f"of no case: {sorted(unused)}"


def tests():
    records = sorted(name[:-5] for name in os.listdir(EXPECTED) if name.endswith(".json"))
    yield test("expected: every file is of a case", all_used, records)
    for name in records:
        yield test(f"{name}: JSON, CSV, HdrHistogram, HTML and Perfetto are what the record says", formats, name)
    for one in cases():
        yield test(f"{one[0]}.table: {one[1]}.json {one[3]}", case, *one)
    yield test("cpus300: a row for each CPU", every_cpu)
    for name in sorted(os.listdir(os.path.join(HERE, "windows"))):
        yield test(f"{name[:-4]}.table: a terminal that is drawn anew", drawn_anew, name[:-4])
    for name in ("windows", "windows_by"):
        for columns, option in [(n, "") for n in WIDTHS] + [(80, "-T"), (80, "-n 4")]:
            yield test(f"{name}: every height, {columns} columns {option}", every_window, name, columns, option)
    for form in ("table", "json", "csv", "hlog", "html", "perfetto"):
        yield test(f"{form}: a file and standard output get the same", same_on_stdout, form)


if "--update" in sys.argv:
    sys.argv.remove("--update")
    update = True
tap.run(*tests())
