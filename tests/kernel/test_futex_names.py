#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Futexes by name, in programs built in several ways, with locks held for a known time."""
import os
import re
import shutil
import subprocess
import tempfile

import harness
from harness import KernelTest

# A mutex that one thread holds for HOLD ms, ROUNDS times, while another wants it: each round it
# waits for nearly as long. Idle waits beside: the starter waits for a condition.
C_PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct table {
	long rows[4];
	pthread_mutex_t lock;
} app_table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_barrier_t barrier;

__attribute__((noinline)) void hold_it(void)
{
	pthread_mutex_lock(&app_table.lock);
	pthread_barrier_wait(&barrier);
	usleep(HOLD * 1000);
	pthread_mutex_unlock(&app_table.lock);
}

__attribute__((noinline)) void want_it(void)
{
	pthread_barrier_wait(&barrier);
	pthread_mutex_lock(&app_table.lock);
	app_table.rows[0]++;
	pthread_mutex_unlock(&app_table.lock);
}

static void *holder(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		hold_it();
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, holder, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		want_it();
		pthread_barrier_wait(&barrier);
	}
	pthread_join(t, NULL);
	return 0;
}
"""

CPP_PROGRAM = r"""
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace shop {
struct counter {
	long pad[4];
	std::mutex lock;
	std::condition_variable ready;
	bool held = false;

	__attribute__((noinline)) void take() { lock.lock(); lock.unlock(); }
};
counter orders;
}

int main()
{
	std::mutex start;
	std::thread holder([&] {
		for (int i = 0; i < ROUNDS; i++) {
			std::unique_lock<std::mutex> l(shop::orders.lock);
			shop::orders.held = true;
			shop::orders.ready.notify_one();
			std::this_thread::sleep_for(std::chrono::milliseconds(HOLD));
			shop::orders.ready.wait(l, [] { return !shop::orders.held; });
		}
	});
	for (int i = 0; i < ROUNDS; i++) {
		std::unique_lock<std::mutex> l(shop::orders.lock);
		shop::orders.ready.wait(l, [] { return shop::orders.held; });
		l.unlock();
		shop::orders.take();
		l.lock();
		shop::orders.held = false;
		shop::orders.ready.notify_one();
	}
	holder.join();
}
"""

RUST_PROGRAM = r"""
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

pub static ORDERS: Mutex<u64> = Mutex::new(0);
pub static READY: Condvar = Condvar::new();
pub static TURN: Mutex<bool> = Mutex::new(false);

#[inline(never)]
pub fn wait_turn(want: bool) {
    let mut turn = TURN.lock().unwrap();
    while *turn != want {
        turn = READY.wait(turn).unwrap();
    }
}

#[inline(never)]
pub fn set_turn(to: bool) {
    *TURN.lock().unwrap() = to;
    READY.notify_one();
}

#[inline(never)]
pub fn take() {
    *ORDERS.lock().unwrap() += 1;
}

