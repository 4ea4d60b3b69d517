/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: what each CPU did, so that whoever waited for it can be told. Three writers, each with
 * fields of its own, since interrupts come in the middle of whatever else runs here:
 *
 *	sched_switch	stays: who came to the CPU, and the classes' sums at that moment
 *	hard interrupts	their sum; readings at each entry and exit
 *	soft interrupts	their sum, turned over by one store; readings as well
 *
 * A reading has the sums of all classes up to its moment; what is in none of them is the task's
 * whose stay it is, or idle. Between two readings that follow each other nearly always one class
 * alone goes on, so that a moment between them is known exactly; else (the hypervisor took some of
 * it) only what must lie on this side of it is counted, the rest stays unexplained: since() in
 * why.bpf.h.
 *
 * A chapter of sched.bpf.c, with why.bpf.h.
 */
#ifndef WS_WHY_CPU_BPF_H
#define WS_WHY_CPU_BPF_H

#include "abi_why.h"

/* ---- pairs ---- */

/* --why: what a CPU counts by itself. */

/*
 * Who waited, for whom and how long, by its length: what of it this CPU has counted since user
 * space last asked, and is not in its entry yet. A look-up in a hash takes as long as all else of
 * such a wait.
 */
struct why_pair {
	struct abi_key key; /* of its entry; all 0: of nobody */
	u64 who[2];	    /* the stay's key; 0 of idle's */
	u64 least_ns;	    /* waits of that length: from here on */
	u64 span_ns;	    /* and up to so much more */
	u64 ns;
	u64 count;
	u64 due_ns;
	u64 due_count;
};

/* Nearly all waits of a pair have one or two lengths: that many places next to each other are its
 * own. */
#define WHY_PAIR_WAYS 2
#define WHY_PAIRS 16 /* in all; powers of two */

#define WHY_STAYS 256 /* powers of two */
#define WHY_EDGES 512
#define WHY_STEAL_NS 10000
#define WHY_SLACK 4 /* the oldest of a ring may just be written over */
#define WHY_LAP 128 /* stays, and a reading of all sums */
#define WHY_LAPS 2048

/* Sums up to a moment. */
struct why_mark {
	u64 at;
	u64 irq;
	u64 softirq;
	u64 steal;
	u16 interrupted; /* from here on an interrupt runs */
	u8 rt_out;	 /* a stay's begins: real-time tasks of this CPU are out of their runtime */
	u8 rt_class;	 /* and of its task, see abi_why.h */
	u32 tid;	 /* whose; 0: idle's */
};

/* A cache line, written at every switch. */
struct why_stay {
	struct why_mark m;
	u64 due_ns; /* when a reschedule was due, if the task could still have run on; else 0 */
	u64 key[2]; /* the group that is blamed; a name as the kernel has it, see why_group() */
};

_Static_assert(sizeof(struct why_stay) == 64, "why_stay size");

/*
 * What else is known of a stay's task: with --slower, or a --by that asks for more than its name.
 */
struct why_who {
	u64 cgroup_id;
	char comm[ABI_COMM_LEN];
	char name[ABI_COMM_LEN]; /* of its group: of a process the first thread's */
	u32 pid;
	u32 pad[5];
};

_Static_assert(sizeof(struct why_who) == 64, "why_who size");

/* Soft interrupts, as far as they are over; since when one runs. */
struct why_soft {
	u64 ns;
	u64 start; /* 0: none runs */
	u64 irq;
	u64 steal;
};

/* The sums when a stay began, of one in WHY_LAP: where the ring has the stays no more, what the CPU
 * did is still known by class. */
struct why_lap {
	u64 at;
	u64 irq;
	u64 softirq;
	u64 steal;
	u64 idle;
	u64 rt_out; /* while real-time tasks were out of their runtime; not in `idle` */
};

#define WHY_HARD 0
#define WHY_SOFT 1

#define WHY_MOVES 3

