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

#include "source/contend/contend_sites.h"
#include "source/inodes/ext4_places.h"
#include "source/groups.h"

#define COLD_AFTER 8   /* intervals without a wait, where room is short */
#define EARLY_MAX 4096 /* rows that are described before they are counted */
#define MEMBERS_MAX 16
#define LINE_BYTES 64

struct contend_row {
	struct abi_key key; /* trees compare the first member */
	struct keyed_row *keyed;
	struct abi_contend_sample *said; /* the first description */
	char *name, *place;		 /* NULL: not known */
	bool inferred, late;		 /* the name; late: there may be more to say by now */
	struct name_inode inode;	 /* that it lies in */
	const char *placed;		 /* place with its path, for a frame */
	struct line_member *members;
	size_t nmembers;
	struct sites sites;
	const struct site *shown; /* of them, for a frame */
	size_t nshown;
	uint32_t *cpus[2]; /* interval, total: for a frame */
	uint32_t ncpus[2];
	struct group_text group;
	uint32_t early;		  /* collects without `keyed` */
	struct contend_row *next; /* in the list of early ones */
};

struct contend {
	struct contend_args args;
	struct keyed *keyed;
	void *rows;		   /* tree of struct contend_row */
	struct contend_row *early; /* described, and not counted by the last collect */
	size_t nearly;
	struct cache codes;
};

static int compare_key(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct abi_key));
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
	sites_free(&r->sites);
	group_text_free(&r->group);
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
	r->late = n.late;
	if (n.late && r->name && *r->name)
		return 0; /* what was known of it still holds */
	ret = keep_text(&r->name, n.found == NAME_NONE ? "" : n.text);
	if (!ret)
		ret = keep_text(&r->place, n.place);
	r->inode = n.inode;
	r->inferred = n.inferred;
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

/* Whose row a description is in. A storm of addresses that find no room has that of the others. */
static struct contend_row *row_described(struct contend *c, const struct abi_key *key)
{
	struct abi_key other = {.obj = ABI_OBJ_OTHER, .kind = key->kind};
	void *found = tfind(key, &c->rows, compare_key);

	if (!found && c->nearly == EARLY_MAX)
		found = tfind(&other, &c->rows, compare_key);
	other.kind = ABI_KIND_OTHER;
	if (!found && c->nearly == EARLY_MAX)
		found = tfind(&other, &c->rows, compare_key);
	return found ? *(struct contend_row **)found : row_get(c, key);
}

int contend_sample(struct contend *c, const struct abi_contend_sample *s)
{
	struct abi_key key = s->key;
	const struct code *code;
	struct contend_row *r;

	key.cpu = 0;
	on_join(c, &key);
	r = row_described(c, &key);
	if (!r)
		return -ENOMEM;
	if (!r->said && !r->keyed) {
		r->next = c->early;
		c->early = r;
		c->nearly++;
	}
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
	code = codes_site(&c->codes, &c->args, s);
	return code ? sites_count(&r->sites, code) : -ENOMEM;
}

/* ---- reports ---- */

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
	out->nsites = r->nshown;
	out->ntasks = (uint64_t)__builtin_popcountll(
		(total ? k->sums_total : k->sums_interval)[ABI_CONTEND_TASKS]);
	if (is_other(r)) {
		out->other = true;
		out->kind = "other";
	} else {
		out->kind = c->args.ops->kind(r->key.kind);
		out->addr = r->key.obj;
		out->name = r->name;
		out->place = r->placed;
		out->name_inferred = r->inferred;
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
	int ret = 0;

	r->shown = sites_show(&r->sites, &r->nshown);
	r->ncpus[0] = list_cpus(r->cpus[0], k->cpus_interval, c->args.ncpus);
	r->ncpus[1] = list_cpus(r->cpus[1], k->cpus_total, c->args.ncpus);
	if (had_any(c, &k->interval[0], k->sums_interval)) {
		fill(c, r, false, &one);
		ret = contended_push(&to->interval.contended, &one);
	}
	if (!ret && had_any(c, &k->total[0], k->sums_total)) {
		fill(c, r, true, &one);
		ret = contended_push(&to->total.contended, &one);
	}
	return ret;
}

/* Names that were not there in time may be by now: first of those that were waited for lately. */
static int name_late(struct contend *c)
{
	struct keyed_row *k;
	int ret = 0;

	for (int others = 0; others < 2; others++)
		for (k = keyed_first(c->keyed); !ret && k; k = k->next) {
			struct contend_row *r = k->user;

			if (r->late && (others != 0) == (k->interval[0].count == 0))
				ret = name_row(c, r);
		}
	return ret;
}

/* Paths for those that were waited for in this interval, the longest of all first; then others. */
static int find_places(struct contend *c)
{
	const uint64_t now = 1ULL << 63;
	struct keyed_row *k;
	int ret = 0;

	ext4_places_begin(c->args.places);
	for (k = keyed_first(c->keyed); !ret && k; k = k->next) {
		struct contend_row *r = k->user;
		struct ext4_place_ask ask = {
			.inode = &r->inode,
			.place = r->place,
			.weight = k->total[0].sum_ns | (k->interval[0].count ? now : 0),
			.out = &r->placed,
		};

		r->placed = r->place;
		ret = ext4_places_ask(c->args.places, &ask);
	}
	ext4_places_answer(c->args.places);
	return ret;
}

int contend_push_rows(struct contend *c, struct source_report *r)
{
	struct keyed_row *k;
	int ret = name_late(c);

	if (!ret)
		ret = find_places(c);
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
	codes_init(&c->codes);
	keyed.ctx = c;
	memcpy(keyed.fds, args->fds, sizeof(keyed.fds));
	return keyed_open(&c->keyed, &keyed, e);
}

int contend_fold(struct contend *c, uint64_t epoch, struct err *e)
{
	return keyed_fold(c->keyed, epoch, e);
}

/* Described, but never counted by itself: the kernel's map had no room. Its waits are the others'.
 */
static void forget_early(struct contend *c)
{
	struct contend_row **at = &c->early, *r;

	while ((r = *at)) {
		if (!r->keyed && r->early++ < COLD_AFTER) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		c->nearly--;
		if (!r->keyed) {
			tdelete(r, &c->rows, compare_key);
			free_row(r);
		}
	}
}

int contend_collect(struct contend *c, uint64_t epoch, struct err *e)
{
	int ret = keyed_collect(c->keyed, epoch, e);

	forget_early(c);
	return ret;
}

struct keys_walk {
	void (*fn)(void *ctx, const struct abi_key *key);
	void *ctx;
};

static void visit_key(const void *node, VISIT visit, void *ctx)
{
	const struct contend_row *r = *(struct contend_row *const *)node;
	const struct keys_walk *w = ctx;

	if (visit == postorder || visit == leaf)
		w->fn(w->ctx, &r->key);
}

void contend_keys(const struct contend *c, void (*fn)(void *ctx, const struct abi_key *key),
		  void *ctx)
{
	struct keys_walk w = {fn, ctx};

	twalk_r(c->rows, visit_key, &w);
}

void contend_forget(struct contend *c)
{
	keyed_forget(c->keyed);
}

void contend_close(struct contend *c)
{
	if (!c)
		return;
	keyed_close(c->keyed); /* its rows take theirs along */
	tdestroy(c->rows, free_row);
	cache_clear(&c->codes);
	free(c);
}
