// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Banks into histograms. A bank is read after its epoch has ended, so nobody writes it; what was
 * seen of it before is subtracted, nothing is ever zeroed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/sched/sched.h"

void sched_row_init(struct sched_row *r, uint32_t schema)
{
	int m;

	for (m = 0; m < SCHED_METRICS; m++) {
		hist_init(&r->interval[m], schema);
		hist_init(&r->total[m], schema);
	}
}

int sched_row_reserve(struct sched_row *r)
{
	int m, ret = 0;

	for (m = 0; !ret && m < SCHED_METRICS; m++) {
		ret = hist_reserve_all(&r->interval[m]);
		if (!ret)
			ret = hist_reserve_all(&r->total[m]);
	}
	return ret;
}

void sched_row_reset(struct sched_row *r)
{
	int m;

	for (m = 0; m < SCHED_METRICS; m++) {
		hist_reset(&r->interval[m]);
		hist_reset(&r->total[m]);
	}
}

void sched_row_free(struct sched_row *r)
{
	int m;

	for (m = 0; m < SCHED_METRICS; m++) {
		hist_free(&r->interval[m]);
		hist_free(&r->total[m]);
	}
}

int sched_row_finish(struct sched_row *r)
{
	int m, ret;

	ret = hist_merge(&r->interval[METRIC_SCHED_RUN_DELAY],
			 &r->interval[METRIC_SCHED_QUEUE_TO_RUN]);
	if (!ret)
		ret = hist_merge(&r->interval[METRIC_SCHED_RUN_DELAY],
				 &r->interval[METRIC_SCHED_PREEMPT_WAIT]);
	for (m = 0; !ret && m < SCHED_METRICS; m++)
		ret = hist_merge(&r->total[m], &r->interval[m]);
	return ret;
}

static size_t hists_bytes(const struct sched_banks *b)
{
	return ABI_SCHED_HISTS * ABI_HIST_BYTES(b->schema);
}

static int open_rows(struct sched_banks *b)
{
	uint32_t c;
	int ret;

	b->cpus = calloc(b->ncpus, sizeof(*b->cpus));
	b->cpu_used = calloc(b->ncpus, sizeof(*b->cpu_used));
	b->seen = calloc((size_t)b->ncpus * ABI_BANKS, hists_bytes(b));
	if (!b->cpus || !b->cpu_used || !b->seen)
		return -ENOMEM;
	sched_row_init(&b->whole, b->schema);
	ret = sched_row_reserve(&b->whole);
	for (c = 0; c < b->ncpus; c++)
		sched_row_init(&b->cpus[c], b->schema);
	for (c = 0; !ret && c < b->ncpus; c++)
		ret = sched_row_reserve(&b->cpus[c]);
	return ret;
}

int sched_banks_open(struct sched_banks *b, int map_fd, uint32_t schema, uint32_t ncpus,
		     struct err *e)
{
	memset(b, 0, sizeof(*b));
	b->schema = schema;
	b->ncpus = ncpus;
	if (open_rows(b))
		return err_sys(e, -ENOMEM, "histograms of %u CPUs", ncpus);
	return counts_open(&b->counts, map_fd, ncpus, ABI_BANK_BYTES(schema), e);
}

/*
 * One bank of one CPU. A histogram whose epoch is another had no sample in this interval; one that
 * came late, after the previous reading, is found when the bank's turn comes again or at the end.
 */
static int collect_bank(struct sched_banks *b, uint32_t cpu, uint32_t bank, uint64_t epoch)
{
	const char *hists = (const char *)(counts_bank(&b->counts, cpu, bank) + 1);
	char *seen = b->seen + ((size_t)cpu * ABI_BANKS + bank) * hists_bytes(b);
	uint32_t m;
	int ret = 0;

	if (!counts_read(&b->counts, cpu, bank))
		return 0;
	b->cpu_used[cpu] = true;
	for (m = 0; !ret && m < ABI_SCHED_HISTS; m++) {
		const struct abi_hist *h = (const void *)(hists + m * ABI_HIST_BYTES(b->schema));
		struct abi_hist *old = (void *)(seen + m * ABI_HIST_BYTES(b->schema));

		if (epoch && h->epoch != epoch)
			continue;
		ret = counts_hist(&b->cpus[cpu].interval[m], h, old, BUCKET_SLOTS(b->schema));
	}
	return ret;
}

static void begin_interval(struct sched_banks *b)
{
	uint32_t c;
	int m;

	if (b->counts.begun)
		return;
	counts_begin(&b->counts);
	for (m = 0; m < SCHED_METRICS; m++)
		hist_reset(&b->whole.interval[m]);
	for (c = 0; c < b->ncpus; c++)
		for (m = 0; b->cpu_used[c] && m < SCHED_METRICS; m++)
			hist_reset(&b->cpus[c].interval[m]);
}

static int finish_interval(struct sched_banks *b)
{
	uint32_t c;
	int m, ret = 0;

	counts_end(&b->counts);
	for (c = 0; !ret && c < b->ncpus; c++) {
		if (!b->cpu_used[c])
			continue;
		for (m = 0; !ret && m < ABI_SCHED_HISTS; m++)
			ret = hist_merge(&b->whole.interval[m], &b->cpus[c].interval[m]);
		if (!ret)
			ret = sched_row_finish(&b->cpus[c]);
	}
	return ret ? ret : sched_row_finish(&b->whole);
}

int sched_banks_fold(struct sched_banks *b, uint64_t epoch)
{
	uint32_t c, bank;
	int ret = 0;

	begin_interval(b);
	for (c = 0; c < b->ncpus; c++)
		for (bank = 0; !ret && bank < ABI_BANKS; bank++)
			if (counts_bank_ended(bank, epoch))
				ret = collect_bank(b, c, bank, epoch);
	return ret;
}

int sched_banks_collect(struct sched_banks *b, uint64_t epoch)
{
	int ret = sched_banks_fold(b, epoch);

	return ret ? ret : finish_interval(b);
}

void sched_banks_forget(struct sched_banks *b)
{
	uint32_t c;

	counts_forget(&b->counts);
	sched_row_reset(&b->whole);
	for (c = 0; c < b->ncpus; c++)
		sched_row_reset(&b->cpus[c]);
}

void sched_banks_close(struct sched_banks *b)
{
	uint32_t c;

	counts_close(&b->counts);
	for (c = 0; b->cpus && c < b->ncpus; c++)
		sched_row_free(&b->cpus[c]);
	sched_row_free(&b->whole);
	free(b->cpus);
	free(b->cpu_used);
	free(b->seen);
	memset(b, 0, sizeof(*b));
}
