#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every way a run ends: signals, the command, the target, a closed pipe; and nothing is left behind."""
import contextlib
import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request

import harness
from harness import KernelTest, bpf_ids, bpf_leaked, children_of, count, load_path, metric, runs


def catches(pid, sig):
    """Does the process catch or hold the signal by now (or is it gone)?"""
    try:
        with open("/proc/%d/status" % pid) as f:
            status = dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)
    except (FileNotFoundError, ProcessLookupError):
        return True
    if "SigCgt" not in status:
        return True
    held = int(status["SigCgt"], 16) | int(status["SigBlk"], 16)
    return bool(held >> (sig - 1) & 1)


def cpu_s(pid):
    """CPU time that the process has had, or 0 when it is gone."""
    try:
        return harness.schedstat_of(pid).ran_ns / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Signals(KernelTest):
    def interrupt_after(self, sig, delay_s):
        """One run, signalled `delay_s` after it began to catch signals; CPU time until then, in s."""
        tool = self.tool("-i", "0.1")
        while not catches(tool.proc.pid, sig):
            time.sleep(0.0005)
        took = cpu_s(tool.proc.pid)
        time.sleep(delay_s)
        report = tool.stop(sig)
        what = "%s after %.0f ms" % (sig.name, delay_s * 1000)
        self.assertEqual(report.status, 0, what)
        self.assertEqual(report.stderr, "", what)
        self.assertTrue(report.text.endswith("\n"), what)
        self.assertEqual(report.lines[0]["type"], "meta", what)
        self.assertEqual(report.lines[-1]["type"], "final", what)
        return took

    def start_cpu_s(self):
        """CPU time that a start takes as a whole."""
        tool = self.tool("-i", "3600").ready()
        took = cpu_s(tool.proc.pid)
        tool.stop()
        return took

    def test_any_moment(self):
        """SIGINT and SIGTERM at 50 random moments: exit 0, whole final report, no BPF object left"""
        seed = int(os.environ.get("WS_SEED", time.time()))
        self.note("seed %d (WS_SEED)", seed)
        rnd = random.Random(seed)
        before = bpf_ids()
        caught, started = [], self.start_cpu_s()
        for i in range(50):
            # Most within the start-up, where there is most to go wrong.
            delay = rnd.uniform(0, 0.3) if i % 3 else rnd.uniform(0.3, 1.5)
            sig = signal.SIGINT if i % 2 else signal.SIGTERM
            caught.append(self.interrupt_after(sig, delay))
        # Before the programs are loaded. Its own time, most often: we are late to see it on a busy machine.
        caught = sorted(caught)[len(caught) // 2]
        self.note("signals are caught after %.0f of %.0f ms of CPU time to start", caught * 1000, started * 1000)
        self.assertLess(caught, started / 2)
        self.assertEqual(bpf_leaked(before), set())

    def test_sigkill(self):
        """nothing stays in the kernel even after SIGKILL"""
        before = bpf_ids()
        tool = self.tool().ready()
        self.assertTrue(bpf_ids() - before, "BPF objects are seen while it runs")
        tool.kill()
        self.assertEqual(bpf_leaked(before), set())

    def test_final_has_all(self):
        """SIGTERM in a long interval: the final report has what was collected in it"""
        sleeper = self.load("sleeper", 211, 300)
        tid = sleeper.line()["tid"]
        tool = self.tool("-t", tid, "-i", "3600").ready()
        self.assertEqual(harness.sleeps(sleeper, tid), 211)
        report = tool.stop(signal.SIGTERM)
        self.assertCounted(report.final, count(report.final, "sched_wakeup_latency"), 211)

    def test_usr1(self):
        """SIGUSR1: a report now, and the run goes on"""
        sleeper = self.load("sleeper", 101, 300)
        tid = sleeper.line()["tid"]
        tool = self.tool("-t", tid, "-i", "3600").ready()
        self.assertEqual(harness.sleeps(sleeper, tid), 101)
        tool.send(signal.SIGUSR1)
        tool.await_line('"type":"interval"')
        self.assertIsNone(tool.proc.poll())
        report = tool.stop()
        self.assertCounted(report.final, count(report.final, "sched_wakeup_latency"), 101)
        # All of them are in the first interval.
        self.assertEqual(metric(report.intervals[0], "sched_wakeup_latency"),
                         metric(report.final, "sched_wakeup_latency"))

    def full_pipe(self):
        """A run whose stdout is full and not read."""
        r, w = harness.small_pipe()
        proc = subprocess.Popen([harness.TOOL, "-o", "json", "-i", "0.05"], stdout=w,
                                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        self.addCleanup(os.close, r)
        os.close(w)
        self.await_blocked(r)
        self.assertIsNone(proc.poll())
        return proc

    def await_blocked(self, pipe):
        """Returns once something is in the pipe, and no more has come for twenty intervals."""
        had, since = 0, time.monotonic()
        while time.monotonic() < since + 1:
            (have,) = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))
            if have != had or not have:
                had, since = have, time.monotonic()
            time.sleep(0.01)

    def test_second_signal(self):
        """a second SIGINT ends at once, even when nobody reads the first one's report"""
        proc = self.full_pipe()
        proc.send_signal(signal.SIGINT)
        self.until(lambda: not catches(proc.pid, signal.SIGINT), "the first is taken")
        time.sleep(0.3)
        self.assertIsNone(proc.poll(), "the final report has nowhere to go")
        proc.send_signal(signal.SIGINT)
        self.assertEqual(proc.wait(harness.PATIENCE_S), -signal.SIGINT)

    def test_rotate(self):
        """SIGHUP reopens -o FILE: rotated by mv, nothing is lost or said twice"""
        where = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        path = os.path.join(where, "log")
        tool = harness.Tool(self, ["-o", "json:" + path, "-i", "0.1"], json_out=False)
        self.await_lines(path, 4, tool)
        os.rename(path, path + ".1")
        time.sleep(0.25)  # what comes before the signal still goes to the old file
        tool.send(signal.SIGHUP)
        self.await_lines(path, 3, tool)
        tool.send(signal.SIGINT)
        self.assertEqual(tool.wait(), 0, tool.stderr())
        with open(path + ".1") as old, open(path) as new:
            old, new = harness.Report(old.read()), harness.Report(new.read())
        seqs = [f["seq"] for f in old.intervals + new.intervals]
        self.assertEqual(seqs, list(range(1, len(seqs) + 1)))
        self.assertGreater(len(old.intervals), 0)
        self.assertGreater(len(new.intervals), 0)
        self.assertEqual(old.of("final"), [])
        self.assertEqual(new.lines[-1]["type"], "final")

    def await_lines(self, path, n, tool):
        for _ in range(500):
            if os.path.exists(path):
                with open(path) as f:
                    if f.read().count("\n") >= n:
                        return
            self.assertIsNone(tool.proc.poll(), tool.stderr())
            time.sleep(0.01)
        self.fail("no %d lines in %s" % (n, path))


