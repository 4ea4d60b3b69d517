# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel memory of the BPF maps that waitscope holds, by their own account: for this machine and for
CPUs that it has not (a file of ours in the place of /sys's list of possible CPUs)."""
import os
import re
import subprocess
import tempfile
import time

POSSIBLE = "/sys/devices/system/cpu/possible"
DEFAULT = ("sched", "ext4", "lock")
MANY = 64  # CPUs
BUDGET_KB = 128  # per CPU, default sources
SECONDS = 5
# Lets nobody's waits through: no entry is made of any
AT_REST = ("--comm", "ws-nobody")
MADE_UP = "mount --bind \"$1\" %s && shift && exec \"$@\"" % POSSIBLE


def of_maps(pid):
    """Bytes; each map once."""
    maps = {}
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                info = dict(re.findall(r"^(map_id|memlock):\s+(\d+)$", f.read(), re.M))
        except OSError:
            continue  # closed meanwhile
        if "map_id" in info:
            maps[info["map_id"]] = int(info["memlock"])
    return sum(maps.values())


def with_cpus(cpus, listing):
    """The command's first words, for a machine with so many possible CPUs."""
    listing.write("0-%d\n" % (cpus - 1))
    listing.flush()
    return ["unshare", "-m", "sh", "-c", MADE_UP, "sh", listing.name]


def kb(tool, sources, cpus=None, options=AT_REST, seconds=0):
    """`seconds` after its programs are attached."""
    with tempfile.NamedTemporaryFile("w") as listing:
        command = with_cpus(cpus, listing) if cpus else []
        command += [tool, "-q", "-o", "json", "-s", ",".join(sources), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            if not process.stdout.readline():
                raise RuntimeError("waitscope ended before it attached")
            time.sleep(seconds)
            return of_maps(process.pid) / 1024
        finally:
            process.terminate()
            process.communicate()


def measure(build):
    tool, cpus = build + "/waitscope", os.cpu_count()
    sets = [(s,) for s in DEFAULT] + [DEFAULT]
    rows = [{"sources": " ".join(s), "cpus": n, "kb": kb(tool, s, n)} for s in sets for n in (cpus, 8, MANY)]
    rows.append({"sources": " ".join(DEFAULT) + ", as the machine is", "cpus": cpus,
                 "kb": kb(tool, DEFAULT, None, (), SECONDS)})
    return rows


def verdicts(rows):
    out = []
    for r in rows:
        if not r["sources"].startswith(" ".join(DEFAULT)):
            continue
        per_cpu = r["kb"] / r["cpus"]
        out.append({"what": "kernel memory per CPU, KB: %s, %d CPUs" % (r["sources"], r["cpus"]),
                    "value": per_cpu, "limit": BUDGET_KB,
                    "verdict": "met" if per_cpu <= BUDGET_KB else "missed"})
    return out
