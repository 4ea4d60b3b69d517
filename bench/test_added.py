#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How `make bench` waits for a quiet machine, and how many rounds it takes, with looks and rounds made up. TAP."""
import os
import sys
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
import added  # noqa: E402
import machine  # noqa: E402
import stats  # noqa: E402
import tap  # noqa: E402

LOOK_S = 0.25  # added up without rounding
QUIET, WORK = 0.0, 0.5


def waits(limit_s, *times):
    """(Quiet, what it said) after it has waited once for each of `times`: what each look sees, in turn."""
    said = []
    quiet = added.Quiet(limit_s, 0, said.append)
    clock = 0.0
    for looks in times:
        left = iter(looks)

        def busy():
            nonlocal clock
            clock += LOOK_S
            return next(left)  # noqa: B023

        with mock.patch.object(machine, "busy", busy), mock.patch.object(machine.time, "monotonic", lambda: clock):
            quiet.wait()
        assert next(left, None) is None, "it looked less often than expected"
    return quiet, said


def test_looks():
    """looks at a quiet machine take nothing of the time to wait"""
    quiet, said = waits(1, *[[QUIET]] * 1000)
    assert (quiet.limit_s, quiet.noisy, said) == (1, 0, [])


def test_waits():
    """what is waited beyond a first look does"""
    quiet, _ = waits(1, [WORK, QUIET], [WORK, WORK, QUIET])
    assert (quiet.limit_s, quiet.noisy) == (1 - 3 * LOOK_S, 0)


def test_gives_up():
    """work that goes on is said, and counted; then there is no time left to wait"""
    quiet, said = waits(2 * LOOK_S, [WORK] * 4, [QUIET], [WORK] * 2)
    assert (quiet.limit_s, quiet.noisy) == (0, 2)
    assert said == ["machine not quiet: 50 % of its CPUs busy with other work"] * 2, said


def took_rounds(words):
    """How many rounds are taken, of 3 to 6, where the verdict after the n-th is words[n]."""
    return len(stats.enough(lambda: None, 3, 6, lambda done: words[len(done)]))


SPANS = stats.verdict({"value": 1.0, "low": 0.8, "high": 1.14}, 1.1)


def test_decided():
    """what is decided after the first rounds takes no more"""
    for words in "met", "missed", "not measured":
        assert took_rounds({3: words}) == 3, words


def test_undecided():
    """what is refused takes more, until it is decided, and no more than there may be"""
    assert took_rounds({3: SPANS, 4: SPANS, 5: "met"}) == 5
    assert took_rounds(dict.fromkeys(range(3, 7), SPANS)) == 6


tap.run(test_looks, test_waits, test_gives_up, test_decided, test_undecided)
