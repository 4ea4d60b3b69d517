# SPDX-License-Identifier: GPL-2.0-or-later
"""A Prometheus of one's own, instances of waitscope on made-up data that it hears of, and what `waitscope report`
says of the same waits.

Prometheus adds native histograms of schema 3; the records have schema 5. So counts are equal, and quantiles lie
within a bucket of schema 3 of each other.
"""
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "export"))
from truth import TOP, moment_ns  # noqa: E402

WS = os.path.abspath(os.path.join(os.environ.get("O", "build"), "waitscope"))
PROTO = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
METRIC = "waitscope_sched_wakeup_latency_seconds"
BUCKET = 2 ** (1 / 8) * 1.0001
QUANTILES = ("0.5", "0.99", "0.999")


class Instance:
    def __init__(self, d, i, *args):
        self.record = os.path.join(d, f"{i}.json")
        # Not in step with each other, so that their data differ; -b comm: a few groups, some with odd names.
        self.p = subprocess.Popen([WS, "-s", "synth", "-b", "comm", "--listen", "localhost:0", "-i", f"{0.7 + i % 13 / 20:.2f}",
                                   "-o", f"json:{self.record}", *args], stderr=subprocess.PIPE, text=True)
        self.target = re.search(r"http://([^/]*)/", self.p.stderr.readline())[1]

    def cut(self, after_s, until_s, to):
        """Its record of the reports after one until another, by when they ended as Prometheus has it: doubles, of
        whose Unix times microseconds are there. How many."""
        n = 0
        with open(self.record, encoding="utf-8") as f, open(to, "w", encoding="utf-8") as out:
            for line in f:
                if not line.endswith("\n"):
                    break
                kind, ts = re.match(r'\{"v":1,"type":"(\w+)"(?:,"seq":\d+,"ts":"([^"]+)")?', line).groups()
                if kind == "meta" or (kind == "interval" and after_s + 1e-6 < moment_ns(ts) / 1e9 <= until_s + 1e-6):
                    out.write(line)
                    n += kind == "interval"
        return n


class Scrapes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802 # http.server's name
        bodies = self.server.bodies
        self.send_response(200)
        self.send_header("Content-Type", PROTO.replace(";", "; "))
        self.end_headers()
        self.wfile.write(bodies.pop(0) if len(bodies) > 1 else bodies[0])

    def log_message(self, *_):
        pass


