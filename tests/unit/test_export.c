// SPDX-License-Identifier: GPL-2.0-or-later
/* What machines are told: which series there are, what they count, and since when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "core/export.h"
#include "core/view.h"
#include "waits.h"

#define WAKEUPS (&metric_list[METRIC_SCHED_WAKEUP_LATENCY])
#define LOOKUPS (&metric_list[METRIC_EXT4_ES_LOOKUPS])
#define NS_PER_S 1000000000ULL
#define BEGAN_S 1000

/* Interval number `i` (from 1) of a run of one-second intervals. */
static struct frame interval(uint64_t i, const struct series *s, size_t n)
{
	return (struct frame){
		.seq = i,
		.time = {.tv_sec = (time_t)(BEGAN_S + i)},
		.mono_ns = i * NS_PER_S,
		.dur_ns = NS_PER_S,
		.series = s,
		.nseries = n,
	};
}

static void add(struct export *x, uint64_t i, const struct series *s, size_t n)
{
	struct frame f = interval(i, s, n);

	assert_int_equal(export_add(x, &f), 0);
}

static const struct export_family *family(const struct export *x, const char *name)
{
	const struct export_family *f;

	for (size_t i = 0; (f = export_family(x, i)); i++)
		if (f->name && !strcmp(f->name, name))
			return f;
	return NULL;
}

/* The series whose first label has that value; NULL as value: the one without labels. */
static const struct export_series *series(const struct export *x, const char *name,
					  const char *value)
{
	const struct export_family *f = family(x, name);
	const struct export_series *s;

	for (s = f ? f->first : NULL; s; s = s->next)
		if (value ? s->nlabels && !strcmp(s->labels[0].value, value) : !s->nlabels)
			return s;
	return NULL;
}

static size_t count_series(const struct export *x, const char *name)
{
	const struct export_series *s = family(x, name)->first;
	size_t n = 0;

	for (; s; s = s->next)
		n++;
	return n;
}

/* Series of the groups of --by, in all families. */
static size_t count_groups(const struct export *x, enum by_key by)
{
	const struct export_family *f;
	const struct export_series *s;
	size_t n = 0;

	for (size_t i = 0; (f = export_family(x, i)); i++)
		for (s = f->first; s; s = s->next)
			n += s->nlabels && !strcmp(s->labels[0].key, view_by(by));
	return n;
}

/* Every allocation of the program: glibc's own names are behind these. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
static size_t allocations;

#ifndef WS_SANITIZED /* which has its own */
void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}
#endif

/* A series that is there already is found without one. */
TEST(looks_up_in_place)
{
	struct config cfg = {.by = BY_COMM, .max_keys = 2, .export_schema = 3};
	struct hist h = waits(5000, 3);
	const struct series s[] = {
		{WAKEUPS, {{0}}, 0, &h},
		{WAKEUPS, {{"comm", "a"}}, 1, &h},
		{WAKEUPS, {{"comm", "b"}}, 1, &h},
		{WAKEUPS, {{"comm", "one of the others"}}, 1, &h},
		{LOOKUPS, {{"comm", "a"}, {"result", "hit"}}, 2, NULL, NULL, 7},
	};
	struct export *x = export_new(&cfg);
	size_t before;

	allocations = 0;
	add(x, 1, s, ROWS(s));
#ifndef WS_SANITIZED
	assert_true(allocations > 0); /* they are counted here */
#endif
	before = allocations;
	for (uint64_t i = 2; i <= 10; i++)
		add(x, i, s, ROWS(s));
	assert_int_equal(allocations, before);
	assert_int_equal(series(x, "sched_wakeup_latency", "(others)")->hist.count, 30);
	export_free(x);
	hist_free(&h);
}

/* Counts add up; the whole and the groups are there, CPUs with --by cpu alone. */
TEST(adds_up)
{
	struct config cfg = {.by = BY_COMM, .max_keys = 16, .export_schema = 3};
	struct hist h = waits(5000, 3);
	const struct series s[] = {
		{WAKEUPS, {{0}}, 0, &h},
		{WAKEUPS, {{"cpu", "0"}}, 1, &h},
		{WAKEUPS, {{"comm", "a"}}, 1, &h},
		{LOOKUPS, {{"comm", "a"}, {"result", "hit"}}, 2, NULL, NULL, 7},
	};
	struct export *x = export_new(&cfg);

	for (uint64_t i = 1; i <= 3; i++)
		add(x, i, s, ROWS(s));
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 2);
	assert_int_equal(series(x, "sched_wakeup_latency", NULL)->hist.count, 9);
	assert_int_equal(series(x, "sched_wakeup_latency", "a")->hist.sum_ns, 45000);
	assert_int_equal(series(x, "ext4_es_lookups", "a")->value, 21);
	assert_string_equal(family(x, "sched_wakeup_latency")->unit, "s");
	assert_int_equal(export_time_ns(x), (BEGAN_S + 3) * NS_PER_S);
	assert_int_equal(series(x, "sched_wakeup_latency", NULL)->start_ns, BEGAN_S * NS_PER_S);
	assert_int_equal(count_groups(x, BY_COMM), 2);
	export_free(x);

	cfg.by = BY_CPU;
	x = export_new(&cfg);
	add(x, 1, s, 2);
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 2);
	export_free(x);
	hist_free(&h);
}

