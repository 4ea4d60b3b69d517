#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The OCI image: what it says of itself, the same bytes when made again, and its root filesystem started as the
DaemonSet's manifest would have it started: those capabilities and no others, a root that cannot be written,
no new privileges; it serves what this kernel counts. TAP. check.py BINARY IMAGE EPOCH (as root)

Twice: once with namespaces and capabilities, which are the kernel's, set here; and by crun, with the system calls that
containers have by default. skopeo reads the image as registries would.
"""
import contextlib
import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANIFEST = os.path.join(TOP, "packaging/kubernetes/waitscope.yaml")
CAPS = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38, "BPF": 39}
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
CLONE_NEWNS = 0x20000
ID = "0123456789abcdef" * 4
PROFILE = "/usr/share/containers/seccomp.json"
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *args):
    if getattr(libc, name)(*args) < 0:
        raise OSError(ctypes.get_errno(), name)


def mount(source, target, flags):
    call("mount", source.encode() if source else None, target.encode(), None, ctypes.c_ulong(flags), None)


def contained(root, caps):
    """In the child: a mount namespace with `root` as its root, not to be written, and these capabilities."""
    with open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as f:
        last = int(f.read())
    call("unshare", CLONE_NEWNS)
    mount(None, "/", MS_REC | MS_PRIVATE)
    mount(root, root, MS_BIND)
    for place in ("proc", "sys"):
        mount("/" + place, os.path.join(root, place), MS_BIND | MS_REC)
    mount(None, root, MS_REMOUNT | MS_BIND | MS_RDONLY)
    os.chroot(root)
    os.chdir("/")
    for cap in range(last + 1):
        if cap not in caps:
            call("prctl", PR_CAPBSET_DROP, cap, 0, 0, 0)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def blob(image, descriptor):
    with open(os.path.join(image, "blobs", *descriptor["digest"].split(":")), "rb") as f:
        data = f.read()
    assert len(data) == descriptor["size"] and hashlib.sha256(data).hexdigest() == descriptor["digest"].split(":")[1]
    return data


def is_an_image(binary, image, epoch, root):
    """Each blob is what its descriptor says, and the layer holds the binary."""
    with open(os.path.join(image, "oci-layout"), encoding="utf-8") as f:
        assert json.load(f) == {"imageLayoutVersion": "1.0.0"}
    with open(os.path.join(image, "index.json"), encoding="utf-8") as f:
        manifest = json.loads(blob(image, json.load(f)["manifests"][0]))
    config = json.loads(blob(image, manifest["config"]))
    assert config["rootfs"]["diff_ids"] == [x["digest"] for x in manifest["layers"]]
    for layer in manifest["layers"]:
        with tarfile.open(os.path.join(image, "blobs", *layer["digest"].split(":"))) as tar:
            assert blob(image, layer) and all(m.mtime == int(epoch) and m.uid == m.gid == 0 for m in tar)
            tar.extractall(root)
    with open(binary, "rb") as a, open(os.path.join(root, "usr/sbin/waitscope"), "rb") as b:
        assert a.read() == b.read()
    return config["config"]


def is_the_same_again(binary, image, epoch):
    _, version, arch = os.path.basename(image)[:-4].split("_")
    with tempfile.TemporaryDirectory() as d:
        again = os.path.join(d, "x")
        subprocess.run([os.path.join(TOP, "packaging/mkimage.py"), binary, arch, version, epoch, again], check=True,
                       stdout=subprocess.PIPE)
        with open(image + ".tar", "rb") as a, open(again + ".tar", "rb") as b:
            assert a.read() == b.read()


def manifest_words():
    with open(MANIFEST, encoding="utf-8") as f:
        text = f.read()
    caps = re.search(r"add: \[([A-Z_, ]+)\]", text)[1].split(", ")
    args = json.loads(re.search(r"args: (\[.*\])", text)[1])
    for words in ("drop: [ALL]", "privileged: false", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true"):
        assert words in text, words
    return {CAPS[c] for c in caps}, args


def start(config, root, caps, args, *more):
    return subprocess.Popen([*config["Entrypoint"][:-1], "127.0.0.1:0", *args, *more], stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: contained(root, caps))


# ---- crun ----

def seccomp(caps):
    """The profile of the distribution's container tools for these capabilities; it has bpf and perf_event_open for
    CAP_SYS_ADMIN alone, where those of Docker and containerd have them for CAP_BPF and CAP_PERFMON, too."""
    with open(PROFILE, encoding="utf-8") as f:
        profile = json.load(f)
    rules = [{"names": ["bpf", "perf_event_open"], "action": "SCMP_ACT_ALLOW"}]
    for rule in profile["syscalls"]:
        wanted, unwanted = rule.get("includes") or {}, rule.get("excludes") or {}
        names = [n for n in rule["names"] if n not in rules[0]["names"]]
        if names and "arches" not in wanted and set(wanted.get("caps", [])) <= caps and not set(unwanted.get("caps", [])) & caps:
            rules.append({"names": names, "action": rule["action"], "args": rule.get("args") or [],
                          **({"errnoRet": rule["errnoRet"]} if "errnoRet" in rule else {})})
    names = {n for rule in profile["syscalls"] for n in rule["names"] if rule.get("includes", {}).get("arches")}
    rules.append({"names": sorted(names), "action": "SCMP_ACT_ALLOW"})
    return {"defaultAction": profile["defaultAction"], "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": [], "syscalls": rules}


def bundle(d, config, root, caps, args):
    """What a runtime is told of the manifest's container; but for the network, which it has with this machine."""
    names = [f"CAP_{name}" for name, number in CAPS.items() if number in caps]
    with open(os.path.join(d, "config.json"), "w", encoding="utf-8") as f:
        json.dump({
            "ociVersion": "1.0.2",
            "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "env": ["PATH=/usr/sbin"], "noNewPrivileges": True,
                        "args": [*config["Entrypoint"][:-1], "127.0.0.1:0", *args],
                        "capabilities": {k: names for k in ("bounding", "effective", "permitted")}},
            "root": {"path": root, "readonly": True},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755", "size=64k"]},
                       {"destination": "/sys", "type": "bind", "source": "/sys", "options": ["rbind", "ro"]}],
            "linux": {"namespaces": [{"type": t} for t in ("mount", "pid", "ipc", "uts")], "seccomp": seccomp(set(names))}}, f)


