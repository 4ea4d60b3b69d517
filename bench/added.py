# SPDX-License-Identifier: GPL-2.0-or-later
"""Added time per operation: all sides in turn, all loads of the group on each, round after round."""
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
        try:
            self.limit_s = max(0, self.limit_s - machine.wait_quiet(self.limit_s))
        except machine.Noisy as e:
            self.limit_s = 0
            self.noisy += 1
            self.say(str(e))


class Budget:
    """In a load, what a side adds is at most `limit` of what `to` adds; what is aimed at is less.

    of: stats.added (time per operation), stats.lost (throughput).
    """

    def __init__(self, load, side, to, limit, aim, of=stats.added):
        self.load, self.side, self.to = load, side, to
        self.limit, self.aim = limit, aim
        self.of = of

    def measured(self, rounds):
        return stats.ratio_interval(rounds[self.load], self.side, self.to, self.of)

    def verdict(self, rounds):
        return stats.verdict(self.measured(rounds), self.limit)


class Group:
    """Sides and the loads they are compared under. refs: sides that the others are divided by."""

    def __init__(self, sides, loads, refs, budgets=()):
        self.sides = sides
        self.loads = loads
        self.refs = refs
        self.budgets = budgets
        self.rounds = {name: [] for name, _, _ in loads}
        self.failed = {}  # side: why

    def side_once(self, side, loads, results, say):
        if side.name in self.failed:
            return
        try:
            side.start()
            for name, _, load in loads:
                results[name][side.name] = load()
        except Failed as e:
            self.failed[side.name] = str(e)
            say("%s: %s" % (side.name, e))
        finally:
            side.finish()

    def round(self, sides, loads, quiet, quick):
        """{load: {side: ns}}. Quick: a quiet machine is waited for once a round, not before every side."""
        results = {name: {} for name, _, _ in loads}
        for k, side in enumerate(sides):
            if k == 0 or not quick:
                quiet.wait()
            self.side_once(side, loads, results, quiet.say)
        return results

    def keep(self, results):
        for name, row in results.items():
            self.rounds[name].append(row)

    def judged(self):
        """The budgets whose sides run here."""
        ran = {name for name, _, _ in self.loads}
        return [b for b in self.budgets
                if b.load in ran and b.side not in self.failed and b.to not in self.failed]

    def undecided(self):
        return [b for b in self.judged() if stats.undecided(b.verdict(self.rounds))]

    def run(self, rounds, rounds_max, quiet, quick):
        """A round that warms up (not if quick), `rounds` of all, then of what no verdict can be given on."""
        if not quick:
            self.round(self.sides, self.loads, quiet, quick)
        for i in range(rounds):
            self.keep(self.round(self.sides, self.loads, quiet, quick))
            quiet.say("%s: round %d of %d" % (self.loads[0][0], i + 1, rounds))
        for i in range(rounds, rounds_max):
            open_budgets = self.undecided()
            if not open_budgets:
                break
            names = {"none"} | {n for b in open_budgets for n in (b.side, b.to)}
            loads = {b.load for b in open_budgets}
            self.keep(self.round([s for s in self.sides if s.name in names],
                                 [row for row in self.loads if row[0] in loads], quiet, quick))
            quiet.say("round %d of at most %d, for: %s" % (i + 1, rounds_max, ", ".join(sorted(loads))))

    def result(self):
        out = []
        for name, unit, _ in self.loads:
            rounds = self.rounds[name]
            row = {"load": name, "per": unit, "rounds": rounds, "refs": list(self.refs), "sides": {}}
            row["base_ns"] = stats.took(rounds, "none")
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
        return [{
            "what": "%s, %s: %s / %s" % (
                "throughput lost" if b.of is stats.lost else "added time", b.load, b.side, b.to),
            "value": b.measured(self.rounds)["value"],
            "limit": b.limit,
            "aim": b.aim,
            "verdict": "refused: machine not quiet" if noisy else b.verdict(self.rounds),
        } for b in self.judged()]
