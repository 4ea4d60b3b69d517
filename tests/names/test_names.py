#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of addresses in processes: programs that know their own, built in every way that matters."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "kernel"))
import harness  # noqa: E402 (its place is only known now)

PROG = os.path.join(HERE, "prog")
ASK = os.path.join(harness.BUILD, "tests", "names", "ask")
CC = os.environ.get("CC", "cc")


class Spot:
    """One line of truth: see prog/truth.h."""

    def __init__(self, line):
        _, addr, start, self.object, self.symbol, path, number = line.split(" ")
        self.addr, self.start = int(addr, 16), int(start, 16)
        self.path = "" if path == "-" else path
        self.line = int(number)


class Program:
    """A program that has told its truth and waits."""

    def __init__(self, test, argv, **kwargs):
        self.name = os.path.basename(argv[-1])
        self.proc = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **kwargs
        )
        test.addCleanup(self.end)
        self.pid = self.proc.pid
        self.spots, self.other = [], {}
        for line in self.proc.stdout:
            line = line.rstrip("\n")
            if line == "ready":
                break
            if line.startswith("data "):
                self.spots.append(Spot(line))
            else:
                key, *values = line.split(" ")
                self.other[key] = values
        else:
            test.fail("%s ended before it was ready" % self.name)

    def end(self):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            self.proc.wait(10)
            self.proc.stdout.close()

    def at(self, key):
        return int(self.other[key][0], 16)

    def base(self, pattern):
        """Where the first mapping of a file starts."""
        with open("/proc/%d/maps" % self.pid, encoding="utf-8") as f:
            for line in f:
                if re.search(pattern, line):
                    return int(line.split("-")[0], 16)
        raise AssertionError("no mapping like %s" % pattern)


