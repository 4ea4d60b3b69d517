#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of ext4's devices and files, and what --dev means."""
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import fsharness
import harness
from harness import KernelTest, Tool

OPS = "ext4_op_latency"
NOTE = r"expected a mounted ext4: its device, MAJ:MIN, or a path on it"
NO_PATHS = "--bounding-set=-dac_read_search"


def fsync_in(path):
    """One fsync, by a process of its own: it has ended when the report is made."""
    subprocess.run(
        ["python3", "-c",
         "import os,sys; fd=os.open(sys.argv[1],os.O_WRONLY|os.O_CREAT); os.write(fd,b'x'*99);"
         "os.fsync(fd)", path], check=True)


def fsyncs(frame):
    """{(dev, mount): count} of fsync."""
    out = {}
    for m in frame["metrics"]:
        have = m["labels"]
        if m["name"] == OPS and have.get("op") == "fsync" and not {"cpu", "file"} & set(have):
            out[have["dev"], have.get("mount")] = m["count"]
    return out


def umount(path):
    """Another may look at it at this moment: the tool, to name a file, or who watches all mounts."""
    for _ in range(200):
        done = subprocess.run(["umount", path], stderr=subprocess.PIPE, text=True)
        if not done.returncode:
            return
        if "busy" not in done.stderr:
            break
        time.sleep(0.05)
    raise AssertionError(done.stderr)


def asleep(pid):
    return harness.stat_of(pid)[0] == "S"


class Private:
    """A shell in a mount namespace of its own."""

    def __init__(self, test, *wrap):
        self.proc = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", *wrap, "sh"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.end)
        self.pid = self.proc.pid

    def sh(self, line):
        self.proc.stdin.write("%s; echo end $?\n" % line)
        self.proc.stdin.flush()
        status = self.proc.stdout.readline().strip()
        if status != "end 0":
            raise AssertionError("%s: %s" % (line, status))

    def end(self):
        self.proc.stdin.close()
        self.proc.wait()
        self.proc.stdout.close()


class NamesTest(KernelTest):
    def loop(self, image):
        """A loop device that stays when it is unmounted."""
        device = subprocess.run(["losetup", "--find", "--show", image], check=True, text=True,
                                stdout=subprocess.PIPE).stdout.strip()
        self.addCleanup(subprocess.run, ["losetup", "--detach", device])
        return device


