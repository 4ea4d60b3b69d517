// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line's loop, its defaults and its contradictions; values are for opts_set.c. */
#include "opts.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/limit.h"
#include "core/text.h"
#include "opts_table.h"
#include "source/source.h"

#define DEFAULT_INTERVAL_NS 1000000000ULL
#define DEFAULT_ROWS 20
#define LONG_ONLY 256 /* and the row's number: what getopt calls an option that has no letter */

/* ---- all options there are ---- */

/* Some are declared by more than one source: each is a row once. */
static size_t add_rows(const struct option_row **rows, size_t n, const struct option_row *more)
{
	size_t i;

	for (; more && more->name; more++) {
		for (i = 0; i < n && strcmp(rows[i]->name, more->name); i++)
			;
		if (i == n)
			rows[n++] = more;
	}
	return n;
}

static size_t count_rows(const struct option_row *rows)
{
	size_t n = 0;

	while (rows && rows[n].name)
		n++;
	return n;
}

static const struct option_row **list_rows(void)
{
	size_t i, n = 2 + count_rows(filters_options) + count_rows(opts_table);
	const struct option_row **rows;

	for (i = 0; source_list[i]; i++)
		n += count_rows(source_list[i]->options);
	rows = calloc(n, sizeof(*rows));
	if (!rows)
		return NULL;
	rows[0] = &opts_source;
	n = add_rows(rows, 1, filters_options);
	for (i = 0; source_list[i]; i++)
		n = add_rows(rows, n, source_list[i]->options);
	add_rows(rows, n, opts_table);
	return rows;
}

/* ---- the words ---- */

void opts_getopt(const struct option_row *o, int key, struct option *to, char *shorts)
{
	const char letter[] = {o->letter, o->arg ? ':' : '\0', '\0'};

	*to = (struct option){o->name, o->arg ? required_argument : no_argument, NULL, key};
	if (o->letter)
		strcat(shorts, letter); /* there is room for two of each row */
}

/* getopt(3)'s two forms of the table. */
struct getopt_tables {
	struct option *longs;
	char *shorts;
};

static int key_of(const struct opts_run *r, size_t i)
{
	return r->rows[i]->letter ? r->rows[i]->letter : LONG_ONLY + (int)i;
}

static int make_tables(struct opts_run *r, struct getopt_tables *t)
{
	size_t n = 0;

	r->rows = list_rows();
	while (r->rows && r->rows[n])
		n++;
	r->given = calloc(n + 1, sizeof(*r->given));
	t->longs = calloc(n + 1, sizeof(*t->longs));
	t->shorts = calloc(n + 2, 2);
	if (!r->rows || !r->given || !t->longs || !t->shorts)
		return -ENOMEM;
	/* Positionals in place: otherwise those before and after "--" would mix; and a missing
	 * argument is told from an unknown option. */
	strcpy(t->shorts, "-:");
	for (size_t i = 0; i < n; i++)
		opts_getopt(r->rows[i], key_of(r, i), &t->longs[i], t->shorts);
	return 0;
}

static const struct option_row *find_key(struct opts_run *r, int key)
{
	for (size_t i = 0; r->rows[i]; i++)
		if (key_of(r, i) == key)
			return r->rows[i];
	return NULL;
}

/* How many options begin so; their names, with commas, in `names`. */
static size_t find_prefix(const struct opts_run *r, const char *text, size_t len, char *names,
			  size_t size)
{
	size_t i, at = 0, found = 0;

	names[0] = '\0';
	for (i = 0; r->rows[i]; i++) {
		const struct option_row *o = r->rows[i];
		int n;

		if (o->hidden || strncmp(o->name, text, len))
			continue;
		if (at < size) {
			n = snprintf(names + at, size - at, "%s--%s", found ? ", " : "", o->name);
			at += n > 0 ? (size_t)n : 0;
		}
		found++;
	}
	return found;
}

