// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Short watches: who runs which instruction before a pointer that several lead to.
 *
 *	     incq  hits		samples at 2 are ambiguous: of the line of `hits`, or of `own`?
 *	     jmp   2f
 *	1:   incq  own
 *	2:   ...
 *
 * If two threads would fight over the line of `hits` were these samples its own, debug registers
 * watch what the candidates touch, for WATCH_BRIEF_NS at a time: a thread that was seen to run the
 * instruction has its share of the samples behind it, before and after. Who was not seen has none:
 * that nobody came in so short a time proves nothing, and nothing is blamed on a guess.
 *
 * The same tells whether anybody writes to a line that threads were only seen to read: a flag is
 * written seldom beside how often it is read, and no sample need be of a write. Constants are read
 * by all, too, and are not contended. One reader is enough: a store waits in the CPU's buffer while
 * its thread goes on, and in code without optimisation no sample need be of the other thread at
 * all.
 *
 * What it may take is bounded: BUDGET_NS of a run and what the last watch was held up by (one that
 * was counts twice: after a long one there is no other), four debug registers and only while nobody
 * else has any, TRAPS_MAX traps (20 us each in a virtual machine) of one register on one CPU in one
 * watch. Memory of processes only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "source/line/line.h"
#include "source/watch/watch.h"

#define BUDGET_NS 5000000ULL
#define EXPECT_NS \
	(WATCH_BRIEF_NS + 200000ULL)	/* with opening and closing; what is left must be so much */
#define HELD_UP_NS (2 * WATCH_BRIEF_NS) /* a watch that took so long was held up by the machine */
#define TIMES_MAX 6			/* one line is watched */
#define PAUSE_TICKS 10			/* after somebody else was found to have a debug register */
#define WRITES_TIMES_MAX 4		/* the same for who writes to it */
#define READS_MIN 4			/* samples of the second-busiest thread, for that */
#define ALONE_MIN 8			/* of the only one */
#define LONE_MAX 64	     /* threads of which a turn remembers that they have no company */
#define ALONE_TIMES_MAX 2    /* such a line is watched: most are the thread's own */
#define SAMPLES_MIN 2	     /* of the second-busiest thread, for a line to be watched */
#define HITS_MIN 3	     /* of an instruction, to say that a thread runs it */
#define SHARE_MIN (1.0 / 16) /* of what the thread runs before the pointer */
#define MAPPED_MIN 65536     /* the kernel's vm.mmap_min_addr, if nobody changed it */
#define THREADS_MAX 16	     /* of a line that are looked at */

int line_short_open(struct line_source *s, struct err *e)
{
	struct err why = {0};

	s->brief.off = s->pmu || !s->cfg->confirm || s->cfg->watches.n || s->cfg->check ||
		       source_watch.probe(&why);
	return s->brief.off ? 0 : line_model_table(&s->maybe, s->m.ncpus);
}

void line_short_close(struct line_source *s)
{
	if (s->brief.w)
		watch_close(&s->brief.w->base.source);
	free(s->brief.decisions);
}

/* ---- decisions ---- */

static const struct line_decision *decided(const struct line_source *s, uint32_t tid, uint64_t ip,
					   uint64_t insn)
{
	const struct line_decision *d = s->brief.decisions;

	for (size_t k = 0; k < s->brief.ndecisions; k++)
		if (d[k].tid == tid && d[k].ip == ip && d[k].insn == insn)
			return &d[k];
	return NULL;
}

/* Of such a pointer all is known: what the thread was not seen to run before it, it does not. */
static bool settled(const struct line_source *s, uint32_t tid, uint64_t ip)
{
	for (size_t k = 0; k < s->brief.ndecisions; k++)
		if (s->brief.decisions[k].tid == tid && s->brief.decisions[k].ip == ip)
			return true;
	return false;
}

static const struct line_decision *decided_use(const struct line_source *s,
					       const struct line_use *u)
{
	return decided(s, u->tid, u->ip, u->ip - (uint64_t)(int64_t)u->back);
}

static uint32_t part_of(uint32_t n, double share)
{
	return (uint32_t)(n * share + 0.5);
}

