# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine: what it is, whether it is quiet, what is installed."""
import datetime
import os
import platform
import shutil
import subprocess
import time

BUSY_MAX = 0.03  # of all CPUs: more than this, and somebody else is working
LOOK_S = 0.3

# command, Debian package, what goes without it
TOOLS = (
    ("runqlat", "libbpf-tools", "runqlat, runqlat -L, fsdist, ext4dist, klockstat"),
    ("bpftrace", "bpftrace", "bpftrace"),
    ("perf", "linux-perf", "perf"),
    ("hackbench", "rt-tests", "hackbench"),
    ("tbench", "dbench", "tbench"),
    ("mkfs.ext4", "e2fsprogs", "loads on ext4"),
    ("bpftool", "bpftool", "the check for other tracers"),
)


class Noisy(Exception):
    """Somebody else uses the machine."""


def extend_path():
    os.environ["PATH"] += ":/usr/sbin:/sbin"


def missing():
    return [row for row in TOOLS if not shutil.which(row[0])]


def install_missing():
    """Installs what is missing where apt is; else names it."""
    rows = missing()
    if rows and shutil.which("apt-get"):
        subprocess.run(
            ["apt-get", "-q", "install", "-y", "--no-install-recommends"]
            + sorted({package for _, package, _ in rows}),
            stdout=subprocess.DEVNULL,
            check=False,
            env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"),
        )
    for command, package, without in missing():
        print("missing: %s (package %s): no %s" % (command, package, without))


def facts():
    cpu = cpu_info()
    return {
        "date": datetime.date.today().isoformat(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "model": cpu.get("model name", platform.machine()),
        "vendor": cpu.get("vendor_id", cpu.get("CPU implementer", "unknown vendor")),
        "family": cpu.get("cpu family", cpu.get("CPU architecture", "?")),
        "number": cpu.get("model", cpu.get("CPU part", "?")),
        "mitigations": mitigations(),
    }


def cpu_info():
    """The first CPU's lines of /proc/cpuinfo; arm64 has other names for them."""
    with open("/proc/cpuinfo") as f:
        first = f.read().split("\n\n")[0]
    return {k.strip(): v.strip() for k, v in (line.split(":", 1) for line in first.splitlines() if ":" in line)}


# What makes calls and returns dear: returns by a thunk (safe RET, untrained, ITS), calls by a retpoline.
OF_CALLS = ("spec_rstack_overflow", "retbleed", "indirect_target_selection", "spectre_v2")


def mitigations():
    """What the kernel says of each that it applies."""
    out = {}
    for name in OF_CALLS:
        try:
            with open("/sys/devices/system/cpu/vulnerabilities/" + name) as f:
                words = f.read().strip()
        except FileNotFoundError:
            continue  # the kernel is older than the fault
        if words != "Not affected":
            out[name] = words
    return out


def cgroup_mount():
    """Where cgroup v2 is mounted; a hybrid host has it below v1."""
    with open("/proc/mounts") as f:
        for line in f:
            words = line.split()
            if words[2] == "cgroup2":
                return words[1]
    raise FileNotFoundError("cgroup v2 is not mounted")


def bench_cgroup():
    """Where the loads run, for `-c`."""
    return os.path.join(cgroup_mount(), "waitscope-bench")


def cpu_times():
    """(busy, all) ticks of all CPUs; what the host took away is busy."""
    with open("/proc/stat") as f:
        ticks = [int(t) for t in f.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)


def busy(seconds=LOOK_S):
    before = cpu_times()
    time.sleep(seconds)
    after = cpu_times()
    return (after[0] - before[0]) / max(1, after[1] - before[1])


def wait_quiet(limit_s):
    """Returns when nobody works, and how many seconds that took beyond a first look; Noisy if more than limit_s."""
    part, began, waited = busy(), time.monotonic(), 0.0
    while part > BUSY_MAX:
        if waited > limit_s:
            raise Noisy("machine not quiet: %.0f %% of its CPUs busy with other work" % (100 * part))
        part = busy()
        waited = time.monotonic() - began
    return waited


def other_tracers():
    """Names of tracing programs loaded by others: they would be in every side."""
    run = subprocess.run(["bpftool", "prog", "list"], capture_output=True, text=True, check=False)
    kinds = ("tracing", "raw_tracepoint", "tracepoint", "kprobe")
    names = []
    for line in run.stdout.splitlines():
        words = line.split()
        if len(words) > 3 and words[1] in kinds and words[2] == "name":
            names.append(words[3])
    return names
