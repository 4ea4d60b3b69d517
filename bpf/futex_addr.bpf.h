/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses: one record for each futex that a process waits for or wakes, and its number. */
#ifndef WS_FUTEX_ADDR_BPF_H
#define WS_FUTEX_ADDR_BPF_H

#include "space.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_futex_key);
	__type(value, struct abi_futex_addr);
} addresses SEC(".maps");

/* Numbers handed out, by CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

const volatile __u32 stack_every; /* a stack of one wait in so many for a known address; 0: none */
const volatile __u64 ring_wake_bytes; /* lie unread before user space is woken */

static __always_inline void process_key(struct abi_futex_key *key, struct task_struct *p)
{
	struct task_struct *leader = TASK_READ(p, group_leader);

	key->tgid = (u32)TASK_READ(p, tgid);
	key->born = leader ? TASK_READ(leader, start_time) : 0;
	key->execs = (u32)TASK_READ(p, self_exec_id);
}

static __always_inline u64 number_next(void)
{
	u32 zero = 0;
	u64 *n = bpf_map_lookup_elem(&numbers, &zero);

	if (!n)
		return 0;
	return ((u64)bpf_get_smp_processor_id() + 1) << 44 | ++*n;
}

/* NULL: no room for another; or it is new, and is not to be made. */
static __always_inline struct abi_futex_addr *address_get(struct task_struct *p,
							  const struct call *c, bool create)
{
	struct abi_futex_key key = {.uaddr = c->uaddr};
	struct abi_futex_addr fresh = {}, *a;

	process_key(&key, p);
	a = bpf_map_lookup_elem(&addresses, &key);
	if (a || !create)
		return a;
	fresh.id = number_next();
	fresh.flags = c->flags & CALL_SHARED ? ABI_FUTEX_SHARED : 0;
	fresh.space = space_of(p, false);
	BPF_CORE_READ_INTO(&fresh.comm, p, group_leader, comm);
	bpf_map_update_elem(&addresses, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&addresses, &key); /* ours, or who came first */
}

#define KIND_MASK 0xffU
#define KIND_SEEN_UNSURE 0x100U /* the value need not be a lock's */

/*
 * The class of a wait, by what its value says when it is over, or else by user space's word for the address,
 * whose flags these are. glibc joins a thread, from 2.43 on, by a word of its own
 * that is 2 until the kernel clears it at the thread's end. The writer of a process-shared
 * reader-writer lock waits for a 2 in the same way, but after its wait the word is not 0. Global: the
 * verifier takes it by itself, once, and follows none of its ways into what comes after.
 */
__noinline u32 kind_at_end(u32 kind, u32 val, u32 flags, u64 uaddr, u32 known)
{
	struct call c = {.kind = kind, .val = val, .flags = flags};
	u32 word, said, seen;

	flags &= CALL_REALTIME | CALL_SHARED | CALL_TIMED;
	if (val == 2 && flags == (CALL_REALTIME | CALL_SHARED) &&
	    !bpf_probe_read_user(&word, sizeof(word), (void *)uaddr) && !word)
		return ABI_FUTEX_WORK;
	said = call_value(&c);
	if (said == VALUE_OWNED)
		return ABI_FUTEX_LOCK;
	if (said == VALUE_WORK)
		return ABI_FUTEX_WORK;
	seen = said == VALUE_LOCK ? 0 : KIND_SEEN_UNSURE;
	if (known & ABI_FUTEX_LOCKS)
		return ABI_FUTEX_LOCK | seen;
	if (known & ABI_FUTEX_WORKS)
		return ABI_FUTEX_WORK | seen;
	return seen || known & ABI_FUTEX_SEEN_UNSURE ? ABI_FUTEX_UNSURE | seen : ABI_FUTEX_LOCK;
}

/* Flags are only ever set; one that a race loses is set again by the next wait. */
static __always_inline u32 address_kind(struct abi_futex_addr *a, const struct call *c)
{
	u32 known = a ? a->flags : 0, got;

	if (c->kind >= ABI_FUTEX_WAKE)
		return ABI_FUTEX_WAKERS;
	got = kind_at_end(c->kind, c->val, c->flags, c->uaddr, known);
	if (got & KIND_SEEN_UNSURE && a && !(known & ABI_FUTEX_SEEN_UNSURE))
		a->flags |= ABI_FUTEX_SEEN_UNSURE;
	return got & KIND_MASK;
}

/* Where a thread sleeps for many reasons, the first stack tells of one. */
#define MANY_EVERY 16

static __always_inline bool stack_wanted(struct abi_futex_addr *a)
{
	if (!(a->flags & ABI_FUTEX_STACKED)) {
		a->flags |= ABI_FUTEX_STACKED;
		return true;
	}
	if (a->flags & ABI_FUTEX_MANYS && bpf_get_prandom_u32() % MANY_EVERY == 0)
		return true;
	return stack_every && bpf_get_prandom_u32() % stack_every == 0;
}

static __always_inline struct abi_contend_sample *
sample_begin(struct abi_counts *bank, struct task_struct *p, const struct abi_key *key,
	     const struct abi_futex_addr *a, const struct call *c)
{
	struct abi_contend_sample *s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
	struct abi_futex_key process;

	if (!s) {
		bank->slow_lost++;
		return NULL;
	}
	s->key = *key;
	s->object = c->uaddr;
	s->type = c->kind | (a->flags & (ABI_FUTEX_SHARED | ABI_FUTEX_SEEN_UNSURE));
	process_key(&process, p);
	s->pid = process.tgid;
	s->born = process.born;
	s->execs = process.execs;
	s->tid = (u32)TASK_READ(p, pid);
	BPF_CORE_READ_INTO(&s->comm, p, group_leader, comm);
	__builtin_memset(s->process, 0, sizeof(s->process)); /* comm is it */
	s->space = a->space;
	s->role = ABI_ROLE_WAITED;
	s->nips = 0;
	return s;
}

/* A process is best looked at while it lives: user space hears of a new address at once. */
static __always_inline void tell(struct abi_counts *bank, struct task_struct *p,
				 const struct abi_key *key, struct abi_futex_addr *a,
				 const struct call *c)
{
	struct abi_contend_sample *s;

	if (a->flags & ABI_FUTEX_TOLD)
		return;
	a->flags |= ABI_FUTEX_TOLD;
	s = sample_begin(bank, p, key, a, c);
	if (s)
		bpf_ringbuf_submit(s, BPF_RB_FORCE_WAKEUP);
}

/* The first wait for an address, and then one in stack_every. Its end has been taken before. */
static __always_inline void describe(void *ctx, struct abi_counts *bank, struct task_struct *p,
				     const struct abi_key *key, struct abi_futex_addr *a,
				     const struct call *c)
{
	u64 wake = BPF_RB_NO_WAKEUP;
	struct abi_contend_sample *s;

	if (!stack_wanted(a))
		return;
	if (!(a->flags & ABI_FUTEX_TOLD) ||
	    bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) >= ring_wake_bytes)
		wake = BPF_RB_FORCE_WAKEUP;
	a->flags |= ABI_FUTEX_TOLD;
	s = sample_begin(bank, p, key, a, c);
	if (!s)
		return;
	s->nips = stack_take(ctx, s->ips);
	bpf_ringbuf_submit(s, wake);
}

#endif
