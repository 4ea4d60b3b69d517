// SPDX-License-Identifier: GPL-2.0-or-later
/* The commands of a fixture that make cache lines of the contended table (render.c describes them).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

/* The contended address before it: a line. */
static struct recorded_lines *last_line(struct player *p, struct contended **c)
{
	size_t k = p->cur->f.ncontended;

	if (!k)
		return NULL;
	*c = &p->cur->contended[k - 1];
	return &p->cur->more[k - 1].lines;
}

static uint64_t any_number(const char *s)
{
	return strtoull(s, NULL, 0);
}

/* "3,1": local, remote */
static void read_hitm(struct line_hitm *h, const char *value)
{
	char *end;

	h->told = true;
	h->local = strtoull(value, &end, 10);
	h->remote = *end ? number(end + 1) : 0;
}

static void read_nodes(struct recorded_lines *l, char *text)
{
	char *save = NULL, *word;

	for (word = strtok_r(text, ",", &save); word && l->a.nnodes < CONTENDED_LIST;
	     word = strtok_r(NULL, ",", &save))
		l->nodes[l->a.nnodes++] = (uint32_t)number(word);
	l->a.nodes = l->nodes;
}

static int accesses_field(struct player *p, struct recorded_lines *l, const char *key, char *value)
{
	struct line_accesses *a = &l->a;
	const struct {
		const char *name;
		uint64_t *u64;
		double *share;
	} fields[] = {
		{"reads", &a->reads, NULL},   {"writes", &a->writes, NULL},
		{"locked", &a->locked, NULL}, {"inferred", &a->inferred, NULL},
		{"share", NULL, &a->share},   {"moves", NULL, &a->interleave},
		{"rank", NULL, &a->rank},     {"transfers", &a->transfers, NULL},
		{"bound", &a->bound, NULL},   {"foreign", &a->foreign, NULL},
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(key, fields[i].name))
			continue;
		if (fields[i].u64)
			*fields[i].u64 = any_number(value);
		else
			*fields[i].share = strtod(value, NULL);
		return 0;
	}
	if (!strcmp(key, "sharing"))
		a->sharing = value;
	else if (!strcmp(key, "exact"))
		a->exact = number(value);
	else if (!strcmp(key, "confirmed"))
		a->confirmed = number(value);
	else if (!strcmp(key, "stopped"))
		a->stopped = number(value);
	else if (!strcmp(key, "cores"))
		a->cores = (uint32_t)number(value);
	else if (!strcmp(key, "hitm"))
		read_hitm(&a->hitm, value);
	else if (!strcmp(key, "nodes"))
		read_nodes(l, value);
	else if (!strcmp(key, "memory"))
		a->memory_node = (int32_t)number(value);
	else
		return bad(p, key);
	return 0;
}

static int read_latency(struct player *p, struct hist *h, const struct hist **to, char **w, int n)
{
	int i, ret = 0;

	hist_init(h, p->cfg.precision);
	*to = n > 0 ? h : NULL;
	for (i = 0; i < n && !ret; i++)
		ret = add_samples(p, h, w[i]);
	return ret;
}

int do_accesses(struct player *p, char **w, int n)
{
	struct contended *c;
	struct recorded_lines *l = last_line(p, &c);
	char *value;
	int i, ret = 0;

	if (!l)
		return bad(p, w[0]);
	*l = (struct recorded_lines){
		.a = {.sampler = w[1], .share = -1, .interleave = -1, .memory_node = -1}};
	l->a.threads = l->threads;
	l->a.uses = l->spots;
	c->accesses = &l->a;
	p->interval->f.lines = p->total->f.lines = true;
	for (i = 2; i < n && strcmp(w[i], ":") && !ret; i++) {
		value = split(w[i]);
		ret = value ? accesses_field(p, l, w[i], value) : bad(p, w[i]);
	}
	return ret ? ret : read_latency(p, &l->latency, &l->a.latency, w + i + 1, n - i - 1);
}

int do_thread(struct player *p, char **w, int n)
{
	struct contended *c;
	struct recorded_lines *l = last_line(p, &c);

	if (!l || !c->accesses || l->a.nthreads == CONTENDED_LIST)
		return bad(p, w[0]);
	l->threads[l->a.nthreads++] = (struct line_thread){
		.pid = (uint32_t)number(w[1]),
		.tid = (uint32_t)number(w[2]),
		.cpu = (uint32_t)number(w[3]),
		.comm = w[4],
		.samples = number(w[5]),
		.writes = number(w[6]),
		.read_bytes = any_number(w[7]),
		.write_bytes = any_number(w[8]),
	};
	return 0;
}

int do_spot(struct player *p, char **w, int n)
{
	struct contended *c;
	struct recorded_lines *l = last_line(p, &c);
	struct line_spot *s;
	int i = 11;
	size_t k;

	if (!l || !c->accesses || l->a.nuses == CONTENDED_LIST)
		return bad(p, w[0]);
	k = l->a.nuses++;
	s = &l->spots[k];
	*s = (struct line_spot){
		.offset = (uint32_t)number(w[1]),
		.size = (uint32_t)number(w[2]),
		.tid = (uint32_t)number(w[3]),
		.ip = any_number(w[4]),
		.name = w[5],
		.sym = w[6],
		.samples = number(w[7]),
		.reads = number(w[8]),
		.writes = number(w[9]),
		.locked = number(w[10]),
	};
	if (i < n && !strncmp(w[i], "hitm=", 5))
		read_hitm(&s->hitm, w[i++] + 5);
	return read_latency(p, &l->spot_latency[k], &s->latency, w + i + 1, n - i - 1);
}

static int same_hist(struct hist *to, const struct hist *from, const struct hist **at)
{
	hist_init(to, from->schema);
	if (!*at)
		return 0;
	*at = to;
	return hist_merge(to, from);
}

/* `to` is a copy of `from`: now one that stands alone. */
int same_lines(struct contended *c, struct recorded_lines *to, const struct recorded_lines *from)
{
	size_t i;
	int ret;

	if (!c->accesses)
		return 0;
	c->accesses = &to->a;
	to->a.threads = to->threads;
	to->a.uses = to->spots;
	to->a.nodes = to->nodes;
	ret = same_hist(&to->latency, &from->latency, &to->a.latency);
	for (i = 0; i < to->a.nuses; i++)
		if (same_hist(&to->spot_latency[i], &from->spot_latency[i], &to->spots[i].latency))
			ret = -ENOMEM;
	return ret;
}

void lines_clear(struct recorded_lines *l)
{
	size_t i;

	hist_free(&l->latency);
	for (i = 0; i < l->a.nuses; i++)
		hist_free(&l->spot_latency[i]);
}
