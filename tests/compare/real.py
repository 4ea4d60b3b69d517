#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tbench beside itself and beside stress-ng, as `waitscope diff --run` compares them. By hand (make check-compare):
it takes about three minutes, and real runs are not the same each time. As root. TAP."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tap  # noqa: E402

WS = os.path.join(os.environ.get("O", "build"), "waitscope")
RUNS = os.environ.get("RUNS", "6")
SECONDS = os.environ.get("SECONDS", "2")
TBENCH = "exec tbench -t %s 2 127.0.0.1" % SECONDS
BESIDE = "stress-ng -q --%s 2 -t 60 & tbench -t " + SECONDS + " 2 127.0.0.1; status=$?; kill $!; wait $!; exit $status"


def compared(base, new):
    """{"METRIC STAT": row}, of the whole."""
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "out")
        subprocess.run([WS, "diff", "-q", "--run", base, new, "-n", RUNS, "--keep", os.path.join(tmp, "records"),
                        "-o", "json:" + out], check=True, stdin=subprocess.DEVNULL)
        with open(out) as f:
            return {"%s %s" % (r["metric"], r["stat"]): r for r in json.load(f)["rows"] if not r["labels"]}


def verdicts(rows, *wanted):
    return sorted(name for name, row in rows.items() if row["verdict"] in wanted)


def show(rows):
    for name, row in sorted(rows.items()):
        if row["ci"]:
            print("# %-34s %6.3f  %.3f to %.3f  %s" % (name, row["ratio"], *row["ci"], row["verdict"]))


def test_same():
    """tbench beside itself: no difference"""
    # At most 5 % of what is called different is expected to be none: twice in a row is no chance.
    for _ in range(2):
        rows = compared(TBENCH, TBENCH)
        show(rows)
        assert "sched_run_delay p99" in rows, sorted(rows)
        different = verdicts(rows, "slower", "faster")
        if not different:
            return
        print("# called different: %s" % ", ".join(different))
    raise AssertionError("different twice: %s" % ", ".join(different))


def beside(stressor, *wanted):
    rows = compared(TBENCH, BESIDE % stressor)
    show(rows)
    slower = verdicts(rows, "slower")
    for name in wanted:
        assert name in slower, (name, rows[name], slower)


def test_switch():
    """tbench beside stress-ng --switch: it waits more for the CPU"""
    beside("switch", "sched_run_delay sum")


def test_cpu():
    """tbench beside stress-ng --cpu: it waits more for the CPU, and longer"""
    beside("cpu", "sched_run_delay sum", "sched_run_delay mean")


def main():
    tests = [test_same, test_switch, test_cpu]
    lacks = [name for name in ("tbench", "tbench_srv", "stress-ng") if not shutil.which(name)]
    if lacks or os.getuid():
        print("1..0 # SKIP %s" % (lacks and "no %s (Debian: dbench, stress-ng)" % lacks[0] or "not root"))
        return 0
    server = subprocess.Popen(["tbench_srv"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        tap.run(*tests)
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
