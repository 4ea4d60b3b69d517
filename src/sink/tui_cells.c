// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns of the tables, and what stands in them. */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/printer.h"
#include "sink/table.h"
#include "sink/tui.h"

#define NAME_LEAST 24
#define NAME_MOST 48
#define SLOW_NAME 36 /* a time, and a task */
#define WHO_LEAST 20
#define WHO_MOST 60
#define SPARK_LEAST 8
#define SPARK_MOST 62 /* a minute of seconds */

const struct hist *tui_hist(const struct view_row *r)
{
	if (r->c)
		return r->c->wait;
	/* What counts besides has no percentiles among those of the metric that ranks. */
	return r->s && r->s != r->besides ? r->s->hist : NULL;
}

static uint64_t waited_ns(const struct tui_row *r)
{
	const struct hist *h = tui_hist(&r->r);

	if (r->r.wait || r->r.besides)
		return view_waited_ns(&r->r);
	return h ? h->sum_ns : 0;
}

static uint64_t count_of(const struct tui *t, const struct tui_row *r)
{
	const struct hist *h = tui_hist(&r->r);

	if (r->r.c)
		return r->r.c->count;
	if (r->r.k)
		return r->r.k->count;
	if (r->kind == TUI_ROW_COUNTS)
		return view_sum(&t->view, r->s, &r->r, r->r.s->desc);
	return h ? h->count : r->r.s ? r->r.s->value : 0;
}

static const struct quantile p99 = {PPB_P99, "99"};

uint64_t tui_weight(const struct tui *t, const struct tui_row *r, const struct tui_column *c)
{
	const struct hist *h = tui_hist(&r->r);

	if (r->kind == TUI_ROW_HEADING || r->kind == TUI_ROW_REST)
		return 0;
	if (r->w)
		return r->w->wait_ns;
	if (c->kind == TUI_COLUMN_RATE || c->kind == TUI_COLUMN_COUNT)
		return count_of(t, r);
	if (r->r.k) /* all that there is of one */
		return r->r.k->wait_ns;
	if (c->kind == TUI_COLUMN_SHARE)
		return waited_ns(r);
	if (c->kind == TUI_COLUMN_BESIDES)
		return r->r.besides ? r->r.besides->hist->sum_ns : 0;
	if (c->kind == TUI_COLUMN_HEAD)
		h = r->r.head ? r->r.head->hist : NULL;
	if (!h || !h->count)
		return 0;
	if (c->kind == TUI_COLUMN_SUM)
		return h->sum_ns;
	if (c->kind == TUI_COLUMN_MEAN)
		return h->sum_ns / h->count;
	if (c->kind == TUI_COLUMN_MAX)
		return h->max_ns;
	return hist_quantile(h, c->q ? c->q : &p99).ns;
}

/* ---- texts ---- */

/* "fsync  8:1  /data": the values, in order. */
char *tui_label_text(const struct series *s, uint32_t from, char *out, size_t len)
{
	bool mounted = series_label(s, "mount") != NULL, cpu;

	out[0] = '\0';
	for (uint32_t i = from; i < s->nlabels; i++) {
		if (mounted && !strcmp(s->labels[i].key, "dev"))
			continue; /* the detail has it */
		cpu = !strcmp(s->labels[i].key, "cpu");
		if (cpu)
			text_join(out, len, "  ", "CPU");
		text_join(out, len, cpu ? " " : "  ", s->labels[i].value);
	}
	return out;
}

/* Joined metrics stand in one table: the ones that are told apart by no label have their names. */
static void series_name(const struct tui_row *r, char *out, size_t len)
{
	const struct series *s = r->r.s;
	struct name title = name_clean(s->desc->title);
	char labels[TUI_NAME];

	tui_label_text(s, 0, labels, sizeof(labels));
	if (!s->nlabels)
		(void)snprintf(out, len, "%s", title.s); /* names may be cut */
	else if (s->desc->role == METRIC_ROWS && !series_label(s, "op"))
		(void)snprintf(out, len, "%s  %s", title.s, labels);
	else if (s->desc->role == METRIC_ROWS || series_label(s, "cpu"))
		(void)snprintf(out, len, "%s", labels);
	else
		(void)snprintf(out, len, "%s  %s", title.s, labels);
}

static void counts_name(const struct tui_row *r, char *out, size_t len)
{
	const struct series *s = r->r.s;

	out[0] = '\0';
	text_join(out, len, "", s->desc->title);
	for (uint32_t i = 0; i < s->nlabels; i++)
		if ((!s->desc->pivot || strcmp(s->labels[i].key, s->desc->pivot) != 0) &&
		    (strcmp(s->labels[i].key, "dev") != 0 || !series_label(s, "mount")))
			text_join(out, len, !strcmp(s->labels[i].key, "cpu") ? "  CPU " : "  ",
				  s->labels[i].value);
}

