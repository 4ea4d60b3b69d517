#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Lock, work, or not known: programs in four languages that wait for one of them, by their own clocks.

A class may be missing where it cannot be known, but none may be wrong: what waits for a lock is never said to wait
for work, and the other way round.
"""
import hashlib
import json
import os
import shutil
import subprocess
import time

import harness
from harness import total_ns
from test_futex import FutexTest, rows

LOCK, WORK, UNSURE = "lock", "work", "lock or work"

C = r"""
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sem_t sem, joined;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int taken, jobs;
static unsigned long waited;
static const char *mode;

static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000UL + t.tv_nsec;
}

static void rest(void)
{
	usleep(2000);
}

__attribute__((noinline)) void my_lock(void)
{
	sem_wait(&sem);
	__asm__ volatile("");
}

__attribute__((noinline)) void take_job(void)
{
	sem_wait(&sem);
	__asm__ volatile("");
}

static void cond_lock(void)
{
	pthread_mutex_lock(&mutex);
	while (taken)
		pthread_cond_wait(&cond, &mutex);
	taken = 1;
	pthread_mutex_unlock(&mutex);
}

static void cond_unlock(void)
{
	pthread_mutex_lock(&mutex);
	taken = 0;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
}

static void cond_take(void)
{
	pthread_mutex_lock(&mutex);
	while (!jobs)
		pthread_cond_wait(&cond, &mutex);
	jobs--;
	pthread_mutex_unlock(&mutex);
}

static void *nap(void *arg)
{
	rest();
	return arg;
}

static void once(void)
{
	pthread_t t;

	if (!strcmp(mode, "sem-lock"))
		my_lock();
	else if (!strcmp(mode, "sem-queue"))
		take_job();
	else if (!strcmp(mode, "cond-lock"))
		cond_lock();
	else if (!strcmp(mode, "cond-queue"))
		cond_take();
	else if (!strcmp(mode, "mutex"))
		pthread_mutex_lock(&mutex);
	else if (!strcmp(mode, "rwlock"))
		pthread_rwlock_wrlock(&rwlock);
	else if (!pthread_create(&t, NULL, nap, NULL))
		pthread_join(t, NULL);
}

static void give_back(void)
{
	if (!strcmp(mode, "sem-lock"))
		rest(), sem_post(&sem);
	else if (!strcmp(mode, "cond-lock"))
		rest(), cond_unlock();
	else if (!strcmp(mode, "mutex"))
		rest(), pthread_mutex_unlock(&mutex);
	else if (!strcmp(mode, "rwlock"))
		rest(), pthread_rwlock_unlock(&rwlock);
}

static void *worker(void *arg)
{
	for (;;) {
		unsigned long from = now();

		once();
		__atomic_add_fetch(&waited, now() - from, __ATOMIC_RELAXED);
		give_back();
	}
	return arg;
}

