/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: who held what a wait was for, and what that thread did meanwhile.
 *
 * A lock tells who holds it, never since when, nor when it is given up. So what is seen of it is
 * recorded as tenures, the last few of each lock:
 *
 *	a wait begins	the holder is looked up: another than that of the last tenure begins one
 *	a wait ends	the waiter has the lock: its tenure begins (of a futex it is presumed, if that tells
 *			its holders)
 *
 * A tenure is known to have lasted until the next waiter was woken, if it was its holder who did
 * that: who gives a lock up wakes who waits for it. A wait is cut at these moments, and each piece
 * is of the tenure that it fell into, with the difference of two readings of that holder's ledger.
 * What lies between, what began or ended unseen, and pieces whose parts do not add up (two CPUs
 * wrote a record at once, a thread ended) are of nobody known. Between its waking and its coming
 * the waiter waits for nobody who holds the lock: it is released.
 */
#ifndef WS_HOLDER_BPF_H
#define WS_HOLDER_BPF_H

#include "filter.bpf.h"
#include "account.bpf.h"
#include "chain.bpf.h"
#include "release.bpf.h"
#include "slow_ring.bpf.h"
#include "stack.bpf.h"

const volatile bool why;

/* ---- what a holder did ---- */

/* --why: who asks what a task does has its ledger kept from then on. */

/* Its switches are looked at from now on. Global, as what follows: the verifier takes each by
 * itself, once; before 6.8 also without --why, where its maps are not. */
__noinline u32 kept_mark(u32 tid)
{
	struct abi_kept *kept;

	if (!why)
		return 0;
	kept = kept_get();
	if (kept && !kept->tid[kept_at(tid)])
		kept->tid[kept_at(tid)] = 1;
	return 0;
}

/* What a task does at the moment. */
static __always_inline u32 task_does(struct task_struct *p)
{
	if (compat_task_runs(p))
		return ABI_DID_RUN;
	if (!compat_task_queued(p))
		return ABI_DID_BLOCK;
	return compat_task_throttled(p) ? ABI_DID_THROTTLE : ABI_DID_QUEUE;
}

/*
 * From `now` on its sums are kept. One store says so: where two CPUs come here at once, they mean
 * the same. A switch at just this moment may miss it, which the next one finds out
 * (ledger_mends()).
 */
__noinline u32 ledger_keep(u32 tid, u64 now)
{
	struct task_struct *p;
	struct abi_ledger *l;

	if (!why)
		return 0;
	l = ledger_by_tid(tid);
	if (!l)
		return 0;
	p = (void *)l->task;
	l->left = compat_task_clock(p); /* before the look at what it does */
	barrier();
	l->does = task_does(p);
	l->delay_ns = compat_task_delay(p) + compat_task_waits(p, l->left);
	barrier();
	*(volatile u64 *)&l->seen_ns = now;
	barrier();
	return kept_mark(tid);
}

/* account_read(), which from now on has something to read. */
static __noinline bool account_ask(const struct abi_ledger *l, u64 now, struct abi_did *out)
{
	if (!l->seen_ns)
		ledger_keep(l->tid, now);
	return account_read(l, now, out);
}

/* ---- tenures ---- */

/* --why: the tenures of each lock (holder.bpf.h says what they are), and the wait that is taken
 * apart by them. */

#define TENURES 8 /* a power of two */

struct tenure {
	u32 tid;
	u32 calls; /* it does not give it up without a system call */
	u64 since;
	struct abi_did at; /* what its holder had done by then */
	u64 ended_ns;	   /* the one before it; 0: who knows */
	struct abi_did ended;
	/* after a wait of its own, and had it until then; TOOK_LAST: `takes` has it; 0: who knows
	 */
	u64 took;
};

#define TOOK_LAST ~0ULL

struct timeline {
	u64 id; /* when it was made: another one of the same lock is not this one */
	u64 n;	/* tenures so far */
	/*
	 * The lock's word has named an owner at least once. Of other locks a woken waiter is not
	 * taken for the next holder: it may come too late, and no later look at the word would show
	 * that.
	 */
	u64 told;
	struct tenure v[TENURES];
};