static void contended_name(const struct contended *c, char *out, size_t len)
{
	char name[TUI_NAME];

	table_contended_name(c, name, sizeof(name));
	if (c->other)
		(void)snprintf(out, len, "%s", name);
	else if (c->accesses && c->accesses->sharing)
		(void)snprintf(out, len, "%s  %s", name,
			       !strcmp(c->accesses->sharing, "false") ? "(false)" : "(true)");
	else
		(void)snprintf(out, len, "%s  %s", name, name_clean(c->kind).s);
}

const char *tui_name(const struct tui *t, const struct tui_row *r, char *out, size_t len)
{
	switch (r->kind) {
	case TUI_ROW_HEADING:
		(void)snprintf(out, len, r->key ? "%s by %s" : "%s", r->title, r->key);
		break;
	case TUI_ROW_REST:
		(void)snprintf(out, len, "… %zu more on page %s", r->n, tui_page_name(t, r->page));
		break;
	case TUI_ROW_GROUP:
		tui_label_text(r->r.first, 0, out, len);
		break;
	case TUI_ROW_COUNTS:
		counts_name(r, out, len);
		break;
	case TUI_ROW_CONTENDED:
		contended_name(r->r.c, out, len);
		break;
	case TUI_ROW_CULPRIT:
		tui_culprit_name(t, r->r.k, out, len);
		break;
	case TUI_ROW_SLOW:
		tui_slow_name(r->w, out, len);
		break;
	case TUI_ROW_SERIES:
		series_name(r, out, len);
		break;
	}
	return out;
}

/* "hit 95.2 %  miss 4.8 %" */
static void counts_who(const struct tui *t, const struct tui_row *r, char *out, size_t len)
{
	const uint64_t *v = t->view.values + r->r.values;
	char text[128];

	for (size_t i = 0; i < r->s->ncolumns; i++) {
		const struct view_column *c = &r->s->columns[i];
		uint64_t all = view_sum(&t->view, r->s, &r->r, c->desc);

		if (!c->value || !v[i])
			continue;
		(void)snprintf(text, sizeof(text), " %s %%", word_share(v[i], all, 1).s); /* fits */
		text_join(out, len, "  ", c->value);
		text_join(out, len, "", text);
	}
}

/* "app 42, CPUs 0-3, 4 threads" */
static void contended_who(const struct contended *c, char *out, size_t len)
{
	char text[TUI_NAME], numbers[128];

	if (c->group.key)
		text_join(out, len, "", c->group.value);
	if (c->pid)
		text_join(out, len, ", ", table_contended_owner(c, text, sizeof(text)));
	if (contended_class(c) == CLASS_WORK)
		text_join(out, len, ", ", "waits for work");
	if (contended_class(c) == CLASS_UNSURE)
		text_join(out, len, ", ", wait_class_words[CLASS_UNSURE]);
	if (c->accesses) {
		(void)snprintf(text, sizeof(text), "%s reads, %s writes",
			       word_count(c->accesses->reads).s,
			       word_count(c->accesses->writes).s); /* fits */
		text_join(out, len, ", ", text);
	}
	if (c->ncpus) {
		(void)snprintf(text, sizeof(text), "CPU%s %s", c->ncpus > 1 ? "s" : "",
			       table_numbers(c->cpus, c->ncpus, numbers, sizeof(numbers)));
		text_join(out, len, ", ", text);
	}
	if (c->nsites) {
		text_join(out, len, ", ", "at ");
		text_join(out, len, "", c->sites[0].sym);
	}
}

static void who(const struct tui *t, const struct tui_row *r, char *out, size_t len)
{
	const struct series *s = r->r.s;
	char text[192];

	out[0] = '\0';
	if (r->w) {
		tui_slow_words(r->w, t->cfg->unit, out, len);
	} else if (r->r.c) {
		contended_who(r->r.c, out, len);
	} else if (r->r.k) {
		tui_culprit_cell(t, r, out, len);
	} else if (r->kind == TUI_ROW_COUNTS) {
		counts_who(t, r, out, len);
	} else if (s && s->split && s->hist && s->hist->sum_ns) {
		(void)snprintf(text, sizeof(text), "blocked %s %%, run queue %s %%",
			       word_share(s->split->blocked_ns, s->hist->sum_ns, 1).s,
			       word_share(s->split->run_queue_ns, s->hist->sum_ns, 1).s);
		text_join(out, len, "", text);
	}
}

char *tui_quantile_text(const struct hist *h, const struct quantile *q, enum unit unit, char *out,
			size_t len)
{
	struct quantile_value v = hist_quantile(h, q);
	char text[64];

	(void)snprintf(out, len, "%s%c", format_time(text, sizeof(text), v.ns, unit),
		       v.few ? '~' : ' '); /* fits */
	return out;
}

