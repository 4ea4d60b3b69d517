// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line's loop, its defaults and its contradictions. Values are opts_set.c's business.
 */
#include "opts.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "opts_table.h"

#define DEFAULT_INTERVAL_NS 1000000000ULL
#define DEFAULT_ROWS 20
#define DEFAULT_FREQ 997      /* a prime: not in step with the kernel's own ticks */
#define DEFAULT_CONFIRM 10000 /* a fifth of a second of trapping in a virtual machine */
#define DEFAULT_MAX_KEYS 10240
#define DEFAULT_PERCENTILES "50,90,99,99.9"
#define DEFAULT_FORMAT "table"

/* getopt(3)'s two forms of the table. */
struct getopt_tables {
	struct option *longs;
	char *shorts;
};

static int make_tables(struct getopt_tables *t)
{
	char *s;
	size_t i;

	t->longs = calloc(opts_count + 1, sizeof(*t->longs));
	t->shorts = calloc(opts_count + 2, 2);
	if (!t->longs || !t->shorts)
		return -ENOMEM;
	s = t->shorts;
	*s++ = '-'; /* positionals in place: otherwise those before and after "--" would mix */
	*s++ = ':'; /* tell a missing argument from an unknown option */
	for (i = 0; i < opts_count; i++) {
		const struct opts_entry *o = &opts_table[i];

		t->longs[i].name = o->name;
		t->longs[i].has_arg = o->arg ? required_argument : no_argument;
		t->longs[i].val = o->key;
		if (o->key >= OPTS_LONG)
			continue;
		*s++ = (char)o->key;
		if (o->arg)
			*s++ = ':';
	}
	return 0;
}

static const struct opts_entry *find_key(int key)
{
	size_t i;

	for (i = 0; i < opts_count; i++)
		if (opts_table[i].key == key)
			return &opts_table[i];
	return NULL;
}

/* How many options begin so; their names, with commas, in `names`. */
static size_t find_prefix(const char *text, size_t len, char *names, size_t size)
{
	size_t i, at = 0, found = 0;

	names[0] = '\0';
	for (i = 0; i < opts_count; i++) {
		int n;

		if (opts_table[i].hidden || strncmp(opts_table[i].name, text, len))
			continue;
		if (at < size) {
			n = snprintf(names + at, size - at, "%s--%s", found ? ", " : "",
				     opts_table[i].name);
			at += n > 0 ? (size_t)n : 0;
		}
		found++;
	}
	return found;
}

/* getopt said '?' to `word`; optopt is the key, where it knows one. */
static int bad_option(struct opts_run *r, const char *word)
{
	const struct opts_entry *o = find_key(optopt);
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
	if (find_prefix(word + 2, len, names, sizeof(names)) > 1)
		return opts_bad(r, "%.*s: ambiguous (one of: %s)", (int)(len + 2),
				opts_quote(quoted, word), names);
	return opts_bad(r, "%s: unknown option (see waitscope --help)", opts_quote(quoted, word));
}

static int set_option(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	if (o->arg && !*arg)
		return opts_bad(r, "--%s '': empty (expected %s)", o->name, o->arg);
	return o->set(r, o, arg);
}

