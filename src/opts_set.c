// SPDX-License-Identifier: GPL-2.0-or-later
/* One setter an option: takes its text apart, checks it, and writes struct config. */
#include "opts_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define SEC_NS 1000000000ULL
#define TIME_MIN_NS (10 * 1000 * 1000ULL) /* a report costs about a millisecond: far above that */
#define TIME_MAX_NS (366 * 86400 * SEC_NS)
#define ROWS_MAX 1000000
#define MAX_KEYS_MIN 16
#define MAX_KEYS_MAX 1048576
#define FREQ_MIN 10
#define FREQ_MAX 20000
#define CONFIRM_MAX 1000000 /* at 20 us each: 20 s of trapping */
#define STACK_EVERY_MAX 1000000000
#define PID_LAST 4194304 /* the kernel's PID_MAX_LIMIT */
#define COMM_BYTES 15	 /* TASK_COMM_LEN without its NUL */

const char *opts_quote(char out[OPTS_QUOTE], const char *text)
{
	return text_clean(out, OPTS_QUOTE, text, SIZE_MAX);
}

/* "--name", as messages call it. */
static const char *long_name(char out[32], const struct opts_entry *o)
{
	(void)snprintf(out, 32, "--%s", o->name); /* names in the table are short */
	return out;
}

static int no_memory(struct opts_run *r)
{
	return err_sys(r->e, -ENOMEM, "command line");
}

static int replace_text(struct opts_run *r, char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return no_memory(r);
	free(*to);
	*to = copy;
	return 0;
}

static int list_add(struct opts_run *r, struct str_list *l, const char *text, size_t len)
{
	char **v = realloc(l->v, (l->n + 1) * sizeof(*v));

	if (!v)
		return no_memory(r);
	l->v = v;
	v[l->n] = strndup(text, len);
	if (!v[l->n])
		return no_memory(r);
	l->n++;
	return 0;
}

/* "a, b, c" for messages; cut short where it does not fit. */
static const char *join_names(char *out, size_t len, const struct opts_name *names)
{
	size_t at = 0;

	out[0] = '\0';
	for (; names->name && at < len; names++) {
		int n = snprintf(out + at, len - at, "%s%s", at ? ", " : "", names->name);

		at += n > 0 ? (size_t)n : 0;
	}
	return out;
}

static const struct opts_name *find_name(const struct opts_name *names, const char *text,
					 size_t len)
{
	for (; names->name; names++)
		if (strlen(names->name) == len && !strncmp(names->name, text, len))
			return names;
	return NULL;
}

static int set_source(struct opts_run *r, const char *item, size_t len)
{
	char quoted[OPTS_QUOTE], known[128];
	size_t i;

	if (!find_name(r->env->sources, item, len))
		return opts_bad(r, "--source '%s': not a source (one of: %s)",
				text_clean(quoted, sizeof(quoted), item, len),
				join_names(known, sizeof(known), r->env->sources));
	for (i = 0; i < r->cfg->sources.n; i++)
		if (strlen(r->cfg->sources.v[i]) == len &&
		    !strncmp(r->cfg->sources.v[i], item, len))
			return 0; /* named twice is named */
	return list_add(r, &r->cfg->sources, item, len);
}

int opts_add_source(struct opts_run *r, const char *name)
{
	return list_add(r, &r->cfg->sources, name, strlen(name));
}

int opts_set_source(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	const char *item = arg;
	char quoted[OPTS_QUOTE], known[128];
	int ret;

	for (;;) {
		size_t len = strcspn(item, ",");

		if (!len)
			return opts_bad(
				r,
				"--source '%s': has an empty item (expected names with commas between them, of: %s)",
				opts_quote(quoted, arg),
				join_names(known, sizeof(known), r->env->sources));
		ret = set_source(r, item, len);
		if (ret || !item[len])
			return ret;
		item += len + 1;
	}
}

/* --pid, --tid */
int opts_set_ids(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	struct u32_list *list = o->kind == OPTS_PIDS ? &r->cfg->filter.pids : &r->cfg->filter.tids;
	size_t i = list->n;
	char quoted[OPTS_QUOTE], name[32];
	int ret;

	ret = parse_u32_list(arg, long_name(name, o), list, r->e);
	if (ret)
		return ret;
	for (; i < list->n; i++)
		if (!list->v[i] || list->v[i] > PID_LAST)
			return opts_bad(r, "%s '%s': out of range (expected 1 to %d)", name,
					opts_quote(quoted, arg), PID_LAST);
	return 0;
}

int opts_set_cgroup(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return list_add(r, &r->cfg->filter.cgroups, arg, strlen(arg));
}

/* What it is a source finds out: devices come and go. */
int opts_set_dev(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return list_add(r, &r->cfg->filter.devs, arg, strlen(arg));
}

