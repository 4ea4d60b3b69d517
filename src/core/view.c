// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/view_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

#define RANK_SCALE 1e6 /* weights are integers */

static const char *const by_keys[] = {
	[BY_CPU] = "cpu",	[BY_PID] = "pid",
	[BY_TID] = "tid",	[BY_COMM] = "comm",
	[BY_CGROUP] = "cgroup", [BY_FILE] = "file",
	[BY_UNIT] = "unit",	[BY_CONTAINER] = "container_id",
};

#define BY_KEYS (sizeof(by_keys) / sizeof(by_keys[0]))

const char *view_by(enum by_key by)
{
	return by_keys[by];
}

int view_push(struct view *v, struct view_table *t, const struct view_row *row)
{
	void *array = array_room(v->rows, &v->rows_cap, v->nrows, 1, sizeof(*row));

	if (!array)
		return -ENOMEM;
	v->rows = array;
	v->rows[v->nrows++] = *row;
	t->n++;
	return 0;
}

static struct view_section *push_section(struct view *v, enum view_kind kind)
{
	struct view_section *s =
		array_room(v->sections, &v->sections_cap, v->nsections, 1, sizeof(*s));

	if (!s)
		return NULL;
	v->sections = s;
	s += v->nsections++;
	*s = (struct view_section){.kind = kind};
	return s;
}

static struct view_table begin_table(const struct look *l)
{
	return (struct view_table){.from = l->v->nrows};
}

static int add_headline_rows(const struct look *l, struct view_table *t, const struct series *head)
{
	enum by_key by = l->cfg->by;
	bool cpus = by == BY_NONE || by == BY_CPU;
	int ret = 0;

	/* Groups may have waited without a wakeup; that no CPU had one is in the title. */
	if (by == BY_NONE && view_series_empty(head))
		return 0;
	ret = view_add_groups(l, t, head->desc, cpus, by != BY_NONE, false);
	if (!ret && !t->n && by == BY_NONE) /* a metric that exists only in groups */
		ret = view_add_groups(l, t, head->desc, false, false, false);
	t->in_place = by == BY_NONE && t->cpus;
	if (!t->in_place)
		view_sort(l->v, t);
	t->limit = l->cfg->rows;
	return ret;
}

/* ---- sections ---- */

static bool is_table(const struct series *s)
{
	return s->desc->role == METRIC_ROWS || s->desc->role == METRIC_COUNTS;
}

static int add_parts(const struct look *l, struct view_table *t, size_t from, size_t to,
		     enum metric_role role)
{
	int ret = 0;

	*t = begin_table(l);
	for (size_t i = from; i < to && !ret; i++) {
		const struct series *s = &l->f->series[i];

		if (!s->nlabels && s->desc->role == role)
			ret = view_push(l->v, t, &(struct view_row){.s = s, .first = s, .n = 1});
	}
	return ret;
}

/* A headline with what belongs to it, up to *next: the next one, or a table. */
static int add_headline(const struct look *l, size_t from, size_t *next)
{
	struct view_section *sec = push_section(l->v, VIEW_HEADLINE);
	const struct series *s = l->f->series;
	size_t to = from + 1;
	int ret;

	if (!sec)
		return -ENOMEM;
	while (to < l->f->nseries && !is_table(&s[to]) &&
	       (s[to].nlabels || s[to].desc->role != METRIC_HEADLINE))
		to++;
	*next = to;
	if (s[from].desc->role == METRIC_HEADLINE) {
		sec->head = &s[from];
		sec->desc = s[from].desc;
	}
	ret = add_parts(l, &sec->legs, from, to, METRIC_LEG);
	if (!ret)
		ret = add_parts(l, &sec->sides, from, to, METRIC_SIDE);
	if (!ret && sec->head)
		ret = add_headline_rows(l, &sec->rows, sec->head);
	return ret;
}

/* Is it one of the groups that --by asks for, or of none at all? */
static bool in_part(const struct look *l, const struct series *s, bool groups)
{
	enum by_key by = l->cfg->by;

	if (groups)
		return by != BY_NONE && series_label(s, by_keys[by]);
	for (size_t i = BY_CPU; i < BY_KEYS; i++)
		if (series_label(s, by_keys[i]))
			return false;
	return true;
}

