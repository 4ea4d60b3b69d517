// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Futex waits. A call is remembered with its task when it enters the kernel; when it leaves, its
 * return value says what became of it:
 *
 *	0		woken			a sample
 *	-ETIMEDOUT	timed out		a sample
 *	-EINTR, -ERESTART*	interrupted	a sample; what is left of it, if it goes
 *						on, is another
 *	-EAGAIN		the value had changed	no wait
 *	other errors				no wait
 *
 * A task that is killed while it waits leaves the call on its way out too (-ERESTARTSYS).
 */
#include "common.bpf.h"
#include "compat.bpf.h"

#include "abi_futex.h"
#include "futex_calls.bpf.h"

#define STAMP_SEEN (STAMP_OWN << 0)    /* called before: a call without its beginning is a loss */
#define STAMP_RESTART (STAMP_OWN << 1) /* interrupted: restart_syscall goes on with it */

struct stamp {
	u64 t0; /* 0: in no futex call */
	u64 cgroup_id;
	u32 flags;
	u32 pad;
	struct call call;
	u64 pad2[2];
};

_Static_assert(sizeof(struct stamp) == 64, "stamp size");

#define TASKS_FROM_CURRENT /* a system call's task */
#include "filter.bpf.h"
#include "flight.bpf.h"
#include "follow.bpf.h"
#include "hist.bpf.h"

#include "keyed.bpf.h"

#include "futex_hooks.bpf.h"
#include "user_stack.bpf.h"
#include "futex_addr.bpf.h"
#include "holder.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* errno, and the kernel's own (include/linux/errno.h) */
#define EINTR 4
#define EAGAIN 11
#define ETIMEDOUT 110
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

#include "futex_holder.bpf.h"

