# SPDX-License-Identifier: GPL-2.0-or-later
"""screen.py COLUMNS LINES SECONDS KEYS COMMAND [ARG...]: what a terminal shows when the command has ended, or when the
seconds are over, as PyPI's pyte has it; KEYS are typed one by one, whenever it is at rest. JSON: rows of [text, colour,
bold, reverse].
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

import pyte

columns, lines, seconds, keys = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
screen = pyte.Screen(columns, lines)
stream = pyte.ByteStream(screen)
pid, terminal = pty.fork()
if not pid:
    time.sleep(0.2)  # until the terminal has its size
    os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
    os.execvp(sys.argv[5], sys.argv[5:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
end = time.monotonic() + seconds
while time.monotonic() < end:
    if not select.select([terminal], [], [], 0.5)[0]:
        if keys:  # it is at rest: the next one
            os.write(terminal, keys[0].encode())
            keys = keys[1:]
        continue
    try:
        # pyte knows no faint text; grey is what it looks like
        stream.feed(os.read(terminal, 65536).replace(b"\x1b[2m", b"\x1b[90m"))
    except OSError:  # it has ended
        break
else:
    os.kill(pid, signal.SIGTERM)
rows = []
for y in range(lines):
    row = []
    for x in range(columns):
        c = screen.buffer[y][x]
        style = [c.fg, c.bold, c.reverse]
        if row and row[-1][1:] == style:
            row[-1][0] += c.data
        else:
            row.append([c.data, *style])
    rows.append(row)
json.dump(rows, sys.stdout)
os.close(terminal)
os.waitpid(pid, 0)