struct timeline_key {
	u64 lock;
	u64 space; /* of a futex: its process */
};

/* An LRU hash: a lock whose timeline was evicted is reported with an unknown holder. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct timeline_key);
	__type(value, struct timeline);
} timelines SEC(".maps");

struct holder_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_holder_key);
	__type(value, struct abi_holder);
};

struct holder_map holders_even SEC(".maps"), holders_odd SEC(".maps");

/* One wait being taken apart; too large for the stack. */
struct holder_work {
	struct abi_holder_key key;
	struct timeline fresh;
	struct abi_held_wait wait;
	u64 counts; /* key.row is its row */
	u64 now;
	u64 known_ns; /* of the wait, so far; and of that, when nobody had it */
	u64 released_ns;
	u64 from, to; /* the piece that is looked at; to 0: its end is not known */
	struct abi_did at, from_at, to_at;
	struct abi_did did; /* of the piece */
	u64 took_ns;	    /* of the piece: it was seen to take it */
	u64 released_at;    /* woke the waiter then, and held it until then: */
	u32 releaser;	    /* that thread; 0: that is not known, or it counts for no row */
	u32 taker;	    /* of a piece, that has its stack in `takes`; 0: none: */
	u64 taken, taken_at;
	u64 took;	   /* the waiter has, if it has got it, and is found there; 0: it has not */
	u32 waited, calls; /* if it has, it had to wait for it; as tenure.calls */
	struct stack_rate stacks;
	u64 nseen, again; /* holders of this wait so far; the piece is of one of them */
	u64 sure;	  /* of the piece: see holder_piece() */
	struct {
		u64 tid, took, since;
	} of; /* the piece is of that tenure */
	u64 seen[TENURES];
	struct abi_holder zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct holder_work);
} holder_works SEC(".maps");

static __always_inline struct holder_work *holder_work_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&holder_works, &zero);
}

/* ---- tenures ---- */

static __always_inline struct tenure *tenure_last(struct timeline *t)
{
	return &t->v[(t->n - 1) & (TENURES - 1)];
}

static __always_inline u64 tag_of(const struct timeline_key *key, u32 tid)
{
	return lock_thread_tag(key->lock, key->space, tid);
}

/* `tid` has the lock from now on: w->at, w->now. Its forerunner had it until w->to, if that is
 * known. */
static __noinline u32 tenure_begin(struct timeline *t, const struct holder_work *w,
				   const struct timeline_key *key, u32 tid, bool took)
{
	struct tenure *v = &t->v[t->n & (TENURES - 1)], *last = tenure_last(t);

	if (t->n && last->took == TOOK_LAST)
		last->took = take_until(tag_of(key, last->tid), last->since, w->now);
	v->tid = tid;
	v->calls = took && w->calls;
	v->took = took ? TOOK_LAST : 0;
	v->since = w->now;
	v->at = w->at;
	v->ended_ns = w->to;
	v->ended = w->to_at;
	barrier();
	t->n++;
	return 0;
}

static __always_inline struct timeline *timeline_get(struct holder_work *w,
						     const struct timeline_key *key)
{
	struct timeline *t = bpf_map_lookup_elem(&timelines, key);

	if (t)
		return t;
	w->fresh.id = w->now;
	bpf_map_update_elem(&timelines, key, &w->fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&timelines, key);
}

/* ---- --slower ---- */

/* --slower of locks and futexes: one record per wait above the limit. */

/* The wait that ends on this CPU; too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_held_slow);
} slow_works SEC(".maps");

static __always_inline struct abi_held_slow *held_slow_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&slow_works, &zero);
}

/*
 * Before a wait is taken apart, which not every one is. Global, as what follows: the verifier takes
 * each by itself, before 6.8 also those that are never called, and before 5.12 without pointers. So
 * each first asks whether it is wanted: what it needs is there only then.
 */
__noinline u32 held_slow_begin(void)
{
	struct abi_held_slow *s;

	if (!slower)
		return 0;
	s = held_slow_get();
	if (!s)
		return 0;
	s->n = 0;
	s->released_ns = 0;
	return 0;
}

