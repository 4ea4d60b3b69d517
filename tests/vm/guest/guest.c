// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tests that run inside a guest, on a kernel that is not this machine's: does the static binary
 * work here, and are its numbers the kernel's own? TAP on stdout; what this guest is for is on the
 * kernel's command line (guests.list). Load programs are those of tests/load.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ext4_file.h"
#include "futex.h"
#include "objects.h"
#include "proc.h"

#define TOOL "/bin/waitscope"
#define OUT "/tmp/report.json"
#define ERR "/tmp/stderr"
#define BTF_FILE "/btf" /* of a guest whose kernel shows none (boot.sh) */
#define TOOL_ARGS 24
#define START_MS 30000 /* a guest is emulated: 10 to 50 times slower */
#define END_MS 30000
#define NAPS "211"
#define METRIC "sched_wakeup_latency"

struct guest {
	char cmdline[2048];
	char why[1024]; /* what the running test has to say */
};

struct test {
	const char *name;
	int (*run)(struct guest *g);
	const char *option; /* only with this option on the command line */
};

enum { PASS, FAIL, SKIP };

static int say(struct guest *g, int result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int say(struct guest *g, int result, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(g->why, sizeof(g->why), fmt, ap); /* cut is fine */
	va_end(ap);
	return result;
}

/* Its stderr, on one line. */
static const char *stderr_line(void)
{
	static char line[512];
	char *text = file_text(ERR);

	(void)snprintf(line, sizeof(line), "%s", text);
	free(text);
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return line;
}

/* proc_start of waitscope: where the kernel shows no BTF, with the file of it. */
static int tool_run(struct proc *tool, const char *const argv[], proc_setup_fn setup, void *ctx)
{
	const char *all[TOOL_ARGS] = {argv[0]};
	int n = 1;

	if (access("/sys/kernel/btf/vmlinux", F_OK)) {
		all[n++] = "--btf";
		all[n++] = BTF_FILE;
	}
	while (*++argv && n < TOOL_ARGS - 1)
		all[n++] = *argv;
	return proc_start(tool, all, ERR, setup, ctx);
}

/* waitscope, writing JSON, counting when this returns true. */
static bool tool_start(struct proc *tool, const char *const more[])
{
	const char *argv[TOOL_ARGS] = {TOOL, "-s", "sched", "-i", "1", "-o", "json:" OUT};
	int n = 7;

	while (*more && n < TOOL_ARGS - 1)
		argv[n++] = *more++;
	(void)unlink(OUT);
	return tool_run(tool, argv, NULL, NULL) == 0 && report_await(tool, OUT, "meta", START_MS);
}

/* Ends it with SIGINT; its reports, or NULL with words. */
static struct json_object *tool_finish(struct guest *g, struct proc *tool)
{
	struct json_object *report;
	int status;

	(void)kill(tool->pid, SIGINT);
	status = proc_wait(tool, END_MS);
	if (status) {
		(void)say(g, FAIL, "exit %d after SIGINT: %s", status, stderr_line());
		return NULL;
	}
	report = report_load(OUT);
	if (!report || !report_line(report, "final")) {
		(void)say(g, FAIL, "no complete final report (%s)", stderr_line());
		json_object_put(report);
		return NULL;
	}
	return report;
}

static int online_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int possible_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_CONF);
}

/* ---- tests ---- */

