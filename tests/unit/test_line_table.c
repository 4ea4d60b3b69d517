// SPDX-License-Identifier: GPL-2.0-or-later
/* What makes a line contended, and how lines are ranked: from made-up samples. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "core/arena.h"
#include "source/cacheline/line_table.h"

#define LINE_AT 0x5550040ULL
#define A 0x00000000000000ffULL /* bytes 0-7 */
#define B 0x000000000000ff00ULL

struct sample {
	uint32_t tid, cpu, n;
	uint64_t read, written;
};

/* CPUs 0 and 1 are siblings of one core, 2 and 3 of another. */
static const uint32_t core_of[4] = {0, 0, 2, 2};

/* Lines that nobody shares: by their own address. */
static int add(struct line_table *t, const struct abi_access_key *key, const struct abi_access *a)
{
	struct line_key at = {.line = key->addr >> ABI_LINE_SHIFT, .tgid = key->tgid};

	return line_table_add(t, &at, key, a);
}

static int add_latency(struct line_table *t, const struct abi_access_key *key,
		       const struct abi_latency *a)
{
	struct line_key at = {.line = key->addr >> ABI_LINE_SHIFT, .tgid = key->tgid};

	return line_table_add_latency(t, &at, key, a);
}

static struct line_table *table_of(const struct sample *v, size_t n)
{
	struct line_table *t;
	size_t k;

	assert_int_equal(line_table_open(&t, core_of, 4, 1000), 0);
	line_table_begin(t);
	for (k = 0; k < n; k++) {
		struct abi_access_key key = {.addr = LINE_AT,
					     .ip = 0x400000 + v[k].tid,
					     .tgid = 7,
					     .tid = v[k].tid,
					     .cpu = v[k].cpu,
					     .pid = 7};
		struct abi_access a = {.samples = v[k].n,
				       .reads = v[k].read ? v[k].n : 0,
				       .writes = v[k].written ? v[k].n : 0,
				       .read_bytes = v[k].read,
				       .write_bytes = v[k].written};

		assert_int_equal(add(t, &key, &a), 0);
	}
	line_table_end(t);
	return t;
}

TEST(contended)
{
	static const struct {
		const char *why;
		struct sample v[3];
		size_t n;
		bool contended;
		enum line_sharing sharing;
	} rows[] = {
		{"two write their own bytes",
		 {{1, 0, 9, A, A}, {2, 2, 9, B, B}},
		 2,
		 true,
		 SHARING_FALSE},
		{"two write the same", {{1, 0, 9, A, A}, {2, 2, 9, A, A}}, 2, true, SHARING_TRUE},
		{"one reads what the other writes",
		 {{1, 0, 9, A, 0}, {2, 2, 9, 0, A}},
		 2,
		 true,
		 SHARING_TRUE},
		{"one reads beside what the other writes",
		 {{1, 0, 9, A, 0}, {2, 2, 9, 0, B}},
		 2,
		 true,
		 SHARING_FALSE},
		{"both only read", {{1, 0, 9, A, 0}, {2, 2, 9, A, 0}}, 2, false, SHARING_NONE},
		{"one thread that moves",
		 {{1, 0, 9, A, A}, {1, 2, 9, A, A}},
		 2,
		 false,
		 SHARING_NONE},
		{"two threads on one CPU",
		 {{1, 0, 9, A, A}, {2, 0, 9, B, B}},
		 2,
		 false,
		 SHARING_FALSE},
		{"siblings share a cache",
		 {{1, 0, 9, A, A}, {2, 1, 9, B, B}},
		 2,
		 false,
		 SHARING_FALSE},
		{"a third makes it true",
		 {{1, 0, 9, A, A}, {2, 2, 9, B, B}, {3, 3, 1, A, 0}},
		 3,
		 true,
		 SHARING_TRUE},
		{"one sample of the second is enough",
		 {{1, 0, 900, A, A}, {2, 2, 1, B, B}},
		 2,
		 true,
		 SHARING_FALSE},
	};

	for (size_t k = 0; k < ROWS(rows); k++) {
		struct line_table *t = table_of(rows[k].v, rows[k].n);
		struct line *l = t->first;
		const struct line_thread_sum *threads;
		size_t n;

		assert_non_null(l);
		for (int v = 0; v < LINE_VIEWS; v++) {
			threads = line_threads(t, l, v, &n);
			if (line_contended(t, l, v) != rows[k].contended ||
			    line_sharing(threads, n) != rows[k].sharing)
				fail_msg("%s: contended %d, sharing %d", rows[k].why,
					 line_contended(t, l, v), line_sharing(threads, n));
		}
		line_table_close(t);
	}
}

