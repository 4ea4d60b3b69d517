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
#include "lib/common.bpf.h"
#include "compat.bpf.h"

#include "abi_futex.h"

/* ---- system calls ---- */

/* Futex system calls, by their arguments: whose address, what for, and was that a lock? */

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

#define STAMP_SEEN (STAMP_OWN << 0)    /* called before: a call without its beginning is a loss */
#define STAMP_RESTART (STAMP_OWN << 1) /* interrupted: restart_syscall goes on with it */

#define STAMP_OF_SOURCE
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
#include "lib/filter.bpf.h"
#include "lib/flight.bpf.h"
#include "lib/follow.bpf.h"
#include "lib/hist.bpf.h"

#include "lib/keyed.bpf.h"
#include "lib/user_stack.bpf.h"
#include "lib/code.bpf.h"
#include "lib/holder.bpf.h"
#include "lib/take_tell.bpf.h"

/* ---- hooks ---- */

/*
 * Where system calls are seen. Measured on 6.18, x86-64, both ends, against no tracing at all:
 *
 *				getppid()	a futex call
 *	syscalls:sys_*_futex	+10 ns		+65 ns
 *	raw sys_enter/sys_exit	+40 ns		+36 ns
 *
 * Any system-call tracepoint sends every system call of the machine down the slow path; the first
 * kind then runs a program for futexes alone. It takes tracefs (for the tracepoint's number) and
 * CONFIG_FTRACE_SYSCALLS; without them user space takes the second. That one also sees what the
 * first leaves out, the calls of 32-bit programs (arch_trace_is_compat_syscall): for them both are
 * there, if a 32-bit program runs when waitscope starts. Programs that begin later are counted
 * (ws_exec_32).
 */

/* What perf hands to programs on syscalls:sys_enter_* and sys_exit_* (syscall_tp_t). */
struct syscall_enter {
	u64 common;
	s64 nr;
	u64 args[6];
};

struct syscall_exit {
	u64 common;
	s64 nr;
	s64 ret;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_info___x86 {
	u32 status;
};

struct thread_info___arm64 {
	unsigned long flags;
};

struct task_struct___x86 {
	struct thread_info___x86 thread_info;
};

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
};

#pragma clang attribute pop

#define TS_COMPAT 2U	      /* arch/x86/include/asm/thread_info.h */
#define TIF_32BIT (1UL << 22) /* arch/arm64/include/asm/thread_info.h */

/* Call numbers: those from 424 on are the same everywhere. */
#define NR_FUTEX_X86 202
#define NR_FUTEX_ARM64 98
#define NR_RESTART_X86 219
#define NR_RESTART_ARM64 128
#define NR_FUTEX_32 240	       /* i386 and arm */
#define NR_FUTEX_TIME64_32 422 /* ... with 64-bit time-outs */
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456

#define SYSCALL_OTHER 0
#define SYSCALL_FUTEX 1
#define SYSCALL_WAITV 2
#define SYSCALL_WAKE 3
#define SYSCALL_WAIT 4
#define SYSCALL_REQUEUE 5
#define SYSCALL_RESTART 6

/* Does a 32-bit call go on? Asked about the few numbers only that mean a futex there. */
static __always_inline bool syscall_is_32(void)
{
	const struct task_struct___x86 *x = (void *)bpf_get_current_task();
	const struct task_struct___arm64 *a = (const void *)x;

	if (bpf_core_field_exists(x->thread_info.status)) /* x86 has both */
		return BPF_CORE_READ(x, thread_info.status) & TS_COMPAT;
	return BPF_CORE_READ(a, thread_info.flags) & TIF_32BIT;
}

static __always_inline u32 syscall_new(u32 nr)
{
	if (nr == NR_FUTEX_WAITV)
		return SYSCALL_WAITV;
	if (nr == NR_FUTEX_WAKE)
		return SYSCALL_WAKE;
	if (nr == NR_FUTEX_WAIT)
		return SYSCALL_WAIT;
	return nr == NR_FUTEX_REQUEUE ? SYSCALL_REQUEUE : SYSCALL_OTHER;
}

/*
 * Most calls of the machine end here: few instructions. A wait that a 32-bit program restarts
 * (restart_syscall is 0 there, which is read or io_setup elsewhere) is not looked for.
 */