/* Waited in each second: of all together, so it may be more than one. */
static void per_second(const struct tui *t, const struct hist *h, char *out, size_t len)
{
	uint64_t dur = tui_frame(t)->dur_ns;

	if (h && h->count && dur)
		format_duration(out, len, (uint64_t)((double)h->sum_ns * 1e9 / (double)dur));
}

/* "67.4 %", or of several tasks together "3.7x" */
static void of_time(const struct tui *t, uint64_t ns, char *out, size_t len)
{
	char share[32];

	format_time_share(share, sizeof(share), ns, tui_frame(t)->dur_ns);
	(void)snprintf(out, len, "%s%s", share, strpbrk(share, "x-") ? "" : " %"); /* fits */
}

/* A time of seconds among those of microseconds would be cut: it has its own unit then, and as many
 * digits as there is room for. */
static void fit_time(char *out, size_t len, uint64_t ns, const struct tui_column *c)
{
	size_t end = strlen(out);
	char mark[2] = {c->q && end ? out[end - 1] : '\0'};
	bool seconds = ns >= 1000000000;

	if (!c->width || end < c->width)
		return;
	for (int digits = 2; digits >= 0; digits--) {
		(void)snprintf(out, len, "%.*f %s%s", digits, (double)ns / (seconds ? 1e9 : 1e6),
			       seconds ? "s" : "ms", mark); /* fits */
		if (strlen(out) < c->width)
			break;
	}
}

static const char *time_cell(const struct tui *t, const struct hist *h, const struct tui_column *c,
			     char *out, size_t len)
{
	uint64_t ns = c->kind == TUI_COLUMN_MAX ? h->max_ns : h->sum_ns / h->count;

	if (c->q) {
		ns = hist_quantile(h, c->q).ns;
		tui_quantile_text(h, c->q, t->cfg->unit, out, len);
	} else {
		format_time(out, len, ns, t->cfg->unit);
	}
	fit_time(out, len, ns, c);
	return out;
}

const char *tui_cell(const struct tui *t, const struct tui_row *r, const struct tui_column *c,
		     char *out, size_t len)
{
	const struct hist *h = tui_hist(&r->r);
	bool some = h && h->count;

	(void)snprintf(out, len, c->q ? "- " : "-");
	if (some && (c->kind == TUI_COLUMN_QUANTILE || c->kind == TUI_COLUMN_MAX ||
		     c->kind == TUI_COLUMN_MEAN))
		return time_cell(t, h, c, out, len);
	if (c->kind == TUI_COLUMN_HEAD && r->r.head && r->r.head->hist->count)
		return time_cell(t, r->r.head->hist, c, out, len);
	if (r->w && c->kind == TUI_COLUMN_MAX)
		return format_time(out, len, r->w->wait_ns, t->cfg->unit);
	switch (c->kind) {
	case TUI_COLUMN_NAME:
		return tui_name(t, r, out, len);
	case TUI_COLUMN_RATE:
		return format_rate(out, len, count_of(t, r), tui_frame(t)->dur_ns);
	case TUI_COLUMN_COUNT:
		return format_count(out, len, count_of(t, r));
	case TUI_COLUMN_QUANTILE:
	case TUI_COLUMN_MAX:
	case TUI_COLUMN_MEAN:
	case TUI_COLUMN_HEAD:
		break; /* without a sample */
	case TUI_COLUMN_SUM:
		per_second(t, h, out, len);
		break;
	case TUI_COLUMN_BESIDES:
		per_second(t, r->r.besides ? r->r.besides->hist : NULL, out, len);
		break;
	case TUI_COLUMN_SHARE:
		if (waited_ns(r) || some)
			of_time(t, waited_ns(r), out, len);
		break;
	case TUI_COLUMN_WHO:
		who(t, r, out, len);
		break;
	case TUI_COLUMN_SPARK:
		out[0] = '\0';
		break;
	}
	return out;
}

/* ---- columns ---- */

static struct tui_column *column(struct tui *t, enum tui_column_kind kind, const char *head,
				 size_t width, uint32_t yield)
{
	struct tui_column *c = &t->column[t->ncolumns];

	*c = (struct tui_column){.kind = kind, .width = width, .yield = yield};
	c->number = (uint32_t)t->ncolumns;
	(void)snprintf(c->head, sizeof(c->head), "%s", head); /* fits: our own words */
	t->ncolumns++;
	return c;
}

/* The median, p99 and p99.9 stay longest; the first of all that the user wants always does. */
static uint32_t quantile_yield(const struct quantile *q, size_t i)
{
	if (!strcmp(q->text, "99"))
		return 1;
	if (!strcmp(q->text, "50") || !i)
		return 2;
	return !strcmp(q->text, "99.9") ? 3 : 12 + (uint32_t)i;
}

