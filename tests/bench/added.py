# SPDX-License-Identifier: GPL-2.0-or-later
"""Added time per operation: all sides in turn, all loads of the group on each, round after round."""
import time

import machine
import stats
from sides import Failed


class Quiet:
    """Waits for a quiet machine, all in all limit_s; past that it only says so."""

    def __init__(self, limit_s, noisy, say):
        self.limit_s = limit_s
        self.noisy = noisy  # how often it was not
        self.say = say

    def wait(self):
        began = time.monotonic()
        try:
            machine.wait_quiet(self.limit_s)
        except machine.Noisy as e:
            self.noisy += 1
            self.say(str(e))
        self.limit_s = max(0, self.limit_s - (time.monotonic() - began))


class Group:
    """Sides and the loads they are compared under.

    refs: sides that the others are divided by. budgets: (load, side, divided by, at most, aim);
    divided by "none" means by the time without a tracer.
    """

    def __init__(self, sides, loads, refs, budgets=()):
        self.sides = sides
        self.loads = loads
        self.refs = refs
        self.budgets = budgets
        self.rounds = {name: [] for name, _, _ in loads}
        self.failed = {}  # side: why

    def side_once(self, side, results, say):
        if side.name in self.failed:
            return
        try:
            side.start()
            for name, _, load in self.loads:
                results[name][side.name] = load()
        except Failed as e:
            self.failed[side.name] = str(e)
            say("%s: %s" % (side.name, e))
        finally:
            side.finish()

    def run(self, rounds, quiet, quick):
        """Quick: no round to warm up, and a quiet machine waited for once a round, not before every side."""
        for i in range(0 if quick else -1, rounds):
            results = {name: {} for name in self.rounds}
            for k, side in enumerate(self.sides):
                if k == 0 or not quick:
                    quiet.wait()
                self.side_once(side, results, quiet.say)
            if i < 0:
                continue
            for name, row in results.items():
                self.rounds[name].append(row)
            quiet.say("%s: round %d of %d" % (self.loads[0][0], i + 1, rounds))

    def result(self):
        out = []
        for name, unit, _ in self.loads:
            rounds = self.rounds[name]
            row = {"load": name, "per": unit, "rounds": rounds, "refs": list(self.refs), "sides": {}}
            row["base_ns"] = stats.median([r["none"] for r in rounds])
            for side in self.sides[1:]:
                if side.name in self.failed:
                    continue
                row["sides"][side.name] = {
                    "added_ns": stats.added_interval(rounds, side.name),
                    "of_base": stats.base_interval(rounds, side.name),
                    "of": {ref: stats.ratio_interval(rounds, side.name, ref) for ref in self.refs},
                }
            out.append(row)
        return out

    def verdicts(self, noisy):
        out = []
        for load, side, to, limit, aim in self.budgets:
            if side in self.failed or to in self.failed:
                continue
            rounds = self.rounds[load]
            if to == "none":
                ratio = stats.base_interval(rounds, side)
            else:
                ratio = stats.ratio_interval(rounds, side, to)
            out.append({
                "what": "added time, %s: %s / %s" % (load, side, to),
                "value": ratio["value"],
                "limit": limit,
                "aim": aim,
                "verdict": "refused: machine not quiet" if noisy else stats.verdict(ratio, limit),
            })
        return out
