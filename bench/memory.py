# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel memory of the BPF maps that waitscope holds, by their own account: for this machine, and for others, with CPUs
that it has not and one ext4 (a file and a directory of ours in the place of /sys's and /proc's)."""
import os
import re
import subprocess
import tempfile
import time

# Of the loader for each group: as many sleeping processes, by pid (DESIGN section 8).
PROCESSES = 3000
GROUP_KB = 4
POSSIBLE = "/sys/devices/system/cpu/possible"
MOUNTED = "/proc/fs/ext4"
DEFAULT = ("sched", "ext4", "lock")
MANY = 64  # CPUs
PER_CPU_KB, ONCE_KB = 96, 256  # default sources
SECONDS = 5
# Lets nobody's waits through: no entry is made of any
AT_REST = ("--comm", "ws-nobody")
WALK_KB, WALK_CPU_KB = 29, 0.65  # a filter's walk over its tasks (times), which a run without one does not have
MADE_UP = "mount --bind \"$1\" %s && mount --bind \"$2\" %s && shift 2 && exec \"$@\"" % (POSSIBLE, MOUNTED)


def possible():
    """CPUs that the kernel may ever have."""
    with open(POSSIBLE) as f:
        return int(re.search(r"\d+$", f.read()).group()) + 1


FIELD = re.compile(r"^(map_id|map_type|map_flags|key_size|value_size|memlock):\s+(0x\w+|\d+)$", re.M)
HASH, TASK_STORAGE = 1, 29  # types of maps
NO_PREALLOC = 1


def each_cpu(info):
    """Bytes of a map that the kernel has for each of its own possible CPUs, whatever is made up: hashtab.c has a number for
    each of 8 locks and, of elements that are there from the start, one more and its place; bpf_local_storage.c a bucket."""
    if info["map_type"] == TASK_STORAGE:
        return 16
    if info["map_type"] != HASH:
        return 0
    locks = 8 * 4
    if info["map_flags"] & NO_PREALLOC:
        return locks
    return locks + 48 + -(-info["key_size"] // 8) * 8 + -(-info["value_size"] // 8) * 8 + 8


def of_maps(pid, more=0):
    """Bytes; each map once. As with `more` CPUs than the kernel has."""
    maps = {}
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd)) as f:
                info = {k: int(n, 0) for k, n in FIELD.findall(f.read())}
        except OSError:
            continue  # closed meanwhile
        if "map_id" in info:
            maps[info["map_id"]] = info["memlock"] + more * each_cpu(info)
    return sum(maps.values())


def made_up(cpus, place):
    """The command's first words, for a machine with so many possible CPUs and one ext4; `place` is a directory for that."""
    listing, mounted = place + "/possible", place + "/mounted"
    with open(listing, "w") as f:
        f.write("0-%d\n" % (cpus - 1))
    os.makedirs(mounted + "/vda")
    return ["unshare", "-m", "sh", "-c", MADE_UP, "sh", listing, mounted]


def kb(tool, sources, cpus=None, options=AT_REST, seconds=0):
    """`seconds` after its programs are attached."""
    with tempfile.TemporaryDirectory(prefix="ws-") as place:
        command = made_up(cpus, place) if cpus else []
        command += [tool, "-q", "-o", "json", "-s", ",".join(sources), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            if not process.stdout.readline():
                raise RuntimeError("waitscope ended before it attached")
            time.sleep(seconds)
            walk = WALK_KB + WALK_CPU_KB * (cpus or 0) if options is AT_REST else 0
            return of_maps(process.pid, cpus - possible() if cpus else 0) / 1024 - walk
        finally:
            process.terminate()
            process.communicate()


def anon_kb(tool, output, options, seconds=8):
    """Resident memory of the loader's own at its last reports but one."""
    command = [tool, "-q", "-i", "1", "-s", "sched", "--by", "pid", "-o", output, *options]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        try:
            time.sleep(seconds)
            with open("/proc/%d/status" % process.pid) as f:
                return int(re.search(r"RssAnon:\s+(\d+) kB", f.read()).group(1))
        finally:
            process.terminate()
            process.wait()


def group_kb(build, output):
    """For each of PROCESSES that sleep, woken once a second."""
    tool = build + "/waitscope"
    none = anon_kb(tool, output, AT_REST, 3)
    naps = subprocess.Popen([build + "/tests/load/naps", str(PROCESSES), "1000"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        naps.stdout.readline()
        many = anon_kb(tool, output, ("--comm", "naps", "--max-keys", str(4 * PROCESSES)))
    finally:
        naps.communicate()  # the end of its input is the end of it
    return (many - none) / PROCESSES


def measure(build):
    tool, cpus = build + "/waitscope", os.cpu_count()
    sets = [(s,) for s in DEFAULT] + [DEFAULT]
    rows = [{"sources": " ".join(s), "cpus": n, "kb": kb(tool, s, n)} for s in sets for n in (cpus, 8, MANY)]
    rows.append({"sources": " ".join(DEFAULT) + ", as the machine is", "cpus": cpus,
                 "kb": kb(tool, DEFAULT, None, (), SECONDS)})
    return rows


def split(rows):
    """(KB for each CPU, KB once) of the default sources at rest: the line through 8 and MANY CPUs."""
    at = {r["cpus"]: r["kb"] for r in rows if r["sources"] == " ".join(DEFAULT)}
    per_cpu = (at[MANY] - at[8]) / (MANY - 8)
    return per_cpu, at[MANY] - MANY * per_cpu


def verdicts(rows):
    return [{"what": "kernel memory of the default sources, KB " + what, "value": size, "limit": limit,
             "verdict": "met" if size <= limit else "missed"}
            for what, size, limit in zip(("for each CPU", "once"), split(rows), (PER_CPU_KB, ONCE_KB))]
