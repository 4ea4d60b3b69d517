# SPDX-License-Identifier: GPL-2.0-or-later
"""Which sides are compared under which loads, and what the budgets (DESIGN section 8) say of it."""
import sides
import stats
from added import Budget, Group

EMPTY, SCHEME = "empty programs", "fsdist's scheme"
SCHED, DEFAULT, RUNQLAT = "waitscope -s sched", "waitscope", "runqlat"
WHY = "waitscope --why"
PIPE, TBENCH = "pipe, one CPU", "tbench, 2 clients"


def sched(build, loads, quick):
    return Group(
        sides.of_sched(build, quick),
        loads.sched(quick),
        (EMPTY, RUNQLAT),
        (
            Budget(PIPE, SCHED, RUNQLAT, 0.42, 1 / 3),
            Budget(PIPE, SCHED, EMPTY, 1.5, 1.2),
            Budget(PIPE, DEFAULT, SCHED, 1.15, 1),
            Budget(PIPE, WHY, DEFAULT, 1.6, 1.6),
            Budget(TBENCH, DEFAULT, RUNQLAT, 0.6, 0.6, stats.lost),
        ),
    )


def lookups(build, loads, quick):
    return Group(
        sides.of_lookups(build, quick),
        loads.lookups(),
        (EMPTY,),
        (Budget("extent status look-up", "waitscope -s ext4", EMPTY, 1.25, 1.25),),
    )


def writes(build, loads, quick):
    return Group(
        sides.of_writes(build, quick),
        loads.writes(),
        (EMPTY, SCHEME),
        (Budget("4 KiB pwrite", "waitscope -s ext4", SCHEME, 1, 1),),
    )


def mmapread(build, loads, quick):
    return Group(sides.of_mmapread(build, quick), loads.mmapread(), ())


def lock(build, loads, quick):
    return Group(sides.of_lock(build, quick), loads.lock(), (EMPTY,))


def futex(build, loads, quick):
    return Group(sides.of_futex(build, quick), loads.futex(), (EMPTY,))


def line(build, loads, quick):
    return Group(
        sides.of_line(build, quick),
        loads.line(),
        (EMPTY,),  # its budget: sampling.py
    )


GROUPS = {
    "sched": sched,
    "lookups": lookups,
    "writes": writes,
    "mmapread": mmapread,
    "lock": lock,
    "futex": futex,
    "line": line,
}
