/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a wait for a lock: its entry, and now and then a description of it. */
#ifndef WS_LOCK_BPF_H
#define WS_LOCK_BPF_H

#include "holder.bpf.h"
#include "stack.bpf.h"

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

const volatile __u32 stack_every; /* 0: only the first of an entry */
const volatile __u64 ring_wake_bytes;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

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

	s->files = interrupt ? 0 : (u64)BPF_CORE_READ(p, files);
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

#endif