static int test_starts(struct guest *g)
{
	const char *const more[] = {NULL};
	struct json_object *report, *meta, *source;
	const char *state;
	struct proc tool;
	int64_t count;
	int cpus;

	if (!tool_start(&tool, more)) {
		(void)proc_wait(&tool, 100);
		return say(g, FAIL, "no meta line: %s", stderr_line());
	}
	sleep_ms(1500);
	report = tool_finish(g, &tool);
	if (!report)
		return FAIL;
	meta = report_line(report, "meta");
	cpus = json_object_get_int(json_object_object_get(meta, "cpus"));
	source = json_object_array_get_idx(json_object_object_get(meta, "sources"), 0);
	state = json_object_get_string(json_object_object_get(source, "state"));
	if (cpus != online_cpus())
		(void)say(g, FAIL, "meta says %d CPUs, %d are online", cpus, online_cpus());
	else if (!state || strcmp(state, "on"))
		(void)say(g, FAIL, "source sched is %s", state ? state : "missing");
	count = report_sum(report_line(report, "final"), METRIC, NULL, NULL, "count");
	json_object_put(report);
	if (*g->why)
		return FAIL;
	return say(g, count > 0 ? PASS : FAIL, "%lld wakeups seen", (long long)count);
}

/* Sum of a crew's run delay between "before" and "after", ns; -1 if it is not as expected. */
static int64_t crew_delay(struct proc *load, int threads)
{
	int64_t sum = 0;

	for (int i = 0; i < threads; i++) {
		struct json_object *line = proc_read_json(load), *before, *after;

		before = json_object_object_get(line, "before");
		after = json_object_object_get(line, "after");
		if (!before || !after) {
			json_object_put(line);
			return -1;
		}
		sum += json_object_get_int64(json_object_object_get(after, "delay_ns")) -
		       json_object_get_int64(json_object_object_get(before, "delay_ns"));
		json_object_put(line);
	}
	return sum;
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		(void)close(fd); /* sysfs reports at write */
	return ok;
}

/* CPU 1 off and on again, three times, while everything runs. */
static bool toggle_cpu(void)
{
	bool ok = true;

	for (int i = 0; i < 3; i++) {
		ok &= write_text("/sys/devices/system/cpu/cpu1/online", "0");
		sleep_ms(300);
		ok &= write_text("/sys/devices/system/cpu/cpu1/online", "1");
		sleep_ms(300);
	}
	return ok;
}

/* One more busy thread than CPUs; the kernel's own sum of their waits is the truth. */
static int run_delay(struct guest *g, bool hotplug, int tolerance_percent)
{
	char threads[16], pid[16];
	const char *const load_argv[] = {"/bin/hog", "--wait", threads, "3", NULL};
	const char *const more[] = {"-p", pid, NULL};
	struct json_object *hello, *report;
	int n = online_cpus() + 1;
	struct proc load, tool;
	int64_t truth, ours;
	bool toggled = true;

	(void)snprintf(threads, sizeof(threads), "%d", n);
	if (proc_start(&load, load_argv, NULL, NULL, NULL))
		return say(g, FAIL, "cannot start hog");
	hello = proc_read_json(&load);
	(void)snprintf(pid, sizeof(pid), "%d",
		       json_object_get_int(json_object_object_get(hello, "pid")));
	json_object_put(hello);
	if (!tool_start(&tool, more)) {
		(void)proc_wait(&tool, 100);
		(void)proc_wait(&load, 0);
		return say(g, FAIL, "no meta line: %s", stderr_line());
	}
	proc_poke(&load);
	if (hotplug)
		toggled = toggle_cpu();
	truth = crew_delay(&load, n);
	report = tool_finish(g, &tool);
	proc_poke(&load);
	(void)proc_wait(&load, END_MS);
	if (!report)
		return FAIL;
	ours = report_sum(report_line(report, "final"), "sched_run_delay", NULL, NULL, "sum");
	json_object_put(report);
	if (!toggled)
		return say(g, FAIL, "CPU 1 does not go offline and back");
	if (truth <= 0)
		return say(g, FAIL, "hog gave no schedstat");
	return say(g,
		   llabs((long long)(ours - truth)) * 100 <= truth * tolerance_percent ? PASS
										       : FAIL,
		   "ours %lld us, schedstat %lld us: %+.2f %%, within %d %%",
		   (long long)ours / 1000, (long long)truth / 1000,
		   100.0 * (double)(ours - truth) / (double)truth, tolerance_percent);
}