/* Since when it waited on which CPU, and until when; more moves than these stay unexplained. */
struct why_moves {
	u64 n;
	u64 sum_ns;  /* of all */
	u64 base_ns; /* of which wait they are: the kernel's sum of those before, or its t1 */
	struct {
		u64 from, to, cpu;
	} v[WHY_MOVES];
};

/* A wait being looked at. */
struct why_walk {
	struct abi_key victim;
	char victim_comm[ABI_COMM_LEN];
	u64 victim_pid;
	u64 named_ns;
	u64 ep;
	u64 serial;
	u64 from;
	u64 tid;	     /* of who waits */
	struct why_mark end; /* what comes from there on is told */
	u64 left;	     /* of the wait, not told yet */
	u64 length;	     /* ABI_WHY_LENGTHS */
	u64 slow;	     /* its parts are wanted by themselves */
	u64 tables;	     /* it counts, and not only as a slow wait */
	u64 rt_group; /* who waits is real-time: no other than this one keeps it from running */
	u64 rt;	      /* it is */
	u64 dl_until; /* it was out of its SCHED_DEADLINE budget until then; 0: it was not */
	struct why_mark got; /* of since(): what is left to the task or idle is `at` */
	/* In place of a stack: before 6.13 that of a chain of calls has 512 bytes. */
	struct why_mark all;
	struct wait wait;
	struct why_moves moves;
	u64 last_cpu;
	struct abi_key key;
	struct abi_khead named, none; /* `none` is never written */
	struct abi_culprit culprit;
	u64 kinds[ABI_WHY_KINDS];
	u64 nparts;
	struct abi_why_part parts[ABI_WHY_PARTS];
};

struct why_cpu {	   /* first what every switch looks at, by lines of the cache */
	s64 steal_from_rq; /* of user space; 0: nothing tells */
	u64 no_pairs;	   /* of user space, which cannot run ws_why_pairs */
	u64 nstays;
	u64 irq_depth;
	u64 irq_ns; /* of hard interrupts that are over */
	u64 nmi_ns;

	u64 steal_asked, steal_ns;
	u64 soft_at; /* which of `soft` holds */
	u64 later;   /* walk.wait is still to be walked */
	/* compat_rq_clock(); also written by other CPUs, under this one's run-queue lock */
	u64 due_at;
	u64 due_flag;
	u64 idle_ns;
	u64 steal_at;
	u64 rt_queue; /* the queue of real-time tasks that is out of its runtime; 0: none is */
	u64 rt_out_ns;
	u64 rt_group; /* of that queue, the last one */
	u64 dl_until; /* of the SCHED_DEADLINE task that comes to the CPU */

	struct why_soft soft[2];

	u64 irq_start;
	u64 irq_steal, irq_nmi; /* when it began */
	u64 nedges[2];
	struct why_pair pairs[ABI_BANKS][WHY_PAIRS];
	struct why_walk walk;
	struct why_mark never; /* in the place of a later reading that has not been made */
	struct why_mark edges[2][WHY_EDGES];
	struct why_who who[WHY_STAYS]; /* of the stays */
	struct why_stay stays[WHY_STAYS];
	struct why_lap laps[WHY_LAPS]; /* of stays 0, WHY_LAP, ... */
};

#define WHY_NAMED (keyed.by == ABI_BY_NONE || keyed.by == ABI_BY_COMM) /* groups are names */

/* One entry a CPU, set at load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct why_cpu);
} why_cpus SEC(".maps");

static __always_inline struct why_cpu *why_of(u32 cpu)
{
	return bpf_map_lookup_elem(&why_cpus, &cpu);
}

static __always_inline struct why_cpu *why_own(void)
{
	return why_of(bpf_get_smp_processor_id());
}

static __always_inline u64 why_minus(u64 a, u64 b)
{
	return a > b ? a - b : 0;
}

static __always_inline u64 why_steal_at(struct why_cpu *s)
{
	if (!s->steal_at)
		s->steal_at = compat_steal_at(s->steal_from_rq);
	return s->steal_at;
}

/*
 * In its own time, since it began to count. Not asked again at once: what can have been stolen
 * since is less than that time, and is found by the next reading.
 */