/* One thread was sampled, reading; a short watch saw that one write, on that CPU. */
TEST(written_unsampled)
{
	static const struct {
		const char *why;
		uint32_t by, cpu;
		bool contended;
	} rows[] = {
		{"nobody", 0, 0, false},
		{"another thread, on another core", 2, 2, true},
		{"another thread, on the reader's CPU", 2, 0, false},
		{"another thread, on the reader's core", 2, 1, false},
		{"the reader, on another core", 1, 2, false},
	};
	const struct sample reader = {1, 0, 9, A, 0};

	for (size_t k = 0; k < ROWS(rows); k++) {
		struct line_table *t = table_of(&reader, 1);

		t->first->written_by = rows[k].by;
		t->first->written_cpu = rows[k].cpu;
		if (line_contended(t, t->first, LINE_TOTAL) != rows[k].contended)
			fail_msg("%s: contended %d", rows[k].why, !rows[k].contended);
		line_table_close(t);
	}
}

static double rank_of(const struct sample *v, size_t n, uint32_t pairs, uint32_t changes)
{
	struct line_table *t = table_of(v, n);
	struct line *l = t->first;
	const struct line_thread_sum *threads;
	double rank;
	size_t m;

	line_turns(l, pairs, changes);
	threads = line_threads(t, l, LINE_TOTAL, &m);
	rank = line_rank(l, LINE_TOTAL, threads, m);
	line_table_close(t);
	return rank;
}

TEST(ranks)
{
	static const struct sample even[] = {{1, 0, 100, A, A}, {2, 2, 100, B, B}};
	static const struct sample lopsided[] = {{1, 0, 190, A, A}, {2, 2, 10, B, B}};
	static const struct sample alone[] = {{1, 0, 200, A, A}};

	assert_true(rank_of(even, 2, 100, 90) > rank_of(lopsided, 2, 100, 90));
	assert_true(rank_of(even, 2, 100, 90) > rank_of(even, 2, 100, 3)); /* in turns */
	assert_true(rank_of(even, 2, 100, 3) > 0);			   /* but no veto */
	assert_true(rank_of(even, 2, 0, 0) > rank_of(even, 2, 100, 3));
	assert_true(rank_of(alone, 1, 0, 0) == 0);
}

TEST(views)
{
	static const struct sample v[] = {{1, 0, 5, A, A}, {2, 2, 3, B, B}};
	struct line_table *t = table_of(v, 2);
	struct line *l = t->first;

	line_turns(l, 10, 4);
	line_table_begin(t);
	line_turns(l, 12, 6);
	assert_int_equal(l->view[LINE_INTERVAL].samples, 0);
	assert_false(line_contended(t, l, LINE_INTERVAL));
	assert_int_equal(l->view[LINE_TOTAL].samples, 8);
	assert_true(line_interleave(l, LINE_INTERVAL) == 1);
	assert_true(line_interleave(l, LINE_TOTAL) == 0.5);
	line_turns(l, 2, 0); /* forgotten by the kernel, counted anew */
	assert_int_equal(l->pairs[LINE_TOTAL], 14);
	line_table_forget(t);
	assert_false(line_contended(t, l, LINE_TOTAL));
	line_table_close(t);
}

TEST(quiet_lines_leave)
{
	static const struct sample alone[] = {{1, 0, 5, A, A}};
	static const struct sample both[] = {{1, 0, 5, A, A}, {2, 2, 3, B, B}};
	struct line_table *t = table_of(alone, 1);
	int k;

	for (k = 0; k < 100 && t->first; k++) {
		line_table_begin(t);
		line_table_end(t);
	}
	assert_in_range(k, 5, 99);
	line_table_close(t);
	t = table_of(both, 2);
	for (k = 0; k < 100; k++) {
		line_table_begin(t);
		line_table_end(t);
	}
	assert_non_null(t->first);
	line_table_close(t);
}

