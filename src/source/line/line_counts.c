// SPDX-License-Identifier: GPL-2.0-or-later
/* What became of the samples: a metric of their own, and what was lost. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/line/line.h"

#define COUNTERS (sizeof(struct abi_line_counts) / sizeof(uint64_t))

/* In the order in which they are shown: what could be used, then why the others could not. */
static const struct {
	const char *name;
	uint32_t result;
} results[ABI_LINE_RESULTS] = {
	{"placed", ABI_IP_RECIPE},
	{"no-operand", ABI_IP_NO_OPERAND},
	{"not-computable", ABI_IP_NOT_COMPUTABLE},
	{"ambiguous", ABI_IP_AMBIGUOUS},
	{"undecoded", ABI_IP_UNDECODED},
	{"32-bit", ABI_LINE_COMPAT},
	{"pending", ABI_IP_PENDING},
	{"no-room", ABI_LINE_NO_ROOM},
};

int line_counts_open(struct line_counts *c, int map_fd, uint32_t ncpus, struct err *e)
{
	c->n = (size_t)ncpus * ABI_BANKS;
	c->seen = calloc(c->n, sizeof(*c->seen));
	if (!c->seen)
		return err_sys(e, -ENOMEM, "line");
	return mapped_open(&c->map, map_fd, c->n * sizeof(*c->seen), "line: map the counters", e);
}

void line_counts_close(struct line_counts *c)
{
	mapped_close(&c->map);
	free(c->seen);
	memset(c, 0, sizeof(*c));
}

void line_counts_collect(struct line_counts *c, uint64_t epoch)
{
	uint64_t *interval = (uint64_t *)&c->interval, *total = (uint64_t *)&c->total;
	const struct abi_line_counts *map = c->map.at;
	size_t at, k;

	memset(&c->interval, 0, sizeof(c->interval));
	for (at = 0; at < c->n; at++)
		if (counts_bank_ended(at % ABI_BANKS, epoch))
			(void)counters_read(interval, (const uint64_t *)&map[at],
					    (uint64_t *)&c->seen[at], COUNTERS); /* moved or not */
	for (k = 0; k < COUNTERS; k++)
		total[k] += interval[k];
}

void line_counts_forget(struct line_counts *c)
{
	memset(&c->total, 0, sizeof(c->total));
}

void line_counts_quality(const struct abi_line_counts *c, struct quality *q)
{
	q->map_full = c->results[ABI_LINE_NO_ROOM] + c->ips_full + c->latencies_full;
	q->over_range = c->latencies_over;
	q->pending = c->results[ABI_IP_PENDING]; /* also those that found the ring full */
}

int line_counts_push(const struct abi_line_counts *c, struct series_list *to)
{
	struct series one = {.desc = &metric_list[METRIC_LINE_SAMPLES], .value = c->samples};
	int ret = series_push(to, &one);
	size_t k;

	one.nlabels = 1;
	for (k = 0; !ret && k < ABI_LINE_RESULTS; k++) {
		one.labels[0] =
			(struct label){metric_list[METRIC_LINE_SAMPLES].pivot, results[k].name};
		one.value = c->results[results[k].result];
		ret = series_push(to, &one);
	}
	return ret;
}