/* `tid` held it in the piece that is looked at. */
__noinline u32 held_slow_piece(u32 tid)
{
	u64 at, lim = ABI_HELD_PIECES;
	const struct holder_work *w;
	struct abi_held_piece *p;
	struct abi_held_slow *s;

	if (!slower || !why)
		return 0;
	s = held_slow_get();
	w = holder_work_get();
	if (!s || !w || s->n >= lim)
		return 0;
	at = s->n;
	CLAMP_INDEX(at, lim);
	p = &s->pieces[at];
	s->n = at + 1;
	p->from_ns = w->from;
	p->to_ns = w->to;
	p->took_ns = w->took_ns;
	p->did = w->did;
	p->tid = tid;
	p->pid = 0;
	__builtin_memset(p->comm, 0, sizeof(p->comm));
	thread_name(tid, p->comm, &p->pid); /* not of readers */
	return 0;
}

static __always_inline void held_slow_released(u64 ns)
{
	struct abi_held_slow *s = held_slow_get();

	if (s)
		s->released_ns = ns;
}

/* Who held the longest piece of it; 0: no thread. */
__noinline u32 held_slow_main(void)
{
	const struct abi_held_slow *s;
	u64 most = 0;
	u32 tid = 0, i;

	if (!slower || !why)
		return 0;
	s = held_slow_get();
	for (i = 0; s && i < ABI_HELD_PIECES && i < s->n; i++) {
		const struct abi_held_piece *p = &s->pieces[i];

		if (p->tid >= ABI_HOLDER_RELEASED || p->to_ns - p->from_ns <= most)
			continue;
		most = p->to_ns - p->from_ns;
		tid = p->tid;
	}
	return tid;
}

/* What a new one starts as. */
const struct abi_held_log held_log_zero;

/* `tid` was found to hold what another waits for. */
__noinline u32 chain_mark(u32 tid, u64 now)
{
	struct abi_ledger *l;

	if (!slower || !why)
		return 0;
	l = ledger_by_tid(tid);
	if (!l)
		return 0;
	if (!held_log_get(tid))
		bpf_map_update_elem(&held_logs, &tid, &held_log_zero, BPF_NOEXIST);
	l->held_ns = now;
	return 0;
}

/* The wait of a holder is over: `which` (ABI_HELD_*) says for what. */
__noinline u32 chain_waited(u32 self, u32 which, u64 addr, u64 obj, u64 since)
{
	struct abi_held_log *log;
	struct abi_stretch *s;
	u32 tid;

	if (!slower || !why)
		return 0;
	log = held_log_get(self);
	if (!log)
		return 0;
	tid = held_slow_main();
	s = held_log_next(log, which == ABI_HELD_LOCK ? ABI_STRETCH_LOCK : ABI_STRETCH_FUTEX, since,
			  bpf_ktime_get_ns());
	s->addr = addr;
	s->obj = obj;
	s->tid = tid;
	s->pid = 0;
	__builtin_memset(s->comm, 0, sizeof(s->comm));
	if (tid)
		thread_name(tid, s->comm, &s->pid);
	return 0;
}

static __always_inline void held_slow_log(struct abi_held_slow *s)
{
	u32 tid = held_slow_main();
	const struct abi_held_log *log = tid ? held_log_get(tid) : NULL;

	s->log_tid = 0;
	s->log.n = 0;
	if (log && !bpf_probe_read_kernel(&s->log, sizeof(s->log), log))
		s->log_tid = tid;
}

/* Which row it is of. */
static __always_inline void held_slow_row(const struct abi_key *row)
{
	struct abi_held_slow *s = held_slow_get();

	if (s)
		s->key = *row;
}

