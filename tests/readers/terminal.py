# SPDX-License-Identifier: GPL-2.0-or-later
"""waitscope on a pseudo-terminal, whose screen PyPI pyte keeps."""
import fcntl
import glob
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import others
from others import Skip

PATIENCE_S = 60  # on a busy machine; what is waited for comes within a second on a quiet one
LEFT = b"\x1b[?1049l"  # the terminal is given back


def pyte():
    python = others.python_with("pyte", "pyte")
    if not python:
        raise Skip("no pyte from PyPI")
    for path in glob.glob(os.path.join(os.path.dirname(os.path.dirname(python)), "lib", "python3*", "site-packages")):
        if path not in sys.path:
            sys.path.append(path)
    return __import__("pyte")


# ---- what drawing costs ----

def cpu_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[0])


CALIBRATED_NS = 29_000_000  # what calibrate() takes on a Xeon at 2.5 GHz


def calibrate():
    """How much slower this machine is now than the one that the limits are of: 1 if it is faster."""
    best = None
    for _ in range(5):
        before, text = time.process_time_ns(), {}
        for i in range(40_000):
            text[str(i)] = f"{i / 7:.1f}"
        took = time.process_time_ns() - before
        best = min(best or took, took)
    return max(1.0, best / CALIBRATED_NS)


class Terminal:
    """A command on a terminal of its own; ends with the block."""

    def __init__(self, *command, lines=24, columns=80, env=None, cwd=None):
        module = pyte()
        self.screen = module.Screen(columns, lines)
        self.stream = module.ByteStream(self.screen)
        self.raw = b""
        self.status = None
        told, tell = os.pipe()  # closed at the exec
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                os.read(told, 1)  # what the terminal was like before is known
                self.set_size(lines, columns, 0)
                if cwd:
                    os.chdir(cwd)
                clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LANG", "LC_CTYPE")}
                clean.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
                clean.update({k: v for k, v in (env or {}).items() if v is not None})
                for name, value in (env or {}).items():
                    if value is None:
                        clean.pop(name, None)
                # A terminal's shell ignores none. The tests' runner is a job of a shell that ignores these two, and
                # timeout passes that on (of coreutils 9.10; not of 9.7).
                for ignored in (signal.SIGINT, signal.SIGQUIT):
                    signal.signal(ignored, signal.SIG_DFL)
                os.execvpe(command[0], command, clean)
            finally:
                os._exit(127)
        self.modes = termios.tcgetattr(self.fd)
        os.write(tell, b".")
        os.close(tell)
        os.close(told)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def set_size(self, lines, columns, fd=None):
        fcntl.ioctl(self.fd if fd is None else fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, lines, columns):
        self.screen.resize(lines, columns)
        self.set_size(lines, columns)

    def read(self, seconds):
        """What comes within that time; False: it has ended."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.raw += data
        # pyte takes the private parameters of a few sequences for other ones.
        self.stream.feed(data)
        return bool(data)

    def settle(self, seconds=0.3):
        """Until nothing has come for a while; a run that goes on is not waited for."""
        end = time.monotonic() + 1 + seconds
        while time.monotonic() < end:
            before = len(self.raw)
            if not self.read(seconds) or len(self.raw) == before:
                return

    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def await_(self, what):
        """Until a text, or what a function of the screen's text finds, is there; which it returns."""
        test = what if callable(what) else lambda text: what in text
        end = time.monotonic() + PATIENCE_S
        more = True
        while time.monotonic() < end:
            found = test(self.text())
            if found or not more:
                break
            more = self.read(0.2)
        assert found, f"{what!r} is not on the screen:\n{self.text()}"
        self.drawn()
        return found

    def drawn(self):
        """A screen comes in several pieces: until the program sleeps, and nothing that it wrote is left to be read."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                with open(f"/proc/{self.pid}/stat", encoding="utf-8", errors="replace") as f:
                    sleeps = f.read().rpartition(") ")[2][0] not in "RD"
            except OSError:
                return
            if select.select([self.fd], [], [], 0)[0]:
                if not self.read(0):
                    return
            elif sleeps:
                return
            else:
                time.sleep(0.002)

    def keys(self, text):
        os.write(self.fd, text.encode())

    def press(self, text, what):
        self.keys(text)
        return self.await_(what)

    def line(self, what):
        return next((one for one in self.screen.display if what in one), None)

    def wait(self):
        """Its end: what it exited with, negative: the signal."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            alive = self.read(0.2)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.1) and select.select([self.fd], [], [], 0.1)[0]:
                    pass
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
            if not alive:
                time.sleep(0.05)
        raise AssertionError("it does not end:\n" + self.text())

    def restored(self):
        """Is the terminal what it was before?"""
        modes = termios.tcgetattr(self.fd)
        assert modes[:4] == self.modes[:4], "the terminal's modes are others than before"
        assert self.raw.rfind(LEFT) > self.raw.rfind(b"\x1b[?1049h") >= 0, "the screen was not given back"
        mouse = re.findall(rb"\x1b\[\?(?:1006;)?1000([hl])", self.raw)
        assert mouse and mouse[-1] == b"l", "the mouse was not given back"
        assert self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l"), "the cursor was not given back"
        return self.raw[self.raw.rfind(LEFT) + len(LEFT):].decode(errors="replace")
