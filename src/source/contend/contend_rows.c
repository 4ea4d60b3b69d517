// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of the contended table: a keyed row has the numbers, and besides what the described waits
 * said of its address (its object, call sites) and how it is named. A described wait may come
 * before the numbers do, or after.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/contend/contend.h"
#include "source/sys/cpus.h"
#include "source/inodes/ext4_places.h"

#define COLD_AFTER 8	       /* intervals without a wait, where room is short */
#define EARLY_MAX 4096	       /* rows that are described before they are counted */
#define REST_NS 10000000000ULL /* without a wait: then an address leaves the kernel's maps */
#define REST_INTERVALS 8       /* at least */
#define MEMBERS_MAX 16
#define LINE_BYTES 64

static struct contend_row *row_of(struct keyed_row *row)
{
	return (struct contend_row *)row;
}

static bool is_other(const struct contend_row *r)
{
	return r->keyed.key.obj == ABI_OBJ_OTHER;
}

/* ---- rows ---- */

static void free_members(struct contend_row *r)
{
	for (size_t i = 0; i < r->nmembers; i++)
		free((void *)r->members[i].name);
	free(r->members);
	r->members = NULL;
	r->nmembers = 0;
}

/* keyed_args.leaves */
static void on_leave(void *ctx, struct keyed_row *row)
{
	struct contend_row *r = row_of(row);

	free_members(r);
	free(r->first);
	free(r->name);
	free(r->place);
	sites_free(&r->sites);
	row_holders_free(&r->holders);
	group_text_free(&r->group);
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
	if (!c->names || !n->object || n->found != NAME_MEMBER)
		return 0;
	count = names_members_on_line(c->names, n->type, n->object, r->keyed.key.obj, found,
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

static int name_row(struct contend *c, struct contend_row *r)
{
	struct name n = {0};
	int ret;

	if (is_other(r))
		return 0;
	c->ops->name(c, r, &n);
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

void contend_join(void *ctx, struct abi_key *key)
{
	struct contend *c = ctx;

	if (c->ops->join && key->obj != ABI_OBJ_OTHER)
		c->ops->join(c, key);
}

static int describe_row(struct contend_row *r, const struct abi_contend_sample *s)
{
	r->first = malloc(sizeof(*s));
	if (!r->first)
		return -ENOMEM;
	*r->first = *s;
	return 0;
}

/* keyed_args.came. Waits whose class became known after they were counted have another metric. */
static int on_came(void *ctx, const struct keyed_row *row, const struct abi_key *entry,
		   const struct hist *samples)
{
	struct contend *c = ctx;
	uint32_t from = entry->kind - 1, to = row->key.kind - 1, n = c->ops->nmetrics;
	struct contend_left *l;
	size_t at;

	if (from >= n || entry->cpu >= c->ncpus)
		return 0;
	at = (size_t)entry->cpu * n + from;
	l = &c->left[at];
	if (from != to && to < n) {
		l->moved = true;
		return hist_merge(&c->moved[at * n + to], samples);
	}
	l->min_ns = l->any && l->min_ns < samples->min_ns ? l->min_ns : samples->min_ns;
	l->max_ns = l->any && l->max_ns > samples->max_ns ? l->max_ns : samples->max_ns;
	l->any = true;
	return 0;
}

static int move_from(struct contend *c, size_t at)
{
	uint32_t n = c->ops->nmetrics, cpu = (uint32_t)(at / n), from = (uint32_t)(at % n);
	const struct contend_left *l = &c->left[at];
	int ret = 0;

	for (uint32_t to = 0; l->moved && !ret && to < n; to++) {
		struct hist *h = &c->moved[at * n + to];

		if (h->count)
			ret = banks_move(&c->banks, cpu, from, to, h);
		hist_reset(h);
	}
	if (l->any && l->moved)
		banks_bounds(&c->banks, cpu, from, l->min_ns, l->max_ns);
	c->left[at] = (struct contend_left){0};
	return ret;
}

int contend_rows_moved(struct contend *c)
{
	int ret = 0;

	for (size_t i = 0; c->left && !ret && i < (size_t)c->ncpus * c->ops->nmetrics; i++)
		ret = move_from(c, i);
	return ret;
}

void contend_rows_free(struct contend *c)
{
	size_t n = (size_t)c->ncpus * c->ops->nmetrics * c->ops->nmetrics;

	for (size_t i = 0; c->moved && i < n; i++)
		hist_free(&c->moved[i]);
	free(c->moved);
	free(c->left);
}

static int make_moved(struct contend *c)
{
	size_t n = (size_t)c->ncpus * c->ops->nmetrics;

	c->left = calloc(n, sizeof(*c->left));
	c->moved = calloc(n * c->ops->nmetrics, sizeof(*c->moved));
	if (!c->left || !c->moved)
		return -ENOMEM;
	for (size_t i = 0; i < n * c->ops->nmetrics; i++)
		hist_init(&c->moved[i], c->maps.schema);
	return 0;
}

/* keyed_args.appeared */
static int on_appear(void *ctx, struct keyed_row *row)
{
	struct contend *c = ctx;
	struct contend_row *r = row_of(row);
	int ret = c->describing ? describe_row(r, c->describing) : 0;

	group_text_init(&r->group, c->cfg->by, &row->key, c->base.filters.names);
	return ret ? ret : name_row(c, r);
}

/* ---- descriptions ---- */

/* A storm of addresses that find no room has the row of the others. */
struct contend_row *contend_row_described(struct contend *c, const struct abi_key *key)
{
	struct abi_key own = *key, other = {.obj = ABI_OBJ_OTHER};
	struct keyed_row *found;

	own.cpu = 0;
	contend_join(c, &own);
	found = keyed_find(c->keyed, &own);
	if (!found && keyed_uncounted(c->keyed) >= EARLY_MAX) {
		other.kind = own.kind;
		found = keyed_find(c->keyed, &other);
		other.kind = ABI_KIND_OTHER;
		found = found ? found : keyed_find(c->keyed, &other);
	}
	return row_of(found ? found : keyed_get(c->keyed, &own));
}

int contend_describe(struct contend *c, const struct abi_contend_sample *s)
{
	bool waited = s->role == ABI_ROLE_WAITED;
	const struct code *code;
	struct contend_row *r;

	if (waited && c->ops->decide)
		c->ops->decide(c, s);
	c->describing = waited ? s : NULL;
	r = contend_row_described(c, &s->key);
	c->describing = NULL;
	if (r && !waited)
		return holders_describe(c, r, s);
	if (!r || (!r->first && (describe_row(r, s) || name_row(c, r))))
		return -ENOMEM;
	if (!s->nips)
		return 0;
	code = codes_site(c, s);
	return code ? sites_count(&r->sites, code) : -ENOMEM;
}

/* ---- reports ---- */

/* What both views show. */
static int fill_row(struct contend *c, struct contend_row *r, struct contended *out)
{
	struct label labels[GROUP_LABELS];

	*out = (struct contended){.source = c->ops->source->name};
	out->class =
		c->ops->class ? c->ops->class(r->keyed.key.kind) : wait_class_words[CLASS_LOCK];
	if (is_other(r)) {
		out->other = true;
		out->kind = "other";
	} else {
		out->kind = c->ops->kind(r->keyed.key.kind);
		out->addr = r->keyed.key.obj;
		out->name = r->name;
		out->place = r->placed;
		out->name_inferred = r->inferred;
		out->members = r->members;
		out->nmembers = r->nmembers;
		out->line = r->nmembers ? r->keyed.key.obj / LINE_BYTES * LINE_BYTES : 0;
		if (group_labels(&r->group, c->cfg->by, &r->keyed, labels))
			out->group = labels[0];
	}
	return sites_show(&r->sites, &c->arena, out);
}

static int push_view(struct contend *c, struct contend_row *r, bool total, struct contended row,
		     struct contended_list *to)
{
	const struct keyed_row *k = &r->keyed;

	row.wait = total ? &k->total[0] : &k->interval[0];
	row.count = row.wait->count;
	row.ntasks = (uint64_t)__builtin_popcountll(
		(total ? k->sums_total : k->sums_interval)[ABI_CONTEND_TASKS]);
	if (c->ops->fill)
		c->ops->fill(c, r, total, &row);
	if (holders_fill(c, r, total, &row) ||
	    cpus_fill(&c->arena, total ? k->cpus_total : k->cpus_interval, c->ncpus, &row))
		return -ENOMEM;
	return contended_push(to, &row);
}

static bool had_any(const struct contend *c, const struct hist *h, const uint64_t *sums)
{
	for (int i = 0; c->ops->without_waits && i < ABI_SUMS; i++)
		if (sums[i])
			return true;
	return h->count;
}

static int push_row(struct contend *c, struct contend_row *r, struct source_report *to)
{
	const struct keyed_row *k = &r->keyed;
	bool now = had_any(c, &k->interval[0], k->sums_interval);
	bool ever = !to->total.contended.unwanted && had_any(c, &k->total[0], k->sums_total);
	struct contended row;
	int ret = now || ever ? fill_row(c, r, &row) : 0;

	if (!ret && now)
		ret = push_view(c, r, false, row, &to->interval.contended);
	if (!ret && ever)
		ret = push_view(c, r, true, row, &to->total.contended);
	return ret;
}

/* Names that were not there in time may be by now: first of those that were waited for lately. */
static int name_late(struct contend *c)
{
	struct keyed_row *k;
	int ret = 0;

	for (int others = 0; others < 2; others++)
		for (k = keyed_first(c->keyed); !ret && k; k = k->next) {
			struct contend_row *r = row_of(k);

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

	ext4_places_begin(c->places);
	for (k = keyed_first(c->keyed); !ret && k; k = k->next) {
		struct contend_row *r = row_of(k);
		struct ext4_place_ask ask = {
			.inode = &r->inode,
			.place = r->place,
			.weight = k->total[0].sum_ns | (k->interval[0].count ? now : 0),
			.out = &r->placed,
		};

		r->placed = r->place;
		ret = ext4_places_ask(c->places, &ask);
	}
	ext4_places_answer(c->places);
	return ret;
}

int contend_rows_push(struct contend *c, struct source_report *r)
{
	struct keyed_row *k;
	int ret = name_late(c);

	if (!ret)
		ret = find_places(c);
	for (k = keyed_first(c->keyed); !ret && k; k = k->next)
		ret = push_row(c, row_of(k), r);
	return ret;
}

int contend_rows_open(struct contend *c, struct err *e)
{
	uint64_t rest = c->cfg->interval_ns ? REST_NS / c->cfg->interval_ns : 0;
	struct keyed_args args = {
		.nhists = c->maps.nhists,
		.row_bytes = sizeof(struct contend_row),
		.schema = c->maps.schema,
		.ncpus = c->ncpus,
		.what = c->ops->source->name,
		.masks = 1U << ABI_CONTEND_TASKS,
		.room = bpf_map__max_entries(
				bpf_object__find_map_by_name(c->base.obj, "keyed_even")) /
			4 * 3,
		.cold_after = COLD_AFTER,
		.rest_after = rest > REST_INTERVALS ? (uint32_t)rest : REST_INTERVALS,
		.join = contend_join,
		.came = c->ops->nmetrics > 1 ? on_came : NULL,
		.appeared = on_appear,
		.leaves = on_leave,
		.ctx = c,
	};

	codes_init(&c->codes);
	if (args.came && make_moved(c))
		return err_sys(e, -ENOMEM, "%s", args.what);
	map_setup_keyed_fds(c->base.obj, args.fds);
	return keyed_open(&c->keyed, &args, e);
}