def start_by_crun(d, config, root, caps, args):
    """crun takes cgroup v2 alone: of a machine that has both it is shown that one."""
    bundle(d, config, root, caps, args)
    script = ("[ -e /sys/fs/cgroup/cgroup.controllers ] || { umount -l /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup; } && "
              'exec crun --root "$1/state" --cgroup-manager=disabled run -b "$1" "$2"')
    return subprocess.Popen(["unshare", "-m", "--propagation", "private", "sh", "-c", script, "-", d, f"waitscope-{os.getpid()}"],
                            stderr=subprocess.PIPE, text=True)


def child_of(pid):
    """The container's only process: crun waits for it."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read().split()[0])


@contextlib.contextmanager
def in_a_container():
    """A process that wakes often, in a cgroup as Docker would name it."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        top = next(x.split()[4] for x in f if " - cgroup2 " in x)
    group = os.path.join(top, f"docker-{ID}.scope")
    os.mkdir(group)
    p = subprocess.Popen(["sh", "-c", "echo $$ > $1/cgroup.procs; while :; do sleep 0.02; done", "-", group])
    try:
        yield
    finally:
        p.kill()
        p.wait()
        for _ in range(200):
            with contextlib.suppress(OSError):
                os.rmdir(group)
                break
            time.sleep(0.02)


def scraped(url):
    with urllib.request.urlopen(url + "metrics", timeout=10) as r:
        return r.read().decode()