/* getopt said '?' to `word`; optopt is the key, where it knows one. */
static int bad_option(struct opts_run *r, const char *word)
{
	const struct option_row *o = find_key(r, optopt);
	char quoted[OPTS_QUOTE], names[256];
	const char letter[2] = {(char)optopt, '\0'};
	size_t len;

	if (o) /* known, and still refused: --follow=yes */
		return opts_bad(r, "--%s: takes no argument ('%s' was given)", o->name,
				opts_quote(quoted, word));
	if (optopt)
		return opts_bad(r, "-%s: unknown option (see waitscope --help)",
				opts_quote(quoted, letter));
	len = strcspn(word + 2, "=");
	if (find_prefix(r, word + 2, len, names, sizeof(names)) > 1)
		return opts_bad(r, "%.*s: ambiguous (one of: %s)", (int)(len + 2),
				opts_quote(quoted, word), names);
	return opts_bad(r, "%s: unknown option (see waitscope --help)", opts_quote(quoted, word));
}

static int set_option(struct opts_run *r, const struct option_row *o, const char *arg)
{
	size_t i = 0;

	if (o->arg && !*arg)
		return opts_bad(r, "--%s '': empty (expected %s)", o->name, o->arg);
	while (r->rows[i] != o)
		i++;
	r->given[i] = true;
	return opts_set(r, o, arg);
}

/* argv up to "--" or its end; *last is then the argument that the last option took, or NULL. */
static int read_options(struct opts_run *r, const struct getopt_tables *t, const char **last)
{
	int key, ret = 0;

	opterr = 0;
	optind = 0; /* start afresh: tests parse often */
	*last = NULL;
	while (!ret && !r->printed) {
		const struct option_row *o;

		key = getopt_long(r->argc, r->argv, t->shorts, t->longs, NULL);
		if (key == -1)
			break;
		*last = optarg;
		o = find_key(r, key);
		if (key == 1)
			ret = opts_set_positional(r, optarg);
		else if (key == ':')
			ret = opts_bad(r, "--%s: needs an argument (%s)", find_key(r, optopt)->name,
				       find_key(r, optopt)->arg);
		else if (o)
			ret = set_option(r, o, optarg);
		else
			ret = bad_option(r, r->argv[optind - 1]);
	}
	return ret;
}

/* What follows "--". In `--comm --` the two dashes are an argument, and nothing follows. */
static int read_command(struct opts_run *r, const char *last)
{
	bool quoted =
		optind > 1 && !strcmp(r->argv[optind - 1], "--") && r->argv[optind - 1] != last;

	if (optind < r->argc)
		r->cfg->command = r->argv + optind;
	else if (quoted)
		return opts_bad(r, "--: no command follows (expected -- COMMAND [ARG...])");
	if (r->cfg->command && !*r->cfg->command[0])
		return opts_bad(r, "-- '': not a command (expected -- COMMAND [ARG...])");
	return 0;
}

static int check_interval(struct opts_run *r)
{
	char a[OPTS_QUOTE], b[OPTS_QUOTE];
	uint64_t ns;
	int ret;

	if (!r->interval_arg)
		return 0;
	ret = parse_time_ns(r->interval_arg, DEFAULT_INTERVAL_NS, "INTERVAL", &ns, r->e);
	if (ret)
		return ret;
	if (r->interval && ns != r->cfg->interval_ns)
		return opts_bad(r, "--interval '%s': contradicts INTERVAL '%s' (give one of them)",
				opts_quote(a, r->interval), opts_quote(b, r->interval_arg));
	r->cfg->interval_ns = ns;
	return 0;
}

static int check_targets(struct opts_run *r)
{
	struct filter *f = &r->cfg->filter;
	bool running = f->pids.n || f->tids.n;
	bool said = opts_given(r, "follow") || opts_given(r, "no-follow");

	if (f->pids.n && f->tids.n)
		return opts_bad(
			r, "--tid: contradicts --pid (a thread of that process, or all of them?)");
	if (running && r->cfg->command)
		return opts_bad(r,
				"--%s: contradicts COMMAND (trace what runs, or start something?)",
				f->pids.n ? "pid" : "tid");
	if (said && !running && !r->cfg->command)
		return opts_bad(r, "--%s: nobody to follow (it goes with --pid, --tid or COMMAND)",
				f->follow ? "follow" : "no-follow");
	if (!said)
		f->follow = r->cfg->command != NULL;
	return 0;
}

