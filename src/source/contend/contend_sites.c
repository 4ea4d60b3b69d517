// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "source/sys/bpf_util.h"
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
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->space > y->space) - (x->space < y->space);
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

/* Of functions inlined at that place the innermost that asks, else the last of them. */
static enum code_role name_code(struct contend *c, const struct abi_contend_sample *s, uint64_t ip,
				struct name *out, uint8_t *function)
{
	enum code_role role;
	uint32_t frame = 0;

	do {
		c->ops->code(c, s, ip, frame++, out);
		role = c->ops->role(c, ip, out);
		if (c->ops->function && !*function)
			*function = c->ops->function(c, out);
	} while (role != CODE_ASKS && out->inlined_in);
	if (!c->ops->kernel_code)
		name_add_place(out);
	return role;
}

/* A name that was late is asked for again, for its row will be shown again. */
const struct code *codes_get(struct contend *c, const struct abi_contend_sample *s, uint64_t ip)
{
	struct code *n, like = {.ip = ip};
	struct name name = {0};
	enum code_role role;
	uint8_t function = 0;
	char *sym;

	if (!c->ops->kernel_code) {
		like.pid = s->pid;
		like.space = c->ops->space(c, s);
	}
	n = cache_get(&c->codes, &like, sizeof(like));
	if (!n || (n->sym && (!n->late || clock_mono_ns() - n->asked_ns < ASK_AGAIN_NS)))
		return n;
	role = name_code(c, s, n->ip, &name, &function);
	sym = strdup(name.text);
	if (!sym)
		return NULL;
	free(n->sym);
	n->sym = sym;
	n->role = role;
	n->function = function;
	n->late = name.late;
	n->asked_ns = clock_mono_ns();
	return n;
}

const struct code *codes_site(struct contend *c, const struct abi_contend_sample *s)
{
	uint32_t n = s->nips < ABI_CONTEND_IPS ? s->nips : ABI_CONTEND_IPS;
	const struct code *best = NULL;

	cache_trim(&c->codes);
	for (uint32_t i = 0; i < n; i++) {
		const struct code *code = codes_get(c, s, s->ips[i]);

		if (!code || code->role == CODE_ASKS)
			return code;
		if (!best || code->role <= best->role)
			best = code;
	}
	return best;
}

/* ---- of a row ---- */

int sites_count(struct sites *s, const struct code *code)
{
	struct site *v = s->v;
	char *sym;
	size_t i;

	for (i = 0; i < s->n && v[i].ip != code->ip; i++)
		;
	if (i == SITES_MAX) {
		s->others++;
		return 0;
	}
	if (i == s->n) {
		v = reallocarray(v, i + 1, sizeof(*v));
		if (!v)
			return -ENOMEM;
		s->v = v;
		v[i] = (struct site){.ip = code->ip};
	}
	/* a name may have been late when it was first seen */
	if (!v[i].sym || (!code->late && strcmp(v[i].sym, code->sym))) {
		sym = strdup(code->sym); /* codes may be forgotten before the row is */
		if (!sym)
			return -ENOMEM;
		free((void *)v[i].sym); /* ours, from strdup */
		v[i].sym = sym;
		if (i == s->n)
			s->n++;
	}
	v[i].count++;
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->ip > y->ip) - (x->ip < y->ip);
}

int sites_show(const struct sites *s, struct arena *a, struct contended *out)
{
	struct site *v;

	if (!s->n)
		return 0;
	v = arena_take(a, (s->n + 1) * sizeof(*v));
	if (!v)
		return -ENOMEM;
	memcpy(v, s->v, s->n * sizeof(*v));
	qsort(v, s->n, sizeof(*v), compare_sites);
	if (s->others)
		v[s->n] = (struct site){0, "(others)", s->others};
	out->sites = v;
	out->nsites = s->n + (s->others > 0);
	return 0;
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
	for (size_t i = 0; i < s->n; i++)
		free((void *)s->v[i].sym); /* ours, from strdup */
	free(s->v);
	*s = (struct sites){0};
}
