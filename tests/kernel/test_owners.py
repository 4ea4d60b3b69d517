#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""--why of locks that others wrote: gdb's view of a mutex's owner, and runtimes whose locks have none."""
import hashlib
import os
import re
import shutil
import subprocess

import harness
from harness import KernelTest

# One thread holds the lock until a byte comes, while the other wants it.
HELD = r"""
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t orders = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *holder(void *arg)
{
	pthread_mutex_lock(&orders);
	pthread_barrier_wait(&barrier);
	printf("{\"holder\":%ld}\n", syscall(SYS_gettid));
	fflush(stdout);
	(void)!getchar();
	pthread_mutex_unlock(&orders);
	return arg;
}

int main(void)
{
	pthread_t t;

	printf("{\"waiter\":%ld}\n", syscall(SYS_gettid));
	fflush(stdout);
	(void)!getchar();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, holder, NULL);
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&orders);
	pthread_mutex_unlock(&orders);
	pthread_join(t, NULL);
	(void)!getchar();
	return 0;
}
"""

# Four threads take turns at a lock and sleep with it. What it guards lies where glibc has an owner.
RUST = r"""
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

static ORDERS: Mutex<[u32; 4]> = Mutex::new([1; 4]);

fn main() {
    let threads: Vec<_> = (0..4).map(|_| thread::spawn(|| {
        for _ in 0..20 {
            ORDERS.lock().unwrap()[0] += 1;
            let _held = ORDERS.lock().unwrap();
            thread::sleep(Duration::from_millis(3));
        }
    })).collect();
    for t in threads {
        t.join().unwrap();
    }
}
"""

GO = r"""
package main

import (
	"runtime"
	"sync"
	"time"
)

var orders sync.Mutex

func main() {
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			for j := 0; j < 20; j++ {
				orders.Lock()
				time.Sleep(3 * time.Millisecond)
				orders.Unlock()
			}
		}()
	}
	all.Wait()
}
"""


class OwnersTest(KernelTest):
    def build(self, name, source, *command):
        """A program, kept in the build directory under the hash of what it is made of."""
        if not shutil.which(command[0]):
            self.skipTest("no " + command[0])
        ending = {"cc": ".c", "rustc": ".rs", "go": ".go"}[command[0]]
        key = hashlib.sha256(repr((source, command)).encode()).hexdigest()[:16]
        where = os.path.join(harness.BUILD, "tests", "kernel", "owners-" + key)
        path = os.path.join(where, name)
        if os.path.exists(path):
            return path
        os.makedirs(where, exist_ok=True)
        with open(path + ending, "w") as f:
            f.write(source)
        env = dict(os.environ, GOCACHE=os.path.join(where, "cache"), GO111MODULE="off", GOTOOLCHAIN="local")
        done = subprocess.run([*command, "-o", path + ".new", path + ending], cwd=where, env=env,
                              stderr=subprocess.PIPE, text=True)
        shutil.rmtree(os.path.join(where, "cache"), ignore_errors=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        os.rename(path + ".new", path)
        return path


class Debugger(OwnersTest):
    def test_gdb(self):
        """the holder is the thread that gdb finds in __owner, and that says so itself"""
        if not shutil.which("gdb"):
            self.skipTest("no gdb")
        load = self.load(self.build("heldonce", HELD, "cc", "-g", "-O2", "-pthread"))
        waiter = load.line()["waiter"]
        tool = self.tool("-s", "futex", "--why", "-p", waiter).ready()
        load.go()
        holder = load.line()["holder"]
        self.until(lambda: self.waits(waiter), "the waiter waits for the lock")
        owner = self.owner(load.pid)
        self.until(lambda: self.waits(waiter), "the waiter waits again after gdb has gone")
        load.go()
        self.until(lambda: not os.path.exists("/proc/%d/task/%d" % (waiter, holder)), "the holder has ended")
        load.go()
        load.end()
        report = tool.end()
        row = max((r for r in report.final["tables"]["contended"] if r["name"] == "heldonce`orders"),
                  key=lambda r: r["wait_ns"]["sum"])
        named = {h["tid"]: h["wait_ns"] for h in row["holders"] if h["tid"]}
        self.note("gdb %d, itself %d, named %s of %d ns", owner, holder, named, row["wait_ns"]["sum"])
        self.assertEqual(owner, holder)
        self.assertEqual(list(named), [owner])
        # The rest: it was woken and had not come, on however busy a machine.
        released = sum(h["wait_ns"] for h in row["holders"] if h["comm"] == "(released)")
        self.assertGreaterEqual(named[owner], 0.95 * (row["wait_ns"]["sum"] - released))

    def waits(self, tid):
        """For a futex, in the kernel."""
        try:
            with open("/proc/%d/syscall" % tid) as f:
                return f.read().split()[0] == ("202" if os.uname().machine == "x86_64" else "98")
        except OSError:
            return False

    def owner(self, pid):
        done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "print orders.__data.__owner"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=dict(os.environ, DEBUGINFOD_URLS=""), timeout=2 * harness.PATIENCE_S)
        found = re.search(r"^\$1 = (\d+)$", done.stdout, re.M)
        if not found and re.search(r"ptrace|attach", done.stderr):
            self.skipTest("gdb cannot attach here")
        self.assertTrue(found, done.stdout + done.stderr)
        return int(found.group(1))


class Runtimes(OwnersTest):
    def check(self, path):
        """Rows with a holder that is said not to be known, and none with one: (of locks, of other classes)."""
        report = self.tool("-s", "futex", "--why", "--", path).end()
        self.assertEqual(report.status, 0, report.stderr)
        rows = [r for r in report.final["tables"]["contended"] if r["count"]]
        locks = [r for r in rows if r["class"] == "lock"]
        for row in locks:
            self.assertEqual([(h["tid"], h["pid"], h["comm"]) for h in row["holders"]], [(None, None, None)], row)
            self.assertEqual(row["holders"][0]["wait_ns"], row["wait_ns"]["sum"])
        others = [r for r in rows if r["class"] != "lock"]
        for row in others:
            for h in row.get("holders", ()):
                self.assertIsNone(h["tid"], row)
                self.assertEqual(row["class"], "lock or work", row)
        self.note("%d locks with %d waits, %d others", len(locks), sum(r["count"] for r in locks), len(others))
        return locks, others

    def test_rust(self):
        """Rust's Mutex: not known, whatever it guards"""
        locks, _ = self.check(self.build("heldrust", RUST, "rustc", "-g", "-O"))
        row = max(locks, key=lambda r: r["wait_ns"]["sum"])
        self.assertIn("ORDERS", row["name"])
        self.assertGreater(row["count"], 20)

    def test_go(self):
        """Go's Mutex: its threads wait idly, for the scheduler; nobody is named"""
        locks, others = self.check(self.build("heldgo", GO, "go", "build"))
        self.assertGreater(sum(r["count"] for r in locks + others), 20)


if __name__ == "__main__":
    harness.main()
