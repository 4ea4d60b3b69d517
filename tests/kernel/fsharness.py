# SPDX-License-Identifier: GPL-2.0-or-later
"""Private file systems for tests, and what the kernel itself counts of them."""
import os
import re
import shutil
import subprocess
import tempfile
import time

from harness import undisturbed


def can_mount(fstype):
    """Does this kernel have the file system, and this machine the program that makes one?"""
    with open("/proc/filesystems") as f:
        known = fstype in f.read().split()
    return known and shutil.which("mkfs." + fstype) is not None


def run(*command):
    subprocess.run(
        [str(c) for c in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def in_memory(size):
    """A directory whose files are in memory, with room for some of `size` bytes; None where there is none. Beside a
    load on the disk, that disk's queue would be most of a test's time."""
    try:
        st = os.statvfs("/dev/shm")
    except OSError:
        return None
    room = st.f_bavail * st.f_frsize
    return "/dev/shm" if os.path.ismount("/dev/shm") and room >= 8 * size else None


class LoopFs:
    """A file system in a file, mounted on a private directory; gone when the test ends. The file lies in `where`."""

    MIN_MB = {"xfs": 320, "btrfs": 128}

    def __init__(self, test, fstype="ext4", size_mb=256, mkfs=(), options=(), where=None):
        if not can_mount(fstype):
            test.skipTest("no %s here: kernel or mkfs lacks it" % fstype)
        self.fstype = fstype
        size = max(size_mb, self.MIN_MB.get(fstype, 0)) << 20
        with undisturbed():
            self.dir = tempfile.mkdtemp(prefix="ws-fs-", dir=where or in_memory(size))
            test.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.image = os.path.join(self.dir, "image")
        self.path = os.path.join(self.dir, "mnt")
        os.mkdir(self.path)
        with open(self.image, "wb") as f:
            f.truncate(size)
        run("mkfs." + fstype, *self.quiet(), *mkfs, self.image)
        self.mounted = []
        test.addCleanup(self.umount)
        self.mount(self.image, self.path, "-o", ",".join(("loop",) + tuple(options)))
        self.device = self.find_device()

    def quiet(self):
        """Nothing may write to it later by itself."""
        if self.fstype == "ext4":
            return ("-q", "-F", "-b", 4096, "-E", "lazy_itable_init=0,lazy_journal_init=0")
        return ("-q",)

    def mount(self, what, where, *options):
        with undisturbed():
            run("mount", *options, what, where)
            self.mounted.append(where)

    def find_device(self):
        """"/dev/loop3"."""
        with open("/proc/self/mountinfo") as f:
            for line in f:
                fields = line.split()
                if fields[4] == self.path:
                    return fields[fields.index("-") + 2]
        raise AssertionError("%s is not mounted" % self.path)

    @property
    def dev(self):
        """"7:3", as labels have it."""
        st = os.stat(self.path)
        return "%d:%d" % (os.major(st.st_dev), os.minor(st.st_dev))

    @property
    def kernel_dev(self):
        """The kernel's own dev_t."""
        st = os.stat(self.path)
        return os.major(st.st_dev) << 20 | os.minor(st.st_dev)

    @property
    def name(self):
        """"loop3"."""
        return os.path.basename(self.device)

    def file(self, name):
        return os.path.join(self.path, name)

    def sync(self):
        run("sync", "-f", self.path)

    def umount(self):
        """What is mounted of it, the last first; files in it may be closed a moment later."""
        while self.mounted:
            where = self.mounted[-1]
            for _ in range(100):
                if subprocess.run(["umount", where], stderr=subprocess.DEVNULL).returncode == 0:
                    break
                time.sleep(0.05)
            else:
                run("umount", "--lazy", where)
            self.mounted.pop()

    # ---- the kernel's own counts (ext4) ----

    def es_counters(self):
        """(hits, misses) of the extent status cache, from /proc/fs/ext4/DEV/es_shrinker_info.

        Reading it walks all inodes under a lock: for tests on small file systems only.
        """
        with open("/proc/fs/ext4/%s/es_shrinker_info" % self.name) as f:
            hits, misses = re.search(r"(\d+)/(\d+) cache hits/misses", f.read()).groups()
        return int(hits), int(misses)

    def transactions(self):
        """Transactions that jbd2 has committed since the mount, from /proc/fs/jbd2/DEV-8/info."""
        with open("/proc/fs/jbd2/%s-8/info" % self.name) as f:
            return int(re.match(r"(\d+) transactions", f.read()).group(1))
