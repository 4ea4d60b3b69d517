#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sandbox refuses is told apart, and what it only hides does not matter."""
import calendar
import ctypes
import json
import os
import re
import resource
import shutil
import struct
import subprocess
import tempfile
import time

import harness
from harness import KernelTest, metric

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
NOBODY = 65534


def refuse(syscall, errno):
    """This process, and what it becomes, gets errno from that system call: a seccomp filter of four instructions."""
    code = struct.pack("HBBI" * 4,
                       0x20, 0, 0, 0,  # the number
                       0x15, 0, 1, syscall,
                       0x06, 0, 0, 0x00050000 | errno,
                       0x06, 0, 0, 0x7FFF0000)
    program = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(program)))
    if LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, head, 0, 0):
        os._exit(99)


def files(soft, hard):
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Sandbox(KernelTest):
    def run_in(self, *args, before=None, within=(), status=0):
        """stdout and stderr of a run; `before` happens in its process, `within` runs it."""
        proc = subprocess.run([*within, harness.TOOL, *args], preexec_fn=before, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=4 * harness.PATIENCE_S)
        self.assertEqual(proc.returncode, status, proc.stderr)
        return proc.stdout, proc.stderr

    def dir(self):
        where = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        return where


class Seccomp(Sandbox):
    ONE = ("-s", "sched", "-d", "0.2")

    def refused(self, *before):
        def all_of():
            for one in before:
                one()
        _, err = self.run_in(*self.ONE, before=all_of, status=3)
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_filter(self):
        """seccomp that answers EPERM or ENOSYS: that, and neither a missing right nor an old kernel"""
        for errno, words in ((1, "Operation not permitted"), (38, "Function not implemented")):
            err = self.refused(lambda errno=errno: refuse(harness.SYS_BPF, errno))
            self.assertIn('a seccomp filter refuses bpf(2) (it says "%s"' % words, err)
            for other in ("run as root", "CONFIG_BPF_SYSCALL", "ulimit"):
                self.assertNotIn(other, err)

    def nobody(self):
        os.chmod(os.path.dirname(harness.TOOL), 0o755)
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    def test_right(self):
        """a missing right: that; with a filter beside it, both"""
        err = self.refused(self.nobody)
        self.assertIn("not permitted (run as root", err)
        self.assertNotIn("seccomp", err)
        err = self.refused(lambda: refuse(harness.SYS_BPF, 1), self.nobody)
        self.assertIn("not permitted (run as root", err)
        self.assertIn("a seccomp filter may refuse it as well", err)

    def test_other(self):
        """a filter that lets bpf(2) through is not blamed, nor in the way"""
        out, _ = self.run_in(*self.ONE, "-q", "-o", "json", before=lambda: refuse(435, 1))  # clone3
        self.assertEqual(json.loads(out.splitlines()[-1])["type"], "final")


class NoProc(Sandbox):
    def test_ext4(self):
        """without /proc: what cannot be read is said, not that ext4 is missing"""
        script = 'mount -t tmpfs none /proc && exec "$@"'
        within = ("unshare", "-m", "sh", "-c", script, "sh")
        why = "ext4: cannot read /proc/filesystems: No such file or directory (is /proc mounted here?)"
        _, err = self.run_in("-q", "-s", "ext4", "-d", "0.3", within=within, status=3)
        self.assertIn(why, err)


class Files(Sandbox):
    SETS = ([], ["-s", "sched"], ["-s", "futex"], ["-s", "sched,lock,futex", "--why"],
            ["-s", "sched,ext4,lock,futex,line", "--why", "--slower", "1ms", "--by", "pid"])

    def test_soft(self):
        """ulimit -Sn 64 with a hard limit of 4096: it works, and COMMAND has the limit it would have had"""
        code = "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"
        for args in (["-s", "sched,lock,futex", "--why"], []):
            out, _ = self.run_in("-q", *args, "-o", "json:/dev/null", "--", "python3", "-c", code,
                                 before=lambda: files(64, 4096))
            self.assertEqual(out, "(64, 4096)\n", args)

    def test_hard(self):
        """a hard limit of 64: exit 1, ulimit -n and how many are wanted; with as many it works"""
        for args in self.SETS[2:]:
            _, err = self.run_in("-q", *args, "-d", "0.2", before=lambda: files(64, 64), status=1)
            self.assertEqual(err.count("\n"), 1, err)
            m = re.search(r"this run wants up to (\d+) file descriptors; ulimit -n is 64\)$", err)
            self.assertTrue(m, err)
            wanted = int(m[1])
            self.run_in("-q", *args, "-d", "0.2", "-o", "json", before=lambda n=wanted: files(n, n))

    def test_default(self):
        """no default source is left out for want of descriptors"""
        _, err = self.run_in("-q", "-d", "0.2", before=lambda: files(64, 64), status=1)
        self.assertIn("file descriptors; ulimit -n is 64", err)

    def test_wanted(self):
        """what a run is said to want is no less than it has, and not three times as much"""
        for args in self.SETS:
            _, err = self.run_in("-q", *args, "-d", "0.2", before=lambda: files(16, 16), status=1)
            wanted = int(re.search(r"up to (\d+)", err)[1])
            tool = self.tool(*args, *(() if "-s" in args else ("-s", "sched,ext4,lock"))).ready()
            have = len(os.listdir("/proc/%d/fd" % tool.proc.pid))
            tool.stop()
            self.note("%s: has %d, wants up to %d", " ".join(args) or "default", have, wanted)
            self.assertLessEqual(have, wanted)
            self.assertLess(wanted, 3 * have + 60)

    def test_few(self):
        """any lower limit is an error in the same words, never a run without its report"""
        for few in range(16, 60, 4):
            proc = subprocess.run([harness.TOOL, "-q", "-s", "sched", "-d", "0.1", "-o", "json"], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, preexec_fn=lambda n=few: files(n, n), check=False)
            if proc.returncode:
                self.assertRegex(proc.stderr, r"^waitscope: error: .*Too many open files.*; ulimit -n is %d\)\n$" % few)
                self.assertEqual(proc.returncode, 1)
            else:
                self.assertIn('"final"', proc.stdout)
        self.assertEqual(proc.returncode, 0)

    def test_table(self):
        """the manual's table is of what a run is said to want"""
        with open(os.path.join(harness.ROOT, "docs", "waitscope.8.scd")) as f:
            text = f.read()
        rows = re.findall(r"^\|  (?:_(-s [^_]*)_|\(default\))\n:  (\d+)\n", text, re.M)
        self.assertEqual(len(rows), 5)
        if os.cpu_count() != 2:
            self.skipTest("2 CPUs only")
        for options, want in rows:
            _, err = self.run_in("-q", *options.split(), "-d", "0.1", before=lambda: files(16, 16), status=1)
            self.assertEqual(re.search(r"up to (\d+)", err)[1], want, options)