static int test_run_delay(struct guest *g)
{
	return run_delay(g, false, online_cpus() > 2 ? 10 : 5);
}

static int test_hotplug(struct guest *g)
{
	return run_delay(g, true, 10);
}

/* Every --by key is another program to the verifier, and old ones are strict. */
static int test_groups(struct guest *g)
{
	static const char *const keys[] = {"cpu", "pid", "tid", "comm", "cgroup"};
	int64_t lost = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *const more[] = {"--by", keys[i], NULL};
		struct json_object *report, *final;
		int64_t whole, groups, full;
		struct proc tool;

		if (!tool_start(&tool, more)) {
			(void)proc_wait(&tool, 100);
			return say(g, FAIL, "--by %s: no meta line: %s", keys[i], stderr_line());
		}
		sleep_ms(1000);
		report = tool_finish(g, &tool);
		if (!report)
			return FAIL;
		final = report_line(report, "final");
		whole = report_sum(final, METRIC, NULL, NULL, "count");
		groups = report_sum(final, METRIC, keys[i], NULL, "count");
		full = json_object_get_int64(json_object_object_get(
			json_object_object_get(final, "quality"), "map_full"));
		json_object_put(report);
		if (whole <= 0 || groups > whole || (groups < whole && full < whole - groups))
			return say(g, FAIL,
				   "--by %s: groups have %lld of %lld wakeups, map_full %lld",
				   keys[i], (long long)groups, (long long)whole, (long long)full);
		lost += whole - groups;
	}
	return say(
		g, PASS,
		"--by cpu, pid, tid, comm and cgroup add up to the whole, %lld counted as map_full",
		(long long)lost);
}

static int test_sleeper(struct guest *g)
{
	const char *const load_argv[] = {"/bin/sleeper", NAPS, "2000", NULL};
	char tid[16];
	const char *const more[] = {"-t", tid, NULL};
	struct json_object *line, *report;
	struct proc load, tool;
	int64_t blocked, count;

	if (proc_start(&load, load_argv, NULL, NULL, NULL))
		return say(g, FAIL, "cannot start sleeper");
	line = proc_read_json(&load);
	(void)snprintf(tid, sizeof(tid), "%d",
		       json_object_get_int(json_object_object_get(line, "tid")));
	json_object_put(line);
	if (!tool_start(&tool, more)) {
		(void)proc_wait(&tool, 100);
		(void)proc_wait(&load, 0);
		return say(g, FAIL, "no meta line: %s", stderr_line());
	}
	proc_poke(&load);
	line = proc_read_json(&load);
	blocked = json_object_get_int64(json_object_object_get(line, "blocked"));
	json_object_put(line);
	report = tool_finish(g, &tool);
	proc_poke(&load);
	(void)proc_wait(&load, END_MS);
	if (!report)
		return FAIL;
	count = report_sum(report_line(report, "final"), METRIC, NULL, NULL, "count");
	json_object_put(report);
	return say(g, count == blocked && blocked == atoi(NAPS) ? PASS : FAIL,
		   "%lld wakeups of %lld sleeps", (long long)count, (long long)blocked);
}

/* Possible CPUs outnumber the online ones: rows only for CPUs that ran something. */
static int test_possible(struct guest *g)
{
	const char *const more[] = {"--by", "cpu", NULL};
	struct json_object *report, *final;
	struct proc tool;
	char cpu[16];

	if (possible_cpus() <= online_cpus())
		return say(g, FAIL, "%d possible, %d online: not what this guest is for",
			   possible_cpus(), online_cpus());
	if (!tool_start(&tool, more)) {
		(void)proc_wait(&tool, 100);
		return say(g, FAIL, "no meta line: %s", stderr_line());
	}
	sleep_ms(1500);
	report = tool_finish(g, &tool);
	if (!report)
		return FAIL;
	final = report_line(report, "final");
	for (int i = 0; i < possible_cpus(); i++) {
		int64_t count;

		(void)snprintf(cpu, sizeof(cpu), "%d", i);
		count = report_sum(final, METRIC, "cpu", cpu, "count");
		if (i < online_cpus() ? count <= 0 : count > 0)
			(void)say(g, FAIL, "CPU %d of %d online: count %lld", i, online_cpus(),
				  (long long)count);
	}
	json_object_put(report);
	if (*g->why)
		return FAIL;
	return say(g, PASS, "%d possible, %d online", possible_cpus(), online_cpus());
}

