#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as OTLP/JSON, parsed by opentelemetry-proto, against the records themselves; and collectors that are slow, gone,
or refuse. TAP."""
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from truth import TOP, WS, fetched, recorded_labels, records, rendered, say

NS = 10**9
INTERVAL_S = 0.2
LATE_S, LATE_MOST_S = 0.1, 2  # as a rule, and all but one on a busy machine; who waited would be as late as collectors
QUEUE = 16  # otlp.h


def parsed(python, lines):
    r = subprocess.run([python, os.path.join(TOP, "tests/export/otlp_read.py")], input=lines, capture_output=True,
                       check=False)
    if r.returncode:
        raise ValueError(r.stderr.decode()[-300:])
    return [json.loads(line) for line in r.stdout.splitlines()]


def problems_of(got, truth):
    """Of the last request of a record."""
    hists, counts, lost, gauges = {}, {}, {}, {}
    for p in got["points"]:
        name = p["name"].removeprefix("waitscope_")
        key = (name, recorded_labels([tuple(x) for x in p["labels"]]))
        if p["time"] != truth.end_ns or not p["help"]:
            yield f"{key}: time {p['time']}, '{p['help']}'"
        if p["kind"] == "gauge":
            gauges[name] = p["value"]
            continue
        if p["temporality"] != 2:
            yield f"{key}: not cumulative"
        if p["kind"] == "exponentialHistogram" or p["kind"] == "exponential_histogram":
            hists[key] = p
        elif name in ("lost", "noted"):
            lost[name, p["labels"][0][1]] = p["value"]
        elif p["monotonic"]:
            counts[key] = p["value"]
        if key in truth.starts and p["start"] != truth.starts[key]:
            yield f"{key}: starts at {p['start']}, not {truth.starts[key]}"
    want = {k: min(n, 2**63 - 1) for k, n in truth.counts.items()}  # asInt has a sign
    if counts != want:
        yield f"counts: {counts}, not {want}"
    want = {("lost", k): n for k, n in truth.lost.items()} | {("noted", k): n for k, n in truth.noted.items()}
    if lost != want:
        yield f"losses: {lost}, not {want}"
    if gauges.get("in_flight") != truth.in_flight:
        yield f"in flight: {gauges}"
    if set(hists) != set(truth.hists):
        yield f"series: {set(hists) ^ set(truth.hists)} in one of both"
    for key in set(hists) & set(truth.hists):
        p, h = hists[key], truth.hists[key]
        native = {p["offset"] + 1 + i: n for i, n in enumerate(p["buckets"]) if n}
        want = {b: n for b, n in h.coarser(3).items() if n}
        if (p["count"], p["zero"], p["scale"], p["threshold"], p["unit"]) != (h.count, h.zero, 3, 2.0**-30, "s"):
            yield f"{key}: {p}"
        if abs(p["sum"] - h.sum / NS) > h.sum / NS * 1e-15 or native != want:
            yield f"{key}: {native} with {p['sum']}, not {want} with {h.sum} ns"
        if p["buckets"] and not (p["buckets"][0] and p["buckets"][-1]):
            yield f"{key}: empty buckets at an end"
        if h.count and not 0 <= p["min"] <= p["max"]:
            yield f"{key}: from {p['min']} to {p['max']}"


def check_record(python, record):
    lines, truth = rendered("otlp", record)
    got = parsed(python, lines)
    if not got:
        return [] if truth.end_ns is None else ["nothing was written"]
    problems = list(problems_of(got[-1], truth))
    resource = got[-1]["resource"]
    if resource["service.name"] != "waitscope" or resource["os.type"] != "linux" or \
       resource["host.name"] != socket.gethostname() or \
       not re.fullmatch(re.escape(socket.gethostname()) + r":[0-9]+", resource["service.instance.id"]):
        problems.append(f"resource: {resource}")
    return problems


# ---- collectors ----

class Collector(http.server.ThreadingHTTPServer):
    """Answers by turns as the script says: (status, headers, body, seconds before); the last for ever."""
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, script, port=0):
        self.script, self.bodies, self.times = list(script), [], []
        super().__init__(("127.0.0.1", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        pass  # who was cut off

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # noqa: N802 # http.server's name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        server.times.append(time.monotonic())
        status, headers, answer, wait = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        time.sleep(wait)
        if self.path != "/v1/metrics" or self.headers["Content-Type"] != "application/json":
            status = 404
        server.bodies.append((status, body))
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def answer(status, body=b"{}", wait=0.0, **headers):
    return status, {k.replace("_", "-"): v for k, v in headers.items()}, body, wait


class Run:
    def __init__(self, url, seconds, *args):
        with tempfile.TemporaryDirectory() as d:
            record = os.path.join(d, "json")
            begun = time.monotonic()
            r = subprocess.run([WS, "-s", "synth", "-i", str(INTERVAL_S), "-d", str(seconds), "-o", f"otlp:{url}", "-o",
                                f"json:{record}", *args], capture_output=True, text=True, check=False, timeout=60)
            self.took = time.monotonic() - begun
            with open(record, encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
        self.status, self.words, self.stdout = r.returncode, r.stderr, r.stdout
        self.intervals = [x for x in lines if x["type"] == "interval"]
        self.final = lines[-1]
        found = re.search(r"otlp: of (\d+) reports (\d+) were lost and (\d+) refused, and (\d+) data points rejected \((.*)\)",
                          r.stderr)
        self.of, self.lost, self.refused, self.rejected = map(int, found.groups()[:4]) if found else (None, 0, 0, 0)

    def on_time(self):
        late = sorted(x["dur_ns"] / NS - INTERVAL_S for x in self.intervals[:-1])
        assert late[len(late) // 2] < LATE_S and late[-2] < LATE_MOST_S, f"intervals were {late} s late"
        assert not self.status and not self.stdout, (self.status, self.words)


def count_of(body, name="waitscope_sched_wakeup_latency"):
    for m in json.loads(body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        if m["name"] == name:
            return int(m["exponentialHistogram"]["dataPoints"][0]["count"])
    return None


def final_count(run):
    return next(m["count"] for m in run.final["metrics"] if m["name"] == "sched_wakeup_latency" and not m["labels"])


def value_of(body, name, label=None):
    for m in json.loads(body)["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        for p in m.get("sum", {}).get("dataPoints", []) if m["name"] == name else []:
            if label is None or p["attributes"][0]["value"]["stringValue"] == label:
                return int(p["asInt"])
    return None


def takes_all():
    c = Collector([answer(200)])
    r = Run(c.url + "/", 2)
    r.on_time()
    assert not r.words, r.words
    assert len(c.bodies) == len(r.intervals) and count_of(c.bodies[-1][1]) == final_count(r), len(c.bodies)
    counts = [count_of(b) for _, b in c.bodies]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    starts = {re.search(rb'"startTimeUnixNano":"(\d+)"', b)[1] for _, b in c.bodies}
    assert len(starts) == 1, starts
    c.close()


def two_of_a_host():
    """Each is an instance of its own: what keeps series by that does not mix them."""
    c = Collector([answer(200)])
    for _ in range(2):
        assert not Run(c.url, 0.5).words
    ids = [{a["key"]: a["value"]["stringValue"] for a in json.loads(b)["resourceMetrics"][0]["resource"]["attributes"]}
           ["service.instance.id"] for _, b in c.bodies]
    assert len(set(ids)) == 2 and ids == sorted(ids, key=ids.index), ids
    c.close()


def slow():
    c = Collector([answer(200, wait=0.7)])
    r = Run(c.url, 3)
    r.on_time()
    assert r.took < 3 + 6 and not r.refused
    taken = [b for s, b in c.bodies if s == 200]
    assert len(taken) + r.lost == len(r.intervals) or len(taken) + r.lost == len(r.intervals) + 1, (len(taken), r.words)
    c.close()


def gone():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    r = Run(f"http://127.0.0.1:{port}", 2)
    r.on_time()
    assert r.lost == r.of == len(r.intervals) and "no answer" in r.words, r.words
    assert r.took < 2 + 6


def comes_later():
    """Nobody at first; then all that waited is there, in order, and nothing is lost."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    later = []
    t = threading.Timer(1.2, lambda: later.append(Collector([answer(200)], port)))
    t.start()
    r = Run(f"http://127.0.0.1:{port}", 2.5)
    t.join()
    r.on_time()
    assert not r.words and len(later[0].bodies) == len(r.intervals), (r.words, len(later[0].bodies))
    counts = [count_of(b) for _, b in later[0].bodies]
    assert counts == sorted(counts) and counts[-1] == final_count(r)
    later[0].close()


