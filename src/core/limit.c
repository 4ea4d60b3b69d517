// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/limit.h"
#include "core/text.h"

#define QUOTED 128
#define WORDS_LEN 400
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_"
#define DIGITS "0123456789"

static const char *const op_texts[] = {
	[LIMIT_ABOVE] = ">",
	[LIMIT_AT_LEAST] = ">=",
	[LIMIT_BELOW] = "<",
	[LIMIT_AT_MOST] = "<=",
};

static const struct {
	const char *name;
	enum limit_stat stat;
	bool time, counter; /* is it in ns? has a counter it, too? */
} stats[] = {
	{"min", LIMIT_MIN, true, false},     {"max", LIMIT_MAX, true, false},
	{"mean", LIMIT_MEAN, true, false},   {"count", LIMIT_COUNT, false, true},
	{"sum", LIMIT_SUM, true, false},     {"rate", LIMIT_RATE, false, true},
	{NULL, LIMIT_QUANTILE, true, false}, /* p50 and its like */
};

#define STATS "p50 ... p99.99, min, max, mean, count, sum or rate"
#define SHAPE "METRIC{label=\"value\"} STAT OP VALUE, such as sched_wakeup_latency p99 > 500us"

/* --fail-if 'TEXT': 'what' WHY */
static int refuse(const struct limit *l, struct err *e, const char *at, size_t len, const char *why)
{
	char text[QUOTED], what[QUOTED];

	return err_set(e, EXIT_USAGE, -EINVAL, "--fail-if '%s': '%s' %s",
		       text_clean(text, sizeof(text), l->text, SIZE_MAX),
		       text_clean(what, sizeof(what), at, len), why);
}

static const char *skip(const char *p)
{
	return p + strspn(p, " \t");
}

static int take_metric(struct limit *l, const char **p, struct err *e)
{
	char name[64] = "";
	size_t len;

	*p = skip(*p);
	len = strspn(*p, NAME_CHARS);
	if (len && len < sizeof(name))
		memcpy(name, *p, len);
	l->desc = len ? metric_find(name) : NULL;
	if (!l->desc)
		return refuse(l, e, *p, len ? len : strlen(*p),
			      len ? "is no metric (expected a name such as sched_wakeup_latency)"
				  : "is not read (expected " SHAPE ")");
	*p += len;
	return 0;
}

/* "value" from after its first quote, with \" and \\ in it, into *to. NULL: it has no end. */
static const char *take_value(const char *p, char **to)
{
	char *out = *to;

	for (; *p != '"'; p++) {
		if (*p == '\\' && (p[1] == '"' || p[1] == '\\'))
			p++;
		if (!*p)
			return NULL;
		*out++ = *p;
	}
	*out++ = '\0';
	*to = out;
	return p + 1;
}

static int take_labels(struct limit *l, const char **p, struct err *e)
{
	const char *at = skip(*p), *from;
	char *to = l->memory;
	size_t len;

	if (*at != '{')
		return 0;
	from = at;
	do {
		at = skip(at + 1);
		len = strspn(at, NAME_CHARS);
		if (!len || l->nlabels == SERIES_LABELS)
			return refuse(l, e, at, SIZE_MAX,
				      len ? "is one label too many"
					  : "is not read (expected a label such as cpu=\"3\")");
		l->labels[l->nlabels].key = to;
		to = (char *)memcpy(to, at, len) + len;
		*to++ = '\0';
		at = skip(at + len);
		if (*at != '=' || *skip(at + 1) != '"')
			return refuse(l, e, at, SIZE_MAX,
				      "is not read (expected =\"value\" after a label's name)");
		l->labels[l->nlabels++].value = to;
		at = take_value(skip(at + 1) + 1, &to);
		if (!at)
			return refuse(l, e, from, SIZE_MAX, "has no end (expected \"})");
		at = skip(at);
	} while (*at == ',');
	if (*at != '}')
		return refuse(l, e, at, SIZE_MAX, "is not read (expected , or } after a label)");
	*p = at + 1;
	return 0;
}

/* The row of `stats`. */
static int take_stat(struct limit *l, const char **p, size_t *row, struct err *e)
{
	char name[24] = "";
	size_t len, i = 0;

	*p = skip(*p);
	len = strcspn(*p, " \t<>=");
	if (len < sizeof(name))
		memcpy(name, *p, len);
	while (stats[i].name && strcmp(stats[i].name, name))
		i++;
	if (!stats[i].name && (*name != 'p' || !parse_quantile(name + 1, &l->quantile)))
		return refuse(l, e, *p, len, "is no STAT (expected " STATS ")");
	if (l->desc->counter && !stats[i].counter)
		return refuse(l, e, *p, len,
			      "is nothing that a counter has (expected count or rate)");
	l->stat = stats[i].stat;
	*row = i;
	*p += len;
	return 0;
}

