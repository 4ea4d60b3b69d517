// SPDX-License-Identifier: GPL-2.0-or-later
/* The scheduler's waits in a guest, and what a run leaves behind. */
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

#define NAPS "211"
#define METRIC "sched_wakeup_latency"

static int possible_cpus(void)
{
	return (int)sysconf(_SC_NPROCESSORS_CONF);
}

/* Ids of what BPF objects exist: programs, maps or links. */
static int bpf_objects(int cmd)
{
	union bpf_attr attr;
	int n = 0;

	memset(&attr, 0, sizeof(attr));
	while (syscall(SYS_bpf, cmd, &attr, sizeof(attr)) == 0) {
		n++;
		attr.start_id = attr.next_id;
	}
	return n;
}

static int bpf_left(void)
{
	return bpf_objects(BPF_PROG_GET_NEXT_ID) + bpf_objects(BPF_MAP_GET_NEXT_ID) +
	       bpf_objects(BPF_LINK_GET_NEXT_ID);
}

/* The kernel frees them a little after the last descriptor closes. */
static int bpf_left_soon(int before)
{
	int now = bpf_left();

	for (int i = 0; i < 100 && now > before; i++) {
		sleep_ms(50);
		now = bpf_left();
	}
	return now - before;
}

static int test_starts(struct guest *g)
{
	const char *const more[] = {NULL};
	struct json_object *report, *meta, *source;
	const char *state;
	struct proc tool;
	int64_t count;
	int cpus;

	if (!tool_start(g, &tool, "sched", more))
		return FAIL;
	sleep_ms(500);
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
	char threads[16];
	const char *const load_argv[] = {"/bin/hog", "--wait", threads, "3", NULL};
	const char *const more[] = {NULL};
	int n = online_cpus() + 1;
	struct json_object *report;
	int64_t truth, ours;
	bool toggled = true;
	struct run r;

	(void)snprintf(threads, sizeof(threads), "%d", n);
	if (!run_start(g, &r, load_argv, "sched", "-p", more))
		return FAIL;
	proc_poke(&r.load);
	if (hotplug)
		toggled = toggle_cpu();
	truth = crew_delay(&r.load, n);
	report = run_finish(g, &r);
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

/* A host that takes an emulated CPU between two looks at the clock disturbs a run, not all. */
static int run_delays(struct guest *g, bool hotplug, int tolerance_percent)
{
	int result = FAIL;

	for (int i = 0; i < 3 && result == FAIL; i++)
		result = run_delay(g, hotplug, tolerance_percent);
	return result;
}

static int test_run_delay(struct guest *g)
{
	return run_delays(g, false, online_cpus() > 2 ? 10 : 5);
}

static int test_hotplug(struct guest *g)
{
	return run_delays(g, true, 10);
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

		if (!tool_start(g, &tool, "sched", more))
			return FAIL;
		for (int n = 0; n < 30; n++)
			sleep_ms(10); /* wakeups, if there are no others */
		report = tool_finish(g, &tool);
		if (!report)
			return FAIL;
		final = report_line(report, "final");
		whole = report_sum(final, METRIC, NULL, NULL, "count");
		groups = report_sum(final, METRIC, keys[i], NULL, "count");
		full = json_object_get_int64(json_object_object_get(
			json_object_object_get(final, "quality"), "map_full"));
		if (whole <= 0 || groups > whole || (groups < whole && full < whole - groups)) {
			(void)say(g, FAIL, "--by %s: groups have %lld of %lld wakeups: %s, %s ns",
				  keys[i], (long long)groups, (long long)whole,
				  json_text(final, "quality"), json_text(final, "dur_ns"));
			json_object_put(report);
			return FAIL;
		}
		json_object_put(report);
		lost += whole - groups;
	}
	return say(
		g, PASS,
		"--by cpu, pid, tid, comm and cgroup add up to the whole, %lld counted as map_full",
		(long long)lost);
}

/* A sleeper, traced alone: the reports, and how often it says it slept; NULL with words. */
static struct json_object *naps(struct guest *g, const char *n, const char *const more[],
				int64_t *blocked)
{
	const char *const load_argv[] = {"/bin/sleeper", n, "2000", NULL};

	return run_whole(g, load_argv, "sched", "-t", more, "blocked", blocked);
}

static int test_sleeper(struct guest *g)
{
	const char *const more[] = {NULL};
	int64_t blocked, count, unseen;
	struct json_object *report = naps(g, NAPS, more, &blocked), *final;

	if (!report)
		return FAIL;
	final = report_line(report, "final");
	count = report_sum(final, METRIC, NULL, NULL, "count");
	unseen = quality_of(final, "recursion_misses") + quality_of(final, "unpaired");
	json_object_put(report);
	return say(g,
		   llabs((long long)(count - blocked)) <= unseen && unseen < 10 &&
				   blocked == atoi(NAPS)
			   ? PASS
			   : FAIL,
		   "%lld wakeups of %lld sleeps, %lld unseen", (long long)count, (long long)blocked,
		   (long long)unseen);
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
	if (!tool_start(g, &tool, "sched", more))
		return FAIL;
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
	const char *const more[] = {"--slower", "0us", NULL};
	int64_t blocked, irq = 0, unknown = 0, other = 0;
	struct json_object *report = naps(g, "7", more, &blocked);

	if (!report)
		return FAIL;
	for (size_t i = 0; i < json_object_array_length(report); i++) {
		struct json_object *line = json_object_array_get_idx(report, i);
		const char *waker = json_text(json_object_object_get(line, "waker"), "kind");

		if (strcmp(json_text(line, "type"), "slow") ||
		    strcmp(json_text(line, "kind"), "wakeup"))
			continue;
		irq += strcmp(waker, "irq") == 0;
		unknown += strcmp(waker, "unknown") == 0;
		other += strcmp(waker, "irq") && strcmp(waker, "unknown");
	}
	json_object_put(report);
	if (unknown && !irq && !other)
		return say(g, SKIP, "this kernel does not let us tell a task from an interrupt");
	return say(g, irq >= 7 && !unknown && !other ? PASS : FAIL,
		   "%lld wakeups by an interrupt, %lld by who knows, %lld by others",
		   (long long)irq, (long long)unknown, (long long)other);
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

		if (!tool_start(g, &tool, "sched", more))
			return FAIL;
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

const struct test sched_tests[] = {
	{"starts", test_starts, "sched"},
	{"run-delay", test_run_delay, "sched"},
	{"sleeper", test_sleeper, "sched"},
	{"groups", test_groups, "sched"},
	{"waker", test_waker, "sched"},
	{"leaves-nothing", test_leaves_nothing, "sched"},
	{"hotplug", test_hotplug, "hotplug"},
	{"possible", test_possible, "online"},
	{0},
};
