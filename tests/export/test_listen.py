#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--listen on made-up data: what it serves, and that nobody who asks can hold it up. TAP."""
import contextlib
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402
from truth import Truth, families, moment_ns, system_python

system_python("prometheus_client", "google.protobuf")
from prometheus_client.parser import text_string_to_metric_families  # noqa: E402

WS = os.path.join(os.environ.get("O", "build"), "waitscope")
SANITIZED = "-san" in os.environ.get("O", "build")
PROTO = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
UNQUARANTINED = {"ASAN_OPTIONS": "quarantine_size_mb=4"} if SANITIZED else {}  # what is freed does not count
CLIENTS = 128  # listen.h
INTERVAL_S = 0.2
LATE_S, LATE_MOST_S = 0.1, 2  # as a rule, and once on a busy machine; a client that were waited for would make it 10
TESTS = []


def test(f):
    TESTS.append(f)
    return f


class Server:
    def __init__(self, *args, interval=INTERVAL_S, fds=None, listen="localhost:0", env=None, by="comm"):
        self.dir = tempfile.TemporaryDirectory()
        self.json = os.path.join(self.dir.name, "json")
        self.by = by
        self.p = subprocess.Popen(
            [WS, "-s", "synth", "-b", by, "--listen", listen, "-o", f"json:{self.json}", "-i", str(interval), *args],
            stderr=subprocess.PIPE, text=True, pass_fds=fds or (), env={**os.environ, **UNQUARANTINED, **(env or {})})
        line = self.p.stderr.readline()
        where = re.search(r"serving http://127\.0\.0\.1:(\d+)/", line)
        self.port = int(where[1]) if where else None
        self.line = line
        while self.port and self.get("/healthz")[0] != 200:
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGINT)
        status = self.p.wait(20)
        words = self.p.stderr.read()
        self.p.stderr.close()
        self.dir.cleanup()
        if status or words:
            raise AssertionError(f"status {status}: {words}")

    def get(self, path, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
        r = c.getresponse()
        body = r.read()
        c.close()
        return r.status, r.getheader("Content-Type"), body

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def memory_kb(self):
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s*(\d+)", f.read())[1])

    def forget_peak(self):
        with open(f"/proc/{self.p.pid}/clear_refs", "w", encoding="ascii") as f:
            f.write("5")

    def peak_kb(self):
        with open(f"/proc/{self.p.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmHWM:\s*(\d+)", f.read())[1])

    def fds(self):
        """How many descriptors it has, once it has no client of ours from before any more."""
        n, same = -1, 0
        while same < 5:
            now = len(os.listdir(f"/proc/{self.p.pid}/fd"))
            same = same + 1 if now == n else 0
            n = now
            time.sleep(0.02)
        return n

    def settled_fds(self, want):
        end = time.monotonic() + 15
        while self.fds() != want and time.monotonic() < end:
            time.sleep(0.05)
        return self.fds()

    def intervals(self):
        with open(self.json, encoding="utf-8") as f:
            lines = [line for line in f if line.endswith("\n")]
        return [r for r in map(json.loads, lines) if r["type"] == "interval"]


