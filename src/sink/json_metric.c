// SPDX-License-Identifier: GPL-2.0-or-later
/* {"name":"sched_wakeup_latency","unit":"ns","labels":{"cpu":"3"},"count":…,"p":{…},"buckets":{…}}
 */
#include <json-c/printbuf.h>

#include "sink/json_build.h"

static void json_add_quantiles(struct json_build *b, struct json_object *metric,
			       const struct hist *h, const struct config *cfg)
{
	struct json_object *p = h->count ? json_new_object(b) : NULL;
	struct json_object *few = json_new_array(b);

	for (size_t i = 0; p && i < cfg->nquantiles; i++) {
		const struct quantile *q = &cfg->quantiles[i];
		struct quantile_value v = hist_quantile(h, q);

		json_add_u64(b, p, q->text, v.ns);
		if (v.few)
			json_append(b, few, json_new_text(b, q->text));
	}
	json_add(b, metric, "p", p);
	json_add(b, metric, "few", few);
}

/* ",123" at the end of text[COUNT_TEXT], without a NUL; its start. Most counts are one digit. */
#define COUNT_TEXT 21
static const char *json_count_text(char *text, uint64_t v)
{
	char *s = text + COUNT_TEXT;

	do
		*--s = (char)('0' + v % 10);
	while (v /= 10);
	*--s = ',';
	return s;
}

/*
 * Writes the counts straight from the histogram: an object and a printf for each of some hundred
 * buckets of each CPU would be most of the cost of a report.
 */
static int json_counts_to_string(struct json_object *o, struct printbuf *pb, int level, int flags)
{
	const struct hist *h = json_object_get_userdata(o);
	struct hist_walk w = {0};
	char text[COUNT_TEXT];
	uint32_t at = 0;
	bool any = false;
	const char *s;

	if (printbuf_memappend(pb, "[", 1) < 0)
		return -1;
	for (; hist_next(h, &w); at = w.slot + 1, any = true) {
		for (; any && at < w.slot; at++)
			if (printbuf_memappend(pb, ",0", 2) < 0)
				return -1;
		s = json_count_text(text, w.n) + !any; /* no comma before the first */
		if (printbuf_memappend(pb, s, (int)(text + COUNT_TEXT - s)) < 0)
			return -1;
	}
	return printbuf_memappend(pb, "]", 1);
}

static struct json_object *json_new_buckets(struct json_build *b, const struct hist *h)
{
	struct json_object *buckets = json_new_object(b), *counts = json_new_object(b);
	struct hist_walk first = {0};
	int64_t offset = 0;

	if (hist_next(h, &first))
		offset = (int64_t)hist_schema_base(h->schema) + first.slot;
	json_add_i64(b, buckets, "schema", h->schema);
	json_add_u64(b, buckets, "zero", h->zero);
	json_add_i64(b, buckets, "offset", offset);
	/* Serialised before the frame that lends `h` goes; never modified or freed through it. */
	if (counts)
		json_object_set_serializer(counts, json_counts_to_string, (void *)h, NULL);
	json_add(b, buckets, "counts", counts);
	return buckets;
}

static void json_add_hist(struct json_build *b, struct json_object *metric, const struct hist *h,
			  const struct config *cfg)
{
	json_add_u64(b, metric, "count", h->count);
	json_add_u64(b, metric, "sum", h->sum_ns);
	json_add_known(b, metric, "min", h->count > 0, h->min_ns);
	json_add_known(b, metric, "max", h->count > 0, h->max_ns);
	json_add_quantiles(b, metric, h, cfg);
	json_add(b, metric, "buckets", json_new_buckets(b, h));
}

struct json_object *json_new_hist(struct json_build *b, const struct hist *h,
				  const struct config *cfg)
{
	struct json_object *o;

	if (!h)
		return NULL;
	o = json_new_object(b);
	json_add_hist(b, o, h, cfg);
	return o;
}

static struct json_object *json_new_metric(struct json_build *b, const struct series *s,
					   const struct config *cfg)
{
	struct json_object *metric = json_new_object(b), *labels = json_new_object(b);
	const struct split *split = s->split;

	for (uint32_t i = 0; i < s->nlabels; i++)
		json_add_text(b, labels, s->labels[i].key, s->labels[i].value);
	json_add_text(b, metric, "name", s->desc->name);
	if (!s->desc->counter)
		json_add_text(b, metric, "unit", "ns");
	json_add(b, metric, "labels", labels);
	if (s->desc->counter)
		json_add_u64(b, metric, "value", s->value);
	else
		json_add_hist(b, metric, s->hist, cfg);
	if (split) { /* what the sum was spent on */
		json_add_u64(b, metric, "blocked_ns", split->blocked_ns);
		json_add_u64(b, metric, "run_queue_ns", split->run_queue_ns);
		json_add_u64(b, metric, "cpu_ns",
			     s->hist->sum_ns - split->blocked_ns - split->run_queue_ns);
	}
	return metric;
}

void json_put_metrics(const struct frame *f, const struct config *cfg, struct out *out)
{
	size_t i;

	out_text(out, "\"metrics\":[");
	for (i = 0; i < f->nseries; i++) {
		struct json_build b = {0};
		struct json_object *metric = json_new_metric(&b, &f->series[i], cfg);

		if (i)
			out_text(out, ",");
		json_put(&b, metric, 0, 0, out);
		json_object_put(metric);
	}
	out_text(out, "]");
}
