# SPDX-License-Identifier: GPL-2.0-or-later
"""Do the stacks that `lock` takes make the waits longer that it measures? A pipe's mutex, as reported.

Stacks are taken where a wait ends, but what a CPU does there holds up the next. The sides alternate;
each round is a run of its own.
"""
import sides
import stats
from loads import Begun

JUDGED = "1 in 100"
EVERY = (("the first", "0"), (JUDGED, "100"), ("each, as far as lock.bpf.c bounds them", "1"))
LIMIT = 1.1  # of the p50 with the fewest stacks
WAITS_MIN = 300  # fewer say nothing
WHAT = "p50 of a pipe's mutex: stack of 1 wait in 100 / of the first"


def mutex(final):
    """The row of the mutex that was waited for most; None where nobody waited: a short run on a busy machine."""
    rows = [r for r in final["tables"]["contended"] if r["kind"] == "mutex" and not r["other"]]
    return max(rows, key=lambda r: r["count"], default=None)


def once(build, every, ms):
    load = Begun([build + "/tests/load/locks", "pipe", "2", str(ms)])
    tool = sides.own(build, "-s", "lock", "-p", str(load.pid), "--stack-every", every)
    try:
        tool.start()
        load.begin()
        load.end()
    finally:
        load.process.kill()
        tool.finish()
    row = mutex(tool.final)
    if not row or row["count"] < WAITS_MIN:
        return None
    return {"count": row["count"], "p50": row["wait_ns"]["p"]["50"], "p90": row["wait_ns"]["p"]["90"]}


def one_round(build, ms):
    """{stacks: figures}, or None where a side had too few waits to compare."""
    row = {name: once(build, every, ms) for name, every in EVERY}
    return row if all(row.values()) else None


def side(rounds, name):
    first = EVERY[0][0]
    return {
        "stacks": name,
        "waits": stats.median([r[name]["count"] for r in rounds]),
        "p50_ns": stats.median([r[name]["p50"] for r in rounds]),
        "p90_ns": stats.median([r[name]["p90"] for r in rounds]),
        "of_first": stats.of_values([(r[name]["p50"], r[first]["p50"]) for r in rounds]),
    }


def summary(done):
    compared = [r for r in done if r]
    return {
        "rounds": len(done),
        "compared": len(compared),
        "sides": [side(compared, name) for name, _ in EVERY] if compared else [],
    }


def judged(result):
    """The interval that the verdict is of."""
    rows = [row["of_first"] for row in result["sides"] if row["stacks"] == JUDGED]
    return rows[0] if rows else {"value": None}


def measure(build, rounds, rounds_max, ms):
    return summary(stats.enough(lambda: one_round(build, ms), rounds, rounds_max,
                                lambda done: stats.verdict(judged(summary(done)), LIMIT)))


def verdicts(result, noisy):
    ratio = judged(result)
    return [{
        "what": WHAT,
        "value": ratio["value"],
        "limit": LIMIT,
        "verdict": "refused: machine not quiet" if noisy else stats.verdict(ratio, LIMIT),
    }]