/* Threads come and go: a line keeps the busiest, and what the others did. */
TEST(uses_are_bounded)
{
	struct abi_access_key key = {.addr = LINE_AT, .ip = 0x400000, .tgid = 7, .pid = 7};
	struct abi_access a = {.samples = 1, .writes = 1, .write_bytes = A};
	const uint32_t threads = 1000, busy = 2000;
	const struct line_thread_sum *sums;
	uint64_t samples = 0;
	struct line_table *t;
	struct line *l;
	uint32_t k;
	size_t n;

	assert_int_equal(line_table_open(&t, core_of, 4, 10), 0);
	for (k = 0; k < threads; k++) { /* an interval each */
		line_table_begin(t);
		key.tid = k;
		key.cpu = k % 4;
		a.samples = k < 2 ? busy : 1; /* the first two are the busiest */
		assert_int_equal(add(t, &key, &a), 0);
		samples += a.samples;
		line_table_end(t);
	}
	l = t->first;
	assert_int_equal(l->view[LINE_TOTAL].samples, samples);
	assert_in_range(l->nuses, 2, 256);
	assert_int_equal(l->others.view[LINE_TOTAL].samples, threads - l->nuses);
	assert_int_equal(l->others.view[LINE_TOTAL].write_bytes, A);
	sums = line_threads(t, l, LINE_TOTAL, &n);
	assert_int_equal(n, l->nuses);
	assert_int_equal(sums[0].tid, 0);
	assert_int_equal(sums[1].tid, 1);
	assert_int_equal(sums[1].s.samples, busy);

	line_table_begin(t); /* all at once: those that find no room are counted, too */
	for (k = 0; k < threads; k++) {
		key.tid = k;
		a.samples = 1;
		assert_int_equal(add(t, &key, &a), 0);
	}
	assert_int_equal(l->view[LINE_INTERVAL].samples, threads);
	assert_int_equal(l->others.view[LINE_INTERVAL].samples, threads - l->nuses);
	line_table_forget(t);
	assert_int_equal(l->others.view[LINE_TOTAL].samples, 0);
	line_table_close(t);
}

/* One thread that comes from ever new code, and moves, fights with nobody. */
TEST(others_of_one_thread)
{
	struct abi_access_key key = {.addr = LINE_AT, .tgid = 7, .tid = 1, .pid = 7};
	struct abi_access a = {.samples = 1, .writes = 1, .write_bytes = A};
	struct line_table *t;
	struct line *l;

	assert_int_equal(line_table_open(&t, core_of, 4, 10), 0);
	line_table_begin(t);
	for (key.ip = 1; key.ip <= 1000; key.ip++) {
		key.cpu = key.ip % 4;
		assert_int_equal(add(t, &key, &a), 0);
	}
	l = t->first;
	assert_true(l->others.view[LINE_INTERVAL].samples > 0);
	assert_false(line_contended(t, l, LINE_INTERVAL));
	key.tid = 2; /* finds no room either */
	assert_int_equal(add(t, &key, &a), 0);
	assert_true(line_contended(t, l, LINE_INTERVAL));
	line_table_close(t);
}

static size_t lines_in(const struct line_table *t)
{
	const struct line *l;
	size_t n = 0;

	for (l = t->first; l; l = l->next)
		n++;
	return n;
}

