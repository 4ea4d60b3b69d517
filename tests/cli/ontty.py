#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ontty.py COLUMNS LINES COMMAND...: what its first screen on such a terminal is, or all, of what has no screens; without colours."""
import fcntl
import os
import pty
import re
import struct
import sys
import termios

columns, lines = int(sys.argv[1]), int(sys.argv[2])
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[3], sys.argv[3:])
written = b""
while True:
    try:
        more = os.read(fd, 65536)
    except OSError:  # the other end is closed
        break
    if not more:
        break
    written += more
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
screens = written.decode(errors="replace").replace("\r", "").split("\x1b[H")
screen = screens[1].split("\x1b[J")[0] if len(screens) > 1 else screens[0]
print(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen), end="")
sys.exit(status)
