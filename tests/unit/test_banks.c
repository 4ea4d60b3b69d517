// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Per-CPU banks into histograms: the scheduler's, and those of one metric. No kernel: the banks lie
 * in a memory file, and what the programs do is done here.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/sched/sched.h"
#include "khist.h"
#include "unit.h"
#include "waits.h"

#define SCHEMA 3
#define NCPUS 3
#define NS 1000

struct fixture {
	struct bucket_table table;
	size_t bank_bytes, len;
	char *map;
	int fd;
};

static void begin(struct fixture *f, size_t bank_bytes)
{
	memset(f, 0, sizeof(*f));
	f->bank_bytes = bank_bytes;
	f->len = NCPUS * ABI_BANKS * bank_bytes;
	f->fd = memfd_create("banks", MFD_CLOEXEC);
	assert_true(f->fd >= 0);
	assert_int_equal(ftruncate(f->fd, (off_t)f->len), 0);
	f->map = mmap(NULL, f->len, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert_ptr_not_equal(f->map, MAP_FAILED);
	assert_int_equal(bucket_table_init(&f->table, SCHEMA), 0);
}

static void end(struct fixture *f)
{
	assert_int_equal(munmap(f->map, f->len), 0);
	assert_int_equal(close(f->fd), 0);
}

static struct abi_counts *bank_of(const struct fixture *f, uint64_t epoch, uint32_t cpu)
{
	return (void *)(f->map + (cpu * ABI_BANKS + (epoch & 1)) * f->bank_bytes);
}

/* What the programs do, n times at once. */
static void samples(struct fixture *f, uint64_t epoch, uint32_t cpu, uint32_t m, uint64_t v,
		    uint32_t n)
{
	struct abi_counts *bank = bank_of(f, epoch, cpu);
	struct abi_hist *h = (void *)((char *)(bank + 1) + m * ABI_HIST_BYTES(SCHEMA));

	bank->switches += n;
	khist_sum(h, epoch, v, n);
	((uint32_t *)(h + 1))[bucket_slot(&f->table, SCHEMA, v)] += n;
}

/* ---- the scheduler's ---- */

static void open_banks(struct fixture *f, struct banks *b, uint32_t nhists, uint32_t nmetrics,
		       int (*derive)(struct hist *))
{
	const struct banks_args args = {
		.map_fd = f->fd,
		.nhists = nhists,
		.schema = SCHEMA,
		.ncpus = NCPUS,
		.metrics = metric_list,
		.nmetrics = nmetrics,
		.optional = 1U << METRIC_SCHED_THROTTLE_WAIT,
		.all_cpus = derive != NULL,
		.derive = derive,
	};
	struct err e = {0};

	assert_int_equal(banks_open(b, &args, &e), 0);
}

static void check_series(const struct banks *b, size_t n)
{
	struct source_report r = {0};

	assert_int_equal(banks_push(b, &r), 0);
	assert_int_equal(r.interval.series.n, n);
	assert_int_equal(r.total.series.n, n);
	assert_ptr_equal(r.total.series.v[0].hist, &b->all.total[0]);
	rows_free(&r.interval);
	rows_free(&r.total);
}

static void sched_begin(struct fixture *f, struct banks *b)
{
	begin(f, ABI_BANK_BYTES(SCHEMA));
	open_banks(f, b, ABI_SCHED_HISTS, SCHED_METRICS, sched_derive);
}

static void sched_end(struct fixture *f, struct banks *b)
{
	banks_close(b);
	end(f);
}

TEST(test_sched_intervals)
{
	struct err e = {0};
	struct banks b;
	struct fixture f;

	sched_begin(&f, &b);
	samples(&f, 1, 0, ABI_QUEUE_TO_RUN, NS, 3);
	samples(&f, 1, 2, ABI_PREEMPT_WAIT, 50, 2);
	bank_of(&f, 1, 2)->clamped = 7;
	assert_int_equal(banks_collect(&b, 1, true, &e), 0);
	check_hist(&b.all.interval[METRIC_SCHED_RUN_DELAY], 5, 3 * NS + 100, 50, NS);
	check_hist(&b.cpus[0].interval[METRIC_SCHED_RUN_DELAY], 3, 3 * NS, NS, NS);
	assert_int_equal(b.cpus[1].interval[METRIC_SCHED_RUN_DELAY].count, 0);
	assert_int_equal(b.counts.interval.clamped, 7);
	samples(&f, 2, 0, ABI_QUEUE_TO_RUN, 9, 1);
	assert_int_equal(banks_collect(&b, 2, true, &e), 0);
	check_hist(&b.all.interval[METRIC_SCHED_RUN_DELAY], 1, 9, 9, 9);
	check_hist(&b.all.total[METRIC_SCHED_RUN_DELAY], 6, 3 * NS + 109, 9, NS);
	assert_int_equal(b.counts.interval.clamped, 0);
	assert_int_equal(b.counts.total.clamped, 7);
	check_series(&b, 3 * (SCHED_METRICS - 1)); /* all, two CPUs; nobody was throttled */
	sched_end(&f, &b);
}

/* Slots that wrap between two readings of a long interval lose nothing. */
TEST(test_sched_drain)
{
	const uint64_t most = UINT32_MAX, all = most + 3;
	struct err e = {0};
	struct banks b;
	struct fixture f;

	sched_begin(&f, &b);
	samples(&f, 1, 1, ABI_QUEUE_TO_RUN, NS, UINT32_MAX);
	bank_of(&f, 1, 1)->missed = 2;
	assert_int_equal(banks_collect(&b, 1, false, &e), 0);
	samples(&f, 2, 1, ABI_QUEUE_TO_RUN, 50, 1);
	bank_of(&f, 2, 1)->missed = 3;
	assert_int_equal(banks_collect(&b, 2, false, &e), 0);
	samples(&f, 3, 1, ABI_QUEUE_TO_RUN, NS, 2);
	assert_int_equal(banks_collect(&b, 3, true, &e), 0);
	check_hist(&b.all.interval[METRIC_SCHED_QUEUE_TO_RUN], all, (most + 2) * NS + 50, 50, NS);
	check_hist(&b.cpus[1].interval[METRIC_SCHED_RUN_DELAY], all, (most + 2) * NS + 50, 50, NS);
	check_hist(&b.all.total[METRIC_SCHED_RUN_DELAY], all, (most + 2) * NS + 50, 50, NS);
	assert_int_equal(b.counts.interval.missed, 5);
	assert_int_equal(b.counts.total.missed, 5);
	samples(&f, 4, 1, ABI_QUEUE_TO_RUN, 50, 1);
	assert_int_equal(banks_collect(&b, 4, true, &e), 0);
	check_hist(&b.all.interval[METRIC_SCHED_QUEUE_TO_RUN], 1, 50, 50, 50);
	assert_int_equal(b.all.total[METRIC_SCHED_QUEUE_TO_RUN].count, all + 1);
	sched_end(&f, &b);
}

/* ---- one metric ---- */

TEST(test_one_metric)
{
	const uint64_t most = UINT32_MAX;
	struct err e = {0};
	struct fixture f;
	struct banks w;

	begin(&f, BANK_BYTES(1, SCHEMA));
	open_banks(&f, &w, 1, 1, NULL);
	samples(&f, 1, 0, 0, NS, UINT32_MAX);
	bank_of(&f, 1, 0)->unpaired = 1;
	assert_int_equal(banks_collect(&w, 1, false, &e), 0);
	samples(&f, 2, 2, 0, 50, 4);
	assert_int_equal(banks_collect(&w, 2, false, &e), 0);
	samples(&f, 3, 0, 0, NS, 2);
	assert_int_equal(banks_collect(&w, 3, true, &e), 0);
	check_hist(&w.all.interval[0], most + 6, (most + 2) * NS + 200, 50, NS);
	check_hist(&w.all.total[0], most + 6, (most + 2) * NS + 200, 50, NS);
	check_hist(&w.cpus[0].total[0], most + 2, (most + 2) * NS, NS, NS);
	assert_int_equal(w.counts.interval.unpaired, 1);
	assert_int_equal(banks_collect(&w, 4, true, &e), 0); /* nothing came */
	assert_int_equal(w.all.interval[0].count, 0);
	assert_int_equal(w.counts.interval.unpaired, 0);
	assert_int_equal(w.all.total[0].count, most + 6);
	check_series(&w, 3); /* all, and the two CPUs that had any */
	banks_close(&w);
	end(&f);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
