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

/* A series of the run's own, with at most one label. */
static int add_of_run(struct export *x, enum run_metric_id id, const char *value, uint64_t count,
		      double gauge, struct arrival *a)
{
	struct kept *k;

	*a = (struct arrival){
		.family = family_of_run(x, id), .start_ns = x->start_ns, .nlabels = value != NULL};
	if (!a->family)
		return -ENOMEM;
	x->key_len = 0;
	if (value && export_key_label(x, run_metric_list[id].label, value))
		return -ENOMEM;
	k = export_kept(x, a);
	if (!k)
		return -ENOMEM;
	k->s.value += count;
	k->s.gauge = gauge;
	return 0;
}

int export_set(struct export *x, enum run_metric_id id, const char *value, uint64_t count)
{
	struct arrival a;
	int ret = add_of_run(x, id, value, 0, 0, &a);

	struct kept *k = ret ? NULL : export_kept(x, &a);

	if (k)
		k->s.value = count;
	return k ? 0 : -ENOMEM;
}

static int add_quality(struct export *x, const struct quality *q, struct arrival *a)
{
	int ret = add_of_run(x, RUN_NOTED, "missed", q->missed, 0, a);

	for (size_t i = 0; i < quality_fields.n && !ret; i++) {
		const struct field *f = &quality_fields.v[i];

		ret = add_of_run(x, f->loss ? RUN_LOST : RUN_NOTED, f->key, field_u64(f, q), 0, a);
	}
	return ret ?: add_of_run(x, RUN_IN_FLIGHT, NULL, 0, (double)q->in_flight, a)
		   ?: add_of_run(x, RUN_IN_FLIGHT_LONGEST, NULL, 0,
				 (double)q->longest_ns / (double)NS_PER_S, a);
}

static int add_self(struct export *x, const struct self_cost *c, struct arrival *a)
{
	int ret = add_of_run(x, RUN_INFO, x->version, 0, 1, a)
			  ?: add_of_run(x, RUN_REPORT_TIME, NULL, 0,
					(double)x->time_ns / (double)NS_PER_S, a);

	if (!ret)
		ret = add_of_run(x, RUN_USER_CPU, NULL, 0, c->user_cpu_ppm / 1e6, a);
	if (!ret && c->bpf_known)
		ret = add_of_run(x, RUN_BPF_CPU, NULL, 0, c->bpf_cpu_ppm / 1e6, a)
			      ?: add_of_run(x, RUN_BPF_EVENT, NULL, 0,
					    c->bpf_ns_per_event / (double)NS_PER_S, a);
	return ret;
}

int export_add_run(struct export *x, const struct frame *f)
{
	struct arrival a;

	return add_quality(x, &f->quality, &a) ?: add_self(x, &f->self, &a);
}
