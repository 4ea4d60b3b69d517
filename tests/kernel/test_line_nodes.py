#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""NUMA nodes of a line's CPUs, on a machine that is made to have two: a directory bound over sysfs's nodes in
a mount namespace of our own.
"""
import os
import shutil
import subprocess
import tempfile

import harness
from test_line import LineTest, lines_of

NODES = "/sys/devices/system/node"


class LineNodes(LineTest):
    def two_nodes(self):
        """A prefix for the tool: the first CPU is in node 0, all others are in node 3."""
        top = tempfile.mkdtemp(prefix="ws-nodes-")
        self.addCleanup(shutil.rmtree, top, ignore_errors=True)
        for node, cpus in (("node0", "0"), ("node3", "1-%d" % (os.cpu_count() - 1))):
            os.mkdir(os.path.join(top, node))
            with open(os.path.join(top, node, "cpulist"), "w") as f:
                f.write(cpus + "\n")
        prefix = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" %s && exec "$@"' % NODES, top]
        if not os.path.isdir(NODES) or subprocess.run(
            prefix + ["true"], stderr=subprocess.DEVNULL
        ).returncode:
            self.skipTest("no private mounts, or no %s" % NODES)
        return prefix

    def row(self, **how):
        said, report = self.watch("plain", **how)
        return lines_of(report.final, said["pid"])[int(said["lines"][0], 16) & ~63]

    def test_two(self):
        """the nodes of the CPUs; that of the memory is not known by the clock: null"""
        row = self.row(prefix=self.two_nodes())
        self.assertEqual(row["nodes"], sorted({0 if c == 0 else 3 for c in row["cpus"]}))
        self.assertGreaterEqual(len(row["nodes"]), 1)
        self.assertIsNone(row["memory_node"])

    def test_one(self):
        """a machine with one node: no word of nodes"""
        if any(name != "node0" for name in os.listdir(NODES) if name[4:].isdigit()):
            self.skipTest("more than one node")
        row = self.row()
        self.assertNotIn("nodes", row)
        self.assertNotIn("memory_node", row)


if __name__ == "__main__":
    harness.main()
