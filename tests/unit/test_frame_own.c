/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames that own what they point to: which series and rows are one, and what becomes of them. That
 * the intervals of a whole run make its total is in test_synth.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_own.h"
#include "unit.h"

#define WAKEUPS (&metric_list[METRIC_SCHED_WAKEUP_LATENCY])
#define COUNTER (&metric_list[METRIC_EXT4_ES_LOOKUPS])

static struct hist samples(uint32_t schema, uint64_t first, uint64_t n)
{
	struct bucket_table t;
	struct hist h;

	hist_init(&h, schema);
	assert_int_equal(bucket_table_init(&t, schema), 0);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(hist_add(&h, &t, first + i), 0);
	return h;
}

static const struct frame *view(struct frame_own *o)
{
	const struct frame *f = frame_own_view(o);

	assert_non_null(f);
	return f;
}

/* Which labels make two series one: the second one's labels hold then. */
TEST(keys)
{
	static const struct {
		struct label a[3], b[3];
		uint32_t n;
		bool one;
		const char *why;
	} rows[] = {
		{{{0}}, {{0}}, 0, true, "the whole"},
		{{{"cpu", "1"}}, {{"cpu", "1"}}, 1, true, "a CPU"},
		{{{"cpu", "1"}}, {{"cpu", "11"}}, 1, false, "two CPUs"},
		{{{"pid", "7"}, {"comm", "sh"}}, {{"pid", "7"}, {"comm", "ls"}}, 2, true, "exec"},
		{{{"pid", "7"}, {"comm", "sh"}}, {{"pid", "8"}, {"comm", "sh"}}, 2, false, "pids"},
		{{{"tid", "7"}, {"pid", "7"}, {"comm", "a"}},
		 {{"tid", "7"}, {"pid", "9"}, {"comm", "b"}},
		 3,
		 true,
		 "a thread's pid and comm describe it"},
		{{{"comm", "a"}}, {{"comm", "b"}}, 1, false, "comm is the group itself"},
		{{{"op", "fsync"}, {"dev", "8:1"}, {"mount", "/a"}},
		 {{"op", "fsync"}, {"dev", "8:1"}, {"mount", "/b"}},
		 3,
		 true,
		 "a mount point describes its device"},
		{{{"op", "fsync"}, {"dev", "8:1"}},
		 {{"op", "fsync"}, {"dev", "8:2"}},
		 2,
		 false,
		 "devs"},
		{{{"mount", "/a"}}, {{"mount", "/b"}}, 1, false, "mount without a device"},
		{{{"a", "bc"}}, {{"ab", "c"}}, 1, false, "keys and values have ends"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct series a = {.desc = COUNTER, .nlabels = rows[i].n, .value = 3}, b = a;
		struct frame fa = {.series = &a, .nseries = 1}, fb = {.series = &b, .nseries = 1};
		struct frame_own *o = frame_own_new();
		const struct frame *f;

		memcpy(a.labels, rows[i].a, sizeof(rows[i].a));
		memcpy(b.labels, rows[i].b, sizeof(rows[i].b));
		assert_int_equal(frame_own_add(o, &fa, FRAME_THEN), 0);
		assert_int_equal(frame_own_add(o, &fb, FRAME_THEN), 0);
		f = view(o);
		if (f->nseries != (rows[i].one ? 1 : 2))
			fail_msg("%s: %zu series", rows[i].why, f->nseries);
		assert_int_equal(f->series[0].value, rows[i].one ? 6 : 3);
		for (uint32_t k = 0; k < rows[i].n; k++)
			assert_string_equal(f->series[f->nseries - 1].labels[k].value,
					    rows[i].b[k].value);
		frame_own_free(o);
	}
}

/* The copy is whole when the original has gone. */
TEST(outlives)
{
	char *comm = strdup("a\377b"), *name = strdup("new_metric"), *end = strdup("interrupted");
	struct metric_desc desc = {.name = name, .title = name, .role = METRIC_ROWS};
	struct hist h = samples(5, 1000, 20);
	struct split split = {5, 6};
	struct series s[] = {
		{WAKEUPS, {{"pid", "1"}, {"comm", comm}}, 2, &h},
		{&desc, {{"op", comm}}, 1, &h, &split},
	};
	struct frame f = {
		.type = FRAME_FINAL,
		.seq = 4,
		.mono_ns = 9,
		.dur_ns = 7,
		.series = s,
		.nseries = 2,
		.contends = true,
		.quality = {.unpaired = 1, .in_flight = 2, .longest_ns = 3, .longest_comm = "x"},
		.self = {.bpf_known = true, .bpf_cpu_ppm = 0.1, .user_cpu_ppm = 0.3},
		.end = end};
	struct frame_own *o = frame_own_new();
	const struct frame *got;

	assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	hist_free(&h);
	memset(comm, 'z', 3);
	memset(name, 'z', 10);
	memset(end, 'z', 11);
	free(comm);
	free(name);
	free(end);
	memset(s, 0xff, sizeof(s));
	memset(&split, 0xff, sizeof(split));
	got = view(o);
	assert_ptr_equal(view(o), got); /* as often as one likes */
	assert_int_equal(got->type, FRAME_FINAL);
	assert_int_equal(got->seq, 4);
	assert_int_equal(got->dur_ns, 7);
	assert_true(got->contends && !got->lines);
	assert_string_equal(got->end, "interrupted");
	assert_int_equal(got->nseries, 2);
	assert_ptr_equal(got->series[0].desc, WAKEUPS);
	assert_string_equal(got->series[0].labels[1].value, "a\377b");
	assert_int_equal(got->series[0].hist->count, 20);
	assert_int_equal(got->series[0].hist->max_ns, 1019);
	assert_string_equal(got->series[1].desc->name, "new_metric");
	assert_int_equal(got->series[1].split->run_queue_ns, 6);
	assert_true(got->self.bpf_cpu_ppm == 0.1 && got->self.user_cpu_ppm == 0.3);
	assert_string_equal(got->quality.longest_comm, "x");
	frame_own_reset(o);
	assert_int_equal(view(o)->nseries, 0);
	frame_own_free(o);
	frame_own_free(NULL);
}

/* What is lost adds up; what is in flight is what is now, or is beside. */
TEST(quality)
{
	struct frame a = {.dur_ns = 100,
			  .quality = {.missed = 3,
				      .lost_events = 1,
				      .in_flight = 5,
				      .longest_ns = 900,
				      .longest_tid = 1,
				      .longest_comm = "old"},
			  .self = {.bpf_known = true,
				   .bpf_ns_per_event = 50,
				   .bpf_cpu_ppm = 100,
				   .user_cpu_ppm = 10}};
	struct frame b = {.dur_ns = 300,
			  .quality = {.names_refused = 2,
				      .lost_events = 4,
				      .in_flight = 2,
				      .longest_ns = 70,
				      .longest_tid = 2,
				      .longest_comm = "new"},
			  .self = {.bpf_known = true,
				   .bpf_ns_per_event = 150,
				   .bpf_cpu_ppm = 100,
				   .user_cpu_ppm = 50}};
	struct frame_own *o = frame_own_new();
	const struct frame *f;

	assert_int_equal(frame_own_add(o, &a, FRAME_THEN), 0);
	assert_int_equal(frame_own_add(o, &b, FRAME_THEN), 0);
	f = view(o);
	assert_int_equal(f->dur_ns, 400);
	assert_int_equal(f->quality.missed, 3);
	assert_int_equal(f->quality.lost_events, 5);
	assert_int_equal(f->quality.names_refused, 2);
	assert_int_equal(f->quality.in_flight, 2);
	assert_int_equal(f->quality.longest_ns, 70);
	assert_string_equal(f->quality.longest_comm, "new");
	/* Half the events at 50 ns, as much time at 150. */
	assert_true(f->self.user_cpu_ppm == 40);
	assert_true(f->self.bpf_cpu_ppm == 100);
	assert_true(f->self.bpf_ns_per_event == 100);
	frame_own_reset(o);
	assert_int_equal(frame_own_add(o, &a, FRAME_BESIDE), 0);
	assert_int_equal(frame_own_add(o, &b, FRAME_BESIDE), 0);
	f = view(o);
	assert_int_equal(f->quality.in_flight, 7);
	assert_int_equal(f->quality.longest_ns, 900);
	assert_string_equal(f->quality.longest_comm, "old");
	frame_own_free(o);
}

TEST(schemas)
{
	struct hist fine = samples(6, 500, 2000), coarse = samples(4, 10, 3000);
	struct hist want = samples(4, 500, 2000);
	struct series s = {.desc = WAKEUPS, .hist = &fine};
	struct frame f = {.series = &s, .nseries = 1};
	struct frame_own *o = frame_own_new();
	struct hist wide = {.schema = 4};
	const struct hist *got;

	assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	assert_int_equal(frame_own_rescale(o, 2), -EINVAL);
	assert_int_equal(frame_own_rescale(o, 4), 0);
	got = view(o)->series[0].hist;
	assert_int_equal(got->schema, 4);
	assert_int_equal(hist_merge(&wide, got), 0);
	assert_int_equal(wide.first, want.first);
	assert_memory_equal(wide.slots, want.slots, want.len * sizeof(*want.slots));
	hist_free(&wide);
	frame_own_reset(o);
	/* Whichever comes first, the coarser one is the sum's. */
	for (int i = 0; i < 2; i++) {
		s.hist = i ? &coarse : &fine;
		assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	}
	got = view(o)->series[0].hist;
	assert_int_equal(got->schema, 4);
	assert_int_equal(got->count, 5000);
	assert_int_equal(got->min_ns, 10);
	/* A finer one has nothing to rescale. */
	assert_int_equal(frame_own_rescale(o, 5), 0);
	assert_int_equal(view(o)->series[0].hist->schema, 4);
	frame_own_free(o);
	hist_free(&fine);
	hist_free(&coarse);
	hist_free(&want);
}

static const struct site sites[2][3] = {
	{{0x10, "a+1", 5}, {0x20, "b+2", 4}, {0x30, "c+3", 1}},
	{{0x30, "c+3", 9}, {0x40, "d+4", 2}, {0x10, "a+1", 1}},
};
static const uint32_t cpus[2][2] = {{0, 4}, {1, 4}};
static const struct line_thread threads[2][2] = {
	{{7, 7, 0, "x", 30, 1, 0x1, 0x2}, {7, 8, 1, "y", 20, 2, 0x4, 0}},
	{{7, 8, 3, "z", 15, 0, 0x8, 0x10}, {7, 9, 2, "w", 1, 1, 0, 0x20}},
};

/* Addresses: the counts of what both frames have are added, lists are joined. */
TEST(rows_join)
{
	struct hist wait = samples(5, 100, 10), cycles = samples(5, 30, 4);
	struct futex_counts futex = {1, 2, 3, 4, true};
	struct line_spot spot = {
		.offset = 8, .tid = 7, .ip = 5, .sym = "s", .samples = 3, .latency = &cycles};
	struct line_accesses lines[2] = {
		{.sampler = "clock",
		 .sharing = "true",
		 .reads = 5,
		 .writes = 5,
		 .share = 0.5,
		 .interleave = -1,
		 .rank = 2,
		 .cores = 2,
		 .memory_node = -1,
		 .threads = threads[0],
		 .nthreads = 2,
		 .uses = &spot,
		 .nuses = 1},
		{.sampler = "clock",
		 .sharing = "false",
		 .reads = 20,
		 .writes = 10,
		 .share = 0.1,
		 .interleave = 0.25,
		 .rank = 1,
		 .cores = 4,
		 .memory_node = 1,
		 .hitm = {true, 2, 3},
		 .threads = threads[1],
		 .nthreads = 2,
		 .uses = &spot,
		 .nuses = 1},
	};
	struct contended row = {.source = "lock",
				.kind = "mutex",
				.addr = 64,
				.pid = 7,
				.name = "n",
				.count = 10,
				.wait = &wait,
				.futex = &futex,
				.ntasks = 3};
	struct frame f = {.dur_ns = 1000, .contended = &row, .ncontended = 1};
	struct frame_own *o = frame_own_new();
	const struct line_accesses *a;
	const struct contended *c;

	for (int i = 0; i < 2; i++) {
		row.accesses = &lines[i];
		row.sites = sites[i];
		row.nsites = 3;
		row.cpus = cpus[i];
		row.ncpus = 2;
		row.name = i ? NULL : "n";
		assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	}
	c = view(o)->contended;
	assert_int_equal(view(o)->ncontended, 1);
	assert_int_equal(c->count, 20);
	assert_int_equal(c->wait->count, 20);
	assert_int_equal(c->ntasks, 3);
	assert_string_equal(c->name, "n");
	assert_int_equal(c->futex->woken, 8);
	assert_true(c->futex->idle);
	assert_int_equal(c->ncpus, 3);
	assert_int_equal(c->cpus[1], 1);
	assert_int_equal(c->nsites, 4);
	assert_string_equal(c->sites[0].sym, "c+3");
	assert_int_equal(c->sites[0].count, 10);
	assert_int_equal(c->sites[1].count, 6);
	assert_int_equal(c->sites[3].ip, 0x40);
	a = c->accesses;
	assert_string_equal(a->sharing, "true");
	assert_int_equal(a->reads, 25);
	assert_true(a->share > 0.2999 && a->share < 0.3001);
	assert_true(a->interleave == 0.25);
	assert_int_equal(a->cores, 4);
	assert_int_equal(a->memory_node, 1);
	assert_true(a->hitm.told && a->hitm.remote == 3);
	assert_int_equal(a->nthreads, 3);
	assert_int_equal(a->threads[0].tid, 8);
	assert_int_equal(a->threads[0].samples, 35);
	assert_int_equal(a->threads[0].read_bytes, 0xc);
	assert_string_equal(a->threads[0].comm, "z");
	assert_int_equal(a->nuses, 1);
	assert_int_equal(a->uses[0].samples, 6);
	assert_int_equal(a->uses[0].latency->count, 8);
	/* Another frame without the row: nobody touched the line in that time. */
	f.ncontended = 0;
	f.dur_ns = 2000;
	assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	a = view(o)->contended->accesses;
	assert_true(a->share > 0.1499 && a->share < 0.1501);
	frame_own_free(o);
	hist_free(&wait);
	hist_free(&cycles);
}

TEST(row_keys)
{
	static const struct {
		struct contended b;
		bool one;
		const char *why;
	} rows[] = {
		{{.source = "lock", .kind = "mutex", .addr = 64, .name = "x"}, true, "a new name"},
		{{.source = "futex", .kind = "mutex", .addr = 64}, false, "another source"},
		{{.source = "lock", .kind = "rwsem:r", .addr = 64}, false, "another kind"},
		{{.source = "lock", .kind = "mutex", .addr = 65}, false, "another address"},
		{{.source = "lock", .kind = "mutex", .addr = 64, .pid = 1}, false, "a process's"},
		{{.source = "lock", .kind = "mutex", .addr = 64, .group = {"comm", "x"}},
		 false,
		 "of a group"},
		{{.source = "lock", .kind = "mutex", .addr = 64, .other = true}, false, "others"},
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct contended both[] = {{.source = "lock", .kind = "mutex", .addr = 64},
					   rows[i].b};
		struct frame f = {.contended = both, .ncontended = 2};
		struct frame_own *o = frame_own_new();

		assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
		if (view(o)->ncontended != (rows[i].one ? 1 : 2))
			fail_msg("%s: %zu rows", rows[i].why, view(o)->ncontended);
		frame_own_free(o);
	}
}

TEST(subtract)
{
	struct hist before = samples(5, 100, 10), after = samples(5, 5000, 30);
	struct split split = {10, 20};
	struct series s[] = {{WAKEUPS, .hist = &before, .split = &split}, {COUNTER, .value = 4}};
	struct contended rows[] = {
		{.source = "lock", .kind = "mutex", .addr = 1, .count = 10, .wait = &before},
		{.source = "lock", .kind = "mutex", .addr = 2, .count = 1}};
	struct frame early = {.dur_ns = 5,
			      .series = s,
			      .nseries = 2,
			      .contended = rows,
			      .ncontended = 2,
			      .quality = {.unpaired = 1, .missed = 2}};
	struct frame more = {.dur_ns = 7,
			     .series = s,
			     .nseries = 1,
			     .contended = rows,
			     .ncontended = 1,
			     .quality = {.unpaired = 3}};
	struct frame_own *o = frame_own_new();
	const struct frame *f;

	assert_int_equal(frame_own_add(o, &early, FRAME_THEN), 0);
	s[0].hist = rows[0].wait = &after;
	rows[0].count = 30;
	assert_int_equal(frame_own_add(o, &more, FRAME_THEN), 0);
	s[0].hist = rows[0].wait = &before;
	rows[0].count = 10;
	assert_int_equal(frame_own_subtract(o, &early), 0);
	f = view(o);
	assert_int_equal(f->dur_ns, 7);
	assert_int_equal(f->series[0].hist->count, 30);
	assert_int_equal(f->series[0].hist->max_ns, 5029);
	assert_true(f->series[0].hist->min_ns <= 5000 && f->series[0].hist->min_ns > 4800);
	assert_int_equal(f->series[0].split->blocked_ns, 10);
	assert_int_equal(f->series[1].value, 0);
	assert_int_equal(f->ncontended, 1); /* nothing came to the other */
	assert_int_equal(f->contended[0].wait->count, 30);
	assert_int_equal(f->quality.unpaired, 3);
	assert_int_equal(f->quality.missed, 0);
	assert_int_equal(frame_own_subtract(o, &early), -EINVAL);
	frame_own_free(o);
	hist_free(&before);
	hist_free(&after);
}

static uint64_t held_ns(const struct contended *c)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->nholders; i++)
		sum += c->holders[i].wait_ns;
	return sum;
}

