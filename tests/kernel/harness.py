# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel tests share: the tool under test, load programs, cgroups, BPF objects, TAP.

Everything a test starts or creates is undone when it ends, fails or is interrupted.
"""
import collections
import contextlib
import ctypes
import fcntl
import glob
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tests", "ref"), os.path.join(ROOT, "tests")]
import sched_trace as ref  # pylint: disable=wrong-import-position
from tap import is_later, took  # pylint: disable=wrong-import-position

BUILD = os.path.join(ROOT, os.environ.get("O", "build"))
TOOL = os.path.join(BUILD, "waitscope")
SANITIZED = BUILD.endswith(("-san", "/fuzz"))  # SAN=1, or of the fuzz targets' objects
SYS_BPF = {"x86_64": 321}.get(os.uname().machine, 280)
LONG_MS = 2000  # where there are too few waits in less
SHORT_MS = 250  # of moving threads: half of such runs are free of switches that are hidden from tracers
PATIENCE_S = 60  # with what comes at once on a machine at rest: another may be busy

METRICS = (
    "sched_wakeup_latency",
    "sched_wake_to_queue",
    "sched_queue_to_run",
    "sched_preempt_wait",
    "sched_run_delay",
)


def small_pipe():
    """(r, w) of a pipe that is full after a page."""
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)
    return r, w


def switches():
    """Of all CPUs, ever."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(next(line.split()[1] for line in f if line.startswith("ctxt ")))


SWITCHES_MANY = 10_000  # a second: more than the loads make


def switches_per_s(seconds=0.2):
    """Of all CPUs, now."""
    before, began = switches(), time.monotonic()
    time.sleep(seconds)
    return (switches() - before) / (time.monotonic() - began)


class Interrupted(Exception):
    """SIGINT or SIGTERM to the tests: an exception like others, so that clean-up runs."""


ENDS = (signal.SIGTERM, signal.SIGINT)


def interruptible():
    """The first of ENDS is an exception; more of them (a runner and its process group both send one) do not come into
    the clean-up."""

    def interrupted(signum, _frame):
        for one in ENDS:
            signal.signal(one, signal.SIG_IGN)
        raise Interrupted("signal %d" % signum)

    for one in ENDS:
        signal.signal(one, interrupted)


