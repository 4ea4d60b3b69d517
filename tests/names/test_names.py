#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of addresses in processes: programs that know their own, built in every way that matters."""
import errno
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "kernel"))
import harness  # noqa: E402 (its place is only known now)

PROG = os.path.join(HERE, "prog")
ASK = os.path.join(harness.BUILD, "tests", "names", "ask")
FUTEX = {"x86_64": "202", "aarch64": "98"}[os.uname().machine]
CC = os.environ.get("CC", "cc")


class Spot:
    """One line of truth: see prog/truth.h."""

    def __init__(self, line):
        _, addr, start, self.object, self.symbol, path, number = line.split("\t")
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
            if line.startswith("data\t"):
                self.spots.append(Spot(line))
            else:
                key, *values = line.split(" ")
                self.other[key] = values
        else:
            test.fail("%s ended before it was ready" % self.name)

    def end(self):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            self.proc.wait(60)
            self.proc.stdout.close()

    def futexes(self, want, patience_s=60):
        """Addresses that its threads wait on: what the kernel says of their system calls."""
        found, before = set(), None
        end = time.monotonic() + patience_s
        # Twice the same: on its way there a thread may wait for another word.
        while (len(found) < want or found != before) and time.monotonic() < end:
            time.sleep(0.05)
            found, before = set(), found
            for task in os.listdir("/proc/%d/task" % self.pid):
                with open("/proc/%d/task/%s/syscall" % (self.pid, task), encoding="ascii") as f:
                    words = f.read().split()
                if words[0] == FUTEX:
                    found.add(int(words[1], 16))
        return found

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
    def __init__(self, test, *args, env=None):
        self.proc = subprocess.Popen(
            [ASK, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=env,
        )
        test.addCleanup(self.end)

    def end(self):
        if self.proc.stdin.closed:
            return self.proc.returncode
        self.proc.stdin.close()
        self.proc.stdout.close()
        return self.proc.wait(60)

    def line(self, fmt, *args):
        self.proc.stdin.write(fmt % args + "\n")
        return self.proc.stdout.readline().rstrip("\n")

    def trim(self):
        """Two reports' ends: what was looked at before the first is idle at the second."""
        for _ in range(2):
            if self.line("trim") != "0":
                raise AssertionError("trim")

    def child(self, comm):
        """The process of that name which reads files, or opens them."""
        with open("/proc/%d/task/%d/children" % (2 * (self.proc.pid,)), encoding="ascii") as f:
            for pid in f.read().split():
                with open("/proc/%s/comm" % pid, encoding="ascii") as c:
                    if c.read() == comm + "\n":
                        return int(pid)
        raise AssertionError("no process %s" % comm)

    def worker(self):
        self.hold(os.getpid())  # it starts with the first question
        return self.child("waitscope-names")

    def rss_kib(self, field="VmRSS"):
        with open("/proc/%d/status" % self.worker(), encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))

    def fds(self):
        return len(os.listdir("/proc/%d/fd" % self.worker()))

    def hold(self, pid):
        return int(self.line("hold %d", pid))

    def data(self, pid, addr):
        return tuple(self.line("data %d %x", pid, addr).split("\t"))

    def report(self):
        """A report's time for names begins."""
        if self.line("report") != "0":
            raise AssertionError("report")

    def once(self, pid, addr):
        """No second time if it is late."""
        return tuple(self.line("once %d %x", pid, addr).split("\t"))

    def code(self, pid, addr):
        return tuple(self.line("code %d %x", pid, addr).split("\t"))


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout).group(1)


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
        """C, built by clang, with DWARF 4 and 5"""
        if not shutil.which("clang"):
            self.skipTest("no clang")
        for version in (4, 5):  # in 5 a file may have the number 0
            self.check(self.program(self.build("kw.c", "-gdwarf-%d" % version, cc="clang")), "kw.c")

    def split(self, source, *flags, cc):
        """Its description is in app.dwo. False: there is no such compiler."""
        unit = os.path.join(self.dir, "app.o")
        if shutil.which(cc):
            self.run_tool(cc, "-g", "-gsplit-dwarf", *flags, "-c", "-o", unit, os.path.join(PROG, source))
            self.run_tool(cc, "-o", os.path.join(self.dir, "app"), unit, "-pthread")
            self.assertTrue(os.path.exists(self.dwo()))
        return shutil.which(cc)

    def dwo(self):
        return os.path.join(self.dir, "app.dwo")

    def test_split(self):
        """C and C++, the description in .dwo files (split DWARF)"""
        for source, cc, *more in (("kw.c", "gcc"), ("kw.c", "gcc", "-O2"),
                                  ("kw.c", "clang"), ("cpp.cc", "g++"), ("cpp.cc", "clang++", "-std=c++17")):
            for version in (4, 5):
                with self.subTest(cc=cc, version=version, more=more):
                    if self.split(source, "-gdwarf-%d" % version, *more, cc=cc):
                        p = self.program(os.path.join(self.dir, "app"))
                        self.check(p, source)
                        p.end()

    def test_split_elsewhere(self):
        """C, a .dwo file that has moved with the program, is gone, is of another build, or is somebody else's"""
        app = os.path.join(self.dir, "app")
        self.split("kw.c", "-O2", cc="gcc")
        shutil.copy(self.dwo(), self.dwo() + ".other")
        self.split("kw.c", cc="gcc")
        moved = os.path.join(self.dir, "moved")
        os.mkdir(moved)
        shutil.move(app, moved)
        shutil.move(self.dwo(), moved)
        p = self.program(os.path.join(moved, "app"))
        self.check(p, "kw.c")
        p.end()
        dwo = os.path.join(moved, "app.dwo")
        own = dwo + ".own"
        os.rename(dwo, own)
        for change in (lambda: None,
                       lambda: shutil.copy(self.dwo() + ".other", dwo),
                       lambda: (shutil.copy(own, dwo), os.chown(dwo, 12345, 12345)),
                       lambda: os.truncate(dwo, 200),
                       lambda: (os.unlink(dwo), os.mkfifo(dwo))):
            change()
            os.utime(os.path.join(moved, "app"))  # another file, as far as can be seen: nothing is remembered of it
            p = self.program(os.path.join(moved, "app"))
            self.check_symbols(p)
            p.end()

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