/* Holders are one by their thread, or by what stands for none; and all of the waits whatever the
 * frames tell. */
TEST(holders_join)
{
	struct holder all[] = {
		{.pid = 7, .tid = 8, .comm = "a", .count = 2, .wait_ns = 60, .running_ns = 60},
		{.pid = 7,
		 .tid = 9,
		 .comm = "b",
		 .count = 1,
		 .wait_ns = 20,
		 .blocked_ns = 20,
		 .took_ns = 20,
		 .took_at = "f+0x1",
		 .released_at = "f+0x1"},
		{.comm = "(readers)", .count = 1, .wait_ns = 12},
		{.count = 1, .wait_ns = 8},
	};
	struct hist wait = samples(5, 25, 1);
	struct contended row = {
		.source = "lock", .kind = "rwsem:w", .addr = 64, .count = 4, .wait = &wait};
	struct frame f = {.dur_ns = 1000, .contended = &row, .ncontended = 1};
	struct frame_own *o = frame_own_new();
	const struct contended *c;

	wait.count = 4;
	wait.sum_ns = 100;
	assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0); /* does not tell */
	assert_int_equal(view(o)->contended->nholders, 0);
	row.holders = all;
	row.nholders = 4;
	assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	all[0].comm = "renamed";
	all[0].released_at = "g+0x2"; /* known by now */
	all[1].released_at = NULL;    /* not told again */
	all[1].took_ns = 0;	      /* nor seen */
	all[1].took_at = NULL;
	assert_int_equal(frame_own_add(o, &f, FRAME_THEN), 0);
	all[0].released_at = NULL;
	c = view(o)->contended;
	assert_int_equal(c->nholders, 4);
	assert_int_equal(c->wait->sum_ns, 300);
	assert_int_equal(held_ns(c), 300);
	assert_int_equal(c->holders[0].tid, 8); /* longest first */
	assert_int_equal(c->holders[0].running_ns, 120);
	assert_string_equal(c->holders[0].comm, "renamed");
	assert_string_equal(c->holders[0].released_at, "g+0x2");
	assert_null(c->holders[1].comm);
	assert_null(c->holders[1].released_at);
	assert_string_equal(c->holders[2].released_at, "f+0x1");
	assert_int_equal(c->holders[2].took_ns, 20);
	assert_string_equal(c->holders[2].took_at, "f+0x1");
	assert_int_equal(c->holders[1].wait_ns, 116);
	assert_int_equal(c->holders[1].count, 6);
	assert_string_equal(c->holders[3].comm, "(readers)");
	row.nholders = 1; /* less than was added, of one of them */
	assert_int_equal(frame_own_subtract(o, &f), 0);
	c = view(o)->contended;
	assert_int_equal(c->holders[0].wait_ns + c->holders[1].wait_ns, 176);
	all[0].running_ns = 1000;
	assert_int_equal(frame_own_subtract(o, &f), -EINVAL);
	frame_own_free(o);
	hist_free(&wait);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
