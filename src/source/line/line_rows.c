// SPDX-License-Identifier: GPL-2.0-or-later
/* Contended lines in words: rows of the contended table. */
#include <errno.h>

#include "source/line/line.h"
#include "source/line/line_device.h"

static uint64_t busy_samples(const struct line_source *s, enum line_view v)
{
	return line_counts_of(v == LINE_INTERVAL ? &s->counts.interval : &s->counts.total)->samples;
}

/* A PMU's samples are of accesses, not of time. */
static double share_of(const struct line_source *s, enum line_view v, uint64_t samples)
{
	uint64_t busy = busy_samples(s, v);

	return busy && !s->pmu ? (double)samples / (double)busy : -1;
}

static const char *sampler_of(const struct line_source *s)
{
	return s->pmu ? s->plan.sampler : "clock";
}

static int push_line(struct line_source *s, const struct line *l, enum line_view v,
		     struct contended_list *to)
{
	struct line_accesses *a = arena_take(&s->m.arena, sizeof(*a));
	struct contended c = {.source = "line", .kind = "line"};
	const struct line_use *busiest = line_busiest(l, v);
	int ret;

	if (!a)
		return -ENOMEM;
	c.line = line_address(busiest); /* contended: there is one */
	c.addr = c.line + busiest->offset;
	c.pid = l->key.tgid;
	ret = line_model_row(&s->m, l, v, busiest->pid, &c, a);
	if (ret)
		return ret;
	a->sampler = sampler_of(s);
	a->share = share_of(s, v, l->view[v].samples);
	a->unconfirmed = line_confirm_why(s, &l->key);
	return contended_push(to, &c);
}

/* One sample in such code is enough: its address is a register's. */
static bool is_device(struct line_source *s, const struct line *l)
{
	const struct line_use *u;
	struct name name;

	if (!line_is_kernels(l))
		return false;
	for (u = l->uses; u; u = u->next) {
		if (!(u->ip & KERNEL_HALF))
			continue;
		line_model_code(&s->m, u->pid, u->ip - u->back, &name);
		if (line_device_code(name.text))
			return true;
	}
	return false;
}

/* Contended lines that have left, in one row. */
static int push_rest(struct line_source *s, struct contended_list *to)
{
	const struct line_samples *rest = line_table_rest(s->m.table);
	struct line_accesses *a = arena_take(&s->m.arena, sizeof(*a));
	struct contended c = {
		.source = "line",
		.kind = "other",
		.other = true,
		.accesses = a,
		.count = rest->samples,
	};

	if (!rest->samples)
		return 0;
	if (!a)
		return -ENOMEM;
	*a = (struct line_accesses){
		.sampler = sampler_of(s),
		.reads = rest->reads,
		.writes = rest->writes,
		.locked = rest->locked,
		.inferred = rest->inferred,
		.share = share_of(s, LINE_TOTAL, rest->samples),
		.interleave = -1,
		.hitm = line_hitm_of(rest),
		.memory_node = -1,
	};
	return contended_push(to, &c);
}

int line_push_rows(struct line_source *s, struct source_report *r)
{
	const struct line *l;
	bool now, ever;
	int ret = 0;

	line_model_report(&s->m);
	for (l = line_table_first(s->m.table); !ret && l; l = l->next) {
		now = line_contended(s->m.table, l, LINE_INTERVAL);
		ever = !r->total.contended.unwanted && line_contended(s->m.table, l, LINE_TOTAL);
		if ((!now && !ever) || is_device(s, l))
			continue;
		if (now)
			ret = push_line(s, l, LINE_INTERVAL, &r->interval.contended);
		if (!ret && ever)
			ret = push_line(s, l, LINE_TOTAL, &r->total.contended);
	}
	return ret ? ret : push_rest(s, &r->total.contended);
}
