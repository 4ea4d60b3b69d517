// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits for kernel locks: lock:contention_begin to lock:contention_end of the same lock by the same
 * context. They come in two sorts, kept in two places.
 *
 *	spinning	preemption is off: the wait begins and ends on one CPU, and so do the
 *			waits of interrupts that come upon it. A stack per CPU; all in it is of
 *			one stay of one task on that CPU, or stale.
 *	sleeping	with the task: one, on PREEMPT_RT two (a lock inside of a lock)
 *
 * An event can be missed: what our own maps' locks make, inside these programs, is not reported to
 * them (the kernel counts it as a recursion miss), nor is what interrupts do meanwhile. `busy`
 * keeps the two programs from seeing one half of such a pair. A place is never given up for lost:
 * what is found there by mistake is counted (unpaired), and overwritten.
 */
#include "lib/common.bpf.h"
#include "compat.bpf.h"
#include "abi_contend.h"

struct lock_wait {
	u64 lock; /* 0: none */
	u64 since;
	u32 kind;
	u32 flags; /* of the last begin */
};

#define SLEEPS 2

#define STAMP_OF_SOURCE
struct stamp {
	u64 cgroup_id;
	u32 flags;
	u32 pad;
	struct lock_wait waits[SLEEPS];
};

_Static_assert(sizeof(struct stamp) == 64, "stamp size");

#define TASKS_FROM_CURRENT
#include "lib/filter.bpf.h"
#include "lib/flight.bpf.h"
#include "lib/follow.bpf.h"
#include "lib/hist.bpf.h"

#include "lib/keyed.bpf.h"
#include "lib/stack.bpf.h"
#include "lib/holder.bpf.h"
#include "lib/take_tell.bpf.h"

/* ---- waits ---- */

/* What becomes of a wait for a lock: its entry, and now and then a description of it. */

#define SPINS \
	8 /* task, softirq, hardirq, NMI; a queued rwlock spins for its own wait_lock inside */

/* One CPU's; its own programs alone touch it. Whole cache lines. */
struct lock_cpu {
	u32 busy; /* one of our programs runs */
	u32 depth;
	u64 task; /* whose stay on this CPU the waits belong to */
	u64 stay; /* how often it had left a CPU by then */
	struct stack_rate stacks;
	struct lock_wait waits[SPINS];
	u64 fill[3];
};

_Static_assert(sizeof(struct lock_cpu) == 256, "lock_cpu size");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lock_cpu);
} lock_cpus SEC(".maps");

/* NULL: one of our programs is at work here, and this event comes from inside of it. */
static __always_inline struct lock_cpu *lock_cpu_enter(void)
{
	u32 key = bpf_get_smp_processor_id();
	struct lock_cpu *c = bpf_map_lookup_elem(&lock_cpus, &key);

	if (!c || *(volatile u32 *)&c->busy)
		return NULL;
	*(volatile u32 *)&c->busy = 1;
	return c;
}

static __always_inline void lock_cpu_leave(struct lock_cpu *c)
{
	*(volatile u32 *)&c->busy = 0;
}

/* ---- descriptions ---- */

#define STACKS_A_SECOND 256 /* on a CPU: the lock is held meanwhile, others wait for it */

/* abi_khead.sums */
#define SUM_WAITS 0
#define SUM_STACKS 1

static __always_inline bool stack_wanted(struct lock_cpu *c, const struct abi_khead *e, u64 now)
{
	if (e->sums[SUM_STACKS] && (!stack_every || e->sums[SUM_WAITS] % stack_every))
		return false;
	return stack_allowed(&c->stacks, now, STACKS_A_SECOND);
}

/* The addresses as numbers: pointers that the verifier knows are not calculated with. */
#define OBJECT_IF(type_id, address, name)                                \
	do {                                                             \
		u64 at = (address);                                      \
		if (at && addr - at < bpf_core_type_size(struct name)) { \
			s->type = type_id;                               \
			s->object = at;                                  \
		}                                                        \
	} while (0)

/* A bucket has several members, and which is contended is named by the offset in it. */
static __always_inline void find_futex_bucket(struct abi_contend_sample *s, struct mm_struct *mm,
					      u64 addr)
{
	u64 size, count = 0, first = mm ? compat_futex_buckets(mm, &size, &count) : 0;

	if (!first || !size || addr < first || (addr - first) / size >= count)
		return;
	s->type = ABI_OBJECT_FUTEX;
	s->object = addr - (addr - first) % size;
}

