/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: the ledgers of tasks, kept by whichever object has the programs at sched_switch and
 * sched_waking: the scheduler's own where it runs (sched.bpf.c), so that each event is looked at
 * once, else tasks.bpf.c. Of tasks that others ask about (abi_kept) they say
 *
 *	switched out		running until now; blocked, runnable or throttled from now on
 *	sched_waking		blocked until now, runnable from now on
 *	switched in		... until now; running from now on
 *
 * All moments are of one clock and follow each other, so the sums are the time since the first
 * reading. Each is written by the CPU that switches the task; others read it meanwhile.
 */
#ifndef WS_TASKS_KEEP_BPF_H
#define WS_TASKS_KEEP_BPF_H

#include "compat.bpf.h"
#include "account.bpf.h"
#include "chain.bpf.h"
#include "release.bpf.h"
#include "stack.bpf.h"
#include "user_stack.bpf.h"

/* ---- logs of holders ---- */

/* Chains: who ran on a CPU lately, and who of them ran while another was queued there. */

const volatile bool chains;

#define STAYS 256 /* a power of two */

struct stay {
	u64 since;
	u32 tid; /* 0: idle */
	u32 pid;
	char comm[ABI_COMM_LEN];
};

struct chain_cpu {
	u64 n; /* stays so far; the last one goes on */
	struct stay v[STAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct chain_cpu);
} chain_cpus SEC(".maps");

static __always_inline struct chain_cpu *chain_cpu_get(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&chain_cpus, &zero);
}

/* `next` comes to this CPU. */
static __always_inline void chain_stay(struct task_struct *next, u64 now)
{
	struct chain_cpu *c = chain_cpu_get();
	struct stay *s;

	if (!c)
		return;
	s = &c->v[c->n & (STAYS - 1)];
	s->since = now;
	s->tid = (u32)next->pid;
	s->pid = (u32)next->tgid;
	bpf_core_read(s->comm, sizeof(s->comm), &next->comm);
	c->n++;
}

/* `p` was queued from `from` on and comes now: by the kernel's record for how long on this CPU. */
static __noinline u32 chain_queued(struct task_struct *p, u64 from, u64 now)
{
	struct abi_held_log *log = held_log_get((u32)p->pid);
	u64 queued = compat_queued_for(p), to = now, n;
	struct chain_cpu *c = chain_cpu_get();
	u32 i;

	if (!log || !c || !queued)
		return 0;
	if (now - queued > from)
		from = now - queued;
	n = c->n;
	for (i = 0; i < STAYS && i < n && to > from; i++) {
		const struct stay *t = &c->v[(n - 1 - i) & (STAYS - 1)];
		u64 begin = t->since > from ? t->since : from;
		struct abi_stretch *s;

		if (to > begin) {
			s = held_log_next(log, t->tid ? ABI_STRETCH_TASK : ABI_STRETCH_IDLE, begin,
					  to);
			s->addr = 0;
			s->obj = 0;
			s->tid = t->tid;
			s->pid = t->pid;
			__builtin_memcpy(s->comm, t->comm, sizeof(s->comm));
		}
		to = t->since;
	}
	return 0;
}

/* ---- releases ---- */

/* --why: the stack of a thread that wakes who waits for what it holds. */

#define RELEASES_A_SECOND 64 /* on a CPU: who is woken comes that much later */

const volatile __u32 release_every; /* 0: only the first of a lock and thread */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_rate);
} release_rates SEC(".maps");

static __always_inline bool release_wanted(const struct abi_held_wait *wait, u32 waker, u64 now)
{
	u64 tag = lock_thread_tag(wait->lock, wait->space, waker);
	struct abi_released *seen = released_of(tag);
	struct stack_rate *rate;
	u32 zero = 0;

	if (!seen)
		return false;
	if (seen->tag == tag) {
		seen->wakes++;
		if (!release_every || seen->wakes % release_every)
			return false;
	}
	rate = bpf_map_lookup_elem(&release_rates, &zero);
	return rate && stack_allowed(rate, now, RELEASES_A_SECOND);
}

/* The current task wakes `waiter`, whose ledger that is. Of a futex the program's stack says where,
 * of a lock the kernel's. */
