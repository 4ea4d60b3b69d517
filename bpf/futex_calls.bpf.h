/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Futex system calls, by their arguments: whose address, what for, and was that a lock? */
#ifndef WS_FUTEX_CALLS_BPF_H
#define WS_FUTEX_CALLS_BPF_H

/* include/uapi/linux/futex.h */
#define FUTEX_PRIVATE_FLAG 128U
#define FUTEX_CLOCK_REALTIME 256U
#define FUTEX_CMD_MASK (~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME))
#define FUTEX2_PRIVATE FUTEX_PRIVATE_FLAG
#define FUTEX_WAITERS 0x80000000U
#define FUTEX_TID_MASK 0x3fffffffU

struct futex_waitv {
	u64 val;
	u64 uaddr;
	u32 flags;
	u32 reserved;
};

#define CALL_SHARED 1U	 /* without FUTEX_PRIVATE_FLAG */
#define CALL_REALTIME 2U /* FUTEX_CLOCK_REALTIME */
#define CALL_TIMED 4U	 /* with a time-out */
#define CALL_VECTOR 8U	 /* uaddr is that of an array of struct futex_waitv */

struct call {
	u64 uaddr;
	u32 kind; /* ABI_FUTEX_* */
	u32 val;  /* waits: what the word must hold */
	u32 flags;
	u32 pad;
};

/* By the operation's number; LOCK_PI2 came with bf22a6976897 (5.14). */
static const volatile u8 futex_kinds[16] = {
	[0] = ABI_FUTEX_WAIT,
	[1] = ABI_FUTEX_WAKE,
	[3] = ABI_FUTEX_WAKE, /* REQUEUE */
	[4] = ABI_FUTEX_WAKE, /* CMP_REQUEUE */
	[5] = ABI_FUTEX_WAKE, /* WAKE_OP */
	[6] = ABI_FUTEX_LOCK_PI,
	[7] = ABI_FUTEX_WAKE, /* UNLOCK_PI */
	[8] = ABI_FUTEX_TRYLOCK_PI,
	[9] = ABI_FUTEX_WAIT_BITSET,
	[10] = ABI_FUTEX_WAKE, /* WAKE_BITSET */
	[11] = ABI_FUTEX_WAIT_REQUEUE_PI,
	[12] = ABI_FUTEX_WAKE, /* CMP_REQUEUE_PI */
	[13] = ABI_FUTEX_LOCK_PI2,
};

static __always_inline struct call call_futex(u64 uaddr, u64 op, u64 val, u64 timeout)
{
	u32 cmd = (u32)op & FUTEX_CMD_MASK;
	struct call c = {.uaddr = uaddr, .val = (u32)val};

	if (cmd < sizeof(futex_kinds))
		c.kind = futex_kinds[cmd & (sizeof(futex_kinds) - 1)];
	if (!(op & FUTEX_PRIVATE_FLAG))
		c.flags |= CALL_SHARED;
	if (op & FUTEX_CLOCK_REALTIME)
		c.flags |= CALL_REALTIME;
	if (timeout)
		c.flags |= CALL_TIMED;
	return c;
}

static __always_inline struct call call_futex2(u32 kind, u64 uaddr, u64 val, u64 flags)
{
	struct call c = {.uaddr = uaddr, .kind = kind, .val = (u32)val};

	if (!(flags & FUTEX2_PRIVATE))
		c.flags |= CALL_SHARED;
	return c;
}

static __always_inline struct call call_vector(u32 kind, u64 vector)
{
	struct call c = {.uaddr = vector, .kind = kind, .flags = CALL_VECTOR};

	return c;
}

/* Of a vector, the futex at `index`. false: its memory is not there any more. */
static __always_inline bool call_take(struct call *c, u32 index)
{
	struct futex_waitv one;
	u64 at = c->uaddr + (u64)index * sizeof(one);

	if (!(c->flags & CALL_VECTOR))
		return true;
	if (bpf_probe_read_user(&one, sizeof(one), (const void *)at))
		return false;
	c->uaddr = one.uaddr;
	c->val = (u32)one.val;
	c->flags = one.flags & FUTEX2_PRIVATE ? 0 : CALL_SHARED;
	return true;
}

/* What the call and the value that is waited for say. */
#define VALUE_OWNED 0  /* a lock: its word has an owner */
#define VALUE_LOCK 1   /* a lock, if the word never had another kind of value */
#define VALUE_WORK 2   /* certainly no lock */
#define VALUE_UNSURE 3 /* a lock or work */
#define VALUE_FREE 4   /* the same, and if a lock, one without an owner */

/*
 *	2			locked, with waiters: glibc, Rust, Go, musl; or the count of
 *				something else
 *	tid | FUTEX_WAITERS	robust, priority-inheriting and musl's mutexes
 *	0			condition variables and semaphores, which programs make locks of, too;
 *				a Go thread without work
 *	~0			a parked Rust thread, or one of Go that waits for a lock
 *
 * glibc passes FUTEX_CLOCK_REALTIME, needed or not, for semaphores (0), joins (the thread's number,
 * on a shared futex), condition variables (0, from 2.41 on a count) and reader-writer locks (2, 3,
 * or readers * 8 + 4..7).
 */
static __always_inline u32 call_value(const struct call *c)
{
	if (c->kind == ABI_FUTEX_WAIT_REQUEUE_PI || c->kind == ABI_FUTEX_WAITV)
		return VALUE_FREE;
	if (c->kind == ABI_FUTEX_LOCK_PI || c->kind == ABI_FUTEX_LOCK_PI2 ||
	    c->kind == ABI_FUTEX_TRYLOCK_PI)
		return VALUE_OWNED;
	if (!c->val || c->val == ~0U)
		return VALUE_FREE;
	if (c->val & FUTEX_WAITERS && c->val & FUTEX_TID_MASK)
		return VALUE_OWNED;
	if (c->val == 2)
		return VALUE_LOCK;
	if (c->flags & CALL_REALTIME && c->flags & CALL_SHARED && !(c->flags & CALL_TIMED) &&
	    c->val > 3)
		return VALUE_WORK;
	return VALUE_UNSURE;
}

#endif
