# SPDX-License-Identifier: GPL-2.0-or-later
"""Added time per operation: all sides in turn, all loads on each, round after round."""
import time

import machine
import stats
from sides import Failed

BUDGETS = (  # DESIGN section 8: side, compared with, at most, aim
    ("waitscope", "runqlat", 1 / 3, 1 / 5),
    ("waitscope", "empty programs", 2, 1.25),
)
BUDGET_LOAD = "pipe, one CPU"


class Added:
    def __init__(self, sides, loads, quiet_s, say):
        self.sides = sides
        self.loads = loads
        self.quiet_s = quiet_s
        self.say = say
        self.rounds = {name: [] for name, _, _, _ in loads}
        self.failed = {}  # side: why
        self.noisy = 0

    def quiet(self):
        """Waits for a quiet machine, all in all quiet_s; past that it only says so."""
        began = time.monotonic()
        try:
            machine.wait_quiet(self.quiet_s)
        except machine.Noisy as e:
            self.noisy += 1
            self.say(str(e))
        self.quiet_s = max(0, self.quiet_s - (time.monotonic() - began))

    def side_once(self, side, results):
        if side.name in self.failed:
            return
        self.quiet()
        try:
            side.start()
            for name, _, load, _ in self.loads:
                results[name][side.name] = load()
        except Failed as e:
            self.failed[side.name] = str(e)
            self.say("%s: %s" % (side.name, e))
        finally:
            side.finish()

    def run(self, rounds):
        for i in range(-1, rounds):  # the first warms up and finds what fails
            results = {name: {} for name in self.rounds}
            for side in self.sides:
                self.side_once(side, results)
            if i < 0:
                continue
            for name, row in results.items():
                self.rounds[name].append(row)
            self.say("round %d of %d" % (i + 1, rounds))

    def result(self):
        out = []
        for name, unit, _, _ in self.loads:
            rounds = self.rounds[name]
            row = {"load": name, "per": unit, "rounds": rounds, "sides": {}}
            row["base_ns"] = stats.median([r["none"] for r in rounds])
            for side in self.sides[1:]:
                if side.name in self.failed:
                    continue
                row["sides"][side.name] = {
                    "added_ns": stats.added_interval(rounds, side.name),
                    "of_empty": stats.ratio_interval(rounds, side.name, "empty programs"),
                    "of_runqlat": stats.ratio_interval(rounds, side.name, "runqlat"),
                }
            out.append(row)
        return out

    def verdicts(self):
        rounds = self.rounds[BUDGET_LOAD]
        noisy = self.noisy > 0
        out = []
        for side, to, limit, aim in BUDGETS:
            if side in self.failed or to in self.failed:
                continue
            ratio = stats.ratio_interval(rounds, side, to)
            out.append({
                "what": "added time, %s: %s / %s" % (BUDGET_LOAD, side, to),
                "value": ratio["value"],
                "limit": limit,
                "aim": aim,
                "verdict": "refused: machine not quiet" if noisy else stats.verdict(ratio, limit),
            })
        return out
