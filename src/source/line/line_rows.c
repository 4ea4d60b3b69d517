// SPDX-License-Identifier: GPL-2.0-or-later
/* Contended lines in words: rows of the contended table. */
#include <errno.h>
#include <string.h>

#include "source/line/line.h"

/* Of the samples of busy CPUs. A PMU's are of accesses, not of time. */
static double share_of(const struct line_source *s, enum line_view v, uint64_t samples)
{
	const struct abi_counts *c = v == LINE_INTERVAL ? &s->counts.interval : &s->counts.total;
	uint64_t busy = line_counts_of(c)->samples;

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
	ret = line_model_row(&s->m, l, v, (struct name_process){busiest->pid, busiest->space}, &c,
			     a);
	if (ret)
		return ret;
	a->sampler = sampler_of(s);
	a->share = share_of(s, v, l->view[v].samples);
	a->watched = l->decided;
	a->unconfirmed = line_confirm_why(s, &l->key);
	return contended_push(to, &c);
}

/*
 * A device's registers are no cache line: nobody fights over them, they are slow by themselves.
 * Told by the kernel's own functions that access them; a driver that has readl or writel inlined
 * cannot be told from one that uses memory.
 */
static const char *const whole[] = {"readb",  "readw",	"readl",  "readq",
				    "writeb", "writew", "writel", "writeq"};

static const char *const beginnings[] = {
	"ioread",	 "iowrite",	  "__ioread",	     "__iowrite", "memcpy_toio",
	"memcpy_fromio", "__memcpy_toio", "__memcpy_fromio", "memset_io", "__memset_io"};

bool line_device_code(const char *sym)
{
	size_t len = strcspn(sym, "+");

	for (size_t k = 0; k < sizeof(whole) / sizeof(whole[0]); k++)
		if (strlen(whole[k]) == len && !strncmp(sym, whole[k], len))
			return true;
	for (size_t k = 0; k < sizeof(beginnings) / sizeof(beginnings[0]); k++)
		if (!strncmp(sym, beginnings[k], strlen(beginnings[k])))
			return true;
	return false;
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
		line_model_code(&s->m, u, u->ip - u->back, &name);
		if (line_device_code(name.text))
			return true;
	}
	return false;
}

/* Contended lines that have left, in one row. */
static int push_rest(struct line_source *s, struct contended_list *to)
{
	const struct line_samples *rest = &s->m.table->rest;
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
	for (l = s->m.table->first; !ret && l; l = l->next) {
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
