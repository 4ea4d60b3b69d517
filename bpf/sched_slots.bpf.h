/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stamps where they are sooner found than in task storage, whose helper is several calls deep, each of
 * which costs where returns are made safe from speculation (AMD): a table of slots, a cache line each, one
 * for a task. A task's stamp is made in task storage. When the task comes to a CPU, and the slot that its
 * address leads to is free, the stamp moves there, until the task's last switch-out. Where the slot is
 * another's, it stays where it is. So a task with a slot has passed the early filters, and
 * its stamp has STAMP_SEEN and STAMP_DELAY: none of that is asked again.
 *
 * A stamp moves at a switch-in of a task whose state is TASK_RUNNING: then nobody wakes it (try_to_wake_up()
 * reports sched_waking under the task's pi_lock and only if its state says that it sleeps), and the CPU
 * that it comes to is the only one to write its stamp. Nor is a waking under way when a slot is given back:
 * do_task_dead() takes the pi_lock, too.
 *
 * Two CPUs that want one slot for two tasks: each adds one to its `claims` and has it if it then reads one.
 * If both read two, neither has. (Kernels before 5.12 know no compare-and-exchange, and refuse an object
 * that has one even where it is dead code.)
 */
#ifndef WS_SCHED_SLOTS_BPF_H
#define WS_SCHED_SLOTS_BPF_H

/* User space: not with --slower, which wants more of a stamp than a slot has. */
const volatile bool slots_used;

#ifdef WS_RAW_TP
#define slot_take(p, st) ((void)st)
#else

_Static_assert(sizeof(struct abi_slot) == 64, "a cache line");
_Static_assert(__builtin_offsetof(struct stamp, kind) ==
			       __builtin_offsetof(struct abi_slot, bytes) &&
		       __builtin_offsetof(struct stamp, last_cpu) ==
			       __builtin_offsetof(struct abi_slot, claims),
	       "a slot has all of a stamp but what --slower keeps");

struct abi_slot slots[ABI_SLOTS] __attribute__((aligned(64)));

/* By the lower half of its address, copied as the verifier allows it: to it the whole is no number. */
static __always_inline struct abi_slot *slot_of(struct task_struct *p)
{
	u64 at;
	u32 low;

	asm("%0 = %1" : "=w"(low) : "w"((u32)(u64)p));
	at = (u64)(low * 0x9e3779b1U) * ABI_SLOTS >> 32;
	asm("" : "+r"(at)); /* its bound is seen here, not in a shift that is made of both */
	return &slots[at];
}

static __always_inline struct stamp *slot_get(struct task_struct *p)
{
	struct abi_slot *s;
	struct stamp *st;

	if (!slots_used)
		return NULL;
	s = slot_of(p);
	st = s->owner == (u64)p ? (struct stamp *)s : NULL;
	asm("" : "+r"(st)); /* or a compiler compares owners again where NULL is asked about */
	return st;
}

#define STAMP_SLOT(p) slot_get(p)

/* The stamp of a task that comes to a CPU moves to its slot, if it can. */
static __noinline int slot_move(struct task_struct *p, struct stamp *st)
{
	struct abi_slot *s = slot_of(p);
	const u64 *words = (void *)st;
	u32 i;

	if (compat_task_state(p))
		return 0;
	__sync_fetch_and_add(&s->claims, 1);
	if (*(volatile u32 *)&s->claims != 1) {
		__sync_fetch_and_add(&s->claims, -1);
		return 0;
	}
	for (i = 0; i < 6; i++)
		s->words[i] = words[i];
	s->bytes = *(u32 *)&st->kind;
	barrier();
	s->owner = (u64)p;
	return 0;
}

static __always_inline void slot_take(struct task_struct *p, struct stamp *st)
{
	if (slots_used && !slot_of(p)->claims)
		slot_move(p, st);
}

/* Its last switch-out. */
static __always_inline void slot_release(struct task_struct *p)
{
	struct abi_slot *s;

	if (!slots_used)
		return;
	s = slot_of(p);
	if (s->owner != (u64)p)
		return;
	s->owner = 0;
	barrier();
	__sync_fetch_and_add(&s->claims, -1);
}

#define STAMP_SLOT_FREE(p) slot_release(p)
#endif

#endif
