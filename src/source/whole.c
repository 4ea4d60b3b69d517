// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/whole.h"

static int row_open(struct whole_row *r, uint32_t nhists, uint32_t schema)
{
	uint32_t m;
	int ret = 0;

	for (m = 0; m < WHOLE_HISTS; m++) {
		hist_init(&r->interval[m], schema);
		hist_init(&r->total[m], schema);
	}
	for (m = 0; !ret && m < nhists; m++) {
		ret = hist_reserve_all(&r->interval[m]);
		if (!ret)
			ret = hist_reserve_all(&r->total[m]);
	}
	return ret;
}

static void row_reset(struct whole_row *r)
{
	uint32_t m;

	for (m = 0; m < WHOLE_HISTS; m++) {
		hist_reset(&r->interval[m]);
		hist_reset(&r->total[m]);
	}
}

static void row_free(struct whole_row *r)
{
	uint32_t m;

	for (m = 0; m < WHOLE_HISTS; m++) {
		hist_free(&r->interval[m]);
		hist_free(&r->total[m]);
	}
}

int whole_open(struct whole *w, int map_fd, uint32_t nhists, uint32_t schema, uint32_t ncpus,
	       struct err *e)
{
	uint32_t c;
	int ret;

	memset(w, 0, sizeof(*w));
	w->nhists = nhists;
	w->schema = schema;
	w->ncpus = ncpus;
	w->cpus = calloc(ncpus, sizeof(*w->cpus));
	w->cpu_names = cpu_names(ncpus);
	w->seen = calloc((size_t)ncpus * ABI_BANKS, nhists * ABI_HIST_BYTES(schema));
	if (!w->cpus || !w->cpu_names || !w->seen)
		return err_sys(e, -ENOMEM, "histograms of %u CPUs", ncpus);
	ret = row_open(&w->all, nhists, schema);
	for (c = 0; !ret && c < ncpus; c++)
		ret = row_open(&w->cpus[c], nhists, schema);
	if (ret)
		return err_sys(e, ret, "histograms of %u CPUs", ncpus);
	return counts_open(&w->counts, map_fd, ncpus, WHOLE_BANK_BYTES(nhists, schema), e);
}

/* A histogram whose epoch is another had no sample in this interval; see counts_read. */
static int collect_bank(struct whole *w, uint32_t cpu, uint32_t bank, uint64_t epoch)
{
	size_t bytes = ABI_HIST_BYTES(w->schema);
	const char *hists = (const char *)(counts_bank(&w->counts, cpu, bank) + 1);
	char *seen = w->seen + ((size_t)cpu * ABI_BANKS + bank) * w->nhists * bytes;
	uint32_t m;
	int ret = 0;

	if (!counts_read(&w->counts, cpu, bank))
		return 0;
	for (m = 0; !ret && m < w->nhists; m++) {
		const struct abi_hist *h = (const void *)(hists + m * bytes);

		if (!epoch || h->epoch == epoch)
			ret = counts_hist(&w->cpus[cpu].interval[m], h, (void *)(seen + m * bytes),
					  BUCKET_SLOTS(w->schema));
	}
	return ret;
}

static int merge_cpu(struct whole *w, struct whole_row *cpu)
{
	uint32_t m;
	int ret = 0;

	for (m = 0; !ret && m < w->nhists; m++) {
		ret = hist_merge(&cpu->total[m], &cpu->interval[m]);
		if (!ret)
			ret = hist_merge(&w->all.interval[m], &cpu->interval[m]);
	}
	return ret;
}

static void begin_interval(struct whole *w)
{
	uint32_t c, m;

	if (w->counts.begun)
		return;
	counts_begin(&w->counts);
	for (m = 0; m < w->nhists; m++) {
		hist_reset(&w->all.interval[m]);
		for (c = 0; c < w->ncpus; c++)
			hist_reset(&w->cpus[c].interval[m]);
	}
}

int whole_fold(struct whole *w, uint64_t epoch)
{
	uint32_t c, bank;
	int ret = 0;

	begin_interval(w);
	for (c = 0; c < w->ncpus; c++)
		for (bank = 0; !ret && bank < ABI_BANKS; bank++)
			if (counts_bank_ended(bank, epoch))
				ret = collect_bank(w, c, bank, epoch);
	return ret;
}

int whole_collect(struct whole *w, uint64_t epoch)
{
	uint32_t c, m;
	int ret = whole_fold(w, epoch);

	for (c = 0; !ret && c < w->ncpus; c++)
		ret = merge_cpu(w, &w->cpus[c]);
	counts_end(&w->counts);
	for (m = 0; !ret && m < w->nhists; m++)
		ret = hist_merge(&w->all.total[m], &w->all.interval[m]);
	return ret;
}

void whole_forget(struct whole *w)
{
	uint32_t c;

	counts_forget(&w->counts);
	row_reset(&w->all);
	for (c = 0; c < w->ncpus; c++)
		row_reset(&w->cpus[c]);
}

static int push(const struct whole *w, const struct metric_desc *descs, struct source_report *r,
		struct series one, const struct whole_row *row)
{
	uint32_t m;
	int ret = 0;

	for (m = 0; !ret && m < w->nhists; m++) {
		one.desc = &descs[m];
		one.hist = &row->interval[m];
		ret = series_push(&r->interval.series, &one);
		one.hist = &row->total[m];
		if (!ret)
			ret = series_push(&r->total.series, &one);
	}
	return ret;
}

static bool had_any(const struct whole *w, const struct whole_row *row)
{
	uint32_t m;

	for (m = 0; m < w->nhists; m++)
		if (row->total[m].count)
			return true;
	return false;
}

int whole_push(const struct whole *w, const struct metric_desc *descs, struct source_report *r)
{
	struct series one = {.nlabels = 0};
	uint32_t c;
	int ret = push(w, descs, r, one, &w->all);

	one.nlabels = 1;
	for (c = 0; !ret && c < w->ncpus; c++) {
		if (!had_any(w, &w->cpus[c]))
			continue;
		one.labels[0] = (struct label){"cpu", w->cpu_names[c]};
		ret = push(w, descs, r, one, &w->cpus[c]);
	}
	return ret;
}

void whole_close(struct whole *w)
{
	uint32_t c;

	counts_close(&w->counts);
	for (c = 0; w->cpus && c < w->ncpus; c++)
		row_free(&w->cpus[c]);
	row_free(&w->all);
	free(w->cpus);
	free(w->cpu_names);
	free(w->seen);
	memset(w, 0, sizeof(*w));
}
