// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/export_inside.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/cgroup_words.h"
#include "core/text.h"
#include "core/view.h"

#define OTHERS "(others)"

/* ---- keys ---- */

static int key_add(struct export *x, const char *text, bool clean)
{
	char *key = array_room(x->key, &x->key_cap, x->key_len, 4 * strlen(text) + 1, 1);

	if (!key)
		return -ENOMEM;
	x->key = key;
	if (clean)
		text_clean(x->key + x->key_len, x->key_cap - x->key_len, text, SIZE_MAX);
	else
		memcpy(x->key + x->key_len, text, strlen(text) + 1);
	x->key_len += strlen(x->key + x->key_len) + 1;
	return 0;
}

int export_key_label(struct export *x, const char *key, const char *value)
{
	return key_add(x, key, false) ?: key_add(x, value, true);
}

static int compare_ids(const void *a, const void *b)
{
	const struct kept_id *x = a, *y = b;

	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return x->len ? memcmp(x->key, y->key, x->len) : 0;
}

/* A series of that family and with the labels of x->key, which counts nothing yet. */
static struct kept *kept_new(const struct export *x, const struct arrival *a)
{
	struct kept *k = calloc(1, sizeof(*k) + x->key_len);
	char *at;

	if (!k)
		return NULL;
	k->id = (struct kept_id){a->family, k->key, x->key_len};
	k->group = a->group;
	k->s.start_ns = a->start_ns;
	k->s.nlabels = a->nlabels;
	if (x->key_len)
		memcpy(k->key, x->key, x->key_len);
	at = k->key;
	for (uint32_t i = 0; i < a->nlabels; i++) {
		k->s.labels[i].key = at;
		at += strlen(at) + 1;
		k->s.labels[i].value = at;
		at += strlen(at) + 1;
	}
	if (a->hist)
		hist_init_packed(&k->s.hist, a->hist->schema);
	return k;
}

static void kept_free(void *p)
{
	struct kept *k = p;

	hist_free(&k->s.hist);
	free(k);
}

/* ---- families ---- */

struct family *export_family_new(const char *name, const char *help, const char *unit,
				 enum export_type type)
{
	struct family *f = calloc(1, sizeof(*f));

	if (f)
		f->f = (struct export_family){
			.name = name, .help = help, .unit = unit, .type = type};
	return f;
}

static struct family *family_unknown(struct export *x, const struct metric_desc *desc,
				     enum export_type type)
{
	struct family **more, *f;

	for (size_t i = 0; i < x->nmore; i++)
		if (!strcmp(x->more[i]->name, desc->name) && x->more[i]->f.type == type)
			return x->more[i];
	more = reallocarray(x->more, x->nmore + 1, sizeof(*more));
	if (!more)
		return NULL;
	x->more = more;
	f = export_family_new(NULL, METRIC_HELP_UNKNOWN, type == EXPORT_HISTOGRAM ? "s" : NULL,
			      type);
	if (!f)
		return NULL;
	f->name = strdup(desc->name);
	if (!f->name) {
		free(f);
		return NULL;
	}
	f->f.name = f->name;
	return x->more[x->nmore++] = f;
}

static struct family *family_of(struct export *x, const struct metric_desc *desc)
{
	enum export_type type = desc->counter ? EXPORT_COUNTER : EXPORT_HISTOGRAM;
	const struct metric_desc *known = metric_find(desc->name);
	struct family **f;

	if (!known || known->counter != desc->counter)
		return family_unknown(x, desc, type);
	f = &x->v[known - metric_list];
	if (!*f)
		*f = export_family_new(known->name, known->help, known->counter ? known->unit : "s",
				       type);
	return *f;
}

static void family_append(struct family *f, struct kept *k)
{
	if (f->last)
		f->last->s.next = &k->s;
	else
		f->f.first = &k->s;
	f->last = k;
}

/* ---- adding ---- */

/* The series with the labels of x->key; NULL: it is not there. */
static struct kept *kept_find(const struct export *x, const struct family *f)
{
	struct kept_id id = {f, x->key, x->key_len}, **at = tfind(&id, &x->tree, compare_ids);

	return at ? (struct kept *)((char *)*at - offsetof(struct kept, id)) : NULL;
}

/* One more, which kept_find does not have. */
static struct kept *kept_add(struct export *x, const struct arrival *a)
{
	struct kept *k = kept_new(x, a);

	if (!k)
		return NULL;
	if (!tsearch(&k->id, &x->tree, compare_ids)) {
		kept_free(k);
		return NULL;
	}
	family_append(a->family, k);
	x->groups += k->group;
	return k;
}

struct kept *export_kept(struct export *x, const struct arrival *a)
{
	return kept_find(x, a->family) ?: kept_add(x, a);
}

/* Where a series counts: in its own, or in the others' if the metric has as many as it may. */
static struct kept *place_of(struct export *x, struct arrival *a)
{
	struct kept *k = kept_find(x, a->family);

	if (k)
		return k;
	if (!a->nlabels || a->family->labelled < x->cfg->max_keys) {
		a->family->labelled += a->nlabels > 0;
		return kept_add(x, a);
	}
	x->key_len = strlen(x->key) + 1; /* the first label's key stays */
	if (key_add(x, OTHERS, false))
		return NULL;
	a->nlabels = 1;
	a->group = false; /* it never ends */
	return export_kept(x, a);
}

static int arrive(struct export *x, struct arrival *a)
{
	struct kept *k = place_of(x, a);

	if (!k)
		return -ENOMEM;
	k->s.value += a->value;
	if (a->value || (a->hist && a->hist->count))
		k->seen_ns = a->mono_ns;
	return a->hist ? hist_merge(&k->s.hist, a->hist) : 0;
}