int line_short_take(struct line_source *s, const struct line_key *at,
		    const struct abi_access_key *key, const struct abi_access *a)
{
	const struct line_decision *d;
	struct abi_access part = *a;
	int ret;

	/* With a small number in the register the instruction was not reached: its access would
	 * have failed. */
	if (!s->maybe || key->addr < MAPPED_MIN)
		return 0;
	d = decided(s, key->tid, key->ip, key->ip - (uint64_t)(int64_t)a->back);
	if (!d && settled(s, key->tid, key->ip))
		return 0;
	if (!d) {
		ret = line_table_add(s->maybe, at, key, a);
		return ret == -ENOSPC ? 0 : ret; /* a candidate less */
	}
	part.samples = part_of(a->samples, d->share);
	part.reads = part_of(a->reads, d->share);
	part.writes = part_of(a->writes, d->share);
	part.locked = part_of(a->locked, d->share);
	part.inferred = part_of(a->inferred, d->share);
	return part.samples ? line_table_add(s->m.table, at, key, &part) : 0;
}

/* ---- which line is worth it ---- */

struct threads {
	struct {
		uint32_t tid;
		uint64_t samples;
	} v[THREADS_MAX];
	size_t n;
};

static void add_threads(struct threads *t, const struct line *l)
{
	const struct line_use *u;
	size_t k;

	for (u = l ? l->uses : NULL; u; u = u->next) {
		if (!u->view[LINE_TOTAL].samples)
			continue;
		for (k = 0; k < t->n && t->v[k].tid != u->tid; k++)
			;
		if (k == THREADS_MAX)
			continue;
		if (k == t->n)
			t->v[t->n++].tid = u->tid;
		t->v[k].samples += u->view[LINE_TOTAL].samples;
	}
}

static uint64_t second_busiest(const struct threads *t)
{
	uint64_t most = 0, second = 0;

	for (size_t k = 0; k < t->n; k++) {
		if (t->v[k].samples > most) {
			second = most;
			most = t->v[k].samples;
		} else if (t->v[k].samples > second) {
			second = t->v[k].samples;
		}
	}
	return second;
}

/*
 * Samples at stake, if those that are not decided are of the line; 0: nobody would fight over it.
 */
static uint64_t stake(const struct line_source *s, const struct line *l)
{
	const struct line *sure = line_table_find(s->m.table, &l->key);
	struct threads t = {0};
	uint64_t cores = 0;

	if (l->key.share || !l->key.tgid)
		return 0; /* several addresses; the kernel's */
	for (size_t w = 0; w < s->maybe->words; w++)
		cores += (uint64_t)__builtin_popcountll(l->cores[LINE_TOTAL][w] |
							(sure ? sure->cores[LINE_TOTAL][w] : 0));
	if (cores < 2 || !(line_written(l, LINE_TOTAL) || (sure && line_written(sure, LINE_TOTAL))))
		return 0;
	add_threads(&t, l);
	add_threads(&t, sure);
	return second_busiest(&t);
}

/* That of its uses which is sampled most. */
static const struct line_use *busiest(const struct line *l)
{
	const struct line_use *u, *best = l->uses;

	for (u = l->uses; u; u = u->next)
		if (u->view[LINE_TOTAL].samples > best->view[LINE_TOTAL].samples)
			best = u;
	return best;
}

static struct line_tried *tried(struct line_source *s, const struct line_key *key, bool writes)
{
	for (size_t k = 0; k < s->brief.ntried; k++)
		if (s->brief.tried[k].writes == writes &&
		    !memcmp(&s->brief.tried[k].key, key, sizeof(*key)))
			return &s->brief.tried[k];
	return NULL;
}

static bool may_try(struct line_source *s, const struct line *l, bool writes, uint32_t most)
{
	const struct line_tried *before = tried(s, &l->key, writes);

	if (!l->uses || l->idle_turns)
		return false;
	return before ? before->times < most : s->brief.ntried < LINE_TRIED_MAX;
}

/* The line with most at stake, of which ambiguous samples tell. */
static const struct line *target(struct line_source *s)
{
	const struct line *l, *best = NULL;
	uint64_t most = SAMPLES_MIN - 1, n;

	for (l = s->maybe->first; l; l = l->next) {
		n = may_try(s, l, false, TIMES_MAX) ? stake(s, l) : 0;
		if (n > most) {
			most = n;
			best = l;
		}
	}
	return best;
}

