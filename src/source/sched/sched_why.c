// SPDX-License-Identifier: GPL-2.0-or-later
/* --why: rows of keyed.h, a group that waited and whom it waited for, as culprits of a report. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi_why.h"
#include "source/sys/bpf_util.h"
#include "source/bpf/counts.h"
#include "source/bpf/groups.h"
#include "source/bpf/keyed.h"
#include "source/sched/sched.h"

_Static_assert(CULPRIT_LENGTHS == ABI_WHY_LENGTHS - 1, "lengths that are kept");
_Static_assert(ABI_WHY_KINDS <= ABI_WHY_KIND_MASK + 1, "kinds are bits of a key");

#define COLD_AFTER 4  /* collects, as of contended addresses */
#define REST_AFTER 60 /* where there is room */

struct sched_why {
	struct keyed *keyed;
	enum by_key by;
	int culprits_fd, pairs_fd;
	uint32_t ncpus;
	struct cgroup_names *names;
	struct keyed_row **rows; /* while a report is made */
};

struct why_row {
	struct keyed_row row;
	struct group_text victim;
	struct abi_culprit who;
	char comm[ABI_COMM_LEN + 1], cpu[12];
	char *cgroup;
};

const char *const sched_why_kinds[] = {
	[ABI_WHY_TASK] = "task",      [ABI_WHY_IDLE] = "idle-exit",
	[ABI_WHY_IRQ] = "irq",	      [ABI_WHY_SOFTIRQ] = "softirq",
	[ABI_WHY_STEAL] = "steal",    [ABI_WHY_THROTTLE] = "throttle",
	[ABI_WHY_KERNEL] = "kernel",  [ABI_WHY_UNEXPLAINED] = "unexplained",
	[ABI_WHY_RT] = "rt-throttle", [ABI_WHY_DL] = "dl-throttle",
};

void sched_why_class(struct culprit *c, uint32_t rt_class)
{
	c->rt_class = rt_class == ABI_WHY_DEADLINE ? "SCHED_DEADLINE"
		      : rt_class > ABI_WHY_RR	   ? "SCHED_RR"
		      : rt_class		   ? "SCHED_FIFO"
						   : NULL;
	c->priority = rt_class == ABI_WHY_DEADLINE ? 0 : rt_class % ABI_WHY_RR;
}

static bool is_other(const struct keyed_row *row)
{
	return row->key.obj == ABI_OBJ_OTHER;
}

static uint32_t kind_of(const struct keyed_row *row)
{
	return row->key.kind & ABI_WHY_KIND_MASK;
}

static uint32_t class_of(const struct keyed_row *row)
{
	return row->key.kind >> ABI_WHY_CLASS_SHIFT;
}

static bool is_task(const struct keyed_row *row)
{
	return kind_of(row) == ABI_WHY_TASK && !is_other(row);
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
		.other_kinds = ABI_WHY_KIND_MASK,
		.appeared = row_appeared,
		.leaves = row_leaves,
		.ctx = w,
	};

	*out = w;
	if (!w)
		return err_sys(e, -ENOMEM, "--why");
	w->by = args->by;
	w->culprits_fd = args->culprits_fd;
	w->pairs_fd = args->pairs_fd;
	w->ncpus = args->ncpus;
	w->names = args->names;
	return keyed_open(&w->keyed, &keyed, e);
}

/* What each CPU has counted of a bank that nobody writes now goes into the bank's map. */
static int collect_pairs(const struct sched_why *w, uint32_t bank)
{
	uint64_t ctx[] = {0, bank};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = ctx, .ctx_size_in = sizeof(ctx));
	int ret = 0;

	for (; !ret && ctx[0] < w->ncpus; ctx[0]++)
		ret = bpf_prog_test_run_opts(w->pairs_fd, &run);
	return ret;
}

