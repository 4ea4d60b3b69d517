#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions that the verifier walks, per program, against tests/expect/insns. TAP.

Growth of more than 10 % fails: 6.1 kernels give up at a million, and load time goes with it.
--update writes the file anew for the running kernel and keeps the rows of others.
"""
import os
import platform
import re
import sys

import programs_cost as progs
from sides import Failed

BUDGET = os.path.join(os.path.dirname(__file__), "..", "expect", "insns")
GROWTH = 1.10
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# Instructions the verifier walks: kernel, BPF object, way of use
# (tests/bench/programs_cost.py), program, budget.
# `make check-insns` fails at growth of more than 10 %, `make update-insns` writes anew.
"""


def kernel():
    return re.match(r"\d+\.\d+", platform.release()).group()


def read():
    rows = {}
    with open(BUDGET) as f:
        for line in f:
            if not line.startswith("#"):
                *key, insns = line.split()
                rows[tuple(key)] = int(insns)
    return rows


def write(rows):
    with open(BUDGET, "w") as f:
        f.write(HEAD)
        for key in sorted(rows):
            f.write("%s %s %s %s %d\n" % (*key, rows[key]))


def measured(build):
    return {(kernel(), *key): insns for key, insns in progs.verified(build).items()}


def judge(budget, now):
    """(ok, words) a row; a program without a budget, or a budget without a program, is no pass."""
    for key in sorted(set(now) | {k for k in budget if k[0] == kernel()}):
        name = "%s, %s: %s" % key[1:]
        if key not in budget:
            yield False, "%s: %d instructions, no budget (make update-insns)" % (name, now[key])
        elif key not in now:
            yield False, "%s: in the budget, not loaded (make update-insns)" % name
        else:
            words = "%s: %d instructions, budget %d" % (name, now[key], budget[key])
            yield now[key] <= budget[key] * GROWTH, words


def main():
    build = os.environ.get("O", "build")
    budget = read() if os.path.exists(BUDGET) else {}
    if sys.argv[1:] == ["--update"]:
        kept = {k: v for k, v in budget.items() if k[0] != kernel()}
        write({**kept, **measured(build)})
        return 0
    if os.geteuid() != 0:
        print("1..0 # SKIP instructions: BPF needs root")
        return 0
    if not any(k[0] == kernel() for k in budget):
        print("1..0 # SKIP instructions: no budget for kernel %s (make update-insns)" % kernel())
        return 0
    try:
        rows = list(judge(budget, measured(build)))
    except Failed as e:
        print("1..1\nnot ok 1 - programs loaded: waitscope %s" % e)
        return 1
    print("1..%d" % len(rows))
    for i, (ok, words) in enumerate(rows, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, words))
    return 0 if all(ok for ok, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