/* The current task waited, or the interrupt that came upon it. */
__noinline u32 held_slow_emit(u64 addr, u64 wait_ns, u64 ep, u32 interrupt)
{
	u64 size = offsetof(struct abi_held_slow, pieces);
	struct abi_held_slow *s;
	struct abi_counts *bank;
	struct task_struct *p;

	if (!slower)
		return 0;
	p = current_task();
	s = held_slow_get();
	bank = bank_get(ep);
	if (!s || !bank)
		return 0;
	s->addr = addr;
	s->end_ns = bpf_ktime_get_ns();
	s->wait_ns = wait_ns;
	s->cgroup_id = interrupt ? 0 : task_cgroup_id(p);
	s->pid = interrupt ? 0 : TASK_READ(p, tgid);
	s->tid = interrupt ? 0 : TASK_READ(p, pid);
	s->cpu = bpf_get_smp_processor_id();
	s->pad = 0;
	if (interrupt)
		__builtin_memcpy(s->comm, "(interrupts)", 13);
	else
		bpf_core_read(s->comm, sizeof(s->comm), &p->comm);
	if (why) {
		size = sizeof(*s);
		held_slow_log(s);
	} else {
		s->n = 0;
	}
	if (bpf_ringbuf_output(&slow_events, s, size, slow_wakeup()))
		bank->slow_lost++;
	return 0;
}

/* ---- what is counted ---- */

static __always_inline bool holder_is_thread(u32 tid)
{
	return tid != ABI_HOLDER_UNKNOWN && tid < ABI_HOLDER_RELEASED;
}

static __always_inline struct abi_holder *holder_in(void *map, struct holder_work *w)
{
	struct abi_holder *h = bpf_map_lookup_elem(map, &w->key);

	if (h)
		return h;
	bpf_map_update_elem(map, &w->key, &w->zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, &w->key);
}

/* w->did of `wait_ns` for the row of w->key. What finds no room is of the row's unknown holder:
 * user space takes that for the rest of the row's waits. */
static __noinline u32 holder_count(struct abi_counts *bank, struct holder_work *w, u32 tid,
				   u64 wait_ns, u64 ep)
{
	struct abi_holder *h;
	u32 i;

	w->key.tid = tid;
	h = ep & 1 ? holder_in(&holders_odd, w) : holder_in(&holders_even, w);
	if (!h) {
		bank->keys_full++;
		return 0;
	}
	h->count += !w->again;
	h->wait_ns += wait_ns;
	h->took_ns += w->took_ns;
	for (i = 0; i < ABI_DIDS; i++)
		h->did.ns[i] += w->did.ns[i];
	if (holder_is_thread(tid))
		thread_name(tid, h->comm, &h->pid);
	return 0;
}

static __always_inline void did_clear(struct abi_did *d)
{
	d->ns[0] = d->ns[1] = d->ns[2] = d->ns[3] = 0;
}

/* A thread may have held the lock several times in a wait, which counts once. */
static __noinline u32 holder_again_in(struct holder_work *w, u32 tid)
{
	u64 at = w->nseen, lim = TENURES;
	u32 i;

	for (i = 0; i < TENURES && i < w->nseen; i++)
		if (w->seen[i] == tid)
			return 1;
	CLAMP_INDEX(at, lim);
	w->seen[at] = tid;
	w->nseen = at + 1;
	return 0;
}

/*
 * The piece of a wait from w->from to w->to belongs to the tenure in w->of. Returns for how long of
 * it, from w->from on, the holder kept the lock after an acquisition that we saw (one that ended a
 * wait of its own); 0: we saw none. If that is more than 0 and the stack of the acquisition is
 * there, w->taker and the two fields behind it are set: take_tell() then sends the stack. A global
 * function, so that the verifier checks it once instead of at every call.
 */
__noinline u64 piece_took(void)
{
	const struct abi_take *t;
	struct holder_work *w;
	u64 tag, until;

	if (!why)
		return 0;
	w = holder_work_get();
	if (!w || !w->of.took)
		return 0;
	until = w->of.took;
	tag = lock_thread_tag(w->wait.lock, w->wait.space, w->of.tid);
	if (until == TOOK_LAST)
		until = take_until(tag, w->of.since, w->to);
	if (until > w->to)
		until = w->to;
	if (until <= w->from)
		return 0;
	t = take_at(tag);
	if (t && t->nips && t->tag == tag && t->since == w->of.since) {
		w->taker = w->of.tid;
		w->taken = tag;
		w->taken_at = w->of.since;
	}
	return until - w->from;
}

