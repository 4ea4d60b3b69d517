// SPDX-License-Identifier: GPL-2.0-or-later
/* What became of the samples: a metric of their own, and what was lost. */
#include "source/line/line.h"

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

void line_counts_quality(const struct abi_counts *counts, struct quality *q)
{
	const struct abi_line_counts *c = line_counts_of(counts);

	*q = (struct quality){0};
	q->map_full = c->results[ABI_LINE_NO_ROOM] + c->ips_full + c->latencies_full;
	q->over_range = c->latencies_over;
	q->pending = c->results[ABI_IP_PENDING]; /* also those that found the ring full */
}

int line_counts_push(const struct abi_counts *counts, struct series_list *to)
{
	const struct abi_line_counts *c = line_counts_of(counts);
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
