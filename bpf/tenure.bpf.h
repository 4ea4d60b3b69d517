/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: the tenures of each lock (holder.bpf.h says what they are), and the wait that is taken apart by them. */
#ifndef WS_TENURE_BPF_H
#define WS_TENURE_BPF_H

#include "release.bpf.h"
#include "stack.bpf.h"

#define TENURES 8 /* a power of two */

struct tenure {
	u32 tid;
	u32 calls; /* it does not give it up without a system call */
	u64 since;
	struct abi_did at; /* what its holder had done by then */
	u64 ended_ns;	   /* the one before it; 0: who knows */
	struct abi_did ended;
	u64 took; /* after a wait of its own, and had it until then; TOOK_LAST: `takes` has it; 0: who knows */
};

#define TOOK_LAST ~0ULL

struct timeline {
	u64 id;	  /* when it was made: another one of the same lock is not this one */
	u64 n;	  /* tenures so far */
	u64 told; /* it has told of a thread that held it: locks that never do are not presumed to be
		     held by who was woken, who may come too late, and none would be the wiser */
	struct tenure v[TENURES];
};

struct line_key {
	u64 lock;
	u64 space; /* of a futex: its process */
};

/* What it gives up is found missing, and then is not known. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct line_key);
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

static __always_inline u64 tag_of(const struct line_key *key, u32 tid)
{
	return lock_thread_tag(key->lock, key->space, tid);
}

/* `tid` has the lock from now on: w->at, w->now. Its forerunner had it until w->to, if that is known. */
static __noinline u32 tenure_begin(struct timeline *t, const struct holder_work *w,
				   const struct line_key *key, u32 tid, bool took)
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
						     const struct line_key *key)
{
	struct timeline *t = bpf_map_lookup_elem(&timelines, key);

	if (t)
		return t;
	w->fresh.id = w->now;
	bpf_map_update_elem(&timelines, key, &w->fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&timelines, key);
}

#endif