def on_time(server, seen, what):
    late = sorted(r["dur_ns"] / 1e9 - INTERVAL_S for r in server.intervals()[seen:])
    assert late and late[len(late) // 2] < LATE_S and late[-1] < LATE_MOST_S, f"{what}: intervals were {late} s late"
    print(f"# {what}: {len(late)} intervals, the latest {late[-1] * 1000:.1f} ms late")


@contextlib.contextmanager
def unharmed(server, what, most_kb, sanitized_kb=20000):
    """Whatever clients do in there: no descriptor is left behind, memory has a bound at all times, reports are on time."""
    fds, seen = server.fds(), len(server.intervals())
    memory, most = server.memory_kb(), sanitized_kb if SANITIZED else most_kb
    server.forget_peak()
    yield
    assert server.settled_fds(fds) == fds, f"{what}: {server.fds()} descriptors, {fds} before"
    grown = server.peak_kb() - memory
    print(f"# {what}: {memory} KB of memory, at most {grown:+} KB")
    assert grown < most, f"{what}: {grown} KB more memory"
    on_time(server, seen, what)


@test
def counts_are_those_of_json():
    with Server() as s:
        time.sleep(3 * INTERVAL_S)
        status, kind, text = s.get("/metrics")
        assert status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8", (status, kind)
        got = {(x.name, frozenset(x.labels.items())): x.value
               for f in text_string_to_metric_families(text.decode()) for x in f.samples}
        at = got[("waitscope_report_timestamp_seconds", frozenset())]
        time.sleep(INTERVAL_S)
        kept = os.path.join(s.dir.name, "until")
        with open(s.json, encoding="utf-8") as f, open(kept, "w", encoding="utf-8") as to:
            for line in f:
                r = json.loads(line)
                if r["type"] == "interval" and moment_ns(r["ts"]) / 1e9 <= at + 1e-5:
                    to.write(line)
        truth = Truth(kept, s.by)
        assert abs(truth.end_ns / 1e9 - at) < 1e-5 and len(truth.hists) > 20
        for (name, labels), h in truth.hists.items():
            assert got[f"waitscope_{name}_seconds_count", labels] == h.count, (name, labels)
        for (name, labels), n in truth.counts.items():
            assert got[f"waitscope_{name}_total", labels] == n, (name, labels)


@test
def forms():
    with Server() as s:
        status, kind, data = s.get("/metrics", Accept=PROTO + ",text/plain;q=0.5")
        assert status == 200 and kind.replace(" ", "") == PROTO, kind
        names = {f.name for f in families(data)}
        _, kind, text = s.get("/metrics", Accept="text/plain;version=0.0.4," + PROTO + ";q=0.2")
        assert kind.startswith("text/plain") and names == set(re.findall(r"# TYPE (\S+)", text.decode()))
        assert s.get("/metrics/")[0] == s.get("/nothing")[0] == 404
        status, kind, text = s.get("/")
        assert status == 200 and kind.startswith("text/plain"), kind
        end = time.monotonic() + 20
        while b"Wakeup latency" not in text and time.monotonic() < end:
            time.sleep(INTERVAL_S)
            text = s.get("/")[2]
        assert b"Wakeup latency" in text and b"\x1b" not in text
        status, kind, page = s.get("/", Accept="text/html")
        assert kind.startswith("text/html") and b'href="/metrics"' in page and b"Wakeup latency" in page
        assert b"&lt;b&gt;&amp;amp;&lt;/b&gt;" in page and b"<b>" not in page  # a command's name of synth
        with s.connect() as c:
            c.sendall(b"HEAD /metrics HTTP/1.1\r\n\r\n")
            head = c.makefile("rb").read()
            assert head.endswith(b"\r\n\r\n") and b"200 OK" in head and b"Content-Length: 0" not in head
        with s.connect() as c:
            c.sendall(b"DELETE /metrics HTTP/1.1\r\n\r\n")
            assert b"405 " in c.makefile("rb").read()
        with s.connect() as c:  # byte by byte, and its side closed behind it
            for b in b"GET /healthz HTTP/1.0\r\n\r\n":
                c.send(bytes([b]))
            c.shutdown(socket.SHUT_WR)
            assert c.makefile("rb").read().endswith(b"\r\n\r\nok\n")


@test
def ten_thousand_scrapes():
    with Server() as s:
        for _ in range(200):
            s.get("/metrics")
        with unharmed(s, "10,000 scrapes", 4000):
            begun = time.monotonic()
            for i in range(10000):
                status, _, text = s.get("/metrics", Accept=PROTO if i % 2 else "text/plain")
                assert status == 200 and len(text) > 5000
            print(f"# 10,000 scrapes in {time.monotonic() - begun:.1f} s")


@test
def two_hundred_at_once():
    with Server() as s:
        gate, bad = threading.Barrier(200), []
        s.get("/metrics")

        def one():
            try:
                gate.wait(30)
                for _ in range(5):
                    status, _, text = s.get("/metrics")
                    if status != 200 or not text.endswith(b"\n"):
                        bad.append(status)
            except Exception as e:  # of a thread: to be told by the test
                bad.append(repr(e))

        threads = [threading.Thread(target=one) for _ in range(200)]
        with unharmed(s, "200 at once", 8000, 50000):
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert not bad, bad[:5]


@test
def half_open_ones():
    """More of them than there is room for; they go after a time, and meanwhile a scrape is served."""
    with Server() as s, unharmed(s, "half-open", 4000, 30000):
        fds = s.fds()
        silent = [s.connect() for _ in range(CLIENTS + 80)]
        for c in silent[: CLIENTS // 2]:
            c.sendall(b"GET /metrics HTTP/1.1\r\nHost: ")
        for _ in range(3):
            begun = time.monotonic()
            assert s.get("/metrics")[0] == 200
            took = time.monotonic() - begun
            print(f"# a scrape beside {len(silent)} half-open clients: {took:.2f} s")
            assert took < 5, took
        assert s.fds() <= fds + CLIENTS + 1, s.fds()
        time.sleep(11)  # LISTEN_TIME_S
        assert s.settled_fds(fds) == fds, s.fds()  # they have not gone by themselves
        for c in silent:
            c.close()


@test
def drops_of_a_request():
    """A byte now and then is not for ever: all of a request has its time; and a scrape beside them is served."""
    with Server() as s, unharmed(s, "drops", 4000, 30000):
        begun, gone, longest = time.monotonic(), {}, 0.0
        slow = [s.connect() for _ in range(50)]
        for c in slow:
            c.setblocking(False)
        while len(gone) < len(slow) and time.monotonic() - begun < 20:
            for i, c in enumerate(slow):
                with contextlib.suppress(BlockingIOError):
                    try:
                        c.send(b"G")
                        closed = not c.recv(1)
                    except (ConnectionError, BrokenPipeError):
                        closed = True
                    if closed:
                        gone.setdefault(i, time.monotonic() - begun)
            asked = time.monotonic()
            assert s.get("/metrics")[0] in (200, 503)
            longest = max(longest, time.monotonic() - asked)
            time.sleep(0.3)
        print(f"# a scrape beside {len(slow)} slow clients: at most {longest:.2f} s")
        assert len(gone) == len(slow) and 8 < min(gone.values()) and max(gone.values()) < 14, sorted(gone.values())
        assert longest < 5, longest
        for c in slow:
            c.close()


@test
def a_head_of_a_megabyte():
    with Server() as s:
        s.get("/metrics")
        with unharmed(s, "a head of 1 MB", 3000):
            for _ in range(50):
                with s.connect() as c, contextlib.suppress(OSError):
                    c.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n")
                    answer = c.makefile("rb").read()
                    assert not answer or b" 431 " in answer, answer[:100]
            assert s.get("/metrics")[0] == 200


@test
def who_does_not_read():
    """Asks, and takes nothing: it goes, and the reports it was given with it."""
    with Server() as s:
        s.get("/metrics")
        with unharmed(s, "who does not read", 8000, 50000):
            deaf = []
            fds = s.fds()
            for _ in range(100):
                c = socket.socket()
                c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                c.connect(("127.0.0.1", s.port))
                c.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                deaf.append(c)
                time.sleep(0.03)
            assert s.settled_fds(fds) == fds, s.fds()  # they have not gone by themselves
            for c in deaf:
                c.close()


@test
def without_descriptors():
    """As many as there are for all clients together: it waits, and goes on."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (40, limits[1]))
    try:
        s = Server()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with s:
        fds, seen = s.fds(), len(s.intervals())
        many = [s.connect() for _ in range(60)]
        time.sleep(1)
        with open(f"/proc/{s.p.pid}/stat", encoding="ascii") as f:
            before = sum(map(int, f.read().split()[13:15]))
        time.sleep(2)
        with open(f"/proc/{s.p.pid}/stat", encoding="ascii") as f:
            ticks = sum(map(int, f.read().split()[13:15])) - before
        assert ticks < 60, f"{ticks} ticks of CPU time in 2 s"
        for c in many:
            c.close()
        assert s.settled_fds(fds) == fds
        assert s.get("/metrics")[0] == 200
        on_time(s, seen, "no descriptors")


@test
def sockets_of_systemd():
    with socket.create_server(("127.0.0.1", 0)) as given:
        port = given.getsockname()[1]
        os.dup2(given.fileno(), 3) if given.fileno() != 3 else os.set_inheritable(3, True)
        run = ("import os, sys; os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); "
               "os.execv(sys.argv[1], sys.argv[1:])")
        p = subprocess.Popen([sys.executable, "-c", run, WS, "-s", "synth", "--listen", "systemd", "-i", "0.1", "-d", "3"],
                             pass_fds=(3,), stderr=subprocess.PIPE, text=True)
        assert f"serving http://127.0.0.1:{port}/" in p.stderr.readline()
        s = Server.__new__(Server)
        s.port = port
        end = time.monotonic() + 10
        while s.get("/metrics")[0] != 200 and time.monotonic() < end:
            time.sleep(0.05)
        assert s.get("/metrics")[0] == 200
        assert p.wait(20) == 0
        p.stderr.close()
    r = subprocess.run([WS, "-s", "synth", "--listen", "systemd"], capture_output=True, text=True, check=False,
                       env={**os.environ, "LISTEN_PID": "1", "LISTEN_FDS": "1"})
    assert r.returncode == 1 and "no sockets were handed over" in r.stderr, r.stderr


@test
def standard_output_is_others():
    """Alone it prints nothing; beside an output that one has its own; taken ports and wrong ones are errors."""
    r = subprocess.run([WS, "-q", "-s", "synth", "--listen", "0", "-i", "0.1", "-d", "0.3"], capture_output=True,
                       text=True, check=False)
    assert (r.returncode, r.stdout, r.stderr) == (0, "", ""), r
    r = subprocess.run([WS, "-q", "-s", "synth", "--listen", ":0", "-o", "csv", "-i", "0.1", "-d", "0.3"],
                       capture_output=True, text=True, check=False)
    assert r.returncode == 0 and r.stdout.startswith("type,seq"), r
    with Server() as s:
        r = subprocess.run([WS, "-s", "synth", "--listen", str(s.port), "-d", "1"], capture_output=True, text=True,
                           check=False)
        assert r.returncode == 1 and "in use" in r.stderr, r
    for wrong in ("x", "localhost:x", "1.2.3.4:99999", "host.example:80", "[::1", "1:2:3"):
        r = subprocess.run([WS, "-s", "synth", "--listen", wrong], capture_output=True, text=True, check=False)
        assert r.returncode == 2 and f"--listen '{wrong}'" in r.stderr, (wrong, r)
    r = subprocess.run([WS, "-s", "synth", "--listen", "systemd", "--", "true"], capture_output=True, text=True,
                       check=False)
    assert r.returncode == 2 and "COMMAND" in r.stderr, r


@test
def health():
    """Not before the first report, nor where they have stopped coming."""
    p = subprocess.Popen([WS, "-s", "synth", "--listen", "localhost:0", "-i", "1s", "-d", "3"], stderr=subprocess.PIPE,
                         text=True)
    s = Server.__new__(Server)
    s.port = int(re.search(r":(\d+)/", p.stderr.readline())[1])
    assert s.get("/healthz")[::2] == (503, b"no report yet\n") and s.get("/metrics")[0] == 503
    end = time.monotonic() + 2.5
    while s.get("/healthz")[0] != 200 and time.monotonic() < end:
        time.sleep(0.05)
    assert s.get("/healthz")[::2] == (200, b"ok\n") and s.get("/metrics")[0] == 200
    assert p.wait(20) == 0
    p.stderr.close()


tap.run(*TESTS)