/* Past --max-keys what appears is the others', for good: no count ever falls. */
TEST(others)
{
	struct config cfg = {.by = BY_PID, .max_keys = 16, .export_schema = 3};
	struct export *x = export_new(&cfg);
	struct hist h = waits(5000, 2);
	char pid[8];

	for (uint64_t round = 1; round <= 2; round++)
		for (int i = 0; i < 40; i++) {
			struct series s = {WAKEUPS, {{"pid", pid}, {"comm", "x"}}, 2, &h};

			snprintf(pid, sizeof(pid), "%d", i);
			add(x, round, &s, 1);
		}
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 17);
	assert_int_equal(series(x, "sched_wakeup_latency", "15")->hist.count, 4);
	assert_null(series(x, "sched_wakeup_latency", "16"));
	assert_int_equal(series(x, "sched_wakeup_latency", "(others)")->hist.count, 24 * 4);
	assert_int_equal(series(x, "sched_wakeup_latency", "(others)")->nlabels, 1);
	/* Whoever they are, they do not end. */
	add(x, 3 + EXPORT_END_NS / NS_PER_S, NULL, 0);
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 1);
	assert_int_equal(series(x, "sched_wakeup_latency", "(others)")->hist.count, 24 * 4);
	export_free(x);
	hist_free(&h);
}

/*
 * A group that is gone ends, and its place is free; one that comes back counts from 0, since then.
 */
TEST(ends)
{
	struct config cfg = {.by = BY_COMM, .max_keys = 16, .export_schema = 3};
	uint64_t late = EXPORT_END_NS / NS_PER_S;
	struct export *x = export_new(&cfg);
	struct hist h = waits(5000, 2), none = waits(0, 0);
	const struct series s[] = {
		{WAKEUPS, {{"comm", "stays"}}, 1, &h},
		{WAKEUPS, {{"comm", "goes"}}, 1, &h},
		{LOOKUPS, {{"dev", "8:1"}}, 1, NULL, NULL, 1},
	};
	const struct series silent = {WAKEUPS, {{"comm", "goes"}}, 1, &none};
	const struct series never = {WAKEUPS, {{"comm", "never"}}, 1, &none};

	add(x, 1, s, 3);
	add(x, 1 + late, s, 1);
	assert_int_equal(series(x, "sched_wakeup_latency", "goes")->hist.count, 2);
	add(x, 2 + late, &silent, 1);
	assert_null(series(x, "sched_wakeup_latency", "goes"));
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 1);
	assert_int_equal(series(x, "ext4_es_lookups", "8:1")->value, 1); /* no group */
	add(x, 3 + late, s, 2);
	add(x, 4 + late, &never, 1);
	assert_int_equal(series(x, "sched_wakeup_latency", "goes")->hist.count, 2);
	assert_int_equal(series(x, "sched_wakeup_latency", "stays")->hist.count, 6);
	assert_int_equal(series(x, "sched_wakeup_latency", "goes")->start_ns,
			 (BEGAN_S + 2 + late) * NS_PER_S);
	assert_null(series(x, "sched_wakeup_latency", "never"));
	assert_int_equal(count_groups(x, BY_COMM), 2);
	add(x, 4, s, 1); /* another machine's record has another clock */
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 2);
	export_free(x);
	hist_free(&h);
}

/* A place that has become free is taken, many times over: nothing grows. */
TEST(places_are_free)
{
	struct config cfg = {.by = BY_COMM, .max_keys = 16, .export_schema = 3};
	struct export *x = export_new(&cfg);
	struct hist h = waits(5000, 1);
	char comm[16];

	for (uint64_t i = 0; i < 100; i++) {
		struct series s = {WAKEUPS, {{"comm", comm}}, 1, &h};

		snprintf(comm, sizeof(comm), "c%d", (int)i);
		add(x, 1 + i * EXPORT_END_NS / NS_PER_S / 8, &s, 1);
	}
	assert_true(count_series(x, "sched_wakeup_latency") <= 10);
	assert_null(series(x, "sched_wakeup_latency", "(others)"));
	export_free(x);
	hist_free(&h);
}