/* A timer ends a nap: the waker is an interrupt, where the kernel lets us tell. */
static int test_waker(struct guest *g)
{
	const char *const load_argv[] = {"/bin/sleeper", "7", "2000", NULL};
	char tid[16];
	const char *const more[] = {"-t", tid, "--slower", "0us", NULL};
	struct json_object *line, *report;
	int irq = 0, unknown = 0, other = 0;
	struct proc load, tool;

	if (proc_start(&load, load_argv, NULL, NULL, NULL))
		return say(g, FAIL, "cannot start sleeper");
	line = proc_read_json(&load);
	(void)snprintf(tid, sizeof(tid), "%d",
		       json_object_get_int(json_object_object_get(line, "tid")));
	json_object_put(line);
	if (!tool_start(&tool, more)) {
		(void)proc_wait(&tool, 100);
		(void)proc_wait(&load, 0);
		return say(g, FAIL, "no meta line: %s", stderr_line());
	}
	proc_poke(&load);
	json_object_put(proc_read_json(&load));
	report = tool_finish(g, &tool);
	proc_poke(&load);
	(void)proc_wait(&load, END_MS);
	if (!report)
		return FAIL;
	for (size_t i = 0; i < json_object_array_length(report); i++) {
		char waker[32];

		line = json_object_array_get_idx(report, i);
		if (strcmp(json_text(line, "type"), "slow") ||
		    strcmp(json_text(line, "kind"), "wakeup"))
			continue;
		(void)snprintf(waker, sizeof(waker), "%s",
			       json_text(json_object_object_get(line, "waker"), "kind"));
		irq += strcmp(waker, "irq") == 0;
		unknown += strcmp(waker, "unknown") == 0;
		other += strcmp(waker, "irq") && strcmp(waker, "unknown");
	}
	json_object_put(report);
	if (unknown && !irq && !other)
		return say(g, SKIP, "this kernel does not let us tell a task from an interrupt");
	return say(g, irq >= 7 && !unknown && !other ? PASS : FAIL,
		   "%d wakeups by an interrupt, %d by who knows, %d by others", irq, unknown,
		   other);
}

static int test_leaves_nothing(struct guest *g)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGKILL};
	const char *const more[] = {NULL};
	int before, left;

	(void)bpf_left_soon(0); /* what earlier tests left to the kernel to free */
	before = bpf_left();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		struct proc tool;

		if (!tool_start(&tool, more)) {
			(void)proc_wait(&tool, 100);
			return say(g, FAIL, "no meta line: %s", stderr_line());
		}
		if (bpf_left() <= before)
			return say(g, FAIL, "no BPF objects while it runs: this test sees nothing");
		(void)kill(tool.pid, signals[i]);
		(void)proc_wait(&tool, END_MS);
		left = bpf_left_soon(before);
		if (left)
			return say(g, FAIL, "%d BPF objects left after signal %d", left,
				   signals[i]);
	}
	return say(g, PASS, "after SIGINT, SIGTERM and SIGKILL");
}

/* ---- privileges ---- */

/*
 * Not root any more, with these capabilities and no others (ambient: they survive the exec). Before
 * 5.11 BPF maps count as locked memory, and the manual says to raise that limit: as here.
 */
