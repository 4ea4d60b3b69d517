#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's own lines, by the CPU clock: two threads whose system calls meet at one inode, one
directory, one descriptor, one path. The row that names the member they meet at appears.

What is sampled depends on how much the load ran: a load whose threads had little of their CPUs, or that did
not show its line, is run again; skipped only if it never had any CPU.
"""
import harness
from fsharness import LoopFs
from harness import KernelTest

SECONDS = 3
TRIES = 4
CPU_SHARE = 0.15  # of a CPU, for each of the load's threads


def kernel_lines(report):
    return [r for r in report.final["tables"].get("contended", [])
            if r["source"] == "line" and r["pid"] is None or r["pid"] == 0]


def members(row):
    """What the row names: where its line is touched most, and everywhere else."""
    return {row["name"]} | {o["name"] for o in row["offsets"] if o["name"]}


class KernelLines(KernelTest):
    def setUp(self):
        super().setUp()
        self.two_cpus()
        self.fs = LoopFs(self)

    def once(self, mode):
        """(the rows with threads of the load, did its threads have their CPUs?)"""
        load = self.load("klines", mode, self.fs.path, SECONDS)
        pid = load.line()["pid"]
        tool = self.tool("-s", "line", "--line-source", "clock", "-p", pid, "--freq", "1999", "-d", SECONDS)
        tool.ready()
        load.go()
        (end,) = load.end()
        rows = [r for r in kernel_lines(tool.end()) if len({t["tid"] for t in r["tids"]}) >= 2]
        return rows, min(end["cpu_ns"]) >= CPU_SHARE * SECONDS * 1e9

    def meet(self, mode, *wanted):
        """A row with one of these members."""
        ran, seen = False, set()
        for _ in range(TRIES):
            rows, enough = self.once(mode)
            ran |= enough
            for row in rows:
                seen |= members(row)
                if any(w in name for w in wanted for name in members(row)) and row["cores"] == 2:
                    self.assertGreater(row["writes"], 0)
                    return
        if not ran:
            self.skipTest("the load had too little of the CPUs")
        self.fail("none of %s among %s" % (wanted, sorted(seen)))

    def test_two_writers(self):
        """two writers of one ext4 file meet at its inode's i_rwsem"""
        self.meet("pwrite", "ext4_inode_info.vfs_inode.i_rwsem")

    def test_one_directory(self):
        """create and unlink in one directory: its i_rwsem"""
        self.meet("create", "ext4_inode_info.vfs_inode.i_rwsem")

    def test_descriptors(self):
        """dup and close of one descriptor: the file's count, or the lock of the table of files"""
        self.meet("dup", "file.f_ref", "file.f_count", "files_struct.file_lock")

    def test_one_path(self):
        """stat of one file: its dentry's d_lockref"""
        self.meet("stat", "dentry.d_lockref")


if __name__ == "__main__":
    harness.main()
