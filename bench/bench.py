#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench: what waitscope costs and how exact it is, beside its peers, in one run.

	bench.py [quick] [PART...]	prints tables; writes them and results.json to $O/bench

Parts, all of them if none is named: the groups of groups.py, then exact loader memory naming growth programs
inflation sampling held.
"""
import json
import os
import sys

import exact
import held
import inflation
import loader
import machine
import memory
import naming
import programs_cost
import sampling
import table
from added import Quiet
from groups import GROUPS
from loads import LoadGroup, Loads
from place import Place
from sides import PerfSched

import harness  # tests/kernel, which place has put on the path

ROUNDS, QUICK_ROUNDS = 7, 2
ROUNDS_MAX = 40  # of what no verdict can be given on before
QUIET_S, QUICK_QUIET_S = 120, 1  # waited for all in all


def say(words):
    print(words, file=sys.stderr, flush=True)


def check_place():
    if os.geteuid() != 0:
        sys.exit("bench: error: BPF needs root (run it as root)")
    others = machine.other_tracers()
    if others:
        say("machine not quiet: others trace it (%s)" % " ".join(others))
    if (os.cpu_count() or 1) < 2:
        sys.exit("bench: error: 1 CPU, expected 2 or more (tracer and load are kept apart)")
    return len(others)


def compare(build, place, quick, parts, quiet, rounds):
    """Added times, group by group."""
    loads = Loads(build, place, quick)
    groups = [make(build, loads, quick) for name, make in GROUPS.items() if name in parts]
    with LoadGroup():
        for group in groups:
            group.run(rounds, rounds if quick else ROUNDS_MAX, quiet, quick)
    failed = {side: why for g in groups for side, why in g.failed.items()}
    perf = [s for g in groups for s in g.sides if isinstance(s, PerfSched) and s.name not in failed]
    return {
        "added": [row for g in groups for row in g.result()],
        "failed": failed,
        "perf_ran": bool(perf),
        "perf_lost": sum(s.lost for s in perf),
        "noisy": quiet.noisy,
        "verdicts": [v for g in groups for v in g.verdicts(quiet.noisy > 0)],
    }


def rounds_of(quick):
    """How many rounds, and how many at most."""
    return (QUICK_ROUNDS, QUICK_ROUNDS) if quick else (9, ROUNDS_MAX)


def inflated(build, quick, quiet):
    with LoadGroup():
        rows = inflation.measure(build, *rounds_of(quick), 300 if quick else 1000)
    return rows, inflation.verdicts(rows, quiet.noisy > 0)


def grown(build, quick):
    rows = loader.growth(build, quick)
    group_kb = {output: memory.group_kb(build, output) for output in ("table", "json")}
    return rows, loader.growth_verdicts(rows, group_kb)


def judged(result, part):
    return result, part.verdicts(result)


def others(build, place, quick, quiet):
    """{part: what gives (result, verdicts)}"""
    return {
        "exact": lambda: judged(exact.measure(build, 1 if quick else 5), exact),
        "loader": lambda: judged(loader.measure(build, 1 if quick else 20), loader),
        "memory": lambda: judged(memory.measure(build), memory),
        "naming": lambda: judged(naming.measure(build), naming),
        "growth": lambda: grown(build, quick),
        "programs": lambda: (programs_cost.ns_per_event(build, place, quick), []),
        "inflation": lambda: inflated(build, quick, quiet),
        "sampling": lambda: judged(sampling.measure(build, *rounds_of(quick), 1 if quick else 3), sampling),
        "held": lambda: judged(held.measure(build, 3 if quick else 30), held),
    }


OTHERS = ("exact", "loader", "memory", "naming", "growth", "programs", "inflation", "sampling", "held")


def measure(build, quick, parts):
    quiet = Quiet(QUICK_QUIET_S if quick else QUIET_S, check_place(), say)
    if not quick:
        machine.install_missing()
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with Place() as place:
        result = {"machine": machine.facts(), "quick": quick, "rounds": rounds}
        result.update(compare(build, place, quick, parts, quiet, rounds))
        for part, run in others(build, place, quick, quiet).items():
            if part not in parts:
                continue
            say(part)
            result[part], verdicts = run()
            result["verdicts"] += verdicts
    return result


def chosen(words):
    known = (*GROUPS, *OTHERS)
    for word in words:
        if word not in known:
            sys.exit("bench: error: '%s': expected quick or one of %s" % (word, " ".join(known)))
    return words or known


def main():
    quick = sys.argv[1:2] == ["quick"]
    parts = chosen(sys.argv[2 if quick else 1:])
    harness.interruptible()
    machine.extend_path()
    build = os.path.abspath(os.environ.get("O", "build"))
    result = measure(build, quick, parts)
    with open(build + "/bench/results.json", "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    page = table.page(result)
    with open(build + "/bench/results.md", "w") as f:
        f.write(page)
    print(page, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