class Ask:
    def __init__(self, test, *args):
        self.proc = subprocess.Popen(
            [ASK, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        test.addCleanup(self.end)

    def end(self):
        if self.proc.stdin.closed:
            return self.proc.returncode
        self.proc.stdin.close()
        self.proc.stdout.close()
        return self.proc.wait(10)

    def line(self, fmt, *args):
        self.proc.stdin.write(fmt % args + "\n")
        return self.proc.stdout.readline().rstrip("\n")

    def hold(self, pid):
        return int(self.line("hold %d", pid))

    def data(self, pid, addr):
        return tuple(self.line("data %d %x", pid, addr).split("\t"))

    def code(self, pid, addr):
        return tuple(self.line("code %d %x", pid, addr).split("\t"))


class NamesTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        if os.geteuid():
            self.skipTest("not root")
        self.dir = tempfile.mkdtemp(prefix="ws-names-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.ask = Ask(self)
        self.addCleanup(lambda: self.assertEqual(self.ask.end(), 0))

    def run_tool(self, *argv):
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def build(self, source, *flags, name="app", cc=CC):
        out = os.path.join(self.dir, name)
        self.run_tool(cc, "-o", out, os.path.join(PROG, source), "-pthread", *flags)
        return out

    def program(self, *argv, **kwargs):
        return Program(self, argv, **kwargs)

    def check(self, program, source, want=None):
        """Every spot: named down to the member, with its declaration."""
        got, expected = [], []
        for s in program.spots:
            inside = s.path and not s.path.startswith("+")
            got.append(self.ask.data(program.pid, s.addr))
            expected.append(
                (
                    "member" if inside else "object",
                    "%s`%s%s" % (want or program.name, s.object, s.path),
                    "%s:%d" % (source, s.line),
                )
            )
        self.assertEqual(got, expected)
        self.assertGreater(len(got), 0)

    def check_symbols(self, program, want=None):
        """Without DWARF: the symbol and the offset."""
        for s in program.spots:
            offset = "+0x%x" % (s.addr - s.start) if s.addr > s.start else ""
            text = "%s`%s%s" % (want or program.name, s.symbol, offset)
            self.assertEqual(self.ask.data(program.pid, s.addr), ("object", text, ""))

    def check_regions(self, program, bias):
        for s in program.spots:
            text = "%s+0x%x" % (program.name, s.addr - bias)
            self.assertEqual(self.ask.data(program.pid, s.addr), ("region", text, ""))


class Shapes(NamesTest):
    def test_pie(self):
        """C, PIE, .data and .bss: members, arrays, unions, bit fields, padding"""
        self.check(self.program(self.build("kw.c", "-g", "-pie", "-fPIE")), "kw.c")

    def test_no_pie(self):
        """C, no PIE"""
        self.check(self.program(self.build("kw.c", "-g", "-no-pie", "-fno-pie")), "kw.c")

    def test_static(self):
        """C, static, and static PIE"""
        self.check(self.program(self.build("kw.c", "-g", "-static")), "kw.c")
        self.check(self.program(self.build("kw.c", "-g", "-static-pie", name="spie")), "kw.c")

    def test_dwarf_versions(self):
        """C, DWARF 2 to 5, optimised, compressed, in type units"""
        for flags in (
            ["-gdwarf-2", "-gstrict-dwarf"],
            ["-gdwarf-3"],
            ["-gdwarf-4", "-O2"],
            ["-gdwarf-4", "-fdebug-types-section"],
            ["-gdwarf-5", "-O2", "-flto"],
            ["-g", "-gz=zlib"],
        ):
            with self.subTest(flags=flags):
                self.check(self.program(self.build("kw.c", *flags)), "kw.c")

    def test_clang(self):
        """C, built by clang"""
        if not shutil.which("clang"):
            self.skipTest("no clang")
        self.check(self.program(self.build("kw.c", "-g", cc="clang")), "kw.c")

    def test_symbols(self):
        """C without DWARF: symbol and offset"""
        self.check_symbols(self.program(self.build("kw.c")))

    def test_stripped(self):
        """C, stripped: mapping and offset"""
        p = self.program(self.build("kw.c", "-s", "-pie", "-fPIE"))
        self.check_regions(p, p.base("/app$"))
        p = self.program(self.build("kw.c", "-s", "-no-pie", "-fno-pie", name="fixed"))
        self.check_regions(p, 0)

    def test_regions(self):
        """Heap, stack, thread-local and flexible members"""
        p = self.program(self.build("kw.c", "-g"))
        heap = p.base(r"\[heap\]")
        stack = p.base(r"\[stack\]")
        addr = p.at("heap")
        self.assertEqual(
            self.ask.data(p.pid, addr), ("region", "[heap]+0x%x" % (addr - heap), "")
        )
        addr = p.at("stack")
        self.assertEqual(
            self.ask.data(p.pid, addr), ("region", "[stack]+0x%x" % (addr - stack), "")
        )
        found, text, place = self.ask.data(p.pid, p.at("tls"))
        self.assertEqual((found, text[:9]), ("region", "[anon]+0x"))
        start = int(place.removeprefix("from 0x"), 16)
        self.assertEqual(start + int(text[7:], 16), p.at("tls"))
        # The type ends where these begin; the linker knows that they are there.
        addr, tail = (int(v, 16) for v in p.other["flexible"])
        self.assertEqual(
            self.ask.data(p.pid, addr), ("object", "app`tail+0x%x" % (addr - tail), "")
        )
        self.assertEqual(self.ask.data(p.pid, 0x10), ("none", "0x10", ""))

    def test_code(self):
        """Code: function, offset, file and line"""
        p = self.program(self.build("kw.c", "-g"))
        with open(os.path.join(PROG, "kw.c"), encoding="utf-8") as f:
            line = next(i for i, text in enumerate(f, 1) if text.startswith("static void members"))
        addr = p.at("code")
        # At +0 the opening line; gcc's lines start there.
        self.assertEqual(
            self.ask.code(p.pid, addr), ("object", "app`members", "kw.c:%d" % (line + 1))
        )
        found, text, place = self.ask.code(p.pid, addr + 64)
        self.assertEqual((found, text), ("object", "app`members+0x40"))
        self.assertRegex(place, r"^kw\.c:\d+$")


if __name__ == "__main__":
    harness.main()
