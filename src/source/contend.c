// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of the contended table. The keyed rows have the numbers; what the described waits told of an
 * address (its object, call sites) and how it is named stays here, under the same key. A described
 * wait may come before the numbers do, or after.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "source/contend.h"
#include "source/groups.h"

#define COLD_AFTER 8 /* intervals without a wait, where room is short */
#define SITES_MAX 32 /* of a row; later ones, if more code waits for it, are left out */
#define MEMBERS_MAX 16
#define LINE_BYTES 64

struct row_site {
	uint64_t ip, count;
	const char *sym; /* of the code tree */
};

struct contend_row {
	struct abi_key key; /* trees compare the first member */
	struct keyed_row *keyed;
	struct abi_contend_sample *said; /* the first description */
	char *name, *place;		 /* NULL: not known */
	struct line_member *members;
	size_t nmembers;
	struct row_site *sites;
	size_t nsites;
	struct site *shown; /* sites for a frame */
	uint32_t *cpus[2];  /* interval, total: for a frame */
	uint32_t ncpus[2];
	struct group_text group;
};

/* Names of code, each asked for once. A process's addresses mean something in it alone. */
struct code {
	uint64_t ip;
	uint32_t pid, pad;
	bool skip;
	char *sym;
};

struct contend {
	struct contend_args args;
	struct keyed *keyed;
	void *rows;  /* tree of struct contend_row */
	void *codes; /* tree of struct code */
};

static int compare_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct abi_key));
}

