// SPDX-License-Identifier: GPL-2.0-or-later
/* The commands of a fixture that make rows of the contended table (render.c describes them). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

static uint64_t any_number(const char *s)
{
	return strtoull(s, NULL, 0);
}

int do_contends(struct player *p, char **w, int n)
{
	p->interval->f.contends = p->total->f.contends = true;
	return 0;
}

/* "0,1,7" */
static int read_cpus(struct player *p, struct contended *c, uint32_t *cpus, char *text)
{
	char *save = NULL, *word;

	for (word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (c->ncpus == CONTENDED_LIST)
			return bad(p, word);
		cpus[c->ncpus++] = (uint32_t)number(word);
	}
	c->cpus = cpus;
	return 0;
}

static int contended_number(struct contended *c, struct futex_counts *f, const char *key,
			    const char *value)
{
	const struct {
		const char *name;
		uint64_t *u64;
	} fields[] = {
		{"addr", &c->addr},   {"count", &c->count},   {"tasks", &c->ntasks},
		{"line", &c->line},   {"eagain", &f->eagain}, {"timeouts", &f->timeouts},
		{"wakes", &f->wakes}, {"woken", &f->woken},
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(key, fields[i].name))
			continue;
		*fields[i].u64 = any_number(value);
		if (fields[i].u64 >= &f->eagain && fields[i].u64 <= &f->woken)
			c->futex = f;
		return 0;
	}
	return -ENOENT;
}

static int contended_field(struct player *p, struct contended *c, struct recorded_contended *more,
			   char *key, char *value)
{
	const struct {
		const char *name;
		const char **text;
	} texts[] = {
		{"owner", &c->owner}, {"name", &c->name}, {"place", &c->place}, {"op", &c->op}};
	size_t i;

	if (!contended_number(c, &more->futex, key, value))
		return 0;
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!strcmp(key, texts[i].name)) {
			*texts[i].text = value;
			return 0;
		}
	}
	if (!strcmp(key, "pid"))
		c->pid = (uint32_t)number(value);
	else if (!strcmp(key, "cpus"))
		return read_cpus(p, c, more->cpus, value);
	else if (!strncmp(key, "by_", 3))
		c->group = (struct label){key + 3, value};
	else
		return bad(p, key);
	return 0;
}

int do_contended(struct player *p, char **w, int n)
{
	struct recorded *r = p->cur;
	size_t k = r->f.ncontended;
	struct contended *c = &r->contended[k];
	struct recorded_contended *more = &r->more[k];
	char *value;
	int i, ret = 0;

	if (k == CONTENDED)
		return bad(p, w[0]);
	*more = (struct recorded_contended){0};
	*c = (struct contended){
		.source = w[1], .kind = w[2], .sites = more->sites, .members = more->members};
	hist_init(&more->wait, p->cfg.precision);
	r->f.ncontended++;
	for (i = 3; i < n && strcmp(w[i], ":") && !ret; i++) {
		value = split(w[i]);
		if (value)
			ret = contended_field(p, c, more, w[i], value);
		else if (!strcmp(w[i], "other"))
			c->other = true;
		else if (!strcmp(w[i], "idle"))
			more->futex.idle = true, c->futex = &more->futex;
		else
			ret = bad(p, w[i]);
	}
	for (i++; i < n && !ret; i++) {
		ret = add_samples(p, &more->wait, w[i]);
		c->wait = &more->wait;
	}
	if (c->wait)
		c->count = c->wait->count;
	return ret;
}

static struct contended *last_contended(struct player *p, struct recorded_contended **more)
{
	struct recorded *r = p->cur;
	size_t k = r->f.ncontended;

	if (!k)
		return NULL;
	*more = &r->more[k - 1];
	return &r->contended[k - 1];
}

int do_site(struct player *p, char **w, int n)
{
	struct recorded_contended *more;
	struct contended *c = last_contended(p, &more);

	if (!c || c->nsites == CONTENDED_LIST)
		return bad(p, w[0]);
	more->sites[c->nsites++] = (struct site){any_number(w[2]), w[3], number(w[1])};
	return 0;
}

int do_member(struct player *p, char **w, int n)
{
	struct recorded_contended *more;
	struct contended *c = last_contended(p, &more);

	if (!c || c->nmembers == CONTENDED_LIST)
		return bad(p, w[0]);
	more->members[c->nmembers++] =
		(struct line_member){w[3], (uint32_t)number(w[1]), (uint32_t)number(w[2]), n > 4};
	return 0;
}

/* Copies, so that either may be cleared. */
int same_contended(struct recorded *to, const struct recorded *from)
{
	size_t i;
	int ret = 0;

	to->f.contends = from->f.contends;
	to->f.lines = from->f.lines;
	for (i = 0; i < from->f.ncontended && !ret; i++) {
		struct recorded_contended *more = &to->more[i];
		struct contended *c = &to->contended[i];

		*c = from->contended[i];
		*more = from->more[i];
		hist_init(&more->wait, from->more[i].wait.schema);
		to->f.ncontended = i + 1;
		c->sites = more->sites;
		c->members = more->members;
		c->cpus = c->cpus ? more->cpus : NULL;
		c->futex = c->futex ? &more->futex : NULL;
		ret = same_lines(c, &more->lines, &from->more[i].lines);
		if (!c->wait)
			continue;
		c->wait = &more->wait;
		ret = ret ? ret : hist_merge(&more->wait, &from->more[i].wait);
	}
	return ret;
}

void contended_clear(struct recorded *r)
{
	size_t i;

	for (i = 0; i < r->f.ncontended; i++) {
		hist_free(&r->more[i].wait);
		lines_clear(&r->more[i].lines);
	}
}