int opts_set_comm(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	char quoted[OPTS_QUOTE], cut[COMM_BYTES + 1];

	if (!strpbrk(arg, "*?[\\") && strlen(arg) > COMM_BYTES)
		return opts_bad(
			r,
			"--comm '%s': no task can match: the kernel keeps %d bytes of a name (try '%s*')",
			opts_quote(quoted, arg), COMM_BYTES,
			text_clean(cut, sizeof(cut), arg, SIZE_MAX)); /* splits no character */
	return replace_text(r, &r->cfg->filter.comm, arg);
}

int opts_set_btf(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return replace_text(r, &r->cfg->btf, arg);
}

int opts_set_cpu(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	struct cpu_set cpus = {0};
	int ret;

	ret = parse_cpu_list(arg, "--cpu", &cpus, r->e);
	if (ret) {
		free(cpus.bits);
		return ret;
	}
	free(r->cfg->filter.cpus.bits);
	r->cfg->filter.cpus = cpus;
	return replace_text(r, &r->cfg->filter.cpus_text, arg);
}

int opts_set_follow(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	r->follow = o->value;
	return 0;
}

static int set_word(struct opts_run *r, const struct opts_entry *o, const char *arg, int *out)
{
	const struct opts_word *w;
	char quoted[OPTS_QUOTE], known[128] = "";
	size_t at = 0;

	for (w = o->words; w->word; w++)
		if (!strcmp(w->word, arg)) {
			*out = w->value;
			return 0;
		}
	for (w = o->words; w->word && at < sizeof(known); w++) {
		int n = snprintf(known + at, sizeof(known) - at, "%s%s", at ? ", " : "", w->word);

		at += n > 0 ? (size_t)n : 0;
	}
	return opts_bad(r, "--%s '%s': not known (one of: %s)", o->name, opts_quote(quoted, arg),
			known);
}

int opts_set_by(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	int v = 0, ret = set_word(r, o, arg, &v);

	if (!ret)
		r->cfg->by = v;
	return ret;
}

int opts_set_sort(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	int v = 0, ret = set_word(r, o, arg, &v);

	if (!ret)
		r->cfg->sort = v;
	return ret;
}

int opts_set_color(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	int v = 0, ret = set_word(r, o, arg, &v);

	if (!ret)
		r->cfg->color = v;
	return ret;
}

int opts_set_line_source(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	int v = 0, ret = set_word(r, o, arg, &v);

	if (!ret)
		r->cfg->line_by = v;
	return ret;
}

int opts_set_rows(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	r->rows_given = true;
	return parse_u32(arg, 0, ROWS_MAX, "--rows", &r->cfg->rows, r->e);
}

int opts_set_percentiles(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	struct quantile *q = NULL;
	size_t n = 0;
	int ret;

	ret = parse_quantiles(arg, "--percentiles", &q, &n, r->e);
	if (ret) {
		free(q);
		return ret;
	}
	free(r->cfg->quantiles);
	r->cfg->quantiles = q;
	r->cfg->nquantiles = n;
	return 0;
}

int opts_set_unit(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	if (r->unit_from && strcmp(r->unit_from, o->name))
		return opts_bad(r, "--%s: contradicts --%s (a table has one unit)", o->name,
				r->unit_from);
	r->unit_from = o->name;
	r->cfg->unit = o->value;
	return 0;
}

int opts_set_precision(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return parse_u32(arg, BUCKET_SCHEMA_MIN, BUCKET_SCHEMA_MAX, "--precision",
			 &r->cfg->precision, r->e);
}

int opts_set_max_keys(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	r->cfg->max_keys_given = true;
	return parse_u32(arg, MAX_KEYS_MIN, MAX_KEYS_MAX, "--max-keys", &r->cfg->max_keys, r->e);
}

int opts_set_stack_every(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return parse_u32(arg, 0, STACK_EVERY_MAX, "--stack-every", &r->cfg->stack_every, r->e);
}

int opts_set_freq(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return parse_u32(arg, FREQ_MIN, FREQ_MAX, "--freq", &r->cfg->freq, r->e);
}

/* What it means the source finds out: of symbols, and of what is mapped. */
int opts_set_watch(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return list_add(r, &r->cfg->watches, arg, strlen(arg));
}

int opts_set_confirm(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	r->confirm_given = true;
	return parse_u64(arg, 1, CONFIRM_MAX, "--confirm", &r->cfg->confirm, r->e);
}

/* A time in seconds unless it names its unit, at least min_ns. */
static int set_time(struct opts_run *r, const char *what, const char *arg, uint64_t min_ns,
		    uint64_t *out)
{
	char quoted[OPTS_QUOTE];
	int ret;

	ret = parse_time_ns(arg, SEC_NS, what, out, r->e);
	if (ret)
		return ret;
	if (*out < min_ns)
		return opts_bad(r, "%s '%s': too short (expected at least 10ms)", what,
				opts_quote(quoted, arg));
	if (*out > TIME_MAX_NS)
		return opts_bad(r, "%s '%s': too long (expected at most 8784h, a year)", what,
				opts_quote(quoted, arg));
	return 0;
}