static int compare_code(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_other(const struct contend_row *r)
{
	return r->key.obj == ABI_OBJ_OTHER;
}

/* ---- rows ---- */

static void free_members(struct contend_row *r)
{
	size_t i;

	for (i = 0; i < r->nmembers; i++)
		free((void *)r->members[i].name);
	free(r->members);
	r->members = NULL;
	r->nmembers = 0;
}

static void free_row(void *p)
{
	struct contend_row *r = p;

	free_members(r);
	free(r->said);
	free(r->name);
	free(r->place);
	free(r->sites);
	free(r->shown);
	free(r->cpus[0]);
	free(r->cpus[1]);
	free(r);
}

static int keep_text(char **to, const char *text)
{
	char *copy = text[0] ? strdup(text) : NULL;

	if (text[0] && !copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* What shares the line of a named member. */
static int find_members(struct contend *c, struct contend_row *r, const struct name *n)
{
	struct name_member found[MEMBERS_MAX];
	size_t count, i;

	free_members(r);
	if (!c->args.names || !n->object || n->found != NAME_MEMBER)
		return 0;
	count = names_members_on_line(c->args.names, n->type, n->object, r->key.obj, found,
				      MEMBERS_MAX);
	if (count < 2) /* it is there alone */
		return 0;
	r->members = calloc(count, sizeof(*r->members));
	if (!r->members)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		char *name = strdup(found[i].name);

		if (!name)
			return -ENOMEM;
		r->members[r->nmembers++] = (struct line_member){
			.name = name,
			.offset = found[i].offset,
			.size = found[i].size,
			.hot = found[i].hot,
		};
	}
	return 0;
}

static struct contend_info info_of(const struct contend_row *r)
{
	return (struct contend_info){&r->key, r->keyed, r->said};
}

static int name_row(struct contend *c, struct contend_row *r)
{
	struct contend_info info = info_of(r);
	struct name n = {0};
	int ret;

	if (is_other(r))
		return 0;
	c->args.ops->name(c->args.ctx, &info, &n);
	ret = keep_text(&r->name, n.found == NAME_NONE ? "" : n.text);
	if (!ret)
		ret = keep_text(&r->place, n.place);
	return ret ? ret : find_members(c, r, &n);
}

static struct contend_row *row_get(struct contend *c, const struct abi_key *key)
{
	void *found = tfind(key, &c->rows, compare_key);
	struct contend_row *r;

	if (found)
		return *(struct contend_row **)found;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->key = *key;
	r->key.cpu = 0;
	r->cpus[0] = calloc(c->args.ncpus, sizeof(*r->cpus[0]));
	r->cpus[1] = calloc(c->args.ncpus, sizeof(*r->cpus[1]));
	group_text_init(&r->group, c->args.by, key, c->args.cgroups);
	if (!r->cpus[0] || !r->cpus[1] || !tsearch(r, &c->rows, compare_key)) {
		free_row(r);
		return NULL;
	}
	return r;
}

/* keyed_args.join */
static void on_join(void *ctx, struct abi_key *key)
{
	struct contend *c = ctx;

	if (c->args.ops->join && key->obj != ABI_OBJ_OTHER)
		c->args.ops->join(c->args.ctx, key);
}

/* keyed_args.appeared */
static int on_appear(void *ctx, struct keyed_row *row)
{
	struct contend *c = ctx;
	struct contend_row *r = row_get(c, &row->key);

	if (!r)
		return -ENOMEM;
	r->keyed = row;
	row->user = r;
	return r->said ? 0 : name_row(c, r);
}

/* keyed_args.leaves */
static void on_leave(void *ctx, struct keyed_row *row)
{
	struct contend *c = ctx;
	struct contend_row *r = row->user;

	if (!r)
		return;
	tdelete(r, &c->rows, compare_key);
	free_row(r);
}

/* ---- descriptions ---- */

static struct code *code_get(struct contend *c, const struct abi_contend_sample *s, uint64_t ip)
{
	struct code *n, key = {.ip = ip, .pid = s->pid};
	struct name name = {0};
	void *found;

	if (c->args.kernel_code)
		key.pid = 0;
	found = tfind(&key, &c->codes, compare_code);
	if (found)
		return *(struct code **)found;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	*n = key;
	c->args.ops->code(c->args.ctx, s, ip, &name);
	n->skip = c->args.ops->skip(c->args.ctx, s, ip, &name);
	n->sym = strdup(name.text);
	if (!n->sym || !tsearch(n, &c->codes, compare_code)) {
		free(n->sym);
		free(n);
		return NULL;
	}
	return n;
}

/* The innermost caller of what is to be skipped; the outermost known if all is. */
static struct code *site_of(struct contend *c, const struct abi_contend_sample *s)
{
	uint32_t i, n = s->nips < ABI_CONTEND_IPS ? s->nips : ABI_CONTEND_IPS;
	struct code *code = NULL;

	for (i = 0; i < n; i++) {
		code = code_get(c, s, s->ips[i]);
		if (!code || !code->skip)
			break;
	}
	return code;
}

static int count_site(struct contend_row *r, const struct code *code)
{
	struct row_site *sites;
	size_t i;

	for (i = 0; i < r->nsites; i++) {
		if (r->sites[i].ip == code->ip) {
			r->sites[i].count++;
			return 0;
		}
	}
	if (r->nsites == SITES_MAX)
		return 0;
	sites = realloc(r->sites, (r->nsites + 1) * sizeof(*sites));
	if (!sites)
		return -ENOMEM;
	r->sites = sites;
	r->sites[r->nsites++] = (struct row_site){code->ip, 1, code->sym};
	return 0;
}

int contend_sample(struct contend *c, const struct abi_contend_sample *s)
{
	struct abi_key key = s->key;
	struct contend_row *r;
	struct code *code;

	key.cpu = 0;
	on_join(c, &key);
	r = row_get(c, &key);
	if (!r)
		return -ENOMEM;
	if (!r->said) {
		r->said = malloc(sizeof(*s));
		if (!r->said)
			return -ENOMEM;
		*r->said = *s;
		if (name_row(c, r))
			return -ENOMEM;
	}
	if (!s->nips)
		return 0;
	code = site_of(c, s);
	return code ? count_site(r, code) : -ENOMEM;
}

/* ---- reports ---- */

static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->ip > y->ip) - (x->ip < y->ip);
}

static int show_sites(struct contend_row *r)
{
	struct site *shown = realloc(r->shown, (r->nsites + 1) * sizeof(*shown));
	size_t i;

	if (!shown)
		return -ENOMEM;
	r->shown = shown;
	for (i = 0; i < r->nsites; i++)
		shown[i] = (struct site){r->sites[i].ip, r->sites[i].sym, r->sites[i].count};
	qsort(shown, r->nsites, sizeof(*shown), compare_sites);
	return 0;
}

static uint32_t list_cpus(uint32_t *out, const uint64_t *bits, uint32_t ncpus)
{
	uint32_t c, n = 0;

	for (c = 0; c < ncpus; c++)
		if (bits[c / 64] >> (c % 64) & 1)
			out[n++] = c;
	return n;
}