/* Members of the waiting task are known by where they lie. */
static __always_inline void find_object(struct abi_contend_sample *s, u64 addr)
{
	struct task_struct *p = (void *)bpf_get_current_task();

	s->type = ABI_OBJECT_NONE;
	s->object = 0;
	OBJECT_IF(ABI_OBJECT_MM, (u64)BPF_CORE_READ(p, mm), mm_struct);
	OBJECT_IF(ABI_OBJECT_SIGNAL, (u64)BPF_CORE_READ(p, signal), signal_struct);
	OBJECT_IF(ABI_OBJECT_SIGHAND, (u64)BPF_CORE_READ(p, sighand), sighand_struct);
	OBJECT_IF(ABI_OBJECT_FILES, (u64)BPF_CORE_READ(p, files), files_struct);
	OBJECT_IF(ABI_OBJECT_FS, (u64)BPF_CORE_READ(p, fs), fs_struct);
	OBJECT_IF(ABI_OBJECT_TASK, (u64)p, task_struct);
	if (!s->object)
		find_futex_bucket(s, BPF_CORE_READ(p, mm), addr);
}

/* An interrupt comes upon a task that has nothing to do with the lock. */
static __always_inline void find_process(struct abi_contend_sample *s, struct task_struct *p,
					 bool interrupt)
{
	struct task_struct *leader = interrupt ? NULL : BPF_CORE_READ(p, group_leader);

	__builtin_memset(s->process, 0, sizeof(s->process));
	if (leader)
		bpf_core_read(s->process, sizeof(s->process), &leader->comm);
}

/* false: no room for it. The next wait of the same lock will be described in its place. `first`: of
 * its entry; what the lock lies in is best looked at while whoever waits for it lives. */
static __always_inline bool describe(void *ctx, struct abi_counts *bank, struct task_struct *p,
				     const struct abi_key *key, u64 lock, bool interrupt,
				     bool first)
{
	struct abi_contend_sample *s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);

	if (!s) {
		bank->slow_lost++;
		return false;
	}
	s->key = *key;
	s->pid = interrupt ? 0 : p->tgid;
	s->role = ABI_ROLE_WAITED;
	s->execs = 0;
	s->born = 0;
	s->space = 0; /* its code is the kernel's */
	s->tid = interrupt ? 0 : p->pid;
	__builtin_memcpy(s->comm, p->comm, sizeof(s->comm));
	find_object(s, lock);
	find_process(s, p, interrupt);
	s->nips = kernel_stack_take(ctx, s->ips);
	bpf_ringbuf_submit(s, !first && bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) <
						      ring_wake_bytes
				      ? BPF_RB_NO_WAKEUP
				      : BPF_RB_FORCE_WAKEUP);
	return true;
}

/* ---- the entry ---- */

static __always_inline void lock_key(struct abi_key *key, struct task_struct *p,
				     const struct lock_wait *w, bool interrupt)
{
	if (!interrupt)
		group_key(key, p);
	else if (keyed.by == ABI_BY_COMM)
		__builtin_memcpy(key->comm, "(interrupts)", 13);
	key->obj = w->lock;
	key->kind = w->kind;
	key->cpu = bpf_get_smp_processor_id(); /* of threads too: interrupts, and the row's CPUs */
}

/* Who waited, as far as 64 bits tell; an interrupt is nobody. */
static __always_inline void note_task(struct abi_khead *e, struct task_struct *p, bool interrupt,
				      u32 kind, u64 ep)
{
	const struct abi_khist *h = khist(e, 0);
	u64 bit = 1ULL << ((u32)p->pid & 63);

	if (h->epoch != ep)
		e->sums[ABI_CONTEND_TASKS] = 0;
	if (interrupt || e->sums[ABI_CONTEND_TASKS] & bit)
		return;
	if (kind <= ABI_LOCK_RWLOCK_W && keyed.by == ABI_BY_NONE && compat_context() == CONTEXT_IRQ)
		return;
	e->sums[ABI_CONTEND_TASKS] |= bit;
}

