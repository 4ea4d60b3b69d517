/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why of kernel locks: mutexes, reader-writer semaphores and rt-mutexes tell which task holds them.
 * Spinlocks, reader-writer locks, semaphores, per-CPU semaphores and the reader-writer locks of
 * PREEMPT_RT do not: their holder is not known, and nothing is done for them.
 */
#ifndef WS_LOCK_HOLDER_BPF_H
#define WS_LOCK_HOLDER_BPF_H

#include "take_tell.bpf.h"

/* kernel/locking/mutex.h, rwsem.c and rtmutex_common.h have up to three flags in an owner, which is
 * aligned to more. */
#define OWNER_FLAGS 7ULL
#define RWSEM_READER_OWNED 1ULL

#define OWNER_AT(lock, type, out)                            \
	(bpf_core_field_exists(((struct type *)0)->owner) && \
	 !bpf_probe_read_kernel(out, sizeof(*(out)),         \
				(void *)((lock) + bpf_core_field_offset(struct type, owner))))

static __always_inline bool lock_has_holder(u32 kind)
{
	return kind == ABI_LOCK_MUTEX || kind == ABI_LOCK_RWSEM_R || kind == ABI_LOCK_RWSEM_W ||
	       kind == ABI_LOCK_RT_MUTEX;
}

/* A thread's number, or ABI_HOLDER_*. */
static __always_inline u32 lock_holder(u64 lock, u32 kind)
{
	const struct abi_ledger *l;
	struct task_struct *p;
	u64 owner = 0;
	u32 tid = 0;

	if (kind == ABI_LOCK_MUTEX	? !OWNER_AT(lock, mutex, &owner)
	    : kind == ABI_LOCK_RT_MUTEX ? !OWNER_AT(lock, rt_mutex_base, &owner)
					: !OWNER_AT(lock, rw_semaphore, &owner))
		return ABI_HOLDER_UNKNOWN;
	if (kind != ABI_LOCK_MUTEX && kind != ABI_LOCK_RT_MUTEX && owner & RWSEM_READER_OWNED)
		return ABI_HOLDER_READERS;
	p = (void *)(owner & ~OWNER_FLAGS);
	if (!p || bpf_core_read(&tid, sizeof(tid), &p->pid))
		return ABI_HOLDER_UNKNOWN;
	l = ledger_by_tid(tid); /* has it ended, its number is another's, or nonsense */
	return l && l->task == (u64)p ? tid : ABI_HOLDER_UNKNOWN;
}

static __always_inline void lock_holder_begin(struct task_struct *p, const struct lock_wait *w,
					      bool queued)
{
	const struct line_key key = {.lock = w->lock};

	if (lock_has_holder(w->kind))
		holder_begin(p, ABI_HELD_LOCK, &key, lock_holder(w->lock, w->kind), w->since,
			     queued);
}

static __always_inline void lock_holder_again(struct task_struct *p, u64 lock, u32 kind,
					      bool queued)
{
	const struct line_key key = {.lock = lock};

	holder_again(p, ABI_HELD_LOCK, &key, lock_holder(lock, kind), bpf_ktime_get_ns(), queued);
}

static __always_inline void lock_holder_end(struct abi_counts *bank, struct task_struct *p,
					    const struct lock_wait *w, u64 now, s64 ret, u64 ep)
{
	const struct line_key key = {.lock = w->lock};
	u32 got = GOT;

	if (!lock_has_holder(w->kind))
		return;
	if ((s32)ret < 0)
		got = GOT_NOT;
	else if (w->kind == ABI_LOCK_RWSEM_R)
		got = GOT_SHARED;
	holder_takes(true, false);
	holder_end(bank, p, ABI_HELD_LOCK, &key, w->since, now, got,
		   got == GOT_NOT ? lock_holder(w->lock, w->kind) : 0, ep);
	release_tell();
	take_tell();
}

/* Where the current task waited for what it has now. */
static __always_inline void lock_take(void *ctx)
{
	struct abi_take *t = take_wanted();
	u32 n;

	if (!t)
		return;
	n = kernel_stack_take(ctx, t->ips);
	barrier();
	t->nips = n;
}

#endif
