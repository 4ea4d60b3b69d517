#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The arm64 decoder against binutils' disassembler: every instruction of an arm64 libc, and words drawn
from all that there can be. What the text of an instruction says it does to memory, the decoder must say
too: base, index, displacement, bytes, read, written, locked. What it writes, no address may rest on
any more, and behind a jump none is told.
"""
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "kernel"))
import harness  # noqa: E402 (its place is only known now)

OBJDUMP = "aarch64-linux-gnu-objdump"
LIBC = "/usr/aarch64-linux-gnu/lib/libc.so.6"
DECODER = os.path.join(harness.BUILD, "tests", "insn", "arm64")

READ, WRITE, LOCKED = 1, 2, 4  # include/recipe.h
SP, PC, NONE = 31, 32, 255
EXTENDS = {"uxtw": 1, "sxtw": 2, "lsl": 0, "sxtx": 0}
JUMP_TO_NEXT = 0x14000001 # b .+4
WIDTHS = {"b": 1, "h": 2, "w": 4, "s": 4, "x": 8, "d": 8, "q": 16}
SUFFIXES = {"b": 1, "sb": 1, "h": 2, "sh": 2, "sw": 4}

ATOMICS = "(?:add|clr|eor|set|smax|smin|umax|umin)"
PLAIN_LOAD = re.compile(r"(ldr|ldur|ldtr|ldapur|ldapr|ldar|ldlar|ldxr|ldaxr|ldtxr|ldatxr)(b|h|sb|sh|sw)?$")
PLAIN_STORE = re.compile(r"(str|stur|sttr|stlur|stlr|stllr|stxr|stlxr|sttxr|stltxr|gcsstt?r)(b|h)?$")
PAIR_LOAD = re.compile(r"(ldp|ldnp|ldxp|ldaxp|ldpsw|ldiapp|ldapp?|ldtn?p)()$")
PAIR_STORE = re.compile(r"(stp|stnp|stxp|stlxp|stilp|stlp|sttn?p)()$")
LSE_LOAD = re.compile(r"((?:ldt?%s|swpt?)(?:al|a|l)?|cas(?:al|a|l)?t?)(b|h)?$" % ATOMICS)
LSE_STORE = re.compile(r"(stt?%sl?)(b|h)?$" % ATOMICS)
FLOATS = re.compile(r"((?:ldb?f%s(?:al|a|l)?|stb?f%sl?))()$" % (2 * ("(?:add|(?:max|min)(?:nm)?)",)))
CASP = re.compile(r"(caspa?l?t?|rcws?caspa?l?)()$")
# Read, checked and written: 8 bytes. Two registers that both come back: 16.
RCW = re.compile(r"(rcws?(?:cas|clr|set|swp)a?l?)()$")
LSE128 = re.compile(r"((?:ldclrp|ldsetp|swpp|rcws?(?:clrp|setp|swpp))a?l?)()$")
HINT = re.compile(r"prfu?m$|rprfm$")
# Many addresses or none that registers tell: vectors' structures, SVE, tags, signed pointers, 64 bytes at once,
# copies, a block of zeroes.
MANY = re.compile(
    r"(ld[1-4]r?|st[1-4]|ldap1|stl1)$|(ldg|ldgm|stg|st2g|stzg|stz2g|stgp|stgm|stzgm)$|ldra[ab]$|(ld|st)64b|"
    r"cpyf?[pme]\w*$|set(go?)?[pme]\w*$"
)
# Behind these another piece of code begins.
ENDS = re.compile(
    r"(b|b\..*|bc\..*|bl|blr|br|ret|blra[ab]z?|bra[ab]z?|reta[ab]|eret|ereta[ab]|drps|cbn?z|tbn?z|"
    r"cb[bh]?(eq|ne|gt|ge|lt|le|hi|hs|lo|ls)|svc|hvc|smc|brk|hlt|dcps[123]|tcancel)$"
)
# Those that write no general register that is their first operand.
NO_RESULT = re.compile(
    r"(cmp|cmn|tst|ccmp|ccmn|cbn?z|tbn?z|br|blr|bra|blra|ret|msr|sys|dc|ic|at|tlbi|cfp|dvp|cpp|b|bl|"
    r"hint|udf|setf|rmif|ctermeq|ctermne|wfet|wfit|psb|tsb|gcspush|gcsss1)"
)
REGISTER = re.compile(r"([wx])(\d+)$|(w?sp)$")


def split(text):
    """Operands, at commas outside of brackets."""
    return [o.strip() for o in re.split(r",\s*(?![^\[]*\])(?![^{]*\})", text)] if text else []


def number(register):
    """Of a general register: 0..30, SP; None: another, or zero."""
    m = REGISTER.match(register)
    if not m:
        return None
    return SP if m.group(3) else int(m.group(2))


def immediate(text):
    return int(text.lstrip("#"), 0)


def operand(memory, after, access):
    """"[x0, x2, lsl #2]", "[x0], #8", "[x0, #8]!", an address: base, index, shift, extend, disp."""
    inside = [p.strip() for p in memory.strip("[]!").split(",")]
    index, shift, extend, disp = NONE, 0, 0, 0
    if len(inside) > 1 and inside[1].startswith("#"):
        disp = immediate(inside[1])
    elif len(inside) > 1:
        found = number(inside[1])
        index = NONE if found is None else found
        how = inside[2].split() if len(inside) > 2 else ["lsl"]
        extend = EXTENDS[how[0]]
        shift = immediate(how[1]) if len(how) > 1 else 0
    if memory.endswith("!"):
        disp = 0
    elif after:
        disp = -immediate(after)
    if index == NONE:
        shift = extend = 0
    return number(inside[0]), index, shift, extend, disp


def is_sve(ops):
    return any(re.match(r"\{?([zp]\d|za|zt0)", o.lstrip("{ ")) or re.search(r"[\[, ]z\d+\.", o) for o in ops)


class Access:
    """What an instruction's text says of memory; `what` as the decoder writes it, None: not known."""

    def __init__(self, name, text, address):
        self.name, self.ops, self.address = name, split(text), address
        self.what = self.judge()

    def judge(self):
        name, ops = self.name, self.ops
        if HINT.match(name) or name == "adr":  # that of SVE has brackets
            return "none"
        at = next((k for k, o in enumerate(ops) if o.startswith("[")), None)
        if (is_sve(ops) and at is not None) or MANY.match(name):
            return "nc"
        if name == "dc" and ops and ops[0] in ("zva", "gva", "gzva"):
            return "nc"
        for pattern, kind in (
            (PLAIN_LOAD, self.load), (PLAIN_STORE, self.store), (PAIR_LOAD, self.load),
            (PAIR_STORE, self.store), (LSE_LOAD, self.atomic), (LSE_STORE, self.atomic),
            (FLOATS, self.atomic), (CASP, self.casp), (RCW, self.atomic), (LSE128, self.lse128),
        ):
            m = pattern.match(name)
            if m:
                return kind(at, m.group(1), m.group(2))
        return "none" if at is None else "?"

    def text(self, at, size, flags, results):
        if at is None:  # a literal
            ahead = int(self.ops[1].split()[0], 16) - self.address & (1 << 64) - 1
            place = (PC, NONE, 0, 0, (ahead ^ 1 << 63) - (1 << 63) - 4)
        else:
            after = self.ops[at + 1] if at + 1 < len(self.ops) else None
            place = operand(self.ops[at], after, size)
        written = {number(r) for r in results} - {None, SP}
        if written & set(place[:2]):
            return "nc"
        return "%d %d %d %d %d %d %d" % (place + (size, flags))

    def size(self, register, suffix):
        return SUFFIXES[suffix] if suffix else WIDTHS[register[0]]

    def load(self, at, name, suffix):
        data = self.ops[:2 if PAIR_LOAD.match(name) else 1]
        size = self.size(data[0], "sw" if name == "ldpsw" else suffix) * len(data)
        flags = READ | (LOCKED if re.match(r"lda?t?x", name) else 0)
        return self.text(at, size, flags, data)

    def store(self, at, name, suffix):
        exclusive = re.match(r"stl?t?x", name)
        skip = 1 if exclusive else 0  # did it succeed
        data = self.ops[skip:skip + (2 if PAIR_STORE.match(name) else 1)]
        size = self.size(data[0], suffix) * len(data)
        return self.text(at, size, WRITE | (LOCKED if exclusive else 0), self.ops[:skip])

    def atomic(self, at, name, suffix):
        results = self.ops[:1] if "cas" in name else self.ops[1:at]
        return self.text(at, self.size(self.ops[0], suffix), READ | WRITE | LOCKED, results)

    def casp(self, at, name, suffix):
        return self.text(at, 2 * self.size(self.ops[0], ""), READ | WRITE | LOCKED, self.ops[:2])

    def lse128(self, at, name, suffix):
        return self.text(at, 16, READ | WRITE | LOCKED, self.ops[:2])

    def results(self):
        """The general registers that an instruction without memory writes."""
        if NO_RESULT.fullmatch(self.name.split(".")[0]):
            return set()
        return {number(o) for o in self.ops[:2 if self.name == "mrrs" else 1]} - {None}


