// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why in a guest of KVM whose CPUs are threads on one CPU: what the hypervisor took while they
 * all computed is, by the kernel's own account, what waits are blamed on it for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define CPUS 2
#define HOG_S "8"
#define STOLEN_PERCENT 20 /* of their time, at least; it is about half of it */
#define LEAST_PERCENT 90  /* blamed, of what is stolen */
#define MOST_PERCENT 110

struct account {
	int64_t stolen, elapsed;    /* by the kernel, of all CPUs; ns */
	int64_t ours, rest, waited; /* by us: stolen, unexplained, all */
};

/* Of all CPUs, in whole ticks. */
static int64_t stolen_ns(void)
{
	char *text = file_text("/proc/stat");
	long long ticks = 0;

	if (sscanf(text, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
		ticks = 0;
	free(text);
	return ticks * (1000000000LL / sysconf(_SC_CLK_TCK));
}

static int64_t blamed(struct json_object *final, const char *kind)
{
	struct json_object *rows =
		json_object_object_get(json_object_object_get(final, "tables"), "culprits");
	int64_t ns = 0;

	for (size_t i = 0; rows && i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!strcmp(json_text(row, "kind"), kind))
			ns += json_number(row, "wait_ns");
	}
	return ns;
}

/* Two on each CPU: one of them always waits. */
static bool start_hogs(struct guest *g, struct proc hogs[CPUS], char *pids, size_t len)
{
	char cpu[16];
	const char *const argv[] = {"/bin/hog", "--cpu", cpu, "--wait", "2", HOG_S, NULL};
	size_t at = 0;

	for (int i = 0; i < CPUS; i++) {
		(void)snprintf(cpu, sizeof(cpu), "%d", i);
		if (proc_start(&hogs[i], argv, NULL, NULL, NULL))
			return say(g, FAIL, "cannot start %s", argv[0]) == PASS;
		json_object_put(proc_read_json(&hogs[i]));
		at += (size_t)snprintf(pids + at, len - at, "%s%d", i ? "," : "",
				       hogs[i].pid); /* fits */
	}
	return true;
}

/* The kernel's account of just the time in which they compute. */
static void run_hogs(struct proc hogs[CPUS], struct account *a)
{
	int64_t begin = now_ms();

	a->stolen = -stolen_ns();
	for (int i = 0; i < CPUS; i++)
		proc_poke(&hogs[i]);
	for (int i = 0; i < CPUS; i++)
		json_object_put(proc_read_json(&hogs[i]));
	a->stolen += stolen_ns();
	a->elapsed = (now_ms() - begin) * 1000000;
}

/*
 * Of each CPU's two one waits; now and then both do, for others, which makes their waits longer
 * than the time: what is stolen then is stolen from both. A tick of each CPU may be told at the
 * wrong side of an edge.
 */
static int judge(struct guest *g, const struct account *a)
{
	const int64_t room = CPUS * (1000000000LL / sysconf(_SC_CLK_TCK));
	const int64_t hogs = CPUS * atoi(HOG_S) * 1000000000LL;
	const int64_t both = a->waited > hogs ? a->waited - hogs : 0;
	const double told = 1 - (double)a->rest / (double)a->waited;
	const bool enough = a->stolen * 100 >= CPUS * a->elapsed * STOLEN_PERCENT;
	const bool seen =
		(double)(a->ours + room) * 100 >= (double)a->stolen * told * LEAST_PERCENT;
	const bool only = (a->ours - both - room) * 100 <= a->stolen * MOST_PERCENT;

	return say(
		g, enough && seen && only ? PASS : FAIL,
		"in %lld ms of %d CPUs %lld ms stolen by /proc/stat%s, %.1f ms of waits blamed on "
		"it; %.1f ms waited, %.1f ms unexplained",
		(long long)a->elapsed / 1000000, CPUS, (long long)a->stolen / 1000000,
		enough ? "" : ", too little", (double)a->ours / 1e6, (double)a->waited / 1e6,
		(double)a->rest / 1e6);
}

static int test_steal(struct guest *g)
{
	char pids[64];
	const char *const more[] = {"--why", "-p", pids, NULL};
	struct proc hogs[CPUS] = {0}, tool;
	struct json_object *report = NULL, *final;
	struct account a = {0};

	if (start_hogs(g, hogs, pids, sizeof(pids)) && tool_start(g, &tool, "sched", more)) {
		run_hogs(hogs, &a);
		report = tool_finish(g, &tool);
	}
	for (int i = 0; i < CPUS; i++)
		if (hogs[i].pid > 0) {
			proc_poke(&hogs[i]);
			(void)proc_wait(&hogs[i], report ? END_MS : 0);
		}
	if (!report)
		return FAIL;
	final = report_line(report, "final");
	a.ours = blamed(final, "steal");
	a.rest = blamed(final, "unexplained");
	a.waited = report_sum(final, "sched_run_delay", NULL, NULL, "sum") +
		   report_sum(final, "sched_throttle_wait", NULL, NULL, "sum");
	json_object_put(report);
	return judge(g, &a);
}

const struct test steal_tests[] = {
	{"why-steal", test_steal, "steal"},
	{0},
};