static int take_op(struct limit *l, const char **p, struct err *e)
{
	size_t i, len;

	*p = skip(*p);
	len = strspn(*p, "<>=");
	for (i = 0; i < sizeof(op_texts) / sizeof(op_texts[0]); i++) {
		if (strlen(op_texts[i]) != len || strncmp(*p, op_texts[i], len))
			continue;
		l->op = (enum limit_op)i;
		*p += len;
		return 0;
	}
	return refuse(l, e, *p, len ? len : SIZE_MAX, "is no OP (expected >, >=, < or <=)");
}

/* Digits, perhaps with a point between them; NULL: not that. */
static const char *scan_number(const char *p, double *out)
{
	size_t whole = strspn(p, DIGITS), part = 0;

	if (!whole || whole > 18)
		return NULL;
	if (p[whole] == '.') {
		part = strspn(p + whole + 1, DIGITS);
		if (!part)
			return NULL;
		part++;
	}
	*out = strtod(p, NULL); /* the locale is C: nobody sets one */
	return p + whole + part;
}

static int take_relative(struct limit *l, const char *p, bool allowed, struct err *e)
{
	const char *end = scan_number(p + 1, &l->value);

	if (!allowed)
		return refuse(l, e, p, SIZE_MAX,
			      "is relative to nothing (only where runs are compared)");
	if (!end || strcmp(end, "%"))
		return refuse(l, e, p, SIZE_MAX, "is not read (expected a change such as +10%)");
	l->relative = true;
	l->value = 1 + (*p == '+' ? l->value : -l->value) / 100;
	if (l->value < 0)
		return refuse(l, e, p, SIZE_MAX, "is less than nothing (expected at least -100%)");
	return 0;
}

static int take_value_of(struct limit *l, const char *from, bool time, bool relative, struct err *e)
{
	struct err ignored = {0};
	char p[64] = "";
	const char *end;
	uint64_t ns;
	size_t len;

	from = skip(from);
	len = strcspn(from, " \t");
	if (*skip(from + len) || len >= sizeof(p))
		return refuse(l, e, from, SIZE_MAX, "is more than a VALUE (expected " SHAPE ")");
	memcpy(p, from, len);
	if (*p == '+' || *p == '-')
		return take_relative(l, p, relative, e);
	if (time) {
		if (!*p || (strchr(DIGITS, p[len - 1]) && strcmp(p, "0")) ||
		    parse_time_ns(p, 1, "--fail-if", &ns, &ignored))
			return refuse(l, e, p, SIZE_MAX,
				      "is no time (expected one with its unit, such as 500us)");
		l->value = (double)ns;
		return 0;
	}
	end = scan_number(p, &l->value);
	if (!end || *end)
		return refuse(l, e, p, SIZE_MAX, "is no number (expected one such as 1000)");
	return 0;
}

int limit_parse(struct limit *l, const char *text, bool relative, struct err *e)
{
	const char *p = text;
	size_t row = 0;
	int ret;

	*l = (struct limit){.text = strdup(text), .memory = calloc(1, strlen(text) * 2 + 1)};
	if (!l->text || !l->memory) {
		limit_free(l);
		return err_sys(e, -ENOMEM, "--fail-if");
	}
	ret = take_metric(l, &p, e) ?: take_labels(l, &p, e) ?: take_stat(l, &p, &row, e) ?:
	      take_op(l, &p, e) ?: take_value_of(l, p, stats[row].time, relative, e);
	if (ret)
		limit_free(l);
	return ret;
}

void limit_free(struct limit *l)
{
	if (!l)
		return;
	free(l->text);
	free(l->memory);
	*l = (struct limit){0};
}

int limit_list_add(struct limit_list *l, const char *text, bool relative, struct err *e)
{
	struct limit *v = reallocarray(l->v, l->n + 1, sizeof(*v));
	int ret;

	if (!v)
		return err_sys(e, -ENOMEM, "--fail-if");
	l->v = v;
	ret = limit_parse(&v[l->n], text, relative, e);
	l->n += !ret;
	return ret;
}

void limit_list_free(struct limit_list *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		limit_free(&l->v[i]);
	free(l->v);
	*l = (struct limit_list){0};
}

/* ---- on a frame ---- */

bool limit_exceeded(const struct limit *l, double value)
{
	switch (l->op) {
	case LIMIT_ABOVE:
		return value > l->value;
	case LIMIT_AT_LEAST:
		return value >= l->value;
	case LIMIT_BELOW:
		return value < l->value;
	case LIMIT_AT_MOST:
		break;
	}
	return value <= l->value;
}