def disassemble(*args):
    """(word, Access) of each line that is an instruction."""
    run = subprocess.run([OBJDUMP, "-d", *args], capture_output=True, text=True, check=True)
    for line in run.stdout.splitlines():
        parts = line.split("\t")
        if len(parts) < 3 or parts[2].startswith(".") or "undefined" in line:
            continue
        operands = parts[3] if len(parts) > 3 else ""
        operands = re.split(r"\s*(?://|<)", operands)[0].strip()
        yield int(parts[1], 16), Access(parts[2].strip(), operands, int(parts[0].rstrip(": "), 16))


class Arm64(unittest.TestCase):
    def setUp(self):
        if not shutil.which(OBJDUMP):
            self.skipTest("no " + OBJDUMP)

    def decode(self, words):
        raw = b"".join(w.to_bytes(4, "little") for w in words)
        out = subprocess.run([DECODER], input=raw, capture_output=True, check=True).stdout
        return [line.rsplit(" ", 1) for line in out.decode().splitlines()]

    def compare(self, code):
        """How many touch memory, and how many write a register."""
        touching = writing = 0
        wrong = []
        answers = self.decode([word for word, _ in code])
        self.assertEqual(len(answers), len(code))
        for (word, truth), (got, bases) in zip(code, answers):
            told = "%08x %s %s" % (word, truth.name, ", ".join(truth.ops))
            if got != truth.what:
                wrong.append("%s: '%s', expected '%s'" % (told, got, truth.what))
            touching += truth.what != "none"
            # A jump to the instruction behind it is a way like any other.
            ends = ENDS.match(truth.name) and word != JUMP_TO_NEXT
            if truth.what == "none" and bool(ends) != (bases == "0"):
                wrong.append("%s: bases %s live on" % (told, bases))
            registers = truth.results() if truth.what == "none" else ()
            writing += bool(registers)
            if any(int(bases, 16) >> r & 1 for r in registers):
                wrong.append("%s: an address in what it writes lives on" % told)
        names = sorted({w.split()[1] for w in wrong})
        self.assertEqual(wrong[:20], [], "%d wrong of %d: %s" % (len(wrong), len(code), names))
        return touching, writing

    def test_libc(self):
        """every instruction of libc: what it touches and what it overwrites, as objdump tells"""
        if not os.path.exists(LIBC):
            self.skipTest("no arm64 libc")
        code = list(disassemble(LIBC))
        touching, writing = self.compare(code)
        print("# %d instructions, %d touch memory, %d write a register" % (len(code), touching, writing))
        self.assertGreater(touching, 50000)
        self.assertGreater(writing, 80000)

    def test_any(self):
        """words drawn from all, and from the loads and stores: the same"""
        draw = random.Random(64)
        words = [draw.getrandbits(32) for _ in range(80000)]
        words += [draw.getrandbits(32) & ~(1 << 25) | 1 << 27 for _ in range(80000)]
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"".join(w.to_bytes(4, "little") for w in words))
            f.flush()
            code = list(disassemble("-D", "-b", "binary", "-m", "aarch64", f.name))
        touching, writing = self.compare(code)
        print("# %d are instructions, %d touch memory, %d write a register" % (len(code), touching, writing))
        self.assertGreater(touching, 40000)


if __name__ == "__main__":
    harness.main()