/* What the thread did in the piece, if it is one. false: that is not known. */
static __always_inline bool piece_did(struct holder_work *w, u32 tid)
{
	u64 sum = 0;
	u32 i;

	did_clear(&w->did);
	if (tid >= ABI_HOLDER_RELEASED)
		return true;
	for (i = 0; i < ABI_DIDS; i++) {
		if (w->to_at.ns[i] < w->from_at.ns[i])
			return false;
		w->did.ns[i] = w->to_at.ns[i] - w->from_at.ns[i];
		sum += w->did.ns[i];
	}
	return sum == w->to - w->from;
}

/* The piece from w->from to w->to; how long it is, 0: not known. w->sure: nobody else can have had
 * it since the tenure began, nor its holder twice, without our having seen it. */
static __noinline u64 holder_piece(struct abi_counts *bank, struct holder_work *w,
				   const struct tenure *v, u64 ep)
{
	if (!v->tid || w->to <= w->from || !piece_did(w, v->tid))
		return 0;
	if (w->sure) {
		w->of.tid = v->tid;
		w->of.took = v->took;
		w->of.since = v->since;
		w->took_ns = piece_took();
	}
	w->again = holder_again_in(w, v->tid);
	holder_count(bank, w, v->tid, w->to - w->from, ep);
	w->again = 0;
	w->known_ns += w->to - w->from;
	if (slower)
		held_slow_piece(v->tid);
	w->took_ns = 0;
	return w->to - w->from;
}

/* ---- a wait ---- */

/* `tid`, if it is a thread that we know and not the waiter, and w->at. */
static __always_inline u32 holder_known(struct holder_work *w, const struct abi_ledger *self,
					u32 tid)
{
	const struct abi_ledger *l;

	did_clear(&w->at);
	if (!holder_is_thread(tid))
		return tid;
	l = ledger_by_tid(tid);
	return l && l != self && account_ask(l, w->now, &w->at) ? tid : ABI_HOLDER_UNKNOWN;
}

/* The current task begins to wait, if `queued` where who gives the lock up has to wake somebody;
 * `tid` (or ABI_HOLDER_*) holds it. */
static __always_inline void holder_begin(struct task_struct *p, u32 which,
					 const struct timeline_key *key, u32 tid, u64 now,
					 bool queued)
{
	struct abi_ledger *self = ledger_by_tid(TASK_READ(p, pid));
	struct holder_work *w = holder_work_get();
	struct abi_held_wait *wait;
	struct timeline *t;

	if (!w || !self || self->task != (u64)p)
		return;
	wait = &self->wait[which];
	wait->since = 0;
	w->now = now;
	w->to = 0;
	t = timeline_get(w, key);
	if (!t)
		return;
	tid = holder_known(w, self, tid);
	t->told |= holder_is_thread(tid);
	if (slower && holder_is_thread(tid))
		chain_mark(tid, now);
	if (!t->n || tenure_last(t)->tid != tid)
		tenure_begin(t, w, key, tid, false);
	wait->lock = key->lock;
	wait->space = key->space;
	wait->line = t->id;
	wait->tenures = t->n;
	wait->queued = queued ? t->n : ~0ULL;
	wait->at = w->at;
	wait->since = now;
	self->waker_ns = 0;
	self->waits &= ~(1U << (which + ABI_HELD_KNOWN));
	kept_mark(self->tid);
	self->waits |= 1U << which | (t->told ? 1U << (which + ABI_HELD_KNOWN) : 0);
}

#define GOT_NOT 0
#define GOT_PRESUMED 1 /* woken for it, and may come too late */
#define GOT 2
#define GOT_SHARED 3 /* as one of its readers */

/*
 * When the last tenure ended: w->to and w->to_at. Its holder woke the waiter; or it is found to
 * hold the lock still (`tid`), or the waiter was never woken: it saw the lock change hands,
 * spinning.
 */