static void fill_numbers(struct opts_run *r)
{
	for (size_t i = 0; r->rows[i]; i++) {
		const struct option_row *o = r->rows[i];
		void *to = (char *)r->cfg + o->at;

		if (r->given[i])
			continue;
		if (o->type == OPTION_U32)
			*(uint32_t *)to = (uint32_t)o->value;
		else if (o->type == OPTION_U64)
			*(uint64_t *)to = (uint64_t)o->value;
	}
}

static int fill_defaults(struct opts_run *r)
{
	struct config *cfg = r->cfg;
	bool groups = cfg->by != BY_NONE && cfg->by != BY_CPU;
	int ret = 0;

	if (!cfg->interval_ns)
		cfg->interval_ns = DEFAULT_INTERVAL_NS;
	fill_numbers(r);
	cfg->max_keys_given = opts_given(r, "max-keys");
	cfg->list_rows = opts_given(r, "rows") ? cfg->rows : DEFAULT_ROWS;
	if (!opts_given(r, "rows"))
		cfg->rows = groups ? DEFAULT_ROWS : 0;
	if (!cfg->quantiles)
		ret = parse_quantiles("50,90,99,99.9", "--percentiles", &cfg->quantiles,
				      &cfg->nquantiles, r->e);
	if (!ret && !cfg->noutputs && !cfg->listen)
		ret = opts_set_output(r, NULL, "table");
	return ret;
}

static int finish(struct opts_run *r)
{
	int ret;

	ret = check_interval(r);
	if (ret)
		return ret;
	ret = check_targets(r);
	if (ret)
		return ret;
	ret = opts_settle_sources(r);
	if (!ret)
		ret = opts_check_scopes(r);
	if (ret)
		return ret;
	if (r->cfg->bisect && !r->cfg->limits.n)
		return opts_bad(r, "--bisect: nothing to decide by (it goes with --fail-if)");
	if (r->cfg->listen && r->cfg->command && !strcmp(r->cfg->listen, "systemd"))
		return opts_bad(
			r,
			"--listen systemd: contradicts COMMAND (its sockets would be COMMAND's too)");
	if (r->cfg->quiet && r->cfg->verbose)
		return opts_bad(r, "--quiet: contradicts --verbose (choose one)");
	return fill_defaults(r);
}

bool opts_mean_bisect(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (strlen(argv[i]) > 3 && !strncmp("--bisect", argv[i], strlen(argv[i])))
			return true;
	return false;
}

int opts_parse(struct config *cfg, FILE *out, int argc, char **argv, enum opts_action *action,
	       struct err *e)
{
	struct opts_run r = {.cfg = cfg, .out = out, .e = e, .argc = argc, .argv = argv};
	struct getopt_tables t = {0};
	const char *last;
	int ret;

	memset(cfg, 0, sizeof(*cfg));
	cfg->confirm = CONFIRM_UNSAID;
	*action = OPTS_RUN;

	ret = make_tables(&r, &t);
	if (ret) {
		err_sys(e, ret, "command line");
		goto free_tables;
	}
	ret = read_options(&r, &t, &last);
	if (ret || r.printed)
		goto free_tables;
	ret = read_command(&r, last);
	if (!ret)
		ret = finish(&r);

free_tables:
	if (ret)
		cfg->bisect = opts_mean_bisect(argc, argv);
	if (r.printed)
		*action = OPTS_EXIT;
	free(t.longs);
	free(t.shorts);
	free(r.rows);
	free(r.given);
	return ret;
}

void config_free(struct config *cfg)
{
	for (size_t i = 0; i < cfg->noutputs; i++) {
		free(cfg->outputs[i].format);
		free(cfg->outputs[i].path);
	}
	free(cfg->outputs);
	limit_list_free(&cfg->limits);
	free(cfg->quantiles);
	str_list_free(&cfg->sources);
	for (size_t i = 0; i < ABI_FILTERS; i++)
		str_list_free(&cfg->filter.late[i]);
	str_list_free(&cfg->filter.devs);
	str_list_free(&cfg->watches);
	str_list_free(&cfg->functions);
	free(cfg->filter.pids.v);
	free(cfg->filter.tids.v);
	free(cfg->btf);
	free(cfg->listen);
	memset(cfg, 0, sizeof(*cfg));
}
