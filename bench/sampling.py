# SPDX-License-Identifier: GPL-2.0-or-later
"""What sampling the CPU clock takes of a CPU-bound loop, and how much of that is ours.

A loop that reads the clock sees every interrupt as a gap; longer gaps are others' turns and are left out,
so that this holds on a busy machine where the time of a whole loop does not. The sides alternate in every
round: no sampler, one with an empty program, waitscope.
"""
import json
import subprocess

import sides
import stats

EMPTY, OURS = "empty program", "waitscope -s line"
LIMIT, AIM = 0.02, 0.013
SETTLE_S = 1  # waitscope decodes what it sees for the first time


def gaps(build, seconds):
    run = subprocess.run([build + "/bench/gaps", str(seconds)], check=True, stdout=subprocess.PIPE, text=True)
    said = json.loads(run.stdout)
    return {"lost": said["lost_ns"] / said["own_ns"], "a_second": said["gaps"] / said["own_ns"] * 1e9,
            "gap_ns": said["p50_ns"]}


def once(build, side, seconds):
    side.start()
    try:
        if side.command:
            gaps(build, SETTLE_S)
        return gaps(build, seconds)
    finally:
        side.finish()


def all_sides(build):
    return {
        "none": sides.Side("none", None),
        EMPTY: sides.attached(build, EMPTY, "empty_line"),
        OURS: sides.own(build, "-s", "line", "--line-source", "clock"),
    }


def summary(rounds, name):
    lost = [{side: r[side]["lost"] for side in r} for r in rounds]
    return {
        "side": name,
        "a_second": stats.median([r[name]["a_second"] for r in rounds]),
        "gap_ns": stats.median([r[name]["gap_ns"] for r in rounds]),
        "lost": stats.median([r[name] for r in lost]),
        "added": stats.added_interval(lost, name),
        "of_empty": stats.ratio_interval(lost, name, EMPTY),
    }


def measure(build, rounds, rounds_max, seconds):
    some = all_sides(build)
    done = stats.enough(lambda: {name: once(build, side, seconds) for name, side in some.items()},
                        rounds, rounds_max, lambda done: stats.verdict(summary(done, OURS)["added"], LIMIT))
    return {"rounds": len(done), "seconds": seconds, "raw": done, "sides": [summary(done, name) for name in some]}


def verdicts(result):
    ours = next(row for row in result["sides"] if row["side"] == OURS)
    return [{
        "what": "time of a CPU-bound loop that sampling takes at 997 Hz",
        "value": ours["added"]["value"],
        "limit": LIMIT,
        "aim": AIM,
        "verdict": stats.verdict(ours["added"], LIMIT),
    }]
