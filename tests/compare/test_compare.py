#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparing runs, against a bootstrap of its own in numpy, and against what is known of made-up runs. TAP.

A made-up run: waits of an interval are log-normal, and the intervals' level is a first-order
autoregressive series, as load is: an interval is like the one before it.
"""
import functools
import json
import math
import os
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    if "WS_SYSTEM_PYTHON" not in os.environ:  # the distribution's has it, if another comes first
        os.environ["WS_SYSTEM_PYTHON"] = "1"
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    raise

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

PAIRS = os.path.join(os.environ.get("O", "build"), "tests", "compare", "pairs")
SCHEMA = 5
INDEX = np.arange(-640, -200)  # 1 us to 13 ms, in seconds
UPPER = 2.0 ** (INDEX / 2**SCHEMA) * 1e9  # ns
MIDDLE = UPPER * 2.0 ** (-0.5 / 2**SCHEMA)
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
NS = 1_000_000_000
NOISE = 1.03


def normal_cdf(x):
    return np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in x])


SHARES = {}


def shares(level, tail):
    """Of each bucket: waits log-normal around 20 us; the longest 5 % `tail` times as long."""
    key = round(level, 3), tail
    if key not in SHARES:
        z = (np.log(UPPER) - math.log(20000) - key[0]) / 0.8
        cdf = normal_cdf(z)
        if tail != 1:
            longer = normal_cdf(z - math.log(tail) / 0.8)
            cdf = np.where(z > 1.645, np.where(longer > 0.95, longer, 0.95), cdf)
        cdf = np.maximum.accumulate(cdf)
        cdf[-1] = 1
        SHARES[key] = np.diff(cdf, prepend=0)
    return SHARES[key]


def made_up_run(rng, intervals=60, waits=20000, phi=0.6, spread=0.1, tail=1, shift=0):
    """[interval][bucket] counts"""
    level = rng.normal(0, spread)
    counts = []
    for _ in range(intervals):
        counts.append(rng.multinomial(rng.poisson(waits), shares(level + shift, tail)))
        level = phi * level + rng.normal(0, spread * math.sqrt(1 - phi * phi))
    return np.array(counts)


def text_of(side, runs):
    lines = ["side " + side]
    for run in runs:
        lines.append("run")
        for counts in run:
            full = np.flatnonzero(counts)
            total = int(np.rint(counts @ MIDDLE))
            low, high = (MIDDLE[full[0]], MIDDLE[full[-1]]) if len(full) else (0, 0)
            lines.append("interval %d %d %d %d %s" % (
                NS, total, low, high, " ".join(map("%d:%d".__mod__, zip(INDEX[full].tolist(), counts[full].tolist())))))
    return lines


def compared(pairs):
    """pairs: of lists of runs"""
    lines = []
    for base, new in pairs:
        lines += text_of("base", base) + text_of("new", new) + ["pair"]
    out = subprocess.run([PAIRS], input="\n".join(lines) + "\n", text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


# ---- the same, in another way ----

def log_quantile(cumulative, share):
    """Of each row of cumulative counts: within the bucket by how far into it the quantile reaches."""
    rank = share * cumulative[:, -1]
    at = (cumulative < rank[:, None]).sum(axis=1)
    rows = np.arange(len(cumulative))
    upto = cumulative[rows, at]
    below = np.where(at > 0, cumulative[rows, np.maximum(at - 1, 0)], 0)
    return np.log(UPPER[at]) - (1 - (rank - below) / (upto - below)) * math.log(2) / 2**SCHEMA


def statistic(name, totals):
    if name in QUANTILES:
        return log_quantile(np.cumsum(totals, axis=1), QUANTILES[name])
    waits, sums = totals.sum(axis=1), totals @ MIDDLE
    if name == "mean":
        return np.log(sums / waits)
    return np.log(waits if name == "rate" else sums)


def resampled(rng, run, block, resamples=2000):
    """Histograms, added up: what compare.c does without."""
    n = len(run)
    starts = rng.integers(0, n - block + 1, size=(resamples, -(-n // block)))
    drawn = starts[:, :, None] + np.arange(block) + n * np.arange(resamples)[:, None, None]
    weights = np.bincount(drawn.ravel(), minlength=resamples * n).reshape(resamples, n).astype(float)
    return weights * (n / weights.sum(axis=1)[:, None]) @ run.astype(float)


STEPS = np.linspace(0, 60, 600001)


@functools.lru_cache(maxsize=None)
def student_quantile(p, df):
    """By adding up the density: no tables, no series."""
    t = STEPS
    density = (1 + t * t / df) ** (-(df + 1) / 2)
    area = np.cumsum(density)
    return t[np.searchsorted(area / area[-1], 2 * p - 1)]


def dependence(run):
    """Of each statistic: how many intervals depend on each other, by batch means."""
    total = run.sum(axis=0)
    waits, sums = run.sum(axis=1), run @ MIDDLE
    pulls = {"rate": waits, "sum": sums, "mean": sums - sums.sum() / waits.sum() * waits}
    for name, share in QUANTILES.items():
        at = np.searchsorted(total.cumsum(), share * total.sum())
        pulls[name] = run[:, :at + 1].sum(axis=1) - share * waits
    m = int(math.sqrt(len(run)))
    batches = {n: x[:len(x) // m * m].reshape(-1, m).mean(axis=1) for n, x in pulls.items()}
    return {n: max(1, m * batches[n].var(ddof=1) / x.var(ddof=1)) for n, x in pulls.items()}


def interval(pair, drawn, blocks, name):
    """pair: of runs; drawn: what was resampled of each."""
    logs, spread, true, units = [], [], [], []
    for run, totals, block in zip(pair, drawn, blocks):
        x = statistic(name, totals)
        logs.append(x)
        units.append(len(run) / block)
        spread.append(x.var(ddof=1))
        depends = dependence(run)
        longest = max(depends.values())
        assert block == min(math.ceil(2 * longest), len(run) // 6), (block, longest)
        t = depends[name]
        seen = max(1 - (t - 1 / t) / 2 / block, 0.3)
        true.append(spread[-1] / seen * units[-1] / (units[-1] - 1))
    df = sum(true) ** 2 / sum(v * v / (u - 1) for v, u in zip(true, units))
    reach = math.sqrt(sum(true) / sum(spread)) * student_quantile(0.975, df)
    tail = 0.5 * math.erfc(reach / math.sqrt(2))
    return np.exp(np.quantile(logs[1] - logs[0], [tail, 1 - tail]))


# ---- tests ----

def test_agrees():
    """intervals are those of a bootstrap in numpy that adds up histograms"""
    rng = np.random.default_rng(1)
    pairs = [(made_up_run(rng, waits=2000), made_up_run(rng, waits=2000, tail=1 + 0.1 * i))
             for i in range(4)]
    for (base, new), got in zip(pairs, compared([([b], [n]) for b, n in pairs])):
        drawn = []
        for seed in range(6):
            draw = np.random.default_rng(seed)
            drawn.append([resampled(draw, run, block) for run, block in zip((base, new), got["blocks"])])
        for name, stat in got["stats"].items():
            own = np.log([interval((base, new), d, got["blocks"], name) for d in drawn])
            off = np.abs(np.log(stat["ci"]) - own.mean(axis=0))
            bound = 5 * own.std(axis=0, ddof=1) + 0.002
            assert (off < bound).all(), (name, stat, np.exp(own.mean(axis=0)), bound)
            point = [statistic(name, run.sum(axis=0, keepdims=True)[:1])[0] for run in (base, new)]
            assert abs(math.log(stat["ratio"]) - (point[1] - point[0])) < 1e-3, (name, stat)


def kolmogorov_smirnov(base, new):
    """p < 0.05? On the buckets, which makes it smaller, if anything."""
    a, b = (run.sum(axis=0).cumsum() for run in (base, new))
    return np.abs(a / a[-1] - b / b[-1]).max() > 1.358 * math.sqrt(1 / a[-1] + 1 / b[-1])


def different(results, name=None):
    """How many have a verdict of slower or faster, in `name` or in anything."""
    return sum(any(s["verdict"] in ("slower", "faster") for n, s in r["stats"].items()
                   if name in (None, n)) for r in results)


def test_same():
    """400 pairs of equal runs: at most 8 % called different; Kolmogorov-Smirnov calls nearly all so"""
    rng = np.random.default_rng(2)
    pairs = [(made_up_run(rng), made_up_run(rng)) for _ in range(400)]
    results = compared([([b], [n]) for b, n in pairs])
    wrong, by_test = different(results), sum(kolmogorov_smirnov(b, n) for b, n in pairs)
    p99 = different(results, "p99")
    print("# called different: %d of 400 in anything, %d in p99; by Kolmogorov-Smirnov %d" %
          (wrong, p99, by_test))
    assert wrong <= 32, wrong
    assert by_test >= 340, by_test


def test_dependent():
    """... also where intervals depend on each other for longer, or not at all"""
    for seed, phi in (3, 0.8), (4, 0):
        rng = np.random.default_rng(seed)
        results = compared([([made_up_run(rng, phi=phi)], [made_up_run(rng, phi=phi)])
                            for _ in range(200)])
        wrong = different(results)
        print("# phi %.1f: %d of 200" % (phi, wrong))
        assert wrong <= 16, (phi, wrong)


def test_found():
    """a p99 that is 20 % longer is found in 90 % of the pairs, at 60 intervals"""
    rng = np.random.default_rng(5)
    results = compared([([made_up_run(rng)], [made_up_run(rng, tail=1.2)]) for _ in range(200)])
    slower = [r["stats"]["p99"]["verdict"] for r in results].count("slower")
    print("# p99 slower: %d of 200" % slower)
    assert slower >= 180, slower
    ratios = [r["stats"]["p99"]["ratio"] for r in results]
    assert abs(np.median(ratios) - 1.2) < 0.03, np.median(ratios)


def test_runs():
    """of several runs the runs are drawn: four that differ among themselves are no difference"""
    rng = np.random.default_rng(6)

    def side(shift, n):
        return [made_up_run(rng, waits=2000, intervals=20, shift=shift + rng.normal(0, 0.1))
                for _ in range(n)]

    results = compared([(side(0, 4), side(0, 4)) for _ in range(100)])
    wrong = different(results)
    print("# equal, four runs a side: %d of 100" % wrong)
    assert wrong <= 8, wrong
    results = compared([(side(0, 6), side(0.4, 6)) for _ in range(30)])
    slower = [r["stats"]["p50"]["verdict"] for r in results].count("slower")
    print("# half as long again, six runs a side: %d of 30" % slower)
    assert slower >= 27, slower
    few = compared([(side(0, 3), side(1, 3))])[0]
    assert few["few_runs"] and few["stats"]["p50"]["verdict"] == "undecided", few


def test_long():
    """an hour is joined into cells, and says what its intervals say"""
    rng = np.random.default_rng(7)
    base, new = (made_up_run(rng, intervals=3600, waits=500, tail=t) for t in (1, 1.1))
    got = compared([([base], [new])])[0]["stats"]
    for name, stat in got.items():
        point = [statistic(name, run.sum(axis=0, keepdims=True))[0] for run in (base, new)]
        assert abs(math.log(stat["ratio"]) - (point[1] - point[0])) < 1e-3, (name, stat)
    assert got["p99"]["verdict"] == "slower" and got["p50"]["verdict"] == "same", got


if __name__ == "__main__":
    tap.run(test_agrees, test_same, test_dependent, test_found, test_runs, test_long)
