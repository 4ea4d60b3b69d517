// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/culprit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fields.h"
#include "core/summary.h"
#include "core/text.h"

#define SHARE_BYTES 16
#define TIME_BYTES 32

static const struct {
	const char *kind;
	const char *words; /* in a table, and in a sentence */
} words[] = {
	{"idle-exit", "way out of idle"},
	{"irq", "hard interrupts"},
	{"softirq", "soft interrupts"},
	{"steal", "hypervisor"},
	{"throttle", "out of quota"},
	{"kernel", "kernel: reschedule due"},
	{"rt-throttle", "real-time tasks out of their runtime"},
	{"dl-throttle", "SCHED_DEADLINE budget used up"},
	{"unexplained", "unexplained"},
};

static bool is_kind(const struct culprit *k, const char *kind)
{
	return !strcmp(k->kind, kind);
}

const char *culprit_name(const struct culprit *k, char *out, size_t len)
{
	char class[32] = "";

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_kind(k, words[i].kind)) {
			(void)snprintf(out, len, "(%s)", words[i].words); /* fits */
			return out;
		}
	if (k->priority)
		(void)snprintf(class, sizeof(class), ", %s %" PRIu32, k->rt_class, k->priority);
	else if (k->rt_class)
		(void)snprintf(class, sizeof(class), ", %s", k->rt_class);
	/* A cgroup's path may be longer than there is room: its start is enough. */
	if (k->pid)
		(void)snprintf(out, len, "%s %" PRIu32 "%s", k->comm ? k->comm : "?",
			       k->tid ? k->tid : k->pid, class);
	else if (k->comm || k->cgroup)
		(void)snprintf(out, len, "%s%s", k->comm ? k->comm : k->cgroup, class);
	else
		(void)snprintf(out, len, "(other tasks)");
	return out;
}

const char *holder_name(const struct holder *h)
{
	return h->comm ? h->comm : h->tid ? "?" : "holder not known";
}

const struct culprit *culprit_most(const struct slow *w)
{
	const struct culprit *most = w->culprits;

	for (size_t i = 1; i < w->nculprits; i++)
		if (w->culprits[i].wait_ns > most->wait_ns)
			most = &w->culprits[i];
	return w->nculprits ? most : NULL;
}

const struct holder *holder_longest(const struct slow_held *held)
{
	for (size_t i = 0; i < held->nholders; i++) /* they are sorted */
		if (held->holders[i].tid)
			return &held->holders[i];
	return NULL;
}

int culprit_compare(const struct culprit *x, const struct culprit *y)
{
	int order = strcmp(x->kind, y->kind) ?: (x->pid > y->pid) - (x->pid < y->pid) ?:
		    (x->tid > y->tid) - (x->tid < y->tid) ?:
		    strcmp(x->rt_class ?: "", y->rt_class ?: "") ?:
		    (x->priority > y->priority) - (x->priority < y->priority);

	if (order || x->pid)
		return order;
	return strcmp(x->comm ?: "", y->comm ?: "") ?: strcmp(x->cgroup ?: "", y->cgroup ?: "");
}

uint64_t culprit_sum(const struct frame *f, const char *kind)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->nculprits; i++)
		if (!kind || is_kind(&f->culprits[i], kind))
			sum += f->culprits[i].wait_ns;
	return sum;
}

/* ---- the verdict ---- */

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
static const char *share(uint64_t part, uint64_t all, char out[SHARE_BYTES])
{
	return format_share(out, SHARE_BYTES, part, all, 1);
}

/*
 * What of it is blamed on somebody at least: a part of 1 / HARDLY of the time of those who waited.
 */
#define HARDLY 100

/* The time of the tasks in question, of the CPUs without a filter; UINT64_MAX: not known. */
static uint64_t time_of(const struct frame *f)
{
	const struct times *t = summary_find_times(f, NULL);
	uint64_t all = t ? times_all_ns(t) : 0;

	return all ? all : UINT64_MAX;
}

static bool is_hardly(uint64_t waited, uint64_t time_ns)
{
	return time_ns != UINT64_MAX && waited < time_ns / HARDLY;
}

/* The tool's own part: its threads, and the children that look for names. */
static const char *itself(const struct culprit *k)
{
	return is_kind(k, "task") && k->comm && !strncmp(k->comm, "waitscope", 9) ? " itself" : "";
}

/* ---- who is to blame most, of all who waited together ---- */

static int compare_who(const void *a, const void *b)
{
	return culprit_compare(*(const struct culprit *const *)a,
			       *(const struct culprit *const *)b);
}

#define ALL_LENGTHS UINT32_MAX

/* Of waits from that length on. */
static uint64_t blamed(const struct culprit *c, uint32_t from)
{
	uint64_t sum = from == ALL_LENGTHS ? c->wait_ns : 0;

	for (uint32_t i = from; i < CULPRIT_LENGTHS; i++)
		sum += c->length_ns[i];
	return sum;
}

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
		sum += blamed(v[i], from);
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
	(void)snprintf(
		v->line[v->n++], VERDICT_BYTES, "%s of the waiting for a CPU: %s%s, %s %% of %s",
		most.wait_ns > all / 2 ? "most" : "the largest part",
		culprit_name(&most, name, sizeof(name)), itself(&most),
		share(most.wait_ns, all, percent), format_duration(waited, sizeof(waited), all));
	return 0;
}