KEEPER = "waitscope: keep"


def keeper_of(pid):
    """The child that holds what takes the kernel long to close."""
    for child in children_of(pid):
        with open("/proc/%d/comm" % child) as f:
            if f.read().strip() == KEEPER:
                return child
    return None


class AtOnce(KernelTest):
    """-s futex has perf events of tracepoints, whose closes wait for grace periods of the kernel."""

    def futex(self, *args):
        """(tool, its keeper)"""
        tool = self.tool("-s", "futex", *args).ready()
        self.until(lambda: keeper_of(tool.proc.pid), "the keeper is there")
        return tool, keeper_of(tool.proc.pid)

    def gone(self, keeper, before):
        self.until(lambda: not runs(keeper), "the keeper has ended")
        self.assertEqual(bpf_leaked(before), set())

    def test_holds(self):
        """the keeper holds its links, its pipe and tracefs, no memory of BPF maps, no directory, and has no right"""
        tool, keeper = self.futex()
        files = [os.readlink("/proc/%d/fd/%s" % (keeper, fd)) for fd in os.listdir("/proc/%d/fd" % keeper)]
        links = [f for f in files if f in ("anon_inode:bpf_link", "anon_inode:bpf-link", "anon_inode:[perf_event]")]
        self.note("%d links of %d files", len(links), len(files))
        self.assertGreaterEqual(len(links), 2)
        self.assertEqual(len([f for f in files if f.startswith("pipe:")]), 1)
        rest = [f for f in files if f not in links and not f.startswith("pipe:")]
        self.assertIn(rest, ([], ["/events"], ["/sys/kernel/tracing/events"], ["/sys/kernel/debug/tracing/events"]))
        with open("/proc/%d/maps" % keeper) as f:
            self.assertNotIn("bpf-map", f.read())
        self.assertEqual(os.readlink("/proc/%d/cwd" % keeper), "/")
        with open("/proc/%d/status" % keeper) as f:
            status = dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)
        self.assertEqual([int(status[c], 16) for c in ("CapPrm", "CapEff", "CapInh")], [0, 0, 0])
        tool.stop()

    def ends_first(self, end):
        """The tool is gone while its keeper still closes, unless the kernel was quick."""
        before = bpf_ids()
        tool, keeper = self.futex()
        end(tool)
        first = runs(keeper)
        self.gone(keeper, before)
        self.assertTrue(first, "the keeper has not ended before the tool")

    def test_end(self):
        """the end does not wait for the kernel's grace periods: -d, SIGINT, SIGKILL; and nothing is left behind"""
        for end in (
            lambda tool: tool.stop(signal.SIGINT),
            lambda tool: tool.stop(signal.SIGTERM),
            lambda tool: tool.kill(),
        ):
            self.by_chance(lambda end=end: self.ends_first(end))

    def test_no_keeper(self):
        """a run whose keeper was killed ends as well, and leaves nothing behind"""
        before = bpf_ids()
        tool, keeper = self.futex()
        os.kill(keeper, signal.SIGKILL)
        self.assertEqual(tool.stop().lines[-1]["type"], "final")
        self.gone(keeper, before)

    def last_to_end_s(self, *args):
        """From the last byte of a run's records to the end of the process: 0.3 s at most."""
        proc = subprocess.Popen([harness.TOOL, "-q", "-d", "0.3", "-o", "json", *args], stdout=subprocess.PIPE,
                                stdin=subprocess.DEVNULL)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        with proc.stdout:
            while os.read(proc.stdout.fileno(), 1 << 20):
                last = time.monotonic()
        self.assertEqual(proc.wait(harness.PATIENCE_S), 0)
        took = time.monotonic() - last
        self.assertLess(took, 0.3, args)
        return took

    def test_time(self):
        """0.3 s from the last record to the end, for single sources and all with --why"""
        for args in ([], ["-s", "sched"], ["-s", "futex"], ["-s", "sched,lock,futex", "--why"]):
            took = self.by_chance(lambda args=args: self.last_to_end_s(*args))
            self.note("%s: %.3f s", " ".join(args) or "default", took)


