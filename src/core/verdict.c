// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --why: the end of a final report, from its numbers alone.
 *
 *	most of the waiting for a CPU: cc1, 61.2 % of 17.0 s
 *	of the tail, 12 waits over 15.6 ms (1.1 % of all): hog, 93.0 % of 480 ms
 *	most expensive lock: mutex app`orders, 3.2 s waited; held longest by db 31, 92.0 %; holders:
 *	running 3.1 %, runnable 60.4 %, blocked 36.5 %
 *	interrupts: 4.0 % of the waiting for a CPU; taken by the hypervisor: 3.5 %
 *	unexplained: 0.2 %
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/culprit.h"
#include "core/fields.h"
#include "core/text.h"

#define SHARE_BYTES 16
#define TIME_BYTES 32

static const char *share(uint64_t part, uint64_t all, char out[SHARE_BYTES])
{
	return format_share(out, SHARE_BYTES, part, all, 1);
}

static char *next_line(struct verdict *v)
{
	return v->line[v->n++];
}

/* ---- who is to blame most, of all who waited together ---- */

static int compare_who(const void *a, const void *b)
{
	return culprit_compare(*(const struct culprit *const *)a,
			       *(const struct culprit *const *)b);
}

/* Of waits from that length on. */
static uint64_t blamed(const struct culprit *c, uint32_t from)
{
	uint64_t sum = 0;

	for (uint32_t i = from; i < CULPRIT_LENGTHS; i++)
		sum += c->length_ns[i];
	return sum;
}

#define ALL_LENGTHS UINT32_MAX

/* What is unexplained is nobody. */
static int find_largest(const struct frame *f, uint32_t from, struct culprit *out)
{
	const struct culprit **v = calloc(f->nculprits + 1, sizeof(*v));
	uint64_t sum = 0;

	*out = (struct culprit){0};
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < f->nculprits; i++)
		v[i] = &f->culprits[i];
	qsort(v, f->nculprits, sizeof(*v), compare_who);
	for (size_t i = 0; i < f->nculprits; i++) {
		if (i && compare_who(&v[i - 1], &v[i]))
			sum = 0;
		sum += from == ALL_LENGTHS ? v[i]->wait_ns : blamed(v[i], from);
		if (sum > out->wait_ns && strcmp(v[i]->kind, "unexplained")) {
			*out = *v[i];
			out->wait_ns = sum;
		}
	}
	free(v);
	return 0;
}

static int say_largest(struct verdict *v, const struct frame *f, uint64_t all)
{
	char name[CULPRIT_NAME_BYTES], percent[SHARE_BYTES], waited[TIME_BYTES];
	struct culprit most;
	int ret = find_largest(f, ALL_LENGTHS, &most);

	if (ret || !most.wait_ns)
		return ret;
	(void)snprintf(next_line(v), VERDICT_BYTES,
		       "most of the waiting for a CPU: %s, %s %% of %s",
		       culprit_name(&most, name, sizeof(name)), share(most.wait_ns, all, percent),
		       format_duration(waited, sizeof(waited), all));
	return 0;
}

/* ---- the same of the longest waits ---- */

/* Waits by the power of two of a second that they are not above: all up to 2^-20 s are in the first. */
struct waits {
	uint64_t n[CULPRIT_LENGTHS], all;
};

static void count_waits(struct waits *w, const struct hist *h)
{
	struct hist_buckets at = {0};

	w->all += h->count;
	w->n[0] += h->zero;
	while (hist_next_bucket(h, 0, &at)) {
		int32_t i = at.bucket - CULPRIT_LENGTH_FIRST;

		w->n[i < 0 ? 0 : i < CULPRIT_LENGTHS ? i : CULPRIT_LENGTHS - 1] += at.n;
	}
}

/* Those whose parts the culprits' rows are. */
static void count_all_waits(struct waits *w, const struct frame *f)
{
	for (size_t i = 0; i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (!s->nlabels && s->hist &&
		    (!strcmp(s->desc->name, "sched_run_delay") ||
		     !strcmp(s->desc->name, "sched_throttle_wait")))
			count_waits(w, s->hist);
	}
}

/* Which of the lengths has the 99th percentile, by nearest rank, and how many waits are of that length or
 * longer. 0: the first one, or there are no waits. */
static uint32_t find_tail(const struct waits *w, uint64_t *n)
{
	uint64_t rank = w->all - w->all / 100, below = 0;
	uint32_t i;

	for (i = 0; i < CULPRIT_LENGTHS && below + w->n[i] < rank; i++)
		below += w->n[i];
	*n = w->all - below;
	return i < CULPRIT_LENGTHS ? i : 0;
}

static bool knows_lengths(const struct frame *f)
{
	for (size_t i = 0; i < f->nculprits; i++)
		if (blamed(&f->culprits[i], 0) != f->culprits[i].wait_ns)
			return false;
	return true;
}

/* 2^(length - 1) s, as far as that is whole nanoseconds. */
static uint64_t longer_than_ns(uint32_t length)
{
	return (1000000000ULL << (length - 1)) >> -CULPRIT_LENGTH_FIRST;
}

/*
 * The waits at and above the 99th percentile, and what of shorter ones is longer than the nearest power
 * of two of a second: whom each was for is known by that. No line where it is not known of all.
 */
static int say_tail(struct verdict *v, const struct frame *f)
{
	char name[CULPRIT_NAME_BYTES], a[SHARE_BYTES], b[SHARE_BYTES], c[32];
	char longer[TIME_BYTES], waited[TIME_BYTES];
	struct waits w = {0};
	struct culprit most;
	uint64_t n, ns = 0;
	uint32_t from;
	int ret;

	count_all_waits(&w, f);
	from = find_tail(&w, &n);
	if (!from || !knows_lengths(f))
		return 0;
	ret = find_largest(f, from, &most);
	if (ret || !most.wait_ns)
		return ret;
	for (size_t i = 0; i < f->nculprits; i++)
		ns += blamed(&f->culprits[i], from);
	(void)snprintf(next_line(v), VERDICT_BYTES,
		       "of the tail, %s wait%s over %s (%s %% of all): %s, %s %% of %s",
		       format_count(c, sizeof(c), n), n == 1 ? "" : "s",
		       format_duration(longer, sizeof(longer), longer_than_ns(from)),
		       share(n, w.all, a), culprit_name(&most, name, sizeof(name)),
		       share(most.wait_ns, ns, b), format_duration(waited, sizeof(waited), ns));
	return 0;
}

/* ---- locks ---- */

static bool is_lock(const struct contended *c)
{
	if (c->other || !c->wait || (c->futex && c->futex->idle))
		return false;
	return !strcmp(c->source, "lock") || !strcmp(c->source, "futex");
}

static int compare_locks(const void *a, const void *b)
{
	const struct contended *x = *(const struct contended *const *)a;
	const struct contended *y = *(const struct contended *const *)b;
	int order = strcmp(x->source, y->source);

	if (!order && x->pid != y->pid)
		order = x->pid < y->pid ? -1 : 1;
	if (!order && x->addr != y->addr)
		order = x->addr < y->addr ? -1 : 1;
	return order;
}

/* Rows of one address: with --by it has one for each group. */
struct lock {
	const struct contended *const *rows;
	size_t n;
	uint64_t wait_ns;
};

static struct lock find_lock(const struct contended *const *rows, size_t n)
{
	struct lock most = {0}, one;
	size_t from;

	for (from = 0; from < n; from += one.n) {
		one = (struct lock){.rows = rows + from};
		while (from + one.n < n && !compare_locks(&rows[from], &rows[from + one.n]))
			one.wait_ns += rows[from + one.n++]->wait->sum_ns;
		if (one.wait_ns > most.wait_ns)
			most = one;
	}
	return most;
}

static int compare_holders(const void *a, const void *b)
{
	const struct holder *x = *(const struct holder *const *)a;
	const struct holder *y = *(const struct holder *const *)b;

	return x->tid == y->tid ? 0 : x->tid < y->tid ? -1 : 1;
}

/* What all holders did together, and in `longest` which thread held it longest. */
static int sum_holders(const struct lock *l, struct holder *all, struct holder *longest)
{
	const struct holder **v, *h;
	uint64_t sum = 0;
	size_t n = 0, i, j;

	*all = *longest = (struct holder){0};
	for (i = 0; i < l->n; i++)
		n += l->rows[i]->nholders;
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (n = i = 0; i < l->n; i++)
		for (j = 0; j < l->rows[i]->nholders; j++)
			if (l->rows[i]->holders[j].tid)
				v[n++] = &l->rows[i]->holders[j];
	qsort(v, n, sizeof(*v), compare_holders);
	for (i = 0; i < n; i++) {
		h = v[i];
		fields_add(&holder_fields, all, h);
		sum = i && v[i - 1]->tid == h->tid ? sum + h->wait_ns : h->wait_ns;
		if (sum > longest->wait_ns) {
			*longest = *h;
			longest->wait_ns = sum;
		}
	}
	free(v);
	return 0;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What held it that is no thread: "(readers)", "(released)". */
static uint64_t held_by_none(const struct lock *l, const char *what)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->n; i++)
		for (size_t j = 0; j < l->rows[i]->nholders; j++) {
			const struct holder *h = &l->rows[i]->holders[j];

			if (!h->tid && h->comm && !strcmp(h->comm, what))
				sum += h->wait_ns;
		}
	return sum;
}

/* Puts ", WHAT 12.3 %" behind what is in `out`; nothing of nothing. */
static void add_share(char *out, const char *what, uint64_t ns, uint64_t all)
{
	char percent[SHARE_BYTES];
	size_t n = strlen(out);

	if (ns)
		(void)snprintf(out + n, VERDICT_BYTES - n, "%s%s %s %%", n ? ", " : "", what,
			       share(ns, all, percent)); /* they fit */
}

static const char *lock_name(const struct contended *c, char *out, size_t len)
{
	if (c->name)
		(void)snprintf(out, len, "%s %s", c->kind, c->name);
	else
		(void)snprintf(out, len, "%s 0x%" PRIx64, c->kind, c->addr);
	return out;
}

static int say_lock_of(struct verdict *v, const struct lock *l)
{
	char name[CULPRIT_NAME_BYTES], who[CULPRIT_NAME_BYTES] = "", percent[SHARE_BYTES];
	char waited[TIME_BYTES], did[VERDICT_BYTES] = "";
	uint64_t readers = held_by_none(l, "(readers)"), released = held_by_none(l, "(released)");
	uint64_t rest = l->wait_ns;
	struct holder all, most;
	int ret = sum_holders(l, &all, &most);

	if (ret)
		return ret;
	if (most.tid)
		(void)snprintf(who, sizeof(who), "; held longest by %s %" PRIu32 ", %s %%",
			       holder_name(&most), most.tid,
			       share(most.wait_ns, l->wait_ns, percent));
	add_share(did, "running", all.running_ns, l->wait_ns);
	add_share(did, "runnable", all.runnable_ns, l->wait_ns);
	add_share(did, "out of quota", all.throttled_ns, l->wait_ns);
	add_share(did, "blocked", all.blocked_ns, l->wait_ns);
	add_share(did, "readers", readers, l->wait_ns);
	add_share(did, "released", released, l->wait_ns);
	rest = less(less(less(rest, all.wait_ns), readers), released);
	add_share(did, "not known", rest, l->wait_ns);
	(void)snprintf(next_line(v), VERDICT_BYTES,
		       "most expensive lock: %s, %s waited%s; holders: %s",
		       lock_name(l->rows[0], name, sizeof(name)),
		       format_duration(waited, sizeof(waited), l->wait_ns), who, did);
	return 0;
}

static int say_lock(struct verdict *v, const struct frame *f)
{
	const struct contended **rows = calloc(f->ncontended + 1, sizeof(*rows));
	struct lock most;
	bool asked = f->why; /* --why: at least one row has holders */
	size_t n = 0;
	int ret = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < f->ncontended; i++)
		if (is_lock(&f->contended[i])) {
			rows[n++] = &f->contended[i];
			asked |= f->contended[i].nholders != 0;
		}
	if (!asked)
		n = 0;
	qsort(rows, n, sizeof(*rows), compare_locks);
	most = find_lock(rows, n);
	if (most.wait_ns)
		ret = say_lock_of(v, &most);
	free(rows);
	return ret;
}

/* ---- all of it ---- */

static void say_rest(struct verdict *v, const struct frame *f, uint64_t all)
{
	uint64_t part = culprit_sum(f, "irq") + culprit_sum(f, "softirq");
	char a[SHARE_BYTES], b[SHARE_BYTES];

	(void)snprintf(next_line(v), VERDICT_BYTES,
		       "interrupts: %s %% of the waiting for a CPU; taken by the hypervisor: %s %%",
		       share(part, all, a), share(culprit_sum(f, "steal"), all, b));
	(void)snprintf(next_line(v), VERDICT_BYTES, "unexplained: %s %%",
		       share(culprit_sum(f, "unexplained"), all, a));
}

int verdict_make(struct verdict *v, const struct frame *f)
{
	uint64_t all = culprit_sum(f, NULL);
	int ret = 0;

	v->n = 0;
	if (all)
		ret = say_largest(v, f, all);
	if (!ret && all)
		ret = say_tail(v, f);
	if (!ret)
		ret = say_lock(v, f);
	if (!ret && all)
		say_rest(v, f, all);
	return ret;
}
