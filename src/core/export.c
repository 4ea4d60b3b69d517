// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/export.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/cgroup_words.h"
#include "core/fields.h"
#include "core/text.h"
#include "core/view.h"

#define OTHERS "(others)"
#define NS_PER_S 1000000000ULL
#define FAMILIES (METRICS + RUN_METRICS)

/* What tells a series from all others. */
struct kept_id {
	const struct family *family;
	const char *key; /* the labels: keys and values, each with its NUL */
	size_t len;
};

struct kept {
	struct export_series s; /* first: what export_series.next points to */
	struct kept_id id;	/* what the tree points to */
	uint64_t seen_ns;	/* CLOCK_MONOTONIC, when it had samples last */
	bool group;		/* of --by: it may end */
	char key[];		/* id's */
};

struct family {
	struct export_family f;
	struct kept *last;
	size_t labelled; /* series with labels, but the others' */
	char *name;	 /* its own, of a metric that the registry lacks */
};

struct export
{
	const struct config *cfg;
	char version[32];
	struct family v[FAMILIES]; /* in the registry's order: metrics, then those of the run */
	struct family **more;	   /* of metrics it lacks */
	size_t nmore;
	void *tree; /* of struct kept_id, by family and key */
	uint64_t start_ns, dur_ns, time_ns;
	char *key; /* being put together; clean values are no longer than 4 times the bytes */
	size_t key_len, key_cap;
};

/* One series on its way in. */
struct arrival {
	struct family *family;
	uint32_t nlabels;
	bool group;
	const struct hist *hist;
	uint64_t value;
	uint64_t start_ns; /* of the interval */
	uint64_t mono_ns;
};

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

/* A label of the key; `value` is made clean. 0 or -ENOMEM. */
static int key_label(struct export *x, const char *key, const char *value)
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

/* What the tree has of it: its id. */
static void kept_free(void *id)
{
	struct kept *k = (struct kept *)((char *)id - offsetof(struct kept, id));

	hist_free(&k->s.hist);
	free(k);
}

/* ---- families ---- */

static struct family *family_unknown(struct export *x, const struct metric_desc *desc)
{
	enum export_type type = desc->counter ? EXPORT_COUNTER : EXPORT_HISTOGRAM;
	struct family **more, *f;

	for (size_t i = 0; i < x->nmore; i++)
		if (!strcmp(x->more[i]->name, desc->name) && x->more[i]->f.type == type)
			return x->more[i];
	more = reallocarray(x->more, x->nmore + 1, sizeof(*more));
	if (!more)
		return NULL;
	x->more = more;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->name = strdup(desc->name);
	if (!f->name) {
		free(f);
		return NULL;
	}
	f->f = (struct export_family){f->name, METRIC_HELP_UNKNOWN, desc->counter ? NULL : "s",
				      type};
	return x->more[x->nmore++] = f;
}

static struct family *family_of(struct export *x, const struct metric_desc *desc)
{
	const struct metric_desc *known = metric_find(desc->name);

	if (!known || known->counter != desc->counter)
		return family_unknown(x, desc);
	return &x->v[known - metric_list];
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
	struct family *f = a->family;
	struct kept *k = kept_new(x, a);

	if (!k)
		return NULL;
	if (!tsearch(&k->id, &x->tree, compare_ids)) {
		kept_free(&k->id);
		return NULL;
	}
	*(f->last ? &f->last->s.next : &f->f.first) = &k->s;
	f->last = k;
	return k;
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
	return kept_find(x, a->family) ?: kept_add(x, a);
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
			ret = key_label(x, more[i].key, more[i].value);
			a->nlabels++;
		}
	return ret;
}

static int add_series(struct export *x, const struct series *s, struct arrival *a)
{
	int ret = 0;

	if (view_is_cpu(s) && x->cfg->by != BY_CPU)
		return 0;
	a->group =
		x->cfg->by > BY_CPU && s->nlabels && !strcmp(s->labels[0].key, view_by(x->cfg->by));
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
		ret = key_label(x, s->labels[i].key, s->labels[i].value);
	if (!ret && s->nlabels && !strcmp(s->labels[0].key, "cgroup"))
		ret = add_words(x, s->labels[0].value, a);
	return ret ? ret : arrive(x, a);
}

/* ---- groups that are gone ---- */

static void end_series(struct export *x, struct family *f, uint64_t mono_ns)
{
	const struct export_series **tail = &f->f.first, *s = f->f.first, *next;

	f->last = NULL;
	for (; s; s = next) {
		struct kept *k = (struct kept *)s;

		next = s->next;
		if (k->group && mono_ns > k->seen_ns && mono_ns - k->seen_ns > EXPORT_END_NS) {
			(void)tdelete(&k->id, &x->tree, compare_ids); /* it is there */
			f->labelled--;
			kept_free(&k->id);
			continue;
		}
		*tail = s;
		tail = &k->s.next;
		f->last = k;
	}
	*tail = NULL;
}

