// SPDX-License-Identifier: GPL-2.0-or-later
/* --why: rows of keyed.h, a group that waited and whom it waited for, as culprits of a report. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi_why.h"
#include "source/groups.h"
#include "source/keyed.h"
#include "source/sched/sched.h"

#define COLD_AFTER 4  /* collects, as of contended addresses */
#define REST_AFTER 60 /* where there is room */

struct sched_why {
	struct keyed *keyed;
	enum by_key by;
	int culprits_fd;
	struct cgroup_names *names;
	struct keyed_row **due; /* while a report is made */
};

struct why_row {
	struct keyed_row row;
	struct group_text victim;
	struct abi_culprit who;
	char comm[ABI_COMM_LEN + 1], cpu[12];
	char *cgroup;
};

const char *const sched_why_kinds[] = {
	[ABI_WHY_TASK] = "task",     [ABI_WHY_IDLE] = "idle-exit",
	[ABI_WHY_IRQ] = "irq",	     [ABI_WHY_SOFTIRQ] = "softirq",
	[ABI_WHY_STEAL] = "steal",   [ABI_WHY_THROTTLE] = "throttle",
	[ABI_WHY_KERNEL] = "kernel", [ABI_WHY_UNEXPLAINED] = "unexplained",
};

static bool is_other(const struct keyed_row *row)
{
	return row->key.obj == ABI_OBJ_OTHER;
}

static bool is_task(const struct keyed_row *row)
{
	return row->key.kind == ABI_WHY_TASK && !is_other(row);
}

/* As it is called now: a process may have become another program. */
static void ask_name(const struct sched_why *w, struct why_row *r)
{
	if (!bpf_map_lookup_elem(w->culprits_fd, &r->row.key.obj, &r->who))
		memcpy(r->comm, r->who.comm, ABI_COMM_LEN);
}

static int row_appeared(void *ctx, struct keyed_row *row)
{
	struct why_row *r = (struct why_row *)row;
	const struct sched_why *w = ctx;

	if (!is_other(row)) {
		group_text_init(&r->victim, w->by, &row->key, w->names);
		(void)snprintf(r->cpu, sizeof(r->cpu), "%u", row->key.cpu); /* fits */
	}
	if (!is_task(row))
		return 0;
	ask_name(w, r);
	if (r->who.cgroup_id) /* no memory: it has no name */
		r->cgroup = strdup(cgroup_name(w->names, r->who.cgroup_id));
	return 0;
}

static void row_leaves(void *ctx, struct keyed_row *row)
{
	struct why_row *r = (struct why_row *)row;
	const struct sched_why *w = ctx;

	/* Whoever is blamed again is described again. */
	if (is_task(row))
		(void)bpf_map_delete_elem(w->culprits_fd, &row->key.obj);
	group_text_free(&r->victim);
	free(r->cgroup);
}

int sched_why_open(struct sched_why **out, const struct sched_why_args *args, struct err *e)
{
	struct sched_why *w = calloc(1, sizeof(*w));
	struct keyed_args keyed = {
		.fds = {args->fds[0], args->fds[1]},
		.row_bytes = sizeof(struct why_row),
		.schema = ABI_KEY_SCHEMA,
		.ncpus = args->ncpus,
		.per_cpu = args->by == BY_CPU,
		.what = "who made tasks wait",
		.room = args->room / 4 * 3,
		.cold_after = COLD_AFTER,
		.rest_after = REST_AFTER,
		.appeared = row_appeared,
		.leaves = row_leaves,
		.ctx = w,
	};

	*out = w;
	if (!w)
		return err_sys(e, -ENOMEM, "--why");
	w->by = args->by;
	w->culprits_fd = args->culprits_fd;
	w->names = args->names;
	return keyed_open(&w->keyed, &keyed, e);
}

int sched_why_collect(struct sched_why *w, uint64_t epoch, bool ends, struct err *e)
{
	return keyed_collect(w->keyed, epoch, ends, e);
}

void sched_why_forget(struct sched_why *w)
{
	keyed_forget(w->keyed);
}

static uint32_t victim_labels(const struct sched_why *w, struct why_row *r,
			      struct label labels[CULPRIT_LABELS])
{
	if (is_other(&r->row))
		return 0;
	if (w->by == BY_CPU) {
		labels[0] = (struct label){"cpu", r->cpu};
		return 1;
	}
	return group_labels(&r->victim, w->by, &r->row, labels);
}