def serve(bodies):
    """Each scrape gets the next one, and the last for ever. Its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scrapes)
    server.handle_error = lambda *_: None  # who was cut off
    server.bodies = list(bodies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"127.0.0.1:{server.server_address[1]}"


def serve_empty(d):
    """A machine where nothing ever waited: its histograms have no sample."""
    to = os.path.join(d, "empty.pb")
    subprocess.run([WS, "report", "-q", os.path.join(TOP, "tests/golden/expected/empty.json"), "-o", f"prom-proto:{to}"], check=True)
    with open(to, "rb") as f:
        return serve([f.read()])


def empty_problems(prometheus, at, empty):
    """They are there, and are native ones, although there is no bucket to tell them by."""
    got = prometheus.ask(f'histogram_count({METRIC}{{instance="{empty}"}})', at)
    if [v for _, v in got] != [0]:
        yield str(got)


class Prometheus:
    def __init__(self, d, binary, config, *args):
        path = os.path.join(d, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(config, f)
        self.log = open(os.path.join(d, "log"), "w+", encoding="utf-8")
        self.p = subprocess.Popen(
            [binary, f"--config.file={path}", "--log.level=warn", f"--storage.tsdb.path={d}/tsdb",
             "--web.listen-address=127.0.0.1:0", *args], stdout=self.log, stderr=subprocess.STDOUT, cwd=d)
        self.url = f"http://127.0.0.1:{self.port()}"

    def port(self):
        """It does not say which one it got: the one socket that it listens on."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.p.poll() is None:
            fds = f"/proc/{self.p.pid}/fd"
            inodes = {os.readlink(os.path.join(fds, x))[8:-1] for x in os.listdir(fds)
                      if os.readlink(os.path.join(fds, x)).startswith("socket:")}
            for table in ("tcp", "tcp6"):
                with open(f"/proc/{self.p.pid}/net/{table}", encoding="ascii") as f:
                    for line in f:
                        w = line.split()
                        if len(w) > 9 and w[3] == "0A" and w[9] in inodes:
                            return int(w[1].split(":")[1], 16)
            time.sleep(0.2)
        raise RuntimeError(f"Prometheus does not listen: {self.said()[-400:]}")

    def said(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def results(self, query, at):
        args = {"query": query, **({"time": at} if at else {})}
        with urllib.request.urlopen(f"{self.url}/api/v1/query?{urllib.parse.urlencode(args)}", timeout=60) as r:
            return json.load(r)["data"]["result"]

    def ask(self, query, at=None):
        """[(labels, value)] of an instant vector of floats."""
        return [(x["metric"], float(x["value"][1])) for x in self.results(query, at) if "value" in x]

    def ends(self, query, at):
        """[(labels, first value, last value)] of a range of floats."""
        return [(x["metric"], float(x["values"][0][1]), float(x["values"][-1][1])) for x in self.results(query, at)]


def records_of(prometheus, instances, at, window, d, selector=""):
    """What the instances (by their label) had reported at the first and the last sample in the window; without one,
    from the start until the last. Their records, cut there, and how many reports are in each."""
    name = f"waitscope_report_timestamp_seconds{selector}"
    if window:
        ends = {m["instance"]: (a, b) for m, a, b in prometheus.ends(f"{name}[{window}]", at)}
    else:
        ends = {m["instance"]: (0, v) for m, v in prometheus.ask(name, at)}
    cuts = [os.path.join(d, f"cut{k}.json") for k in range(len(instances))]
    return cuts, [i.cut(*ends[label], c) for (label, i), c in zip(instances.items(), cuts)]


def end(*processes):
    for p in processes:
        p.terminate()
    for p in processes:
        p.wait(60)


def clean(text):
    return re.sub(r"[\x00-\x1f\x7f]", lambda c: f"\\x{ord(c[0]):02x}", text)


def group_of(labels):
    return labels.get("comm")


def merged(cuts):
    """By group: a metric of `waitscope report`, and its quantiles in seconds."""
    out = subprocess.run([WS, "report", "-q", *cuts, "-P", "50,99,99.9", "-o", "json"], capture_output=True, text=True, check=True)
    final = json.loads(out.stdout.splitlines()[-1])
    assert final["type"] == "final"
    rows = {}
    for m in final["metrics"]:
        if m["name"] == "sched_wakeup_latency" and "cpu" not in m["labels"]:
            rows[group_of({k: clean(v) for k, v in m["labels"].items()})] = (
                m, {q: m["p"][p] / 1e9 for q, p in zip(QUANTILES, ("50", "99", "99.9"))})
    return rows


def share_below(m, seconds):
    """Of a metric's samples, from its buckets: at most those of buckets that end below."""
    b = m["buckets"]
    n = b["zero"] + sum(c for k, c in enumerate(b["counts"]) if 2 ** ((b["offset"] + k) / 2 ** b["schema"]) <= seconds)
    return n / m["count"]


def count_problems(prometheus, at, query, rows):
    got = {group_of(m): v for m, v in prometheus.ask(f"histogram_count(sum by (comm) ({query}))", at)}
    want = {k: m["count"] for k, (m, _) in rows.items()}
    if got != want:
        yield f"{got}, not {want}"


def quantile_problems(prometheus, at, query, rows, what):
    """Of the sum of all instances, for each group: within a bucket, and of the right rank."""
    for q in QUANTILES:
        got = {group_of(m): v for m, v in prometheus.ask(f"histogram_quantile({q}, sum by (comm) ({query}))", at)}
        for key, (m, quantiles) in rows.items():
            low, high = share_below(m, got[key] / BUCKET), share_below(m, got[key] * BUCKET)
            if key is None:
                print(f"# {what}, {q}: {got[key]:.4g} s, merged records {quantiles[q]:.4g} s")
            if not (low <= float(q) <= high and 1 / BUCKET <= got[key] / quantiles[q] <= BUCKET):
                yield f"{what}: {key} {q}: {got[key]}, not {quantiles[q]}: rank between {low} and {high}"


def tell(results):
    """TAP of [(name, problems)]; the exit status."""
    bad = 0
    for n, (name, problems) in enumerate(results, 1):
        bad += bool(problems)
        print(f"{'not ' if problems else ''}ok {n} - {name}")
        for p in problems:
            print(f"# {p}")
    print(f"1..{len(results)}")
    return bool(bad)
