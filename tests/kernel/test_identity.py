#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A name is of the process that has it now: after an exec, after a number is used again, in a pid namespace, without a main thread."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness
from harness import KernelTest

# Threads that wait for NAME_lock for SECONDS, or until SIGUSR1; then the program that it is given is run in its place. "leave": the
# main thread ends.
PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t NAME_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t over;
static time_t end;

static void on_signal(int sig)
{
	over = sig;
}

static __attribute__((noinline)) void NAME_takes(void)
{
	pthread_mutex_lock(&NAME_lock);
	usleep(2000);
	pthread_mutex_unlock(&NAME_lock);
	usleep(100);
}

static void *NAME_runs(void *arg)
{
	while (!over && time(NULL) < end)
		NAME_takes();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[3];

	signal(SIGUSR1, on_signal);
	end = time(NULL) + SECONDS;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, NAME_runs, NULL);
	if (argc > 1 && !strcmp(argv[1], "leave"))
		pthread_exit(NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (argc > 1)
		execl(argv[1], argv[1], (char *)NULL);
	return 0;
}
"""
# With an argument: on SIGUSR1 that program is run in its place.
COUNTERS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static char *next;
struct {
	volatile long count[8];
} __attribute__((aligned(64))) NAME_hits;

static void on_signal(int sig)
{
	(void)sig;
	execl(next, next, (char *)NULL);
}

static void *NAME_counts(void *arg)
{
	volatile long *mine = arg;

	for (;;)
		++*mine;
}

int main(int argc, char **argv)
{
	sigset_t none;
	pthread_t t[2];
	char name[16];

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (argc > 1) {
		next = argv[1];
		signal(SIGUSR1, on_signal);
	}
	for (int i = 0; i < 2; i++) {
		pthread_create(&t[i], NULL, NAME_counts, (void *)&NAME_hits.count[i]);
		snprintf(name, sizeof(name), "count-%d", i);
		pthread_setname_np(t[i], name);
	}
	pthread_join(t[0], NULL);
	return 0;
}
"""
PIE, FIXED = ("-pie", "-fPIE"), ("-no-pie", "-fno-pie")