static int push_sums(struct culprit_list *l, const struct culprit *c, const uint64_t *sums)
{
	struct culprit one = *c;

	one.count = sums[ABI_WHY_COUNT];
	one.wait_ns = sums[ABI_WHY_NS];
	return one.wait_ns ? culprit_push(l, &one) : 0;
}

static int push_row(const struct sched_why *w, struct why_row *r, struct source_report *report)
{
	struct culprit c = {.kind = sched_why_kinds[r->row.key.kind % ABI_WHY_KINDS]};
	int ret;

	c.nvictim = victim_labels(w, r, c.victim);
	if (is_task(&r->row)) {
		if (r->row.active && (w->by == BY_PID || w->by == BY_TID))
			ask_name(w, r);
		c.pid = r->who.pid;
		c.tid = r->who.tid;
		c.comm = r->comm[0] ? r->comm : NULL;
		c.cgroup = r->cgroup;
	}
	ret = push_sums(&report->interval.culprits, &c, r->row.sums_interval);
	return ret ? ret : push_sums(&report->total.culprits, &c, r->row.sums_total);
}

/* ---- where a reschedule was due: of all who waited, whichever task ran on ---- */

static int compare_groups(const void *a, const void *b)
{
	const struct keyed_row *x = *(struct keyed_row *const *)a;
	const struct keyed_row *y = *(struct keyed_row *const *)b;
	int order = memcmp(x->key.comm, y->key.comm, sizeof(x->key.comm));

	if (!order && x->key.cpu != y->key.cpu)
		order = x->key.cpu < y->key.cpu ? -1 : 1;
	return order ? order : is_other(x) - is_other(y);
}

static int push_due(const struct sched_why *w, struct keyed_row *const *rows, size_t n,
		    struct source_report *report)
{
	struct culprit c = {.kind = sched_why_kinds[ABI_WHY_KERNEL]};
	uint64_t interval[ABI_SUMS] = {0}, total[ABI_SUMS] = {0};
	size_t i;
	int ret;

	for (i = 0; i < n; i++) {
		interval[ABI_WHY_NS] += rows[i]->sums_interval[ABI_WHY_DUE_NS];
		interval[ABI_WHY_COUNT] += rows[i]->sums_interval[ABI_WHY_DUE_COUNT];
		total[ABI_WHY_NS] += rows[i]->sums_total[ABI_WHY_DUE_NS];
		total[ABI_WHY_COUNT] += rows[i]->sums_total[ABI_WHY_DUE_COUNT];
	}
	c.nvictim = victim_labels(w, (struct why_row *)rows[0], c.victim);
	ret = push_sums(&report->interval.culprits, &c, interval);
	return ret ? ret : push_sums(&report->total.culprits, &c, total);
}

static int push_all_due(struct sched_why *w, size_t n, struct source_report *report)
{
	struct keyed_row **rows, *row;
	size_t from, to;
	int ret = 0;

	rows = reallocarray(w->due, n + 1, sizeof(struct keyed_row *));
	if (!rows)
		return -ENOMEM;
	w->due = rows;
	n = 0;
	for (row = keyed_first(w->keyed); row; row = row->next)
		if (row->sums_total[ABI_WHY_DUE_NS])
			rows[n++] = row;
	qsort(rows, n, sizeof(struct keyed_row *), compare_groups);
	for (from = 0; !ret && from < n; from = to) {
		for (to = from + 1; to < n && !compare_groups(&rows[from], &rows[to]); to++)
			;
		ret = push_due(w, rows + from, to - from, report);
	}
	return ret;
}

int sched_why_push(struct sched_why *w, struct source_report *r)
{
	struct keyed_row *row;
	size_t n = 0;
	int ret = 0;

	for (row = keyed_first(w->keyed); !ret && row; row = row->next, n++)
		ret = push_row(w, (struct why_row *)row, r);
	return ret ? ret : push_all_due(w, n, r);
}

void sched_why_close(struct sched_why *w)
{
	if (!w)
		return;
	keyed_close(w->keyed);
	free(w->due);
	free(w);
}
