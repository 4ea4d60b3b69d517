// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf_util.h"
#include "source/contend/contend.h"

#define CODES_MAX 2048		  /* about 500 KB */
#define SITES_MAX 32		  /* of a row */
#define ASK_AGAIN_NS 300000000ULL /* for a name that was late */

/* ---- names of code ---- */

static int compare_code(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void free_code(void *p)
{
	struct code *n = p;

	free(n->sym);
	free(n);
}

void codes_init(struct cache *codes)
{
	cache_init(codes, CODES_MAX, compare_code, free_code);
}

/* NULL: no memory. A name that was late is asked for again, for its row will be shown again. */
static struct code *code_get(struct contend *c, const struct abi_contend_sample *s, uint64_t ip)
{
	struct code *n, like = {.ip = ip, .pid = c->ops->kernel_code ? 0 : s->pid};
	struct name name = {0};
	char *sym;

	cache_trim(&c->codes);
	n = cache_get(&c->codes, &like, sizeof(like));
	if (!n || (n->sym && (!n->late || mono_now_ns() - n->asked_ns < ASK_AGAIN_NS)))
		return n;
	c->ops->code(c, s, n->ip, &name);
	sym = strdup(name.text);
	if (!sym)
		return NULL;
	free(n->sym);
	n->sym = sym;
	n->skip = c->ops->skip(c, n->ip, &name);
	n->late = name.late;
	n->asked_ns = mono_now_ns();
	return n;
}

const struct code *codes_site(struct contend *c, const struct abi_contend_sample *s)
{
	uint32_t i, n = s->nips < ABI_CONTEND_IPS ? s->nips : ABI_CONTEND_IPS;
	const struct code *code = NULL;

	for (i = 0; i < n; i++) {
		code = code_get(c, s, s->ips[i]);
		if (!code || !code->skip)
			break;
	}
	return code;
}

/* ---- of a row ---- */

/* One beyond SITES_MAX is shown for the others. */
static int sites_grow(struct sites *s)
{
	struct site *v;

	v = realloc(s->v, (s->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->v = v;
	v = realloc(s->shown, (s->n + 2) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	s->shown = v;
	return 0;
}

/* Its name may have been late when it was first seen. */
static int keep_name(struct site *s, const char *name)
{
	char *sym = strcmp(s->sym, name) ? strdup(name) : NULL;

	if (!sym)
		return strcmp(s->sym, name) ? -ENOMEM : 0;
	free((void *)s->sym); /* ours, from strdup */
	s->sym = sym;
	return 0;
}

int sites_count(struct sites *s, const struct code *code)
{
	char *sym;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->v[i].ip == code->ip) {
			s->v[i].count++;
			return code->late ? 0 : keep_name(&s->v[i], code->sym);
		}
	}
	if (s->n == SITES_MAX) {
		s->others++;
		return 0;
	}
	sym = strdup(code->sym); /* codes may be forgotten before the row is */
	if (!sym || sites_grow(s)) {
		free(sym);
		return -ENOMEM;
	}
	s->v[s->n++] = (struct site){code->ip, sym, 1};
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->ip > y->ip) - (x->ip < y->ip);
}

const struct site *sites_show(struct sites *s, size_t *n)
{
	*n = s->n;
	if (!s->n)
		return NULL;
	memcpy(s->shown, s->v, s->n * sizeof(*s->v));
	qsort(s->shown, s->n, sizeof(*s->shown), compare_sites);
	if (s->others)
		s->shown[(*n)++] = (struct site){0, "(others)", s->others};
	return s->shown;
}

const char *sites_most(const struct sites *s)
{
	const struct site *most = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (!most || compare_sites(&s->v[i], most) < 0)
			most = &s->v[i];
	return most ? most->sym : NULL;
}

void sites_free(struct sites *s)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		free((void *)s->v[i].sym); /* ours, from strdup */
	free(s->v);
	free(s->shown);
	*s = (struct sites){0};
}