def serves(config, root, starter=start, contained_pid=lambda pid: pid):
    caps, args = manifest_words()
    args[args.index("-i") + 1] = "0.3"
    p = starter(config, root, caps, args)
    try:
        words = []
        while not words or "serving" not in words[-1]:
            words.append(p.stderr.readline())
            assert words[-1], words
        assert len(words) == 1, words
        url = re.search(r"http://\S+", words[0])[0]
        with open(f"/proc/{contained_pid(p.pid)}/status", encoding="ascii") as f:
            status = f.read()
        bound = {c for c in range(64) if int(re.search(r"CapBnd:\s*(\S+)", status)[1], 16) >> c & 1}
        assert bound == caps, status
        held = {c for c in range(64) if int(re.search(r"CapPrm:\s*(\S+)", status)[1], 16) >> c & 1}
        assert held <= caps and "NoNewPrivs:\t1" in status, status
        with in_a_container():
            time.sleep(1.5)
            text = scraped(url)
        waits = int(re.search(r"^waitscope_sched_wakeup_latency_seconds_count (\d+)$", text, re.M)[1])
        groups = set(re.findall(r'sched_run_delay_seconds_count\{container_id="([^"]+)"', text))
        assert waits > 0 and ID in groups, (waits, groups)
        print(f"# {waits} wakeups; containers: {', '.join(sorted(groups))}")
    finally:
        p.terminate()
        assert p.wait(20) == 0
        p.stderr.close()


def serves_by_crun(config, root):
    with tempfile.TemporaryDirectory() as d:
        def starter(*args):
            return start_by_crun(d, *args)

        def filtered(pid):
            child = child_of(pid)
            with open(f"/proc/{child}/status", encoding="ascii") as f:
                assert "Seccomp:\t2" in f.read()
            return child

        serves(config, root, starter, filtered)


def read_by_skopeo(image):
    """The tar as a registry's tools have it: the digest of its manifest, and the same when it has been copied."""
    def digest(where):
        r = subprocess.run(["skopeo", "inspect", where], capture_output=True, text=True, check=True)
        return json.loads(r.stdout)["Digest"]

    with open(os.path.join(image, "index.json"), encoding="utf-8") as f:
        ours = json.load(f)["manifests"][0]["digest"]
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["skopeo", "copy", "-q", "--preserve-digests", f"oci-archive:{image}.tar", f"dir:{d}"], check=True)
        assert digest(f"oci-archive:{image}.tar") == digest(f"dir:{d}") == ours
    print(f"# {ours}")


def takes_all_of_them(config, root):
    """One capability fewer of the first two: refused, with words; of the last: numbers in place of names."""
    caps, args = manifest_words()
    args[args.index("-i") + 1] = "0.3"
    for name in ("BPF", "PERFMON"):
        p = start(config, root, caps - {CAPS[name]}, args, "-d", "1")
        words = p.stderr.read()
        p.stderr.close()
        assert p.wait(20) == 3 and "not permitted" in words, (name, p.returncode, words)
    p = start(config, root, caps - {CAPS["DAC_READ_SEARCH"]}, args)
    url = re.search(r"http://\S+", p.stderr.readline())[0]
    with in_a_container():
        time.sleep(1.5)
        text = scraped(url)
    p.terminate()
    p.wait(20)
    p.stderr.close()
    assert 'container_id="id:' in text and ID not in text, re.findall(r"container_id=\S+", text)[:5]


def main():
    binary, image, epoch = sys.argv[1:]
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        config = is_an_image(binary, image, epoch, root)
        tests = [("the blobs are what the index says, and hold the binary", lambda: None),
                 ("made again it is the same", lambda: is_the_same_again(binary, image, epoch)),
                 ("runs as the manifest says, and serves", lambda: serves(config, root)),
                 ("needs each capability of it", lambda: takes_all_of_them(config, root)),
                 ("skopeo reads it", lambda: read_by_skopeo(image)),
                 ("crun runs it as the manifest says, and it serves", lambda: serves_by_crun(config, root))]
        missing = {5: [] if shutil.which("skopeo") else ["skopeo"],
                   6: [what for what, there in (("crun", shutil.which("crun")), (PROFILE, os.path.exists(PROFILE))) if not there]}
        bad = 0
        print(f"1..{len(tests)}")
        for i, (name, test) in enumerate(tests, 1):
            try:
                if i in (3, 4, 6) and os.geteuid():
                    print(f"ok {i} - {name} # SKIP not root")
                    continue
                if missing.get(i):
                    print(f"ok {i} - {name} # SKIP no {' and '.join(missing[i])}")
                    continue
                test()
                print(f"ok {i} - {name}")
            except (AssertionError, OSError, TypeError, subprocess.SubprocessError) as e:
                bad += 1
                print(f"not ok {i} - {name}\n# {e!r}")
    return bool(bad)


sys.exit(main())