class Files(NamesTest):
    """Where the names come from, and whether they are still there."""

    def objcopy(self, *args):
        self.run_tool("objcopy", *args)

    def library(self, *flags, name="libfoo.so"):
        out = os.path.join(self.dir, name)
        self.run_tool(
            CC, "-shared", "-fPIC", "-g", *flags, "-o", out, os.path.join(PROG, "lib.c"), "-pthread"
        )
        return out

    def user_of(self, lib, *flags):
        return self.build(
            "uselib.c", "-g", lib, "-Wl,-rpath," + os.path.dirname(lib), *flags, name="uselib"
        )

    def hold_dir(self, path):
        """Makes it, and what leads to it, and takes away again what was made."""
        if not os.path.isdir(path):
            self.hold_dir(os.path.dirname(path))
            os.mkdir(path)
            self.addCleanup(os.rmdir, path)

    def test_library(self):
        """A shared library's variable, by the library's name"""
        p = self.program(self.user_of(self.library()))
        self.check(p, "lib.c", want="libfoo.so")

    def test_copied(self):
        """A library's variable that was copied into the program is the program's"""
        p = self.program(self.user_of(self.library("-DINTERPOSABLE"), "-no-pie", "-fno-pie"))
        addr = p.at("copied")
        self.assertEqual(self.ask.data(p.pid, addr), ("object", "uselib`lib_public", ""))

    def test_build_id(self):
        """DWARF in /usr/lib/debug/.build-id; not one with another build-id"""
        app = self.build("kw.c", "-g")
        debug = os.path.join(self.dir, "app.debug")
        self.objcopy("--only-keep-debug", app, debug)
        build_id = build_id_of(app)
        self.run_tool("strip", app)
        place = "/usr/lib/debug/.build-id/%s/%s.debug" % (build_id[:2], build_id[2:])
        self.hold_dir(os.path.dirname(place))
        self.addCleanup(lambda: os.path.exists(place) and os.unlink(place))
        p = self.program(app)
        shutil.copy(ASK, place)
        self.check_regions(p, p.base("/app$"))
        shutil.copy(debug, place)
        self.ask = Ask(self)
        self.check(p, "kw.c")

    def test_debuglink(self):
        """DWARF by .gnu_debuglink, beside it and in .debug; not with another checksum"""
        for place in ("", ".debug"):
            app = self.build("kw.c", "-g", "-Wl,--build-id=none")
            os.makedirs(os.path.join(self.dir, place), exist_ok=True)
            debug = os.path.join(self.dir, place, "app.debug")
            self.objcopy("--only-keep-debug", app, debug)
            self.objcopy("--strip-all", "--add-gnu-debuglink=" + debug, app)
            p = self.program(app)
            self.ask = Ask(self)
            self.check(p, "kw.c")
            with open(debug, "ab") as f:
                f.write(b"x")
            self.ask = Ask(self)
            self.check_regions(p, p.base("/app$"))
            p.end()
            os.unlink(debug)

    def test_dwz(self):
        """DWARF whose common parts dwz moved away: only with these"""
        if not shutil.which("dwz"):
            self.skipTest("no dwz")
        one = self.build("kw.c", "-g", name="one")
        two = self.build("kw.c", "-g", "-O1", name="two")
        # Of our own root only what lies there may be opened.
        self.hold_dir("/usr/lib/debug/.dwz")
        common = "/usr/lib/debug/.dwz/ws-names-%d.debug" % os.getpid()
        self.addCleanup(lambda: os.path.exists(common) and os.unlink(common))
        self.run_tool("dwz", "-m", common, one, two)
        p = self.program(one)
        self.check(p, "kw.c")
        os.unlink(common)
        self.ask = Ask(self)
        self.check_symbols(p)

    def test_ended(self):
        """Names survive the end of the process"""
        p = self.program(self.build("kw.c", "-g"))
        self.assertEqual(self.ask.hold(p.pid), 0)
        os.unlink(os.path.join(self.dir, "app"))
        p.end()
        self.check(p, "kw.c")
        self.assertEqual(self.ask.hold(p.pid), -errno.ESRCH)
        self.check(p, "kw.c")

    def test_deleted(self):
        """A program that was deleted, and one that was replaced"""
        app = self.build("kw.c", "-g")
        p = self.program(app)
        os.unlink(app)
        self.build("uselib.c", "-DALONE")  # of the same name
        self.check(p, "kw.c")

    def test_changed(self):
        """A library that was written over: only the mapping is still certain"""
        lib = self.library()
        p = self.program(self.user_of(lib))
        self.check(p, "lib.c", want="libfoo.so")
        with open(lib, "r+b") as f:
            f.truncate(4096)
        self.ask.trim()
        base = p.base("/libfoo.so$")
        addr = p.spots[0].addr + 1  # not yet asked for
        self.assertEqual(
            self.ask.data(p.pid, addr), ("region", "libfoo.so+0x%x" % (addr - base), "")
        )

    def test_namespace(self):
        """A program that only its own mount namespace has"""
        app = self.build("kw.c", "-g", "-static")
        place = os.path.join(self.dir, "place")
        os.mkdir(place)
        script = "mount -t tmpfs none %s && cp %s %s/inside && exec %s/inside" % (
            place, app, place, place,
        )
        # Where the root is no mount point (a chroot) nothing above the place can be made private.
        subprocess.run(["mount", "--bind", place, place], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", place], check=True)
        subprocess.run(["mount", "--make-private", place], check=True)
        p = self.program("unshare", "-m", "--propagation", "unchanged", "sh", "-c", script)
        self.assertEqual(os.listdir(place), [])
        p.name = "inside"
        self.check(p, "kw.c")

    def test_chroot(self):
        """A program below another root, its debug file there too"""
        root = os.path.join(self.dir, "root")
        os.makedirs(os.path.join(root, "bin"))
        app = self.build("kw.c", "-g", "-static", "-Wl,--build-id=none", name="root/bin/app")
        debug = os.path.join(root, "usr/lib/debug/bin/app.debug")
        os.makedirs(os.path.dirname(debug))
        self.objcopy("--only-keep-debug", app, debug)
        self.objcopy("--strip-all", "--add-gnu-debuglink=" + debug, app)
        p = self.program("chroot", root, "/bin/app")
        self.check(p, "kw.c")

    def test_bounded(self):
        """A hundred processes of one program, and many programs: few descriptors"""
        app = self.build("kw.c", "-g")
        before = self.ask.fds()
        many = [self.program(app) for _ in range(20)]
        for p in many:
            self.assertEqual(self.ask.hold(p.pid), 0)
        shared = self.ask.fds() - before
        # The program, the C library, the loader, the vdso is none.
        self.assertLessEqual(shared, 4)
        for i in range(300):
            out = os.path.join(self.dir, "copy%d" % i)
            shutil.copy(app, out)
            p = self.program(out)
            self.assertEqual(self.ask.hold(p.pid), 0)
            p.end()
            os.unlink(out)
        self.assertLessEqual(self.ask.fds() - before, 192)
        self.check(many[0], "kw.c")

    def test_memory(self):
        """Looking into a program of megabytes, and giving that memory back"""
        if harness.SANITIZED:
            self.skipTest("sanitizers take memory of their own")
        out = os.path.join(self.dir, "app")
        self.run_tool("rustc", "-g", "-o", out, os.path.join(PROG, "rs.rs"))
        self.assertGreater(os.path.getsize(out), 2 << 20)
        p = self.program(out)
        before = self.ask.rss_kib()
        self.check(p, "rs.rs")
        self.ask.trim()
        # An index of its variables and the maps stay; of the file itself nothing does.
        self.assertLess(self.ask.rss_kib() - before, 2048)
        self.assertLess(self.ask.rss_kib("VmHWM"), 20 << 10)


class DebugServer:
    """Speaks as much of debuginfod's protocol as it takes: GET /buildid/ID/debuginfo."""

    def __init__(self, test, build_id, path):
        self.asked = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                known = self.path == "/buildid/%s/debuginfo" % build_id
                self.send_response(200 if known else 404)
                body = b""
                if known:
                    with open(path, "rb") as f:
                        body = f.read()
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=self.http.serve_forever)
        thread.start()
        test.addCleanup(self.http.server_close)
        test.addCleanup(thread.join)
        test.addCleanup(self.http.shutdown)
        self.url = "http://127.0.0.1:%d" % self.http.server_port


