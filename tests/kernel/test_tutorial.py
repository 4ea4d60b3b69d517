#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/TUTORIAL.md: its commands, one after the other, find the problems that docs/tutorial.sh plants."""
import concurrent.futures
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import harness
from harness import KernelTest

sys.path.insert(0, os.path.join(harness.ROOT, "tests", "golden"))
import check_perfetto  # pylint: disable=wrong-import-position

PAGE = os.path.join(harness.ROOT, "docs", "TUTORIAL.md")
SCRIPT = os.path.join(harness.ROOT, "docs", "tutorial.sh")
SHOP = os.path.join(harness.BUILD, "tests", "load", "shop")


def page():
    with open(PAGE, encoding="utf-8") as f:
        return f.read()


def commands():
    """What stands behind a # in its blocks."""
    blocks = re.split(r"^```.*\n", page(), flags=re.M)[1::2]
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("# ")]


def number(text):
    return float(text.replace(",", "").rstrip("~"))


def shop_groups(out):
    """The share of the time that each of its cgroups waited, in percent."""
    rows = re.findall(r"^\S*/(orders|batch|archive) .* ([0-9.,]+)(x?)$", out, re.M)
    return {name: number(share) * (100 if times else 1) for name, share, times in rows}


def is_shown_as(name, shown):
    """A table that has wider numbers cuts names; the shop's differ in the sixth letter."""
    return shown == name or (len(shown) > 6 and shown.endswith("…") and name.startswith(shown[:-1]))