class Devices(NamesTest):
    def test_label(self):
        """a device is named by its numbers and its mount point, which may hold any byte"""
        fs = fsharness.LoopFs(self)
        odd = os.path.join(fs.dir, "a b\\\n\033[31m\"é")
        os.mkdir(odd)
        fs.umount()
        fs.mount(fs.image, odd, "-o", "loop")
        fs.path = odd
        tool = self.tool("-s", "ext4", "--dev", odd).ready()
        fsync_in(fs.file("f"))
        final = tool.stop().final
        self.assertEqual(fsyncs(final), {(fs.dev, odd): 1})

    def test_dev(self):
        """--dev: a device node, its numbers, the mount point or any path; nothing else is counted"""
        fs, other = fsharness.LoopFs(self), fsharness.LoopFs(self)
        os.mkdir(fs.file("sub"))
        link = os.path.join(fs.dir, "link")
        os.symlink(fs.device, link)
        for text in (fs.device, fs.dev, fs.path, fs.path + "/sub", link):
            tool = self.tool("-s", "ext4", "--dev", text).ready()
            fsync_in(fs.file("f"))
            fsync_in(other.file("f"))
            report = tool.stop()
            self.assertEqual(fsyncs(report.final), {(fs.dev, fs.path): 1}, text)
            self.assertEqual({m["labels"]["dev"] for m in report.final["metrics"]}, {fs.dev}, text)

    def test_two(self):
        """--dev twice, one of them by two names"""
        a, b, c = (fsharness.LoopFs(self) for _ in range(3))
        tool = self.tool("-s", "ext4", "--dev", a.path, "--dev", b.dev, "--dev", a.dev).ready()
        for fs in (a, b, c):
            fsync_in(fs.file("f"))
        self.assertEqual(fsyncs(tool.stop().final), {(a.dev, a.path): 1, (b.dev, b.path): 1})

    def refused(self, text, why):
        tool = Tool(self, ("-s", "ext4", "--dev", text, "-d", "1"))
        self.assertEqual(tool.wait(), 2, text)
        self.assertRegex(tool.stderr(), "^waitscope: error: --dev '%s': %s" % (re.escape(text), why))
        self.assertEqual(tool.json(), "")

    def test_refused(self):
        """--dev that does not exist, is not mounted or no ext4 is quoted, with what was expected"""
        self.refused("/nonexistent", r"No such file or directory \(%s\)" % NOTE)
        self.refused("12abc", r"No such file or directory \(%s\)" % NOTE)
        self.refused("4095:1048575", r"not mounted \(%s\)" % NOTE)
        self.refused("4294967303:1", "No such file or directory")
        self.refused("/proc", r"proc, not ext4 \(%s\)" % NOTE)
        self.refused("/dev/null", "devtmpfs, not ext4")

    def check_other(self, fstype):
        fs = fsharness.LoopFs(self, fstype)
        for text in (fs.path, fs.device):
            self.refused(text, r"%s, not ext4 \(%s\)" % (fstype, NOTE))

    def test_xfs(self):
        """--dev of an xfs says so"""
        self.check_other("xfs")

    def test_btrfs(self):
        """--dev of a btrfs, whose device numbers are its own, says so"""
        self.check_other("btrfs")

    def test_unmounted(self):
        """--dev of a device with an ext4 that is not mounted"""
        fs = fsharness.LoopFs(self)
        fs.umount()
        self.refused(self.loop(fs.image), r"not mounted \(%s\)" % NOTE)

    @unittest.skipUnless(fsharness.can_mount("ext3"), "no ext3")
    def test_ext3(self):
        """an ext3 is the driver's, too: block maps, not extents"""
        fs = fsharness.LoopFs(self, "ext3")
        tool = self.tool("-s", "ext4", "--dev", fs.path).ready()
        fsync_in(fs.file("f"))
        self.assertEqual(fsyncs(tool.stop().final), {(fs.dev, fs.path): 1})