static int become_user(void *ctx)
{
	const struct rlimit no_limit = {RLIM_INFINITY, RLIM_INFINITY};
	const __u64 caps = *(const __u64 *)ctx;
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {
		{(__u32)caps, (__u32)caps, (__u32)caps},
		{(__u32)(caps >> 32), (__u32)(caps >> 32), (__u32)(caps >> 32)},
	};

	if (setrlimit(RLIMIT_MEMLOCK, &no_limit) || prctl(PR_SET_KEEPCAPS, 1) ||
	    setgroups(0, NULL) || setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000) ||
	    syscall(SYS_capset, &head, data))
		return 125;
	for (int c = 0; c < 64; c++)
		if (caps >> c & 1 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, c, 0, 0))
			return 125;
	return 0;
}

static int run_as_user(__u64 caps)
{
	const char *const argv[] = {TOOL, "-s", "sched", "-o", "json:/tmp/user/out",
				    "1",  "1",	NULL};
	struct proc tool;

	(void)mkdir("/tmp/user", 0777);
	(void)chmod("/tmp/user", 0777);
	if (tool_run(&tool, argv, become_user, &caps))
		return -1;
	return proc_wait(&tool, START_MS + END_MS);
}

static int test_user_with_caps(struct guest *g)
{
	int status = run_as_user(1ULL << CAP_BPF | 1ULL << CAP_PERFMON);

	return say(g, status == 0 ? PASS : FAIL, "exit %d %s", status, stderr_line());
}

static int test_user_without_caps(struct guest *g)
{
	int status = run_as_user(0);
	const char *line = stderr_line();
	bool said = strstr(line, "setcap cap_bpf") && strstr(line, TOOL);

	return say(g, status == 3 && said ? PASS : FAIL, "exit %d: %s", status, line);
}

/* Root has the tracepoints of single calls, a user with capabilities those of all calls. */
static int futex_as(struct guest *g, proc_setup_fn setup, void *ctx)
{
	static const char *const modes[] = {"threads", "pi", "eagain", "timeout", "bitset"};
	struct futex_try t = {.tool = TOOL, .err = ERR, .n = "20", .setup = setup, .ctx = ctx};
	char why[512];

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		t.mode = modes[i];
		if (!futex_try(&t, why, sizeof(why)))
			return say(g, FAIL, "%s %s", why, stderr_line());
	}
	return say(g, PASS, "as counted by the callers, in five ways");
}

static int test_futex(struct guest *g)
{
	return futex_as(g, NULL, NULL);
}

static int test_futex_user(struct guest *g)
{
	__u64 caps = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON;

	return futex_as(g, become_user, &caps);
}

/* ---- places where it cannot ---- */

static int without_sys(void *ctx __attribute__((unused)))
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    umount2("/sys", MNT_DETACH))
		return 125;
	return 0;
}

/* No BTF, no start without a file of it. */
static int refused(struct guest *g, proc_setup_fn setup)
{
	const char *const argv[] = {TOOL, "-s", "sched", "1", "1", NULL};
	struct proc tool;
	int status;

	if (proc_start(&tool, argv, ERR, setup, NULL))
		return FAIL;
	status = proc_wait(&tool, END_MS);
	return say(g, status == 3 && strstr(stderr_line(), "--btf FILE") ? PASS : FAIL,
		   "exit %d: %s", status, stderr_line());
}

static int test_no_sys(struct guest *g)
{
	return refused(g, without_sys);
}

static int status_of(const char *const argv[])
{
	struct proc tool;

	return tool_run(&tool, argv, NULL, NULL) ? -1 : proc_wait(&tool, END_MS);
}

/* Sources that need the kernel's own say so, with a file of it too. */
static int test_no_btf(struct guest *g)
{
	static const char *const others[] = {"ext4", "lock", "futex", "line"};
	int result = refused(g, NULL);

	for (size_t i = 0; result == PASS && i < sizeof(others) / sizeof(others[0]); i++) {
		const char *const argv[] = {TOOL, "-s", others[i], "1", "1", NULL};
		int status = status_of(argv);

		if (status != 3 || !strstr(stderr_line(), "the kernel has no BTF"))
			result = say(g, FAIL, "%s: exit %d: %s", others[i], status, stderr_line());
	}
	return result;
}