@contextlib.contextmanager
def undisturbed():
    """None of ENDS comes before the end of it."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


# ---- reports ----


# {(name, label keys): samples} of all histograms that any report here had: what filled one in this run.
HISTOGRAMS = {}
TOP_SLOT = {3: 64, 4: 129, 5: 259, 6: 518}  # its bucket has whatever is longer, too


def edge(schema, index):
    """Upper edge of a bucket, in ns; of latencies in cycles."""
    return 1e9 * 2.0 ** (index / 2.0**schema)


def check_buckets(name, h, inferred=0):
    """
    The buckets of a histogram hold its count, and values that can have its sum, its min and its max. Of waits
    that nobody saw end their number and sum are known: they count as so many of their mean, in whole ns.
    """
    b = h["buckets"]
    full = [(b["offset"] + i, n) for i, n in enumerate(b["counts"]) if n]
    low = sum(n * edge(b["schema"], i - 1) for i, n in full) * (1 - 1e-9)
    high = sum(n * edge(b["schema"], i) for i, n in full) * (1 + 1e-9) + min(inferred, h["count"])
    wrong = []
    if h["count"] != b["zero"] + sum(n for _, n in full):
        wrong.append("count %d, in buckets %d" % (h["count"], b["zero"] + sum(n for _, n in full)))
    beyond = full and full[-1][0] >= TOP_SLOT[b["schema"]]
    if h["sum"] < low or (h["sum"] > high and not beyond):
        wrong.append("sum %d, by its buckets %.0f to %.0f" % (h["sum"], low, high))
    if full and not b["zero"] and not inside(b["schema"], full[0][0], h["min"]):
        wrong.append("min %d, not in the first bucket, %d" % (h["min"], full[0][0]))
    if full and not inside(b["schema"], full[-1][0], h["max"]):
        wrong.append("max %d, not in the last bucket, %d" % (h["max"], full[-1][0]))
    if wrong:
        raise AssertionError("buckets of %s: %s" % (name, "; ".join(wrong)))


def inside(schema, index, value):
    high = math.inf if index >= TOP_SLOT[schema] else edge(schema, index) * (1 + 1e-9)
    return edge(schema, index - 1) * (1 - 1e-9) < value <= high


def histograms(thing, name=(), keys=()):
    """(name, label keys, histogram) of everything in a report that has buckets, wherever it stands."""
    if isinstance(thing, list):
        for one in thing:
            yield from histograms(one, name, keys)
        return
    if not isinstance(thing, dict):
        return
    keys = tuple(sorted(thing.get("labels", ()))) or keys
    if "source" in thing:  # a row of a table
        name = (thing["source"],)
    elif "buckets" in thing and "name" in thing:
        name = (thing["name"],)
    if "buckets" in thing:
        yield " ".join(name), keys, thing
    for key, value in thing.items():
        if isinstance(value, (dict, list)):
            yield from histograms(value, name + (key,) if "source" in thing or name else (), keys)


def check_report(lines):
    """No report may pass whose buckets say something else than its exact counts and sums."""
    for line in lines:
        inferred = line.get("quality", {}).get("inferred", 0)
        for name, keys, h in histograms(line):
            check_buckets("%s %s" % (name, ",".join(keys)), h, inferred)
            HISTOGRAMS[name, keys] = HISTOGRAMS.get((name, keys), 0) + h["count"]


class Report:
    """The JSON Lines of one run."""

    def __init__(self, text, status=0, stderr=""):
        self.text = text
        self.status = status
        self.stderr = stderr
        self.lines = [json.loads(line) for line in text.splitlines()]
        self.intervals = self.of("interval")
        self.slow = self.of("slow")
        check_report(self.lines)

    def of(self, kind):
        return [line for line in self.lines if line["type"] == kind]

    @property
    def meta(self):
        (meta,) = self.of("meta")
        return meta

    @property
    def final(self):
        (final,) = self.of("final")
        return final


def metric(frame, name, **labels):
    """A frame's metric: no label = the whole, else the one whose labels include these; or None."""
    labels = {k: str(v) for k, v in labels.items()}
    for m in frame["metrics"]:
        if m["name"] != name:
            continue
        if labels.items() <= m["labels"].items() and (labels or not m["labels"]):
            return m
    return None


def count(frame, name, **labels):
    m = metric(frame, name, **labels)
    return m["count"] if m else 0


def total_ns(frame, name, **labels):
    m = metric(frame, name, **labels)
    return m["sum"] if m else 0


def withheld(frame):
    """Waits that the kernel did not let us see whole, as counted."""
    return frame["quality"]["unpaired"] + frame["quality"]["map_full"]


def hidden(frame):
    """These, and waits whose kind was inferred: woken, but not seen how, one may be of another kind."""
    return withheld(frame) + frame["quality"]["inferred"]


def sleeps(sleeper, tid):
    """All sleeps of the load, between switches of the thread that are none of them: how often it blocked.

    A switch-in that a sandbox hides from us is known from the thread's next one that it does not, if there was
    one before: of the first sleep that was none, the last one has no next.
    """
    send_around(tid)
    sleeper.go()
    blocked = sleeper.line()["blocked"]
    send_around(tid)
    return blocked


def send_around(tid):
    """To another CPU and back, which queues a running thread anew and wakes nobody."""
    cpus = os.sched_getaffinity(tid)
    for cpu in sorted(cpus)[:2] * 2:
        os.sched_setaffinity(tid, {cpu})
    os.sched_setaffinity(tid, cpus)


def groups(frame, name, key):
    """{label value: metric} of a --by report."""
    return {
        m["labels"][key]: m
        for m in frame["metrics"]
        if m["name"] == name and key in m["labels"]
    }


