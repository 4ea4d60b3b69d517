#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls (of helpers and of BPF functions) and instructions that the hooks of one wait execute. TAP.

The wait is that of a pipe on one CPU: a blocked task is woken, queued and switched in, in the place of one that
blocks, tasks and CPU known from waits before. A preemption is both switches of a task that the one it wakes takes
the CPU from, until that one blocks: every other round trip of a pipe is like that. tests/expect/calls has the
budgets: no call more, at most 10 % more instructions.
"""
import json
import os
import re
import sys
import tempfile

import programs_cost as progs
import sides
from budgets import Budgets
from sides import Failed
from simulate import Machine, Program, bpftool

HEAD = """\
# SPDX-License-Identifier: GPL-2.0-or-later
# What one wait executes (bench/executed.py): kernel, way of use, program, "calls" or
# "instructions", budget; a column for each compiler. `make check-insns` fails at a call more and at
# 10 % more instructions, `make update-insns` writes anew.
"""
WAYS = (
    ("default", []),
    ("sched", ["-s", "sched"]),
    ("sched-by-pid", ["-s", "sched", "--by", "pid"]),
    ("sched-why", ["-s", "sched", "--why"]),
)
WAITS = 4  # the last one counts: all is known then
COUNTED = 3  # a bucket of each of three histograms
LOSSES = 8  # counters of struct abi_counts that a wait of which all is known leaves alone
WAIT_NS = 50_000


class Types:
    """Where members are, by the kernel's BTF."""

    def __init__(self):
        text = bpftool("btf", "dump", "file", "/sys/kernel/btf/vmlinux", "format", "raw")
        self.types = dict(re.findall(r"^\[(\d+)\] (.*(?:\n\t.*)*)", text, re.M))

    def named(self, name):
        return next(t for t in self.types.values() if t.startswith("STRUCT '%s' " % name))

    def offset(self, struct, path):
        at, of = 0, self.named(struct)
        for member in path.split("."):
            m = re.search(r"^\t'%s' type_id=(\d+) bits_offset=(\d+)" % re.escape(member), of, re.M)
            if not m:
                raise KeyError("%s.%s" % (struct, path))
            at, of = at + int(m.group(2)) // 8, self.types[m.group(1)]
        return at


class Task:
    def __init__(self, machine, types, pid):
        self.machine, self.types = machine, types
        self.at = machine.take(16384)
        for member in ("pid", "tgid"):
            self.set(member, 4, pid)
        for member in ("start_time", "start_boottime"):
            self.set(member, 8, 1000 + pid)
        self.set("prio", 4, 120)  # nice 0

    def set(self, path, size, value):
        self.machine.store(self.at + self.types.offset("task_struct", path), size, value)

    def get(self, path, size):
        return self.machine.load(self.at + self.types.offset("task_struct", path), size)


class Queue:
    """The run queue of the CPU, whose clock is that of all CPUs."""

    def __init__(self, machine, types, tasks):
        self.machine = machine
        cfs, rq = machine.take(1024), machine.take(8192)
        self.clock = rq + types.offset("rq", "clock")
        machine.store(cfs + types.offset("cfs_rq", "rq"), 8, rq)
        for task in tasks:
            task.set("se.cfs_rq", 8, cfs)

    def tick(self):
        self.machine.now += WAIT_NS
        self.machine.store(self.clock, 8, self.machine.now)
        return self.machine.now


