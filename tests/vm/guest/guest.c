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

#include "futex.h"
#include "guest.h"

#define TOOL_ARGS 24

int say(struct guest *g, int result, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(g->why, sizeof(g->why), fmt, ap); /* cut is fine */
	va_end(ap);
	return result;
}

void print_result(struct guest *g, int result, const char *name)
{
	static const char *const words[] = {[PASS] = "ok", [FAIL] = "not ok", [SKIP] = "ok"};

	g->failed += result == FAIL;
	printf("%s %d - %s", words[result], ++g->nr, name);
	printf(result == SKIP ? " # SKIP %s\n" : ": %s\n", g->why);
}

const char *stderr_line(void)
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

int tool_run(struct proc *tool, const char *const argv[], proc_setup_fn setup, void *ctx)
{
	const char *all[TOOL_ARGS] = {argv[0]};
	int n = 1;

	if (!strcmp(argv[0], TOOL) && access("/sys/kernel/btf/vmlinux", F_OK)) {
		all[n++] = "--btf";
		all[n++] = BTF_FILE;
	}
	while (*++argv && n < TOOL_ARGS - 1)
		all[n++] = *argv;
	return proc_start(tool, all, ERR, setup, ctx);
}

bool tool_start(struct guest *g, struct proc *tool, const char *source, const char *const more[])
{
	const char *argv[TOOL_ARGS] = {TOOL, "-s", source, "-i", "1", "-o", "json:" OUT};
	int n = 7;

	while (*more && n < TOOL_ARGS - 1)
		argv[n++] = *more++;
	(void)unlink(OUT);
	if (tool_run(tool, argv, NULL, NULL))
		return say(g, FAIL, "cannot start waitscope") == PASS;
	if (report_await(tool, OUT, "meta", START_MS))
		return true;
	(void)proc_wait(tool, 100);
	(void)say(g, FAIL, "-s %s %s: no meta line: %s", source, n > 7 ? argv[7] : "",
		  stderr_line());
	return false;
}

struct json_object *tool_finish(struct guest *g, struct proc *tool)
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

int status_of(const char *const argv[])
{
	struct proc tool;

	return tool_run(&tool, argv, NULL, NULL) ? -1 : proc_wait(&tool, END_MS);
}

bool run_start(struct guest *g, struct run *r, const char *const load[], const char *source,
	       const char *filter, const char *const more[])
{
	const char *all[TOOL_ARGS];
	char id[24];
	int n = 0;

	if (proc_start(&r->load, load, NULL, NULL, NULL))
		return say(g, FAIL, "cannot start %s", load[0]) == PASS;
	r->said = proc_read_json(&r->load);
	if (filter) {
		(void)snprintf(id, sizeof(id), "%lld",
			       (long long)json_number(r->said, filter[1] == 'p' ? "pid" : "tid"));
		all[n++] = filter;
		all[n++] = id;
	}
	while (*more && n < TOOL_ARGS - 1)
		all[n++] = *more++;
	all[n] = NULL;
	if (tool_start(g, &r->tool, source, all))
		return true;
	json_object_put(r->said);
	(void)proc_wait(&r->load, 0);
	return false;
}

struct json_object *run_go(struct run *r)
{
	proc_poke(&r->load);
	return proc_read_json(&r->load);
}

struct json_object *run_finish(struct guest *g, struct run *r)
{
	struct json_object *report = tool_finish(g, &r->tool);

	json_object_put(r->said);
	proc_poke(&r->load);
	(void)proc_wait(&r->load, END_MS);
	return report;
}

struct json_object *run_whole(struct guest *g, const char *const load[], const char *source,
			      const char *filter, const char *const more[], const char *key,
			      int64_t *said)
{
	struct json_object *line;
	struct run r;

	if (!run_start(g, &r, load, source, filter, more))
		return NULL;
	line = run_go(&r);
	*said = json_number(line, key);
	json_object_put(line);
	return run_finish(g, &r);
}

int64_t json_number(struct json_object *o, const char *key)
{
	return json_object_get_int64(json_object_object_get(o, key));
}

struct json_object *contended_rows(struct json_object *final)
{
	return json_object_object_get(json_object_object_get(final, "tables"), "contended");
}