/* Processes come and go, with their lines: those that fought most stay, the rest is added up. */
TEST(contended_are_bounded)
{
	struct abi_access_key key = {.tid = 1};
	struct abi_access a = {.writes = 1, .write_bytes = A};
	const uint32_t lines = 5000;
	uint64_t samples = 0;
	struct line_table *t;
	struct line *l;
	uint32_t k;

	assert_int_equal(line_table_open(&t, core_of, 4, 100000), 0);
	for (k = 1; k <= lines; k++) {
		line_table_begin(t);
		key.addr = (uint64_t)k << ABI_LINE_SHIFT;
		key.tgid = k;
		a.samples = 1 + k % 100;
		for (key.tid = 0; key.tid < 2; key.tid++) {
			key.cpu = 2 * key.tid;
			assert_int_equal(add(t, &key, &a), 0);
			samples += a.samples;
		}
		line_table_end(t);
		assert_in_range(lines_in(t), 1, 300);
	}
	assert_true(lines_in(t) > 100);
	assert_true(t->rest.samples > 0);
	assert_true(t->rest.writes > 0);
	samples -= t->rest.samples;
	for (l = t->first; l; l = l->next) {
		samples -= l->view[LINE_TOTAL].samples;
		if (l->idle_turns > 100)
			assert_true(l->view[LINE_TOTAL].samples > 100); /* of 2 to 200 */
	}
	assert_int_equal(samples, 0);
	line_table_forget(t);
	assert_int_equal(t->rest.samples, 0);
	line_table_close(t);
}

/* Two threads that only read: nothing is lost with it. */
TEST(harmless_lines_leave)
{
	static const struct sample both[] = {{1, 0, 5, A, 0}, {2, 2, 3, B, 0}};
	struct line_table *t = table_of(both, 2);
	int k;

	for (k = 0; k < 100 && t->first; k++) {
		line_table_begin(t);
		line_table_end(t);
	}
	assert_in_range(k, 5, 99);
	line_table_close(t);
}

TEST(full)
{
	struct abi_access_key key = {.tgid = 1, .tid = 1};
	struct abi_access a = {.samples = 1};
	struct line_table *t;

	assert_int_equal(line_table_open(&t, core_of, 4, 2), 0);
	for (key.addr = 64; key.addr <= 128; key.addr += 64)
		assert_int_equal(add(t, &key, &a), 0);
	assert_int_equal(add(t, &key, &a), -ENOSPC);
	assert_int_equal(t->dropped, 1);
	key.addr = 64;
	assert_int_equal(add(t, &key, &a), 0);
	line_table_close(t);
}

/* A line that two threads touch, with as many hits in a modified line. */
static double rank_with(uint32_t samples, uint32_t local, uint32_t remote)
{
	struct abi_access_key key = {.addr = LINE_AT, .tgid = 7, .tid = 1, .pid = 7};
	struct abi_access a = {.samples = samples, .writes = samples};
	const struct line_thread_sum *threads;
	struct line_table *t;
	struct line *l;
	double rank;
	size_t n;

	assert_int_equal(line_table_open(&t, core_of, 4, 10), 0);
	line_table_begin(t);
	assert_int_equal(add(t, &key, &a), 0);
	key.tid = 2;
	key.cpu = 2;
	a.hitm_local = local;
	a.hitm_remote = remote;
	assert_int_equal(add(t, &key, &a), 0);
	l = t->first;
	assert_int_equal(l->view[LINE_TOTAL].hitm_local, local);
	assert_int_equal(l->view[LINE_TOTAL].hitm_remote, remote);
	threads = line_threads(t, l, LINE_TOTAL, &n);
	rank = line_rank(l, LINE_TOTAL, threads, n);
	line_table_close(t);
	return rank;
}

TEST(hitm_first)
{
	assert_true(rank_with(1, 1, 0) > rank_with(1000000, 0, 0));
	assert_true(rank_with(1, 1, 2) > rank_with(1000, 2, 0));
	assert_true(rank_with(10, 1, 0) > rank_with(9, 1, 0)); /* equal hits: as ever */
}

static struct line_use *use_of(const struct line *l, uint32_t tid, uint32_t offset)
{
	struct line_use *u = l->uses;

	while (u && (u->tid != tid || u->offset != offset))
		u = u->next;
	assert_non_null(u);
	return u;
}