static __always_inline void lock_account(void *ctx, struct lock_cpu *c, struct abi_counts *bank,
					 struct task_struct *p, const struct lock_wait *w, u64 now,
					 u64 ep, bool interrupt)
{
	u64 wait_ns = elapsed(bank, now, w->since);
	struct abi_key key = {};
	struct abi_khead *e;

	bank->switches++;
	hist_add(bank, 0, wait_ns, ep);
	lock_key(&key, p, w, interrupt);
	e = keyed_get(bank, &key, ep);
	if (!e) {
		e = keyed_other(ABI_KIND_OTHER, ep);
		if (!e)
			return;
		__builtin_memset(&key, 0, sizeof(key));
		key.obj = ABI_OBJ_OTHER;
	}
	note_task(e, p, interrupt, w->kind, ep);
	khist_add(e, 0, wait_ns, ep);
	if (!interrupt)
		group_name(e, p);
	else if (keyed.by == ABI_BY_PID || keyed.by == ABI_BY_TID)
		__builtin_memcpy(e->comm, "(interrupts)", 13);
	if (stack_wanted(c, e, now))
		e->sums[SUM_STACKS] +=
			describe(ctx, bank, p, &key, w->lock, interrupt, !e->sums[SUM_STACKS]);
	e->sums[SUM_WAITS]++;
	if (why)
		holder_row(&key);
}

/* ---- holders ---- */

/*
 * --why of kernel locks: mutexes, reader-writer semaphores and rt-mutexes tell which task holds
 * them. Spinlocks, reader-writer locks, semaphores, per-CPU semaphores and the reader-writer locks
 * of PREEMPT_RT do not: their holder is not known, and nothing is done for them.
 */

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
	const struct timeline_key key = {.lock = w->lock};

	if (lock_has_holder(w->kind))
		holder_begin(p, ABI_HELD_LOCK, &key, lock_holder(w->lock, w->kind), w->since,
			     queued);
}

static __always_inline void lock_holder_again(struct task_struct *p, u64 lock, u32 kind,
					      bool queued)
{
	const struct timeline_key key = {.lock = lock};

	holder_again(p, ABI_HELD_LOCK, &key, lock_holder(lock, kind), bpf_ktime_get_ns(), queued);
}