/* A metric and those that join it are one table. */
static bool same_table(const struct metric_desc *a, const struct metric_desc *b)
{
	return a == b || (a->role == b->role &&
			  !strcmp(a->joins ? a->joins : a->name, b->joins ? b->joins : b->name));
}

/* ---- counters ---- */

static const char *pivot_value(const struct series *s)
{
	return s->desc->pivot ? series_label(s, s->desc->pivot) : NULL;
}

static size_t find_column(const struct view_section *sec, const struct series *s)
{
	const char *value = pivot_value(s);
	size_t i;

	for (i = 0; i < sec->ncolumns; i++) {
		const struct view_column *c = &sec->columns[i];

		if (c->desc == s->desc &&
		    (c->value == value || (c->value && value && !strcmp(c->value, value))))
			break;
	}
	return i;
}

/* Columns in order of appearance, those of the metric itself first. */
static void add_columns(struct view_section *sec, const struct frame *f)
{
	for (int others = 0; others < 2; others++) {
		for (size_t i = 0; i < f->nseries && sec->ncolumns < VIEW_COLUMNS; i++) {
			const struct series *s = &f->series[i];

			if ((s->desc == sec->desc) != others && same_table(s->desc, sec->desc) &&
			    find_column(sec, s) == sec->ncolumns)
				sec->columns[sec->ncolumns++] =
					(struct view_column){s->desc, pivot_value(s)};
		}
	}
}

uint64_t view_sum(const struct view *v, const struct view_section *s, const struct view_row *row,
		  const struct metric_desc *desc)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->ncolumns; i++)
		if (s->columns[i].desc == desc)
			sum += v->values[row->values + i];
	return sum;
}

/* One row for each run of series that differ only in their pivots. */
static int merge_counts(const struct look *l, struct view_table *t, const struct view_section *sec)
{
	struct view *v = l->v;
	struct view_row *row = t->n ? v->rows + t->from : NULL;
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct series *s = v->rows[t->from + i].s;
		size_t column = find_column(sec, s);

		if (!n || view_compare_labels(row[n - 1].s, s)) {
			void *array = array_room(v->values, &v->values_cap, v->nvalues,
						 sec->ncolumns, sizeof(v->values[0]));

			if (!array)
				return -ENOMEM;
			v->values = array;
			memset(v->values + v->nvalues, 0, sec->ncolumns * sizeof(v->values[0]));
			row[n] =
				(struct view_row){.s = s, .first = s, .n = 1, .values = v->nvalues};
			v->nvalues += sec->ncolumns;
			n++;
		}
		if (column < sec->ncolumns)
			v->values[row[n - 1].values + column] += s->value;
	}
	t->n = n;
	v->nrows = t->from + n;
	return 0;
}

/* The rows of a section that hangs on labelled series: those of --by, or the others. */
static int add_rows(const struct look *l, struct view_table *t, const struct view_section *sec,
		    bool groups)
{
	enum sort_key sort = l->cfg->sort ? l->cfg->sort : SORT_SUM;
	bool counts = sec->kind == VIEW_COUNTS;
	struct view *v = l->v;
	int ret = 0;

	*t = begin_table(l);
	for (size_t i = 0; i < l->f->nseries && !ret; i++) {
		const struct series *s = &l->f->series[i];
		struct view_row row = {.s = s, .first = s, .n = 1};

		if (!same_table(s->desc, sec->desc) || view_series_empty(s) ||
		    !in_part(l, s, groups))
			continue;
		row.weight = counts ? 0 : view_series_weight(s, sort);
		ret = view_push(v, t, &row);
	}
	view_sort(v, t); /* counters, which have no weight yet, by labels */
	if (counts && !ret)
		ret = merge_counts(l, t, sec);
	for (size_t i = 0; counts && !ret && i < t->n && sort != SORT_NAME; i++) {
		struct view_row *row = &v->rows[t->from + i];

		row->weight = view_sum(v, sec, row, sec->desc);
	}
	if (counts)
		view_sort(v, t);
	t->limit = l->cfg->list_rows;
	return ret;
}

