# SPDX-License-Identifier: GPL-2.0-or-later
"""What names of processes cost, which another process of ours reads: time to the first and to later ones,
memory of both, and that nobody waits for it when programs are attached."""
import os
import re
import statistics
import subprocess
import time

SECONDS = 4
ROUNDS = 5
SITES = 20  # of code that waits
MAIN_LIMIT_MB, WORKER_LIMIT_MB = 40, 256
OPTIONS = ("-q", "-o", "json", "-s", "futex", "1")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return [int(p) for p in f.read().split()]


def peak_mb(pid):
    with open("/proc/%d/status" % pid) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:")) / 1024


def comm(pid):
    with open("/proc/%d/comm" % pid) as f:
        return f.read().strip()


def functions(path, pid):
    """Where the functions of a running program are."""
    with open("/proc/%d/maps" % pid) as f:
        base = next(int(line.split("-")[0], 16) for line in f if line.rstrip().endswith(path))
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return [base + int(m.group(1), 16) for m in re.finditer(r"^(\w+) [tT] \w+$", symbols, re.M)]


def ask_ms(ask, pid, addresses):
    began = time.monotonic()
    for addr in addresses:
        ask.stdin.write("code %d %x\n" % (pid, addr))
        if not ask.stdout.readline().startswith("object"):
            raise RuntimeError("a function has no name")
    return (time.monotonic() - began) * 1000


def names(build, load, pid):
    """Milliseconds: the first name (processes are started for it), all others, all of them again."""
    addresses = functions(load, pid)
    first, others, again = [], [], []
    for _ in range(ROUNDS):
        with subprocess.Popen([build + "/tests/names/ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, bufsize=1) as ask:
            first.append(ask_ms(ask, pid, addresses[:1]))
            others.append(ask_ms(ask, pid, addresses[1:]))
            again.append(ask_ms(ask, pid, addresses))
            ask.stdin.close()
    count = len(addresses)
    return {"first name, ms": statistics.median(first),
            "another name of the same file, µs": statistics.median(others) * 1000 / (count - 1),
            "a name again, µs": statistics.median(again) * 1000 / count}


def run(tool):
    """Of a run of `futex` beside processes that wait: peaks, and who was there when it had attached."""
    with subprocess.Popen([tool, *OPTIONS], stdout=subprocess.PIPE) as process:
        try:
            if not process.stdout.readline():
                raise RuntimeError("waitscope ended before it attached")
            early = len(children(process.pid))
            for _ in range(SECONDS):
                process.stdout.readline()
            found = {comm(p): peak_mb(p) for p in children(process.pid)}
            return {"processes for names, when attached": early, "main, MB": peak_mb(process.pid),
                    "worker, MB": found["waitscope-names"], "opener, MB": found["waitscope-open"]}
        finally:
            process.terminate()
            process.communicate()


def measure(build):
    load = os.path.join(build, "tests", "load", "perfmap")
    with subprocess.Popen([load, str(SITES), "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waits:
        try:
            waits.stdout.readline()
            return {**names(build, load, waits.pid), **run(build + "/waitscope")}
        finally:
            waits.communicate()  # its input ends, and so does it


def verdicts(result):
    return [{"what": what, "value": result[what], "limit": limit, "verdict": "met" if result[what] <= limit else "missed"}
            for what, limit in (("processes for names, when attached", 0), ("main, MB", MAIN_LIMIT_MB),
                                ("worker, MB", WORKER_LIMIT_MB))]
