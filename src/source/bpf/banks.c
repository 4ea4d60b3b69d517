// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf/banks.h"

static int row_open(struct banks *b, struct banks_row *row, struct hist *hists)
{
	uint32_t m;
	int ret = 0;

	row->interval = hists;
	row->total = hists + b->args.nmetrics;
	for (m = 0; !ret && m < 2 * b->args.nmetrics; m++) {
		hist_init(&hists[m], b->args.schema);
		ret = hist_reserve_all(&hists[m]);
	}
	return ret;
}

static int open_rows(struct banks *b)
{
	uint32_t n = b->args.ncpus, each = 2 * b->args.nmetrics, c;
	int ret;

	b->cpus = calloc(n, sizeof(*b->cpus));
	b->cpu_names = cpu_names(n);
	b->seen = calloc((size_t)n * ABI_BANKS, b->args.nhists * ABI_HIST_BYTES(b->args.schema));
	b->hists = calloc((size_t)each * (n + 1), sizeof(*b->hists));
	if (!b->cpus || !b->cpu_names || !b->seen || !b->hists)
		return -ENOMEM;
	ret = row_open(b, &b->all, b->hists);
	for (c = 0; !ret && c < n; c++)
		ret = row_open(b, &b->cpus[c], b->hists + (size_t)each * (c + 1));
	return ret;
}

int banks_open(struct banks *b, const struct banks_args *args, struct err *e)
{
	memset(b, 0, sizeof(*b));
	b->args = *args;
	if (open_rows(b))
		return err_sys(e, -ENOMEM, "histograms of %u CPUs", args->ncpus);
	return counts_open(&b->counts, args->map_fd, args->ncpus,
			   BANK_BYTES(args->nhists, args->schema), e);
}

/*
 * One bank of one CPU. A histogram whose epoch is another had no sample in this interval; one that
 * came late, after the previous reading, is found when the bank's turn comes again or at the end.
 */
static int collect_bank(struct banks *b, uint32_t cpu, uint32_t bank, uint64_t epoch)
{
	size_t bytes = ABI_HIST_BYTES(b->args.schema);
	const char *hists = (const char *)(counts_bank(&b->counts, cpu, bank) + 1);
	char *seen = b->seen + ((size_t)cpu * ABI_BANKS + bank) * b->args.nhists * bytes;
	uint32_t m;
	int ret = 0;

	if (!counts_read(&b->counts, cpu, bank))
		return 0;
	b->cpus[cpu].used = true;
	for (m = 0; !ret && m < b->args.nhists; m++) {
		const struct abi_hist *h = (const void *)(hists + m * bytes);

		if (!epoch || h->epoch == epoch)
			ret = counts_hist(&b->cpus[cpu].interval[m], h, (void *)(seen + m * bytes),
					  BUCKET_SLOTS(b->args.schema));
	}
	return ret;
}

/* banks_move() may have taken coarser buckets. */
static void forget(const struct banks *b, struct hist *h)
{
	hist_reset(h);
	h->schema = b->args.schema;
}

static void begin_interval(struct banks *b)
{
	uint32_t c, m;

	if (b->counts.begun)
		return;
	counts_begin(&b->counts);
	for (m = 0; m < b->args.nmetrics; m++) {
		forget(b, &b->all.interval[m]);
		for (c = 0; c < b->args.ncpus; c++)
			if (b->cpus[c].used)
				forget(b, &b->cpus[c].interval[m]);
	}
}

static int end_row(const struct banks *b, struct banks_row *row)
{
	int ret = b->args.derive ? b->args.derive(row->interval) : 0;
	uint32_t m;

	for (m = 0; !ret && m < b->args.nmetrics; m++)
		ret = hist_merge(&row->total[m], &row->interval[m]);
	return ret;
}

static int end_interval(struct banks *b)
{
	uint32_t c, m;
	int ret = 0;

	counts_end(&b->counts);
	for (c = 0; !ret && c < b->args.ncpus; c++) {
		if (!b->cpus[c].used)
			continue;
		for (m = 0; !ret && m < b->args.nhists; m++)
			ret = hist_merge(&b->all.interval[m], &b->cpus[c].interval[m]);
		if (!ret)
			ret = end_row(b, &b->cpus[c]);
	}
	return ret ? ret : end_row(b, &b->all);
}

int banks_collect(struct banks *b, uint64_t epoch, bool ends, struct err *e)
{
	uint32_t c, bank;
	int ret = 0;

	begin_interval(b);
	for (c = 0; c < b->args.ncpus; c++)
		for (bank = 0; !ret && bank < ABI_BANKS; bank++)
			if (counts_bank_ended(bank, epoch))
				ret = collect_bank(b, c, bank, epoch);
	if (ret)
		return err_sys(e, ret, "read the histograms of %u CPUs", b->args.ncpus);
	return ends ? banks_end(b, e) : 0;
}

int banks_end(struct banks *b, struct err *e)
{
	int ret = end_interval(b);

	return ret ? err_sys(e, ret, "add up the histograms of %u CPUs", b->args.ncpus) : 0;
}

int banks_move(struct banks *b, uint32_t cpu, uint32_t from, uint32_t to, const struct hist *what)
{
	struct hist *interval = b->cpus[cpu].interval;
	int ret = hist_move(&interval[to], &interval[from], what);

	return ret == -EINVAL ? 0 : ret;
}

void banks_bounds(struct banks *b, uint32_t cpu, uint32_t m, uint64_t min_ns, uint64_t max_ns)
{
	struct hist *h = &b->cpus[cpu].interval[m];

	if (!h->count)
		return;
	h->min_ns = min_ns;
	h->max_ns = max_ns;
}

void banks_forget(struct banks *b)
{
	uint32_t m;

	counts_forget(&b->counts);
	for (m = 0; m < 2 * b->args.nmetrics * (b->args.ncpus + 1); m++)
		forget(b, &b->hists[m]);
}

static int push(const struct banks *b, struct source_report *r, const struct banks_row *row,
		const struct label *cpu)
{
	return series_push_hists(r, b->args.metrics, b->args.nmetrics, b->args.optional,
				 row->interval, row->total, cpu, cpu != NULL);
}

static bool is_shown(const struct banks *b, const struct banks_row *row)
{
	uint32_t m;

	for (m = 0; !b->args.all_cpus && m < b->args.nmetrics; m++)
		if (row->total[m].count)
			return true;
	return b->args.all_cpus && row->used;
}

int banks_push(const struct banks *b, struct source_report *r)
{
	struct label cpu = {.key = "cpu"};
	int ret = push(b, r, &b->all, NULL);
	uint32_t c;

	for (c = 0; !ret && c < b->args.ncpus; c++) {
		cpu.value = b->cpu_names[c];
		if (is_shown(b, &b->cpus[c]))
			ret = push(b, r, &b->cpus[c], &cpu);
	}
	return ret;
}

void banks_close(struct banks *b)
{
	uint32_t m;

	counts_close(&b->counts);
	for (m = 0; b->hists && m < 2 * b->args.nmetrics * (b->args.ncpus + 1); m++)
		hist_free(&b->hists[m]);
	free(b->hists);
	free(b->cpus);
	free(b->cpu_names);
	free(b->seen);
	memset(b, 0, sizeof(*b));
}
