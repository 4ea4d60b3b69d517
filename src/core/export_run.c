// SPDX-License-Identifier: GPL-2.0-or-later
/* Series of the run itself: what was lost, what waits, what it costs. */
#include <errno.h>

#include "core/export_inside.h"
#include "core/fields.h"

static struct family *family_of_run(struct export *x, enum run_metric_id id)
{
	const struct run_metric *m = &run_metric_list[id];
	struct family **f = &x->v[METRICS + id];

	if (!*f)
		*f = export_family_new(m->name, m->help, m->unit,
				       m->gauge ? EXPORT_GAUGE : EXPORT_COUNTER);
	return *f;
}

/* A series of the run's own, with at most one label; NULL: no memory. */
static struct kept *kept_of_run(struct export *x, enum run_metric_id id, const char *value)
{
	const struct arrival a = {
		.family = family_of_run(x, id), .start_ns = x->start_ns, .nlabels = value != NULL};

	x->key_len = 0;
	if (!a.family || (value && export_key_label(x, run_metric_list[id].label, value)))
		return NULL;
	return export_kept(x, &a);
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

static int add_quality(struct export *x, const struct quality *q)
{
	int ret = count(x, RUN_NOTED, "missed", q->missed);

	for (size_t i = 0; i < quality_fields.n && !ret; i++) {
		const struct field *f = &quality_fields.v[i];

		ret = count(x, f->loss ? RUN_LOST : RUN_NOTED, f->key, field_u64(f, q));
	}
	return ret ?: gauge(x, RUN_IN_FLIGHT, NULL, (double)q->in_flight)
		   ?: gauge(x, RUN_IN_FLIGHT_LONGEST, NULL, (double)q->longest_ns / (double)NS_PER_S);
}

static int add_self(struct export *x, const struct self_cost *c)
{
	int ret = gauge(x, RUN_INFO, x->version, 1)
			  ?: gauge(x, RUN_REPORT_TIME, NULL, (double)x->time_ns / (double)NS_PER_S)
			  ?: gauge(x, RUN_USER_CPU, NULL, c->user_cpu_ppm / 1e6);

	if (!ret && c->bpf_known)
		ret = gauge(x, RUN_BPF_CPU, NULL, c->bpf_cpu_ppm / 1e6)
			      ?: gauge(x, RUN_BPF_EVENT, NULL,
				       c->bpf_ns_per_event / (double)NS_PER_S);
	return ret;
}

int export_add_run(struct export *x, const struct frame *f)
{
	return add_quality(x, &f->quality) ?: add_self(x, &f->self);
}