static __always_inline void tenure_end(struct holder_work *w, const struct abi_ledger *self,
				       const struct tenure *last, u32 got, u32 tid)
{
	const struct abi_ledger *l;

	w->to = 0;
	did_clear(&w->to_at);
	if (!last->tid)
		return;
	if (last->tid == ABI_HOLDER_READERS) {
		w->to = got && self->waker_ns ? self->waker_ns : w->now;
		return;
	}
	if (got && self->waker_ns) {
		if (self->waker != last->tid)
			return;
		w->to = self->waker_ns;
		w->to_at = self->waker_did;
		return;
	}
	if (tid != last->tid && got != GOT)
		return;
	l = ledger_by_tid((u32)last->tid);
	if (l && account_read(l, w->now, &w->to_at))
		w->to = w->now;
}

/* Of tenures, how many had begun by then, but not less than `first`. */
static __always_inline u64 tenures_until(const struct timeline *t, u64 first, u64 then)
{
	u64 n = t->n;
	u32 i;

	for (i = 0; i < TENURES && n > first; i++) {
		if (t->v[(n - 1) & (TENURES - 1)].since < then)
			break;
		n--;
	}
	return n;
}

/* From the end of a tenure to the beginning of the next, which was one. */
static __always_inline void gap_count(struct holder_work *w, const struct tenure *next)
{
	u64 from = next->ended_ns < w->wait.since ? w->wait.since : next->ended_ns;

	if (!next->ended_ns || next->since <= from)
		return;
	w->released_ns += next->since - from;
	w->known_ns += next->since - from;
}

/* The pieces of a wait, the last of `n` tenures first. */
static __noinline u32 holder_pieces(struct abi_counts *bank, struct holder_work *w,
				    struct timeline *t, u64 n, u64 ep)
{
	u64 first = w->wait.tenures;
	u32 i;

	for (i = 0; i < TENURES; i++) {
		struct tenure *v = &t->v[(n - 1) & (TENURES - 1)];
		bool begun = n > first; /* meanwhile: else it had the lock when the wait began */

		if (begun && v->since < w->wait.since)
			break; /* written by two at once */
		w->from = begun ? v->since : w->wait.since;
		w->from_at = begun ? v->at : w->wait.at;
		w->sure = v->calls || n > w->wait.queued;
		if (holder_piece(bank, w, v, ep) && begun)
			gap_count(w, v);
		if (!begun)
			break;
		w->to = v->ended_ns;
		w->to_at = v->ended;
		n--;
	}
	return 0;
}

/* Its pieces are counted, as far as they are known, and w->to, w->to_at say when the last holder
 * gave it up. */
static __always_inline void wait_apart(struct abi_counts *bank, struct holder_work *w,
				       const struct abi_ledger *self, struct timeline *t, u32 got,
				       u32 tid, u64 ep)
{
	u64 then = got && self->waker_ns ? self->waker_ns : w->now, to, n;
	const struct tenure *last;

	n = tenures_until(t, w->wait.tenures, then);
	last = &t->v[(n - 1) & (TENURES - 1)];
	tenure_end(w, self, last, got, tid);
	to = w->to;
	w->at = w->to_at;
	w->released_ns = to && to < w->now ? w->now - to : 0;
	w->known_ns = w->released_ns;
	w->nseen = 0;
	if (w->counts && got && self->waker_ns && self->waker == last->tid) {
		w->releaser = self->waker;
		w->released_at = self->waker_ns;
	}
	if (w->counts)
		holder_pieces(bank, w, t, n, ep);
	if (w->counts && w->released_ns) {
		did_clear(&w->did);
		holder_count(bank, w, ABI_HOLDER_RELEASED, w->released_ns, ep);
	}
	if (slower)
		held_slow_released(w->released_ns);
	w->to = n == t->n ? to : 0;
	w->to_at = w->at;
}