class Tutorial(KernelTest):
    def plant(self):
        """The script, once it says that all runs."""
        script = subprocess.Popen(["sh", SCRIPT, SHOP], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, script)
        line = script.stdout.readline()
        if not line:
            why = script.communicate()[1].strip()
            self.assertEqual(script.returncode, 3, why)
            self.skipTest(why)
        self.assertTrue(line.startswith("planted: "), line)
        return script

    def end(self, script):
        """As Ctrl-C does: it stops at once, and nothing is left."""
        if script.poll() is None:
            script.send_signal(signal.SIGINT)
        script.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(self.left(), [])

    def left(self):
        mount = harness.mount_of("cgroup2")
        there = [p for p in ("/run/shop", mount + "/shop" if mount else "/run/shop/cgroup/shop") if os.path.exists(p)]
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            return there + [line for line in f if " /run/shop" in line]

    def run_command(self, command):
        env = dict(os.environ, PATH=harness.BUILD + ":" + os.environ["PATH"], LC_ALL="C.UTF-8")
        done = subprocess.run(["sh", "-c", command], cwd=self.dir, env=env, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, command + "\n" + done.stderr)
        return done.stdout

    # ---- what each command must find ----

    def found(self, pattern, out):
        match = re.search(pattern, out, re.M)
        self.assertIsNotNone(match, "%s in:\n%s" % (pattern, out))
        return match

    def waits(self, out):
        samples = self.found(r"^Wakeup latency \(usec\) +([0-9,]+) samples", out)
        self.assertGreater(number(samples[1]), 50, out)
        syncs = self.found(r"^fsync +/run/shop/data +([0-9,]+)", out)
        self.assertGreater(number(syncs[1]), 5, out)

    def batch(self, out):
        shares = shop_groups(out)
        self.assertIn("orders", shares, out)
        self.assertEqual(max(shares, key=shares.get), "batch", out)
        self.assertGreater(shares["batch"], 100, out)

    def queued(self, out):
        """Every wait is of orders; of most of them, queueing was no part worth mentioning."""
        rows = re.findall(r"^[0-9:.]+ +\S+ +([0-9.,]+) +([0-9.,-]+) +([0-9.,-]+) (\S+) ", out, re.M)
        if not rows:  # a machine that does nothing else: none was that long
            longest = re.findall(r"min=.*max=([0-9,.]+)|preempt-wait .* ([0-9,.]+) +[0-9.]+ \S+$", out, re.M)
            self.assertEqual(len(longest), 2, out)
            self.assertTrue(all(number(a or b) < 10000 for a, b in longest), out)
            return
        self.assertEqual({name for *_, name in rows}, {"shop-orders"}, out)
        self.assertTrue(all(number(whole) >= 10000 for whole, *_ in rows), out)
        legs = sorted(number(queue) / number(whole) for whole, queue, _, _ in rows if queue != "-")
        if legs:
            self.assertLess(legs[len(legs) // 2], 0.1, out)

    def whom(self, out):
        """Of the shop, nobody had the CPU that orders waited for as long as batch: a tenth of it at least."""
        rows = re.findall(r"^\S*/orders +(\S+) +task +([0-9.]+) ", out, re.M)
        shares = {path.rpartition("/")[2]: float(share) for path, share in rows if "/shop/" in path}
        self.assertTrue(shares, out)
        self.assertEqual(max(shares, key=shares.get), "batch", out)
        self.assertGreater(shares["batch"], 10, out)

    def no_batch(self, out):
        self.assertIn("orders", shop_groups(out), out)
        self.assertNotIn("batch", shop_groups(out), out)

    def line(self, out):
        self.assertRegex(out, r"(?m)^shop`stats\.(accepted|rejected) +false ")
        for place in ("32..39", "40..47"):
            self.assertRegex(out, r"CPU \d+ writes %s" % re.escape(place))
        where = self.found(r"shop\.c:(\d+)", out)
        self.assertIn("declared in `shop.c`, line %s." % where[1], page())

    def archive(self, out):
        first = self.found(r"^COMM +OP .*\n(\S+) +(\S+) +\S+ +([0-9,]+)", out)
        self.assertTrue(is_shown_as("shop-archive", first[1]), out)
        self.assertEqual(first[2], "fsync", out)
        every = self.found(r"^fsync +\S+ +([0-9,]+)", out)
        self.assertGreater(number(first[3]), number(every[1]) / 2, out)

    def slow_syncs(self, out):
        """A fast disk may have none."""
        rows = [line.split() for line in out.splitlines()[1:] if re.match(r"\d+:\d+:\d+\.", line)]
        self.assertTrue(all(row[6] == "shop-orders" and number(row[2]) >= 5000 for row in rows), out)

    def no_archive(self, out):
        who = re.findall(r"(?m)^(\S+) +fsync ", out)
        self.assertTrue([shown for shown in who if is_shown_as("shop-orders", shown)], out)
        self.assertFalse([shown for shown in who if is_shown_as("shop-archive", shown)], out)

    def kept(self, _):
        with gzip.open(os.path.join(self.dir, "shop.json.gz"), "rt", encoding="utf-8") as f:
            self.records = [json.loads(line) for line in f]
        slow = [r for r in self.records if r["type"] == "slow"]
        self.assertIn("shop-orders", {r["comm"] for r in slow})

    def drawn(self, _):
        with open(os.path.join(self.dir, "shop.html"), encoding="utf-8") as f:
            self.assertIn("shop-archive", f.read())
        with open(os.path.join(self.dir, "shop.pftrace"), "rb") as f:
            trace = check_perfetto.Trace(f.read())
        check_perfetto.compare(trace, trace.slices(), self.records)

    def silent(self, out):
        self.assertEqual(out, "")

    # Of each line those that only look: they do so side by side.
    STEPS = (
        (("waitscope -s sched,ext4 -c /shop/orders 5 1", waits),
         ("waitscope -s sched --by cgroup 5 1", batch),
         ("waitscope -s sched -c /shop/orders --slower 10ms -d 1", queued),
         ("waitscope -s sched -c /shop/orders --by cgroup --why 5 1", whom)),
        (("pkill -STOP -x shop-batch", silent),),
        (("waitscope -s sched --by cgroup 5 1", no_batch),
         ('waitscope -s line -p "$(pgrep -x shop-orders)" 5 1', line),
         ("waitscope -s ext4 --dev /run/shop/data --by comm -n 3 5 1", archive),
         ("waitscope -s ext4 -c /shop/orders --dev /run/shop/data --slower 5ms -d 2", slow_syncs)),
        (("pkill -STOP -x shop-archive", silent),),
        (("waitscope -s ext4 --dev /run/shop/data --by comm -n 3 5 1", no_archive),),
        (("pkill -CONT -x 'shop-batch|shop-archive'", silent),),
        (("waitscope -q -s sched,ext4,line --by comm --slower 10ms -d 10 -o json:shop.json.gz", kept),),
        (("waitscope report -q shop.json.gz -o html:shop.html -o perfetto:shop.pftrace", drawn),),
    )

    def step(self, command, finds):
        self.by_chance(lambda: finds(self, self.run_command(command)))

    def test_steps(self):
        """Each command of the tutorial finds its problem: the cgroup, the struct's member, the process"""
        self.assertEqual(commands(), [command for steps in self.STEPS for command, _ in steps])
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.dir = where.name
        self.plant()
        for steps in self.STEPS:
            with concurrent.futures.ThreadPoolExecutor() as pool:
                for done in [pool.submit(self.step, *step) for step in steps]:
                    done.result()

    def test_end(self):
        """What it plants is there once, and leaves nothing, also after SIGTERM while it is used"""
        script = self.plant()
        again = subprocess.run(["sh", SCRIPT, SHOP], capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout), (3, ""))
        self.assertIn("/run/shop is there", again.stderr)
        self.assertIsNone(script.poll())
        script.send_signal(signal.SIGTERM)
        self.assertEqual(script.wait(harness.PATIENCE_S), 0)
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    harness.main()