class Debuginfod(NamesTest):
    def test_debuginfod(self):
        """DWARF from a server: only if asked for, and only with the right build-id"""
        app = self.build("kw.c", "-g")
        debug = os.path.join(self.dir, "served")
        self.run_tool("objcopy", "--only-keep-debug", app, debug)
        build_id = build_id_of(app)
        self.run_tool("strip", app)
        server = DebugServer(self, build_id, debug)
        env = dict(
            os.environ,
            DEBUGINFOD_URLS=server.url,
            DEBUGINFOD_CACHE_PATH=os.path.join(self.dir, "cache"),
        )
        p = self.program(app)
        self.ask = Ask(self, env=env)
        self.check_regions(p, p.base("/app$"))
        self.assertEqual(server.asked, [])

        self.ask = Ask(self, "--debuginfod", env=env)
        self.check(p, "kw.c")
        self.assertIn("/buildid/%s/debuginfo" % build_id, server.asked)

        shutil.copy(ASK, debug)
        shutil.rmtree(env["DEBUGINFOD_CACHE_PATH"])
        self.ask = Ask(self, "--debuginfod", env=env)
        self.check_regions(p, p.base("/app$"))

    def test_refused(self):
        """--debuginfod without servers is an error"""
        env = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
        done = subprocess.run(
            [ASK, "--debuginfod"], capture_output=True, text=True, env=env, check=False
        )
        self.assertEqual(done.returncode, 1)
        self.assertIn("DEBUGINFOD_URLS is not set", done.stderr)