/* Did a group wait for what counts besides the metric that ranks them? */
static bool any_besides(const struct tui *t)
{
	const struct frame *f = tui_frame(t);

	for (size_t i = 0; f && i < f->nseries; i++)
		if (f->series[i].desc->ranks_as && f->series[i].nlabels &&
		    !view_is_cpu(&f->series[i]) && f->series[i].hist->count)
			return true;
	return false;
}

static void add_columns(struct tui *t)
{
	const struct config *cfg = t->cfg;
	bool groups = t->page == TUI_GROUPS;

	t->ncolumns = 0;
	(void)column(t, TUI_COLUMN_NAME, "", NAME_LEAST, 0);
	if (t->page == TUI_SLOW) { /* of one wait there is no more than that */
		t->column[0].width = SLOW_NAME;
		(void)column(t, TUI_COLUMN_MAX, "wait", 12, 0);
		(void)column(t, TUI_COLUMN_WHO, "  for what, how", WHO_LEAST, 0);
		return;
	}
	(void)column(t, TUI_COLUMN_RATE, "/s", 9, 0);
	(void)column(t, TUI_COLUMN_COUNT, "count", 12, 23);
	for (size_t i = 0; i < cfg->nquantiles && t->ncolumns < TUI_COLUMNS - 8; i++) {
		struct tui_column *c = column(t, TUI_COLUMN_QUANTILE, "p", 8,
					      quantile_yield(&cfg->quantiles[i], i));

		(void)snprintf(c->head, sizeof(c->head), "p%s ", cfg->quantiles[i].text);
		c->q = &cfg->quantiles[i];
	}
	(void)column(t, TUI_COLUMN_MAX, "max", 8, 4);
	(void)column(t, TUI_COLUMN_MEAN, "mean", 8, 22);
	(void)column(t, TUI_COLUMN_SUM, groups ? "delay/s" : "wait/s", 10, groups ? 5 : 20);
	if (groups)
		(void)column(t, TUI_COLUMN_BESIDES, "throttled/s", 12, any_besides(t) ? 2 : 40);
	(void)column(t, TUI_COLUMN_SHARE, "of time", 9, groups ? 2 : 21);
	if (groups)
		column(t, TUI_COLUMN_HEAD, "wake p99 ", 10, 18)->q = &p99;
	(void)column(t, TUI_COLUMN_WHO, "  who, where", WHO_LEAST, groups ? 30 : 19);
	(void)column(t, TUI_COLUMN_SPARK, "  p99 over time", SPARK_LEAST, groups ? 11 : 10);
}

static size_t columns_width(const struct tui *t)
{
	size_t all = 0;

	for (size_t i = 0; i < t->ncolumns; i++)
		all += t->column[i].width;
	return all;
}

/* What yields first goes, until the rest fits. */
static void yield_columns(struct tui *t, size_t width)
{
	while (columns_width(t) > width) {
		size_t at = 0;

		for (size_t i = 1; i < t->ncolumns; i++)
			if (t->column[i].yield > t->column[at].yield)
				at = i;
		if (!t->column[at].yield)
			break;
		t->ncolumns--;
		memmove(&t->column[at], &t->column[at + 1],
			(t->ncolumns - at) * sizeof(t->column[0]));
	}
}

static void widen(struct tui *t, enum tui_column_kind kind, size_t most, size_t *room)
{
	for (size_t i = 0; i < t->ncolumns; i++) {
		struct tui_column *c = &t->column[i];
		size_t more = c->kind == kind && c->width < most ? most - c->width : 0;

		if (more > *room)
			more = *room;
		c->width += more;
		*room -= more;
	}
}

void tui_columns_make(struct tui *t, size_t width)
{
	size_t x = 0, room, used;

	add_columns(t);
	yield_columns(t, width);
	used = columns_width(t);
	room = used < width ? width - used : 0;
	if (t->page == TUI_SLOW)
		widen(t, TUI_COLUMN_WHO, SIZE_MAX, &room);
	widen(t, TUI_COLUMN_NAME, NAME_LEAST + 4, &room);
	widen(t, TUI_COLUMN_SPARK, 2 * SPARK_LEAST, &room);
	widen(t, TUI_COLUMN_NAME, NAME_MOST, &room);
	widen(t, TUI_COLUMN_WHO, WHO_MOST, &room);
	widen(t, TUI_COLUMN_SPARK, SPARK_MOST, &room);
	widen(t, TUI_COLUMN_NAME, SIZE_MAX, &room);
	for (size_t i = 0; i < t->ncolumns; i++) {
		struct tui_column *c = &t->column[i];

		c->x = x;
		x += c->width;
		if (c->kind == TUI_COLUMN_SPARK && strlen(c->head) > c->width)
			(void)snprintf(c->head, sizeof(c->head), "  trend"); /* fits */
	}
}