int online_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

bool older_than(int major, int minor)
{
	struct utsname un;
	int a = 0, b = 0;

	(void)uname(&un); /* cannot fail */
	if (sscanf(un.release, "%d.%d", &a, &b) != 2)
		return false;
	return a < major || (a == major && b < minor);
}

int64_t quality_of(struct json_object *final, const char *key)
{
	struct json_object *quality = json_object_object_get(final, "quality");

	return json_object_get_int64(json_object_object_get(quality, key));
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
	struct futex_try t = {.tool = TOOL, .err = ERR, .n = "20", .setup = setup, .ctx = ctx};
	char why[512];

	if (!futex_try(&t, why, sizeof(why)))
		return say(g, FAIL, "%s %s", why, stderr_line());
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

static int test_no_sys(struct guest *g)
{
	const char *const argv[] = {TOOL, "-s", "sched", "1", "1", NULL};
	struct proc tool;
	int status;

	if (proc_start(&tool, argv, ERR, without_sys, NULL))
		return FAIL;
	status = proc_wait(&tool, END_MS);
	return say(g, status == 3 && strstr(stderr_line(), "BTF") ? PASS : FAIL, "exit %d: %s",
		   status, stderr_line());
}

/* As on a kernel that was built without: no start without a file of its types. */
static int test_no_btf(struct guest *g)
{
	const char *const argv[] = {TOOL, "-s", "sched", "1", "1", NULL};
	struct proc tool;
	int status;

	if (proc_start(&tool, argv, ERR, NULL, NULL))
		return FAIL;
	status = proc_wait(&tool, END_MS);
	return say(g, status == 3 && strstr(stderr_line(), "--btf FILE") ? PASS : FAIL,
		   "without --btf: exit %d: %s", status, stderr_line());
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

static const struct test tests[] = {
	{"user-with-caps", test_user_with_caps, "sched"},
	{"user-without-caps", test_user_without_caps, "sched"},
	{"futex", test_futex, "waits"},
	{"futex-user", test_futex_user, "btf"},
	{"no-sys", test_no_sys, "sched"},
	{"no-btf", test_no_btf, "nobtf"},
	{"lockdown", test_lockdown, "lockdown"},
	{0},
};

/* The scheduler first, then the file systems: the others find them there. */
static const struct test *const suites[] = {
	scx_first,  ext4_tests,	   check_tests, sched_tests, why_tests, steal_tests,
	lock_tests, preempt_tests, line_tests,	watch_tests, tests,	scx_last,
};

static bool wanted(const struct guest *g, const struct test *t)
{
	char word[64];

	(void)snprintf(word, sizeof(word), "ws.%s", t->option);
	return strstr(g->cmdline, word) != NULL;
}

static void run_suite(struct guest *g, const struct test *t)
{
	for (; t->name; t++) {
		int64_t begin = now_ms();
		int result;

		if (!wanted(g, t))
			continue;
		g->why[0] = 0;
		result = t->run(g);
		print_result(g, result, t->name);
		printf("# %s: %.1f s\n", t->name, (double)(now_ms() - begin) / 1000);
	}
}

/* The kernel's types go to a file, and what the kernel shows of them out of sight. */
static void hide_btf(void)
{
	const char *const argv[] = {"/bin/busybox", "cp", "/sys/kernel/btf/vmlinux", BTF_FILE,
				    NULL};

	if (status_of(argv) || mount("none", "/sys/kernel/btf", "tmpfs", 0, NULL))
		perror("hide the kernel's BTF");
}

int main(void)
{
	struct guest g = {0};
	struct utsname un;
	char *cmdline = file_text("/proc/cmdline");

	(void)snprintf(g.cmdline, sizeof(g.cmdline), "%s", cmdline);
	free(cmdline);
	if (strstr(g.cmdline, "ws.nobtf"))
		hide_btf();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)uname(&un); /* cannot fail */
	printf("# kernel %s %s, %d of %ld CPUs\n", un.release, un.version, online_cpus(),
	       sysconf(_SC_NPROCESSORS_CONF));
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		run_suite(&g, suites[i]);
	printf("1..%d\n# END\n", g.nr);
	return g.failed ? 1 : 0;
}
