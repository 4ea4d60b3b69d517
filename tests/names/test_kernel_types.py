# SPDX-License-Identifier: GPL-2.0-or-later
"""Members at every byte of real structs, held against bpftool's dump of the same types.

The reference knows nothing of locks or of which member to choose: it lists, for each byte, all paths
down to the smallest member. A name must be one of them or lead to one; where no name is given, there
must be a reason.
"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernel"))
import harness  # noqa: E402

VMLINUX = "/sys/kernel/btf/vmlinux"
WALK = os.path.join(harness.BUILD, "tests", "names", "kernel_walk")
TYPES = (
    "ext4_inode_info ext4_sb_info super_block inode address_space mm_struct task_struct signal_struct "
    "sighand_struct files_struct file dentry rq cfs_rq page folio slab kmem_cache mutex rw_semaphore "
    "percpu_rw_semaphore sk_buff tcp_sock pipe_inode_info buffer_head request_queue zone lruvec"
).split()
NONE, PLAIN = 0, 1


class Types:
    """bpftool's dump, by id."""

    def __init__(self):
        text = subprocess.run(
            ["bpftool", "-j", "btf", "dump", "file", VMLINUX], check=True, stdout=subprocess.PIPE
        ).stdout
        self.all = {t["id"]: t for t in json.loads(text)["types"]}
        self.structs = {}
        for t in self.all.values():
            if t["kind"] == "STRUCT":
                self.structs.setdefault(t["name"], t)

    def strip(self, type_id):
        t = self.all.get(type_id)
        while t and t["kind"] in ("TYPEDEF", "CONST", "VOLATILE", "RESTRICT", "TYPE_TAG"):
            t = self.all.get(t["type_id"])
        return t

    def size(self, t):
        if not t:
            return 0
        if t["kind"] == "ARRAY":
            return t["nr_elems"] * self.size(self.strip(t["type_id"]))
        return 8 if t["kind"] == "PTR" else t.get("size", 0)

    def leaves(self, t, at):
        """Names of the smallest members at byte `at`, one for each way to it; None is padding."""
        if t["kind"] == "ARRAY":
            elem = self.strip(t["type_id"])
            return self.leaves(elem, at % self.size(elem)) if self.size(elem) else [None]
        if t["kind"] not in ("STRUCT", "UNION"):
            return [t.get("name", t["kind"])]
        found = []
        for m in t["members"]:
            first = m["bits_offset"] // 8
            inner = self.strip(m["type_id"])
            bits = m.get("bitfield_size", 0)
            end = (m["bits_offset"] + bits + 7) // 8 if bits else first + self.size(inner)
            if first <= at < end:
                found += self.leaves(inner, at - first)
        return found or [None]

    def paths(self, t, at, path=""):
        """All (path, first byte, last byte + 1) that say something of byte `at`, outer ones too."""
        if t["kind"] == "ARRAY":
            elem = self.strip(t["type_id"])
            size = self.size(elem)
            if not size:
                return
            index, inside = divmod(at, size)
            name = "%s[%d]" % (path, index)
            yield name, inside
            yield from self.paths(elem, inside, name)
        elif t["kind"] in ("STRUCT", "UNION"):
            for m in t["members"]:
                first = m["bits_offset"] // 8
                inner = self.strip(m["type_id"])
                size = self.size(inner)
                bits = m.get("bitfield_size", 0)
                end = (m["bits_offset"] + bits + 7) // 8 if bits else first + size
                if not first <= at < end or not size:
                    continue
                if m["name"] == "(anon)":
                    yield from self.paths(inner, at - first, path)
                else:
                    name = (path + "." if path else "") + m["name"]
                    yield name, at - first
                    yield from self.paths(inner, at - first, name)


class Walks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.types = Types()
        cls.known = [t for t in TYPES if t in cls.types.structs]
        text = subprocess.run(
            [WALK, VMLINUX] + cls.known, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        cls.rows = [line.split(" ", 4) for line in text.splitlines()]

    def test_every_name_is_true(self):
        named = 0
        for name, at, kind, rest, path in self.rows:
            paths = dict(self.types.paths(self.types.structs[name], int(at)))
            if path:
                self.assertIn(path, paths, "%s+%s" % (name, at))
            if path and int(kind) == NONE:
                self.assertEqual(paths[path], int(rest), "%s+%s %s" % (name, at, path))
            if int(kind) == NONE and not path:
                self.assertEqual(int(rest), int(at), name)
            named += int(kind) != NONE
        self.assertGreater(named, len(self.rows) // 2)

    def test_no_name_has_a_reason(self):
        """Padding, several bit fields in a byte, or a union: never a byte with one plain member."""
        for name, at, kind, _, path in self.rows:
            if int(kind) != NONE:
                continue
            leaves = self.types.leaves(self.types.structs[name], int(at))
            where = "%s+%s '%s': %s" % (name, at, path, leaves)
            self.assertTrue(len(leaves) > 1 or leaves == [None], where)

    def test_plain_names_go_all_the_way(self):
        """Nothing below a plain member, and no other member beside it."""
        for name, at, kind, _, path in self.rows:
            if int(kind) != PLAIN:
                continue
            paths = [p for p, _ in self.types.paths(self.types.structs[name], int(at))]
            below = [p for p in paths if p.startswith((path + ".", path + "["))]
            self.assertEqual(below, [], "%s+%s %s" % (name, at, path))
            others = [p for p in paths if not path.startswith(p)]
            self.assertEqual(others, [], "%s+%s %s" % (name, at, path))

    def test_enough_types(self):
        self.assertGreater(len(self.known), 20)


if __name__ == "__main__":
    harness.main()
