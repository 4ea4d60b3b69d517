// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/view.h"

#define WORD_BYTES 64
#define WAITS 8

/* Sources of waits. Those with rows in the table of contended addresses say what these were for. */
static const struct {
	const char *source, *waited;
} sources[] = {
	{"sched", NULL},
	{"ext4", NULL},
	{"lock", "for kernel locks"},
	{"futex", "for futex locks"},
};
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

struct wait {
	const char *for_what; /* "for a CPU" */
	const char *most;     /* what most of it was: "fsync"; or NULL */
	uint64_t sum_ns, most_ns;
	const struct hist *hist; /* of all of them, or NULL */
};

static void __attribute__((format(printf, 2, 3))) add(char out[SUMMARY_BYTES], const char *fmt, ...)
{
	size_t at = strlen(out);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(out + at, SUMMARY_BYTES - at, fmt, args); /* longest is far below */
	va_end(args);
}

/* In whole percent, but at both ends: 0.04 % is not none, and 99.9 % is not all. */
static const char *share(char out[WORD_BYTES], uint64_t part, uint64_t all)
{
	double percent = 100.0 * (double)part / (double)all;
	int decimals = 0;

	if (part && percent < 0.005)
		return "< 0.01";
	if (part && percent < 1) {
		decimals = percent < 0.095 ? 2 : 1;
	} else if (part < all && percent >= 99) {
		percent = (double)(uint64_t)(percent * 10) / 10; /* down */
		decimals = 1;
	}
	(void)snprintf(out, WORD_BYTES, "%.*f", decimals, percent); /* fits */
	return out;
}

/* ---- where the time went ---- */

uint64_t times_all_ns(const struct times *t)
{
	return t->running_ns + t->waiting_ns + t->throttled_ns + t->asleep_ns;
}

const struct times *summary_find_times(const struct frame *f, const struct label *group)
{
	for (size_t i = 0; i < f->ntimes; i++) {
		const struct times *t = &f->times[i];

		if (group ? t->nlabels && !strcmp(t->labels[0].key, group->key) &&
				    !strcmp(t->labels[0].value, group->value)
			  : !t->nlabels)
			return t;
	}
	return NULL;
}

/* "12 threads"; "3.2 threads on average", where some came or went. */
static void add_number(char out[SUMMARY_BYTES], const struct times *t, uint64_t dur_ns,
		       const char *what)
{
	double n = (double)times_all_ns(t) / (double)dur_ns, whole = (double)(uint64_t)(n + 0.5);
	char count[WORD_BYTES];

	if (n > whole - 0.05 && n < whole + 0.05 && whole > 0)
		add(out, "%s %s%s", format_count(count, sizeof(count), (uint64_t)whole), what,
		    whole > 1 ? "s" : "");
	else if (n < 0.05)
		add(out, "%ss, there for %.2g %% of the time", what, n * 100);
	else
		add(out, "%.1f %ss on average", n, what);
}

static void add_cpus(char out[SUMMARY_BYTES], const struct times *t, uint64_t dur_ns)
{
	uint64_t all = times_all_ns(t);
	char percent[WORD_BYTES];

	add_number(out, t, dur_ns, "CPU");
	add(out, " %s %% busy", share(percent, t->running_ns, all));
	if (t->waiting_ns >= all / 100 && t->waiting_ns)
		add(out, ", %s %% taken by the hypervisor", share(percent, t->waiting_ns, all));
}

static void add_threads(char out[SUMMARY_BYTES], const struct times *t, uint64_t dur_ns)
{
	uint64_t all = times_all_ns(t);
	char percent[WORD_BYTES];

	add_number(out, t, dur_ns, "thread");
	add(out, ": on CPU %s %%", share(percent, t->running_ns, all));
	add(out, ", waiting for a CPU %s %%", share(percent, t->waiting_ns, all));
	if (t->throttled_ns)
		add(out, ", out of CPU quota %s %%", share(percent, t->throttled_ns, all));
	add(out, ", asleep %s %%", share(percent, t->asleep_ns, all));
}

char *summary_times(char out[SUMMARY_BYTES], const struct frame *f, const struct label *group)
{
	const struct times *t = summary_find_times(f, group);

	out[0] = '\0';
	if (!t || !f->dur_ns || !times_all_ns(t))
		return out;
	if (!strcmp(t->of, TIMES_CPUS))
		add_cpus(out, t, f->dur_ns);
	else
		add_threads(out, t, f->dur_ns);
	return out;
}

/* ---- what was waited for ---- */

/* Is it of the group, or where there is none, of all together? */
static bool is_asked(const struct series *s, const struct label *group)
{
	if (group)
		return s->nlabels && !strcmp(s->labels[0].key, group->key) &&
		       !strcmp(s->labels[0].value, group->value);
	for (int by = BY_CPU; by <= BY_CONTAINER; by++)
		if (series_label(s, view_by((enum by_key)by)))
			return false;
	return true;
}

/* The row of what was waited for; the same for those of one kind. */
static struct wait *wait_of(struct wait v[WAITS], size_t *n, const char *for_what)
{
	size_t i;