class Identity(KernelTest):
    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    def build(self, name, seconds, *flags):
        path = os.path.join(self.dir, name)
        with open(path + ".c", "w", encoding="ascii") as f:
            f.write(PROGRAM.replace("NAME", name).replace("SECONDS", str(seconds)))
        subprocess.run(["cc", "-g", "-O2", "-pthread", *flags, "-o", path, path + ".c"], check=True)
        return path

    def start(self, *argv):
        p = subprocess.Popen(argv)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    @staticmethod
    def rows_of(frame):
        return [r for r in frame["tables"]["contended"] if r["source"] == "futex" and not r["futex"]["idle"]]

    def assertOwn(self, row, name):
        """Its lock, where it takes it and who gave it up: all of the program `name`, with lines."""
        self.assertEqual((row["owner"], row["name"]), (name, "%s`%s_lock" % (name, name)), row)
        self.assertEqual(row["place"], "%s.c:8" % name)
        codes = [s["sym"] for s in row["sites"]]
        codes += [h[k] for h in row.get("holders", []) for k in ("took_at", "released_at") if k in h]
        self.assertTrue(codes, row)
        for code in codes:
            self.assertRegex(code, r"^%s`.*\(%s\.c:\d+\)" % (name, name), row)

    def both_programs(self, *argv):
        """A run that sees both."""
        p = self.start(*argv)
        tool = self.tool("-s", "futex", "--why", "--stack-every", "1", "-i", "0.5", "-p", str(p.pid))
        tool.ready()
        self.next_report(tool, 3)
        p.send_signal(signal.SIGUSR1)
        self.until(lambda: os.path.basename(os.readlink("/proc/%d/exe" % p.pid)) == "new", "the new program")
        self.next_report(tool, 3)
        report = tool.stop()
        p.kill()
        p.wait()
        return (report,)

    def test_exec(self):
        """after an exec: the new program's lock and code, though they lie where the old one's did"""
        old, new = self.build("old", 60, *FIXED), self.build("new", 60, *FIXED)
        self.check_exec(old, new)

    def test_exec_same_places(self):
        """after an exec of a PIE, with and without randomised addresses"""
        old, new = self.build("old", 60, *PIE), self.build("new", 60, *PIE)
        self.check_exec("setarch", "-R", old, new)
        self.check_exec(old, new)

    def check_exec(self, *argv):
        (report,) = self.lossless(lambda: self.both_programs(*argv), ("names_refused",))
        rows = {r["owner"]: r for r in self.rows_of(report.final)}
        self.note("%s", {o: (r["name"], [s["sym"] for s in r["sites"]]) for o, r in rows.items()})
        self.assertEqual(set(rows), {"old", "new"})
        for name, row in rows.items():
            self.assertOwn(row, name)

    def test_number_used_again(self):
        """after a process number is used again: each row has the lock of its own program"""
        for flags in (FIXED, PIE):
            with self.subTest(flags=flags):
                self.check_reuse(self.build("right", 60, *flags), self.build("wrong", 60, *flags))

    def reused(self, right, wrong):
        a = self.start(right)
        tool = self.tool("-s", "futex", "--by", "pid", "-i", "0.7")
        tool.ready()
        self.next_report(tool, 2)
        a.send_signal(signal.SIGUSR1)
        a.wait()
        for _ in range(300):
            with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
                f.write(str(a.pid - 1))
            b = self.start(wrong)
            if b.pid == a.pid:
                break
            b.kill()
            b.wait()
        else:
            self.skipTest("another process always gets the number")
        self.next_report(tool, 4)
        report = tool.stop()
        b.kill()
        b.wait()
        return (report,)

    def check_reuse(self, right, wrong):
        (report,) = self.lossless(lambda: self.reused(right, wrong), ("names_refused",))
        seen = {}
        for r in self.rows_of(report.final):
            if r["owner"] in ("right", "wrong"):
                seen.setdefault(r["owner"], []).append(r)
        self.note("%s", {o: {r["name"] for r in rows} for o, rows in seen.items()})
        self.assertEqual(set(seen), {"right", "wrong"})
        self.assertEqual(len({r["labels"]["pid"] for rows in seen.values() for r in rows}), 1)
        for name, rows in seen.items():
            for row in rows:
                self.assertOwn(row, name)

    def test_main_thread_gone(self):
        """without a main thread: names and lines as with one"""
        for arg in ((), ("leave",)):
            with self.subTest(arg=arg):
                p = self.start(self.build("orders", 60), *arg)
                self.until(lambda pid=p.pid: len(os.listdir("/proc/%d/task" % pid)) >= 3, "threads")
                if arg:
                    self.until(lambda pid=p.pid: harness.stat_of(pid)[0] == "Z", "the main thread's end")
                (report,) = self.lossless(
                    lambda pid=p.pid: (self.tool("-s", "futex", "-d", "1.5", "-p", str(pid)).end(),), ("names_refused",))
                (row,) = self.rows_of(report.final)
                self.assertOwn(row, "orders")
                p.kill()

    def test_pid_namespace(self):
        """in a pid namespace: no name is taken from another process, and the row says why there is none"""
        right, wrong = self.build("right", 6, *FIXED), self.build("wrong", 6, *FIXED)
        p = self.start(right)
        out = os.path.join(self.dir, "out.json")
        script = """
mkdir -p %(dir)s/proc; echo %(before)d > /proc/sys/kernel/ns_last_pid
%(wrong)s & echo $!
%(tool)s -q -s futex -d 1.5 -o json:%(out)s
kill $!
""" % {"dir": self.dir, "before": p.pid - 1, "wrong": wrong, "tool": harness.TOOL, "out": out}
        done = subprocess.run(["unshare", "-pf", "--mount-proc", "sh", "-c", script], capture_output=True, text=True, check=False)
        if not os.path.exists(out):
            self.skipTest("no pid namespace: " + done.stderr)
        self.assertEqual(int(done.stdout.split()[0]), p.pid, "the same number inside")
        with open(out, encoding="utf-8") as f:
            final = harness.Report(f.read()).final
        rows = {r["owner"]: r for r in self.rows_of(final) if r["owner"] in ("right", "wrong")}
        self.note("%s", {o: (r["name"], r["place"]) for o, r in rows.items()})
        self.assertIn("right", rows)
        for row in rows.values():
            self.assertIsNone(row["name"], row)
            self.assertIn("pid namespace", row["place"])
            for site in row["sites"]:
                self.assertNotIn("`", site["sym"])

    def build_counters(self, name, *flags):
        path = os.path.join(self.dir, name)
        with open(path + ".c", "w", encoding="ascii") as f:
            f.write(COUNTERS.replace("NAME", name))
        subprocess.run(["cc", "-g", "-O1", "-pthread", *flags, "-o", path, path + ".c"], check=True)
        return path

    def test_line_after_exec(self):
        """cache lines after an exec: each has the variable and the code of its own program, though they lie at the same places"""
        old, new = self.build_counters("old", *FIXED), self.build_counters("new", *FIXED)
        self.two_cpus()
        p = self.start(old, new)
        tool = self.tool("-s", "line", "-i", "1.5", "-p", str(p.pid)).ready()
        self.next_report(tool, 1)
        p.send_signal(signal.SIGUSR1)
        self.next_report(tool, 2)
        report = tool.stop()
        p.kill()
        rows = [r for r in report.final["tables"]["contended"] if r["source"] == "line" and not r["other"]]
        names = {r["name"]: {s["sym"] for s in r["sites"]} for r in rows}
        self.note("%s", names)
        self.assertEqual(len({int(r["addr"], 16) // 64 for r in rows}), 1)
        self.assertEqual(sorted(n[:3] for n in names), ["new", "old"])
        for name, codes in names.items():
            self.assertRegex(name, r"^%s`%s_hits\.count\[[01]\]$" % (name[:3], name[:3]))
            for code in codes:
                self.assertRegex(code, "^%s`%s_counts" % (name[:3], name[:3]))

    def test_process_of_line(self):
        """a cache line is of its process, which is not called as one of its threads"""
        path = self.build_counters("counters", *PIE)
        self.two_cpus()
        p = self.start(path)

        def look():
            report = self.tool("-s", "line", "-d", "3", "-p", str(p.pid)).end()
            rows = [r for r in report.final["tables"]["contended"] if r["source"] == "line" and not r["other"]]
            self.assertTrue(rows, "the line")
            for row in rows:
                self.assertEqual(row["owner"], "counters")
                self.assertEqual({t["comm"] for t in row["tids"]} - {"count-0", "count-1", "counters"}, set())
                self.assertTrue([s for s in row["sites"] if re.search(r"\(counters\.c:\d+\)", s["sym"])], row["sites"])

        self.by_chance(look)

    def test_cgroup_gone(self):
        """cgroups that are gone at the next report have their paths for names, not numbers; some were there before the start"""
        before = self.cgroup("ws-test-%d-before" % os.getpid())
        resident = subprocess.Popen(["sh", "-c", "while :; do sleep 0.02; done"], preexec_fn=before.enter())
        self.addCleanup(resident.wait)
        self.addCleanup(resident.kill)
        tool = self.tool("-s", "sched", "--by", "cgroup", "-i", "600")
        tool.ready()
        time.sleep(0.2)
        resident.kill()
        resident.wait()
        before.remove()
        paths = [before.relative]
        for _ in range(11):
            group = self.cgroup("ws-test-%d-%d" % (os.getpid(), len(paths)))
            paths.append(group.relative)
            subprocess.run(["sh", "-c", "sleep 0.02; sleep 0.02"], preexec_fn=group.enter(), check=True)
            group.remove()
        report = tool.stop()
        names = {m["labels"]["cgroup"] for m in report.final["metrics"] if "cgroup" in m["labels"]}
        self.assertEqual(set(paths) - names, set())
        self.assertFalse([n for n in names if n.startswith("id:")])


if __name__ == "__main__":
    harness.main()