bool limit_selects(const struct limit *l, const struct series *s, bool whole)
{
	size_t i;

	if (s->desc != l->desc)
		return false;
	if (!l->nlabels)
		return !whole || !s->nlabels;
	for (i = 0; i < l->nlabels; i++) {
		const char *value = series_label(s, l->labels[i].key);

		if (!value || strcmp(value, l->labels[i].value))
			return false;
	}
	return true;
}

static uint64_t count_of(const struct series *s)
{
	return s->hist ? s->hist->count : s->value;
}

/* false: it has no samples to tell from. */
static bool value_of(const struct limit *l, const struct series *s, uint64_t dur_ns, double *out)
{
	const struct hist *h = s->hist;

	*out = (double)count_of(s);
	if (l->stat == LIMIT_COUNT)
		return true;
	if (l->stat == LIMIT_RATE) {
		*out = dur_ns ? *out * 1e9 / (double)dur_ns : 0;
		return dur_ns != 0;
	}
	*out = h ? (double)h->sum_ns : 0;
	if (l->stat == LIMIT_SUM)
		return h != NULL;
	if (!h || !h->count)
		return false;
	if (l->stat == LIMIT_MEAN)
		*out /= (double)h->count;
	else if (l->stat == LIMIT_MIN)
		*out = (double)h->min_ns;
	else if (l->stat == LIMIT_MAX)
		*out = (double)h->max_ns;
	else
		*out = (double)hist_quantile(h, &l->quantile).ns;
	return true;
}

static bool says(const struct limit *l, const char *key)
{
	size_t i;

	for (i = 0; i < l->nlabels; i++)
		if (!strcmp(l->labels[i].key, key))
			return true;
	return false;
}

/* "--fail-if 'TEXT': LABELS: 1.2 ms, of 12,904 samples" */
static void tell(char *out, size_t size, const struct limit *l, const struct series *s,
		 double value)
{
	char text[QUOTED], number[48], count[32], clean[QUOTED];
	size_t i, at;

	at = (size_t)snprintf(
		out, size, "--fail-if '%s': ", text_clean(text, sizeof(text), l->text, SIZE_MAX));
	for (i = 0; i < s->nlabels && at < size; i++)
		if (!says(l, s->labels[i].key))
			at += (size_t)snprintf(
				out + at, size - at, "%s=\"%s\": ", s->labels[i].key,
				text_clean(clean, sizeof(clean), s->labels[i].value, SIZE_MAX));
	if (l->stat == LIMIT_COUNT)
		format_count(number, sizeof(number), (uint64_t)value);
	else if (l->stat == LIMIT_RATE)
		(void)snprintf(number, sizeof(number), "%.6g a second", value);
	else
		format_duration(number, sizeof(number), (uint64_t)llround(value));
	if (at >= size)
		return;
	if (s->hist)
		(void)snprintf(out + at, size - at, "it is %s, of %s samples", number,
			       format_count(count, sizeof(count), count_of(s)));
	else
		(void)snprintf(out + at, size - at, "it is %s", number);
}

static int test_one(const struct limit *l, const struct frame *f, limit_fn fn, void *ctx,
		    size_t *exceeded, struct err *e)
{
	bool whole = false, found = false, told = false;
	char words[WORDS_LEN], text[QUOTED];
	double value;
	size_t i;
	int ret = 0;

	for (i = 0; i < f->nseries; i++)
		whole |= f->series[i].desc == l->desc && !f->series[i].nlabels;
	for (i = 0; !ret && i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (!limit_selects(l, s, whole))
			continue;
		found = true;
		if (!value_of(l, s, f->dur_ns, &value))
			continue;
		told = true;
		if (!limit_exceeded(l, value))
			continue;
		(*exceeded)++;
		tell(words, sizeof(words), l, s, value);
		ret = fn(ctx, words);
	}
	if (ret || told)
		return ret;
	return err_set(e, EXIT_USAGE, -ENOENT, "--fail-if '%s': %s",
		       text_clean(text, sizeof(text), l->text, SIZE_MAX),
		       found ? "not tested: there was no sample"
			     : "not tested: nothing in the report has these labels");
}

int limits_test(const struct limit_list *l, const struct frame *f, limit_fn fn, void *ctx,
		size_t *exceeded, struct err *e)
{
	size_t i;
	int ret = 0, one;

	*exceeded = 0;
	for (i = 0; i < l->n && (!ret || ret == -ENOENT); i++) {
		one = test_one(&l->v[i], f, fn, ctx, exceeded, e);
		if (one)
			ret = one;
	}
	return ret;
}
