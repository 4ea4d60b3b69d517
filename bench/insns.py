#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions that the verifier walks, per program, against tests/expect/insns. TAP.

Growth of more than 10 % fails: 6.1 kernels give up at a million, and load time goes with it.
"""
import sys

import programs_cost as progs
from budgets import Budgets

HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# Instructions the verifier walks: kernel, BPF object, ways of use
# (bench/programs_cost.py), program, budget; a column for each compiler.
# `make check-insns` fails at growth of more than 10 %, `make update-insns` writes anew.
"""


if __name__ == "__main__":
    sys.exit(Budgets("insns", HEAD, "instructions", "update-insns", ways=2).main(progs.verified, lambda _key: 1.10))
