/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "source/source.h"

/* A row more, if anybody looks at them. */
#define DEFINE_PUSH(type)                                              \
	int type##_push(struct type##_list *l, const struct type *one) \
	{                                                              \
		struct type *v = l->v;                                 \
                                                                       \
		if (l->unwanted)                                       \
			return 0;                                      \
		v = array_room(v, &l->cap, l->n, 1, sizeof(*v));       \
		if (!v)                                                \
			return -ENOMEM;                                \
		l->v = v;                                              \
		v[l->n++] = *one;                                      \
		return 0;                                              \
	}

DEFINE_PUSH(series)
DEFINE_PUSH(contended)
DEFINE_PUSH(culprit)
DEFINE_PUSH(times)

int series_push_hists(struct source_report *r, const struct metric_desc *metrics, uint32_t n,
		      uint32_t optional, const struct hist *interval, const struct hist *total,
		      const struct label *labels, uint32_t nlabels)
{
	struct series one = {.nlabels = nlabels};
	int ret = 0;

	if (nlabels)
		memcpy(one.labels, labels, nlabels * sizeof(*labels));
	for (uint32_t m = 0; !ret && m < n; m++) {
		bool wanted = !(optional >> m & 1);

		one.desc = &metrics[m];
		one.hist = &interval[m];
		if (wanted || one.hist->count)
			ret = series_push(&r->interval.series, &one);
		one.hist = &total[m];
		if (!ret && (wanted || one.hist->count))
			ret = series_push(&r->total.series, &one);
	}
	return ret;
}

void rows_forget(struct report_rows *r)
{
	r->series.n = r->contended.n = r->culprits.n = r->times.n = 0;
}

void rows_want(struct report_rows *r, bool wanted)
{
	r->series.unwanted = r->contended.unwanted = r->culprits.unwanted = r->times.unwanted =
		!wanted;
}

void rows_free(struct report_rows *r)
{
	free(r->series.v);
	free(r->contended.v);
	free(r->culprits.v);
	free(r->times.v);
}
