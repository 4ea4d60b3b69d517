#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What is opened for names, and what never is; and a file system that does not answer."""
import os
import re
import shutil
import stat
import subprocess

import harness
import hostile_run
from hostile_run import BASE, CC, END_S, HostileTest, SECONDS, STOP_S, hostile

STRACE = ("strace", "-f", "-y", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2,prctl,execve")
CALL = re.compile(r"^(\d+) +(open|openat|openat2)\((.*)$")
REST = re.compile(r"^(\d+) +<\.\.\. (?:open|openat|openat2) resumed>(.*)$")
LOADER = re.compile(r"^(/dev/null|/etc/ld\.so\.(cache|preload)|/(usr/)?lib(64)?/.*\.so[.0-9]*|"
                    r"/proc/\d+/exe|/proc/self/exe|/sys/.*|/proc/.*|/etc/localtime|/etc/ssl/.*)$")
OWN = re.compile(r"^/proc/\d+/(maps|stat|status|root|map_files/[0-9a-f]+-[0-9a-f]+)$")


class Opened:
    """One line of strace: who, the words of the call, and where the descriptor leads."""

    def __init__(self, pid, words, tail):
        self.pid, self.words = pid, words
        self.path_only = "O_PATH" in words
        names = re.findall(r'"((?:[^"\\]|\\.)*)"', words)
        self.name = names[0] if names else ""
        led = re.search(r"= \d+<(.*)>$", tail)
        self.to = led.group(1) if led else None


def opened_in(log):
    """All opens of the processes that parse and open for names, from when they are these."""
    children, calls, begun = set(), [], {}
    with open(log, encoding="utf-8", errors="replace") as f:
        for line in f:
            line = line.rstrip("\n")
            if 'prctl(PR_SET_NAME, "waitscope-' in line:
                children.add(int(line.split()[0]))
            call, rest = CALL.match(line), REST.match(line)
            if call and call.group(3).endswith("<unfinished ...>"):
                begun[call.group(1)] = call.group(3)
            elif call:
                calls.append(Opened(int(call.group(1)), call.group(3), call.group(3)))
            elif rest:
                calls.append(Opened(int(rest.group(1)), begun.pop(rest.group(1)), rest.group(2)))
            for c in calls:
                c.child = getattr(c, "child", c.pid in children)
    return children, calls


def mapped_by(pid):
    with open("/proc/%d/maps" % pid, encoding="utf-8") as f:
        return {m.group(1) for m in re.finditer(r" (/.*)$", f.read(), re.M)}


class Paths(HostileTest):
    def make(self, name, how):
        path = hostile.make(self.victim, self.dir, name, how)
        self.addCleanup(os.unlink, path)
        return path

    def alternate(self, name, path):
        return self.make(name, lambda f, _: hostile.alternate(f, path))

    def link(self, name, path):
        return self.make(name, lambda f, _: hostile.link_to(f, path))

    def point(self, at, to):
        os.symlink(to, at)
        self.addCleanup(os.unlink, at)

    def secret(self):
        """A file that nobody maps, in a directory of its own."""
        where = os.path.join(self.dir, "elsewhere")
        os.mkdir(where)
        self.addCleanup(shutil.rmtree, where)
        path = os.path.join(where, "secret")
        shutil.copy(self.victim, path)
        return path

    def special(self):
        """Files that are not regular ones, where debug information is looked for."""
        paths = [os.path.join(self.dir, name) for name in ("pipe", "device")]
        os.mkfifo(paths[0])
        self.addCleanup(os.unlink, paths[0])
        os.mknod(paths[1], 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero, under another name
        self.addCleanup(os.unlink, paths[1])
        return paths

    def programs(self, secret):
        """Each says that its debug information is somewhere else."""
        debug = "/usr/lib/debug"
        made = []
        if not os.path.isdir(debug):
            os.mkdir(debug)
            self.addCleanup(os.rmdir, debug)
        pointer = "%s/ws-test-%d" % (debug, os.getpid())
        self.point(pointer, secret)
        for i, path in enumerate((
                secret, "/proc/kmsg", "/proc/self/root" + secret, debug + "/../../.." + secret,
                pointer, "/dev/null", "elsewhere/secret")):
            made.append(self.alternate("alt%d" % i, path))
        self.point(os.path.join(self.dir, "pointer"), secret)
        self.point(os.path.join(self.dir, "log"), "/proc/kmsg")
        self.point(os.path.join(self.dir, ".debug"), os.path.dirname(secret))
        for i, name in enumerate(("pointer", "log", "secret", "elsewhere/secret", "../../proc/kmsg", "pipe", "device")):
            made.append(self.link("link%d" % i, name))
        return [os.path.basename(m) for m in made]

    def trace(self, *args):
        """What was opened in a run under strace, and its report."""
        if not shutil.which("strace"):
            self.skipTest("no strace")
        log = os.path.join(self.dir, "strace")
        self.addCleanup(lambda: os.path.exists(log) and os.unlink(log))
        tool = self.tool(*args, prefix=(*STRACE, "-o", log))
        report = tool.end()
        self.assertEqual(report.status, 0, report.stderr)
        children, calls = opened_in(log)
        self.assertGreaterEqual(len(children), 2)
        return report, calls

    def check_asked(self, report, names):
        asked = {re.split("[`+]", n)[0] for n in self.names(report)}
        self.assertLessEqual(set(names), asked)

    def test_paths(self):
        """debug links of any path: opened is what processes map, /proc of theirs and /usr/lib/debug, no more"""
        secret = self.secret()
        special = self.special()
        names = self.programs(secret)
        running = [self.program(n) for n in names]
        mapped = set().union(*(mapped_by(p.pid) for p in running))
        report, calls = self.trace("-s", "futex", "-n", "0", "-d", SECONDS,
                                   "-p", ",".join(str(p.pid) for p in running))
        self.check_asked(report, names)
        tried = {c.name for c in calls if c.child}
        self.assertIn(os.path.join(self.dir, "pointer"), tried)
        self.assertIn(os.path.join(self.dir, ".debug", "secret"), tried)
        special_seen = set()
        for c in calls:
            if c.to is None:
                continue
            self.assertNotIn(c.to, {secret, "/proc/kmsg"}, c.words)
            if not c.child:
                continue
            if c.to in special:
                special_seen.add(c.to)
                self.assertTrue(c.path_only, c.words)
                continue
            self.assertTrue(c.to in mapped or OWN.match(c.to) or c.to in ("/", "/dev/null", "/usr/lib/debug")
                            or c.to.startswith("/usr/lib/debug/"), "%s led to %s" % (c.words, c.to))
        self.assertEqual(special_seen, set(special))  # else the test would not be one
        self.note("%d opened for names", sum(c.child and c.to is not None for c in calls))

    def test_link_out_of_root(self):
        """in another root: a link there does not lead out of it"""
        secret = self.secret()
        jail = os.path.join(self.dir, "jail")
        os.mkdir(jail)
        self.addCleanup(shutil.rmtree, jail)
        shutil.move(hostile.make(self.victim, self.dir, "jailed", lambda f, _: hostile.alternate(f, "/debug")), jail)
        os.symlink(secret, os.path.join(jail, "debug"))
        p = self.program("jailed", path="/jailed", prefix=("chroot", jail))
        report, calls = self.trace("-s", "futex", "-n", "0", "-d", SECONDS, "-p", str(p.pid))
        self.check_asked(report, ["jailed"])
        self.assertIn("debug", {os.path.basename(c.name) for c in calls if c.child})
        self.assertNotIn(secret, {c.to for c in calls})

    def test_other_root(self):
        """in another mount namespace: nothing of the kernel's own is read, though its path leads there"""
        names = []
        for i, path in enumerate(("/proc/kmsg", "/sys/kernel/vmcoreinfo", "/proc/sys/kernel/ostype")):
            names.append("ns%d" % i)
            self.alternate(names[-1], path)
        running = [self.program(n, prefix=("unshare", "-m")) for n in names]
        report, calls = self.trace("-s", "futex", "-n", "0", "-d", SECONDS,
                                   "-p", ",".join(str(p.pid) for p in running))
        self.check_asked(report, names)
        # In a chroot a path in another namespace begins at that one's root, outside of ours.
        kernels = re.compile(r"(^|/)(proc/kmsg|proc/sys/.*|sys/kernel/.*)$")
        # Looked at, to see what it is: without that the test would not be one.
        self.assertTrue(any(kernels.search(c.to) and c.path_only for c in calls if c.child and c.to))
        for c in calls:
            if c.child and c.to and not c.path_only:
                self.assertNotRegex(c.to, kernels, c.words)


class Silent(HostileTest):
    """A program of a file system that answers no more."""

    def silent(self):
        where = os.path.join(self.dir, "fuse")
        os.mkdir(where)
        self.addCleanup(os.rmdir, where)
        self.addCleanup(subprocess.run, ["umount", "-l", where], stderr=subprocess.DEVNULL, check=False)
        daemon = os.path.join(self.dir, "fused")
        source = os.path.join(harness.ROOT, "tests", "names", "prog", "fuse.c")
        subprocess.run([CC, "-O2", "-o", daemon, source], check=True)
        p = subprocess.Popen([daemon, where, os.path.join(self.dir, "base")], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_daemon, p)
        if p.stdout.readline() != "ready\n":
            why = p.stderr.read().strip()
            self.assertEqual(p.wait(), 77, why)
            self.skipTest("no file system of our own: " + why)
        self.stuck = self.program("program", path=os.path.join(where, "program"))
        self.addCleanup(self.end_daemon, p)  # before the program, which may wait for it
        p.stdin.write("x")
        p.stdin.flush()
        self.assertEqual(p.stdout.readline(), "silent\n")
        return p

    @staticmethod
    def end_daemon(p):
        p.kill()
        p.wait()
        for stream in (p.stdin, p.stdout, p.stderr):
            stream.close()

    def check_row(self, report):
        """Its word has a row all the same, by what the kernel says of the mapping."""
        self.assertTrue(any(n.startswith("program+0x") for n in self.names(report)), self.names(report))

    def test_reports(self):
        """reports on time, others' names, an end"""
        daemon = self.silent()
        self.program("base")
        report, watch = self.run_watched("-s", "futex,line", "-d", SECONDS)
        self.check_report(report, watch, END_S)
        self.assertIn(BASE, self.names(report))
        self.check_row(report)
        self.note("%d left waiting", sum(harness.runs(p) for p in watch.children))
        self.end_daemon(daemon)
        self.check_gone(watch)

    def test_intervals(self):
        """every second a report; SIGINT ends it in time"""
        daemon = self.silent()
        self.program("base")
        tool = self.tool("-s", "futex", "0.5").ready()
        tool.await_line('"seq":5')
        watch = hostile_run.Watch(tool.proc.pid)
        report = tool.stop()
        self.check_report(report, watch.done(), STOP_S)
        late = max(i["dur_ns"] for i in report.intervals) / 1e9
        self.note("longest interval %.2f s", late)
        self.assertLess(late, self.limit(0.5 + 0.6, watch))
        self.assertIn(BASE, self.names(report))
        self.end_daemon(daemon)
        self.check_gone(watch)


if __name__ == "__main__":
    harness.main()