static __always_inline void release_take(void *ctx, const struct abi_ledger *l, u32 waiter, u64 now)
{
	u32 lock = l->waits & 1U << ABI_HELD_LOCK, waits = lock ? 1U << ABI_HELD_LOCK : l->waits;
	const struct abi_held_wait *wait =
		lock ? &l->wait[ABI_HELD_LOCK] : &l->wait[ABI_HELD_FUTEX];
	struct abi_release *r;

	take_gave(lock_thread_tag(wait->lock, wait->space, (u32)bpf_get_current_pid_tgid()), now);
	if (!(l->waits & waits << ABI_HELD_KNOWN) || !l->waker ||
	    !release_wanted(wait, l->waker, now))
		return;
	r = release_of(waiter);
	if (!r)
		return;
	*(volatile u64 *)&r->woken_ns = 0;
	barrier();
	r->waiter = waiter;
	r->nips = lock ? kernel_stack_take(ctx, r->ips) : stack_take(ctx, r->ips);
	barrier();
	*(volatile u64 *)&r->woken_ns = now;
}

/* Behind the places: those that nobody has. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__type(value, u32);
} tasks_spare SEC(".maps");

static __always_inline void ledger_give_up(struct abi_ledger *l, u32 tid)
{
	u32 at = tid & (ABI_TASK_PLACES - 1), place = PLACE | at;
	const u32 *has = bpf_map_lookup_elem(&tasks_at, &place);

	l->task = 0;
	l->tid = 0;
	barrier();
	if (has && *has == tid) {
		bpf_map_delete_elem(&tasks_at, &place);
		return;
	}
	has = bpf_map_lookup_elem(&tasks_at, &tid);
	if (!has)
		return;
	at = *has;
	if (!bpf_map_delete_elem(&tasks_at, &tid))
		bpf_map_push_elem(&tasks_spare, &at, 0);
}

static __always_inline void ledger_turn(struct abi_ledger *l, u32 from, u64 since, u32 to, u64 now)
{
	u64 ns = now > since ? now - since : 0;

	did_add(&l->did, from, ns);
	l->before_ns = since;
	l->did_last = from;
	l->mark_ns = since + ns;
	l->does = to;
}

/* It came to a CPU at `now`. */
static __always_inline void ledger_runs(struct abi_ledger *l, struct task_struct *p, u64 now)
{
	u64 woken, queued, mark = ledger_mark(l);
	u32 does = l->does;

	if (does != ABI_DID_BLOCK) {
		ledger_turn(l, does, mark, ABI_DID_RUN, now);
		return;
	}
	woken = l->woken_ns;
	if (!woken) { /* while it was still on its way out, or unseen: what the kernel recorded */
		queued = compat_run_delay(p) - l->delay_ns + compat_queued_for(p);
		woken = now > mark + queued ? now - queued : mark;
	}
	if (woken > mark) {
		ledger_turn(l, ABI_DID_BLOCK, mark, ABI_DID_QUEUE, woken);
		mark = l->mark_ns;
	}
	ledger_turn(l, ABI_DID_QUEUE, mark, ABI_DID_RUN, now);
}

/*
 * What ledger_keep() may have got wrong on another CPU: that the task, which comes, had just left;
 * and that two began at once, of which one came after a switch.
 */
static __always_inline void ledger_mends(struct abi_ledger *l)
{
	const u64 *ns = l->did.ns;
	u64 mark = ledger_mark(l);

	if (!l->mark_ns && l->does == ABI_DID_RUN) {
		l->does = ABI_DID_BLOCK;
		l->woken_ns = 0;
	}
	if (ns[0] + ns[1] + ns[2] + ns[3] == mark - l->seen_ns)
		return;
	l->did = (struct abi_did){};
	l->seen_ns = l->before_ns = mark;
}

static __always_inline void forget(struct abi_ledger *l, u32 tid)
{
	struct abi_vtid key;

	if (l->vtid) {
		key = (struct abi_vtid){.tgid = l->tgid, .vtid = l->vtid};
		bpf_map_delete_elem(&vtids, &key);
	}
	ledger_give_up(l, tid);
}

/* Out of line, as what follows: it is not often. */
static __noinline u32 dies(struct task_struct *p)
{
	u32 tid = (u32)p->pid;
	struct abi_ledger *l = ledger_by_tid(tid);

	if (l && l->task == (u64)p)
		forget(l, tid);
	return 0;
}