class Wait:
    """The hooks of a wait, in their order, on the programs that are attached to them."""

    def __init__(self, hooks, types):
        self.hooks = hooks
        self.machine = Machine()
        self.tasks = [Task(self.machine, types, pid) for pid in (1000, 2000)]
        self.queue = Queue(self.machine, types, self.tasks)
        self.seen = {}

    def fire(self, hook, *context):
        for program in self.hooks.get(hook, []):
            self.seen[program.name] = self.machine.run(program, context)

    def wake(self):
        """The task that is on the CPU wakes the other one."""
        woken = self.tasks[1]
        self.queue.tick()
        self.fire("sched_waking", woken.at)
        woken.set("sched_info.last_queued", 8, self.machine.now)
        self.fire("sched_wakeup", woken.at)

    def switch(self, blocks):
        """It blocks, or is preempted, and the other one comes to the CPU."""
        prev, following = self.tasks
        now = self.queue.tick()
        left = "nvcsw" if blocks else "nivcsw"
        prev.set(left, 8, prev.get(left, 8) + 1)
        self.fire("sched_switch", 0 if blocks else 1, prev.at, following.at, 1 if blocks else 0)
        if not blocks:
            prev.set("sched_info.last_queued", 8, now)
        waited = now - following.get("sched_info.last_queued", 8)
        following.set("sched_info.run_delay", 8, following.get("sched_info.run_delay", 8) + waited)
        following.set("sched_info.last_arrival", 8, now)
        following.set("sched_info.last_queued", 8, 0)
        self.tasks.reverse()

    def one(self):
        """A wait that begins with a wakeup."""
        self.wake()
        self.switch(True)
        return dict(self.seen)

    def preemption(self):
        """One that begins with a preemption."""
        self.wake()
        self.switch(False)
        (name,) = (n for n in self.seen if n.startswith("ws_switch"))
        out = self.seen[name]
        self.switch(True)
        return {"a-preemption": tuple(sum(both) for both in zip(out, self.seen[name]))}

    def counters(self):
        """{map: what its bank has before its histograms, but for the switches, which are its first word}"""
        m, out = self.machine, {}
        for ident, info in m.maps.shown.items():
            if info.get("name") != "banks":
                continue
            words = [at for at in m.memory if at >= m.map_at(ident) and at < m.map_at(ident + 1)]
            if words:
                out[ident] = [m.load(min(words) + 8 * i, 8) for i in range(1, LOSSES + 1)]
        return out


def hooks_of(build, pid):
    """{tracepoint: programs attached to it}"""
    mine = {p["id"] for p in progs.programs_of(build, pid)}
    hooks = {}
    with tempfile.TemporaryDirectory() as scratch:
        for link in json.loads(bpftool("-j", "link", "show")):
            if link["prog_id"] in mine and "tp_name" in link:
                program = Program(link["prog_id"], os.path.join(scratch, "code"))
                hooks.setdefault(link["tp_name"], []).append(program)
    return hooks


def of_wait(side, build, types):
    """{program, or "a-preemption": (calls, instructions)}"""
    side.start()
    try:
        hooks = hooks_of(build, side.process.pid)
        return {**known(side, hooks, types, Wait.one, COUNTED),
                **known(side, hooks, types, Wait.preemption, COUNTED + 1)}
    finally:
        side.finish()


def known(side, hooks, types, of, counted):
    """What the last of some waits executes."""
    wait = Wait(hooks, types)
    for _ in range(WAITS):
        before, counters = dict(wait.machine.memory), wait.counters()
        seen = of(wait)
    if wait.machine.risen(before) < counted:
        raise Failed("%s: the wait is in no histogram" % side.name)
    if not counters or wait.counters() != counters:
        raise Failed("%s: not all of the wait was known" % side.name)
    return seen


def executed(build):
    types, out = Types(), {}
    for way, options in WAYS:
        for name, (calls, instructions) in of_wait(sides.own(build, *options), build, types).items():
            out[way, name, "calls"] = calls
            out[way, name, "instructions"] = instructions
        for what in ("calls", "instructions"):
            out[way, "a-wait", what] = sum(
                v for k, v in out.items() if k[0] == way and k[1].startswith("ws_") and k[2] == what)
    return out


if __name__ == "__main__":
    sys.exit(Budgets("calls", HEAD, "executed", "update-insns").main(
        executed, lambda key: 1 if key[-1] == "calls" else 1.10))