/* A table that hangs on labelled series; each metric has one, where the first of them stands. */
static int add_table(const struct look *l, size_t at)
{
	const struct metric_desc *desc = l->f->series[at].desc;
	bool counts = desc->role == METRIC_COUNTS;
	struct view_section *sec;
	int ret;

	for (size_t i = at; i-- > 0;)
		if (l->f->series[i].desc == desc ||
		    (!counts && same_table(l->f->series[i].desc, desc)))
			return 0;
	if (counts && desc->joins) /* beside another's */
		return 0;
	sec = push_section(l->v, counts ? VIEW_COUNTS : VIEW_ROWS);
	if (!sec)
		return -ENOMEM;
	sec->desc = desc;
	if (counts)
		add_columns(sec, l->f);
	ret = add_rows(l, &sec->rows, sec, false) ?: add_rows(l, &sec->groups, sec, true);
	for (size_t i = 0; i < sec->rows.n && !ret; i++) {
		const struct view_row *row = &l->v->rows[sec->rows.from + i];

		sec->count += counts ? view_sum(l->v, sec, row, desc) : row->s->hist->count;
		sec->sum_ns += counts ? 0 : row->s->hist->sum_ns;
	}
	return ret;
}

/* ---- addresses ---- */

/* Samples of a source that measures no time have nothing but their number. */
static uint64_t address_weight(const struct look *l, const struct contended *c)
{
	enum sort_key sort = l->cfg->sort ? l->cfg->sort : SORT_SUM;

	if (c->accesses)
		return sort == SORT_COUNT ? c->count : (uint64_t)(c->accesses->rank * RANK_SCALE);
	if (sort == SORT_NAME)
		return 0;
	return c->wait ? view_hist_weight(c->wait, sort) : c->count;
}

static uint32_t address_rank(const struct contended *c)
{
	if (c->accesses)
		return !c->accesses->exact; /* watches were asked for */
	if (c->other)
		return VIEW_OTHER;
	return contended_class(c) == CLASS_WORK ? VIEW_WORK : VIEW_LOCK;
}

static void sum_class(struct view_section *sec, const struct contended *c, enum wait_class class)
{
	struct wait_sum *to = class == CLASS_WORK ? &sec->work : &sec->unsure;

	if (!c->wait)
		return;
	to->count += c->count;
	to->sum_ns += c->wait->sum_ns;
}

/* What its rows come to together; a row without what the others have counts apart. */
static void sum_addresses(const struct view *v, struct view_section *sec)
{
	for (size_t i = 0; i < sec->rows.n; i++) {
		const struct view_row *row = &v->rows[sec->rows.from + i];
		const struct line_accesses *a = row->c->accesses;

		if (a)
			sec->sampler = a->sampler;
		else if (contended_class(row->c) != CLASS_LOCK) {
			sum_class(sec, row->c, contended_class(row->c));
			continue;
		}
		if (a ? sec->sampled && a->exact : sec->timed && !row->c->wait)
			continue;
		sec->count += row->c->count;
		if (a)
			sec->share += a->share > 0 ? a->share : 0;
		else if (sec->timed)
			sec->sum_ns += row->c->wait->sum_ns;
	}
}

/* Waits for addresses, or cache lines. */
static int add_contended(const struct look *l, enum view_kind kind)
{
	bool lines = kind == VIEW_LINES, asked = lines ? l->f->lines : l->f->contends;
	struct view_section *sec = push_section(l->v, kind);
	int ret = 0;

	if (!sec)
		return -ENOMEM;
	sec->rows = begin_table(l);
	for (size_t i = 0; i < l->f->ncontended && !ret; i++) {
		const struct contended *c = &l->f->contended[i];
		bool exact = c->accesses && c->accesses->exact;
		struct view_row row = {.c = c};

		if (lines != (c->accesses != NULL) || (!c->count && !exact))
			continue;
		row.rank = address_rank(c);
		row.weight = address_weight(l, c);
		sec->rows.others += !lines && c->other;
		sec->timed |= !lines && c->wait;
		sec->sampled |= lines && !exact;
		ret = view_push(l->v, &sec->rows, &row);
	}
	view_sort(l->v, &sec->rows);
	sec->rows.limit = l->cfg->list_rows;
	sum_addresses(l->v, sec);
	l->v->nsections -= !sec->rows.n && !asked;
	return ret;
}

