// SPDX-License-Identifier: GPL-2.0-or-later
/* The commands of a fixture that make frames (render.c describes them). */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

void recorded_clear(struct recorded *r)
{
	size_t i;

	for (i = 0; i < r->f.nseries; i++)
		hist_free(&r->hists[i]);
	contended_clear(r);
	memset(&r->f, 0, sizeof(r->f));
	r->nsum = 0;
}

int do_frame(struct player *p, char **w, int n)
{
	static const char *const types[] = {"interval", "total", "final", NULL};
	int type, ret = set_enum(p, types, w[1], &type);

	if (ret)
		return ret;
	p->cur = type == FRAME_INTERVAL ? p->interval : p->total;
	recorded_clear(p->cur);
	p->cur->f.type = (enum frame_type)type;
	p->cur->f.seq = number(w[2]);
	p->cur->f.time = parse_timespec(w[3]);
	p->cur->f.mono_ns = number(w[4]);
	p->cur->f.dur_ns = number(w[5]);
	p->cur->f.series = p->cur->series;
	p->cur->f.contended = p->cur->contended;
	p->cur->f.end = n > 6 ? w[6] : NULL;
	return 0;
}

int do_same(struct player *p, char **w, int n)
{
	struct recorded *to = p->total, *from = p->interval;
	size_t i;
	int ret = 0;

	for (i = 0; i < from->f.nseries && !ret; i++) {
		to->series[i] = from->series[i];
		hist_init(&to->hists[i], p->cfg.precision);
		to->f.nseries = i + 1;
		to->splits[i] = from->splits[i];
		if (from->series[i].split)
			to->series[i].split = &to->splits[i];
		if (!from->series[i].hist)
			continue;
		to->series[i].hist = &to->hists[i];
		ret = hist_merge(&to->hists[i], &from->hists[i]);
	}
	to->f.quality = from->f.quality;
	to->f.self = from->f.self;
	return ret ? ret : same_contended(to, from);
}

static const struct {
	const char *name;
	size_t offset;
} quality_fields[] = {
	{"unpaired", offsetof(struct quality, unpaired)},
	{"clamped", offsetof(struct quality, clamped)},
	{"map_full", offsetof(struct quality, map_full)},
	{"recursion_misses", offsetof(struct quality, recursion_misses)},
	{"lost_events", offsetof(struct quality, lost_events)},
	{"over_range", offsetof(struct quality, over_range)},
	{"inferred", offsetof(struct quality, inferred)},
	{"missed", offsetof(struct quality, missed)},
	{"in_flight", offsetof(struct quality, in_flight)},
	{"longest_ns", offsetof(struct quality, longest_ns)},
};

static int quality_field(struct player *p, const char *key, const char *value)
{
	struct quality *q = &p->cur->f.quality;
	uint64_t v = number(value);
	size_t i;

	if (!strcmp(key, "tid")) {
		q->longest_tid = (uint32_t)v;
		return 0;
	}
	if (!strcmp(key, "comm")) {
		memcpy(q->longest_comm, value, strnlen(value, sizeof(q->longest_comm)));
		return 0;
	}
	for (i = 0; i < sizeof(quality_fields) / sizeof(quality_fields[0]); i++) {
		if (strcmp(key, quality_fields[i].name))
			continue;
		memcpy((char *)q + quality_fields[i].offset, &v, sizeof(v));
		return 0;
	}
	return bad(p, key);
}

int do_quality(struct player *p, char **w, int n)
{
	int i, ret = 0;
	char *value;

	for (i = 1; i < n && !ret; i++) {
		value = split(w[i]);
		ret = value ? quality_field(p, w[i], value) : bad(p, w[i]);
	}
	return ret;
}

int do_cost(struct player *p, char **w, int n)
{
	p->cur->f.self = (struct self_cost){.bpf_known = true,
					    .bpf_ns_per_event = strtod(w[1], NULL),
					    .bpf_cpu_ppm = strtod(w[2], NULL),
					    .user_cpu_ppm = strtod(w[3], NULL)};
	return 0;
}

/* 5100: a sample; 5100x64: so many; 900-1708x30: so many, evenly spread */
int add_samples(struct player *p, struct hist *h, const char *word)
{
	uint64_t from, to, n = 1, i;
	char *end;
	int ret = 0;

	from = to = strtoull(word, &end, 10);
	if (*end == '-')
		to = strtoull(end + 1, &end, 10);
	if (*end == 'x')
		n = strtoull(end + 1, &end, 10);
	if (*end || to < from || !n)
		return bad(p, word);
	for (i = 0; i < n && !ret; i++)
		ret = hist_add(h, &p->buckets, n > 1 ? from + (to - from) * i / (n - 1) : from);
	return ret;
}

static int series_samples(struct player *p, size_t k, char **w, int n)
{
	struct recorded *r = p->cur;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++) {
		if (!strcmp(w[i], "sum") && r->nsum < MAX_METRICS)
			r->sum_of[r->nsum++] = k;
		else if (w[i][0] == '=')
			r->series[k].value = number(w[i] + 1);
		else
			ret = add_samples(p, &r->hists[k], w[i]);
	}
	return ret;
}

int do_series(struct player *p, char **w, int n)
{
	struct recorded *r = p->cur;
	size_t k = r->f.nseries, m;
	struct series *s = &r->series[k];
	int i;

	for (m = 0; m < p->nmetrics && strcmp(p->metrics[m].name, w[1]); m++)
		;
	if (m == p->nmetrics || k == SERIES)
		return bad(p, w[1]);
	*s = (struct series){.desc = &p->metrics[m]};
	for (i = 2; i < n && strcmp(w[i], ":"); i++) {
		if (s->nlabels == SERIES_LABELS)
			return bad(p, w[i]);
		s->labels[s->nlabels].value = split(w[i]);
		if (!s->labels[s->nlabels].value)
			return bad(p, w[i]);
		s->labels[s->nlabels++].key = w[i];
	}
	hist_init(&r->hists[k], p->cfg.precision);
	s->hist = s->desc->counter ? NULL : &r->hists[k];
	r->f.nseries++;
	return i < n ? series_samples(p, k, w + i + 1, n - i - 1) : 0;
}

int do_split(struct player *p, char **w, int n)
{
	struct recorded *r = p->cur;
	size_t k = r->f.nseries - 1;

	if (!r->f.nseries)
		return bad(p, w[0]);
	r->splits[k] = (struct split){number(w[1]), number(w[2])};
	r->series[k].split = &r->splits[k];
	return 0;
}

static int add_sums(struct recorded *r)
{
	size_t i, k, whole;
	int ret = 0;

	for (i = 0; i < r->nsum; i++) {
		whole = r->sum_of[i];
		for (k = 0; k < r->f.nseries && !ret; k++) {
			if (r->series[k].desc == r->series[whole].desc &&
			    series_label(&r->series[k], "cpu"))
				ret = hist_merge(&r->hists[whole], &r->hists[k]);
		}
	}
	r->nsum = 0;
	return ret;
}

int do_report(struct player *p, char **w, int n)
{
	int ret = add_sums(p->interval);

	if (!ret)
		ret = add_sums(p->total);
	if (ret)
		return ret;
	if (p->cur->f.type == FRAME_FINAL)
		return p->ops->final(p->sink, &p->total->f, &p->e);
	return p->ops->interval(p->sink, &p->interval->f, &p->total->f, &p->e);
}
