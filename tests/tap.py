# SPDX-License-Identifier: GPL-2.0-or-later
"""TAP of tests that are functions: one passes if it raises nothing."""
import fnmatch
import os
import sys
import time


class Skip(Exception):
    """The machine lacks what the test needs: why."""


def title(test):
    """The first line of what it says of itself, else its name."""
    return (test.__doc__ or test.__name__.replace("_", " ")).split("\n")[0].rstrip(".")


def is_later(name):
    """A test of tests/long, which is left to make check-all (run.sh)."""
    return any(fnmatch.fnmatchcase(name, p) for p in os.environ.get("LATER", "").splitlines())


def took(began=None):
    """A mark to begin at; or the time since, and the CPU time of this process and of those it has waited for."""
    now = time.monotonic(), sum(os.times()[:4])
    return "%.1f s, %.1f CPU s" % tuple(b - a for a, b in zip(began, now)) if began else now


def run(*tests):
    """Those that have one of the command line's words in title or name, all without one. Ends the program."""
    tests = [t for t in tests if not sys.argv[1:] or any(w in title(t) or w in t.__name__ for w in sys.argv[1:])]
    tests = [t for t in tests if not is_later(title(t))]
    failed = False
    print(f"1..{len(tests)}", flush=True)
    for nr, test in enumerate(tests, 1):
        began = took()
        try:
            test()
            print(f"ok {nr} - {title(test)}", flush=True)
        except Skip as why:
            print(f"ok {nr} - {title(test)} # SKIP {why}", flush=True)
        except Exception as error:
            failed = True
            print(f"not ok {nr} - {title(test)}", flush=True)
            said = [str(error) if isinstance(error, AssertionError) and str(error) else repr(error),
                    getattr(error, "stderr", None) or ""]
            for text, most in zip(said, (40, 20)):
                for line in text.splitlines()[:most]:
                    print("# " + line, flush=True)
        print("# " + took(began), flush=True)
    sys.exit(failed)
