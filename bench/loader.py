# SPDX-License-Identifier: GPL-2.0-or-later
"""What the loader itself costs, seen from outside: /proc, never its own word."""
import json
import os
import re
import subprocess
import time

import memory
import stats

ATTACH_RUNS = 7
BUDGETS = (  # key, what, at most
    ("attach_s", "start to first program attached, s", 0.1),
    ("rss_mb", "loader's resident memory, MB", 12),
    ("cpu_percent", "loader's CPU at 1 s intervals, % of one CPU", 0.2),
    ("binary_mb", "stripped binary, MB", 2.5),
)


def start(build):
    return subprocess.Popen([build + "/waitscope", "-q"], stdout=subprocess.DEVNULL)


def stop(process):
    process.terminate()
    process.wait()


def linked(pid):
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            if "bpf_link" in os.readlink("/proc/%d/fd/%s" % (pid, fd)):
                return True
        except OSError:
            continue  # closed meanwhile
    return False


def started(build):
    """Once a link is among its descriptors: the poll only adds."""
    process = start(build)
    while not linked(process.pid):
        time.sleep(0.001)
        if process.poll() is not None:
            raise RuntimeError("waitscope ended before it attached")
    return process


def attach_s(build):
    """From before fork and exec to the first link."""
    began = time.monotonic()
    process = started(build)
    took = time.monotonic() - began
    stop(process)
    return took


def resident_mb(pid):
    with open("/proc/%d/status" % pid) as f:
        kb = dict(re.findall(r"(VmRSS|VmHWM):\s+(\d+) kB", f.read()))
    return int(kb["VmRSS"]) / 1024, int(kb["VmHWM"]) / 1024


def run_ns(pid):
    with open("/proc/%d/schedstat" % pid) as f:
        return int(f.read().split()[0])


def stripped_bytes(build):
    out = build + "/bench/waitscope.stripped"
    subprocess.run(["strip", "-o", out, build + "/waitscope"], check=True)
    return os.path.getsize(out)


def steady(build, seconds):
    process = started(build)
    time.sleep(2.5)  # all is loaded, and the first interval is behind it
    before, began = run_ns(process.pid), time.monotonic()
    time.sleep(seconds)
    used, took = run_ns(process.pid) - before, time.monotonic() - began
    rss, peak = resident_mb(process.pid)
    stop(process)
    return {
        "cpu_percent": used / took / 1e7,
        "rss_mb": rss,
        "rss_peak_mb": peak,
    }


# CPUs, groups and samples that this machine need not have; the last wants 4 GB, most of it the kernel's:
# two million samples a report, in all five histograms of all groups.
GROWTH = ((2, 10, 32), (64, 10, 32), (512, 10, 32), (2, 1000, 32), (2, 100000, 4))
GROWTH_QUICK = GROWTH[:4]
GROWTH_LAST_KB = 5 << 20
MANY_S, MANY_MB = 0.2, 400  # a report of that many groups, and memory


def available_kb():
    with open("/proc/meminfo") as f:
        return int(re.search(r"MemAvailable:\s+(\d+) kB", f.read()).group(1))


def growth(build, quick):
    """µs per report and memory, of the source's own code on made-up histograms."""
    cases = GROWTH_QUICK if quick or available_kb() < GROWTH_LAST_KB else GROWTH
    out = []
    for cpus, keys, samples in cases:
        run = subprocess.run(
            [build + "/bench/growth", str(cpus), str(keys), str(samples)],
            capture_output=True, text=True, check=True
        )
        out.append(json.loads(run.stdout))
    return out


def verdict(what, value, limit):
    return {"what": what, "value": value, "limit": limit, "verdict": "met" if value <= limit else "missed"}


def growth_verdicts(rows, group_kb):
    out = [verdict("heap grown per report, bytes", max(r["heap_grown"] for r in rows), 0)]
    out += [verdict("loader's memory for a sleeping process by pid, KB: " + output, kb, memory.GROUP_KB)
            for output, kb in group_kb.items()]
    for r in rows:
        if r["keys"] < 100000:
            continue
        out += [
            verdict("a report of %d groups, s" % r["keys"], r["us"] / 1e6, MANY_S),
            verdict("... without the kernel's copying of its maps, s", (r["us"] - r["maps_us"]) / 1e6, MANY_S),
            verdict("loader's memory with %d groups, MB" % r["keys"], r["rss_mb"], MANY_MB),
        ]
    return out


def measure(build, seconds):
    took = [attach_s(build) for _ in range(ATTACH_RUNS)]
    return {
        "attach_s": stats.median(took),
        "attach_max_s": max(took),
        "binary_mb": stripped_bytes(build) / (1 << 20),
        **steady(build, seconds),
    }


def verdicts(result):
    return [verdict(what, result[key], limit) for key, what, limit in BUDGETS]
