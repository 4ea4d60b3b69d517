# SPDX-License-Identifier: GPL-2.0-or-later
"""A private ext4 for the loads that need one: in a file, through a loop device, gone at the end."""
import contextlib
import os
import sys

from sides import Failed

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "kernel"))
import fsharness  # pylint: disable=wrong-import-position


class Place:
    """What fsharness wants of a test, and the file system as `fs`."""

    def __init__(self):
        self.stack = contextlib.ExitStack()
        self.fs = None

    def addCleanup(self, fn, *args, **kwargs):  # pylint: disable=invalid-name
        self.stack.callback(fn, *args, **kwargs)

    @staticmethod
    def skipTest(why):  # pylint: disable=invalid-name
        raise Failed(why)

    def __enter__(self):
        try:
            self.fs = fsharness.LoopFs(self)
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *exc):
        self.stack.close()

    def file(self, name):
        return self.fs.file(name)
