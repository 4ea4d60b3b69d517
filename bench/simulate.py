# SPDX-License-Identifier: GPL-2.0-or-later
"""Executes BPF programs as the kernel translated them, on made-up tasks: what an event calls is counted exactly,
after all that the verifier and the kernel have inlined. Memory that nobody has written is 0."""
import json
import re
import struct
import subprocess

MASK = (1 << 64) - 1
STACK, STACK_SIZE = 1 << 56, 4096
MAPS, MAP_SHIFT = 1 << 60, 32  # a map's object, and its values behind it
ALLOCATED = 1 << 58
STEPS_MAX = 1_000_000
SIZES = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}


class NotSimulated(Exception):
    """Something of the kernel that this does not know; the text says what."""


def bpftool(*words):
    return subprocess.run(["bpftool", *words], capture_output=True, text=True, check=True).stdout


def signed(v, bits=64):
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


class Program:
    """The translated instructions of a loaded program, with the names of what it calls."""

    def __init__(self, ident, path):
        self.name = json.loads(bpftool("-j", "prog", "show", "id", str(ident)))["name"]
        bpftool("prog", "dump", "xlated", "id", str(ident), "file", path)
        with open(path, "rb") as f:
            self.code = [tuple(row) for row in struct.iter_unpack("<BBhi", f.read())]
        text = bpftool("prog", "dump", "xlated", "id", str(ident))
        self.calls = {int(m.group(1)): m.group(2)
                      for m in re.finditer(r"^ *(\d+): \(85\) call ([^\s#]+)", text, re.M)}


class Maps:
    """What the kernel says of the maps: types, sizes, and what is in those of read-only and global data."""

    def __init__(self):
        self.shown = {}

    def info(self, ident):
        if ident not in self.shown:
            self.shown[ident] = json.loads(bpftool("-j", "map", "show", "id", str(ident)))
        return self.shown[ident]

    def data(self, ident):
        row = json.loads(bpftool("-j", "map", "lookup", "id", str(ident), "key", "0", "0", "0", "0"))
        value = bytearray(int(b, 16) for b in row["value"])
        at, size = self.variable(ident, "slots")  # sched.bpf.c: the machine's own tasks have some of them
        value[at:at + size] = bytes(size)
        return bytes(value)

    def variable(self, ident, name):
        """(offset, size) of a program's variable, by the BTF of the map that holds it; (0, 0) if another does."""
        types = json.loads(bpftool("-j", "btf", "dump", "id", str(self.info(ident)["btf_id"])))["types"]
        names = {t["id"]: t["name"] for t in types if t["kind"] == "VAR"}
        held = [v for t in types if t["kind"] == "DATASEC" and self.info(ident)["name"].endswith(t["name"])
                for v in t["vars"] if names.get(v["type_id"]) == name]
        return (held[0]["offset"], held[0]["size"]) if held else (0, 0)


