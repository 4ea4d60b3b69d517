# SPDX-License-Identifier: GPL-2.0-or-later
"""Numbers that may not grow, kept in a file: of the running kernel, in a column for each version of clang.

Each suite has a file, a head of comments for it, what it measures and how much a number may grow. --update writes
those of the running kernel and of the clang that made these objects anew, and keeps the others: that is
how a compiler is added.
"""
import itertools
import os
import platform
import re
import subprocess
import sys

from sides import Failed


class Budgets:
    def __init__(self, name, head, what, update, ways=None):
        self.path = os.path.join(os.path.dirname(__file__), "..", "tests", "expect", name)
        self.head = head
        self.what = what  # in words
        self.update = update  # the target that writes the file anew
        self.ways = ways  # the word that is a list, with commas, where a row's numbers are the same; None: none is

    def read(self):
        """{(compiler, kernel, ...): budget}"""
        rows, columns = {}, []
        if not os.path.exists(self.path):
            return rows
        with open(self.path) as f:
            for line in f:
                if line.startswith("["):
                    columns = line.strip("[]\n").split()
                elif not line.startswith("#"):
                    words = line.split()
                    for column, number in zip(columns, words[-len(columns):]):
                        for key in itertools.product(*(word.split(",") for word in words[:-len(columns)])):
                            if number != "-":
                                rows[(column, *key)] = int(number)
        return rows

    def write(self, rows):
        columns = sorted({key[0] for key in rows}, key=lambda name: int(re.search(r"\d+$", name).group()))
        with open(self.path, "w") as f:
            f.write(self.head + "[%s]\n" % " ".join(columns))
            lines = {}  # (words without that of the ways, numbers): ways
            for key in sorted({key[1:] for key in rows}):
                at = len(key) if self.ways is None else self.ways
                numbers = tuple(str(rows.get((column, *key), "-")) for column in columns)
                lines.setdefault((key[:at], key[at + 1:], numbers), []).extend(key[at:at + 1])
            for (before, after, numbers), ways in sorted(lines.items()):
                f.write(" ".join((*before, *([",".join(ways)] if ways else []), *after, *numbers)) + "\n")

    def judge(self, budget, now, here, growth, build):
        """(ok, words) a row; a number without a budget, or a budget without a number, is no pass."""
        walks, refused = walks_refused(budget, now, here, build)
        for key in sorted(set(now) | {k for k in budget if k[:2] == here}):
            name = "%s, %s: %s" % (key[2], key[3], " ".join(key[4:]))
            if key not in budget:
                yield False, "%s: %d %s, no budget (make %s)" % (name, now[key], self.what, self.update)
            elif key in walks:
                yield True, "%s # SKIP %s" % (name, refused)
            elif key not in now:
                yield False, "%s: in the budget, not loaded (make %s)" % (name, self.update)
            else:
                words = "%s: %d %s, budget %d" % (name, now[key], self.what, budget[key])
                yield now[key] <= budget[key] * growth(key), words

    def main(self, measured, growth):
        """measured(build): {(...): number}, Failed if it cannot be had. growth(key): 1.1 is 10 % more."""
        build = os.environ.get("O", "build")
        budget, here = self.read(), (compiler(build), kernel())
        if sys.argv[1:] == ["--update"]:
            now = {(*here, *k): v for k, v in measured(build).items()}
            walks, _ = walks_refused(budget, now, here, build)
            kept = {k: v for k, v in budget.items() if k[:2] != here or k in walks}
            self.write({**kept, **now})
            return 0
        if os.geteuid() != 0:
            print("1..0 # SKIP %s: BPF needs root" % self.what)
            return 0
        if not any(k[:2] == here for k in budget):
            print("1..0 # SKIP %s: no budget for %s on kernel %s (make %s)" % (self.what, *here, self.update))
            return 0
        try:
            now = {(*here, *k): v for k, v in measured(build).items()}
        except Failed as e:
            print("1..1\nnot ok 1 - programs loaded: waitscope %s" % e)
            return 1
        rows = list(self.judge(budget, now, here, growth, build))
        print("1..%d" % len(rows))
        for i, (ok, words) in enumerate(rows, 1):
            print("%s %d - %s" % ("ok" if ok else "not ok", i, words))
        return 0 if all(ok for ok, _ in rows) else 1


def walks_refused(budget, now, here, build):
    """(budgets without a number since this kernel lets no program walk over maps, its words): the tool does without."""
    walks = {k for k in budget if k[:2] == here and k[2] == "walk" and k not in now}
    if walks:
        test = subprocess.run([os.path.join(build, "tests", "kernel", "test_walk")], capture_output=True, text=True,
                              check=False)
        if test.returncode == 77:
            return walks, test.stdout.strip().partition("# SKIP ")[2]
    return set(), None


def kernel():
    return re.match(r"\d+\.\d+", platform.release()).group()


def compiler(build):
    """"clang14": what made the objects, by their debug information."""
    with open(os.path.join(build, "bpf", "sched.tmp.o"), "rb") as f:
        return "clang" + re.search(rb"clang version (\d+)\.", f.read()).group(1).decode()