class ClosedPipe(KernelTest):
    def head(self, *args):
        """stderr and status of a run whose reader leaves after a line."""
        before = bpf_ids()
        proc = subprocess.Popen([harness.TOOL] + list(args), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        self.assertNotEqual(proc.stdout.readline(), "")
        proc.stdout.close()
        err = proc.stderr.read()
        proc.stderr.close()
        self.assertEqual((proc.wait(harness.PATIENCE_S), err), (0, ""))
        self.assertEqual(bpf_leaked(before), set())

    def test_json(self):
        """| head -1 is a quiet end: exit 0, no words (json)"""
        self.head("-o", "json", "-i", "0.1")

    def test_table(self):
        """| head -1 is a quiet end: exit 0, no words (table)"""
        self.head("-i", "0.1")

    def test_csv(self):
        """| head -1 is a quiet end: exit 0, no words (csv)"""
        self.head("-o", "csv", "-i", "0.1")


    def test_at_once(self):
        """a reader that leaves is seen at once, not with the next report: pipe, FIFO, socket"""
        self.head("-o", "json", "-i", "3600")
        for stdout in (subprocess.PIPE, None):
            ours, theirs = socket.socketpair()
            proc = subprocess.Popen([harness.TOOL, "-q", "-s", "sched", "-i", "3600"], stdin=subprocess.DEVNULL,
                                    stdout=stdout or theirs)
            self.addCleanup(proc.wait)
            self.addCleanup(proc.kill)
            theirs.close()
            self.until(lambda pid=proc.pid: catches(pid, signal.SIGTERM), "it runs")
            (proc.stdout or ours).close()
            self.assertEqual(proc.wait(harness.PATIENCE_S), 0)
            ours.close()
        fifo = os.path.join(self.dir(), "fifo")
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        proc = subprocess.Popen([harness.TOOL, "-q", "-s", "sched", "-i", "3600", "-o", "csv:" + fifo])
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        self.until(lambda: select.select([reader], [], [], 0)[0], "it writes")
        os.close(reader)
        self.assertEqual(proc.wait(harness.PATIENCE_S), 0)

    def dir(self):
        where = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        return where

    def test_others_go_on(self):
        """of two outputs the one whose reader leaves ends; the other has all reports"""
        tool = self.dir() + "/json"
        proc = subprocess.Popen([harness.TOOL, "-q", "-s", "sched", "-i", "0.1", "-d", "1", "-o", "csv",
                                 "-o", "json:" + tool], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        proc.stdout.readline()
        proc.stdout.close()
        self.assertEqual(proc.wait(harness.PATIENCE_S), 0)
        with open(tool) as f:
            self.assertEqual(harness.Report(f.read()).final["end"], "duration over")


class Stalled(KernelTest):
    """stdout is a pipe that is full and not read, or a terminal that was stopped."""

    def dir(self):
        where = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        return where

    def stalled(self, *args, end=None):
        """A run whose stdout is not read: (process, the end to read from, path of its other output)."""
        r, w = end or harness.small_pipe()
        other = os.path.join(self.dir(), "json")
        proc = subprocess.Popen([harness.TOOL, "-s", "sched", "-i", "0.02", "-o", "csv", "-o", "json:" + other, *args],
                                stdin=subprocess.DEVNULL, stdout=w, stderr=subprocess.PIPE, text=True)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.stderr.close)
        self.addCleanup(proc.kill)
        os.close(w)
        return proc, r, other

    @staticmethod
    def reports(path):
        if not os.path.exists(path):
            return 0
        with open(path) as f:
            return f.read().count('"type":"interval"')

    def goes_on(self, other):
        """Twenty reports more than a pipe of 4 KB can take."""
        self.until(lambda: self.reports(other) >= 1, "a report")
        had = self.reports(other)
        self.until(lambda: self.reports(other) >= had + 20, "reports of the other output")

    def test_goes_on(self):
        """a reader that stalls stops neither the reports of other outputs nor --listen"""
        proc, r, other = self.stalled("--listen", "127.0.0.1:0")
        self.addCleanup(os.close, r)
        address = re.search(r"serving (\S+)", proc.stderr.readline())[1]
        self.goes_on(other)
        with urllib.request.urlopen(address.removesuffix("/") if address.endswith("/metrics") else address + "metrics",
                                    timeout=harness.PATIENCE_S) as answer:
            self.assertIn(b"waitscope_", answer.read())
        self.goes_on(other)

    def test_terminal(self):
        """a terminal that was stopped (Ctrl-S) stops no reports either"""
        main, side = pty.openpty()
        self.addCleanup(os.close, main)
        termios.tcflow(side, termios.TCOOFF)
        _, _, other = self.stalled(end=(main, side))
        self.goes_on(other)

    def test_reads_on(self):
        """a reader that reads on has everything, in order"""
        proc, r, other = self.stalled("-d", "2")
        self.goes_on(other)
        with open(r) as f:
            lines = f.read().splitlines()
        self.assertEqual(proc.wait(harness.PATIENCE_S), 0, proc.stderr.read())
        columns = lines[0].split(",")
        width = len(columns)
        self.assertEqual({len(l.split(",")) for l in lines}, {width})
        with open(other) as f:
            report = harness.Report(f.read())
        have = [l.split(",")[columns.index("ts")] for l in lines[1:]]
        order = list(dict.fromkeys(have))
        want = list(dict.fromkeys(f["ts"] for f in report.intervals + [report.final]))
        self.assertEqual(order, want)

    def test_sigterm(self):
        """SIGTERM ends it, though nobody reads its last report: exit 1, and it says so"""
        proc, r, other = self.stalled()
        self.addCleanup(os.close, r)
        self.goes_on(other)
        proc.terminate()
        self.assertEqual(proc.wait(harness.PATIENCE_S), 1)
        self.assertRegex(proc.stderr.read(), r"^waitscope: error: output: \d+ bytes were not read .*\n$")
        with open(other) as f:
            self.assertEqual(harness.Report(f.read()).final["end"], "terminated")

    def test_sigterm_late(self):
        """SIGTERM ends a run that is over and waits for its reader"""
        proc, r, other = self.stalled("-d", "0.5")
        self.addCleanup(os.close, r)
        self.until(lambda: os.path.exists(other) and '"final"' in open(other).read(), "the final report")
        time.sleep(0.3)
        self.assertIsNone(proc.poll())
        proc.terminate()
        self.assertEqual(proc.wait(harness.PATIENCE_S), 1)

    def test_command_blocks(self):
        """COMMAND has its stdout as it was given: its own writes wait"""
        code = "import fcntl, os, sys; sys.stderr.write(str(fcntl.fcntl(1, fcntl.F_GETFL) & os.O_NONBLOCK))"
        proc, r, _ = self.stalled("-q", "--", sys.executable, "-c", code)
        self.addCleanup(os.close, r)
        self.assertEqual(proc.stderr.read(1), "0")


class OneFile(KernelTest):
    def test_refused(self):
        """two outputs in one file, whatever its names, are refused (exit 2), and the file is left as it was"""
        where = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        path = os.path.join(where, "x")
        with open(path, "w") as f:
            f.write("before")
        os.symlink(path, os.path.join(where, "symlink"))
        os.link(path, os.path.join(where, "link"))
        os.mkfifo(os.path.join(where, "fifo"))
        os.symlink("fifo", os.path.join(where, "pipe"))
        reader = os.open(os.path.join(where, "fifo"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        for one, two in (("x", "./x"), ("x", "symlink"), ("link", "x"), ("fifo", "pipe")):
            tool = self.tool("-d", "0.2", "-o", "json:" + one, "-o", "csv:" + two, json_out=False, cwd=where)
            self.assertEqual(tool.wait(), 2, (one, two))
            self.assertRegex(tool.stderr(), "both json and csv would go to one file: '%s' is '%s'" % (two, one))
        with open(path, "r+") as out:
            proc = subprocess.run([harness.TOOL, "-d", "0.2", "-o", "csv", "-o", "json:" + path], stdout=out,
                                  stderr=subprocess.PIPE, text=True, timeout=harness.PATIENCE_S)
        self.assertEqual(proc.returncode, 2)
        self.assertIn("is 'standard output'", proc.stderr)
        with open(path) as f:
            self.assertEqual(f.read(), "before")
        null = self.tool("-d", "0.2", "-o", "json:/dev/null", "-o", "csv:/dev/../dev/null", json_out=False)
        self.assertEqual(null.wait(), 0)


class Command(KernelTest):
    def status(self, *command):
        report = self.tool("--", *command).end()
        self.assertEqual(report.lines[-1]["type"], "final")
        return report.status

    def test_status(self):
        """-- COMMAND: its exit status is passed on, 128 + N when a signal ended it"""
        for code in (0, 1, 7, 255):
            self.assertEqual(self.status("/bin/sh", "-c", "exit %d" % code), code)
        self.assertEqual(self.status("/bin/sh", "-c", "kill -TERM $$"), 128 + 15)
        self.assertEqual(self.status("/bin/sh", "-c", "kill -KILL $$"), 128 + 9)

    def test_path_search(self):
        """-- COMMAND is looked for in PATH, and gets its own arguments as they are"""
        self.assertEqual(self.status("sh", "-c", 'test "$1" = "-d" && exit 5', "sh", "-d"), 5)

    def test_not_executable(self):
        """-- COMMAND that cannot be executed: exit 1, one line that names it, no report, no BPF left"""
        before = bpf_ids()
        for command in ("/nonexistent/program", "ws-no-such-command", "/etc/passwd"):
            tool = self.tool("--", command)
            self.assertEqual(tool.wait(), 1)
            err = tool.stderr()
            self.assertEqual(err.count("\n"), 1, err)
            self.assertTrue(err.startswith("waitscope: error: "), err)
            self.assertIn(command, err)
            self.assertEqual(tool.json(), "")
        self.assertEqual(bpf_leaked(before), set())

    def test_whole_life(self):
        """-- COMMAND is traced from its first to its last moment: 307 naps and all"""
        script = "import resource, time\n" \
                 "for i in range(307): time.sleep(0.0005)\n" \
                 "print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw)"
        tool = self.tool("--", "python3", "-c", script)
        report = tool.end()
        # As often as it blocked, by its own account: the interpreter's start may, too, on the disk.
        blocked = int(tool.stdout())
        got = count(report.final, "sched_wakeup_latency")
        unseen = harness.hidden(report.final)
        self.note("%d wakeups, withheld or inferred %d, blocked %d times", got, unseen, blocked)
        self.assertGreaterEqual(blocked, 300)
        self.assertGreaterEqual(got + unseen, blocked - 2)  # before its exec
        self.assertLessEqual(got, blocked + 4)  # on its way out

    def test_signal_with_command(self):
        """SIGINT with -- COMMAND: final report, and the command does not outlive it unseen"""
        tool = self.tool("--", load_path("hog"), 1, 30).ready()
        self.until(lambda: children_of(tool.proc.pid), "the command is there")
        command, = children_of(tool.proc.pid)
        report = tool.stop(signal.SIGINT)
        self.assertEqual(report.lines[-1]["type"], "final")
        self.assertEqual(report.status, 0)
        self.until(lambda: not runs(command), "the command does not run")

    def script(self, text):
        """A COMMAND of bash; `$1` is a directory of its own."""
        return ["--", "/bin/bash", "-c", text, "bash", self.dir()]

    def dir(self):
        where = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        return where

    def test_time_over(self):
        """-d and COUNT: COMMAND gets SIGTERM, is waited for, and its status is passed on"""
        text = 'trap "sleep 1; echo cleaned up; exit 3" TERM; while :; do sleep 0.05; done'
        for args in (["-d", "0.5"], ["0.2", "2"]):
            tool = self.tool("-q", *args, *self.script(text))
            report = tool.end()
            self.assertEqual((report.status, tool.stdout()), (3, "cleaned up\n"), args)
            self.assertNotIn("waitscope", tool.stderr())
            self.assertIn(report.final["end"], ("duration over", "count reached"))

    def test_ended_by_us(self):
        """a COMMAND that ends by the signal that the end of the run sends it: exit 0, and --fail-if has its say"""
        self.assertEqual(self.tool("-d", "0.3", "--", "sleep", "60").end().status, 0)
        limit = ("--fail-if", "sched_wakeup_latency count >= 0")
        self.assertEqual(self.tool("-d", "0.3", *limit, "--", "sleep", "60").end().status, 4)
        text = "kill -KILL $$"
        self.assertEqual(self.tool("-d", "60", *limit, *self.script(text)).end().status, 128 + 9)

    def descendants(self, pid):
        found, new = set(), {pid}
        while new:
            new = set().union(*(children_of(p) for p in new)) - found
            found |= new
        return found

    def test_children(self):
        """-d: the children of COMMAND in its process group get SIGTERM as well, and none is left behind"""
        tool = self.tool("-d", "1", *self.script("(sleep 77 & sleep 77; true) & sleep 77; true")).ready()
        self.until(lambda: len(self.descendants(tool.proc.pid)) >= 4, "all are there")
        there = self.descendants(tool.proc.pid)
        report = tool.end()
        self.assertEqual((report.status, report.stderr), (0, ""))
        self.assertEqual([p for p in there if runs(p)], [])

    def test_left_behind(self):
        """-d: what does not end at SIGTERM, or has left the process group, is named and left alone"""
        text = 'setsid sleep 78 & sleep 0.2; echo $! >$1/left; exec sleep 77'
        command = self.script(text)
        tool = self.tool("-q", "-d", "1", *command)
        status = tool.end().status
        with open(command[-1] + "/left") as f:
            left = int(f.read())
        self.addCleanup(os.kill, left, signal.SIGKILL)
        self.assertEqual(status, 0)
        self.assertTrue(runs(left))
        self.assertEqual(tool.stderr(), "waitscope: left behind, still running: %d sleep\n" % left)

    @staticmethod
    def kill_group(pid):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    def in_session(self, *args, text):
        """A run as leader of a session, as a terminal's foreground group: (process, directory of the command)."""
        command = self.script(text)
        proc = subprocess.Popen([harness.TOOL, "-s", "sched", "-o", "json:" + command[-1] + "/json", *args, *command],
                                start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(proc.wait)
        self.addCleanup(proc.stderr.close)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(self.kill_group, proc.pid)
        self.until(lambda: os.path.exists(command[-1] + "/begun"), "the command runs")
        return proc, command[-1]

    def test_ctrl_c(self):
        """Ctrl-C: COMMAND, which has it from the terminal, cleans up for a second; its status is passed on"""
        text = 'trap "sleep 1; echo cleaned up; exit 3" INT; trap "echo cut off; exit 4" TERM; ' \
               '>$1/begun; while :; do sleep 0.05; done'
        proc, where = self.in_session(text=text)
        os.killpg(proc.pid, signal.SIGINT)
        out, err = proc.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((proc.returncode, out), (3, "cleaned up\n"))
        self.assertEqual(err, "waitscope: note: waiting for COMMAND to end (Ctrl-C: do not wait)\n")
        with open(where + "/json") as f:
            self.assertEqual(harness.Report(f.read()).final["end"], "interrupted")

    def test_ctrl_c_ignored(self):
        """Ctrl-C: COMMAND that takes no notice has five seconds, then SIGTERM"""
        text = 'trap "" INT; trap "echo terminated; exit 5" TERM; >$1/begun; while :; do sleep 0.05; done'
        proc, _ = self.in_session("-q", text=text)
        began = time.monotonic()
        os.killpg(proc.pid, signal.SIGINT)
        out, err = proc.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((proc.returncode, out), (5, "terminated\n"))
        self.assertNotIn("waitscope", err)
        self.assertGreater(time.monotonic() - began, 4.5)

    def test_ctrl_c_again(self):
        """a second Ctrl-C while COMMAND is waited for ends at once"""
        text = 'trap "" INT TERM; >$1/begun; while :; do sleep 0.05; done'
        proc, _ = self.in_session(text=text)
        os.killpg(proc.pid, signal.SIGINT)
        self.assertIn("waiting for COMMAND", proc.stderr.readline())
        began = time.monotonic()
        os.killpg(proc.pid, signal.SIGINT)
        self.assertEqual(proc.wait(harness.PATIENCE_S), -signal.SIGINT)
        self.assertLess(time.monotonic() - began, 3)

    def test_terminated(self):
        """SIGTERM to waitscope alone: COMMAND gets one, too, is waited for, and its status is passed on"""
        text = 'trap "echo terminated; exit 6" TERM; >$1/begun; while :; do sleep 0.05; done'
        proc, _ = self.in_session(text=text)
        proc.terminate()
        out, err = proc.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual((proc.returncode, out), (6, "terminated\n"))
        self.assertNotIn("waitscope", err)


class Vanished(KernelTest):
    def check(self, tool, word):
        report = tool.end()
        self.assertEqual(report.status, 0, report.stderr)
        self.assertIn(word, report.final["end"])
        self.assertRegex(report.final["end"], "ha(s|ve) (ended|been removed)")

    def test_pid(self):
        """the target process ends: so does the run, with its report, and says so"""
        load = self.load("hog", "--wait", 1, 1)
        pid = load.line()["pid"]
        tool = self.tool("-p", pid).ready()
        load.go()
        load.end()
        self.check(tool, str(pid))

    def test_tid(self):
        """the target thread ends: so does the run"""
        load = self.load("hog", "--wait", 1, 1)
        tid = load.line()["tids"][0]
        tool = self.tool("-t", tid).ready()
        load.go()
        load.end()
        self.check(tool, str(tid))

    def test_one_of_two(self):
        """one of two targets ends: the run goes on"""
        one, two = (self.load("hog", "--wait", 1, 1) for _ in range(2))
        pids = [l.line()["pid"] for l in (one, two)]
        tool = self.tool("-p", "%d,%d" % tuple(pids)).ready()
        one.go()
        one.end()
        time.sleep(1.5)
        self.assertIsNone(tool.proc.poll())
        two.go()
        two.end()
        self.check(tool, "all 2 processes")

    def test_cgroup(self):
        """the target cgroup is removed: the run ends with its report, and says so"""
        group = self.cgroup()
        tool = self.tool("-c", group.path).ready()
        time.sleep(0.3)
        group.remove()
        self.check(tool, os.path.basename(group.path))


TEST = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import harness
harness.AT_ONCE = 1

class One(harness.KernelTest):
    %s
    def test_one(self):
        self.addCleanup(print, "cleaned up", file=sys.stderr, flush=True)
        print("begun", file=sys.stderr, flush=True)
        sys.stdin.read()

    %s
    def test_two(self):
        print("begun, too", file=sys.stderr, flush=True)

harness.main()
"""


class Tests(KernelTest):
    def test_unread(self):
        """a test itself, ended or interrupted when nobody reads its results: cleans up, is the last, and the run has failed"""
        env = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        together = "@harness.together"
        for marks in (("", ""), (together, ""), (together, together)):
            for end in (lambda proc: proc.send_signal(signal.SIGTERM), lambda proc: proc.stdin.close()):
                proc = subprocess.Popen([sys.executable, "-c", TEST % marks, os.path.dirname(harness.__file__)], text=True,
                                        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(proc.wait)
                self.addCleanup(proc.kill)
                self.addCleanup(proc.stdin.close)
                self.assertEqual(proc.stderr.readline(), "begun\n")
                proc.stdout.close()
                end(proc)
                with proc.stderr:
                    self.assertEqual(proc.stderr.read(), "cleaned up\n")
                self.assertEqual(proc.wait(harness.PATIENCE_S), 1)


if __name__ == "__main__":
    harness.main()
