// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/whole.h"

static int row_open(struct whole_row *r, uint32_t schema)
{
	int ret;

	hist_init(&r->interval, schema);
	hist_init(&r->total, schema);
	ret = hist_reserve_all(&r->interval);
	return ret ? ret : hist_reserve_all(&r->total);
}

static void row_reset(struct whole_row *r)
{
	hist_reset(&r->interval);
	hist_reset(&r->total);
}

static void row_free(struct whole_row *r)
{
	hist_free(&r->interval);
	hist_free(&r->total);
}

int whole_open(struct whole *w, int map_fd, uint32_t schema, uint32_t ncpus, struct err *e)
{
	uint32_t c;
	int ret;

	memset(w, 0, sizeof(*w));
	w->schema = schema;
	w->ncpus = ncpus;
	w->cpus = calloc(ncpus, sizeof(*w->cpus));
	w->cpu_names = calloc(ncpus, sizeof(*w->cpu_names));
	w->seen = calloc((size_t)ncpus * ABI_BANKS, ABI_HIST_BYTES(schema));
	if (!w->cpus || !w->cpu_names || !w->seen)
		return err_sys(e, -ENOMEM, "histograms of %u CPUs", ncpus);
	ret = row_open(&w->all, schema);
	for (c = 0; !ret && c < ncpus; c++) {
		(void)snprintf(w->cpu_names[c], sizeof(w->cpu_names[c]), "%u", c); /* fits */
		ret = row_open(&w->cpus[c], schema);
	}
	if (ret)
		return err_sys(e, ret, "histograms of %u CPUs", ncpus);
	return counts_open(&w->counts, map_fd, ncpus, WHOLE_BANK_BYTES(schema), e);
}

/* A histogram whose epoch is another had no sample in this interval; see counts_read. */
static int collect_bank(struct whole *w, uint32_t cpu, uint32_t bank, uint64_t epoch)
{
	const struct abi_hist *h = (const void *)(counts_bank(&w->counts, cpu, bank) + 1);
	size_t at = ((size_t)cpu * ABI_BANKS + bank) * ABI_HIST_BYTES(w->schema);

	if (!counts_read(&w->counts, cpu, bank) || (epoch && h->epoch != epoch))
		return 0;
	return counts_hist(&w->cpus[cpu].interval, h, (void *)(w->seen + at),
			   BUCKET_SLOTS(w->schema));
}

int whole_collect(struct whole *w, uint64_t epoch)
{
	uint32_t c, bank;
	int ret = 0;

	counts_begin(&w->counts);
	hist_reset(&w->all.interval);
	for (c = 0; !ret && c < w->ncpus; c++) {
		hist_reset(&w->cpus[c].interval);
		for (bank = 0; !ret && bank < ABI_BANKS; bank++)
			if (!epoch || bank == (epoch & 1))
				ret = collect_bank(w, c, bank, epoch);
		if (!ret)
			ret = hist_merge(&w->cpus[c].total, &w->cpus[c].interval);
		if (!ret)
			ret = hist_merge(&w->all.interval, &w->cpus[c].interval);
	}
	counts_end(&w->counts);
	return ret ? ret : hist_merge(&w->all.total, &w->all.interval);
}

void whole_forget(struct whole *w)
{
	uint32_t c;

	counts_forget(&w->counts);
	row_reset(&w->all);
	for (c = 0; c < w->ncpus; c++)
		row_reset(&w->cpus[c]);
}

static int push(struct source_report *r, struct series one, const struct whole_row *row)
{
	int ret;

	one.hist = &row->interval;
	ret = series_push(&r->interval.series, &one);
	one.hist = &row->total;
	return ret ? ret : series_push(&r->total.series, &one);
}

int whole_push(const struct whole *w, const struct metric_desc *desc, struct source_report *r)
{
	struct series one = {.desc = desc};
	uint32_t c;
	int ret = push(r, one, &w->all);

	one.nlabels = 1;
	for (c = 0; !ret && c < w->ncpus; c++) {
		if (!w->cpus[c].total.count)
			continue;
		one.labels[0] = (struct label){"cpu", w->cpu_names[c]};
		ret = push(r, one, &w->cpus[c]);
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