def buckets(m):
    """{index: count} without empty ones, and the zeroes."""
    b = m["buckets"]
    full = {b["offset"] + i: n for i, n in enumerate(b["counts"]) if n}
    return full, b["zero"]


# ---- processes ----


class Tool:
    """waitscope running, its JSON in a file: stdout is COMMAND's."""

    def __init__(self, test, args, json_out=True, env=None, prefix=(), cwd=None):
        self.dir = tempfile.mkdtemp(prefix="ws-test-")
        test.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.out_path = os.path.join(self.dir, "out")
        self.err_path = os.path.join(self.dir, "err")
        self.json_path = os.path.join(self.dir, "json")
        outputs = ["-o", "json:" + self.json_path] if json_out else []
        self.args = list(prefix) + test.launch + [TOOL] + test.options + outputs
        self.args += [str(a) for a in args]
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.proc = subprocess.Popen(
                self.args, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, cwd=cwd
            )
        test.addCleanup(self.kill)

    @staticmethod
    def text_of(path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as f:
            return f.read()

    def stdout(self):
        return self.text_of(self.out_path)

    def stderr(self):
        return self.text_of(self.err_path)

    def json(self):
        return self.text_of(self.json_path)

    def reports(self):
        """How many of intervals there were."""
        return self.json().count('"type":"interval"')

    def ready(self, timeout=PATIENCE_S):
        """Waits for the meta line: from then on everything is counted."""
        self.await_line('"type":"meta"', timeout)
        return self

    def await_line(self, text, timeout=PATIENCE_S):
        end = time.monotonic() + timeout
        while text not in self.json():
            if self.proc.poll() is not None and text not in self.json():
                raise AssertionError(
                    "waitscope ended with %d: %s" % (self.proc.returncode, self.stderr())
                )
            if time.monotonic() > end:
                raise AssertionError("no %s within %d s: %s" % (text, timeout, self.stderr()))
            time.sleep(0.01)

    def send(self, sig):
        self.proc.send_signal(sig)

    def wait(self, timeout=PATIENCE_S):
        try:
            return self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("waitscope did not end within %d s" % timeout) from None

    def end(self, timeout=PATIENCE_S):
        """Waits for the end; the report, which must be whole."""
        status = self.wait(timeout)
        return Report(self.json(), status, self.stderr())

    def stop(self, sig=signal.SIGINT, timeout=PATIENCE_S):
        self.send(sig)
        return self.end(timeout)

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
            self.proc.wait()


class Load:
    """A load program: JSON lines out, a byte in to go on."""

    def __init__(self, test, name, *args, **kwargs):
        self.proc = subprocess.Popen(
            [load_path(name)] + [str(a) for a in args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **kwargs
        )
        test.addCleanup(self.kill)
        self.pid = self.proc.pid

    def line(self):
        text = self.proc.stdout.readline()
        if not text:
            raise AssertionError("load ended early with %s" % self.proc.wait())
        return json.loads(text)

    def go(self):
        self.proc.stdin.write("x")
        self.proc.stdin.flush()

    def end(self, timeout=2 * PATIENCE_S):
        """Lets it run to its end; the lines not yet read."""
        out, _ = self.proc.communicate(timeout=timeout)
        if self.proc.returncode:
            raise AssertionError("load failed with %d" % self.proc.returncode)
        return [json.loads(line) for line in out.splitlines()]

    def kill(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()
        for stream in (self.proc.stdin, self.proc.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def load_path(name):
    return os.path.join(BUILD, "tests", "load", name)


def stat_of(pid):
    """/proc/PID/stat after the name: state, parent, ...; empty once it is gone."""
    try:
        with open("/proc/%s/stat" % pid, errors="replace") as f:
            return f.read().rpartition(")")[2].split()
    except OSError:
        return []


Schedstat = collections.namedtuple("Schedstat", "ran_ns waited_ns turns")


def schedstat_of(task):
    """/proc/PID/schedstat, of a thread too (PID/task/TID): how long it ran, waited for a CPU, and how often it got one."""
    with open("/proc/%s/schedstat" % task, encoding="ascii") as f:
        return Schedstat(*map(int, f.read().split()))


def switches_of(task):
    """(voluntary, involuntary) switches of a process's first thread, or of a thread (PID/task/TID), by the kernel's count."""
    with open("/proc/%s/status" % task, encoding="ascii", errors="replace") as f:
        lines = dict(line.rstrip("\n").split(":", 1) for line in f)
    return int(lines["voluntary_ctxt_switches"]), int(lines["nonvoluntary_ctxt_switches"])


def children_of(pid):
    """Processes whose parent is pid, now."""
    return {int(p) for p in os.listdir("/proc") if p.isdigit() and stat_of(p)[1:2] == [str(pid)]}


def runs(pid):
    """Still there, and not just waiting to be reaped?"""
    return stat_of(pid)[:1] not in ([], ["Z"])


def threads_of(pid):
    return [int(t) for t in os.listdir("/proc/%d/task" % pid)]


# ---- cgroups ----


def mount_of(fstype, option=None):
    """Where a file system of this type (and super option) is mounted, or None."""
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, right = line.rstrip("\n").split(" - ")
            kind, _, options = right.split(" ", 2)
            if kind == fstype and (option is None or option in options.split(",")):
                return left.split()[4]
    return None


class Cgroup:
    """A cgroup of our own, removed at the end with what is below and in it."""

    def __init__(self, test, name=None, parent=None, mount=None):
        self.mount = mount or (parent.mount if parent else mount_of("cgroup2"))
        if not self.mount:
            test.skipTest("no cgroup v2 mount")
        above = parent.path if parent else self.mount
        self.path = os.path.join(above, name or "ws-test-%d" % os.getpid())
        os.mkdir(self.path)
        test.addCleanup(self.remove)

    @property
    def relative(self):
        return self.path[len(self.mount):]

    @property
    def id(self):
        return os.stat(self.path).st_ino

    def add(self, pid):
        with open(self.path + "/cgroup.procs", "w") as f:
            f.write(str(pid))

    def enter(self):
        """For preexec_fn."""
        return lambda: self.add(os.getpid())

    def remove(self):
        if not os.path.isdir(self.path):
            return
        for _ in range(200):
            with open(self.path + "/cgroup.procs") as f:
                pids = [int(p) for p in f.read().split()]
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("cannot remove %s" % self.path)


# ---- BPF objects ----


def bpf_list(kind):
    """What bpftool says; it gives up when a link's program goes while it lists them."""
    for _ in range(100):
        done = subprocess.run(["bpftool", "-j", kind, "show"], capture_output=True, text=True)
        if not done.returncode:
            return json.loads(done.stdout or "[]")
        time.sleep(0.05)
    raise AssertionError("bpftool %s show: %s%s" % (kind, done.stdout, done.stderr))


def bpf_ids():
    """{("prog", id), ...} of all programs, maps and links in the kernel."""
    return {(kind, o["id"]) for kind in ("prog", "map", "link") for o in bpf_list(kind)}


def bpf_held():
    """Those that a live process holds open: another user of the machine is no leak of ours."""
    return bpf_held_by("[0-9]*")


def bpf_held_by(pid):
    held = set()
    for path in glob.glob("/proc/%s/fdinfo/*" % pid):
        try:
            with open(path) as f:
                text = f.read()
        except OSError:
            continue
        held |= {(k, int(i)) for k, i in re.findall(r"^(prog|map|link)_id:\t(\d+)", text, re.M)}
    return held


def bpf_map_of(pid, name):
    """What bpftool says of the one map of that name (a regular expression) that the process holds."""
    held = bpf_held_by(pid)
    (found,) = [m for m in bpf_list("map") if ("map", m["id"]) in held and re.fullmatch(name, m.get("name", ""))]
    return found


def bpftool(*args):
    """What it says, as JSON; None: nothing."""
    text = subprocess.run(["bpftool", "-j", *args], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text) if text.strip() else None


def bpf_map_call(command, attr, ident):
    """bpf(2) about the map of that number."""
    got = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, command, ctypes.byref(attr), ctypes.sizeof(attr))
    if got < 0:
        raise OSError(ctypes.get_errno(), "bpf map %d" % ident)
    return got


def bpf_map_fd(ident):
    """A descriptor of a map, by BPF_MAP_GET_FD_BY_ID."""
    return bpf_map_call(14, (ctypes.c_uint32 * 4)(ident), ident)


def bpf_map_element(command, ident, key, value):
    """Of an array: BPF_MAP_LOOKUP_ELEM (1) fills the bytearray, BPF_MAP_UPDATE_ELEM (2) is given it."""
    fd = bpf_map_fd(ident)
    data = (ctypes.c_ubyte * len(value)).from_buffer(value)
    at = ctypes.c_uint32(key)
    try:
        bpf_map_call(command, (ctypes.c_uint64 * 4)(fd, ctypes.addressof(at), ctypes.addressof(data)), ident)
    finally:
        os.close(fd)
    return value


def bpf_leaked(before, patience_s=PATIENCE_S):
    """What was made since `before` and nobody holds; the kernel frees some time after the close."""
    end = time.monotonic() + patience_s
    while True:
        new = bpf_ids() - before
        leaked = new - bpf_held() if new else new
        if not leaked or time.monotonic() > end:
            return leaked
        time.sleep(0.05)


# ---- the test case ----


class KernelTest(unittest.TestCase):
    longMessage = True
    launch = []  # what runs the tool, and becomes it
    options = []  # that every run of it has

    def setUp(self):
        if os.geteuid():
            self.skipTest("not root")
        self.notes = []

    def doCleanups(self):
        """What came meanwhile comes at the end of it, as an error of this test."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        super().doCleanups()
        self.addCleanup(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        return super().doCleanups()

    def until(self, true, what):
        """Waits until true() is; `what` words it."""
        end = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > end:
                self.fail("not within %d s: %s" % (PATIENCE_S, what))
            time.sleep(0.01)

    def next_report(self, tool, n=1):
        """Waits for n more reports of intervals."""
        had = tool.reports()
        self.until(lambda: tool.reports() >= had + n, "%d reports" % n)

    def by_chance(self, look, tries=4):
        """What look() returns the first time that its assertions hold: samples may miss what is there."""
        for _ in range(tries - 1):
            try:
                return look()
            except (AssertionError, KeyError) as e:
                self.note("again: %s", str(e).splitlines()[0])
        return look()

    def note(self, fmt, *args):
        """A figure for the log."""
        self.notes.append(fmt % args if args else fmt)

    def tool(self, *args, **kwargs):
        """Of the scheduler's waits, unless the test names its sources."""
        if "-s" not in args:
            args = ("-s", "sched") + args
        return Tool(self, args, **kwargs)

    def load(self, name, *args, **kwargs):
        return Load(self, name, *args, **kwargs)

    def cgroup(self, name=None, parent=None, mount=None):
        return Cgroup(self, name, parent, mount)

    def keep_busy(self):
        """No CPU idles until the end of the test: a spinner in class SCHED_IDLE on each.

        Where a sandbox hides its own threads from tracers, a task that follows one of them on a CPU is
        switched in unreported, to tracefs and perf far more often than to BPF, and mostly when the CPU
        was idle. waitscope counts these (unpaired); the reference must not have too many.
        """

        for cpu in sorted(os.sched_getaffinity(0)):
            hog = self.load("hog", "--cpu", cpu, 1, 600).line()
            for tid in [hog["pid"]] + hog["tids"]:  # only now: in that class its start may take minutes
                os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0))

    def two_cpus(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("one CPU only")
        return cpus[0], cpus[1]

    def undisturbed(self, run, attempts=8, waits=None, enough=None, seen=None):
        """The first result of run() -> (final, ...) that no hidden switch disturbed, or the last.

        Nor did others crowd the CPUs: more than `waits` waits are not the load's own. The kernel's account
        and a tracer read their clocks 1 us apart, which 100,000 foreign switches make 5 % of.

        With `seen`, that says of a result whether it has all the switch-ins that the kernel counts: of a hidden one that
        was a task's last, no later one tells.

        With `enough`, it is run(ms): the shorter, the less often disturbed; longer each time that enough(final) is not.
        """
        ms = SHORT_MS
        for _ in range(attempts):
            result = run(ms) if enough else run()
            finals = [r for r in result if isinstance(r, dict) and "quality" in r]
            hidden = sum(f["quality"][k] for f in finals for k in ("unpaired", "inferred", "map_full"))
            n = count(finals[0], "sched_run_delay")
            if enough and not enough(finals[0]):
                ms = min(2 * ms, LONG_MS)
            elif not hidden and (not waits or n < waits) and (not seen or seen(result)):
                break
        self.note("%d waits, %d hidden", n, hidden)
        return result

    def lossless(self, run, losses, attempts=4):
        """The first result of run() -> (report, ...) whose final report counts none of `losses`, or the last."""
        for _ in range(attempts):
            result = run()
            lost = {k: n for k, n in result[0].final["quality"].items() if k in losses and n}
            if not lost:
                break
            self.note("%s", lost)
        return result

    def whole(self, traced):
        """traced(buffer_kb); on a machine that switches all the time with four times the buffer, for it has more events."""
        if switches_per_s() < SWITCHES_MANY:
            try:
                return traced(ref.BUFFER_KB)
            except ref.Lost as e:
                self.note("again: %s", e)
        return traced(4 * ref.BUFFER_KB)

    def assertWithin(self, got, want, relative, absolute=0, msg=None):
        room = abs(want) * relative + absolute
        self.assertLessEqual(abs(got - want), room, msg)

    def assertComplete(self, frame, samples=None):
        """No losses but what the kernel withheld, up to 1 % and 1 per mille of the waits.

        That is a wait whose end or beginning it did not report (unpaired, see keep_busy), and an entry that
        it did not make (map_full): of new groups and tasks, where a CPU's stock of memory is empty for a
        moment, or a task was preempted in the middle of giving its own back. Waitscope's part is to count.
        """
        q = frame["quality"]
        if samples is None:
            samples = count(frame, "sched_run_delay")
        for loss in ("clamped", "recursion_misses", "lost_events", "over_range"):
            self.assertEqual(q[loss], 0, "%s in %s" % (loss, q))
        self.assertLessEqual(q["map_full"], 3 + samples // 1000, q)
        self.assertLessEqual(q["unpaired"], 3 + samples // 100, q)

    def assertCounted(self, frame, got, want):
        """Each of `want` waits is a sample or was counted as withheld; exact where nothing is."""
        inferred = frame["quality"]["inferred"]
        self.note("%d of %d, withheld %d, inferred %d", got, want, withheld(frame), inferred)
        self.assertLessEqual(abs(got - want), hidden(frame))
        self.assertLessEqual(inferred, 3 + want // 100)
        self.assertComplete(frame, want)


# ---- TAP ----


class Tap:
    """Where TAP goes. Once nobody reads it, the rest goes nowhere: an exception here, out of unittest's own report of a
    failure, would leave out the clean-up of the test."""

    def __init__(self, stream):
        self.stream = stream
        self.unread = False

    def write(self, text):
        try:
            self.stream.write(text)
            self.stream.flush()
        except BrokenPipeError:
            self.unread = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())  # what the stream still holds, too
            os.close(nowhere)


class TapResult(unittest.TestResult):
    def __init__(self, tap, n=0):
        super().__init__()
        self.tap = tap
        self.n = n
        self.began = took()

    def _say(self, text):
        self.tap.write(text)
        self.shouldStop |= self.tap.unread

    def _line(self, ok, test, tail=""):
        self.n += 1
        said = "%s %d - %s%s\n" % ("ok" if ok else "not ok", self.n, title(test), tail)
        notes = [*getattr(test, "notes", []), took(self.began)]
        self._say(said + "".join("# %s\n" % note for note in notes))

    def startTest(self, test):
        super().startTest(test)
        self.began = took()

    def _failed(self, test, err):
        self._line(False, test)
        self._say("".join("#   %s\n" % line for line in self._exc_info_to_string(err, test).splitlines()))
        self.shouldStop |= issubclass(err[0], Interrupted)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(True, test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(True, test, " # SKIP " + reason)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, err)


def few(everything, chosen):
    """The part of a test's cells that make check runs; all of them in make check-all and for a suite that is asked for by name."""
    return everything if os.environ.get("WS_LONG", "1") else chosen


def title(test):
    """The first line of the docstring, else the name."""
    return (test.shortDescription() or str(test)).replace("#", "no.")


def together(tests):
    """A test, or all of a class, that others marked so may run beside: it asserts counts and sums of its own processes,
    or times that they spend asleep, and none of it is about who has a CPU."""
    tests.together = True
    return tests


def is_together(test):
    own = getattr(type(test), test._testMethodName)  # pylint: disable=protected-access
    return getattr(own, "together", getattr(test, "together", False))


AT_ONCE = 4  # of these, on any number of CPUs: they hardly use one


class Beside:
    """A test in a process of its own, and its TAP."""

    def __init__(self, test):
        self.test = test
        self.out = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.pid = os.fork()
        if self.pid:
            return
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
            result = TapResult(Tap(self.out))
            unittest.TestSuite([test]).run(result)
            status = 0 if result.wasSuccessful() else 1
        finally:
            os._exit(status)

    def lines(self, status):
        """What it said, when it has ended; a test that said nothing died of something."""
        self.out.seek(0)
        said = self.out.read()
        self.out.close()
        if "ok " not in said:
            said += "not ok 0 - %s\n# ended with status %d\n" % (title(self.test), status)
        return said.splitlines(keepends=True)


class Crowd:
    """The TAP of many tests, AT_ONCE of them at a time."""

    def __init__(self, tap):
        self.tap = tap
        self.n = 0
        self.failed = False
        self.running = {}  # Beside by pid

    def run(self, tests):
        try:
            for test in tests:
                if len(self.running) == AT_ONCE:
                    self.reap()
                if self.tap.unread:
                    break
                with undisturbed():
                    one = Beside(test)
                    self.running[one.pid] = one
            while self.running:
                self.reap()
        except Interrupted:
            self.failed = True
            for pid in self.running:
                os.kill(pid, signal.SIGTERM)
            while self.running:
                self.reap()
            return False
        return not self.tap.unread

    def reap(self):
        """Waits for one of them, and tells of it."""
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        with undisturbed():
            pid, status = os.wait()
            status = os.waitstatus_to_exitcode(status)
            self.failed |= status != 0
            for line in self.running.pop(pid).lines(status):
                said = re.match(r"(not ok|ok) \d+(.*)", line, re.S)
                if said:
                    self.n += 1
                    line = "%s %d%s" % (said[1], self.n, said[2])
                self.tap.write(line)


def main():
    """TAP of the calling file's tests; arguments select by substring of the title."""
    interruptible()
    suite, beside = unittest.TestSuite(), []
    for case in unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]):
        for test in case:
            # A failed part of a test is called after it.
            wanted = all(word in title(test) or word.startswith(title(test)) for word in sys.argv[1:])
            if wanted and not is_later(title(test)):
                if is_together(test):
                    beside.append(test)
                else:
                    suite.addTest(test)
    tap = Tap(sys.stdout)
    crowd = Crowd(tap)
    goes_on = crowd.run(beside)
    result = TapResult(tap, crowd.n)
    if goes_on:
        suite.run(result)
    tap.write("1..%d\n" % result.n)
    sys.exit(0 if result.wasSuccessful() and not crowd.failed and not tap.unread else 1)