static void *feeder(void *arg)
{
	for (;;) {
		rest();
		sem_post(&sem);
		pthread_mutex_lock(&mutex);
		jobs++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int i, queue, n;

	mode = argv[1];
	queue = strstr(mode, "queue") != NULL;
	n = strcmp(mode, "join") ? 3 : 1;
	sem_init(&sem, 0, !queue);
	for (i = 0; i < n; i++)
		pthread_create(&t, NULL, worker, NULL);
	if (queue)
		pthread_create(&t, NULL, feeder, NULL);
	while (getchar() != EOF) {
		printf("%lu\n", __atomic_load_n(&waited, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	return 0;
}
"""

PYTHON = r"""
import os, queue, sys, threading, time
mode, waited, guard = sys.argv[1], [0], threading.Lock()
lock, cond, jobs = threading.Lock(), threading.Condition(), queue.Queue()
def note(begin):
    waited[0] += time.monotonic_ns() - begin
def worker():
    while True:
        begin = time.monotonic_ns()
        if mode == "lock":
            with lock:
                note(begin)
                time.sleep(0.002)
        elif mode == "queue":
            jobs.get()
            note(begin)
        elif mode == "condition":
            with cond:
                cond.wait()
            note(begin)
        else:
            for _ in range(20000):
                pass
def feeder():
    while True:
        time.sleep(0.003)
        jobs.put(1)
        with cond:
            cond.notify_all()
for _ in range(3 if mode != "condition" else 2):
    threading.Thread(target=worker, daemon=True).start()
if mode in ("queue", "condition"):
    threading.Thread(target=feeder, daemon=True).start()
while sys.stdin.readline():
    print(waited[0], flush=True)
os._exit(0)
"""

JAVA = r"""
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

public class Waits {
	static final AtomicLong waited = new AtomicLong();
	static final Object monitor = new Object();
	static final ReentrantLock lock = new ReentrantLock();
	static final LinkedBlockingQueue<Integer> jobs = new LinkedBlockingQueue<>();

	static void rest() {
		try { Thread.sleep(2); } catch (InterruptedException e) { }
	}
	static void once(String mode) throws InterruptedException {
		long begin = System.nanoTime();
		if (mode.equals("synchronized")) {
			synchronized (monitor) { waited.addAndGet(System.nanoTime() - begin); rest(); }
		} else if (mode.equals("reentrant")) {
			lock.lock();
			try { waited.addAndGet(System.nanoTime() - begin); rest(); } finally { lock.unlock(); }
		} else {
			jobs.take();
			waited.addAndGet(System.nanoTime() - begin);
		}
	}
	static Thread start(Runnable r) { Thread t = new Thread(r); t.setDaemon(true); t.start(); return t; }
	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 3; i++)
			start(() -> { try { for (;;) once(args[0]); } catch (InterruptedException e) { } });
		if (args[0].equals("queue"))
			start(() -> { for (;;) { rest(); jobs.add(1); } });
		while (System.in.read() >= 0) {
			System.out.println(waited.get());
			System.out.flush();
		}
		System.exit(0);
	}
}
"""

GO = r"""
package main

import ("bufio"; "fmt"; "os"; "sync"; "sync/atomic"; "time")

func main() {
	var lock sync.Mutex
	var waited int64
	for i := 0; i < 3; i++ {
		go func() {
			for {
				begin := time.Now()
				lock.Lock()
				atomic.AddInt64(&waited, int64(time.Since(begin)))
				time.Sleep(2 * time.Millisecond)
				lock.Unlock()
			}
		}()
	}
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		fmt.Println(atomic.LoadInt64(&waited))
	}
}
"""


class Program:
    """One that tells for each line how long its threads have waited so far, by its own clock."""

    def __init__(self, test, args):
        self.proc = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.proc.pid
        test.addCleanup(self.close)
        first, end = self.waited(), time.monotonic() + harness.PATIENCE_S
        while self.waited() - first < 50_000_000 and not args[-1] == "gil" and time.monotonic() < end:
            time.sleep(0.05)

    def waited(self):
        self.proc.stdin.write("\n")
        self.proc.stdin.flush()
        return int(self.proc.stdout.readline())

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdin.close()
        self.proc.stdout.close()


class ClassTest(FutexTest):
    def place(self, *what):
        where = os.path.join(harness.BUILD, "tests", "kernel",
                             "class-" + hashlib.sha256(repr(what).encode()).hexdigest()[:16])
        os.makedirs(where, exist_ok=True)
        return where

    def build(self, name, source, *command):
        """A program, kept in the build directory under the hash of what it is made of."""
        if not shutil.which(command[0]):
            self.skipTest("no " + command[0])
        where = self.place(source, command)
        done = os.path.join(where, "done")
        if not os.path.exists(done):
            with open(os.path.join(where, name), "w") as f:
                f.write(source)
            env = dict(os.environ, GOCACHE=os.path.join(where, "cache"), GO111MODULE="off", GOTOOLCHAIN="local")
            made = subprocess.run([*command, name], cwd=where, env=env, stderr=subprocess.PIPE, text=True)
            self.assertEqual(made.returncode, 0, made.stderr)
            open(done, "w").close()
        return where

    def trace(self, args, *tool_args, until=None):
        """(report, own nanoseconds waited, the tool's by class, the tool), of some intervals.

        until: a class that most waits of an interval must have before, for names may be late on a busy machine.
        """
        program = Program(self, args)
        tool = self.tool("-s", "futex", "-p", program.pid, "-i", "0.7", *tool_args).ready()
        for _ in range(30 if until else 0):
            self.next_report(tool)
            got = self.sums(self.intervals(tool)[-1:])
            if got[until] > 0.9 * (sum(got.values()) - got[WORK if until == LOCK else LOCK]):
                break
        first = len(self.intervals(tool))
        before = program.waited()
        self.next_report(tool, 3)
        own = program.waited() - before
        report = tool.stop()
        self.assertEqual(report.status, 0, report.stderr)
        for frame in report.intervals + [report.final]:
            self.assertSums(frame)
        return report, own, self.sums(report.intervals[first:]), tool

    def intervals(self, tool):
        return [f for f in map(json.loads, tool.json().splitlines()[:-1]) if f["type"] == "interval"]

    def sums(self, frames):
        out = {LOCK: 0, WORK: 0, UNSURE: 0}
        for r in sum(map(rows, frames), []):
            out[r["class"]] += r["wait_ns"]["sum"]
        return out

    def is_for(self, what, args, *tool_args, certain=False, share=0.5, beside=0.1):
        """Waits for `what` ("lock" or "work") are of that class, or not known; certainly so with `certain`.

        beside: as a share of these, what else the program waits for, and is rightly of the other class.
        """
        wrong = WORK if what == LOCK else LOCK
        report, own, got, tool = self.trace(args, *tool_args, until=what if certain else None)
        right = got[what] + (0 if certain else got[UNSURE])
        self.note("own %.0f ms; lock %.0f ms, work %.0f ms, lock or work %.0f ms", own / 1e6, got[LOCK] / 1e6,
                  got[WORK] / 1e6, got[UNSURE] / 1e6)
        self.assertGreater(own, 100_000_000)
        self.assertGreaterEqual(right, share * own)
        self.assertLessEqual(got[wrong], beside * own)
        return report, got, tool


class InC(ClassTest):
    def program(self, mode):
        return [os.path.join(self.build("waits.c", C, "cc", "-O1", "-g", "-pthread", "-o", "waits"), "waits"), mode]

    def test_mutex(self):
        """C: a mutex is a lock"""
        self.is_for(LOCK, self.program("mutex"), certain=True)

    def test_rwlock(self):
        """C: a reader-writer lock is one, whatever its word counts"""
        self.is_for(LOCK, self.program("rwlock"), certain=True)

    def test_join(self):
        """C: a join is work"""
        self.is_for(WORK, self.program("join"), certain=True)

    def test_sem_lock(self):
        """C: a semaphore as a lock is not said to be work; nor does -n cut off its sum"""
        report, got, tool = self.is_for(LOCK, self.program("sem-lock"))
        self.assertEqual(got[LOCK] + got[WORK], 0)
        text = subprocess.run([harness.TOOL, "report", tool.json_path, "-n", "1"], stdout=subprocess.PIPE, text=True)
        title = [l for l in text.stdout.splitlines() if l.startswith("Contended addresses")][-1]
        self.assertIn("no certain lock", title)
        self.assertRegex(title, r"[\d.,]+ m?s/s for locks or work")
        self.assertEqual(total_ns(report.final, "futex_lock_or_work"), self.sums([report.final])[UNSURE])

    def test_sem_queue(self):
        """C: a semaphore that counts jobs is not said to be a lock"""
        self.is_for(WORK, self.program("sem-queue"))

    def test_cond_lock(self):
        """C: a lock made of a condition variable is not said to be work"""
        self.is_for(LOCK, self.program("cond-lock"))

    def test_cond_queue(self):
        """C: a queue with a condition variable is not said to be a lock"""
        self.is_for(WORK, self.program("cond-queue"))

    def test_function(self):
        """C: --function says which is which"""
        for mode, what, option in (("sem-lock", LOCK, "lock=my_*"), ("sem-queue", WORK, "work=take_job")):
            with self.subTest(mode=mode):
                _, got, _ = self.is_for(what, self.program(mode), "--function", option, certain=True)
                self.assertEqual(got[UNSURE], 0)


class InPython(ClassTest):
    def program(self, mode):
        path = os.path.join(self.place(PYTHON), "waits.py")
        with open(path, "w") as f:
            f.write(PYTHON)
        return [shutil.which("python3"), path, mode]

    def test_lock(self):
        """Python: threading.Lock is not said to be work"""
        self.is_for(LOCK, self.program("lock"))

    def test_queue(self):
        """Python: Queue.get is not said to be a lock, but for the interpreter's own"""
        self.is_for(WORK, self.program("queue"), beside=0.3)

    def test_condition(self):
        """Python: Condition.wait is not said to be a lock, but for the interpreter's own"""
        self.is_for(WORK, self.program("condition"), beside=0.3)

    def test_gil(self):
        """Python: waits for the interpreter's lock are not said to be work"""
        report, _, _, _ = self.trace(self.program("gil"))
        got = self.sums([report.final])
        self.assertGreater(got[LOCK] + got[UNSURE], 0.5 * report.final["dur_ns"])
        self.assertEqual(got[WORK], 0)


class InJava(ClassTest):
    def program(self, mode):
        if not shutil.which("java"):
            self.skipTest("no java")
        return ["java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp",
                self.build("Waits.java", JAVA, "javac"), "Waits", mode]

    def test_synchronized(self):
        """Java: a monitor is not said to be work, though its thread's word serves sleep(), too"""
        self.lock_is_no_work("synchronized")

    def test_reentrant(self):
        """Java: ReentrantLock is not said to be work"""
        self.lock_is_no_work("reentrant")

    def lock_is_no_work(self, mode):
        report, own, got, _ = self.trace(self.program(mode))
        self.assertGreaterEqual(got[UNSURE] + got[LOCK], 0.5 * own)
        for r in rows(report.final, **{"class": WORK}):  # the virtual machine's own threads
            for s in r["sites"]:
                self.assertNotRegex(s["sym"], "park|ObjectMonitor|Unsafe|JVM_Monitor|java", r)

    def test_queue(self):
        """Java: LinkedBlockingQueue.take is not said to be a lock"""
        self.is_for(WORK, self.program("queue"))


class InGo(ClassTest):
    def test_mutex(self):
        """Go: no futex is said to be a lock's for long, and the section says why"""
        where = self.build("waits.go", GO, "go", "build", "-o", "waits")
        report, own, got, tool = self.trace([os.path.join(where, "waits")])
        self.assertGreater(own, 1_000_000_000)
        self.assertLess(got[LOCK], 0.1 * own)
        self.assertTrue([r for r in rows(report.final) if r.get("runtime") == "go"])
        text = subprocess.run([harness.TOOL, "report", tool.json_path], stdout=subprocess.PIPE, text=True)
        self.assertRegex(text.stdout, r"Go \(waits \d+\): its locks park goroutines, not visible as futexes")


if __name__ == "__main__":
    harness.main()
