#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Records as others read them: DuckDB makes percentiles of the buckets; and what reading them costs. TAP."""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Skip, run  # noqa: E402

WS = os.path.join(os.environ.get("O", "build"), "waitscope")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "waitscope", "duckdb")


# ---- DuckDB ----

def has_duckdb(python):
    return not subprocess.run([python, "-c", "import duckdb"], stderr=subprocess.DEVNULL).returncode


def duckdb_python():
    """One that has it: ours, or that of an environment of its own, made the first time."""
    own = os.path.join(CACHE, "bin", "python")
    if has_duckdb(sys.executable):
        return sys.executable
    if not os.path.exists(own):
        subprocess.run([sys.executable, "-m", "venv", CACHE], stdout=subprocess.DEVNULL)
    if not os.path.exists(own):
        raise Skip("no duckdb: python3 cannot make a venv")
    if not has_duckdb(own):
        subprocess.run([own, "-m", "pip", "install", "-q", "--retries", "0", "--timeout", "20", "duckdb"],
                       stderr=subprocess.DEVNULL)
    if not has_duckdb(own):
        raise Skip("no duckdb: pip cannot install it")
    return own


# Each histogram of each report, and of each its buckets with how many samples are up to it.
BUCKETS = """
create table series as
	select row_number() over () id, * from (
		select json->>'$.type' report, unnest(cast(json->'$.metrics' as json[])) m
		from read_ndjson_objects(?) where json->>'$.type' in ('interval', 'final'))
	where json_exists(m, '$.buckets');
create table buckets as
	select id, (m->>'$.buckets.schema')::int s, (m->>'$.buckets.offset')::int + k - 1 bucket, n,
		(m->>'$.buckets.zero')::hugeint + sum(n::hugeint) over (partition by id order by k) upto
	from (select id, m, unnest(cast(m->'$.buckets.counts' as ubigint[])) n,
		generate_subscripts(cast(m->'$.buckets.counts' as ubigint[]), 1) k from series);
"""

# Nearest rank; the bucket's geometric middle, within [min, max].
PERCENTILE = """
with wanted as (
	select id, m, (m->>'$.count')::hugeint count, unnest(json_keys(m->'$.p')) p from series where (m->>'$.count')::hugeint > 0),
ranks as (
	select id, m, p, (m->'$.p'->>p)::ubigint told, (count * cast(p::decimal(18, 9) * 10000000 as hugeint) + 999999999) // 1000000000 rank
	from wanted)
select count(*), count(*) filter (where told != case when rank <= (m->>'$.buckets.zero')::hugeint then 0 else
	greatest((m->>'$.min')::ubigint, least((m->>'$.max')::ubigint, round(1e9 * pow(2, (
		select min(bucket) from buckets b where b.id = r.id and upto >= rank) / pow(2, (m->>'$.buckets.schema')::int)
		- 0.5 / pow(2, (m->>'$.buckets.schema')::int)))::ubigint)) end)
from ranks r;
"""

# Buckets of all intervals, added up, are those of the final report.
SUMS = """
with sums as (
	select report, m->>'$.name' name, m->>'$.labels' labels, bucket, sum(n)::hugeint n from buckets join series using (id)
	where n > 0 group by all)
select (select count(*) from sums where report = 'final'), count(*)
from (select * exclude (report) from sums where report = 'interval') i
full join (select * exclude (report) from sums where report = 'final') f using (name, labels, bucket)
where i.n is distinct from f.n;
"""

PROGRAM = """
import duckdb, sys
db = duckdb.connect()
db.execute("set enable_progress_bar = false")
for part in sys.argv[2].split(";")[:-1]:
    db.execute(part, [sys.argv[1]] if "?" in part else None)
for query in sys.argv[3:]:
    print(*db.execute(query).fetchone())
"""