int sched_why_collect(struct sched_why *w, uint64_t epoch, bool ends, struct err *e)
{
	int ret = 0;

	for (uint32_t bank = 0; !ret && w->pairs_fd >= 0 && bank < ABI_BANKS; bank++)
		if (counts_bank_ended(bank, epoch))
			ret = collect_pairs(w, bank);
	if (ret)
		return bpf_fail(e, ret, "--why: run a BPF program");
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

static int push(struct culprit_list *l, struct culprit *c)
{
	return c->wait_ns ? culprit_push(l, c) : 0;
}

/* One row of theirs for all lengths of waits. */
static void add_sums(struct culprit *c, const struct keyed_row *row, const uint64_t *sums,
		     const uint32_t which[2])
{
	uint32_t length = row->key.kind >> ABI_WHY_LENGTH_SHIFT & 0xff;

	c->wait_ns += sums[which[0]];
	c->count += sums[which[1]];
	if (length)
		c->length_ns[(length - 1) % CULPRIT_LENGTHS] += sums[which[0]];
}

static void describe(const struct sched_why *w, struct why_row *r, struct culprit *c)
{
	*c = (struct culprit){.kind = sched_why_kinds[kind_of(&r->row)]};
	c->nvictim = victim_labels(w, r, c->victim);
	if (!is_task(&r->row))
		return;
	if (r->row.active && (w->by == BY_PID || w->by == BY_TID))
		ask_name(w, r);
	c->pid = r->who.pid;
	c->tid = r->who.tid;
	c->comm = r->comm[0] ? r->comm : NULL;
	c->cgroup = r->cgroup;
	sched_why_class(c, class_of(&r->row));
}

static int compare_groups(const struct keyed_row *x, const struct keyed_row *y)
{
	int order = memcmp(x->key.comm, y->key.comm, sizeof(x->key.comm));

	if (!order && x->key.cpu != y->key.cpu)
		order = x->key.cpu < y->key.cpu ? -1 : 1;
	return order ? order : is_other(x) - is_other(y);
}

static int compare_who(const struct keyed_row *x, const struct keyed_row *y)
{
	int order = compare_groups(x, y);

	if (!order && kind_of(x) != kind_of(y))
		order = kind_of(x) < kind_of(y) ? -1 : 1;
	if (!order && x->key.obj != y->key.obj)
		order = x->key.obj < y->key.obj ? -1 : 1;
	if (!order && class_of(x) != class_of(y))
		order = class_of(x) < class_of(y) ? -1 : 1;
	return order;
}

/* What came last has the name of now. */
static int compare_rows(const void *a, const void *b)
{
	const struct keyed_row *x = *(struct keyed_row *const *)a;
	const struct keyed_row *y = *(struct keyed_row *const *)b;
	int order = compare_who(x, y);

	return order ? order : y->active - x->active;
}

/* `which` of the sums of all these rows, as one of that kind. */
static int push_rows(struct keyed_row *const *rows, size_t n, const struct culprit *as,
		     const uint32_t which[2], struct source_report *report)
{
	struct culprit interval = *as, total = *as;
	int ret;

	for (size_t i = 0; i < n; i++) {
		add_sums(&interval, rows[i], rows[i]->sums_interval, which);
		add_sums(&total, rows[i], rows[i]->sums_total, which);
	}
	ret = push(&report->interval.culprits, &interval);
	return ret ? ret : push(&report->total.culprits, &total);
}

/* Rows of one group that waited: one for each culprit, and one for where a reschedule was due, of
 * all tasks that ran on then. */
static int push_group(const struct sched_why *w, struct keyed_row *const *rows, size_t n,
		      struct source_report *report)
{
	static const uint32_t ran[] = {ABI_WHY_NS, ABI_WHY_COUNT};
	static const uint32_t due[] = {ABI_WHY_DUE_NS, ABI_WHY_DUE_COUNT};
	struct culprit c;
	size_t from, to;
	int ret = 0;

	for (from = 0; !ret && from < n; from = to) {
		for (to = from + 1; to < n && !compare_who(rows[from], rows[to]); to++)
			;
		describe(w, (struct why_row *)rows[from], &c);
		ret = push_rows(rows + from, to - from, &c, ran, report);
	}
	c = (struct culprit){.kind = sched_why_kinds[ABI_WHY_KERNEL]};
	c.nvictim = victim_labels(w, (struct why_row *)rows[0], c.victim);
	return ret ? ret : push_rows(rows, n, &c, due, report);
}

int sched_why_push(struct sched_why *w, struct source_report *r)
{
	struct keyed_row **rows, *row;
	size_t n = 0, from, to;
	int ret = 0;

	for (row = keyed_first(w->keyed); row; row = row->next)
		n++;
	rows = reallocarray(w->rows, n + 1, sizeof(struct keyed_row *));
	if (!rows)
		return -ENOMEM;
	w->rows = rows;
	n = 0;
	for (row = keyed_first(w->keyed); row; row = row->next)
		rows[n++] = row;
	qsort(rows, n, sizeof(struct keyed_row *), compare_rows);
	for (from = 0; !ret && from < n; from = to) {
		for (to = from + 1; to < n && !compare_groups(rows[from], rows[to]); to++)
			;
		ret = push_group(w, rows + from, to - from, r);
	}
	return ret;
}

void sched_why_close(struct sched_why *w)
{
	if (!w)
		return;
	keyed_close(w->keyed);
	free(w->rows);
	free(w);
}