/* ---- who made tasks wait ---- */

const struct culprit *view_victims(const struct view_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].k->nvictim)
			return rows[i].k;
	return NULL;
}

static int add_culprits(const struct look *l)
{
	struct view_section *sec = push_section(l->v, VIEW_CULPRITS);
	enum sort_key sort = l->cfg->sort;
	int ret = 0;

	if (!sec)
		return -ENOMEM;
	sec->rows = begin_table(l);
	for (size_t i = 0; i < l->f->nculprits && !ret; i++) {
		const struct culprit *k = &l->f->culprits[i];
		struct view_row row = {.k = k};

		if (sort != SORT_NAME)
			row.weight = sort == SORT_COUNT ? k->count : k->wait_ns;
		sec->sum_ns += k->wait_ns;
		if (k->wait_ns)
			ret = view_push(l->v, &sec->rows, &row);
	}
	view_sort(l->v, &sec->rows);
	sec->rows.limit = l->cfg->list_rows;
	return ret;
}

/* ---- what was waited ---- */

/* Of a headline's metrics those that rank, else its own; without one all of its sides. */
static uint64_t headline_waited(const struct view *v, const struct view_section *sec)
{
	uint64_t ranked = 0, sides = 0;

	for (size_t i = 0; i < sec->sides.n; i++) {
		const struct series *s = v->rows[sec->sides.from + i].s;
		uint64_t ns = s->desc->counter ? 0 : s->hist->sum_ns;

		sides += ns;
		ranked += s->desc->ranks || s->desc->ranks_as ? ns : 0;
	}
	if (ranked || !sec->head)
		return ranked ? ranked : sides;
	return sec->head->desc->counter ? 0 : sec->head->hist->sum_ns;
}

/*
 * Of operations what they did not run. Metrics that join others are parts of them, and count alone.
 */
static uint64_t rows_waited(const struct view *v, const struct view_section *sec)
{
	uint64_t sums[2] = {0};

	for (size_t i = 0; i < sec->rows.n; i++) {
		const struct series *s = v->rows[sec->rows.from + i].s;

		sums[s->desc->joins != NULL] +=
			s->split ? s->split->blocked_ns + s->split->run_queue_ns : s->hist->sum_ns;
	}
	return sums[0] ? sums[0] : sums[1];
}

static uint64_t section_waited(const struct look *l, const struct view_section *sec)
{
	switch (sec->kind) {
	case VIEW_HEADLINE:
		return headline_waited(l->v, sec);
	case VIEW_ROWS:
		return rows_waited(l->v, sec);
	case VIEW_CONTENDED:
		return sec->timed ? sec->sum_ns + sec->unsure.sum_ns : 0;
	case VIEW_LINES: /* of the time of a busy CPU */
		return (uint64_t)(sec->share * (double)l->f->dur_ns);
	case VIEW_CULPRITS:
		return sec->sum_ns;
	case VIEW_COUNTS:
		break;
	}
	return 0;
}

/* ---- a view ---- */

int view_make(struct view *v, const struct frame *f, const struct config *cfg)
{
	const struct look l = {v, f, cfg};
	size_t i, next;
	int ret = 0;

	v->nsections = v->nrows = v->nvalues = 0;
	for (i = 0; i < f->nseries && !ret; i = next) {
		const struct series *s = &f->series[i];

		next = i + 1;
		if (is_table(s))
			ret = add_table(&l, i);
		else if (!s->nlabels && s->desc->role != METRIC_NOTE)
			ret = add_headline(&l, i, &next);
	}
	if (!ret && f->why)
		ret = add_culprits(&l);
	ret = ret ?: add_contended(&l, VIEW_CONTENDED) ?: add_contended(&l, VIEW_LINES);
	for (i = 0; i < v->nsections && !ret; i++)
		v->sections[i].waited_ns = section_waited(&l, &v->sections[i]);
	return ret ?: view_join(v, f);
}

void view_free(struct view *v)
{
	free(v->sections);
	free(v->rows);
	free(v->values);
	free(v->joins);
	*v = (struct view){0};
}
