#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make bench: what waitscope costs and how exact it is, beside its peers, in one run.

	bench.py [quick]	prints tables; writes them and results.json to $O/bench
"""
import json
import os
import sys

import exact
import held
import loader
import machine
import programs_cost
import table
from added import Added
from loads import LoadGroup, Loads, CGROUP
from sides import PerfSched, all_sides

ROUNDS, QUICK_ROUNDS = 7, 3
QUIET_S, QUICK_QUIET_S = 120, 2  # waited for all in all


def say(words):
    print(words, file=sys.stderr, flush=True)


def check_place(quick):
    if os.geteuid() != 0:
        sys.exit("bench: error: BPF needs root (run it as root)")
    others = machine.other_tracers()
    if others:
        say("machine not quiet: others trace it (%s)" % " ".join(others))
    if (os.cpu_count() or 1) < 2:
        sys.exit("bench: error: 1 CPU, expected 2 or more (tracer and load are kept apart)")
    return len(others)


def measure(build, quick):
    noisy = check_place(quick)
    if not quick:
        machine.install_missing()
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with LoadGroup():
        sides = all_sides(build, CGROUP, quick)
        loads = Loads(build, quick).table(quick)
        cost = Added(sides, loads, QUICK_QUIET_S if quick else QUIET_S, say)
        cost.noisy = noisy
        cost.run(rounds)
    perf = [s for s in sides if isinstance(s, PerfSched) and s.name not in cost.failed]
    result = {
        "machine": machine.facts(),
        "quick": quick,
        "rounds": rounds,
        "noisy": cost.noisy,
        "added": cost.result(),
        "failed": cost.failed,
        "perf_ran": bool(perf),
        "perf_lost": sum(s.lost for s in perf),
        "verdicts": cost.verdicts(),
    }
    say("exactness")
    result["exact"] = exact.measure(build, 1 if quick else 5)
    say("loader")
    result["loader"] = loader.measure(build, 3 if quick else 20)
    say("growth")
    result["growth"] = loader.growth(build, quick)
    result["verdicts"] += loader.growth_verdicts(result["growth"])
    say("programs")
    result["programs"] = programs_cost.ns_per_event(build, 3 if quick else 12)
    say("load held")
    result["held"] = held.measure(build, 4 if quick else 30)
    for part in (exact, loader, held):
        result["verdicts"] += part.verdicts(result[part.__name__])
    return result


def main():
    if sys.argv[1:] not in ([], ["quick"]):
        sys.exit("usage: bench.py [quick]")
    machine.extend_path()
    build = os.path.abspath(os.environ.get("O", "build"))
    result = measure(build, sys.argv[1:] == ["quick"])
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
