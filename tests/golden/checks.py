#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of this directory in one process: a start of Python takes longer than most of them.

Each line of standard input is WORDS, a check, and its arguments, with a tab behind each; what the check says of a
failure is in the file WORDS then, and the answer is a line: its exit status.
"""
import importlib
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))


def status_of(name, args, words):
    try:
        importlib.import_module(name).main(*args)
    except SystemExit as end:
        if not end.code:
            return 0
        print(end.code, file=words)
    except Exception:  # whatever a check dies of is a failure of what it looked at
        traceback.print_exc(file=words)
    else:
        return 0
    return 1


def main():
    sys.path.insert(0, HERE)
    for line in sys.stdin:
        where, name, *args = line.rstrip("\n").split("\t")[:-1]
        with open(where, "w", encoding="utf-8") as words:
            status = status_of(name, args, words)
        print(status, flush=True)


main()
