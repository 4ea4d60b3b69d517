#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The units of the package: systemd likes them, and waitscope-metrics.service does what it says when it is started on
its socket as they have it: another user, its capabilities and no others, only system calls of its filter. TAP.

No systemd has to run: systemd-analyze reads the units, systemd-socket-activate hands the socket over, setpriv
and strace stand in for the rest.
"""
import contextlib
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from truth import TOP, say

WS = os.path.join(os.environ.get("O", "build"), "waitscope")
UNITS = ("waitscope.service", "waitscope-metrics.service", "waitscope-metrics.socket")
EXPOSURE = 2.0  # of 10, as systemd-analyze has it; both are at 1.4 by systemd 252
WAIT_S = 30


def unit_text(name):
    path = os.path.join(TOP, "packaging", name)
    with open(path if os.path.exists(path) else path + ".in", encoding="utf-8") as f:
        return f.read()


def settings(name):
    """{key: value}; no key of these has more than one line."""
    return dict(re.findall(r"^(\w+)=(.*)$", unit_text(name), re.M))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def install(d):
    """Units, and the binary they name, where every user finds it."""
    os.chmod(d, 0o755)
    shutil.copy(WS, d)
    os.chmod(os.path.join(d, "waitscope"), 0o755)
    for name in UNITS:
        with open(os.path.join(d, name), "w", encoding="utf-8") as f:
            f.write(unit_text(name).replace("@SBINDIR@", d))


def verified(d):
    r = run("systemd-analyze", "verify", "--man=no", *[os.path.join(d, name) for name in UNITS])
    said = [line for line in (r.stdout + r.stderr).splitlines() if line and (line.startswith(d) or not line.startswith("/"))]
    if r.returncode or said:  # but for what is wrong with other units of this machine
        yield f"{r.returncode}: {said}"
    bad = os.path.join(d, "bad.service")
    with open(bad, "w", encoding="utf-8") as f:
        f.write(unit_text("waitscope.service").replace("@SBINDIR@", d).replace("MemoryMax=", "MemoryMaximum="))
    if "MemoryMaximum" not in run("systemd-analyze", "verify", "--man=no", bad).stderr:
        yield "it would not have said so either if a unit were wrong"


def hardened(d):
    for name in UNITS[:2]:
        r = run("systemd-analyze", "security", "--offline=true", "--no-pager", os.path.join(d, name))
        found = re.search(r"exposure level for \S+: ([0-9.]+)", r.stdout)
        if not found:
            yield f"{name}: {r.stdout[-300:]}{r.stderr}"
            continue
        print(f"# {name}: exposure {found[1]}")
        if float(found[1]) > EXPOSURE:
            yield f"{name}: exposure {found[1]}"


def calls_of(group):
    """The system calls of a group, and of those it names."""
    out = set()
    for word in run("systemd-analyze", "syscall-filter", group).stdout.split("\n")[1:]:
        word = word.split("#")[0].strip()
        out |= calls_of(word) if word.startswith("@") else {word}
    return out - {""}


def allowed_calls(service):
    out = set()
    for word in service["SystemCallFilter"].split():
        out |= calls_of(word) if word.startswith("@") else {word}
    return out


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def command_of(d, service):
    """ExecStart, with its options: as nobody, who stands for a dynamic user."""
    options = shlex.split(service["Environment"])[0].removeprefix("OPTIONS=").replace("-i 15s", "-i 0.3")
    caps = ",".join("+" + c.removeprefix("CAP_").lower() for c in service["AmbientCapabilities"].split())
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps=-all,{caps}", f"--ambient-caps=-all,{caps}",
            f"--bounding-set=-all,{caps}", "--no-new-privs",
            *shlex.split(service["ExecStart"].replace("@SBINDIR@", d).replace("$OPTIONS", options))]


def scraped(port, path):
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as r:
        return r.read().decode()
    return ""


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return f.read()


def serves(d, service, calls):
    """Started by the first who asks; what it serves is of this kernel. strace -D: the program keeps the pid that the
    socket was handed to."""
    port = free_port()
    p = subprocess.Popen(["systemd-socket-activate", "-l", f"127.0.0.1:{port}", "strace", "-D", "-f", "-qq", "-o", calls,
                          *command_of(d, service)], stderr=subprocess.PIPE, text=True)
    try:
        end, text = time.monotonic() + WAIT_S, ""
        while not re.search(r"^waitscope_sched_wakeup_latency_seconds_count [1-9]", text, re.M) and time.monotonic() < end:
            time.sleep(0.1)
            text = scraped(port, "/metrics")
        waits = re.search(r"^waitscope_sched_wakeup_latency_seconds_count (\d+)$", text, re.M)
        status = status_of(p.pid)
    finally:
        p.terminate()
        words = p.communicate(timeout=WAIT_S)[1]
    assert waits and int(waits[1]) > 0, words + text[:300]
    assert p.returncode == 0, (p.returncode, words)
    print(f"# {waits[1]} wakeups, as {re.search('Uid:.*', status)[0]}, {re.search('CapPrm:.*', status)[0]}")
    assert re.search(r"^Uid:\t65534\t", status, re.M) and "NoNewPrivs:\t1" in status, status
    assert not int(re.search(r"CapPrm:\s*(\S+)", status)[1], 16) & ~(1 << 38 | 1 << 39), status


def called(calls):
    """[(system call, how it goes on)] since waitscope was executed, by it and by its children."""
    with open(calls, encoding="utf-8", errors="replace") as f:
        lines = f.readlines()
    first = next(i for i, line in enumerate(lines) if re.search(r'execve\("[^"]*/waitscope"', line) and line.rstrip().endswith("= 0"))
    return [m.groups() for m in (re.match(r"\d+ +(\w+)\((.*)", line) for line in lines[first:]) if m]


def refused(calls, service):
    made = called(calls)
    used = {name for name, _ in made}
    if not used >= {"bpf", "accept4", "epoll_wait"}:
        yield f"not all were seen: {sorted(used)}"
    yield from sorted(used - allowed_calls(service))
    for name, rest in made:
        if name == "socket" and rest.split(",")[0] not in service["RestrictAddressFamilies"].split():
            yield f"socket({rest}"
        if name in ("mmap", "mprotect") and "PROT_WRITE|PROT_EXEC" in rest:  # MemoryDenyWriteExecute
            yield f"{name}({rest}"


def tests(d):
    service = settings("waitscope-metrics.service")
    calls = os.path.join(d, "calls")
    yield "systemd-analyze verify", lambda: list(verified(d))
    yield "systemd-analyze security", lambda: list(hardened(d))
    yield "started on its socket it serves what this kernel counts", lambda: serves(d, service, calls)
    yield "makes no call that the unit refuses", lambda: list(refused(calls, service))


def main():
    for tool in ("systemd-analyze", "systemd-socket-activate", "setpriv", "strace"):
        if not shutil.which(tool):
            print(f"1..0 # SKIP no {tool}")
            return 0
    bad = n = 0
    with tempfile.TemporaryDirectory() as d:
        install(d)
        for n, (name, test) in enumerate(tests(d), 1):
            if n > 2 and os.geteuid():
                print(f"ok {n} - {name} # SKIP not root")
                continue
            try:
                problems = test() or []
            except (AssertionError, OSError, StopIteration, TypeError, subprocess.SubprocessError) as e:
                problems = [repr(e)[:600]]
            bad += bool(problems)
            say(n, name, problems)
    print(f"1..{n}")
    return bool(bad)


sys.exit(main())