fn main() {
    // A wait at 0, which nobody can have notified: a Condvar that has been notified before its first wait
    // cannot be told from a lock.
    let (first, _) = READY.wait_timeout(TURN.lock().unwrap(), Duration::from_millis(1)).unwrap();
    let holder = thread::spawn(|| {
        for _ in 0..ROUNDS {
            {
                let mut n = ORDERS.lock().unwrap();
                set_turn(true);
                thread::sleep(Duration::from_millis(HOLD));
                *n += 1;
            }
            wait_turn(false);
        }
    });
    drop(READY.wait_while(first, |turn| !*turn).unwrap());
    for _ in 0..ROUNDS {
        wait_turn(true);
        take();
        set_turn(false);
    }
    holder.join().unwrap();
}
"""

ROUNDS, HOLD = 20, 20  # ms


class Named(KernelTest):
    def setUp(self):
        super().setUp()
        self.dir = tempfile.mkdtemp(prefix="ws-test-")
        self.addCleanup(shutil.rmtree, self.dir)

    def build(self, name, source, compiler, *options):
        if not shutil.which(compiler):
            self.skipTest("no " + compiler)
        path = os.path.join(self.dir, name)
        for word, value in (("ROUNDS", ROUNDS), ("HOLD", HOLD)):
            source = source.replace(word, str(value))
        ending = {"cc": ".c", "g++": ".cc", "rustc": ".rs"}[compiler]
        with open(path + ending, "w") as f:
            f.write(source)
        done = subprocess.run([compiler, *options, "-o", path, path + ending], cwd=self.dir,
                              stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def run_once(self, path):
        report = self.tool("-s", "futex", "--stack-every", "1", "--", path).end()
        self.assertEqual(report.status, 0, report.stderr)
        return (report,)

    def trace(self, path):
        """The final report; the row with the longest lock waits, its name and site.

        Again where other work kept the worker from the CPU until names were late (names_refused).
        """
        (report,) = self.lossless(lambda: self.run_once(path), ("names_refused",))
        final = report.final
        rows = [r for r in final["tables"]["contended"] if r["source"] == "futex"]
        locks = sorted((r for r in rows if r["class"] == "lock"), key=lambda r: -r["wait_ns"]["sum"])
        self.assertTrue(locks, rows)
        row = locks[0]
        site = row["sites"][0]["sym"] if row["sites"] else None
        self.note("%s (%s), %d waits, %.0f ms, at %s", row["name"], row["place"], row["count"],
                  row["wait_ns"]["sum"] / 1e6, site)
        return final, row, rows

    def assertHeld(self, row):
        """A wait each round, about as long as the lock is held: the machine may be busy."""
        self.assertGreaterEqual(row["count"], ROUNDS * 0.8)
        self.assertLessEqual(row["count"], ROUNDS * 3)
        self.assertGreaterEqual(row["wait_ns"]["sum"], ROUNDS * HOLD * 0.5e6)
        self.assertLessEqual(row["wait_ns"]["sum"], ROUNDS * HOLD * 5e6)
        self.assertEqual(row["owner"], os.path.basename(row["owner"] or ""))

    def line_of(self, source, text):
        return [i for i, l in enumerate(source.splitlines(), 1) if text in l][0]

    def test_c(self):
        """a mutex held for a known time: variable, member, line and the function that wants it"""
        path = self.build("held", C_PROGRAM, "cc", "-g", "-O2", "-pthread")
        _, row, _ = self.trace(path)
        self.assertHeld(row)
        self.assertEqual(row["name"], "held`app_table.lock")
        self.assertEqual(row["place"], "held.c:%d" % self.line_of(C_PROGRAM, "app_table ="))
        want = self.line_of(C_PROGRAM, "want_it(void)") + 3
        self.assertRegex(row["sites"][0]["sym"], r"^held`want_it\+0x[0-9a-f]+ \(held\.c:%d\)$" % want)

    def test_inlined(self):
        """a function that is inlined in its caller: it is named, with its own line, and in what it is inlined"""
        source = C_PROGRAM.replace("__attribute__((noinline)) void want_it",
                                   "static inline __attribute__((always_inline)) void want_it")
        path = self.build("heldin", source, "cc", "-g", "-O2", "-pthread")
        _, row, _ = self.trace(path)
        self.assertEqual(row["name"], "heldin`app_table.lock")
        want = self.line_of(source, "want_it(void)") + 3
        self.assertRegex(row["sites"][0]["sym"],
                         r"^heldin`want_it \(heldin\.c:%d\) inlined in main\+0x[0-9a-f]+$" % want)

    def test_holders(self):
        """where holders took a lock and gave it up, by line"""
        path = self.build("heldby", C_PROGRAM, "cc", "-g", "-O0", "-pthread")
        (report,) = self.lossless(
            lambda: (self.tool("-s", "futex", "--why", "--stack-every", "1", "--", path).end(),), ("names_refused",))
        rows = [r for r in report.final["tables"]["contended"] if r["name"] == "heldby`app_table.lock"]
        out = {h["released_at"] for r in rows for h in r["holders"] if "released_at" in h}
        self.note("released at %s", out)
        line = self.line_of(C_PROGRAM, "usleep(HOLD * 1000)") + 1
        self.assertTrue([at for at in out if re.match(r"heldby`hold_it\+0x[0-9a-f]+ \(heldby\.c:%d\)$" % line, at)], out)

    def test_frame_pointers(self):
        """... also in a program with frame pointers"""
        path = self.build("heldfp", C_PROGRAM, "cc", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread")
        _, row, _ = self.trace(path)
        self.assertEqual(row["name"], "heldfp`app_table.lock")
        self.assertIn("want_it", row["sites"][0]["sym"])

    def test_static(self):
        """a statically linked program"""
        path = self.build("heldstatic", C_PROGRAM, "cc", "-g", "-O2", "-static", "-pthread")
        _, row, _ = self.trace(path)
        self.assertHeld(row)
        self.assertEqual(row["name"], "heldstatic`app_table.lock")
        self.assertIn("want_it", row["sites"][0]["sym"])

    def test_stripped(self):
        """a stripped program: its mapping and an offset, never another variable's name"""
        path = self.build("heldstrip", C_PROGRAM, "cc", "-O2", "-s", "-pthread")
        _, row, _ = self.trace(path)
        self.assertHeld(row)
        self.assertNotIn("app_table", row["name"])
        self.assertRegex(row["name"], r"heldstrip.*\+0x[0-9a-f]+")
        self.assertRegex(row["sites"][0]["sym"], r"heldstrip.*\+0x")

    def test_cpp(self):
        """C++: std::mutex is a lock, std::condition_variable one or work, names as they are written"""
        path = self.build("heldcpp", CPP_PROGRAM, "g++", "-g", "-O2", "-pthread")
        _, row, rows = self.trace(path)
        self.assertHeld(row)
        self.assertIn("shop::orders", row["name"])
        self.assertIn("lock", row["name"])
        lines = {i for i, l in enumerate(CPP_PROGRAM.splitlines(), 1) if re.search(r"l\(shop|wait\(l|l\.lock|take\(\) \{", l)}
        site = re.match(r"heldcpp`(main|shop::counter::take)[^ ]* \(heldcpp\.cc:(\d+)\)", row["sites"][0]["sym"])
        self.assertTrue(site and int(site.group(2)) in lines, (row["sites"], lines))
        unsure = [r for r in rows if r["class"] == "lock or work" and "orders" in (r["name"] or "")]
        self.assertTrue(unsure, "the condition variable")

    def test_rust(self):
        """Rust: a Mutex is a lock, a Condvar one or work"""
        path = self.build("heldrust", RUST_PROGRAM, "rustc", "-g", "-O")
        _, row, rows = self.trace(path)
        self.assertHeld(row)
        self.assertIn("ORDERS", row["name"])
        self.assertRegex(row["sites"][0]["sym"], r"take\+0x[0-9a-f]+ \(heldrust\.rs:%d\)$"
                         % self.line_of(RUST_PROGRAM, "*ORDERS.lock().unwrap() += 1"))
        for r in rows:
            if "READY" in (r["name"] or "") and r["count"]:
                self.assertEqual(r["class"], "lock or work", r)

    def test_closure(self):
        """Rust: the closure that a thread runs, though the compiler puts it into a function of std; also without DWARF"""
        source = RUST_PROGRAM.replace("            wait_turn(false);", "            drop(ORDERS.lock().unwrap());\n            wait_turn(false);")
        source = source.replace("fn take() {", "fn take() {\n    let _long = ORDERS.lock().unwrap();\n    thread::sleep(Duration::from_millis(HOLD));\n}\n\npub fn not_taken() {")
        for flags, want in ((["-g"], r"heldclosure`heldclosure::main::\{.*closure.*\(heldclosure\.rs:%d\)"),
                            ([], r"heldclosure`std::sys::backtrace::__rust_begin_short_backtrace")):
            path = self.build("heldclosure", source, "rustc", "-O", *flags)
            (report,) = self.lossless(lambda path=path: self.run_once(path), ("names_refused",))
            sites = {s["sym"] for r in report.final["tables"]["contended"] if r["source"] == "futex" and "ORDERS" in (r["name"] or "")
                     for s in r["sites"]}
            self.note("%s", sites)
            line = [i for i, l in enumerate(source.splitlines(), 1) if "drop(ORDERS.lock" in l or "let mut n = ORDERS" in l]
            want = want.replace("%d", "(%s)" % "|".join(map(str, line)))
            self.assertTrue([s for s in sites if re.match(want, s)], (want, sites))
            self.assertFalse([s for s in sites if "libc" in s], sites)


if __name__ == "__main__":
    harness.main()