static __always_inline u64 why_steal(struct why_cpu *s, u64 now)
{
	u64 ns = 0, at;

	if (!s->steal_from_rq)
		return 0;
	if (now - s->steal_asked < WHY_STEAL_NS)
		return s->steal_ns;
	at = why_steal_at(s);
	if (at)
		bpf_probe_read_kernel(&ns, sizeof(ns), (void *)at);
	s->steal_asked = now;
	s->steal_ns = ns;
	return ns;
}

/* The same where it costs next to nothing to ask: at each switch. */
static __always_inline u64 why_steal_asked(struct why_cpu *s, u64 now)
{
	u64 at;

	if (!s->steal_from_rq)
		return 0;
	at = why_steal_at(s);
	s->steal_asked = now;
	return s->steal_ns = at ? compat_steal(at) : 0;
}

/* Sums at `now` on this CPU. */
static __always_inline void why_read(struct why_cpu *s, struct why_mark *m, u64 now)
{
	const struct why_soft *soft = &s->soft[s->soft_at & 1];
	u64 nmi = s->nmi_ns, in;

	m->at = now;
	m->steal = why_steal(s, now);
	m->irq = s->irq_ns + nmi;
	if (s->irq_depth) {
		in = why_minus(m->steal, s->irq_steal) + why_minus(nmi, s->irq_nmi);
		m->irq += why_minus(why_minus(now, s->irq_start), in);
	}
	m->softirq = soft->ns;
	if (soft->start) {
		in = why_minus(m->irq, soft->irq) + why_minus(m->steal, soft->steal);
		m->softirq += why_minus(why_minus(now, soft->start), in);
	}
	m->interrupted = s->irq_depth || soft->start;
}

static __always_inline void why_edge(struct why_cpu *s, u32 level, const struct why_mark *m)
{
	s->edges[level][s->nedges[level] & (WHY_EDGES - 1)] = *m;
	barrier();
	s->nedges[level]++;
}

/* ---- hard interrupts: nothing but an NMI comes in between ---- */

static __always_inline int why_irq_begins(void)
{
	struct why_cpu *s = why_own();
	struct why_mark m;

	if (!s || s->irq_depth++)
		return 0;
	s->irq_start = bpf_ktime_get_ns();
	s->irq_nmi = s->nmi_ns;
	s->irq_steal = why_steal(s, s->irq_start);
	why_read(s, &m, s->irq_start);
	why_edge(s, WHY_HARD, &m);
	return 0;
}

/* A due reschedule that has been looked after, and the same task was picked, is due no more. */
static __always_inline void why_still_due(struct why_cpu *s)
{
	struct task_struct *cur = (void *)bpf_get_current_task();

	if (s->due_at && !(BPF_CORE_READ(cur, thread_info.flags) >> s->due_flag & 1))
		s->due_at = 0;
}

static __always_inline int why_irq_ends(void)
{
	struct why_cpu *s = why_own();
	struct why_mark m;

	if (!s || !s->irq_depth) /* it began before we did */
		return 0;
	if (s->irq_depth > 1) {
		s->irq_depth--;
		return 0;
	}
	why_read(s, &m, bpf_ktime_get_ns());
	s->irq_ns = m.irq - s->nmi_ns;
	s->irq_depth = 0;
	m.interrupted = s->soft[s->soft_at & 1].start != 0;
	why_edge(s, WHY_HARD, &m);
	why_still_due(s);
	return 0;
}

