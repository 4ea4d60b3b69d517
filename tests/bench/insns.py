#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions that the verifier walks, per program, against tests/expect/insns. TAP.

Growth of more than 10 % fails: 6.1 kernels give up at a million, and load time goes with it.
Each version of clang has budgets of its own, in a section of the file. --update writes those of the
running kernel and of the clang that made these objects anew, and keeps the others: that is how a
compiler is added.
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
# (tests/bench/programs_cost.py), program, budget; a section for each compiler.
# `make check-insns` fails at growth of more than 10 %, `make update-insns` writes anew.
"""


def kernel():
    return re.match(r"\d+\.\d+", platform.release()).group()


def compiler(build):
    """"clang14": what made the objects, by their debug information."""
    with open(os.path.join(build, "bpf", "sched.tmp.o"), "rb") as f:
        return "clang" + re.search(rb"clang version (\d+)\.", f.read()).group(1).decode()


def read():
    """{(compiler, kernel, object, way, program): budget}"""
    rows, section = {}, None
    with open(BUDGET) as f:
        for line in f:
            if line.startswith("["):
                section = line.strip("[]\n")
            elif not line.startswith("#"):
                *key, insns = line.split()
                rows[section, *key] = int(insns)
    return rows


def section_order(key):
    name = key[0]
    return int(re.search(r"\d+$", name).group()), key


def write(rows):
    section = None
    with open(BUDGET, "w") as f:
        f.write(HEAD)
        for key in sorted(rows, key=section_order):
            if key[0] != section:
                section = key[0]
                f.write("[%s]\n" % section)
            f.write("%s %s %s %s %d\n" % (*key[1:], rows[key]))


def measured(build):
    here = compiler(build), kernel()
    return {(*here, *key): insns for key, insns in progs.verified(build).items()}


def judge(budget, now, here):
    """(ok, words) a row; a program without a budget, or a budget without a program, is no pass."""
    for key in sorted(set(now) | {k for k in budget if k[:2] == here}):
        name = "%s, %s: %s" % key[2:]
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
    here = compiler(build), kernel()
    if sys.argv[1:] == ["--update"]:
        kept = {k: v for k, v in budget.items() if k[:2] != here}
        write({**kept, **measured(build)})
        return 0
    if os.geteuid() != 0:
        print("1..0 # SKIP instructions: BPF needs root")
        return 0
    if not any(k[:2] == here for k in budget):
        print("1..0 # SKIP instructions: no budget for %s on kernel %s (make update-insns)" % here)
        return 0
    try:
        rows = list(judge(budget, measured(build), here))
    except Failed as e:
        print("1..1\nnot ok 1 - programs loaded: waitscope %s" % e)
        return 1
    print("1..%d" % len(rows))
    for i, (ok, words) in enumerate(rows, 1):
        print("%s %d - %s" % ("ok" if ok else "not ok", i, words))
    return 0 if all(ok for ok, _ in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