/*
 * Nobody is blamed for what hardly was: what the tasks did instead.
 *
 *	hardly any waiting for a CPU: 106 us, 0.004 % of the time; 1 thread: on CPU 0.04 %, waiting for a CPU 0.004 %,
 *	asleep 99.95 %
 */
static void say_hardly(struct verdict *v, const struct frame *f, const char *what, uint64_t waited,
		       uint64_t time_ns)
{
	char times[SUMMARY_BYTES] = "", percent[SHARE_BYTES], text[TIME_BYTES];

	if (!v->n) /* once is enough */
		summary_times(times, f, NULL);
	(void)snprintf(v->line[v->n++], VERDICT_BYTES,
		       "hardly any waiting for %s: %s, %s %% of the time%s%s", what,
		       format_duration(text, sizeof(text), waited),
		       format_share(percent, sizeof(percent), waited, time_ns, SHARE_EXACT),
		       *times ? "; " : "", times); /* fits */
}

/* ---- the same of the longest waits ---- */

/* Waits by the power of two of a second that they are not above: all up to 2^-20 s are in the
 * first. */
struct waits {
	uint64_t n[CULPRIT_LENGTHS], all;
};

/* Those whose parts the culprits' rows are. */
static void count_waits(struct waits *w, const struct frame *f)
{
	for (size_t k = 0; k < f->nseries; k++) {
		const struct series *s = &f->series[k];
		struct hist_buckets at = {0};

		if (s->nlabels || !s->hist ||
		    (strcmp(s->desc->name, "sched_run_delay") &&
		     strcmp(s->desc->name, "sched_throttle_wait")))
			continue;
		w->all += s->hist->count;
		w->n[0] += s->hist->zero;
		while (hist_next_bucket(s->hist, 0, &at)) {
			int32_t i = at.bucket - CULPRIT_LENGTH_FIRST;

			w->n[i < 0 ? 0 : i < CULPRIT_LENGTHS ? i : CULPRIT_LENGTHS - 1] += at.n;
		}
	}
}

/* Which of the lengths has the 99th percentile, by nearest rank, and how many waits are of that
 * length or longer. 0: the first one, or there are no waits. */
static uint32_t find_tail(const struct waits *w, uint64_t *n)
{
	uint64_t rank = w->all - w->all / 100, below = 0;
	uint32_t i;

	for (i = 0; i < CULPRIT_LENGTHS && below + w->n[i] < rank; i++)
		below += w->n[i];
	*n = w->all - below;
	return i < CULPRIT_LENGTHS ? i : 0;
}

/*
 * The waits at and above the 99th percentile, and what of shorter ones is longer than the nearest
 * power of two of a second: whom each was for is known by that. No line where it is not known of
 * all.
 */
static int say_tail(struct verdict *v, const struct frame *f)
{
	char name[CULPRIT_NAME_BYTES], a[SHARE_BYTES], b[SHARE_BYTES], c[32];
	char longer[TIME_BYTES], waited[TIME_BYTES];
	struct waits w = {0};
	struct culprit most;
	uint64_t n, ns = 0, longer_ns;
	uint32_t from;
	int ret;

	count_waits(&w, f);
	from = find_tail(&w, &n);
	if (!from)
		return 0;
	for (size_t i = 0; i < f->nculprits; i++) {
		if (blamed(&f->culprits[i], 0) != f->culprits[i].wait_ns)
			return 0;
		ns += blamed(&f->culprits[i], from);
	}
	ret = find_largest(f, from, &most);
	if (ret || !most.wait_ns)
		return ret;
	/* 2^(length - 1) s, as far as that is whole nanoseconds. */
	longer_ns = (1000000000ULL << (from - 1)) >> -CULPRIT_LENGTH_FIRST;
	(void)snprintf(v->line[v->n++], VERDICT_BYTES,
		       "of the tail, %s wait%s over %s (%s %% of all): %s%s, %s %% of %s",
		       format_count(c, sizeof(c), n), n == 1 ? "" : "s",
		       format_duration(longer, sizeof(longer), longer_ns), share(n, w.all, a),
		       culprit_name(&most, name, sizeof(name)), itself(&most),
		       share(most.wait_ns, ns, b), format_duration(waited, sizeof(waited), ns));
	return 0;
}

/* ---- locks ---- */

static bool is_lock(const struct contended *c)
{
	if (c->other || !c->wait || contended_class(c) != CLASS_LOCK)
		return false;
	return !strcmp(c->source, "lock") || !strcmp(c->source, "futex");
}