int opts_set_interval(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	r->interval = arg;
	return set_time(r, "--interval", arg, TIME_MIN_NS, &r->cfg->interval_ns);
}

int opts_set_duration(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return set_time(r, "--duration", arg, TIME_MIN_NS, &r->cfg->duration_ns);
}

int opts_set_warmup(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	return set_time(r, "--warm-up", arg, 0, &r->cfg->warmup_ns);
}

/* Peers disagree on what a bare number is here (us, ms): so none is taken, but 0. */
int opts_set_slower(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	char quoted[OPTS_QUOTE];
	uint64_t ns;
	int ret;

	ret = parse_time_ns(arg, 1, "--slower", &ns, r->e);
	if (ret)
		return ret;
	if (ns && isdigit((unsigned char)arg[strlen(arg) - 1]))
		return opts_bad(
			r,
			"--slower '%s': has no unit (expected 0, or a time such as %sus or %sms)",
			opts_quote(quoted, arg), quoted, quoted);
	if (ns > TIME_MAX_NS)
		return opts_bad(r, "--slower '%s': too long (expected at most 8784h, a year)",
				opts_quote(quoted, arg));
	r->cfg->slower = true;
	r->cfg->slower_ns = ns;
	return 0;
}

/* An output may share its place with no other; `o` is not in the list yet. */
static int check_output(struct opts_run *r, const struct output *o)
{
	char quoted[OPTS_QUOTE];
	size_t i;

	for (i = 0; i < r->cfg->noutputs; i++) {
		const struct output *other = &r->cfg->outputs[i];

		if (!o->path && !other->path)
			return opts_bad(
				r,
				"--output: both %s and %s would go to stdout (give one a file: %s:FILE)",
				other->format, o->format, o->format);
		if (o->path && other->path && !strcmp(o->path, other->path))
			return opts_bad(
				r,
				"--output: both %s and %s would go to '%s' (give each its own file)",
				other->format, o->format, opts_quote(quoted, o->path));
	}
	return 0;
}

static int add_output(struct opts_run *r, const char *format, const char *path)
{
	struct config *cfg = r->cfg;
	struct output *v, o;
	int ret;

	o.format = strdup(format);
	o.path = path ? strdup(path) : NULL;
	ret = o.format && (o.path || !path) ? check_output(r, &o) : no_memory(r);
	if (ret)
		goto free_output;
	v = realloc(cfg->outputs, (cfg->noutputs + 1) * sizeof(*v));
	if (!v) {
		ret = no_memory(r);
		goto free_output;
	}
	cfg->outputs = v;
	v[cfg->noutputs++] = o;
	return 0;

free_output:
	free(o.format);
	free(o.path);
	return ret;
}

/* "json", "json:FILE"; "json:-" is stdout, as usual. */
int opts_set_output(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	size_t len = strcspn(arg, ":");
	const char *path = arg[len] ? arg + len + 1 : NULL;
	const struct opts_name *format = find_name(r->env->formats, arg, len);
	char quoted[OPTS_QUOTE], known[128];

	if (!format)
		return opts_bad(r, "--output '%s': not a format (one of: %s)",
				text_clean(quoted, sizeof(quoted), arg, len),
				join_names(known, sizeof(known), r->env->formats));
	if (path && !*path)
		return opts_bad(r,
				"--output '%s': no file after the colon (expected %s or %s:FILE)",
				opts_quote(quoted, arg), format->name, format->name);
	if (path && !strcmp(path, "-"))
		path = NULL;
	return add_output(r, format->name, path);
}

/* Options that only switch something on: value is where in struct config. */
int opts_set_flag(struct opts_run *r, const struct opts_entry *o, const char *arg)
{
	*(bool *)((char *)r->cfg + o->value) = true;
	return 0;
}

static int set_interval_arg(struct opts_run *r, const char *arg)
{
	char quoted[OPTS_QUOTE];
	uint64_t ns;

	if (!isdigit((unsigned char)*arg) && *arg != '.')
		return opts_bad(
			r, "'%s': neither an option nor an INTERVAL (a command comes after --)",
			opts_quote(quoted, arg));
	r->interval_arg = arg;
	return set_time(r, "INTERVAL", arg, TIME_MIN_NS, &ns);
}

/* INTERVAL, COUNT, and no third: what is to be run comes after "--". */
int opts_set_positional(struct opts_run *r, const char *arg)
{
	char quoted[OPTS_QUOTE];

	if (!r->interval_arg)
		return set_interval_arg(r, arg);
	if (!r->count_arg) {
		r->count_arg = arg;
		return parse_u64(arg, 1, UINT64_MAX, "COUNT", &r->cfg->count, r->e);
	}
	return opts_bad(
		r,
		"'%s': one argument too many after INTERVAL and COUNT (a command comes after --)",
		opts_quote(quoted, arg));
}