/* argv up to "--" or its end; *last is then the argument that the last option took, or NULL. */
static int read_options(struct opts_run *r, const struct getopt_tables *t, const char **last)
{
	int key, ret = 0;

	opterr = 0;
	optind = 0; /* start afresh: tests parse often */
	*last = NULL;
	while (!ret && !r->printed) {
		const struct opts_entry *o;

		key = getopt_long(r->argc, r->argv, t->shorts, t->longs, NULL);
		if (key == -1)
			break;
		*last = optarg;
		o = find_key(key);
		if (key == 1)
			ret = opts_set_positional(r, optarg);
		else if (key == ':')
			ret = opts_bad(r, "--%s: needs an argument (%s)", find_key(optopt)->name,
				       find_key(optopt)->arg);
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

	if (f->pids.n && f->tids.n)
		return opts_bad(
			r, "--tid: contradicts --pid (a thread of that process, or all of them?)");
	if (running && r->cfg->command)
		return opts_bad(r,
				"--%s: contradicts COMMAND (trace what runs, or start something?)",
				f->pids.n ? "pid" : "tid");
	if (r->follow >= 0 && !running && !r->cfg->command)
		return opts_bad(r, "--%s: nobody to follow (it goes with --pid, --tid or COMMAND)",
				r->follow ? "follow" : "no-follow");
	f->follow = r->follow >= 0 ? r->follow : r->cfg->command != NULL;
	return 0;
}

#define SCOPE_SOURCES 4

/* Options that mean something to these sources only; made-up data takes them all. */
struct opts_scope {
	const char *option;
	const char *sources[SCOPE_SOURCES]; /* fewer: NULL */
	bool (*given)(const struct config *cfg);
	const char *why; /* to others, if that is no matter of course */
	bool no_default; /* none of the default sources is one of these */
};

static bool given_es_time(const struct config *cfg)
{
	return cfg->es_time;
}

static bool given_by_file(const struct config *cfg)
{
	return cfg->by == BY_FILE;
}

static bool given_by(const struct config *cfg)
{
	return cfg->by != BY_NONE;
}

static bool given_stack_every(const struct config *cfg)
{
	return cfg->stack_every;
}

static bool given_slower(const struct config *cfg)
{
	return cfg->slower;
}

static bool given_freq(const struct config *cfg)
{
	return cfg->freq != DEFAULT_FREQ;
}

static bool given_line_source(const struct config *cfg)
{
	return cfg->line_by != LINE_BY_AUTO;
}

static const struct opts_scope scopes[] = {
	{"es-time", {"ext4"}, given_es_time},
	{"by file", {"ext4"}, given_by_file},
	{"by", {"sched", "ext4", "lock", "futex"}, given_by, ", whose rows name their threads"},
	{"stack-every", {"lock", "futex"}, given_stack_every},
	{"slower", {"sched", "ext4"}, given_slower},
	{"freq", {"line"}, given_freq, .no_default = true},
	{"line-source", {"line"}, given_line_source, .no_default = true},
};

static bool source_named(const struct opts_run *r, const char *name)
{
	const struct str_list *named = &r->cfg->sources;
	size_t i;

	for (i = 0; i < named->n; i++)
		if (!strcmp(named->v[i], name))
			return true;
	return false;
}

static bool in_scope(const struct opts_run *r, const struct opts_scope *s)
{
	size_t i;

	if (!r->cfg->sources.n) /* the default ones run */
		return !s->no_default;
	for (i = 0; i < SCOPE_SOURCES && s->sources[i]; i++)
		if (source_named(r, s->sources[i]))
			return true;
	return source_named(r, "synth");
}

/* "sched, ext4 or lock" */
static const char *scope_text(const struct opts_scope *s, char *out, size_t len)
{
	size_t i, at = 0;

	for (i = 0; i < SCOPE_SOURCES && s->sources[i] && at < len; i++) {
		bool last = i + 1 == SCOPE_SOURCES || !s->sources[i + 1];

		at += (size_t)snprintf(out + at, len - at, "%s%s", /* fits: short names */
				       !i     ? ""
				       : last ? " or "
					      : ", ",
				       s->sources[i]);
	}
	return out;
}

static int check_scopes(struct opts_run *r)
{
	char names[64];
	size_t i;

	for (i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		const struct opts_scope *s = &scopes[i];

		if (s->given(r->cfg) && !in_scope(r, s))
			return opts_bad(
				r,
				"--%s: means nothing to these sources%s (expected %s in --source)",
				s->option, s->why ? s->why : "",
				scope_text(s, names, sizeof(names)));
	}
	return 0;
}

/* --watch runs its source, which is nothing without it. */
static int check_watches(struct opts_run *r)
{
	struct config *cfg = r->cfg;
	bool named = source_named(r, "watch"), line = source_named(r, "line");

	if (named && !cfg->watches.n && !cfg->check)
		return opts_bad(r, "--source 'watch': watches nothing (give --watch ADDR|SYMBOL)");
	if (r->confirm_given && !cfg->watches.n && !line)
		return opts_bad(
			r, "--confirm: nothing to confirm (it goes with --watch or --source line)");
	cfg->confirm_lines = r->confirm_given && !cfg->watches.n;
	if (named || !cfg->watches.n)
		return 0;
	return opts_add_source(r, "watch");
}

static int fill_defaults(struct opts_run *r)
{
	struct config *cfg = r->cfg;
	bool groups = cfg->by != BY_NONE && cfg->by != BY_CPU;
	int ret = 0;

	if (!cfg->interval_ns)
		cfg->interval_ns = DEFAULT_INTERVAL_NS;
	if (!r->rows_given)
		cfg->rows = groups ? DEFAULT_ROWS : 0;
	cfg->list_rows = r->rows_given ? cfg->rows : DEFAULT_ROWS;
	if (!cfg->quantiles)
		ret = parse_quantiles(DEFAULT_PERCENTILES, "--percentiles", &cfg->quantiles,
				      &cfg->nquantiles, r->e);
	if (!ret && !cfg->noutputs)
		ret = opts_set_output(r, NULL, DEFAULT_FORMAT);
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
	ret = check_watches(r);
	if (!ret)
		ret = check_scopes(r);
	if (ret)
		return ret;
	if (r->cfg->quiet && r->cfg->verbose)
		return opts_bad(r, "--quiet: contradicts --verbose (choose one)");
	return fill_defaults(r);
}

int opts_parse(struct config *cfg, const struct opts_env *env, int argc, char **argv,
	       enum opts_action *action, struct err *e)
{
	struct opts_run r = {
		.cfg = cfg, .env = env, .e = e, .argc = argc, .argv = argv, .follow = -1};
	struct getopt_tables t = {0};
	const char *last;
	int ret;

	memset(cfg, 0, sizeof(*cfg));
	cfg->precision = BUCKET_SCHEMA_DEFAULT;
	cfg->max_keys = DEFAULT_MAX_KEYS;
	cfg->freq = DEFAULT_FREQ;
	cfg->confirm = DEFAULT_CONFIRM;
	*action = OPTS_RUN;

	ret = make_tables(&t);
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
	if (r.printed)
		*action = OPTS_EXIT;
	free(t.longs);
	free(t.shorts);
	return ret;
}

static void free_strings(struct str_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

void config_free(struct config *cfg)
{
	size_t i;

	for (i = 0; i < cfg->noutputs; i++) {
		free(cfg->outputs[i].format);
		free(cfg->outputs[i].path);
	}
	free(cfg->outputs);
	free(cfg->quantiles);
	free_strings(&cfg->sources);
	free_strings(&cfg->filter.cgroups);
	free_strings(&cfg->filter.devs);
	free_strings(&cfg->watches);
	free(cfg->filter.pids.v);
	free(cfg->filter.tids.v);
	free(cfg->btf);
	free(cfg->filter.comm);
	free(cfg->filter.cpus.bits);
	free(cfg->filter.cpus_text);
	memset(cfg, 0, sizeof(*cfg));
}