/* ---- series of the run itself: what was lost, what waits, what it costs ---- */

/* With at most one label; NULL: no memory. */
static struct kept *kept_of_run(struct export *x, enum run_metric_id id, const char *value)
{
	const struct arrival a = {
		.family = &x->v[METRICS + id], .start_ns = x->start_ns, .nlabels = value != NULL};

	x->key_len = 0;
	if (value && key_label(x, run_metric_list[id].label, value))
		return NULL;
	return kept_find(x, a.family) ?: kept_add(x, &a);
}

static int count(struct export *x, enum run_metric_id id, const char *value, uint64_t more)
{
	struct kept *k = kept_of_run(x, id, value);

	if (k)
		k->s.value += more;
	return k ? 0 : -ENOMEM;
}

static int gauge(struct export *x, enum run_metric_id id, const char *value, double is)
{
	struct kept *k = kept_of_run(x, id, value);

	if (k)
		k->s.gauge = is;
	return k ? 0 : -ENOMEM;
}

int export_set(struct export *x, enum run_metric_id id, const char *value, uint64_t count)
{
	struct kept *k = kept_of_run(x, id, value);

	if (k)
		k->s.value = count;
	return k ? 0 : -ENOMEM;
}

static int add_run(struct export *x, const struct quality *q, const struct self_cost *c)
{
	int ret = count(x, RUN_NOTED, "missed", q->missed);

	for (size_t i = 0; i < quality_fields.n && !ret; i++) {
		const struct field *f = &quality_fields.v[i];

		ret = count(x, f->loss ? RUN_LOST : RUN_NOTED, f->key, field_u64(f, q));
	}
	ret = ret ?: gauge(x, RUN_IN_FLIGHT, NULL, (double)q->in_flight)
		  ?: gauge(x, RUN_IN_FLIGHT_LONGEST, NULL, (double)q->longest_ns / (double)NS_PER_S)
		  ?: gauge(x, RUN_INFO, x->version, 1)
		  ?: gauge(x, RUN_REPORT_TIME, NULL, (double)x->time_ns / (double)NS_PER_S)
		  ?: gauge(x, RUN_USER_CPU, NULL, c->user_cpu_ppm / 1e6);
	if (ret || !c->bpf_known)
		return ret;
	return gauge(x, RUN_BPF_CPU, NULL, c->bpf_cpu_ppm / 1e6)
		       ?: gauge(x, RUN_BPF_EVENT, NULL, c->bpf_ns_per_event / (double)NS_PER_S);
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
	for (size_t i = 0; i < METRICS; i++)
		end_series(x, &x->v[i], f->mono_ns);
	for (size_t i = 0; i < x->nmore; i++)
		end_series(x, x->more[i], f->mono_ns);
	return ret ?: add_run(x, &f->quality, &f->self);
}

void export_meta(struct export *x, const struct meta *m)
{
	text_clean(x->version, sizeof(x->version), m->version, SIZE_MAX);
}

static void export_forget(struct export *x)
{
	tdestroy(x->tree, kept_free);
	x->tree = NULL;
	for (size_t i = 0; i < x->nmore; i++) {
		free(x->more[i]->name);
		free(x->more[i]);
	}
	free(x->more);
	free(x->key);
}

/* Nothing counted yet. */
static void export_begin(struct export *x)
{
	struct export empty = {.cfg = x->cfg};

	memcpy(empty.version, x->version, sizeof(empty.version));
	*x = empty;
	for (size_t i = 0; i < METRICS; i++) {
		const struct metric_desc *m = &metric_list[i];

		x->v[i].f = (struct export_family){m->name, m->help, m->counter ? m->unit : "s",
						   m->counter ? EXPORT_COUNTER : EXPORT_HISTOGRAM};
	}
	for (size_t i = 0; i < RUN_METRICS; i++) {
		const struct run_metric *m = &run_metric_list[i];

		x->v[METRICS + i].f = (struct export_family){
			m->name, m->help, m->unit, m->gauge ? EXPORT_GAUGE : EXPORT_COUNTER};
	}
}

int export_final(struct export *x, const struct frame *total)
{
	if (x->dur_ns && x->dur_ns == total->dur_ns)
		return 0;
	export_forget(x);
	export_begin(x);
	return export_add(x, total);
}

struct export *export_new(const struct config *cfg)
{
	struct export *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->cfg = cfg;
	export_begin(x);
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
	if (i < FAMILIES)
		return &x->v[i].f;
	return i - FAMILIES < x->nmore ? &x->more[i - FAMILIES]->f : NULL;
}

uint64_t export_time_ns(const struct export *x)
{
	return x->time_ns;
}

uint32_t export_schema(const struct export *x, const struct hist *h)
{
	return h->schema < x->cfg->export_schema ? h->schema : x->cfg->export_schema;
}