#define WHY_IRQ(name, hook)              \
	SEC("tp_btf/" hook "_entry")     \
	int ws_##name##_begins(u64 *ctx) \
	{                                \
		return why_irq_begins(); \
	}                                \
	SEC("tp_btf/" hook "_exit")      \
	int ws_##name##_ends(u64 *ctx)   \
	{                                \
		return why_irq_ends();   \
	}

/* x86 tells of the vectors of its own apart, arm64 of IPIs; user space loads those that are there
 * (sched_why_load.c has the list). */
WHY_IRQ(irq, "irq_handler")
WHY_IRQ(ipi, "ipi")
WHY_IRQ(timer, "local_timer")
WHY_IRQ(resched, "reschedule")
WHY_IRQ(call, "call_function")
WHY_IRQ(call1, "call_function_single")
WHY_IRQ(work, "irq_work")
WHY_IRQ(platform, "x86_platform_ipi")
WHY_IRQ(spurious, "spurious_apic")
WHY_IRQ(error, "error_apic")
WHY_IRQ(thermal, "thermal_apic")
WHY_IRQ(threshold, "threshold_apic")
WHY_IRQ(deferred, "deferred_error_apic")

/* It tells at the end of a handler how long that took. */
SEC("tp_btf/nmi_handler")
int ws_nmi(u64 *ctx)
{
	struct why_cpu *s = why_own();

	if (s && (s64)ctx[1] > 0)
		s->nmi_ns += ctx[1];
	return 0;
}

/* ---- soft interrupts: hard ones come in between ---- */

#define WHY_TRIES 4

/* A reading in which no hard interrupt began or ended. */
static __always_inline void why_read_soft(struct why_cpu *s, struct why_mark *m)
{
	u32 i;
	u64 n;

	for (i = 0; i < WHY_TRIES; i++) {
		n = *(const volatile u64 *)&s->nedges[WHY_HARD];
		barrier();
		why_read(s, m, bpf_ktime_get_ns());
		barrier();
		if (n == *(const volatile u64 *)&s->nedges[WHY_HARD])
			break;
	}
}

static __always_inline int why_soft_turns(bool begins)
{
	struct why_cpu *s = why_own();
	struct why_soft *next;
	struct why_mark m;

	if (!s)
		return 0;
	why_read_soft(s, &m);
	next = &s->soft[(s->soft_at + 1) & 1];
	next->ns = m.softirq;
	next->start = begins ? m.at : 0;
	next->irq = m.irq;
	next->steal = m.steal;
	barrier();
	s->soft_at++;
	m.interrupted = begins;
	why_edge(s, WHY_SOFT, &m);
	return 0;
}

SEC("tp_btf/softirq_entry")
int ws_softirq_begins(u64 *ctx)
{
	return why_soft_turns(true);
}

SEC("tp_btf/softirq_exit")
int ws_softirq_ends(u64 *ctx)
{
	return why_soft_turns(false);
}

/* ---- a reschedule is due ---- */

/* Asked for lazily first, then for good: the first moment counts. `tif` is a flag's number. */
SEC("tp_btf/sched_set_need_resched_tp")
int ws_resched_due(u64 *ctx)
{
	struct task_struct *cur = (void *)ctx[0];
	struct why_cpu *s = why_of((u32)ctx[1]);
	u64 flag = ctx[2] & 63;

	if (!s)
		return 0;
	if (s->due_at && s->due_flag != flag && cur->thread_info.flags >> s->due_flag & 1)
		return 0;
	s->due_flag = flag;
	s->due_at = compat_rq_clock(cur);
	return 0;
}

/* ---- who is on the CPU ---- */

/* ---- groups ---- */

/* --why: the group that the task of a stay is of, and what else is known of it. */

