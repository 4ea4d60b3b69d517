// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes an option's text apart, checks it, and writes struct config. */
#include "opts_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/limit.h"
#include "core/text.h"
#include "sink/sink.h"
#include "source/source.h"

#define SEC_NS 1000000000ULL
#define TIME_MAX_NS (366 * 86400 * SEC_NS)
#define PID_LAST 4194304 /* the kernel's PID_MAX_LIMIT */

const char *opts_quote(char out[OPTS_QUOTE], const char *text)
{
	return text_clean(out, OPTS_QUOTE, text, SIZE_MAX);
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

static void *member(struct opts_run *r, const struct option_row *o)
{
	return (char *)r->cfg + o->at;
}

/*
 * "a, b, c" for messages: one name after the other, "" at first; cut short where it does not fit.
 */
static void join(char *out, size_t size, const char *name)
{
	size_t at = strlen(out);

	(void)snprintf(out + at, size - at, "%s%s", at ? ", " : "", name);
}

#define KNOWN 128

static const char *known_sources(char out[KNOWN])
{
	*out = '\0';
	for (size_t i = 0; source_list[i]; i++)
		join(out, KNOWN, source_list[i]->name);
	return out;
}

static int set_source(struct opts_run *r, const char *item, size_t len)
{
	char quoted[OPTS_QUOTE], known[KNOWN], name[OPTS_QUOTE];

	(void)snprintf(name, sizeof(name), "%.*s", (int)len, item); /* cut: no source's name */
	if (!source_find(name))
		return opts_bad(r, "--source '%s': not a source (one of: %s)",
				text_clean(quoted, sizeof(quoted), item, len),
				known_sources(known));
	for (size_t i = 0; i < r->cfg->sources.n; i++)
		if (!strcmp(r->cfg->sources.v[i], name))
			return 0; /* named twice is named */
	return opts_add_source(r, name);
}

int opts_add_source(struct opts_run *r, const char *name)
{
	return str_list_push(&r->cfg->sources, strdup(name)) ? no_memory(r) : 0;
}

int opts_set_source(struct opts_run *r, const struct option_row *o, const char *arg)
{
	const char *item = arg;
	char quoted[OPTS_QUOTE], known[KNOWN];
	int ret;

	for (;;) {
		size_t len = strcspn(item, ",");

		if (!len)
			return opts_bad(
				r,
				"--source '%s': has an empty item (expected names with commas between them, of: %s)",
				opts_quote(quoted, arg), known_sources(known));
		ret = set_source(r, item, len);
		if (ret || !item[len])
			return ret;
		item += len + 1;
	}
}

/* ---- by type ---- */

static int set_ids(struct opts_run *r, const char *name, struct u32_list *list, const char *arg)
{
	size_t i = list->n;
	char quoted[OPTS_QUOTE];
	int ret = parse_u32_list(arg, name, list, r->e);

	if (ret)
		return ret;
	for (; i < list->n; i++)
		if (!list->v[i] || list->v[i] > PID_LAST)
			return opts_bad(r, "%s '%s': out of range (expected 1 to %d)", name,
					opts_quote(quoted, arg), PID_LAST);
	return 0;
}

static int set_word(struct opts_run *r, const struct option_row *o, const char *arg)
{
	const struct option_word *w;
	char quoted[OPTS_QUOTE], known[KNOWN] = "";

	for (w = o->words; w->word; w++) {
		join(known, sizeof(known), w->word);
		if (!strcmp(w->word, arg)) {
			*(int *)member(r, o) = w->value;
			return 0;
		}
	}
	return opts_bad(r, "--%s '%s': not known (one of: %s)", o->name, opts_quote(quoted, arg),
			known);
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

int opts_set(struct opts_run *r, const struct option_row *o, const char *arg)
{
	struct str_list *texts;
	char name[32];
	int ret = o->check ? o->check(arg, r->e) : 0;

	if (ret)
		return ret;
	(void)snprintf(name, sizeof(name), "--%s", o->name); /* fits: names in tables are short */
	switch (o->type) {
	case OPTION_OWN:
		break;
	case OPTION_FLAG:
		*(bool *)member(r, o) = o->value;
		return 0;
	case OPTION_U32:
		return parse_u32(arg, (uint32_t)o->min, (uint32_t)o->max, name, member(r, o), r->e);
	case OPTION_U64:
		return parse_u64(arg, o->min, o->max, name, member(r, o), r->e);
	case OPTION_TIME:
		return set_time(r, name, arg, o->min, member(r, o));
	case OPTION_WORD:
		return set_word(r, o, arg);
	case OPTION_TEXT:
		return replace_text(r, member(r, o), arg);
	case OPTION_TEXTS:
		texts = member(r, o);
		if (texts->n && !o->repeat)
			return replace_text(r, &texts->v[0], arg);
		return str_list_push(texts, strdup(arg)) ? no_memory(r) : 0;
	case OPTION_IDS:
		return set_ids(r, name, member(r, o), arg);
	}
	return o->set(r, o, arg);
}

/* ---- those whose type does not say enough ---- */

int opts_set_percentiles(struct opts_run *r, const struct option_row *o, const char *arg)
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

int opts_set_unit(struct opts_run *r, const struct option_row *o, const char *arg)
{
	if (r->unit_from && strcmp(r->unit_from, o->name))
		return opts_bad(r, "--%s: contradicts --%s (a table has one unit)", o->name,
				r->unit_from);
	r->unit_from = o->name;
	r->cfg->unit = o->value;
	return 0;
}

int opts_set_interval(struct opts_run *r, const struct option_row *o, const char *arg)
{
	r->interval = arg;
	return set_time(r, "--interval", arg, OPTS_TIME_MIN_NS, &r->cfg->interval_ns);
}

int opts_set_limit(struct opts_run *r, const struct option_row *o, const char *arg)
{
	return limit_list_add(&r->cfg->limits, arg, false, r->e);
}

/* Peers disagree on what a bare number is here (us, ms): so none is taken, but 0. */
int opts_set_slower(struct opts_run *r, const struct option_row *o, const char *arg)
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

	for (size_t i = 0; i < r->cfg->noutputs; i++) {
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
int opts_set_output(struct opts_run *r, const struct option_row *o, const char *arg)
{
	size_t i, len = strcspn(arg, ":");
	const char *path = arg[len] ? arg + len + 1 : NULL, *format = NULL;
	char quoted[OPTS_QUOTE], known[KNOWN] = "";

	for (i = 0; sink_list[i]; i++) {
		const char *name = sink_list[i]->name;

		join(known, sizeof(known), name);
		if (strlen(name) == len && !strncmp(name, arg, len))
			format = name;
	}
	if (!format)
		return opts_bad(r, "--output '%s': not a format (one of: %s)",
				text_clean(quoted, sizeof(quoted), arg, len), known);
	if (path && !*path)
		return opts_bad(r,
				"--output '%s': no file after the colon (expected %s or %s:FILE)",
				opts_quote(quoted, arg), format, format);
	if (path && !strcmp(path, "-"))
		path = NULL;
	return add_output(r, format, path);
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
	return set_time(r, "INTERVAL", arg, OPTS_TIME_MIN_NS, &ns);
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