/* Names that are safe to print may be equal: then they are one series. */
TEST(equal_names)
{
	struct config cfg = {.by = BY_COMM, .max_keys = 16, .export_schema = 3};
	struct hist h = waits(5000, 2);
	const struct series s[] = {
		{WAKEUPS, {{"comm", "bad\376"}}, 1, &h},
		{WAKEUPS, {{"comm", "bad\377"}}, 1, &h},
	};
	struct export *x = export_new(&cfg);

	add(x, 1, s, 2);
	assert_int_equal(count_series(x, "sched_wakeup_latency"), 1);
	assert_int_equal(series(x, "sched_wakeup_latency", "bad\xef\xbf\xbd")->hist.count, 4);
	export_free(x);
	hist_free(&h);
}

/* A cgroup is also known by its unit, container and pod. */
TEST(cgroup_labels)
{
	struct config cfg = {.by = BY_CGROUP, .max_keys = 16, .export_schema = 3};
	struct hist h = waits(5000, 2);
	const struct series s[] = {
		{WAKEUPS, {{"cgroup", "/system.slice/a.service/x"}}, 1, &h},
		{WAKEUPS, {{"cgroup", "/kubepods/pod1b2c3d4e-5f60-4718-92a3-b4c5d6e7f809"}}, 1, &h},
		{WAKEUPS, {{"cgroup", "/x"}}, 1, &h},
	};
	struct export *x = export_new(&cfg);
	const struct export_series *one;

	add(x, 1, s, 3);
	one = series(x, "sched_wakeup_latency", s[0].labels[0].value);
	assert_int_equal(one->nlabels, 2);
	assert_string_equal(one->labels[1].key, "unit");
	assert_string_equal(one->labels[1].value, "a.service");
	one = series(x, "sched_wakeup_latency", s[1].labels[0].value);
	assert_int_equal(one->nlabels, 2);
	assert_string_equal(one->labels[1].key, "pod_uid");
	assert_string_equal(one->labels[1].value, "1b2c3d4e-5f60-4718-92a3-b4c5d6e7f809");
	assert_int_equal(series(x, "sched_wakeup_latency", "/x")->nlabels, 1);
	export_free(x);
	hist_free(&h);
}

/* The final report of intervals that were added is nothing new; another is all there is. */
TEST(final)
{
	struct config cfg = {.by = BY_COMM, .max_keys = 16, .export_schema = 3};
	struct hist h = waits(5000, 2), all = waits(5000, 100);
	const struct series s = {WAKEUPS, {{0}}, 0, &h}, t = {WAKEUPS, {{0}}, 0, &all};
	struct export *x = export_new(&cfg);
	struct frame f = interval(2, &t, 1);

	f.dur_ns = 2 * NS_PER_S;
	add(x, 1, &s, 1);
	add(x, 2, &s, 1);
	assert_int_equal(export_final(x, &f), 0);
	assert_int_equal(series(x, "sched_wakeup_latency", NULL)->hist.count, 4);
	f.dur_ns = 5 * NS_PER_S;
	assert_int_equal(export_final(x, &f), 0);
	assert_int_equal(series(x, "sched_wakeup_latency", NULL)->hist.count, 100);
	export_free(x);
	hist_free(&h);
	hist_free(&all);
}

/* Every loss is counted under its reason; what is no loss is not. */
TEST(quality)
{
	struct config cfg = {.max_keys = 16, .export_schema = 3};
	struct export *x = export_new(&cfg);
	struct frame f = interval(1, NULL, 0);

	f.quality = (struct quality){
		.unpaired = 1, .map_full = 3, .over_range = 4, .missed = 5, .in_flight = 6};
	assert_int_equal(export_add(x, &f), 0);
	f.quality.in_flight = 2;
	assert_int_equal(export_add(x, &f), 0);
	assert_int_equal(series(x, "lost", "unpaired")->value, 2);
	assert_int_equal(series(x, "lost", "map_full")->value, 6);
	assert_null(series(x, "lost", "over_range"));
	assert_int_equal(series(x, "noted", "over_range")->value, 8);
	assert_int_equal(series(x, "noted", "missed")->value, 10);
	assert_true(series(x, "in_flight", NULL)->gauge == 2);
	export_free(x);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