/* The lowest bit of each byte that is NUL; the first is right, those behind it need not be. */
static __always_inline u64 why_nul(u64 word)
{
	return ((word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL) >> 7;
}

/* A word of the group that a stay is of: older kernels leave behind a name's NUL what was there
 * before. */
static __always_inline u64 why_group(const struct why_stay *t, u32 word)
{
	u64 nul = why_nul(t->key[word]);

	if (!WHY_NAMED)
		return t->key[word];
	if (word && why_nul(t->key[0]))
		return 0;
	return nul ? t->key[word] & ((nul & -nul) - 1) : t->key[word];
}

/* Out of line, as all that only some ask for: the switch's own frame is no deeper for it. */
static __noinline u32 why_name_group(struct why_cpu *s, struct task_struct *p)
{
	struct why_stay *t = &s->stays[s->nstays & (WHY_STAYS - 1)];
	struct why_who *who = &s->who[s->nstays & (WHY_STAYS - 1)];
	struct task_struct *leader;
	struct abi_key key = {};

	if (!WHY_NAMED) {
		group_key(&key, p);
		t->key[0] = key.id;
		t->key[1] = key.born;
	}
	who->pid = TASK_READ(p, tgid);
	who->cgroup_id = task_cgroup_id(p);
	TASK_COMM(who->comm, p);
	if (keyed.by != ABI_BY_PID)
		return 0;
	leader = TASK_READ(p, group_leader);
	if (leader)
		TASK_COMM(who->name, leader);
	return 0;
}

static __always_inline void why_name_stay(struct why_cpu *s, struct why_stay *t,
					  struct task_struct *p)
{
	if (WHY_NAMED)
		__builtin_memcpy(t->key, p->comm, sizeof(t->key));
	if (!WHY_NAMED || slower)
		why_name_group(s, p);
}

/* The stay of that number. The empty asm keeps its address in a register: clang would reckon it
 * anew for each member. */
static __always_inline struct why_stay *why_stay_at(struct why_cpu *s, u64 n)
{
	struct why_stay *t = &s->stays[n & (WHY_STAYS - 1)];

	asm("" : "+r"(t));
	return t;
}

/* The stay that begins with the switch that is being reported. */
static __always_inline struct why_stay *why_begun(struct why_cpu *s)
{
	return why_stay_at(s, s->nstays - 1);
}

/* An interrupt whose end was not reported. */
static __noinline u32 why_uninterrupted(struct why_cpu *s)
{
	s->irq_depth = 0;
	if (s->soft[s->soft_at & 1].start) {
		s->soft[(s->soft_at + 1) & 1] = s->soft[s->soft_at & 1];
		s->soft[(s->soft_at + 1) & 1].start = 0;
		s->soft_at++;
	}
	return 0;
}

/*
 * The stay that begins is the first of a lap, or follows one of the idle task, or one in which
 * real-time tasks were out of their runtime: what of that no interrupt and no thief had. Out of
 * line: the switch's own frame is no deeper for it.
 */
static __noinline u32 why_lap(struct why_cpu *s)
{
	struct why_lap *l = &s->laps[s->nstays / WHY_LAP & (WHY_LAPS - 1)];
	const struct why_mark *m = &s->stays[s->nstays & (WHY_STAYS - 1)].m;
	const struct why_mark *last = &s->stays[(s->nstays - 1) & (WHY_STAYS - 1)].m;
	u64 ns = m->at - last->at - (m->irq - last->irq) - (m->softirq - last->softirq) -
		 (m->steal - last->steal);

	if (last->rt_out)
		s->rt_out_ns += ns;
	else if (!last->tid)
		s->idle_ns += ns;
	if (s->nstays & (WHY_LAP - 1))
		return 0;
	l->at = m->at;
	l->irq = m->irq;
	l->softirq = m->softirq;
	l->steal = m->steal;
	l->idle = s->idle_ns;
	l->rt_out = s->rt_out_ns;
	return 0;
}

/* ---- real-time tasks ---- */

/*
 * Until when tasks that left their CPU with their SCHED_DEADLINE budget used up do not run; by the
 * task. It is consumed when the task comes to a CPU. The kernel admits so many of them as fit on
 * the CPUs: few.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, u64);
} why_budgets SEC(".maps");

static __noinline u32 why_budget_ends(struct task_struct *p, u64 now)
{
	u64 until = compat_dl_out_until(p), clock = compat_rq_clock(p), key = (u64)p;
	struct abi_counts *bank;

	if (!until)
		return 0;
	until = now + why_minus(until, clock);
	if (!bpf_map_update_elem(&why_budgets, &key, &until, BPF_ANY))
		return 0;
	bank = bank_get(epoch);
	if (bank)
		bank->store_full++;
	return 0;
}

static __noinline u32 why_budget_take(struct why_cpu *s, struct task_struct *p)
{
	u64 key = (u64)p, *until = bpf_map_lookup_elem(&why_budgets, &key);

	s->dl_until = until ? *until : 0;
	if (until)
		bpf_map_delete_elem(&why_budgets, &key);
	return 0;
}

static __always_inline u32 why_class(struct task_struct *p)
{
	u32 policy = p->policy;

	if (policy == SCHED_DEADLINE)
		return ABI_WHY_DEADLINE;
	if (policy != SCHED_FIFO && policy != SCHED_RR)
		return 0; /* it has the priority of one who waits for its lock */
	return (policy == SCHED_RR ? ABI_WHY_RR : 0) + p->rt_priority;
}