/* Only read, as far as is known. */
static bool only_read(const struct line *l)
{
	return !l->key.share && l->key.tgid && !line_written(l, LINE_TOTAL);
}

/* The line that is read most by two threads, of which nobody is known to write. */
static struct line *unwritten(struct line_source *s)
{
	struct line *l, *best = NULL;
	uint64_t most = READS_MIN - 1, n;

	for (l = s->m.table->first; l; l = l->next) {
		struct threads t = {0};

		if (!only_read(l) || line_cores(s->m.table, l, LINE_TOTAL) < 2 ||
		    !may_try(s, l, true, WRITES_TIMES_MAX))
			continue;
		add_threads(&t, l);
		n = second_busiest(&t);
		if (n > most) {
			most = n;
			best = l;
		}
	}
	return best;
}

/* Was another thread of its process sampled, on another CPU? */
static bool has_company(const struct line_source *s, const struct line *of)
{
	const struct line_use *u, *mine = of->uses;
	const struct line *l;

	for (l = s->m.table->first; l; l = l->next)
		for (u = l->key.tgid == of->key.tgid ? l->uses : NULL; u; u = u->next)
			if (u->tid != mine->tid && u->cpu != mine->cpu)
				return true;
	return false;
}

/* Threads without company, on their CPUs: all lines of a process without other threads have the
 * same few. */
struct lone {
	struct {
		uint32_t tid, cpu;
	} v[LONE_MAX];
	size_t n;
};

static bool is_lone(struct lone *lone, const struct line_source *s, const struct line *l)
{
	const struct line_use *mine = l->uses;

	for (size_t i = 0; i < lone->n && i < LONE_MAX; i++)
		if (lone->v[i].tid == mine->tid && lone->v[i].cpu == mine->cpu)
			return true;
	if (has_company(s, l))
		return false;
	lone->v[lone->n % LONE_MAX].tid = mine->tid;
	lone->v[lone->n++ % LONE_MAX].cpu = mine->cpu;
	return true;
}

/* The line that is read most by one thread alone, of a process with others. */
static struct line *alone(struct line_source *s)
{
	struct line *l, *best = NULL;
	uint64_t most = ALONE_MIN - 1;
	struct lone lone = {0};

	for (l = s->m.table->first; l; l = l->next)
		if (l->view[LINE_TOTAL].samples > most && only_read(l) &&
		    line_cores(s->m.table, l, LINE_TOTAL) == 1 &&
		    may_try(s, l, true, ALONE_TIMES_MAX) && !is_lone(&lone, s, l)) {
			most = l->view[LINE_TOTAL].samples;
			best = l;
		}
	return best;
}

static bool affordable(const struct line_source *s)
{
	return s->maybe && !s->brief.off &&
	       s->brief.spent_ns + s->brief.fined_ns + EXPECT_NS <= BUDGET_NS;
}

bool line_short_wanted(const struct line_source *s)
{
	return affordable(s);
}

/* ---- what is watched ---- */

struct slots {
	struct watch_slot v[ABI_WATCH_SLOTS];
	size_t n;
};

static void add_slot(struct slots *to, uint64_t addr)
{
	size_t k;

	addr &= ~(uint64_t)(WATCH_SLOT_BYTES - 1);
	for (k = 0; k < to->n && to->v[k].addr != addr; k++)
		;
	if (k == to->n && to->n < ABI_WATCH_SLOTS)
		to->v[to->n++] = (struct watch_slot){addr, WATCH_SLOT_BYTES, "an ambiguous access"};
}

static uint64_t address_of(const struct line_use *u)
{
	return (u->line << ABI_LINE_SHIFT) + u->offset;
}

/* Words of the line, those with most samples first; at most `most` registers are taken then. */
static void add_words(struct slots *to, const struct line *l, size_t most)
{
	const struct line_use *u, *best;
	size_t before;

	do {
		before = to->n;
		for (best = NULL, u = l->uses; u; u = u->next) {
			struct slots with = *to;

			if (u->view[LINE_TOTAL].samples <=
			    (best ? best->view[LINE_TOTAL].samples : 0))
				continue;
			add_slot(&with, address_of(u));
			if (with.n > to->n)
				best = u;
		}
		if (best && to->n < most)
			add_slot(to, address_of(best));
	} while (to->n > before);
}