def says_nothing():
    """Takes the connection and no more."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        r = Run(f"http://127.0.0.1:{s.getsockname()[1]}", 5)
    r.on_time()
    assert r.lost == r.of == len(r.intervals) > QUEUE and r.took < 5 + 6, r.words


def refuses():
    c = Collector([answer(400)])
    r = Run(c.url, 2)
    r.on_time()
    assert r.refused == r.of == len(r.intervals) == len(c.bodies) and "status 400" in r.words, r.words
    assert [value_of(b, "waitscope_reports", "refused") for _, b in c.bodies][-1] > 3  # it is told of that, too
    c.close()


def wrong_path():
    c = Collector([answer(200)])
    r = Run(c.url + "/elsewhere", 1)
    assert r.refused == len(r.intervals) and "status 404" in r.words, r.words
    c.close()


def too_many():
    """429 says when: not before, and then the same report again."""
    c = Collector([answer(429, Retry_After="1"), answer(200)])
    r = Run(c.url, 2.5)
    r.on_time()
    assert not r.words, r.words
    assert 0.95 < c.times[1] - c.times[0] < 2, c.times
    assert c.bodies[0][1] == c.bodies[1][1] and len(c.bodies) == len(r.intervals) + 1
    c.close()


def not_now():
    """503 without a word of when: later each time."""
    c = Collector([answer(503), answer(503), answer(200)])
    r = Run(c.url, 4)
    r.on_time()
    assert not r.words, r.words
    first, second = c.times[1] - c.times[0], c.times[2] - c.times[1]
    assert 0.7 < first < 2 and 1.4 < second < 4 and second > first, (first, second)
    assert c.bodies[0][1] == c.bodies[1][1] == c.bodies[2][1] and len(c.bodies) == len(r.intervals) + 2
    c.close()


def takes_some():
    """What it rejects is counted, and not sent again."""
    body = json.dumps({"partialSuccess": {"rejectedDataPoints": "3", "errorMessage": "too\nold"}}).encode()
    c = Collector([answer(200, body), answer(200, body), answer(200)])
    r = Run(c.url, 2)
    r.on_time()
    assert r.rejected == 6 and not r.lost and not r.refused and "too\\x0aold" in r.words, r.words
    assert len(c.bodies) == len(r.intervals) and value_of(c.bodies[-1][1], "waitscope_rejected_points") == 6
    assert len({b for _, b in c.bodies}) == len(c.bodies)
    c.close()


def odd_answers():
    """Of a success anything: it is one."""
    for body in (b"", b"x", b"[]", b'{"partialSuccess":1}', b'{"partialSuccess":{"rejectedDataPoints":[]}}', b"{" * 9000):
        c = Collector([answer(200, body)])
        r = Run(c.url, 0.5)
        assert not r.status and not r.words and len(c.bodies) == len(r.intervals), (body[:40], r.words)
        c.close()
    c = Collector([answer(200, b"x" * 1_000_000)])  # past what is read of an answer
    r = Run(c.url, 0.5)
    assert not r.status and r.took < 8, r.words
    c.close()


def replays():
    """A record of more reports than wait at most: all of them."""
    with tempfile.TemporaryDirectory() as d:
        record = os.path.join(d, "json")
        subprocess.run([WS, "-q", "-s", "synth", "-i", "0.02", "-d", "1.5", "-o", f"json:{record}"], check=True)
        c = Collector([answer(200)])
        r = subprocess.run([WS, "report", record, "-o", f"otlp:{c.url}"], capture_output=True, text=True, check=False)
        with open(record, encoding="utf-8") as f:
            n = sum('"type":"interval"' in line for line in f)
        assert r.returncode == 0 and not r.stderr and len(c.bodies) == n > 2 * QUEUE, (r, len(c.bodies), n)
        c.close()


def catches(pid, sig):
    """Has it a handler for that signal? The first SIGINT makes it give that up."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return any(int(line.split()[1], 16) >> sig - 1 & 1 for line in f if line.startswith("SigCgt:"))