class Jit(NamesTest):
    def test_jit(self):
        """Code without a file: /tmp/perf-PID.map of the process's own, not of anybody's"""
        p = self.program(self.build("jit.c"))
        addr = p.at("jit")
        where = ("region", "[jit]+0x40", "from 0x%x" % addr)
        self.assertEqual(self.ask.code(p.pid, addr + 0x40), where)
        path = "/tmp/perf-%d.map" % p.pid
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        with open(path, "w", encoding="ascii") as f:
            f.write("%x 20 old code\n%x 20 Lcom/Foo;::bar\nnonsense\n" % (addr + 48, addr + 48))
            f.write("%x 10 other\n%x 100 cut" % (addr, addr))
        self.assertEqual(
            self.ask.code(p.pid, addr + 0x40), ("object", "[jit]`Lcom/Foo;::bar+0x10", "")
        )
        self.assertEqual(self.ask.code(p.pid, addr), ("object", "[jit]`other", ""))
        self.assertEqual(
            self.ask.code(p.pid, addr + 0x60), ("region", "[jit]+0x60", "from 0x%x" % addr)
        )
        os.chown(path, 12345, 12345)
        self.assertEqual(self.ask.code(p.pid, addr + 0x40), where)


class Languages(NamesTest):
    def check_waits(self, program, want, parked=None):
        """The words that threads wait on are named as the locks their programmer declared. Who waits for `parked` waits on
        a word of its own thread's, on the heap."""
        got = [self.ask.data(program.pid, a)[1] for a in program.futexes(len(want))]
        if parked:
            got = [re.sub(r"^\[heap\]\+0x[0-9a-f]+$", parked, text) for text in got]
        # Which word of a condition variable is waited on is the C library's to choose.
        got = [re.sub(r"\.cond\+0x[0-9a-f]+$", ".cond", text) for text in got]
        self.assertEqual(sorted(got), sorted(want))

    def test_cpp(self):
        """C++: namespaces, templates, bases, locks of std"""
        for cc, flags in (("g++", []), ("g++", ["-O2", "-gdwarf-4"]), ("clang++", [])):
            if not shutil.which(cc):
                self.skipTest("no " + cc)
            p = self.program(self.build("cpp.cc", "-g", "-std=c++17", *flags, cc=cc))
            self.check(p, "cpp.cc")
            self.check_waits(
                p, ["app`shop::stock.lock", "app`shop::(anonymous namespace)::tills[1].guard"]
                + ["app`shop::stock.cond"],
            )
            # Where a virtual base lies is not in its type.
            own, base = (int(v, 16) for v in p.other["virtual"])
            start = p.at("shape")
            for addr in (own, base):
                self.assertEqual(
                    self.ask.data(p.pid, addr)[:2], ("object", "app`shape+0x%x" % (addr - start))
                )

    def test_cpp_symbols(self):
        """C++ without DWARF: demangled symbols"""
        self.check_symbols(self.program(self.build("cpp.cc", cc="g++")))

    def test_rust(self):
        """Rust: statics, tuples, enums, locks of std"""
        if not shutil.which("rustc"):
            self.skipTest("no rustc")
        # std::sync::Once has a futex of its own since Rust 1.66 (rust-lang/rust 99505); before, threads park.
        version = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout
        parks = tuple(map(int, re.findall(r"\d+", version)[:2])) < (1, 66)
        for flags in (["-g"], ["-g", "-O"], ["-g", "-Csymbol-mangling-version=v0"]):
            out = os.path.join(self.dir, "app")
            self.run_tool("rustc", *flags, "-o", out, os.path.join(PROG, "rs.rs"))
            p = self.program(out)
            self.check(p, "rs.rs")
            self.check_waits(
                p, ["app`rs::shop::TABLE" + m for m in (".lock", ".readers", ".signal")]
                + ["app`rs::ALONE", "app`rs::ONCE"],
                parked="app`rs::ONCE" if parks else None,
            )
            # Which variant an enum holds is not in its type.
            addr = p.at("choice") + 8
            place = "rs.rs:" + p.other["choice"][1]
            self.assertEqual(
                self.ask.data(p.pid, addr), ("object", "app`rs::CHOICE+0x8", place)
            )