class Mounts(NamesTest):
    def test_bind(self):
        """the mount of the whole names it, not that of a part, whichever came first"""
        fs = fsharness.LoopFs(self)
        os.mkdir(fs.file("part"))
        part, again = os.path.join(fs.dir, "part"), os.path.join(fs.dir, "again")
        os.mkdir(part)
        os.mkdir(again)
        fs.mount(fs.file("part"), part, "--bind")
        whole, dev = fs.path, fs.dev
        umount(whole)
        fs.mounted.remove(whole)
        tool = self.tool("-s", "ext4", "--dev", dev, "-i", "200ms").ready()
        fsync_in(part + "/f")
        tool.await_line('"mount":"%s"' % part)
        fs.mount(fs.device, again)
        fsync_in(again + "/g")
        self.assertEqual(fsyncs(tool.stop().final), {(dev, again): 2})

    def test_comes_and_goes(self):
        """what is mounted, used and gone again within an interval keeps its name"""
        fs = fsharness.LoopFs(self)
        fs.umount()
        tool = self.tool("-s", "ext4", "-i", 60).ready()
        self.until(lambda: asleep(tool.proc.pid), "it waits for something to do")
        turns = harness.schedstat_of(tool.proc.pid).turns
        fs.mount(fs.image, fs.path, "-o", "loop")
        dev = fs.dev
        fsync_in(fs.file("f"))
        # A busy machine may not have let it look at the mounts.
        self.until(lambda: harness.schedstat_of(tool.proc.pid).turns > turns and asleep(tool.proc.pid), "it was told")
        fs.umount()
        got = {k: n for k, n in fsyncs(tool.stop().final).items() if k[0] == dev}
        self.assertEqual(got, {(dev, fs.path): 1})

    def test_not_busy(self):
        """a traced file system can be unmounted, and mounted elsewhere: the name of now"""
        fs = fsharness.LoopFs(self)
        fs.umount()
        second = os.path.join(fs.dir, "second")
        os.mkdir(second)
        device = self.loop(fs.image)
        fs.mount(device, fs.path)
        dev = fs.dev
        tool = self.tool("-s", "ext4", "--by", "file", "--slower", "0", "-i", "100ms").ready()
        fsync_in(fs.file("f"))
        tool.await_line('"path":"%s"' % fs.file("f"))
        umount(fs.path)
        fs.mounted.remove(fs.path)
        fs.mount(device, second)
        fsync_in(second + "/g")
        report = tool.stop()
        self.assertEqual(fsyncs(report.final).get((dev, second)), 2)
        paths = {s["path"] for s in report.slow if s["op"] == "fsync" and s["dev"] == dev}
        self.assertEqual(paths, {fs.file("f"), second + "/g"})

    def another(self, fs, name):
        """(image, mount point) of one more file system beside fs."""
        image, where = os.path.join(fs.dir, name + ".img"), os.path.join(fs.dir, name)
        with open(image, "wb") as f:
            f.truncate(32 << 20)
        fsharness.run("mkfs.ext4", *fs.quiet(), image)
        os.mkdir(where)
        return image, where

    def test_device_again(self):
        """a device that is detached and attached again is another file system, with its own rows and names"""
        fs = fsharness.LoopFs(self)
        fs.umount()
        device = self.loop(fs.image)
        images = [(fs.image, fs.path), self.another(fs, "b"), self.another(fs, "c")]
        images[2] = (images[2][0], images[1][1])  # the third is mounted where the second was
        tool = self.tool("-s", "ext4", "--by", "file", "--slower", "0", "-i", 60).ready()
        inos = []
        for i, (image, where) in enumerate(images):
            if i:
                fsharness.run("losetup", "--detach", device)
                fsharness.run("losetup", device, image)
            turns = harness.schedstat_of(tool.proc.pid).turns
            fs.mount(device, where)
            dev = os.stat(where).st_dev
            self.until(lambda: harness.schedstat_of(tool.proc.pid).turns > turns and asleep(tool.proc.pid),
                       "it was told")
            for _ in range(i + 2):
                fsync_in(where + "/%d" % i)
            inos.append(os.stat(where + "/%d" % i).st_ino)
            umount(where)
            fs.mounted.remove(where)
        report = tool.stop()
        dev = "%d:%d" % (os.major(dev), os.minor(dev))
        devs, b = [dev, dev + " (2)", dev + " (3)"], images[1][1]
        self.assertEqual(len(set(inos)), 1)
        want = {(devs[0], fs.path): 2, (devs[1], b): 3, (devs[2], b): 4}
        self.assertEqual({k: n for k, n in fsyncs(report.final).items() if k[0].split()[0] == dev}, want)
        by_file = {}
        for m in report.final["metrics"]:
            have = m["labels"]
            if m["name"] == OPS and have.get("op") == "fsync" and "file" in have and have["dev"] in devs:
                self.assertNotIn((have["dev"], have["mount"]), by_file)
                by_file[have["dev"], have["mount"]] = m["count"]
        self.assertEqual(by_file, want)
        for op in ("handle-held", "commit"):
            rows = [(m["labels"]["dev"], m["labels"]["mount"]) for m in report.final["metrics"] if m["labels"].get("op") == op and
                    m["labels"]["dev"] in devs and "file" not in m["labels"]]
            self.assertEqual(sorted(rows), sorted(want), op)
        slow = [(s["dev"], s["mount"]) for s in report.slow if s["op"] == "fsync" and s["dev"] in devs]
        self.assertEqual(slow, [row for row, n in want.items() for _ in range(n)])

    def test_many(self):
        """100 file systems, each with its own name and counts"""
        where = tempfile.mkdtemp(prefix="ws-fs-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        mounted = []

        def umount_all():
            for path in mounted:
                umount(path)

        self.addCleanup(umount_all)
        first = os.path.join(where, "image")
        with open(first, "wb") as f:
            f.truncate(1 << 20)
        fsharness.run("mkfs.ext4", "-q", "-F", first)
        for i in range(100):
            image, path = "%s/%d.img" % (where, i), "%s/%d" % (where, i)
            shutil.copyfile(first, image)
            os.mkdir(path)
            fsharness.run("mount", "-o", "loop", image, path)
            mounted.append(path)
        tool = self.tool("-s", "ext4", "-i", 60).ready()
        for i, path in enumerate(mounted):
            for n in range(i % 3 + 1):
                fd = os.open(path + "/f", os.O_WRONLY | os.O_CREAT)
                os.write(fd, b"x")
                os.fsync(fd)
                os.close(fd)
        report = tool.stop()
        by_mount = {mount: n for (_, mount), n in fsyncs(report.final).items()}
        for i, path in enumerate(mounted):
            self.assertEqual(by_mount.get(path), i % 3 + 1, path)
        self.assertEqual(report.final["quality"]["map_full"], 0)

    def test_other_namespace(self):
        """a mount of another mount namespace names its device; its files have numbers"""
        fs = fsharness.LoopFs(self)
        fs.umount()
        other = Private(self)
        other.sh("mount -o loop %s %s" % (fs.image, fs.path))
        other.sh("echo x > %s/f" % fs.path)
        dev = os.stat("/proc/%d/root%s" % (other.pid, fs.path)).st_dev
        dev = "%d:%d" % (os.major(dev), os.minor(dev))
        tool = self.tool("-s", "ext4", "--dev", dev, "--slower", "0").ready()
        other.sh("sync %s/f" % fs.path)
        report = tool.stop()
        other.sh("umount %s" % fs.path)
        self.assertEqual(fsyncs(report.final), {(dev, fs.path): 1})
        sync = [s for s in report.slow if s["op"] == "fsync"]
        self.assertEqual([s["mount"] for s in sync], [fs.path])
        self.assertRegex(sync[0]["path"], "^inode [0-9]+$")

    def test_detached(self):
        """mounted nowhere, but a file is still open: the block device names it"""
        fs = fsharness.LoopFs(self)
        dev = fs.dev
        with open(fs.file("f"), "w") as f:
            subprocess.run(["umount", "--lazy", fs.path], check=True)
            fs.mounted.remove(fs.path)
            tool = self.tool("-s", "ext4").ready()
            f.write("x")
            f.flush()
            os.fsync(f.fileno())
        self.assertIn(((dev, fs.name), 1), fsyncs(tool.stop().final).items())

    def test_no_mount(self):
        """no ext4 that can be seen: said once; rows come once one is mounted"""
        where = tempfile.mkdtemp(prefix="ws-jail-")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        jail = Private(self)
        jail.sh("mount -t tmpfs none %s" % where)
        jail.sh("mkdir %s/proc %s/sys %s/x" % (where, where, where))
        jail.sh("mount -t proc none %s/proc && mount -t sysfs none %s/sys" % (where, where))
        jail.sh("for f in %s $(ldd %s | grep -o '/[^ ]*'); do cp --parents $f %s; done"
                % (harness.TOOL, harness.TOOL, where))
        jail.sh("chroot %s %s -s ext4 -d 1 -o json:/out > %s/stdout 2> %s/err"
                % (where, harness.TOOL, where, where))
        jail.sh("cp %s/err %s/out /proc/%d/root%s/" % (where, where, os.getpid(), where))
        with open(where + "/err") as f:
            self.assertEqual(f.read(), "waitscope: note: ext4: no ext4 is mounted now: there are "
                                       "rows once one is\n")
        with open(where + "/out") as f:
            report = harness.Report(f.read())
        self.assertEqual(report.meta["sources"][0]["state"], "on")
        # Others work on the machine's own ext4 meanwhile.
        self.assertComplete(report.final, 100)


class Files(NamesTest):
    def slow_paths(self, work):
        """{path} of the fsyncs that work() makes."""
        tool = self.tool("-s", "ext4", "--dev", self.fs.path, "--slower", "0").ready()
        work()
        self.report = tool.stop()
        return {s["path"] for s in self.report.slow if s["op"] == "fsync"}

    def test_links(self):
        """of several hard links any one; renamed, the name of now"""
        self.fs = fs = fsharness.LoopFs(self)
        with open(fs.file("one"), "w") as f:
            f.write("x")
        os.link(fs.file("one"), fs.file("two"))
        self.assertIn(self.slow_paths(lambda: fsync_in(fs.file("two"))),
                      ({fs.file("one")}, {fs.file("two")}))
        os.mkdir(fs.file("dir"))
        os.rename(fs.file("two"), fs.file("dir/three"))
        os.unlink(fs.file("one"))
        self.assertEqual(self.slow_paths(lambda: fsync_in(fs.file("dir/three"))),
                         {fs.file("dir/three")})

    def test_gone(self):
        """a file that is gone when it is looked for has its number"""
        self.fs = fs = fsharness.LoopFs(self)
        work = ("import os,sys; fd=os.open(sys.argv[1],os.O_RDWR|os.O_CREAT); os.write(fd,b'x');"
                "os.fsync(fd); print(os.fstat(fd).st_ino); os.unlink(sys.argv[1])")
        inos = []

        def run():
            inos.append(int(subprocess.run(["python3", "-c", work, fs.file("f")], check=True,
                                           stdout=subprocess.PIPE).stdout))

        paths = self.slow_paths(run)
        self.assertLessEqual(paths, {"inode %d" % inos[0], fs.file("f"),
                                     fs.file("f") + " (deleted)"})

    def test_reused(self):
        """a new file with the inode number of one that is gone has its own name"""
        self.fs = fs = fsharness.LoopFs(self)
        last = []

        def run():
            for i in range(50):  # a file that the tool is looking at is freed only then
                last[:] = [(fs.file("%s.%d" % (name, i))) for name in ("first", "second")]
                fsync_in(last[0])
                was = os.stat(last[0]).st_ino
                os.unlink(last[0])
                fsync_in(last[1])
                if os.stat(last[1]).st_ino == was:
                    return
            self.fail("the inode was not used again")

        self.slow_paths(run)
        paths = [s["path"] for s in self.report.slow if s["op"] == "fsync"]
        self.assertEqual(paths[-1], last[1])
        self.assertIn(paths[-2], (last[0], last[0] + " (deleted)", "inode %d" % os.stat(last[1]).st_ino))

    def test_no_capability(self):
        """without CAP_DAC_READ_SEARCH: inode numbers, and said once why"""
        fs = fsharness.LoopFs(self)
        script = os.path.join(fs.dir, "tool")
        with open(script, "w") as f:
            f.write('#!/bin/sh\nexec setpriv %s --inh-caps=-all "%s" "$@"\n' % (NO_PATHS, harness.TOOL))
        os.chmod(script, 0o755)
        out = os.path.join(fs.dir, "out")
        with open(os.path.join(fs.dir, "err"), "w+") as err:
            proc = subprocess.Popen([script, "-s", "ext4", "--dev", fs.path, "--slower", "0",
                                     "-o", "json:" + out], stderr=err)
            self.addCleanup(lambda: proc.poll() is not None or (proc.kill(), proc.wait()))
            while not os.path.exists(out) or not os.path.getsize(out):
                self.assertIsNone(proc.poll())
            fsync_in(fs.file("f"))
            proc.send_signal(harness.signal.SIGINT)
            self.assertEqual(proc.wait(), 0)
            err.seek(0)
            self.assertEqual(err.read(), "waitscope: note: ext4: files are named by inode number "
                                         "(their paths need CAP_DAC_READ_SEARCH)\n")
        with open(out) as f:
            report = harness.Report(f.read())
        self.assertEqual({s["path"] for s in report.slow if s["op"] == "fsync"},
                         {"inode %d" % os.stat(fs.file("f")).st_ino})
        self.assertIn("paths: not permitted (CAP_DAC_READ_SEARCH)",
                      report.meta["sources"][0]["lacks"])

    def test_by_file(self):
        """--by file: a row per file, with its path"""
        fs = fsharness.LoopFs(self)
        tool = self.tool("-s", "ext4", "--dev", fs.path, "--by", "file").ready()
        for i in range(5):
            for _ in range(i + 1):
                fsync_in(fs.file("f%d" % i))
        metrics = tool.stop().final["metrics"]
        rows = {m["labels"]["file"]: m["count"] for m in metrics
                if m["labels"].get("op") == "fsync" and "file" in m["labels"]}
        self.assertEqual(rows, {fs.file("f%d" % i): i + 1 for i in range(5)})
        looked_up = {m["labels"]["file"] for m in metrics
                     if m["name"] == "ext4_es_lookups" and "file" in m["labels"]}
        self.assertIn("inode 8 (journal)", looked_up)


if __name__ == "__main__":
    harness.main()