static __always_inline int enter(const struct call *c)
{
	struct abi_counts *bank;
	struct task_struct *p;
	struct stamp *st;
	u64 ep = epoch;

	if (!ep)
		return 0;
	p = current_task();
	if (!filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (!st || st->t0) {
		bank = bank_get(ep);
		if (!bank)
			return 0;
		if (!st) {
			bank->store_full++;
			return 0;
		}
		bank->unpaired++; /* the call before this one was not seen to end */
	}
	st->call = *c;
	st->flags = (st->flags | STAMP_SEEN) & ~STAMP_RESTART;
	st->t0 = bpf_ktime_get_ns();
	if (why)
		futex_holder_begin(p, &st->call, st->t0);
	return 0;
}

static __always_inline int enter_restart(void)
{
	struct task_struct *p = current_task();
	struct stamp *st;

	if (!epoch || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !(st->flags & STAMP_RESTART))
		return 0;
	st->flags &= ~STAMP_RESTART;
	st->t0 = bpf_ktime_get_ns();
	if (why)
		futex_holder_begin(p, &st->call, st->t0);
	return 0;
}

/* The entry of an address, and its key. */
static __always_inline struct abi_khead *entry_of(struct abi_counts *bank, struct task_struct *p,
						  const struct abi_futex_addr *a, u32 kind,
						  struct abi_key *key, u64 ep)
{
	struct abi_khead *e = NULL;

	if (a) {
		group_key(key, p);
		key->obj = a->id;
		key->kind = kind;
		key->cpu = bpf_get_smp_processor_id(); /* of threads too: for the row's CPUs */
		e = keyed_get(bank, key, ep);
	} else {
		bank->keys_full++;
	}
	if (!e)
		return keyed_other(kind == ABI_FUTEX_WAKERS ? ABI_FUTEX_LOCK : kind, ep);
	group_name(e, p);
	return e;
}

/* Who waited, as far as 64 bits tell. */
static __always_inline void note_task(struct abi_khead *e, u64 ep)
{
	const struct abi_khist *h = khist(e, 0);
	u64 bit = 1ULL << (bpf_get_current_pid_tgid() & 63);

	if (h->epoch != ep)
		e->sums[ABI_CONTEND_TASKS] = 0;
	e->sums[ABI_CONTEND_TASKS] |= bit;
}

static __always_inline bool interrupted(s64 ret)
{
	return ret == -EINTR || (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK);
}

static __always_inline bool counts(const struct call *c, s64 ret)
{
	if (c->kind == ABI_FUTEX_NONE)
		return false;
	return ret >= 0 || (c->kind < ABI_FUTEX_WAKE &&
			    (ret == -EAGAIN || ret == -ETIMEDOUT || interrupted(ret)));
}

/*
 * The histogram of a class of waits in a bank. Each branch sets a constant, which the compiler cannot
 * merge with the others: the verifier of 5.10 loses the bounds of an offset that is a range times a size.
 */
static __always_inline u32 class_metric(u32 class)
{
	u64 metric;

	if (class == ABI_FUTEX_LOCK)
		asm volatile("%0 = 0" : "=r"(metric));
	else if (class == ABI_FUTEX_WORK)
		asm volatile("%0 = 1" : "=r"(metric));
	else
		asm volatile("%0 = 2" : "=r"(metric));
	return metric;
}

static __always_inline void account(void *ctx, struct abi_counts *bank, struct task_struct *p,
				    struct call *c, u64 ns, s64 ret, u64 ep)
{
	bool waits = c->kind < ABI_FUTEX_WAKE;
	struct abi_futex_addr *a = NULL;
	struct abi_key key = {};
	struct abi_khead *e;
	u32 kind;

	if (call_take(c, waits && ret > 0 ? (u32)ret : 0))
		a = address_get(p, c, waits || ret);
	/* Each pthread_once wakes whoever may wait: nobody, of addresses that nobody waits for. */
	if (!a && !waits && !ret)
		return;
	kind = address_kind(a, c);
	e = entry_of(bank, p, a, kind, &key, ep);
	if (!e)
		return;
	if (a && (!waits || ret == -EAGAIN))
		tell(bank, p, &key, a, c);
	if (!waits) {
		e->sums[ABI_FUTEX_WAKES]++;
		e->sums[ABI_FUTEX_WOKEN] += ret;
		return;
	}
	if (ret == -EAGAIN) {
		e->sums[ABI_FUTEX_EAGAIN]++;
		return;
	}
	e->sums[ABI_FUTEX_TIMEOUT] += ret == -ETIMEDOUT;
	note_task(e, ep);
	bank->switches++; /* the bank has moved */
	hist_add(bank, class_metric(kind), ns, ep);
	khist_add(e, 0, ns, ep);
	if (why) {
		futex_holder_row(&key);
		futex_holder_end();
		futex_take(ctx);
	}
	if (slower && kind != ABI_FUTEX_WORK && ns >= slower_ns) {
		held_slow_row(&key);
		held_slow_emit(c->uaddr, ns, ep, 0);
	}
	if (a)
		describe(ctx, bank, p, &key, a, c);
}

/* A call that was not seen to begin. */
static __always_inline void unbegun(struct abi_counts *bank, struct task_struct *p,
				    struct stamp *st)
{
	if (!filter_late(st, p))
		return;
	if (st->flags & STAMP_SEEN)
		bank->unpaired++;
	else
		bank->missed++;
}

static __always_inline int leave(void *ctx, s64 ret, bool restart)
{
	u64 now = bpf_ktime_get_ns(), t0, ep = epoch;
	struct abi_counts *bank;
	struct task_struct *p;
	struct stamp *st;
	struct call c;

	if (!ep)
		return 0;
	p = current_task();
	if (!filter_early(p))
		return 0;
	st = stamp_get(p, !restart);
	if (restart && (!st || !st->t0)) /* of another call: a sleep, a poll */
		return 0;
	bank = bank_get(ep);
	if (!bank)
		return 0;
	if (!st) {
		bank->store_full++;
		return 0;
	}
	t0 = st->t0;
	st->t0 = 0;
	if (!t0)
		unbegun(bank, p, st);
	st->flags |= STAMP_SEEN;
	if (ret == -ERESTART_RESTARTBLOCK)
		st->flags |= STAMP_RESTART;
	if (!t0)
		return 0;
	c = st->call;
	if (why)
		futex_holder_over(&st->call, t0, now, ret, ep);
	if (counts(&c, ret) && filter_late(st, p))
		account(ctx, bank, p, &c, elapsed(bank, now, t0), ret, ep);
	else if (why) {
		futex_holder_row(NULL);
		futex_holder_end();
	}
	return 0;
}

/* ---- tracepoints of single calls ---- */

SEC("tracepoint")
int ws_futex(struct syscall_enter *ctx)
{
	struct call c = call_futex(ctx->args[0], ctx->args[1], ctx->args[2], ctx->args[3]);

	return enter(&c);
}

SEC("tracepoint")
int ws_futex_waitv(struct syscall_enter *ctx)
{
	struct call c = call_vector(ABI_FUTEX_WAITV, ctx->args[0]);

	return enter(&c);
}

SEC("tracepoint")
int ws_futex_wait(struct syscall_enter *ctx)
{
	struct call c = call_futex2(ABI_FUTEX_WAIT2, ctx->args[0], ctx->args[1], ctx->args[3]);

	return enter(&c);
}

SEC("tracepoint")
int ws_futex_wake(struct syscall_enter *ctx)
{
	struct call c = call_futex2(ABI_FUTEX_WAKE, ctx->args[0], 0, ctx->args[3]);

	return enter(&c);
}

SEC("tracepoint")
int ws_futex_requeue(struct syscall_enter *ctx)
{
	struct call c = call_vector(ABI_FUTEX_WAKE, ctx->args[0]);

	return enter(&c);
}

SEC("tracepoint")
int ws_restart(void *ctx)
{
	return enter_restart();
}

SEC("tracepoint")
int ws_futex_exit(struct syscall_exit *ctx)
{
	return leave(ctx, ctx->ret, false);
}

SEC("tracepoint")
int ws_restart_exit(struct syscall_exit *ctx)
{
	return leave(ctx, ctx->ret, true);
}

/* ---- or those of all calls ---- */

static __always_inline struct call call_decode(u32 kind, const struct args *a)
{
	if (kind == SYSCALL_FUTEX)
		return call_futex(a->v[0], a->v[1], a->v[2], a->v[3]);
	if (kind == SYSCALL_WAITV)
		return call_vector(ABI_FUTEX_WAITV, a->v[0]);
	if (kind == SYSCALL_WAIT)
		return call_futex2(ABI_FUTEX_WAIT2, a->v[0], a->v[1], a->v[3]);
	if (kind == SYSCALL_WAKE)
		return call_futex2(ABI_FUTEX_WAKE, a->v[0], 0, a->v[3]);
	return call_vector(ABI_FUTEX_WAKE, a->v[0]);
}

/* The tracepoints of single calls are attached as well: these programs add the 32-bit calls, which those leave out. */
const volatile bool only_32 = false;

SEC("tp_btf/sys_enter")
int ws_sys_enter(u64 *ctx)
{
	struct call c;
	struct args a;
	bool is_32;
	u32 kind;

	kind = syscall_kind((u32)ctx[1], &is_32);
	if (kind == SYSCALL_OTHER || (only_32 && !is_32))
		return 0;
	if (kind == SYSCALL_RESTART)
		return enter_restart();
	syscall_args(&a, (const void *)ctx[0], is_32);
	c = call_decode(kind, &a);
	return enter(&c);
}

SEC("tp_btf/sys_exit")
int ws_sys_exit(u64 *ctx)
{
	bool is_32;
	u32 kind = syscall_kind(syscall_nr((const void *)ctx[0]), &is_32);

	if (kind == SYSCALL_OTHER || (only_32 && !is_32))
		return 0;
	return leave(ctx, (s64)ctx[1], kind == SYSCALL_RESTART);
}

/* ---- without these: 32-bit programs that begin are counted, their calls are not traced ---- */

TRACEPOINT(sched_process_exec)
int ws_exec_32(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct abi_counts *bank;
	struct stamp *st;
	u64 ep = epoch;

	/* The kernel marks the task for its return to a program of that kind (SET_PERSONALITY2). */
	if (!ep || !syscall_is_32())
		return 0;
	if (!filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (!st || !filter_late(st, p))
		return 0;
	bank = bank_get(ep);
	if (bank)
		bank->untraced++;
	return 0;
}

/* ---- run by user space at a report: who is still waiting? ---- */

SEC("iter/task")
int ws_in_flight(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task;
	struct abi_in_flight *out = flight_get();
	struct stamp *st;
	u64 t0;

	if (!p || !out || !p->pid || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !filter_late(st, p))
		return 0;
	t0 = st->t0;
	if (!t0 || st->call.kind == ABI_FUTEX_NONE || st->call.kind >= ABI_FUTEX_WAKE)
		return 0;
	flight_add(out, p, t0);
	return 0;
}