/* Of each use by itself, and of the line together; whichever CPU's entry they came in. */
TEST(latencies)
{
	struct abi_access_key one = {.addr = LINE_AT, .ip = 0x400001, .tgid = 7, .tid = 1};
	struct abi_access_key two = {
		.addr = LINE_AT, .ip = 0x400002, .tgid = 7, .tid = 2, .cpu = 2};
	struct sample v[] = {{1, 0, 9, A, A}, {2, 2, 9, B, B}};
	struct abi_latency a = {.sum = 300, .min = 100, .max = 200};
	struct abi_latency b = {.sum = 50, .min = 50, .max = 50};
	struct line_table *t = table_of(v, 2);
	struct line *l = t->first;
	struct line_use *u;

	a.slots[100] = 1;
	a.slots[ABI_LATENCY_SLOTS - 1] = 1;
	b.slots[90] = 1;
	assert_null(use_of(l, 1, 0)->latency); /* not told: none, not 0 */
	assert_int_equal(add_latency(t, &one, &a), 0);
	one.cpu = 2; /* it moved there: another entry */
	assert_int_equal(add_latency(t, &one, &b), 0);
	assert_int_equal(add_latency(t, &two, &b), 0);
	two.addr++; /* its accesses found no room */
	assert_int_equal(add_latency(t, &two, &b), 0);
	assert_int_equal(l->latency[LINE_TOTAL].count, 4);
	assert_int_equal(l->latency[LINE_TOTAL].sum_ns, 400);
	assert_int_equal(l->latency[LINE_TOTAL].min_ns, 50);
	assert_int_equal(l->latency[LINE_TOTAL].max_ns, 200);
	u = use_of(l, 1, 0);
	assert_int_equal(u->latency[LINE_TOTAL].count, 3);
	assert_int_equal(u->latency[LINE_TOTAL].sum_ns, 350);
	assert_int_equal(use_of(l, 2, 0)->latency[LINE_TOTAL].count, 1);
	assert_int_equal(use_of(l, 2, 0)->latency[LINE_TOTAL].max_ns, 50);
	line_table_begin(t);
	assert_int_equal(l->latency[LINE_INTERVAL].count + u->latency[LINE_INTERVAL].count, 0);
	assert_int_equal(u->latency[LINE_TOTAL].count, 3);
	line_table_close(t);
}

/* One instruction that walks over a line has a use for each place; told, hits and pages are theirs.
 */
TEST(places)
{
	struct abi_access_key key = {.addr = LINE_AT + 8, .ip = 0x400001, .tgid = 7, .tid = 1};
	struct abi_access a = {.samples = 3, .told = 2, .hitm_remote = 1, .phys = 0x5008};
	struct line_table *t;
	struct line *l;

	assert_int_equal(line_table_open(&t, core_of, 4, 10), 0);
	line_table_begin(t);
	assert_int_equal(add(t, &key, &a), 0);
	key.cpu = 2; /* the same use on another CPU */
	a.phys = 0;
	assert_int_equal(add(t, &key, &a), 0);
	key.addr += 8;
	a.told = a.hitm_remote = 0;
	assert_int_equal(add(t, &key, &a), 0);
	l = t->first;
	assert_null(l->next);
	assert_int_equal(use_of(l, 1, 8)->view[LINE_TOTAL].samples, 6);
	assert_int_equal(use_of(l, 1, 8)->view[LINE_TOTAL].hitm_remote, 2);
	assert_int_equal(use_of(l, 1, 8)->view[LINE_TOTAL].told, 4);
	assert_int_equal(use_of(l, 1, 8)->phys, 0x5008); /* the last that was told */
	assert_int_equal(use_of(l, 1, 16)->view[LINE_TOTAL].told, 0);
	assert_int_equal(use_of(l, 1, 16)->phys, 0);
	assert_int_equal(l->view[LINE_TOTAL].told, 4);
	line_table_close(t);
}

TEST(arena)
{
	struct arena a = {0};
	char *first = arena_text(&a, "text"), *p;
	int k;

	assert_string_equal(first, "text");
	assert_null(arena_text(&a, NULL));
	for (k = 0; k < 2000; k++) {
		p = arena_take(&a, 100);
		assert_non_null(p);
		assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
		memset(p, 0xee, 100);
	}
	p = arena_take(&a, 100000); /* larger than a block */
	assert_non_null(p);
	assert_int_equal(p[99999], 0);
	assert_string_equal(first, "text");
	arena_reset(&a);
	assert_ptr_equal(arena_take(&a, 5), first); /* the memory is used again, and zeroed */
	assert_int_equal(first[0], 0);
	arena_free(&a);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