static __always_inline void lock_holder_end(struct abi_counts *bank, struct task_struct *p,
					    const struct lock_wait *w, u64 now, s64 ret, u64 ep)
{
	const struct timeline_key key = {.lock = w->lock};
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

char LICENSE[] SEC("license") = "GPL";

#define STAMP_SEEN STAMP_OWN /* from now on an end without a beginning is a loss */

/* PREEMPT_RT: spinlocks sleep too, inside of other sleeping locks */
const volatile bool preempt_rt;

#define LCB_F_SPIN 1U
#define LCB_F_READ 2U
#define LCB_F_WRITE 4U
#define LCB_F_RT 8U
#define LCB_F_PERCPU 16U
#define LCB_F_MUTEX 32U
#define LCB_FLAGS 64U

static const __u8 kinds[LCB_FLAGS] = {
	[0] = ABI_LOCK_SEMAPHORE,
	[LCB_F_SPIN] = ABI_LOCK_SPINLOCK,
	[LCB_F_SPIN | LCB_F_READ] = ABI_LOCK_RWLOCK_R,
	[LCB_F_SPIN | LCB_F_WRITE] = ABI_LOCK_RWLOCK_W,
	[LCB_F_MUTEX] = ABI_LOCK_MUTEX,
	[LCB_F_MUTEX | LCB_F_SPIN] = ABI_LOCK_MUTEX,
	[LCB_F_READ] = ABI_LOCK_RWSEM_R,
	[LCB_F_WRITE] = ABI_LOCK_RWSEM_W,
	[LCB_F_PERCPU | LCB_F_READ] = ABI_LOCK_PERCPU_RWSEM_R,
	[LCB_F_PERCPU | LCB_F_WRITE] = ABI_LOCK_PERCPU_RWSEM_W,
	[LCB_F_RT] = ABI_LOCK_RT_MUTEX,
	[LCB_F_RT | LCB_F_READ] = ABI_LOCK_RT_RW_R,
	[LCB_F_RT | LCB_F_WRITE] = ABI_LOCK_RT_RW_W,
};

static __always_inline u32 lock_kind(u32 flags)
{
	u64 at = flags, lim = LCB_FLAGS;

	if (at >= lim)
		return ABI_LOCK_UNKNOWN;
	CLAMP_INDEX(at, lim);
	return kinds[at] ? kinds[at] : ABI_LOCK_UNKNOWN;
}

/* A mutex is also spun for, but preemptibly: that is with the task. */
static __always_inline bool spins(u32 flags)
{
	return (flags & (LCB_F_SPIN | LCB_F_MUTEX)) == LCB_F_SPIN;
}

/* ---- spinning: on the CPU ---- */

static __always_inline void spin_begin(struct lock_cpu *c, struct abi_counts *bank,
				       struct task_struct *p, u64 lock, u32 flags)
{
	u64 stay = (u64)p->nvcsw + p->nivcsw, at, lim = SPINS;
	struct lock_wait *w;
	u32 i;

	if (c->task != (u64)p || c->stay != stay) {
		bank->unpaired += c->depth;
		c->depth = 0;
		c->task = (u64)p;
		c->stay = stay;
	}
	for (i = 0; i < SPINS && i < c->depth; i++) { /* nobody spins twice for the same lock */
		if (c->waits[i].lock != lock)
			continue;
		bank->unpaired += c->depth - i;
		c->depth = i;
	}
	if (c->depth >= SPINS) {
		bank->unpaired += c->depth;
		c->depth = 0;
	}
	at = c->depth++;
	CLAMP_INDEX(at, lim);
	w = &c->waits[at];
	w->lock = lock;
	w->kind = lock_kind(flags);
	w->since = bpf_ktime_get_ns();
}

/* The wait that ends, out of the stack; what lies above it has lost its end. */
static __always_inline bool spin_end(struct lock_cpu *c, struct abi_counts *bank,
				     struct task_struct *p, u64 lock, struct lock_wait *out)
{
	u32 i, depth = c->depth;

	if (!depth || c->task != (u64)p || c->stay != (u64)p->nvcsw + p->nivcsw)
		return false;
	for (i = SPINS; i > 0; i--) {
		if (i > depth || c->waits[i - 1].lock != lock)
			continue;
		*out = c->waits[i - 1];
		bank->unpaired += depth - i;
		c->depth = i - 1;
		return true;
	}
	return false;
}

/* ---- sleeping: with the task ---- */

/*
 * A mutex begins anew whenever its waiter, first in the queue, turns from sleeping to spinning or
 * back: it is one wait. Two of the same in a row are two waits, and the end of one is lost.
 */
static __always_inline bool goes_on(const struct lock_wait *w, u64 lock, u32 flags)
{
	return w->lock == lock && w->kind == ABI_LOCK_MUTEX && lock_kind(flags) == w->kind &&
	       w->flags != flags;
}

static __always_inline void sleep_begin(struct abi_counts *bank, struct task_struct *p, u64 lock,
					u32 flags)
{
	struct lock_wait *w;
	struct stamp *st;

	if (!filter_early(p))
		return;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return;
	}
	st->flags |= STAMP_SEEN;
	w = &st->waits[0];
	if (goes_on(w, lock, flags)) {
		w->flags = flags;
		if (why)
			lock_holder_again(p, lock, w->kind, !(flags & LCB_F_SPIN));
		return;
	}
	if (w->lock && preempt_rt && flags & LCB_F_RT && w->lock != lock) {
		w = &st->waits[1];
	} else {
		bank->unpaired += w->lock != 0;
		bank->unpaired += st->waits[1].lock != 0;
		st->waits[1].lock = 0;
	}
	if (w == &st->waits[1])
		bank->unpaired += w->lock != 0;
	w->lock = lock;
	w->kind = lock_kind(flags);
	w->flags = flags;
	w->since = bpf_ktime_get_ns();
	if (why && w == &st->waits[0])
		lock_holder_begin(p, w, !(flags & LCB_F_SPIN));
}

static __always_inline bool sleep_end(struct abi_counts *bank, struct stamp *st, u64 lock,
				      struct lock_wait *out)
{
	struct lock_wait *w = &st->waits[0];

	if (w->lock == lock) {
		bank->unpaired += st->waits[1].lock != 0;
		st->waits[1].lock = 0;
	} else {
		w = &st->waits[1];
		if (w->lock != lock)
			return false;
	}
	*out = *w;
	w->lock = 0;
	return true;
}