/* What the samples of that use may have touched instead. */
static const struct line_use *instead(const struct line_source *s, const struct line *of,
				      const struct line_use *use)
{
	const struct line_use *u, *best = NULL;
	const struct line *l;

	for (l = s->maybe->first; l; l = l->next) {
		if (l == of || l->key.tgid != of->key.tgid || l->key.share)
			continue;
		for (u = l->uses; u; u = u->next)
			if (u->tid == use->tid && u->ip == use->ip &&
			    (!best || u->view[LINE_TOTAL].samples > best->view[LINE_TOTAL].samples))
				best = u;
	}
	return best;
}

/* Two words of the line, what its busiest uses may have touched instead, then other words. */
static void choose_slots(const struct line_source *s, const struct line *l, struct slots *out)
{
	const struct line_use *u, *other;
	uint64_t below = UINT64_MAX;

	out->n = 0;
	add_words(out, l, ABI_WATCH_SLOTS / 2);
	while (out->n < ABI_WATCH_SLOTS) {
		const struct line_use *next = NULL;

		for (u = l->uses; u; u = u->next)
			if (u->view[LINE_TOTAL].samples < below &&
			    (!next || u->view[LINE_TOTAL].samples > next->view[LINE_TOTAL].samples))
				next = u;
		if (!next || !next->view[LINE_TOTAL].samples)
			break;
		below = next->view[LINE_TOTAL].samples;
		other = instead(s, l, next);
		if (other)
			add_slot(out, address_of(other));
	}
	add_words(out, l, ABI_WATCH_SLOTS);
}

/* ---- what was seen ---- */

/* Accesses by the thread at that instruction, in the last watch. */
static uint64_t hits(const struct line_source *s, uint32_t tid, uint64_t insn)
{
	const struct line_use *u;
	const struct line *l;
	uint64_t n = 0;

	for (l = s->brief.w->m.table->first; l; l = l->next)
		for (u = l->uses; u; u = u->next)
			if (u->tid == tid && u->ip - (uint64_t)(int64_t)u->back == insn)
				n += u->view[LINE_INTERVAL].samples;
	return n;
}

/* All that the thread was seen to run of what leads to the pointer. */
static uint64_t hits_before(const struct line_source *s, const struct line_use *of)
{
	uint64_t insns[ABI_CANDIDATES], insn, n = 0;
	const struct line_use *u;
	const struct line *l;
	size_t k, ninsns = 0;

	for (l = s->maybe->first; l; l = l->next)
		for (u = l->uses; u; u = u->next) {
			insn = u->ip - (uint64_t)(int64_t)u->back;
			if (u->tid != of->tid || u->ip != of->ip)
				continue;
			for (k = 0; k < ninsns && insns[k] != insn; k++)
				;
			if (k < ninsns || k == ABI_CANDIDATES)
				continue;
			insns[ninsns++] = insn;
			n += hits(s, u->tid, insn);
		}
	return n;
}

static int decide(struct line_source *s, const struct line_use *u, double share)
{
	struct line_short *b = &s->brief;
	struct line_decision *d;

	if (b->ndecisions == LINE_DECISIONS_MAX)
		return 0;
	if (!b->decisions) {
		b->decisions = calloc(LINE_DECISIONS_MAX, sizeof(*b->decisions));
		if (!b->decisions)
			return -ENOMEM;
	}
	d = &b->decisions[b->ndecisions++];
	*d = (struct line_decision){.ip = u->ip,
				    .insn = u->ip - (uint64_t)(int64_t)u->back,
				    .tid = u->tid,
				    .pid = u->pid,
				    .share = share};
	return 0;
}

/* Uses that are decided now move to the table of what is sure; those instead of them are gone. */
static int adopt(struct line_source *s)
{
	const struct line_decision *d;
	struct line_use **at, *u;
	struct line *l;
	int ret = 0;

	for (l = s->maybe->first; l; l = l->next)
		for (at = &l->uses; !ret && (u = *at);) {
			if (!settled(s, u->tid, u->ip)) {
				at = &u->next;
				continue;
			}
			d = decided_use(s, u);
			if (d)
				ret = line_table_adopt(s->m.table, l, u, d->share);
			line_table_drop_use(l, at);
		}
	return ret == -ENOSPC ? 0 : ret;
}

