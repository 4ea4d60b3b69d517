# SPDX-License-Identifier: GPL-2.0-or-later
"""Quantiles with spread, and when a difference may be called one."""
import random
import statistics

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 4  # the same rounds give the same interval


def median(values):
    return statistics.median(values)


def low(values, part=0.25):
    """A low quantile: disturbances only ever add time."""
    ordered = sorted(values)
    return ordered[int(part * (len(ordered) - 1))]


def interval(rounds, estimate):
    """estimate(rounds), and the bounds it keeps when the rounds are drawn again (bootstrap)."""
    rng = random.Random(SEED)
    draws = []
    for _ in range(RESAMPLES):
        value = estimate([rng.choice(rounds) for _ in rounds])
        if value is not None:
            draws.append(value)
    point = estimate(rounds)
    if point is None or len(draws) < RESAMPLES * CONFIDENCE:
        return {"value": point, "low": None, "high": None}
    draws.sort()
    cut = int(len(draws) * (1 - CONFIDENCE) / 2)
    return {"value": point, "low": draws[cut], "high": draws[-1 - cut]}


def took(rounds, side):
    """Time per operation of a side: the lower quartile of its rounds. None: it never ran."""
    times = [r[side] for r in rounds if side in r]
    return low(times) if times else None


def added(rounds, side):
    """What `side` adds to `none`."""
    base, with_it = took(rounds, "none"), took(rounds, side)
    return None if base is None or with_it is None else with_it - base


def lost(rounds, side):
    """The part of the throughput that `side` takes."""
    base, with_it = took(rounds, "none"), took(rounds, side)
    return None if base is None or with_it is None else 1 - base / with_it


def added_interval(rounds, side):
    return interval(rounds, lambda some: added(some, side))


def ratio_interval(rounds, side, to, of=added):
    """of(side) / of(to); not there where `to` adds nothing measurable."""

    def estimate(some):
        top, bottom = of(some, side), of(some, to)
        if top is None or not bottom or bottom <= 0:
            return None
        return top / bottom

    return interval(rounds, estimate)


def base_interval(rounds, side):
    """added(side) / time without a tracer."""

    def estimate(some):
        top = added(some, side)
        return None if top is None else top / took(some, "none")

    return interval(rounds, estimate)


def of_values(pairs):
    """Median of first / second, with its interval."""
    return interval(pairs, lambda some: median([a / b for a, b in some]))


def undecided(words):
    """More rounds could tell."""
    return words.startswith("refused")


def enough(one_round, rounds, rounds_max, verdict_of):
    """What each round gave: `rounds` of them, then as many as verdict_of(all so far) needs, rounds_max at most."""
    done = [one_round() for _ in range(rounds)]
    while len(done) < rounds_max and undecided(verdict_of(done)):
        done.append(one_round())
    return done


def verdict(ratio, limit):
    """"met", "missed", or why neither can be said."""
    if ratio["value"] is None:
        return "not measured"
    if ratio["low"] is None or ratio["high"] <= 0:
        return "refused: noise hides the difference"
    if ratio["high"] <= limit:
        return "met"
    if ratio["low"] > limit:
        return "missed"
    return "refused: %.2f to %.2f spans the limit" % (ratio["low"], ratio["high"])
