// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Plays a record through a sink: render SINK FIXTURE RECORD [FILE], to stdout or FILE. The record is
 * JSON Lines, as -o json writes them. The fixture says how it is looked at, in lines of words; #
 * begins a comment:
 *
 *	options -b pid -n 5		of those of the command line
 *	screen COLUMNS LINES [tty] [color] [redraw]
 *	metric NAME ROLE TITLE [pivot=KEY] [joins=NAME] [part_of=NAME] [ranks]
 *			instead of what the registry says; _ in a title is a space
 *	next		plays a line of the record; with none of it in the fixture, all are
 *	again		the report before it
 *	skip		a line of the record that is not shown: it is part of the total
 *	resize COLUMNS LINES, progress NS, reopen
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_own.h"
#include "core/record.h"
#include "core/text.h"

#include "sink/sink.h"

#define WORDS 32
#define METRICS 16

struct player {
	const struct sink_ops *ops;
	struct sink *sink;
	struct config cfg;
	struct sink_args args;
	struct metric_desc metrics[METRICS];
	size_t nmetrics;
	char *kept[64]; /* lines whose words are metrics' */
	size_t nkept;
	FILE *in;
	struct record r;
	struct frame_own *total;
	char *line;
	size_t room;
	struct err e;
};

static int bad(struct player *p, const char *what)
{
	return err_set(&p->e, EXIT_USAGE, -EINVAL, "bad word '%s'", what);
}

static int word_at(const char *const *words, const char *w)
{
	int i = 0;

	while (words[i] && strcmp(words[i], w))
		i++;
	return i;
}