class TimeNamespace(Sandbox):
    """The clock of BPF programs is the host's."""

    def test_times(self):
        """in a time namespace single waits, and those in flight, are of the time of the report: ahead and behind"""
        for offset in (100000, 86400 * 400, -200):
            within = ("unshare", "-T", "--monotonic", str(offset))
            if subprocess.run([*within, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
                self.skipTest("no time namespaces here")
            for args in (("-s", "sched"), ("-s", "sched,futex", "--why")):
                began = time.time()
                out, _ = self.run_in("-q", *args, "--slower", "0ns", "-d", "0.4", "-o", "json", within=within)
                report = harness.Report(out)
                f = report.final
                self.assertTrue(report.slow)
                for one in report.slow:
                    self.assertLessEqual(f["mono_ns"] - f["dur_ns"] - 1e9, one["mono_ns"])
                    self.assertLessEqual(one["mono_ns"], f["mono_ns"] + 1e9)
                    at = time.strptime(one["ts"][:19] + "UTC", "%Y-%m-%dT%H:%M:%S%Z")
                    self.assertTrue(began - 2 <= calendar.timegm(at) <= time.time() + 2, one["ts"])
                # A task that is in flight has waited no longer than since the machine started.
                with open("/proc/uptime") as up:
                    self.assertLess(f["quality"]["in_flight_longest_ns"], float(up.read().split()[0]) * 1e9)
                self.assertGreater(metric(f, "sched_wakeup_latency")["count"], 0)


class V1(Sandbox):
    """Controllers of cgroup v1 are mounted: here a hierarchy without any, under such a name."""

    def setUp(self):
        super().setUp()
        self.v1 = 'mkdir $D/memory && mount -t cgroup -o none,name=wstest none $D/memory || exit 77; '
        where = self.dir()
        self.within = lambda script: ("unshare", "-m", "env", "D=" + where, "sh", "-c", script + 'exec "$@"', "sh")
        probe = subprocess.run([*self.within(self.v1), "true"], stderr=subprocess.DEVNULL, check=False)
        os.rmdir(where + "/memory")
        if probe.returncode:
            self.skipTest("no cgroup v1 here")

    @staticmethod
    def has_v1():
        with open("/proc/self/mountinfo") as f:
            return any(l.split(" - ")[1].startswith("cgroup ") for l in f)

    def test_note(self):
        """--by container on a host of cgroup v1 says why rows are (none); elsewhere it does not"""
        args = ("-s", "sched", "--by", "container", "-d", "0.2")
        _, err = self.run_in(*args, within=self.within(self.v1))
        self.assertIn("note: --by: cgroup v1 controllers are mounted here", err)
        if not self.has_v1():
            _, err = self.run_in(*args)
            self.assertNotIn("cgroup v1", err)

    def test_advice(self):
        """no cgroup v2: the advice is not to mount it over the v1 tree"""
        none = "while umount -l -t cgroup2 -a; grep -q ' cgroup2 ' /proc/mounts; do sleep 0.1; done; "
        args = ("-s", "sched", "-c", "/", "-d", "0.2")
        _, err = self.run_in(*args, within=self.within(none + self.v1), status=3)
        self.assertIn("beside the v1 tree: mkdir /run/cgroup2 && mount -t cgroup2 none /run/cgroup2", err)
        if self.has_v1():
            return
        _, err = self.run_in(*args, within=self.within(none), status=3)
        self.assertIn("(mount -t cgroup2 none /sys/fs/cgroup)", err)


if __name__ == "__main__":
    harness.main()