def duckdb(path, *queries):
    out = subprocess.run([duckdb_python(), "-c", PROGRAM, path, BUCKETS, *queries], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return [tuple(map(int, line.split())) for line in out.splitlines()]


def record(path, *options):
    subprocess.run([WS, "-q", "-s", "synth", "-o", "json:" + path, *options], check=True)
    return path


def test_duckdb():
    """DuckDB makes the same percentiles of a record's buckets, and of its intervals the whole"""
    with tempfile.TemporaryDirectory() as tmp:
        for options in ([], ["--precision", "3", "-P", "12.5,99.999"], ["-b", "pid", "--precision", "6"]):
            path = record(os.path.join(tmp, "r.json.gz"), "-i", "50ms", "-d", "400ms", *options)
            (percentiles, other), (buckets, unequal) = duckdb(path, PERCENTILE, SUMS)
            print("# %d percentiles, %d buckets" % (percentiles, buckets))
            assert percentiles > 100 and buckets > 100, (percentiles, buckets)
            assert not other and not unequal, (options, other, unequal)


# ---- what it costs ----

GROUPS, WAITING, INTERVALS = 1000, 100, 900
MOST = 0.5, 8 # times json.loads(): to read, to compare


def histogram(rng):
    offset, counts = -560 + rng.randrange(40), [0] * rng.randrange(8, 40)
    for _ in range(rng.randrange(2, 20)):
        counts[rng.randrange(len(counts))] += 1
    counts[0] += 1
    counts[-1] += 1
    middles = [int(2 ** ((offset + i - 0.5) / 32) * 1e9) for i in range(len(counts))]
    low, high = middles[0], middles[-1]
    total = sum(n * m for n, m in zip(counts, middles))
    return ('"count":%d,"sum":%d,"min":%d,"max":%d,"p":{"50":%d,"90":%d,"99":%d,"99.9":%d},'
            '"buckets":{"schema":5,"zero":0,"offset":%d,"counts":[%s]}}'
            % (sum(counts), total, low, high, low, high, high, high, offset, ",".join(map(str, counts))))


def long_record(path, meta, interval, seed):
    """A quarter of an hour of a machine on which a tenth of many threads waits in each second."""
    rng = random.Random(seed)
    some = [histogram(rng) for _ in range(200)]
    head = dict(interval, dur_ns=10**9, tables={})
    del head["metrics"]
    with open(path, "w") as f:
        f.write(meta + "\n")
        for seq in range(1, INTERVALS + 1):
            head.update(seq=seq, mono_ns=seq * 10**9)
            rows = ['{"name":"sched_run_delay","unit":"ns","labels":{"pid":"%d","comm":"worker/%d"},%s' %
                    (1000 + g, g, rng.choice(some)) for g in rng.sample(range(GROUPS), WAITING)]
            f.write('%s,"metrics":[%s]}\n' % (json.dumps(head, separators=(",", ":"))[:-1], ",".join(rows)))
    return path


def used(*arguments):
    """CPU seconds, and MB."""
    pid = os.posix_spawn(WS, [WS, *arguments], os.environ)
    _, status, u = os.wait4(pid, 0)
    assert not status, status
    return u.ru_utime + u.ru_stime, u.ru_maxrss / 1024


def test_cost():
    """long records of 1,000 groups: read in half the time of json.loads(), compared in 200 MB

    A quarter was measured, and 1.5 times with json-c; a comparison 3 to 4 times, most of which does not
    depend on how long the records are.
    """
    with tempfile.TemporaryDirectory() as tmp:
        lines = open(record(os.path.join(tmp, "r"), "-b", "pid", "-i", "20ms", "-d", "60ms")).read().splitlines()
        interval = next(r for r in map(json.loads, lines) if r["type"] == "interval")
        paths = [long_record(os.path.join(tmp, n), lines[0], interval, n) for n in "ab"]
        out, took = os.path.join(tmp, "out"), []
        for _ in range(3):
            start = time.process_time()
            for path in paths:
                with open(path) as f:
                    for line in f:
                        json.loads(line)
            reference = time.process_time() - start
            # --last reads a file twice, and draws next to nothing.
            reading, _ = used("report", paths[0], "--last", "1", "-o", "json:" + out)
            comparing, largest = used("diff", *paths, "-o", "json:" + out)
            took.append((reading / reference, comparing / reference))
            if took[-1][0] < MOST[0] and took[-1][1] < MOST[1]: # else others were in the way, or it is slow
                break
        with open(out) as f:
            assert len({r["labels"]["pid"] for r in json.load(f)["rows"]}) == GROUPS
        print("# %d MB: read and compared in %s times json.loads(), %d MB of memory" %
              (sum(map(os.path.getsize, paths)) / 1e6, ", ".join("%.2f and %.2f" % t for t in took), largest))
        assert min(t[0] for t in took) < MOST[0], took
        assert min(t[1] for t in took) < MOST[1], took
        assert largest < 200, largest


if __name__ == "__main__":
    run(test_duckdb, test_cost)