	for (i = 0; i < *n; i++)
		if (!strcmp(v[i].for_what, for_what))
			return &v[i];
	if (*n == WAITS)
		return NULL;
	v[*n] = (struct wait){.for_what = for_what};
	return &v[(*n)++];
}

/* Of an operation only what its task was blocked: what it waited for a CPU is counted there. */
static void add_series(struct wait v[WAITS], size_t *n, const struct series *s)
{
	struct wait *w = wait_of(v, n, s->desc->waited);
	uint64_t ns = s->split ? s->split->blocked_ns : s->hist->sum_ns;
	bool whole = s->desc->role != METRIC_ROWS;

	if (!w)
		return;
	w->sum_ns += ns;
	if (whole) {
		w->hist = s->hist;
	} else if (ns > w->most_ns) {
		w->most_ns = ns;
		w->most = series_label(s, "op");
	}
}

static void add_contended(struct wait v[WAITS], size_t *n, const struct contended *c)
{
	bool unsure = contended_class(c) == CLASS_UNSURE;
	struct wait *w;

	for (size_t i = 0; i < SOURCES; i++) {
		if (!sources[i].waited || strcmp(c->source, sources[i].source) != 0)
			continue;
		w = wait_of(v, n, unsure ? "for futex locks or work" : sources[i].waited);
		if (w)
			w->sum_ns += c->wait->sum_ns;
	}
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->sum_ns == y->sum_ns ? 0 : x->sum_ns > y->sum_ns ? -1 : 1;
}

static size_t find_waits(struct wait v[WAITS], const struct frame *f, const struct label *group)
{
	size_t n = 0;

	for (size_t i = 0; i < f->nseries; i++)
		if (f->series[i].desc->waited && f->series[i].hist &&
		    is_asked(&f->series[i], group))
			add_series(v, &n, &f->series[i]);
	for (size_t i = 0; i < f->ncontended; i++) {
		const struct contended *c = &f->contended[i];
		bool asked = !group || (c->group.key && !strcmp(c->group.key, group->key) &&
					!strcmp(c->group.value, group->value));

		if (asked && c->wait && contended_class(c) != CLASS_WORK)
			add_contended(v, &n, c);
	}
	qsort(v, n, sizeof(*v), compare_waits);
	return n;
}

static void add_wait(char out[SUMMARY_BYTES], const struct wait *w, uint64_t dur_ns)
{
	static const struct quantile p99 = {990000000, "99"};
	char text[WORD_BYTES], longest[WORD_BYTES];

	format_duration(text, sizeof(text), (uint64_t)((double)w->sum_ns * 1e9 / (double)dur_ns));
	add(out, "%s/s %s", text, w->for_what);
	if (w->hist && w->hist->count)
		add(out, " (99 %%: %s)",
		    format_duration(longest, sizeof(longest), hist_quantile(w->hist, &p99).ns));
	else if (w->most) {
		text_clean(text, sizeof(text), w->most, SIZE_MAX);
		add(out, " (%s)", text);
	}
}

char *summary_text(char out[SUMMARY_BYTES], const struct frame *f, const struct label *group)
{
	struct wait waits[WAITS];
	size_t n = find_waits(waits, f, group), shown = 0;

	summary_times(out, f, group);
	if (!f->dur_ns)
		return out;
	for (size_t i = 0; i < n; i++) {
		if (!waits[i].sum_ns)
			continue;
		add(out, "%s%s", shown ? ", " : *out ? "; " : "", shown ? "" : "waited ");
		add_wait(out, &waits[i], f->dur_ns);
		shown++;
	}
	if (n && !shown)
		add(out, "%sno waits", *out ? "; " : "");
	return out;
}

/* ---- what was not looked at ---- */

/* Is it off? Then *why is the reason, if it cannot run. */
static bool is_off(const struct meta *m, const char *source, const char **why)
{
	*why = NULL;
	for (size_t i = 0; i < m->nsources; i++) {
		const struct meta_source *s = &m->sources[i];
		bool it = !strcmp(s->name, source);

		if (s->on && (it || !strcmp(s->name, "synth")))
			return false;
		if (it)
			*why = s->why;
	}
	return true;
}

char *summary_untraced(char out[SUMMARY_BYTES], const struct meta *m)
{
	char reason[2 * WORD_BYTES], list[SUMMARY_BYTES] = "";
	const char *why;

	out[0] = '\0';
	for (size_t i = 0; i < SOURCES; i++) {
		if (!is_off(m, sources[i].source, &why) || why)
			continue;
		add(out, "%s%s", *out ? ", " : "", sources[i].source);
		add(list, "%s%s", *list ? "," : "", sources[i].source);
	}
	if (*list)
		add(out, ": not traced (-s %s)", list);
	for (size_t i = 0; i < SOURCES; i++)
		if (is_off(m, sources[i].source, &why) && why)
			add(out, "%s%s: not traced (%s)", *out ? ", " : "", sources[i].source,
			    text_clean(reason, sizeof(reason), why, SIZE_MAX));
	return out;
}