/* The one that waits is about to sleep again, or to spin: `tid` has got it meanwhile? */
static __always_inline void holder_again(struct task_struct *p, u32 which,
					 const struct timeline_key *key, u32 tid, u64 now,
					 bool queued)
{
	struct abi_ledger *self = ledger_by_tid(TASK_READ(p, pid));
	struct timeline *t = bpf_map_lookup_elem(&timelines, key);
	struct holder_work *w = holder_work_get();

	if (!w || !self || !t || !t->n)
		return;
	if (queued && self->wait[which].queued == ~0ULL)
		self->wait[which].queued = t->n;
	if (!tid || tenure_last(t)->tid == tid)
		return;
	w->now = now;
	tenure_end(w, self, tenure_last(t), self->waker_ns ? GOT : GOT_NOT, 0);
	tid = holder_known(w, self, tid);
	t->told |= holder_is_thread(tid);
	if (slower && holder_is_thread(tid))
		chain_mark(tid, now);
	tenure_begin(t, w, key, tid, false);
}

/* Who waited has it. */
static __always_inline void holder_got(struct holder_work *w, const struct abi_ledger *self,
				       struct timeline *t, const struct timeline_key *key, u32 tid,
				       u32 got)
{
	bool took = false;

	did_clear(&w->at);
	if (got == GOT_SHARED) {
		tid = ABI_HOLDER_READERS;
		if (t->n && tenure_last(t)->tid == tid)
			return;
	} else if ((got == GOT_PRESUMED && !t->told) || !account_ask(self, w->now, &w->at)) {
		did_clear(&w->at);
		tid = ABI_HOLDER_UNKNOWN;
	} else {
		took = w->waited;
	}
	tenure_begin(t, w, key, tid, took);
	if (!took)
		return;
	w->took = tag_of(key, tid);
	take_begin(w->took, w->now);
}

/* The current task's wait counts for that row, or for none. */
static __always_inline void holder_row(const struct abi_key *row)
{
	struct holder_work *w = holder_work_get();

	if (!w)
		return;
	w->key.row = *row;
	w->counts = 1;
	w->took = 0;
}

static __always_inline void holder_no_row(void)
{
	struct holder_work *w = holder_work_get();

	if (!w)
		return;
	w->counts = 0;
	w->took = 0;
}

/* If the current task's wait ends with the lock: had it to wait for it, and does it give it up by a
 * call? */
static __always_inline void holder_takes(bool waited, bool calls)
{
	struct holder_work *w = holder_work_get();

	if (!w)
		return;
	w->waited = waited;
	w->calls = calls;
}

/* The wait is over, as `got` says; who has it now, if it is another: tid. */
static __always_inline void holder_end(struct abi_counts *bank, struct task_struct *p, u32 which,
				       const struct timeline_key *key, u64 since, u64 now, u32 got,
				       u32 tid, u64 ep)
{
	struct abi_ledger *self = ledger_by_tid(TASK_READ(p, pid));
	u64 wait_ns = now > since ? now - since : 0;
	struct holder_work *w = holder_work_get();
	struct abi_held_wait *wait;
	struct timeline *t = NULL;

	if (!w)
		return;
	w->now = now;
	w->known_ns = 0;
	w->releaser = 0;
	w->taker = 0;
	w->took_ns = 0;
	w->to = 0;
	wait = self ? &self->wait[which] : NULL;
	if (self && wait->since == since && wait->lock == key->lock && wait->space == key->space) {
		w->wait = *wait;
		wait->since = 0;
		self->waits &= ~(1U << which | 1U << (which + ABI_HELD_KNOWN));
		t = bpf_map_lookup_elem(&timelines, key);
		if (t && t->id == w->wait.line && t->n - w->wait.tenures < TENURES)
			wait_apart(bank, w, self, t, got, tid, ep);
	}
	if (w->counts && w->known_ns != wait_ns) {
		did_clear(&w->did);
		holder_count(bank, w, ABI_HOLDER_UNKNOWN, wait_ns - w->known_ns, ep);
	}
	if (slower)
		chain_waited(TASK_READ(p, pid), which, key->lock, w->counts ? w->key.row.obj : 0,
			     since);
	if (t && got != GOT_NOT)
		holder_got(w, self, t, key, TASK_READ(p, pid), got);
}

#endif