class Lines(NamesTest):
    """Functions and lines of code, as addr2line -fi has them."""

    def code_of(self, path, wanted):
        """Instructions of functions whose symbol has one of the words: where, and where calls among them return to."""
        found, inside = {}, False
        done = subprocess.run(["objdump", "-d", path], capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            head = re.match(r"^[0-9a-f]+ <(.*)>:$", line)
            insn = re.match(r"^ +([0-9a-f]+):\t([0-9a-f ]+)\t(.*)", line)
            if head:
                inside = any(word in head.group(1) for word in wanted)
            if not insn or not inside or re.search(r"nop|xchg +%ax,%ax|int3", insn.group(3)):
                continue
            at, size = int(insn.group(1), 16), len(insn.group(2).replace(" ", "")) // 2
            found[at] = at + size if re.match(r"call|blr? ", insn.group(3)) else None
        return found

    def addr2line(self, tool, path, addrs):
        """For each address its functions and lines, the innermost first, as one of the tools of that name says."""
        done = subprocess.run([tool, "-a", "-f", "-i", "-e", path], input="".join("0x%x\n" % a for a in addrs),
                              capture_output=True, text=True, check=True)
        out, lines, names = {}, iter(filter(None, done.stdout.splitlines())), []
        for line in lines:
            if line.startswith("0x"):
                at = out.setdefault(int(line, 16), [])
                continue
            names.append(line)
            at.append((line, re.sub(r" \(discriminator \d+\)", "", os.path.basename(next(lines)))))
        plain = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True)
        plain = {n: re.sub(r"::h[0-9a-f]{16}$|\[[0-9a-f]{16}\]", "", t) for n, t in zip(names, plain.stdout.splitlines())}
        return {a: [(plain[f], "" if re.search(r":[?0]$", p) else p) for f, p in frames] for a, frames in out.items()}

    @staticmethod
    def same_frames(frames, want):
        """Ours say the scope of functions that are not mangled, and are cut where they are long."""
        return [p for _, p in frames] == [p for _, p in want] and all(
            f == w or f.endswith("::" + w) or (len(f) >= 100 and (w.startswith(f) or w.split("<")[0] in f))
            for (f, _), (w, _) in zip(frames, want))

    def frames_of(self, question, pid, addr):
        """Functions and lines; of the one that has the symbol, which is last, the offset is apart."""
        got = [f.split("\t") for f in self.ask.line("%s %d %x", question, pid, addr).split("\t<\t")]
        frames = [(re.sub(r"^[^`]*`", "", f[-2]), f[-1]) for f in got]
        inner = [(text.split(" inlined in ")[0], place) for text, place in frames[:-1]]
        outer, offset = re.match(r"^(.*?)(\+0?x?[0-9a-f]*)?$", frames[-1][0]).groups()
        return inner + [(outer, frames[-1][1])], offset

    def check_code(self, path, wanted, split=False):
        """How many sites there were, and in how many of them functions are inlined, and calls. split: what is inlined is
        described in a .dwo file, where we do not look: the function that has the symbol, and the line of the instruction."""
        p = self.program(path)
        with open(path, "rb") as f:
            pie = f.read(18)[16] == 3  # ET_DYN
        bias = p.base("/%s$" % os.path.basename(path)) if pie else 0
        insns = self.code_of(path, wanted)
        want, inlined = self.addr2line("addr2line", path, insns), 0
        # Where lists of ranges are given by an index (clang, DWARF 5) binutils misses the functions that are inlined there, and of
        # what g++ makes with DWARF 5 it takes some files for the first one.
        second = self.addr2line("llvm-addr2line", path, insns) if shutil.which("llvm-addr2line") else {}
        if split:
            second = {a: [(frames[-1][0], frames[0][1])] for a, frames in second.items()}
        for a, back in insns.items():
            frames, offset = self.frames_of("frames", p.pid, a + bias)
            if not self.same_frames(frames, want[a]):
                self.assertTrue(self.same_frames(frames, second.get(a, frames)),
                                "%x: %s, where addr2line says %s and LLVM's %s" % (a, frames, want[a], second.get(a)))
            inlined += len(frames) > 1
            if back is None:
                continue
            # The same line for the call, seen from where it returns to: that may be another line, or function.
            called, after = self.frames_of("calls", p.pid, back + bias)
            self.assertEqual(called, frames, "the call at %x" % a)
            if offset and after and len(after) > 3:
                self.assertEqual(int(after, 16) - int(offset, 16), back - a)
        self.assertGreaterEqual(len(insns), 30)
        p.end()
        return len(insns), inlined, sum(back is not None for back in insns.values())

    def check_all(self, source, builds, wanted, name):
        for i, (cc, flags) in enumerate(builds):
            if not shutil.which(cc):
                continue
            with self.subTest(cc=cc, flags=flags):
                path = os.path.join(self.dir, "%s%d" % (name, i))
                if cc == "rustc":
                    self.run_tool(cc, *flags, "-o", path, os.path.join(PROG, source))
                else:
                    self.run_tool(cc, "-o", path, os.path.join(PROG, source), "-pthread", *flags)
                split = "-gsplit-dwarf" in flags
                sites, inlined, calls = self.check_code(path, wanted, split)
                print("# %s %s: %d sites, %d of them in inlined functions, %d calls" % (cc, " ".join(flags), sites, inlined, calls))
                self.assertEqual(inlined > 0, not split)
                self.assertGreater(calls, 0)

    def test_c(self):
        """lines of C: gcc and clang, -O0 to -O3, DWARF 4 and 5, PIE and not"""
        builds = [(cc, ["-g", "-gdwarf-%d" % v, o, *pie]) for cc in ("gcc", "clang")
                  for o in ("-O0", "-O1", "-O2", "-O3") for v, pie in ((4, ["-no-pie", "-fno-pie"]), (5, ["-pie", "-fPIE"]))]
        self.check_all("code.c", builds, ("work", "main", "give_up", "leave"), "code")

    def test_split(self):
        """lines of C and C++ with split DWARF"""
        os.chdir(self.dir)  # where clang puts its .dwo files
        for source, wanted in (("code.c", ("work", "main", "give_up", "leave")), ("code.cc", ("shop", "main"))):
            builds = [(cc, ["-gdwarf-%d" % v, o, "-gsplit-dwarf"]) for o in ("-O0", "-O2")
                      for cc in (("gcc", "clang") if source == "code.c" else ("g++", "clang++")) for v in (4, 5)]
            self.check_all(source, builds, wanted, "split")

    def test_cpp(self):
        """lines of C++: libraries, lambdas, templates"""
        builds = [(cc, ["-gdwarf-%d" % v, o, *pie]) for cc in ("g++", "clang++") for o in ("-O0", "-O1", "-O2", "-O3")
                  for v, pie in ((4, ["-no-pie", "-fno-pie"]), (5, ["-pie", "-fPIE"]))]
        self.check_all("code.cc", builds, ("shop", "main"), "code")

    def test_rust(self):
        """lines of Rust: closures, generics"""
        builds = [("rustc", ["-g", "-Copt-level=%d" % o, "-Cdebuginfo=2", *more]) for o in range(4)
                  for more in (["-Crelocation-model=static"], ["-Csymbol-mangling-version=v0"])]
        self.check_all("code.rs", builds, ("shop", "4code4main", "begin_short_backtrace"), "code")


if __name__ == "__main__":
    harness.main()