/* Those of the command line that say how frames are looked at. */
static int set_options(struct player *p, char **w, int n)
{
	static const char *const keys[] = {"none",   "cpu",  "pid",  "tid",	  "comm",
					   "cgroup", "file", "unit", "container", NULL};
	static const char *const sorts[] = {"default", "p99", "count", "sum",
					    "max",     "p50", "name",  NULL};
	static const char *const units[] = {"auto", "-N", "-u", "-m", NULL};
	struct config *cfg = &p->cfg;

	for (int i = 1; i < n; i++) {
		const char *value = i + 1 < n ? w[i + 1] : "";
		int ret = 0;

		i++; /* most have one */
		if (!strcmp(w[i - 1], "-b"))
			cfg->by = (enum by_key)word_at(keys, value);
		else if (!strcmp(w[i - 1], "-n"))
			cfg->rows = cfg->list_rows = (uint32_t)strtoul(value, NULL, 10);
		else if (!strcmp(w[i - 1], "--sort"))
			cfg->sort = (enum sort_key)word_at(sorts, value);
		else if (!strcmp(w[i - 1], "-i"))
			ret = parse_time_ns(value, 1000000000, "-i", &cfg->interval_ns, &p->e);
		else if (!strcmp(w[i - 1], "--slower"))
			cfg->slower = true;
		else if (!strcmp(w[i - 1], "-P"))
			ret = parse_quantiles(value, "-P", &cfg->quantiles, &cfg->nquantiles,
					      &p->e);
		else if (!strcmp(w[--i], "-z"))
			cfg->totals = true;
		else if (!strcmp(w[i], "-T"))
			cfg->timestamps = true;
		else if (units[word_at(units, w[i])])
			cfg->unit = (enum unit)word_at(units, w[i]);
		else
			return bad(p, w[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static int set_screen(struct player *p, char **w, int n)
{
	p->args.columns = (uint32_t)strtoul(w[1], NULL, 10);
	p->args.lines = (uint32_t)strtoul(w[2], NULL, 10);
	for (int i = 3; i < n; i++) {
		p->args.tty |= !strcmp(w[i], "tty");
		p->args.color |= !strcmp(w[i], "color");
		p->args.redraw |= !strcmp(w[i], "redraw");
	}
	return 0;
}

static int add_metric(struct player *p, char **w, int n)
{
	static const struct {
		const char *name;
		enum metric_role role;
	} roles[] = {{"headline", METRIC_HEADLINE}, {"leg", METRIC_LEG},
		     {"side", METRIC_SIDE},	    {"rows", METRIC_ROWS},
		     {"counts", METRIC_COUNTS},	    {"note", METRIC_NOTE}};
	struct metric_desc *m = &p->metrics[p->nmetrics++];

	*m = (struct metric_desc){.name = w[1], .title = w[3]};
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (!strcmp(roles[i].name, w[2]))
			m->role = roles[i].role;
	for (char *s = w[3]; *s; s++)
		if (*s == '_')
			*s = ' ';
	for (int i = 4; i < n; i++) {
		if (!strncmp(w[i], "pivot=", 6))
			m->pivot = w[i] + 6;
		else if (!strncmp(w[i], "joins=", 6))
			m->joins = w[i] + 6;
		else if (!strncmp(w[i], "part_of=", 8))
			m->part_of = w[i] + 8;
		else if (!strcmp(w[i], "ranks"))
			m->ranks = true;
		else
			return bad(p, w[i]);
	}
	return 0;
}

/* What the fixture says of metrics, in place of the registry. */
static void describe(struct player *p)
{
	struct series *s = (struct series *)p->r.frame.series; /* the record's own */

	for (size_t i = 0; i < p->r.frame.nseries; i++)
		for (size_t m = 0; m < p->nmetrics; m++)
			if (!strcmp(p->metrics[m].name, s[i].desc->name)) {
				p->metrics[m].counter = s[i].desc->counter;
				s[i].desc = &p->metrics[m];
			}
}

static int show(struct player *p)
{
	const struct frame *f = &p->r.frame, *sum;
	struct frame total = *f;

	switch (p->r.type) {
	case RECORD_META:
		return p->ops->meta(p->sink, &p->r.meta, &p->e);
	case RECORD_SLOW:
		return p->ops->slow ? p->ops->slow(p->sink, &p->r.slow, &p->e) : 0;
	case RECORD_FINAL:
		return p->ops->final(p->sink, f, &p->e);
	case RECORD_INTERVAL:
		break;
	}
	if (frame_own_add(p->total, f, FRAME_THEN))
		return -ENOMEM;
	sum = frame_own_view(p->total);
	if (!sum)
		return -ENOMEM;
	total = *sum;
	total.type = FRAME_TOTAL;
	return p->ops->interval(p->sink, f, &total, &p->e);
}

/* 1: there is no more. */
static int next(struct player *p, bool skip)
{
	ssize_t len = getline(&p->line, &p->room, p->in);
	int ret;

	if (len <= 0)
		return 1;
	ret = record_read(&p->r, p->line, (size_t)len - (p->line[len - 1] == '\n'), &p->e);
	if (!ret && !p->sink)
		ret = p->ops->open(&p->sink, &p->args, &p->e);
	if (ret)
		return ret;
	describe(p);
	return skip ? frame_own_add(p->total, &p->r.frame, FRAME_THEN) : show(p);
}

/* With a FILE: moved away first, as logrotate does. */
static int reopen(struct player *p)
{
	char moved[4096];

	if (p->args.path && snprintf(moved, sizeof(moved), "%s.1", p->args.path) > 0 &&
	    rename(p->args.path, moved))
		return err_sys(&p->e, -errno, "rename '%s'", p->args.path);
	return p->ops->reopen(p->sink, &p->e);
}

static int command(struct player *p, char **w, int n)
{
	if (!strcmp(w[0], "options"))
		return set_options(p, w, n);
	if (!strcmp(w[0], "screen") && n > 2)
		return set_screen(p, w, n);
	if (!strcmp(w[0], "metric") && n > 3 && p->nmetrics < METRICS)
		return add_metric(p, w, n);
	if (!strcmp(w[0], "next"))
		return next(p, false);
	if (!strcmp(w[0], "skip"))
		return next(p, true);
	if (!strcmp(w[0], "again"))
		return show(p);
	if (!strcmp(w[0], "resize") && n > 2) {
		if (p->ops->resize)
			p->ops->resize(p->sink, (uint32_t)strtoul(w[1], NULL, 10),
				       (uint32_t)strtoul(w[2], NULL, 10));
		return 0;
	}
	if (!strcmp(w[0], "progress") && n > 1)
		return p->ops->progress ? p->ops->progress(p->sink, strtoull(w[1], NULL, 10), &p->e)
					: 0;
	return strcmp(w[0], "reopen") ? bad(p, w[0]) : reopen(p);
}

static int play(struct player *p, FILE *fixture)
{
	char *w[WORDS], *save, *word, *line = NULL;
	size_t room = 0;
	bool any = false;
	int n, ret = 0;

	while (ret >= 0 && getline(&line, &room, fixture) > 0) {
		if (line[0] == '#' || p->nkept == sizeof(p->kept) / sizeof(p->kept[0]))
			continue;
		word = strdup(line);
		if (!strncmp(line, "metric", 6))
			p->kept[p->nkept++] = word;
		n = 0;
		for (char *at = strtok_r(word, " \t\n", &save); at && n < WORDS - 1;
		     at = strtok_r(NULL, " \t\n", &save))
			w[n++] = at;
		w[n] = NULL;
		any |= n && !strcmp(w[0], "next");
		ret = n ? command(p, w, n) : 0;
		if (strncmp(line, "metric", 6))
			free(word);
	}
	while (!any && !ret)
		ret = next(p, false);
	free(line);
	return ret > 0 ? 0 : ret;
}

static void player_free(struct player *p)
{
	record_free(&p->r);
	frame_own_free(p->total);
	free(p->cfg.quantiles);
	for (size_t i = 0; i < p->nkept; i++)
		free(p->kept[i]);
	free(p->line);
}

int main(int argc, char **argv)
{
	struct player p = {
		.args = {.columns = 80, .cfg = &p.cfg},
		.cfg = {.interval_ns = 1000000000,
			.list_rows = 20,
			.max_keys = 10240,
			.export_schema = 3},
	};
	FILE *fixture = argc > 3 ? fopen(argv[2], "re") : NULL;
	int ret = -EINVAL, closed;

	p.ops = fixture ? sink_find(argv[1]) : NULL;
	p.in = p.ops ? fopen(argv[3], "re") : NULL;
	p.args.path = argc > 4 ? argv[4] : NULL;
	p.total = frame_own_new();
	(void)signal(SIGPIPE, SIG_IGN); /* as main does: writes tell */
	if (p.in && p.total)
		ret = parse_quantiles("50,90,99,99.9", "quantiles", &p.cfg.quantiles,
				      &p.cfg.nquantiles, &p.e);
	if (!ret)
		ret = play(&p, fixture);
	closed = p.sink ? p.ops->close(p.sink, &p.e) : 0;
	if (!ret)
		ret = closed;
	/* -EPIPE without words is the quiet end. */
	if (ret && (ret != -EPIPE || p.e.text[0]))
		(void)fprintf(stderr, "render: %s\n", p.e.text[0] ? p.e.text : strerror(-ret));
	if (p.in)
		(void)fclose(p.in);
	if (fixture)
		(void)fclose(fixture);
	player_free(&p);
	return ret == -EPIPE ? 32 : ret ? 1 : 0;
}