/* lockdown=confidentiality: what needs no bpf_probe_read_kernel works, the rest says why not. */
static int test_lockdown(struct guest *g)
{
	const char *const plain[] = {TOOL, "-s", "sched", "-o", "json:" OUT, "1", "1", NULL};
	const char *const slow[] = {TOOL, "-s", "sched", "--slower", "1ms", "1", "1", NULL};
	char *level = file_text("/sys/kernel/security/lockdown");
	bool on = strstr(level, "[confidentiality]") != NULL;
	int status;

	free(level);
	if (!on)
		return say(g, FAIL, "this guest is not locked down");
	status = status_of(plain);
	if (status)
		return say(g, FAIL, "plain: exit %d: %s", status, stderr_line());
	status = status_of(slow);
	return say(g, status == 3 && strstr(stderr_line(), "locked down") ? PASS : FAIL,
		   "plain runs; --slower: exit %d: %s", status, stderr_line());
}

/* Is the running kernel older than this? */
static bool older_than(int major, int minor)
{
	struct utsname un;
	int a = 0, b = 0;

	(void)uname(&un); /* cannot fail */
	if (sscanf(un.release, "%d.%d", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

static int64_t contended_waits(struct json_object *line)
{
	struct json_object *tables, *rows;
	int64_t n = 0;

	if (!json_object_object_get_ex(line, "tables", &tables) ||
	    !json_object_object_get_ex(tables, "contended", &rows))
		return 0;
	for (size_t i = 0; i < json_object_array_length(rows); i++)
		n += json_object_get_int64(
			json_object_object_get(json_object_array_get_idx(rows, i), "count"));
	return n;
}

/* Threads that map and fault wait for one lock; the rows are all waits. Before 5.19: a clear word.
 */
static int test_lock(struct guest *g)
{
	const char *const load_argv[] = {"/bin/locks", "mmap", "4", "2000", NULL};
	const char *const argv[] = {TOOL, "-s", "lock", "-i", "1", "-o", "json:" OUT, NULL};
	struct json_object *line, *report;
	struct proc load, tool;
	int64_t waits, rows;
	int status;

	(void)unlink(OUT);
	if (older_than(5, 19)) {
		status = status_of(argv);
		return say(g,
			   status == 3 && strstr(stderr_line(), "no lock:contention_begin") ? PASS
											    : FAIL,
			   "exit %d: %s", status, stderr_line());
	}
	if (proc_start(&load, load_argv, NULL, NULL, NULL))
		return say(g, FAIL, "cannot start locks");
	json_object_put(proc_read_json(&load));
	if (proc_start(&tool, argv, ERR, NULL, NULL) ||
	    !report_await(&tool, OUT, "meta", START_MS)) {
		(void)proc_wait(&tool, 100);
		(void)proc_wait(&load, 0);
		return say(g, FAIL, "no meta line: %s", stderr_line());
	}
	proc_poke(&load);
	json_object_put(proc_read_json(&load));
	report = tool_finish(g, &tool);
	(void)proc_wait(&load, END_MS);
	if (!report)
		return FAIL;
	line = report_line(report, "final");
	waits = report_sum(line, "lock_wait", NULL, NULL, "count");
	rows = contended_waits(line);
	json_object_put(report);
	return say(g, waits > 0 && waits == rows ? PASS : FAIL, "%lld waits, %lld in the rows",
		   (long long)waits, (long long)rows);
}

/* The lines after the facts are sources in their ways: for the table of kernels, one "# source"
 * each. What a source lacks stands below it, without a name. */
static int print_sources(char *text)
{
	char *line = strstr(text, "\ncgroup v2"), *next;
	int n = 0;

	line = line ? strchr(line + 1, '\n') : NULL;
	for (; line && line[1]; line = next) {
		next = strchr(++line, '\n');
		if (*line == ' ')
			continue;
		n++;
		printf("# source %.*s\n", next ? (int)(next - line) : (int)strlen(line), line);
	}
	return n;
}

static int test_check(struct guest *g)
{
	const char *const argv[] = {TOOL, "--check", NULL};
	struct proc tool;
	char text[4096];
	ssize_t n = 0;
	int status, sources;

	if (tool_run(&tool, argv, NULL, NULL))
		return FAIL;
	for (ssize_t got; n < (ssize_t)sizeof(text) - 1; n += got) {
		got = read(tool.out, text + n, sizeof(text) - 1 - (size_t)n);
		if (got <= 0)
			break;
	}
	text[n] = 0;
	status = proc_wait(&tool, END_MS);
	sources = print_sources(text);
	return say(g, status == 0 && sources > 0 ? PASS : FAIL,
		   "exit %d, %d sources in their ways %s", status, sources, stderr_line());
}

/* An ext4 of its own is mounted there in guests that have the option. */
static int test_ext4_files(struct guest *g)
{
	static const int results[] = {
		[EXT4_FILE_PASS] = PASS, [EXT4_FILE_FAIL] = FAIL, [EXT4_FILE_SKIP] = SKIP};

	return results[ext4_file_rows("/mnt", g->why, sizeof(g->why))];
}

static const struct test tests[] = {
	{"check", test_check, "sched"},
	{"starts", test_starts, "sched"},
	{"run-delay", test_run_delay, "sched"},
	{"sleeper", test_sleeper, "sched"},
	{"groups", test_groups, "sched"},
	{"waker", test_waker, "sched"},
	{"lock", test_lock, "btf"},
	{"leaves-nothing", test_leaves_nothing, "sched"},
	{"user-with-caps", test_user_with_caps, "sched"},
	{"user-without-caps", test_user_without_caps, "sched"},
	{"futex", test_futex, "btf"},
	{"futex-user", test_futex_user, "btf"},
	{"no-sys", test_no_sys, "sched"},
	{"hotplug", test_hotplug, "hotplug"},
	{"possible", test_possible, "online"},
	{"no-btf", test_no_btf, "nobtf"},
	{"ext4-files", test_ext4_files, "ext4"},
	{"check", test_check, "lockdown"},
	{"lockdown", test_lockdown, "lockdown"},
};

static bool wanted(const struct guest *g, const struct test *t)
{
	char word[64];

	(void)snprintf(word, sizeof(word), "ws.%s", t->option);
	return strstr(g->cmdline, word) != NULL;
}

int main(void)
{
	static const char *const words[] = {[PASS] = "ok", [FAIL] = "not ok", [SKIP] = "ok"};
	struct guest g = {0};
	struct utsname un;
	int nr = 0, failed = 0;
	char *cmdline = file_text("/proc/cmdline");

	(void)snprintf(g.cmdline, sizeof(g.cmdline), "%s", cmdline);
	free(cmdline);
	if (strstr(g.cmdline, "ws.nobtf") && mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL))
		perror("hide the kernel's BTF");
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)uname(&un); /* cannot fail */
	printf("# kernel %s %s, %d of %d CPUs\n", un.release, un.version, online_cpus(),
	       possible_cpus());
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		int result;

		if (!wanted(&g, &tests[i]))
			continue;
		g.why[0] = 0;
		result = tests[i].run(&g);
		failed += result == FAIL;
		printf("%s %d - %s", words[result], ++nr, tests[i].name);
		printf(result == SKIP ? " # SKIP %s\n" : ": %s\n", g.why);
	}
	printf("1..%d\n# END\n", nr);
	return failed ? 1 : 0;
}