static int compare_locks(const void *a, const void *b)
{
	const struct contended *x = *(const struct contended *const *)a;
	const struct contended *y = *(const struct contended *const *)b;

	return strcmp(x->source, y->source) ?: (x->pid > y->pid) - (x->pid < y->pid) ?:
	       (x->addr > y->addr) - (x->addr < y->addr);
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

/* The largest part in which no thread is known to have held it, in words. */
static const char *held_by_rest(const struct lock *l, const struct holder *all, uint64_t *ns)
{
	uint64_t readers = held_by_none(l, "(readers)"), released = held_by_none(l, "(released)");
	uint64_t known = all->wait_ns + readers + released;
	uint64_t unknown = l->wait_ns > known ? l->wait_ns - known : 0;

	*ns = readers > released ? readers : released;
	*ns = *ns > unknown ? *ns : unknown;
	if (*ns == unknown)
		return "holder mostly not known";
	return *ns == readers ? "held mostly by readers" : "mostly released already";
}

/* "running 3.1 %, blocked 36.5 %": what of the waits for it the lock's holders did. */
static void tell_holders(char out[VERDICT_BYTES], const struct lock *l, const struct holder *all)
{
	uint64_t readers = held_by_none(l, "(readers)"), released = held_by_none(l, "(released)");
	uint64_t known = all->wait_ns + readers + released;
	const struct {
		const char *what;
		uint64_t ns;
	} parts[] = {
		{"running", all->running_ns},
		{"runnable", all->runnable_ns},
		{"out of quota", all->throttled_ns},
		{"blocked", all->blocked_ns},
		{"readers", readers},
		{"released", released},
		{"not known", l->wait_ns > known ? l->wait_ns - known : 0},
	};
	char percent[SHARE_BYTES];
	size_t at = 0;

	*out = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].ns) /* they fit */
			at += (size_t)snprintf(out + at, VERDICT_BYTES - at, "%s%s %s %%",
					       at ? ", " : "", parts[i].what,
					       share(parts[i].ns, l->wait_ns, percent));
}

static int say_lock_of(struct verdict *v, const struct lock *l)
{
	char who[CULPRIT_NAME_BYTES] = "", waited[TIME_BYTES], percent[SHARE_BYTES], addr[32];
	char did[VERDICT_BYTES], name[CULPRIT_NAME_BYTES];
	const struct contended *c = l->rows[0];
	struct holder all, most;
	uint64_t rest_ns;
	const char *rest;
	int ret = sum_holders(l, &all, &most);

	if (ret)
		return ret;
	rest = held_by_rest(l, &all, &rest_ns);
	if (most.tid && most.wait_ns >= rest_ns)
		(void)snprintf(who, sizeof(who), "; held longest by %s %" PRIu32 ", %s %%",
			       holder_name(&most), most.tid,
			       share(most.wait_ns, l->wait_ns, percent));
	else if (rest_ns && rest_ns < l->wait_ns) /* else the holders say so */
		(void)snprintf(who, sizeof(who), "; %s, %s %%", rest,
			       share(rest_ns, l->wait_ns, percent)); /* fits */
	tell_holders(did, l, &all);
	(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, c->addr);
	/* A demangled name may be longer than there is room: its start is enough. */
	(void)snprintf(name, sizeof(name), "%s %s", c->kind, c->name ? c->name : addr);
	(void)snprintf(v->line[v->n++], VERDICT_BYTES,
		       "most expensive lock: %s, %s waited%s; holders: %s", name,
		       format_duration(waited, sizeof(waited), l->wait_ns), who, did);
	return 0;
}

static int say_lock(struct verdict *v, const struct frame *f)
{
	const struct contended **rows = calloc(f->ncontended + 1, sizeof(*rows));
	struct lock most;
	uint64_t waited = 0;
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
	for (size_t i = 0; i < n; i++)
		waited += rows[i]->wait->sum_ns;
	if (is_hardly(most.wait_ns, time_of(f)) && waited)
		say_hardly(v, f, is_hardly(waited, time_of(f)) ? "locks" : "any one lock",
			   is_hardly(waited, time_of(f)) ? waited : most.wait_ns, time_of(f));
	else if (most.wait_ns)
		ret = say_lock_of(v, &most);
	free(rows);
	return ret;
}

int verdict_make(struct verdict *v, const struct frame *f)
{
	uint64_t all = culprit_sum(f, NULL), part;
	char a[SHARE_BYTES], b[SHARE_BYTES];
	int ret;

	bool hardly = all && is_hardly(all, time_of(f));

	v->n = 0;
	if (hardly)
		say_hardly(v, f, "a CPU", all, time_of(f));
	ret = all && !hardly ? say_largest(v, f, all) ?: say_tail(v, f) : 0;
	if (!ret)
		ret = say_lock(v, f);
	if (ret || !all || hardly)
		return ret;
	part = culprit_sum(f, "irq") + culprit_sum(f, "softirq");
	(void)snprintf(v->line[v->n++], VERDICT_BYTES,
		       "interrupts: %s %% of the waiting for a CPU; taken by the hypervisor: %s %%",
		       share(part, all, a), share(culprit_sum(f, "steal"), all, b));
	(void)snprintf(v->line[v->n++], VERDICT_BYTES, "unexplained: %s %%",
		       share(culprit_sum(f, "unexplained"), all, a));
	return 0;
}
