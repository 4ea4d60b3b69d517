#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ext4's own locks in the contended table: named by member, at the offsets that BTF has."""
import collections
import json
import os
import re
import subprocess

import fsharness
import harness
from harness import KernelTest

LINE = 64


class Btf:
    """Where members lie, by bpftool's dump: no code of ours."""

    def __init__(self):
        module = "/sys/kernel/btf/ext4"
        command = ["bpftool", "-j", "btf", "dump", "file"]
        if os.path.exists(module):
            command += [module, "--base-btf", "/sys/kernel/btf/vmlinux"]
        else:
            command += ["/sys/kernel/btf/vmlinux"]
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
        self.types = {t["id"]: t for t in json.loads(text)["types"]}
        if os.path.exists(module):
            base = subprocess.run(command[:5] + ["/sys/kernel/btf/vmlinux"], check=True,
                                  stdout=subprocess.PIPE).stdout
            for t in json.loads(base)["types"]:
                self.types.setdefault(t["id"], t)

    def bare(self, type_id):
        t = self.types[type_id]
        while t["kind"] in ("TYPEDEF", "CONST", "VOLATILE"):
            t = self.types[t["type_id"]]
        return t

    def members(self, t):
        """(name, byte offset, type id), those of anonymous members as its own."""
        for m in t.get("members", ()):
            at = m["bits_offset"] // 8
            if m["name"] not in ("", "(anon)"):
                yield m["name"], at, m["type_id"]
                continue
            for name, inner, type_id in self.members(self.bare(m["type_id"])):
                yield name, at + inner, type_id

    def offset(self, path):
        """Bytes into the object, of "type.member.member"."""
        name, *rest = path.split(".")
        t = next(t for t in self.types.values() if t["kind"] == "STRUCT" and t["name"] == name)
        at = 0
        for step in rest:
            found = [(o, i) for n, o, i in self.members(t) if n == step]
            if not found:
                raise AssertionError("%s: no member %s" % (path, step))
            at += found[0][0]
            t = self.bare(found[0][1])
        return at


class Ext4Locks(KernelTest):
    @classmethod
    def setUpClass(cls):
        cls.btf = Btf()

    def rows(self, frame, object_type):
        return [c for c in frame["tables"]["contended"]
                if (c["name"] or "").startswith(object_type + ".")]

    def base(self, row):
        """The address of the object that the row's lock is in, by its name and BTF."""
        return int(row["addr"], 16) - self.btf.offset(row["name"])

    def check_line(self, row):
        line, base = row["line"], self.base(row)
        start = int(line["addr"], 16)
        self.assertEqual(start, int(row["addr"], 16) & ~(LINE - 1))
        object_type = row["name"].split(".")[0]
        mine = row["name"].split(".", 1)[1]
        for m in line["members"]:
            path = re.sub(r"\[\d+\]", "", m["name"])
            at = self.btf.offset(object_type + "." + path)
            self.assertLessEqual(at, m["offset"], m)
            if path == m["name"]:
                self.assertEqual(at, m["offset"], m)
            self.assertLess(base + m["offset"], start + LINE, m)
            self.assertGreater(base + m["offset"] + m["size"], start, m)
        self.assertTrue([m for m in line["members"]
                         if mine == m["name"] or mine.startswith(m["name"] + ".")], row)

    def test_shared_inode(self):
        """readers and a random writer of one file: i_es_lock and i_data_sem, of that inode"""
        fs = fsharness.LoopFs(self)
        load = self.load("sharedinode", fs.file("f"), 16, 3, 4)
        load.line()
        tool = self.tool("-s", "lock").ready()
        load.go()
        self.note("%s", load.end()[0])
        final = tool.stop().final
        place = "%s (inode %d on %s)" % (fs.file("f"), os.stat(fs.file("f")).st_ino, fs.dev)
        mine = [c for c in self.rows(final, "ext4_inode_info") if place == c["place"]]
        names = collections.Counter()
        for c in mine:
            names[c["name"]] += c["count"]
        self.note("%s", dict(names))
        for member in ("i_es_lock", "i_data_sem"):
            self.assertIn("ext4_inode_info." + member, names)
        self.assertEqual({c["kind"] for c in mine if c["name"] == "ext4_inode_info.i_es_lock"},
                         {"rwlock:r", "rwlock:w"})
        # One inode: whatever member a lock is, BTF's offset leads back to the same object.
        self.assertEqual(len({self.base(c) for c in mine}), 1)
        for c in mine:
            self.check_line(c)

    def directory_places(self, prefix=()):
        """What the directory is called that processes fight over, and its inode's number."""
        fs = fsharness.LoopFs(self)
        os.mkdir(fs.file("d"))
        load = self.load("locks", "dir", 4, 500, fs.file("d"))
        load.line()
        tool = self.tool("-s", "lock", prefix=prefix).ready()
        load.go()
        load.end()
        rows = self.rows(tool.stop().final, "ext4_inode_info")
        number = "inode %d on %s" % (os.stat(fs.file("d")).st_ino, fs.dev)
        self.note("%s: %s", number, sorted({str(c["place"]) for c in rows}))
        places = {c["place"] for c in rows if c["name"] == "ext4_inode_info.vfs_inode.i_rwsem"
                  and number in (c["place"] or "")}
        return places, number, fs.file("d")

    def test_path(self):
        """a directory's lock has the directory's path"""
        places, number, path = self.directory_places()
        self.assertEqual(places, {"%s (%s)" % (path, number)})

    def test_no_path(self):
        """without CAP_DAC_READ_SEARCH it has its inode's number"""
        places, number, _ = self.directory_places(
            ("setpriv", "--bounding-set=-dac_read_search", "--inh-caps=-all"))
        self.assertEqual(places, {number})

    def test_mmap_read(self):
        """the load of 2012: look-ups in plenty; what is waited for in the super block has a name"""
        fs = fsharness.LoopFs(self)
        load = self.load("mmapread", fs.path, 16, 16, 8)
        load.line()
        tool = self.tool("-s", "ext4,lock", "--dev", fs.path).ready()
        load.go()
        pages = load.end()[0]["pages"]
        final = tool.stop().final
        found = {m["labels"]["result"]: m["value"] for m in final["metrics"]
                 if m["name"] == "ext4_es_lookups" and "cpu" not in m["labels"]}
        self.note("%d pages: %s", pages, found)
        self.assertGreaterEqual(found["hit"] + found["miss"], pages)
        self.assertGreater(found["hit"], 1000 * found["miss"])
        rows = self.rows(final, "ext4_sb_info")
        self.note("super block: %s", [(c["name"], c["count"]) for c in rows])
        for c in rows:
            self.check_line(c)
        mine = [c for c in rows if fs.dev in (c["place"] or "")]
        self.assertLessEqual(len({self.base(c) for c in mine}), 1)
        self.assertLessEqual({c["place"] for c in mine}, {"%s (%s on %s)" % (fs.path, fs.name, fs.dev)})


if __name__ == "__main__":
    harness.main()