/* The task is switched out, but we missed its switch-in. Returns the switch-in time that a reader
 * of the ledger has already assumed, so that both agree. */
static __always_inline u64 ledger_ran_from(const struct abi_ledger *l, struct task_struct *p,
					   u64 now)
{
	u64 mark = ledger_mark(l), since = l->does == ABI_DID_QUEUE ? mark : 0, came;

	if (l->does == ABI_DID_BLOCK)
		since = l->woken_ns;
	came = off_until((u64)p, l->left, since ? since - l->delay_ns : 0, mark, now);
	return came >= mark && came < now ? came : now - compat_ran_for(p);
}

static __noinline u32 leaves(struct task_struct *p, u32 runnable, u64 now)
{
	struct abi_ledger *l = ledger_by_tid((u32)p->pid);
	u32 does = ABI_DID_BLOCK;

	if (!l || !l->seen_ns || l->task != (u64)p)
		return 0;
	if (runnable)
		does = compat_throttled(p) ? ABI_DID_THROTTLE : ABI_DID_QUEUE;
	if (l->does != ABI_DID_RUN) /* a host may hide switches (sched.bpf.c) */
		ledger_runs(l, p, ledger_ran_from(l, p, now));
	l->woken_ns = 0;
	l->left = compat_arrived(p) + compat_ran_for(p);
	l->delay_ns = compat_run_delay(p);
	barrier();
	ledger_turn(l, ABI_DID_RUN, ledger_mark(l), does, now);
	return 0;
}

/* Its switch-out was seen, for the program ran in its own context: a host hides what runs in that
 * of its tasks. */
static __noinline u32 comes(struct task_struct *p, u64 now)
{
	struct abi_ledger *l = ledger_by_tid((u32)p->pid);

	if (!l || !l->seen_ns || l->task != (u64)p)
		return 0;
	ledger_mends(l);
	ledger_runs(l, p, now);
	if (chains && l->held_ns && l->did_last == ABI_DID_QUEUE && l->mark_ns > l->before_ns)
		chain_queued(p, l->before_ns, now);
	return 0;
}

/* At sched_switch, whose arguments are `ctx`. */
static __always_inline void tasks_switched(u64 *ctx, u64 now)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool preempted = ctx[0] & 1; /* whatever its state */
	const struct abi_kept *kept = kept_get();
	u32 state;

	if (!kept)
		return;
	state = compat_switch_state(ctx, prev);
	if (state & TASK_DEAD && !preempted)
		dies(prev);
	else if (kept->tid[kept_at((u32)prev->pid)])
		leaves(prev, preempted || !state, now);
	if (kept->tid[kept_at((u32)next->pid)])
		comes(next, now);
	if (chains)
		chain_stay(next, now);
}

/*
 * Of one that waits for a lock or futex: who woke it, and what that one had done by then. If nobody
 * reads its sums it is not known to hold anything, and they need not be kept for this.
 */
static __always_inline void waker_note(struct abi_ledger *l, u64 now)
{
	u32 waker = (u32)bpf_get_current_pid_tgid();
	struct abi_ledger *w = ledger_by_tid(waker);
	struct abi_did did = {};

	if (!w || (w->seen_ns && !account_read(w, now, &did)))
		waker = 0;
	l->waker = waker;
	l->waker_did = did;
	l->waker_ns = now;
}

/* `now` 0: not read yet, as it need not be for most. */
static __always_inline void tasks_woken(void *ctx, struct task_struct *p, u64 now)
{
	u32 tid = (u32)p->pid;
	const struct abi_kept *kept = kept_get();
	struct abi_ledger *l;

	if (!kept || !kept->tid[kept_at(tid)])
		return;
	l = ledger_by_tid(tid);
	if (!l || l->task != (u64)p)
		return;
	if (!l->waits && (!l->seen_ns || l->does != ABI_DID_BLOCK || l->woken_ns))
		return;
	if (!now)
		now = bpf_ktime_get_ns();
	if (l->waits) {
		waker_note(l, now);
		release_take(ctx, l, tid, now);
	}
	if (l->seen_ns && l->does == ABI_DID_BLOCK && !l->woken_ns)
		l->woken_ns = now;
}

#endif