static __always_inline u32 syscall_kind(u32 nr, bool *is_32)
{
	u32 futex = arch_x86() ? NR_FUTEX_X86 : NR_FUTEX_ARM64;
	u32 restart = arch_x86() ? NR_RESTART_X86 : NR_RESTART_ARM64;

	*is_32 = false;
	if (nr != futex && nr != restart && nr - NR_FUTEX_WAITV > 7 && nr != NR_FUTEX_32 &&
	    nr != NR_FUTEX_TIME64_32)
		return SYSCALL_OTHER;
	*is_32 = syscall_is_32();
	if (nr >= NR_FUTEX_WAITV)
		return syscall_new(nr);
	if (*is_32)
		return nr == NR_FUTEX_32 || nr == NR_FUTEX_TIME64_32 ? SYSCALL_FUTEX
								     : SYSCALL_OTHER;
	if (nr == futex)
		return SYSCALL_FUTEX;
	return nr == restart ? SYSCALL_RESTART : SYSCALL_OTHER;
}

struct args {
	u64 v[4];
};

static __always_inline void syscall_args(struct args *a, const void *regs, bool is_32)
{
	const struct pt_regs___x86 *x = regs;
	const struct pt_regs___arm64 *r = regs;

	if (!arch_x86()) {
		a->v[0] = r->regs[0];
		a->v[1] = r->regs[1];
		a->v[2] = r->regs[2];
		a->v[3] = r->regs[3];
	} else if (is_32) {
		a->v[0] = (u32)x->bx;
		a->v[1] = (u32)x->cx;
		a->v[2] = (u32)x->dx;
		a->v[3] = (u32)x->si;
	} else {
		a->v[0] = x->di;
		a->v[1] = x->si;
		a->v[2] = x->dx;
		a->v[3] = x->r10;
	}
}

static __always_inline u32 syscall_nr(const void *regs)
{
	if (arch_x86())
		return (u32)((const struct pt_regs___x86 *)regs)->orig_ax;
	return (u32)((const struct pt_regs___arm64 *)regs)->syscallno;
}

/* ---- addresses ---- */

/* Addresses: one record for each futex that a process waits for or wakes, and its number. */

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
 * The class of a wait, by what its value says when it is over, or else by user space's word for the
 * address, whose flags these are. glibc joins a thread, from 2.43 on, by a word of its own that is
 * 2 until the kernel clears it at the thread's end. The writer of a process-shared reader-writer
 * lock waits for a 2 in the same way, but after its wait the word is not 0. A global function, so
 * that the verifier checks it once and does not follow its branches into the code after a call.
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

char LICENSE[] SEC("license") = "GPL";

/* errno, and the kernel's own (include/linux/errno.h) */
#define EINTR 4
#define EAGAIN 11
#define ETIMEDOUT 110
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

/* ---- holders ---- */

/*
 * --why of futexes: who holds it, where the word or what lies behind it says so.
 *
 *	FUTEX_LOCK_PI*			the word is the holder's number
 *	waited for with FUTEX_WAITERS	so it is: robust mutexes, musl's
 *	2, in a pthread_mutex_t		glibc's __owner
 *
 * The last is believed if all that lies there looks like such a mutex, and the number is that of
 * another thread of the process, or of any if the mutex is shared by processes. Runtimes with locks
 * of their own (Go, Rust) have no owner there: it is not known.
 */

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

static __always_inline void futex_line(struct timeline_key *key, struct task_struct *p,
				       const struct call *c)
{
	key->lock = c->uaddr;
	key->space = (u32)TASK_READ(p, tgid);
}

static __always_inline void futex_holder_begin(struct task_struct *p, const struct call *c, u64 t0)
{
	struct timeline_key key = {};

	futex_line(&key, p, c);
	if (c->kind == ABI_FUTEX_WAKE && !(c->flags & CALL_VECTOR))
		take_gave(tag_of(&key, TASK_READ(p, pid)), t0);
	if (futex_is_lock(c))
		holder_begin(p, ABI_HELD_FUTEX, &key, futex_holder(p, c), t0, true);
}

/*
 * It has the lock, presumably, after a wait: and does it call the kernel to give it up? With
 * glibc's mutexes who has waited leaves a 2; with priority inheritance the kernel leaves
 * FUTEX_WAITERS, unless it was free by then.
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

/* A call that is over, from before it is counted to after that: what is kept in registers meanwhile
 * would cost also those who do not ask. */
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
 * Who held it, of the call in holder_over and the row that was told. Global: the verifier takes it
 * by itself, once, and not for each way that leads here. That of kernels before 6.8 also takes what
 * is never called: nothing of it is left without --why.
 */
__noinline u32 futex_holder_end(void)
{
	u32 got = GOT_NOT, tid = ABI_HOLDER_UNKNOWN;
	struct futex_over *o;
	struct task_struct *p;
	struct timeline_key key = {};
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
 * The histogram of a class of waits in a bank. Each branch sets a constant, which the compiler
 * cannot merge with the others: the verifier of 5.10 loses the bounds of an offset that is a range
 * times a size.
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

/* The tracepoints of single calls are attached as well: these programs add the 32-bit calls, which
 * those leave out. */
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
