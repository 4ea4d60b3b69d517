// SPDX-License-Identifier: GPL-2.0-or-later
/* What full preemption adds to the scheduler's waits. */
#include <stdio.h>
#include <stdlib.h>

#include "guest.h"

#define NAPS "2000"
#define CAUGHT_MIN 10
#define RUNS_MAX 8

/* What the kernel counted of the napper, and what waitscope did, in all runs. */
struct seen {
	int64_t caught, voluntary, involuntary, delay_ns;
	int64_t wakeups, preempts, ours_ns, unseen;
};

/* One run more; false with words. */
static bool look(struct guest *g, struct seen *s)
{
	char cpu[16];
	const char *const load[] = {"/bin/preempted", cpu, NAPS, NULL};
	const char *const more[] = {NULL};
	struct json_object *line, *report, *final;
	struct run r;

	(void)snprintf(cpu, sizeof(cpu), "%d", online_cpus() - 1);
	if (!run_start(g, &r, load, "sched", "-t", more))
		return false;
	line = run_go(&r);
	s->caught += json_number(line, "caught");
	s->voluntary += json_number(line, "voluntary");
	s->involuntary += json_number(line, "involuntary");
	s->delay_ns += json_number(line, "delay_ns");
	json_object_put(line);
	report = run_finish(g, &r);
	if (!report)
		return false;
	final = report_line(report, "final");
	s->wakeups += report_sum(final, "sched_wakeup_latency", NULL, NULL, "count");
	s->preempts += report_sum(final, "sched_preempt_wait", NULL, NULL, "count");
	s->ours_ns += report_sum(final, "sched_run_delay", NULL, NULL, "sum");
	s->unseen += quality_of(final, "recursion_misses") + quality_of(final, "unpaired");
	json_object_put(report);
	return true;
}

/*
 * Rule 3: a wakeup that finds the task queued does not restart its clock. Each time the napper left
 * the CPU to sleep it was woken once, and each time it was made to leave it waited since then,
 * whoever woke it meanwhile: the kernel's counts of both kinds of switches are ours of both waits.
 */
static int test_woken_queued(struct guest *g)
{
	struct seen s = {0};
	int64_t off;
	int runs = 0;

	/* Whether a nap is caught is a matter of where the preempter's interrupt comes. */
	while (runs++ < RUNS_MAX && s.caught < CAUGHT_MIN)
		if (!look(g, &s))
			return FAIL;
	if (s.caught < CAUGHT_MIN)
		return say(g, FAIL,
			   "%lld of %d times " NAPS
			   " naps were preempted and not slept: too few to tell",
			   (long long)s.caught, RUNS_MAX);
	off = llabs((long long)(s.wakeups - s.voluntary)) +
	      llabs((long long)(s.preempts - s.involuntary));
	return say(
		g, off <= 2 * s.unseen && 2 * s.unseen < s.caught ? PASS : FAIL,
		"%lld naps preempted, not slept: %lld wakeups of %lld sleeps, %lld waits of %lld "
		"preemptions, %lld unseen, run delay %lld us, schedstat %lld us",
		(long long)s.caught, (long long)s.wakeups, (long long)s.voluntary,
		(long long)s.preempts, (long long)s.involuntary, (long long)s.unseen,
		(long long)s.ours_ns / 1000, (long long)s.delay_ns / 1000);
}

const struct test preempt_tests[] = {
	{"woken-queued", test_woken_queued, "preempt"},
	{0},
};