def ends_at_once():
    """The end of a run waits for a collector, but not for ever, and a second signal ends it."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        # Some shells have SIGINT ignored by what they start in the background, as tests are.
        p = subprocess.Popen([WS, "-q", "-s", "synth", "-i", "0.1", "-o", f"otlp:http://127.0.0.1:{s.getsockname()[1]}"],
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        with s.accept()[0]:  # it runs, and waits for an answer
            begun = time.monotonic()
            p.send_signal(signal.SIGINT)
            while catches(p.pid, signal.SIGINT):  # two that come at once are one
                time.sleep(0.01)
            p.send_signal(signal.SIGINT)
            assert p.wait(10) == -signal.SIGINT and time.monotonic() - begun < 3


def wrong_urls():
    for url, words in (("https://x", "only http"), ("http://", "not a URL"), ("http://u:p@x", "not a URL"),
                       ("http://x:99999", "not a URL"), ("ftp://x", "only http")):
        r = subprocess.run([WS, "-s", "synth", "-o", f"otlp:{url}", "-d", "0.1"], capture_output=True, text=True, check=False)
        assert r.returncode == 2 and words in r.stderr, (url, r.stderr)


COLLECTORS = (takes_all, two_of_a_host, slow, gone, comes_later, says_nothing, refuses, wrong_path, too_many, not_now, takes_some,
              odd_answers, replays, ends_at_once, wrong_urls)


def main():
    bad, n = 0, 0
    env = fetched("otlp")
    for record in records() if env else ():
        n += 1
        try:
            problems = check_record(os.path.join(env, "bin/python"), record)
        except (ValueError, subprocess.CalledProcessError) as e:
            problems = [repr(e)]
        bad += bool(problems)
        say(n, os.path.basename(record)[:-5], problems)
    if not env:
        n += 1
        print(f"ok {n} - records # SKIP no opentelemetry-proto: tests/vm/fetch.sh otlp failed")
    for f in COLLECTORS:
        n += 1
        try:
            f()
            problems = []
        except (AssertionError, OSError, IndexError, TypeError, subprocess.TimeoutExpired) as e:
            problems = [repr(e)[:600]]
        bad += bool(problems)
        say(n, "a collector: " + f.__name__.replace("_", " "), problems)
    print(f"1..{n}")
    return bool(bad)


sys.exit(main())