static bool is_group(const struct export *x, const struct series *s)
{
	return x->cfg->by > BY_CPU && s->nlabels && !strcmp(s->labels[0].key, view_by(x->cfg->by));
}

/* What the path of a cgroup says, as labels that others know it by. */
static int add_words(struct export *x, const char *path, struct arrival *a)
{
	struct cgroup_words w;
	const struct label more[] = {
		{"unit", w.unit}, {"container_id", w.container_id}, {"pod_uid", w.pod_uid}};
	int ret = 0;

	cgroup_words(&w, path);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]) && !ret; i++)
		if (*more[i].value) {
			ret = export_key_label(x, more[i].key, more[i].value);
			a->nlabels++;
		}
	return ret;
}

static int add_series(struct export *x, const struct series *s, struct arrival *a)
{
	int ret = 0;

	if (view_is_cpu(s) && x->cfg->by != BY_CPU)
		return 0;
	a->group = is_group(x, s);
	if (a->group && !s->value && !(s->hist && s->hist->count))
		return 0; /* it may never have had a sample */
	a->family = family_of(x, s->desc);
	if (!a->family)
		return -ENOMEM;
	a->nlabels = s->nlabels;
	a->hist = s->desc->counter ? NULL : s->hist;
	a->value = s->desc->counter ? s->value : 0;
	x->key_len = 0;
	for (uint32_t i = 0; i < s->nlabels && !ret; i++)
		ret = export_key_label(x, s->labels[i].key, s->labels[i].value);
	if (!ret && s->nlabels && !strcmp(s->labels[0].key, "cgroup"))
		ret = add_words(x, s->labels[0].value, a);
	return ret ? ret : arrive(x, a);
}

/* ---- groups that are gone ---- */

static bool has_ended(const struct kept *k, uint64_t mono_ns)
{
	return k->group && mono_ns > k->seen_ns && mono_ns - k->seen_ns > EXPORT_END_NS;
}

static void end_series(struct export *x, struct family *f, uint64_t mono_ns)
{
	struct kept *k = (struct kept *)f->f.first, *next, *before = NULL;

	f->f.first = NULL;
	for (; k; k = next) {
		next = (struct kept *)k->s.next;
		if (has_ended(k, mono_ns)) {
			(void)tdelete(&k->id, &x->tree, compare_ids); /* it is there */
			f->labelled--;
			x->groups--;
			kept_free(k);
			continue;
		}
		k->s.next = NULL;
		if (before)
			before->s.next = &k->s;
		else
			f->f.first = &k->s;
		before = k;
	}
	f->last = before;
}

static struct family *family_at(const struct export *x, size_t i)
{
	size_t known = METRICS + RUN_METRICS;

	return i < known ? x->v[i] : x->more[i - known];
}

static size_t nfamilies(const struct export *x)
{
	return METRICS + RUN_METRICS + x->nmore;
}

/* ---- all of it ---- */

int export_add(struct export *x, const struct frame *f)
{
	struct arrival a = {.mono_ns = f->mono_ns};
	int ret = 0;

	x->time_ns = (uint64_t)f->time.tv_sec * NS_PER_S + (uint64_t)f->time.tv_nsec;
	a.start_ns = x->time_ns - (x->time_ns < f->dur_ns ? x->time_ns : f->dur_ns);
	if (!x->dur_ns)
		x->start_ns = a.start_ns;
	x->dur_ns += f->dur_ns;
	for (size_t i = 0; i < f->nseries && !ret; i++)
		ret = add_series(x, &f->series[i], &a);
	for (size_t i = 0; i < nfamilies(x); i++)
		if (family_at(x, i))
			end_series(x, family_at(x, i), f->mono_ns);
	return ret ?: export_add_run(x, f);
}

static void no_free(void *p)
{
	(void)p; /* the families' lists have them */
}

static void export_forget(struct export *x)
{
	struct export empty = {.cfg = x->cfg};

	const struct export_series *s, *next;

	tdestroy(x->tree, no_free);
	x->tree = NULL;
	for (size_t i = 0; i < nfamilies(x); i++) {
		struct family *f = family_at(x, i);

		for (s = f ? f->f.first : NULL; s; s = next) {
			next = s->next;
			kept_free((struct kept *)s);
		}
		if (f)
			free(f->name);
		free(f);
	}
	free(x->more);
	free(x->key);
	memcpy(empty.version, x->version, sizeof(empty.version));
	*x = empty;
}

void export_meta(struct export *x, const struct meta *m)
{
	text_clean(x->version, sizeof(x->version), m->version, SIZE_MAX);
}

int export_final(struct export *x, const struct frame *total)
{
	if (x->dur_ns && x->dur_ns == total->dur_ns)
		return 0;
	export_forget(x);
	return export_add(x, total);
}

struct export *export_new(const struct config *cfg)
{
	struct export *x = calloc(1, sizeof(*x));

	if (x)
		x->cfg = cfg;
	return x;
}

void export_free(struct export *x)
{
	if (x)
		export_forget(x);
	free(x);
}

const struct export_family *export_family(const struct export *x, size_t i)
{
	static const struct export_family none;

	if (i >= nfamilies(x))
		return NULL;
	return family_at(x, i) ? &family_at(x, i)->f : &none;
}

uint64_t export_time_ns(const struct export *x)
{
	return x->time_ns;
}

uint32_t export_schema(const struct export *x, const struct hist *h)
{
	return h->schema < x->cfg->export_schema ? h->schema : x->cfg->export_schema;
}

size_t export_groups(const struct export *x)
{
	return x->groups;
}