static int evaluate(struct line_source *s, const struct line *l)
{
	const struct line_use *u;
	bool any = false;
	int ret = 0;

	for (u = l->uses; !ret && u; u = u->next) {
		uint64_t n = hits(s, u->tid, u->ip - (uint64_t)(int64_t)u->back), all;

		if (n < HITS_MIN || decided_use(s, u))
			continue;
		all = hits_before(s, u);
		if ((double)n < SHARE_MIN * (double)all)
			continue;
		ret = decide(s, u, (double)n / (double)all);
		any = true;
	}
	return !ret && any ? adopt(s) : ret;
}

/* ---- the watch ---- */

static void note_tried(struct line_source *s, const struct line_key *key, bool writes)
{
	struct line_tried *t = tried(s, key, writes);

	if (!t) {
		t = &s->brief.tried[s->brief.ntried++]; /* may_try() looked whether there is room */
		*t = (struct line_tried){.key = *key, .writes = writes};
	}
	t->times++;
}

/* 0: the last watch's table has what was seen; 1: nothing was watched. */
static int watch(struct line_source *s, const struct line *l, const struct slots *slots,
		 bool writes)
{
	struct line_short *b = &s->brief;
	struct err why = {0};
	uint64_t took = 0;
	int ret;

	if (!b->w && watch_open_brief(&b->w, &s->args, &s->m, &why)) {
		b->off = true; /* the samples stay ambiguous */
		return 1;
	}
	b->w->writes_only = writes;
	ret = watch_brief(b->w, l, slots->v, slots->n, busiest(l)->cpu, &took, &why);
	b->spent_ns += took;
	b->fined_ns += took > HELD_UP_NS ? took : 0;
	if (ret == -EBUSY || ret == -ENOSPC) {
		b->pause = PAUSE_TICKS;
		return 1;
	}
	note_tried(s, &l->key, writes);
	b->n += !ret;
	return ret ? 1 : 0;
}

/* Who was seen to write to it most, in the last watch. */
static const struct line_use *writer(const struct line *seen)
{
	const struct line_use *u, *best = NULL;

	for (u = seen->uses; u; u = u->next)
		if (u->view[LINE_INTERVAL].samples &&
		    (!best || u->view[LINE_INTERVAL].samples > best->view[LINE_INTERVAL].samples))
			best = u;
	return best;
}

/* Did anybody write to it? A register that watches writes tells no other accesses: few are enough,
 * in all watches of the line together. */
static void note_writes(struct line_source *s, struct line *l)
{
	const struct line *seen = line_table_find(s->brief.w->m.table, &l->key);
	struct line_tried *t = tried(s, &l->key, true);
	const struct line_use *u = seen ? writer(seen) : NULL;

	if (!u || !t)
		return;
	t->hits += seen->view[LINE_INTERVAL].samples;
	if (t->hits < HITS_MIN)
		return;
	l->written_by = u->tid;
	l->written_cpu = u->cpu;
	l->written_bytes =
		seen->view[LINE_INTERVAL].write_bytes | seen->view[LINE_INTERVAL].read_bytes;
	l->decided = true;
}

int line_short_turn(struct line_source *s, struct err *e)
{
	struct line_short *b = &s->brief;
	const struct line *l;
	struct slots slots = {0};
	struct line *read;
	int ret = 0;

	if (b->pause) {
		b->pause--;
		return 0;
	}
	if (!affordable(s))
		return 0;
	l = target(s);
	if (l) {
		choose_slots(s, l, &slots);
		if (!watch(s, l, &slots, false))
			ret = evaluate(s, l);
		return ret == -ENOMEM ? err_sys(e, ret, "line: short watch") : 0;
	}
	read = unwritten(s);
	if (!read)
		read = alone(s);
	if (read) {
		add_words(&slots, read, ABI_WATCH_SLOTS);
		if (!watch(s, read, &slots, true))
			note_writes(s, read);
	}
	return 0;
}

void line_short_report(struct line_source *s, struct source_report *r)
{
	struct line_short *b = &s->brief;

	r->quality_interval.watches = b->n - b->n_before;
	r->quality_interval.watched_ns = b->spent_ns - b->spent_before_ns;
	r->quality_total.watches = b->n;
	r->quality_total.watched_ns = b->spent_ns;
	b->n_before = b->n;
	b->spent_before_ns = b->spent_ns;
}