SEC("tp_btf/contention_begin")
int ws_lock_begin(u64 *ctx)
{
	u64 lock = ctx[0], ep = epoch;
	u32 flags = (u32)ctx[1];
	struct abi_counts *bank;
	struct task_struct *p;
	struct lock_cpu *c;

	if (!ep)
		return 0;
	bank = bank_get(ep);
	c = lock_cpu_enter();
	if (!bank || !c)
		return 0;
	p = current_task();
	if (spins(flags))
		spin_begin(c, bank, p, lock, flags);
	else
		sleep_begin(bank, p, lock, flags);
	lock_cpu_leave(c);
	return 0;
}

/* ---- the end of a wait ---- */

/* Whose wait was it? Those of interrupts are nobody's: a filter that asks about tasks leaves them
 * out. */
#define OF_NOBODY_WANTED 0
#define OF_TASK 1
#define OF_INTERRUPT 2

static __always_inline u32 whose_spin(struct abi_counts *bank, struct task_struct *p)
{
	struct stamp *st;

	if ((filter.asks_task || keyed.by != ABI_BY_NONE || filter_is_self(p)) &&
	    compat_context() == CONTEXT_IRQ)
		return filter_interrupt() ? OF_INTERRUPT : OF_NOBODY_WANTED;
	if (!filter_early(p))
		return OF_NOBODY_WANTED;
	if (!filter.asks_late)
		return OF_TASK;
	st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return OF_NOBODY_WANTED;
	}
	return filter_late(st, p) ? OF_TASK : OF_NOBODY_WANTED;
}

/* An end whose beginning we have not: the first of a task may have begun before we did. */
static __always_inline void unmatched(struct abi_counts *bank, struct task_struct *p,
				      struct stamp *st)
{
	if (!filter_early(p))
		return;
	if (!st)
		st = stamp_get(p, true);
	if (!st) {
		bank->store_full++;
		return;
	}
	if (!filter_late(st, p))
		return;
	if (st->flags & STAMP_SEEN)
		bank->unpaired++;
	else
		bank->missed++;
	st->flags |= STAMP_SEEN;
}

static __always_inline void lock_slow(struct task_struct *p, const struct lock_wait *w, u64 now,
				      u64 ep, bool interrupt)
{
	u64 wait_ns = now > w->since ? now - w->since : 0;
	struct abi_key key = {};

	if (wait_ns < slower_ns)
		return;
	lock_key(&key, p, w, interrupt);
	held_slow_row(&key);
	held_slow_emit(w->lock, wait_ns, ep, interrupt);
}

SEC("tp_btf/contention_end")
int ws_lock_end(u64 *ctx)
{
	u64 lock = ctx[0], ep = epoch, now;
	struct lock_wait w = {};
	struct abi_counts *bank;
	struct stamp *st = NULL;
	struct task_struct *p;
	struct lock_cpu *c;
	u32 whose = OF_NOBODY_WANTED;

	if (!ep)
		return 0;
	now = bpf_ktime_get_ns();
	bank = bank_get(ep);
	c = lock_cpu_enter();
	if (!bank || !c)
		return 0;
	p = current_task();
	if (spin_end(c, bank, p, lock, &w)) {
		whose = whose_spin(bank, p);
	} else {
		st = stamp_get(p, false);
		if (!st || !sleep_end(bank, st, lock, &w))
			unmatched(bank, p, st);
		else if (filter_late(st, p))
			whose = OF_TASK;
	}
	if (why)
		holder_no_row();
	if (why && slower)
		held_slow_begin();
	if (whose != OF_NOBODY_WANTED)
		lock_account(ctx, c, bank, p, &w, now, ep, whose == OF_INTERRUPT);
	if (why && w.lock) {
		lock_holder_end(bank, p, &w, now, (s64)ctx[1], ep);
		lock_take(ctx);
	}
	if (slower && whose != OF_NOBODY_WANTED)
		lock_slow(p, &w, now, ep, whose == OF_INTERRUPT);
	lock_cpu_leave(c);
	return 0;
}

/* ---- run by user space at a report: who is still waiting? ---- */

SEC("iter/task")
int ws_lock_in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct abi_in_flight *out = flight_get();
	struct stamp *st;

	if (!p || !out || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !st->waits[0].lock || !filter_late(st, p))
		return 0;
	flight_add(out, p, st->waits[0].since);
	return 0;
}