class Machine:
    def __init__(self):
        self.memory = {}
        self.maps = Maps()
        self.entries = {}  # (map, key): address
        self.free = ALLOCATED
        self.now = 1_000_000_000
        self.seeded = set()
        self.calls = self.steps = 0

    # ---- memory ----

    def load(self, at, size):
        at &= MASK
        ident = (at - MAPS) >> MAP_SHIFT if at >= MAPS and at < MAPS << 1 else 0
        if ident and size == 8 and at not in self.memory and self.maps.info(ident)["type"] == "percpu_array":
            return at + (1 << (MAP_SHIFT - 1))  # where this element is, for whichever CPU
        return sum(self.memory.get(at + i, 0) << (8 * i) for i in range(size))

    def store(self, at, size, value):
        for i in range(size):
            self.memory[(at + i) & MASK] = (value >> (8 * i)) & 0xFF

    def risen(self, before):
        """How many words of the maps' values are larger by one than they were."""
        words = {at & ~3 for at in self.memory if MAPS <= at < MAPS << 1}
        was = Machine()
        was.memory, was.maps = before, self.maps
        return sum(self.load(at, 4) == was.load(at, 4) + 1 for at in words)

    def take(self, size):
        self.free += (size + 63) // 64 * 64 + 64
        return self.free - (size + 63) // 64 * 64

    def map_at(self, ident):
        return MAPS + (ident << MAP_SHIFT)

    def value_at(self, ident, offset):
        base = self.map_at(ident) + (1 << (MAP_SHIFT - 2))
        if ident not in self.seeded:
            self.seeded.add(ident)
            for i, b in enumerate(self.maps.data(ident)):
                self.memory[base + i] = b
        return base + offset

    # ---- what programs call ----

    def entry(self, at, key, size, make):
        found = self.entries.get((at, key))
        if not found and make:
            found = self.entries[at, key] = self.take(size)
        return found or 0

    def key(self, r):
        info = self.maps.info((r[1] - MAPS) >> MAP_SHIFT)
        return bytes(self.load(r[2] + i, 1) for i in range(info["bytes_key"])), info["bytes_value"]

    def update(self, r):
        key, size = self.key(r)
        to = self.entry(r[1], key, size, True)
        for i in range(size):
            self.store(to + i, 1, self.load(r[3] + i, 1))
        return 0

    def copy(self, r):
        for i in range(r[2]):
            self.store(r[1] + i, 1, self.load(r[3] + i, 1))
        return 0

    def clock(self, _r):
        self.now += 10
        return self.now

    def helper(self, name, r):
        if name.startswith("bpf_task_storage_get"):
            info = self.maps.info((r[1] - MAPS) >> MAP_SHIFT)
            return self.entry(r[1], r[2], info["bytes_value"], r[4] & 1)
        if name.startswith("bpf_task_storage_delete"):
            return 0 if self.entries.pop((r[1], r[2]), 0) else MASK
        if name.endswith("map_lookup_elem"):
            key, size = self.key(r)
            return self.entry(r[1], key, size, False)
        if name.endswith("map_update_elem"):
            return self.update(r)
        if name.startswith("bpf_probe_read_kernel"):
            return self.copy(r)
        if name.startswith("bpf_ktime_get"):
            return self.clock(r)
        raise NotSimulated("a call of " + name)

    # ---- instructions ----

    def run(self, program, context):
        """Its calls and instructions; the programs' own return value says nothing here."""
        at = self.take(8 * len(context))
        for i, word in enumerate(context):
            self.store(at + 8 * i, 8, word)
        self.calls = self.steps = 0
        self.function(program, 0, [0, at, 0, 0, 0, 0, 0, 0, 0, 0, STACK + STACK_SIZE])
        return self.calls, self.steps

    def function(self, program, pc, r):
        while True:
            code, regs, off, imm = program.code[pc]
            dst, src, kind = regs & 15, regs >> 4, code & 7
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise NotSimulated("%s: does not end" % program.name)
            if code == 0x95:
                return r[0]
            if code == 0x85:
                self.call(program, pc, r)
            elif code == 0x18:
                r[dst] = self.wide(src, imm, program.code[pc + 1][3])
                pc += 1
            elif kind in (4, 7):
                r[dst] = alu(code, r[dst], (r[src] if code & 8 else imm), off, imm)
            elif kind in (5, 6):
                pc += jump(code, r[dst], (r[src] if code & 8 else imm), off, imm)
            elif kind == 1:
                r[dst] = self.load(r[src] + off, SIZES[code & 0x18])
                if code & 0xE0 == 0x80:
                    r[dst] = signed(r[dst], 8 * SIZES[code & 0x18]) & MASK
            elif code & 0xE0 == 0xC0:
                self.atomic(code, r, dst, src, off, imm)
            else:
                self.store(r[dst] + off, SIZES[code & 0x18], (r[src] if kind == 3 else imm) & MASK)
            pc += 1

    def wide(self, src, low, high):
        if src == 1:
            return self.map_at(low)
        if src == 2:
            return self.value_at(low, high)
        return (low & 0xFFFFFFFF) | ((high & 0xFFFFFFFF) << 32)

    def call(self, program, pc, r):
        self.calls += 1
        name = program.calls[pc]
        local = re.match(r"pc([+-]\d+)$", name)
        if local:
            r[0] = self.function(program, pc + 1 + int(local.group(1)), r[:10] + [r[10] - 512])
        else:
            r[0] = self.helper(name, r) & MASK

    def atomic(self, code, r, dst, src, off, imm):
        size = SIZES[code & 0x18]
        old = self.load(r[dst] + off, size)
        what = imm & ~1
        if imm == 0xF1:
            if old == r[0] & ((1 << (8 * size)) - 1):
                self.store(r[dst] + off, size, r[src])
            r[0] = old
            return
        new = {0x00: old + r[src], 0x40: old | r[src], 0x50: old & r[src], 0xA0: old ^ r[src], 0xE0: r[src]}.get(what)
        if new is None:
            raise NotSimulated("an atomic operation 0x%x" % imm)
        self.store(r[dst] + off, size, new)
        if imm & 1:
            r[src] = old


def alu(code, a, b, off, imm):
    bits = 64 if code & 7 == 7 else 32
    mask = (1 << bits) - 1
    op, x, y = code & 0xF0, a & mask, b & mask
    if op == 0xD0:
        size = imm // 8
        value = (a & ((1 << imm) - 1)).to_bytes(size, "little")
        return int.from_bytes(value, "big" if code & 8 or bits == 64 else "little")
    if op == 0xB0 and code & 8 and off > 0:
        return signed(y, off) & mask  # movsx; -1 is the address of a CPU's own, here the address
    if op in (0x30, 0x90) and off == 1:
        sx, sy = signed(x, bits), signed(y, bits)
        quotient = 0 if not sy else abs(sx) // abs(sy) * (1 if (sx < 0) == (sy < 0) else -1)
        return (quotient if op == 0x30 else sx - quotient * sy) & mask
    shift = y & (bits - 1)
    return {
        0x00: lambda: x + y, 0x10: lambda: x - y, 0x20: lambda: x * y, 0x30: lambda: x // y if y else 0,
        0x40: lambda: x | y, 0x50: lambda: x & y, 0x60: lambda: x << shift, 0x70: lambda: x >> shift,
        0x80: lambda: -x, 0x90: lambda: x % y if y else x, 0xA0: lambda: x ^ y, 0xB0: lambda: y,
        0xC0: lambda: signed(x, bits) >> shift,
    }[op]() & mask


def jump(code, a, b, off, imm):
    """How many instructions further."""
    bits = 64 if code & 7 == 5 else 32
    mask = (1 << bits) - 1
    x, y, op = a & mask, b & mask, code & 0xF0
    if op == 0x00:
        return off if bits == 64 else imm
    sx, sy = signed(x, bits), signed(y, bits)
    taken = {
        0x10: x == y, 0x20: x > y, 0x30: x >= y, 0x40: bool(x & y), 0x50: x != y, 0x60: sx > sy, 0x70: sx >= sy,
        0xA0: x < y, 0xB0: x <= y, 0xC0: sx < sy, 0xD0: sx <= sy,
    }[op]
    return off if taken else 0
