// SPDX-License-Identifier: GPL-2.0-or-later
/* What becomes less of a frame that is owned: an earlier total goes, or the precision of
 * histograms. */
#include <errno.h>

#include "core/frame_own_inside.h"

void own_hist_subtract(struct frame_own *o, const struct hist *from, const struct hist *h)
{
	struct hist *to = (struct hist *)from, wide;
	int ret;

	if (!h || o->error)
		return;
	if (!to) {
		own_fail(o, h->count ? -EINVAL : 0);
		return;
	}
	hist_init(&wide, to->schema);
	ret = hist_merge(&wide, to) ?: hist_subtract(&wide, h);
	hist_reset(to);
	to->schema = wide.schema;
	own_fail(o, ret ?: hist_merge(to, &wide));
	hist_free(&wide);
}

void own_hist_rescale(struct frame_own *o, const struct hist *h, uint32_t schema)
{
	if (h && h->schema > schema)
		own_fail(o, hist_rescale((struct hist *)h, schema));
}

static void series_subtract(struct frame_own *o, const struct series *s)
{
	struct split none = {0}, *split;
	const struct split *part;
	struct series *from;

	own_series_key(o, s);
	from = own_item(o, &o->series, sizeof(*from), false);
	if (!from) {
		own_fail(o, s->value || (s->hist && s->hist->count) ? -EINVAL : 0);
		return;
	}
	split = (struct split *)from->split ?: &none;
	part = s->split ?: &none;
	if (__builtin_sub_overflow(from->value, s->value, &from->value) ||
	    __builtin_sub_overflow(split->blocked_ns, part->blocked_ns, &split->blocked_ns) ||
	    __builtin_sub_overflow(split->run_queue_ns, part->run_queue_ns, &split->run_queue_ns))
		own_fail(o, -EINVAL);
	own_hist_subtract(o, from->hist, s->hist);
}

static void culprit_subtract(struct frame_own *o, const struct culprit *c)
{
	struct culprit *from = (struct culprit *)frame_own_find_culprit(o, c);

	if (!from) {
		own_fail(o, c->wait_ns ? -EINVAL : 0);
		return;
	}
	if (!fields_subtract(&culprit_fields, from, c))
		own_fail(o, -EINVAL);
	for (size_t i = 0; i < CULPRIT_LENGTHS; i++)
		if (__builtin_sub_overflow(from->length_ns[i], c->length_ns[i],
					   &from->length_ns[i]))
			own_fail(o, -EINVAL);
}

static void times_subtract(struct frame_own *o, const struct times *t)
{
	struct times *from = own_times_find(o, t);

	if (!from || !fields_subtract(&times_fields, from, t))
		own_fail(o, -EINVAL);
}

int frame_own_rescale(struct frame_own *o, uint32_t schema)
{
	const struct series *s = o->series.v;

	if (schema < BUCKET_SCHEMA_MIN || schema > BUCKET_SCHEMA_MAX || o->copied)
		return -EINVAL;
	for (size_t i = 0; i < o->series.n; i++)
		own_hist_rescale(o, s[i].hist, schema);
	own_rows_rescale(o, schema);
	return o->error;
}

int frame_own_subtract(struct frame_own *o, const struct frame *earlier)
{
	struct quality *q = &o->frame.quality;

	if (o->copied)
		return -EINVAL;
	o->subtracted = true;
	if (!fields_subtract(&quality_fields, q, &earlier->quality) ||
	    __builtin_sub_overflow(q->missed, earlier->quality.missed, &q->missed) ||
	    __builtin_sub_overflow(o->frame.dur_ns, earlier->dur_ns, &o->frame.dur_ns))
		own_fail(o, -EINVAL);
	for (size_t i = 0; i < earlier->nseries; i++)
		series_subtract(o, &earlier->series[i]);
	for (size_t i = 0; i < earlier->ncontended; i++)
		own_row_subtract(o, &earlier->contended[i]);
	for (size_t i = 0; i < earlier->nculprits; i++)
		culprit_subtract(o, &earlier->culprits[i]);
	for (size_t i = 0; i < earlier->ntimes; i++)
		times_subtract(o, &earlier->times[i]);
	return o->error;
}