static void fill(struct contend *c, struct contend_row *r, bool total, struct contended *out)
{
	const struct keyed_row *k = r->keyed;
	struct contend_info info = info_of(r);
	struct label labels[GROUP_LABELS];

	memset(out, 0, sizeof(*out));
	out->source = c->args.ops->source;
	out->wait = total ? &k->total[0] : &k->interval[0];
	out->count = out->wait->count;
	out->cpus = r->cpus[total];
	out->ncpus = r->ncpus[total];
	out->sites = r->shown;
	out->nsites = r->nsites;
	out->ntasks = (uint64_t)__builtin_popcountll(
		(total ? k->sums_total : k->sums_interval)[ABI_CONTEND_TASKS]);
	if (is_other(r)) {
		out->other = true;
		out->kind = "other";
	} else {
		out->kind = c->args.ops->kind(r->key.kind);
		out->addr = r->key.obj;
		out->name = r->name;
		out->place = r->place;
		out->members = r->members;
		out->nmembers = r->nmembers;
		out->line = r->nmembers ? r->key.obj / LINE_BYTES * LINE_BYTES : 0;
		if (group_labels(&r->group, c->args.by, k, labels))
			out->group = labels[0];
	}
	if (c->args.ops->fill)
		c->args.ops->fill(c->args.ctx, &info, total, out);
}

static bool had_any(const struct contend *c, const struct hist *h, const uint64_t *sums)
{
	int i;

	for (i = 0; c->args.ops->without_waits && i < ABI_SUMS; i++)
		if (sums[i])
			return true;
	return h->count;
}

static int push_row(struct contend *c, struct contend_row *r, struct source_report *to)
{
	const struct keyed_row *k = r->keyed;
	struct contended one;
	int ret = show_sites(r);

	r->ncpus[0] = list_cpus(r->cpus[0], k->cpus_interval, c->args.ncpus);
	r->ncpus[1] = list_cpus(r->cpus[1], k->cpus_total, c->args.ncpus);
	if (!ret && had_any(c, &k->interval[0], k->sums_interval)) {
		fill(c, r, false, &one);
		ret = contended_push(&to->interval.contended, &one);
	}
	if (!ret && had_any(c, &k->total[0], k->sums_total)) {
		fill(c, r, true, &one);
		ret = contended_push(&to->total.contended, &one);
	}
	return ret;
}

int contend_push_rows(struct contend *c, struct source_report *r)
{
	struct keyed_row *k;
	int ret = 0;

	for (k = keyed_first(c->keyed); !ret && k; k = k->next)
		ret = push_row(c, k->user, r);
	return ret;
}

/* ---- life ---- */

int contend_open(struct contend **out, const struct contend_args *args, struct err *e)
{
	struct keyed_args keyed = {
		.nhists = args->nhists,
		.schema = ABI_KEY_SCHEMA,
		.ncpus = args->ncpus,
		.what = args->what,
		.masks = 1U << ABI_CONTEND_TASKS,
		.room = args->room / 4 * 3,
		.cold_after = COLD_AFTER,
		.rest_after = args->rest_after,
		.join = on_join,
		.appeared = on_appear,
		.leaves = on_leave,
	};
	struct contend *c = calloc(1, sizeof(*c));

	*out = c;
	if (!c)
		return err_sys(e, -ENOMEM, "%s", args->what);
	c->args = *args;
	keyed.ctx = c;
	memcpy(keyed.fds, args->fds, sizeof(keyed.fds));
	return keyed_open(&c->keyed, &keyed, e);
}

int contend_fold(struct contend *c, uint64_t epoch, struct err *e)
{
	return keyed_fold(c->keyed, epoch, e);
}

int contend_collect(struct contend *c, uint64_t epoch, struct err *e)
{
	return keyed_collect(c->keyed, epoch, e);
}

void contend_forget(struct contend *c)
{
	keyed_forget(c->keyed);
}

static void free_code(void *p)
{
	struct code *n = p;

	free(n->sym);
	free(n);
}

void contend_close(struct contend *c)
{
	if (!c)
		return;
	keyed_close(c->keyed); /* its rows take theirs along */
	tdestroy(c->rows, free_row);
	tdestroy(c->codes, free_code);
	free(c);
}