/*
 * A real-time task comes or leaves, or the CPU's are out of their runtime: in the stay that begins.
 */
static __noinline u32 why_real_time(struct why_cpu *s, struct task_struct *prev,
				    struct task_struct *next)
{
	struct why_mark *m = &s->stays[s->nstays & (WHY_STAYS - 1)].m;
	u64 queue;

	if (prev->prio < 0)
		why_budget_ends(prev, m->at);
	else if (prev->prio < MAX_RT_PRIO) {
		queue = compat_rt_out(prev);
		if (queue) {
			s->rt_queue = queue;
			s->rt_group = compat_rt_group(queue);
		}
	}
	if (s->rt_queue && !compat_rt_still_out(s->rt_queue))
		s->rt_queue = 0;
	m->rt_out = s->rt_queue != 0;
	if (next->prio < MAX_RT_PRIO)
		m->rt_class = why_class(next);
	if (next->prio < 0)
		why_budget_take(s, next);
	return 0;
}

/* A switch: one stay ends, the next begins. Interrupts do not nest around it, so that their sums
 * are at hand. */
static __always_inline void why_switch(struct why_cpu *s, struct task_struct *prev,
				       struct task_struct *next, bool runnable, u64 now, bool casts)
{
	struct why_stay *t, *last;
	u64 n;

	if (s->irq_depth || s->soft[s->soft_at & 1].start)
		why_uninterrupted(s);
	/* Who blocked may have been picked again since: then it was no more due, unseen. */
	n = s->nstays;
	last = why_stay_at(s, n - 1);
	if (s->due_at) {
		if (runnable)
			last->due_ns = now - why_minus(compat_rq_clock(next), s->due_at);
		s->due_at = 0;
	}
	t = why_stay_at(s, n);
	t->m.at = now;
	t->m.irq = s->irq_ns + s->nmi_ns;
	t->m.softirq = s->soft[s->soft_at & 1].ns;
	t->m.steal = casts ? why_steal_asked(s, now) : why_steal(s, now);
	t->m.tid = TASK_READ(next, pid);
	t->due_ns = 0;
	t->m.rt_out = t->m.rt_class = 0;
	if (prev->prio < MAX_RT_PRIO || next->prio < MAX_RT_PRIO || s->rt_queue)
		why_real_time(s, prev, next);
	if (t->m.tid) /* idle is a CPU's own task, nobody to be blamed */
		why_name_stay(s, t, next);
	if (!last->m.tid || last->m.rt_out || !(n & (WHY_LAP - 1)))
		why_lap(s);
	barrier();
	s->nstays = n + 1;
}

#endif
