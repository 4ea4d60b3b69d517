/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why of futexes: who holds it, where the word or what lies behind it says so.
 *
 *	FUTEX_LOCK_PI*			the word is the holder's number
 *	waited for with FUTEX_WAITERS	so it is: robust mutexes, musl's
 *	2, in a pthread_mutex_t		glibc's __owner
 *
 * The last is believed if all that lies there looks like such a mutex, and the number is that of
 * another thread of the process, or of any if the mutex is shared by processes. Runtimes with locks of
 * their own (Go, Rust) have no owner there: it is not known.
 */
#ifndef WS_FUTEX_HOLDER_BPF_H
#define WS_FUTEX_HOLDER_BPF_H

#include "take_tell.bpf.h"

/* sysdeps/nptl/bits/struct_mutex.h of glibc, where it has 64 bits */
struct glibc_mutex {
	s32 lock;
	u32 count;
	s32 owner;
	u32 nusers;
	s32 kind;
};

#define GLIBC_KINDS 3 /* normal, recursive, error-checking, adaptive */
#define GLIBC_PSHARED 128
#define GLIBC_ELISION (256 | 512)
#define GLIBC_LOCKED 2 /* and waited for */

static __always_inline bool futex_is_lock(const struct call *c)
{
	u32 said = call_value(c);

	return c->kind != ABI_FUTEX_NONE && c->kind < ABI_FUTEX_WAKE && !(c->flags & CALL_VECTOR) &&
	       said != VALUE_WORK && said != VALUE_FREE;
}

static __always_inline bool futex_is_pi(const struct call *c)
{
	return c->kind == ABI_FUTEX_LOCK_PI || c->kind == ABI_FUTEX_LOCK_PI2 ||
	       c->kind == ABI_FUTEX_TRYLOCK_PI;
}

/* As the process numbers it; 0: not known. */
static __always_inline u32 glibc_owner(const struct call *c)
{
	s32 shared = c->flags & CALL_SHARED ? GLIBC_PSHARED : 0;
	struct glibc_mutex m = {};

	if (c->val != GLIBC_LOCKED || bpf_probe_read_user(&m, sizeof(m), (void *)c->uaddr))
		return 0;
	if (m.owner <= 0 || !m.nusers || m.nusers > (1U << 22) ||
	    (m.kind & ~(GLIBC_KINDS | GLIBC_ELISION)) != shared)
		return 0;
	return (u32)m.owner;
}

static __always_inline u32 futex_owner(const struct call *c)
{
	u32 word = c->val;

	if (futex_is_pi(c)) {
		if (bpf_probe_read_user(&word, sizeof(word), (void *)c->uaddr))
			return 0;
		return word & FUTEX_TID_MASK;
	}
	return word & FUTEX_WAITERS ? word & FUTEX_TID_MASK : glibc_owner(c);
}

/* As we number it. */
static __always_inline u32 futex_holder(struct task_struct *p, const struct call *c)
{
	u32 tid = futex_owner(c), tgid = (u32)TASK_READ(p, tgid);
	const struct abi_ledger *self = ledger_by_tid(TASK_READ(p, pid)), *l;
	struct abi_vtid key = {.tgid = tgid, .vtid = tid};
	const u32 *known;

	if (!tid || !self)
		return ABI_HOLDER_UNKNOWN;
	if (self->vtid) {
		known = bpf_map_lookup_elem(&vtids, &key);
		return known ? *known : ABI_HOLDER_UNKNOWN;
	}
	l = ledger_by_tid(tid);
	if (!l || l->vtid || (l->tgid != tgid && !(c->flags & CALL_SHARED)))
		return ABI_HOLDER_UNKNOWN;
	return tid;
}

static __always_inline void futex_line(struct line_key *key, struct task_struct *p,
				       const struct call *c)
{
	key->lock = c->uaddr;
	key->space = (u32)TASK_READ(p, tgid);
}

static __always_inline void futex_holder_begin(struct task_struct *p, const struct call *c, u64 t0)
{
	struct line_key key = {};

	futex_line(&key, p, c);
	if (c->kind == ABI_FUTEX_WAKE && !(c->flags & CALL_VECTOR))
		take_gave(tag_of(&key, TASK_READ(p, pid)), t0);
	if (futex_is_lock(c))
		holder_begin(p, ABI_HELD_FUTEX, &key, futex_holder(p, c), t0, true);
}

/*
 * It has the lock, presumably, after a wait: and does it call the kernel to give it up? With glibc's mutexes
 * who has waited leaves a 2; with priority inheritance the kernel leaves FUTEX_WAITERS, unless it was free by
 * then.
 */
static __always_inline void futex_takes(const struct call *c)
{
	u32 word = 0;

	if (!futex_is_pi(c))
		holder_takes(true, c->val == GLIBC_LOCKED);
	else if (bpf_probe_read_user(&word, sizeof(word), (void *)c->uaddr))
		holder_takes(false, false);
	else
		holder_takes(word & FUTEX_WAITERS, true);
}

/* A call that is over, from before it is counted to after that: what is kept in registers meanwhile would
 * cost also those who do not ask. */
struct futex_over {
	struct call call;
	u64 t0, now, ep;
	s64 ret;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct futex_over);
} holder_over SEC(".maps");

static __always_inline struct futex_over *futex_over_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&holder_over, &zero);
}

static __noinline void futex_holder_over(const struct call *c, u64 t0, u64 now, s64 ret, u64 ep)
{
	struct futex_over *o = futex_over_get();

	if (o)
		*o = (struct futex_over){.call = *c, .t0 = t0, .now = now, .ep = ep, .ret = ret};
}

/* What it counts for; NULL: for nothing. */
static __always_inline void futex_holder_row(const struct abi_key *row)
{
	if (row && row->kind != ABI_FUTEX_WORK)
		holder_row(row);
	else
		holder_no_row();
}

/*
 * Who held it, of the call in holder_over and the row that was told. Global: the verifier takes it by itself,
 * once, and not for each way that leads here. That of kernels before 6.8 also takes what is never
 * called: nothing of it is left without --why.
 */
__noinline u32 futex_holder_end(void)
{
	u32 got = GOT_NOT, tid = ABI_HOLDER_UNKNOWN;
	struct futex_over *o;
	struct task_struct *p;
	struct line_key key = {};
	struct abi_counts *bank;

	if (!why)
		return 0;
	o = futex_over_get();
	p = current_task();
	if (slower)
		held_slow_begin();
	if (!o || !futex_is_lock(&o->call))
		return 0;
	bank = bank_get(o->ep);
	if (!bank)
		return 0;
	futex_line(&key, p, &o->call);
	if (o->ret)
		tid = futex_holder(p, &o->call);
	else
		got = futex_is_pi(&o->call) ? GOT : GOT_PRESUMED;
	futex_takes(&o->call);
	holder_end(bank, p, ABI_HELD_FUTEX, &key, o->t0, o->now, got, tid, o->ep);
	release_tell();
	take_tell();
	return 0;
}

/* Where the current task waited for what it has now. */
static __always_inline void futex_take(void *ctx)
{
	struct abi_take *t = take_wanted();
	u32 n;

	if (!t)
		return;
	n = stack_take(ctx, t->ips);
	barrier();
	t->nips = n;
}

#endif
