/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: a wait is over: what its CPU did meanwhile, by why_cpu.bpf.h. Parts add up to the wait: they
 * are taken from what is left of it, and what is left in the end is unexplained.
 *
 * No program runs when a task is queued, nothing is remembered then: the ring of stays and the
 * readings hold the time before, and are looked at when the wait ends. Its beginning is a moment
 * between two readings, see why_cpu.bpf.h.
 */
#ifndef WS_WHY_BPF_H
#define WS_WHY_BPF_H

#include "why_blame.bpf.h"

/* ---- waits that go on on another CPU ---- */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct why_moves);
} why_moved SEC(".maps");

/* The kernel has taken it from its queue, and added what it waited there to the sum. */
SEC("tp_btf/sched_migrate_task")
int ws_moved(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct why_moves *m;
	struct stamp *st;
	u64 part, now, base, i;
	bool first;

	if (!epoch || p->on_rq != TASK_ON_RQ_MIGRATING || !filter_early(p))
		return 0;
	st = stamp_get(p, false);
	if (!st || !(by_record() ? st->flags & STAMP_DELAY : st->t1) || !TASK_STORAGE)
		return 0;
	base = by_record() ? st->delay_ns : st->t1;
	now = bpf_ktime_get_ns();
	m = bpf_task_storage_get(&why_moved, p, NULL, 0);
	if (!m && !st->moved) /* else an earlier move of this wait is lost, see below */
		m = bpf_task_storage_get(&why_moved, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	first = !st->moved;
	st->moved = 1;
	if (!m) /* no memory, see stamp_early(): all of the wait is unexplained, as it is not known where it waited */
		return 0;
	if (first || m->base_ns != base) {
		m->n = m->sum_ns = 0;
		m->base_ns = base;
	}
	part = why_minus(by_record() ? compat_run_delay(p) : now, base + m->sum_ns);
	m->sum_ns += part;
	i = m->n++;
	if (i >= WHY_MOVES)
		return 0;
	m->v[i].from = now - part;
	m->v[i].to = now;
	m->v[i].cpu = compat_task_cpu(p);
	return 0;
}

/* ---- what a moment between two readings is ---- */

/* The last reading of a ring that is not later, as its number plus one; 0: it is gone or was never
 * made. */
__noinline u32 why_find(u64 cpu, u64 level, u64 at)
{
	struct why_cpu *of = why_of((u32)cpu);
	u64 n, lo, mid;
	u32 i;

	if (!of)
		return 0;
	level &= 1;
	n = of->nedges[level];
	lo = n > WHY_EDGES - WHY_SLACK ? n - (WHY_EDGES - WHY_SLACK) : 0;
	if (lo == n || of->edges[level][lo & (WHY_EDGES - 1)].at > at)
		return 0;
	for (i = 0; i < 10 && n - lo > 1; i++) {
		mid = lo + (n - lo) / 2;
		if (of->edges[level][mid & (WHY_EDGES - 1)].at <= at)
			lo = mid;
		else
			n = mid;
	}
	return (u32)lo + 1;
}

/* The readings around a moment, as far as they are nearer than *e and *f. */
static __always_inline void why_around(u64 cpu, struct why_cpu *of, u64 at,
				       const struct why_mark **e, const struct why_mark **f)
{
	const struct why_mark *m;
	u32 level, i;

	for (level = 0; level < 2; level++) {
		i = why_find(cpu, level, at);
		if (i) {
			m = &of->edges[level][(i - 1) & (WHY_EDGES - 1)];
			if (m->at > (*e)->at)
				*e = m;
		}
		if (i == (u32)of->nedges[level])
			continue;
		if (!i && of->nedges[level] > WHY_EDGES - WHY_SLACK)
			i = (u32)of->nedges[level] - (WHY_EDGES - WHY_SLACK);
		m = &of->edges[level][i & (WHY_EDGES - 1)];
		if (m->at > at && m->at < (*f)->at)
			*f = m;
	}
}

/* Of `part` of a segment what must lie behind a moment, if only `before` of it lies in front. */
static __always_inline u64 why_least(u64 of, u64 before)
{
	return why_minus(of, before);
}

/* What the CPU did in its stay `i` from `at` until where the walk is: walk.got. */
__noinline u32 why_since(u64 cpu, u64 stay, u64 at)
{
	struct why_cpu *s = why_own(), *of = why_of((u32)cpu);
	const struct why_mark *e, *f;
	const struct why_stay *t;
	struct why_walk *w;
	struct why_mark *got;
	u64 before, all;

	if (!s || !of)
		return 0;
	w = &s->walk;
	got = &w->got;
	__builtin_memset(got, 0, sizeof(*got));
	t = &of->stays[stay & (WHY_STAYS - 1)];
	e = &t->m;
	f = &w->end;
	if (at < e->at)
		at = e->at;
	if (f->irq == e->irq && f->softirq == e->softirq && f->steal == e->steal) {
		got->at = why_minus(f->at, at);
		return 0;
	}
	if (at > e->at) {
		why_around(cpu, of, at, &e, &f);
		before = why_minus(at, e->at);
		got->irq = why_minus(f->irq, e->irq);
		got->softirq = why_minus(f->softirq, e->softirq);
		got->steal = why_minus(f->steal, e->steal);
		all = got->irq + got->softirq + got->steal;
		got->at = why_least(why_minus(why_minus(f->at, e->at), all), before);
		got->irq = why_least(got->irq, before);
		got->softirq = why_least(got->softirq, before);
		got->steal = why_least(got->steal, before);
		e = f;
		f = &w->end;
	}
	all = why_minus(f->irq, e->irq) + why_minus(f->softirq, e->softirq) +
	      why_minus(f->steal, e->steal);
	got->at += why_minus(why_minus(f->at, e->at), all);
	got->irq += why_minus(f->irq, e->irq);
	got->softirq += why_minus(f->softirq, e->softirq);
	got->steal += why_minus(f->steal, e->steal);
	return 0;
}

/* ---- the walk ---- */

/* Never more than is left of the wait. */
static __always_inline u64 why_take(struct why_walk *w, u32 kind, u64 ns)
{
	if (ns > w->left)
		ns = w->left;
	w->left -= ns;
	w->kinds[kind] += ns;
	return ns;
}

/* --slower: the tasks one by one, until there is no room. */
static __always_inline void why_part(struct why_walk *w, const struct why_stay *t,
				     const struct why_who *who, u64 ns)
{
	u32 i;

	if (!ns)
		return;
	for (i = 0; i < ABI_WHY_PARTS && i < w->nparts; i++)
		if (w->parts[i].who.tid == t->m.tid) {
			w->parts[i].ns += ns;
			return;
		}
	if (i >= ABI_WHY_PARTS)
		return;
	w->nparts = i + 1;
	w->parts[i].ns = ns;
	w->parts[i].rt_class = t->m.rt_class;
	w->parts[i].who.pid = who->pid;
	w->parts[i].who.tid = t->m.tid;
	w->parts[i].who.cgroup_id = who->cgroup_id;
	__builtin_memcpy(w->parts[i].who.comm, who->comm, sizeof(who->comm));
}

/*
 * One stay further back; 0: that was the last one. So is the one before which the task that waits was on the
 * CPU itself: its wait cannot have begun earlier, and if it seems to, that is the distance between
 * the run queue's clock, by which it was measured, and ours.
 */
__noinline u32 why_step(u64 cpu, u64 stay)
{
	struct why_cpu *s = why_own(), *of = why_of((u32)cpu);
	struct why_stay *t;
	struct why_walk *w;
	u64 kernel = 0, ns;
	bool own, rt_out;

	if (!s || !of || of->nstays - stay > WHY_STAYS - WHY_SLACK)
		return 0;
	w = &s->walk;
	t = &of->stays[stay & (WHY_STAYS - 1)];
	if (t->m.at >= w->end.at) /* later than what is looked at */
		return 1;
	own = of->stays[(stay - 1) & (WHY_STAYS - 1)].m.tid == w->tid;
	why_since(cpu, stay, w->from);
	w->all = w->got;
	if (own)
		w->all.at += why_minus(t->m.at, w->from);
	if (t->m.tid && t->due_ns && t->due_ns < w->end.at) {
		why_since(cpu, stay, t->due_ns > w->from ? t->due_ns : w->from);
		kernel = w->got.at < w->all.at ? w->got.at : w->all.at;
	}
	/* Whatever the CPU did then, a real-time task was not allowed to run. */
	rt_out = t->m.rt_out && w->rt && w->rt_group == of->rt_group;
	ns = w->all.at - kernel;
	if (rt_out)
		ns += w->all.irq + w->all.softirq + w->all.steal;
	else {
		why_take(w, ABI_WHY_IRQ, w->all.irq);
		why_take(w, ABI_WHY_SOFTIRQ, w->all.softirq);
		why_take(w, ABI_WHY_STEAL, w->all.steal);
	}
	kernel = why_take(w, ABI_WHY_KERNEL, kernel);
	ns = why_take(w, rt_out ? ABI_WHY_RT : t->m.tid ? ABI_WHY_TASK : ABI_WHY_IDLE, ns);
	if (rt_out)
		ns = 0;
	if (t->m.tid) {
		if (w->tables)
			why_blame(ABI_WHY_TASK, ns, kernel, cpu, stay);
		if (w->slow)
			why_part(w, t, &of->who[stay & (WHY_STAYS - 1)], ns);
	}
	w->end = t->m;
	return t->m.at > w->from && !own;
}

#include "why_laps.bpf.h"

/* From `from` on until walk.end, on that CPU. */
__noinline u32 why_piece(u64 cpu, u64 from)
{
	struct why_cpu *s = why_own(), *of = why_of((u32)cpu);
	u64 n, first;
	u32 i;

	if (!s || !of)
		return 0;
	s->walk.from = from;
	n = of->nstays;
	first = why_first(of, n, from);
	for (i = 1; i <= WHY_STAYS && first + i <= n; i++)
		if (!why_step(cpu, n - i))
			return 0;
	why_earlier(cpu, first / WHY_LAP);
	return 0;
}

/* Where a walk begins whose end is over: between two readings, the later of which may not have been
 * made. 0: the ring has it no more. */
__noinline u32 why_past_end(u64 cpu, u64 to)
{
	struct why_cpu *s = why_own(), *of = why_of((u32)cpu);
	const struct why_mark *e, *f;
	struct why_mark *end;
	u64 n, ns, all;
	u32 i;

	if (!s || !of)
		return 0;
	end = &s->walk.end;
	n = of->nstays;
	for (i = 1; i < WHY_STAYS - WHY_SLACK && i <= n; i++)
		if (of->stays[(n - i) & (WHY_STAYS - 1)].m.at < to)
			break;
	if (i >= WHY_STAYS - WHY_SLACK || i > n)
		return 0;
	s->never.at = ~0ULL;
	e = &of->stays[(n - i) & (WHY_STAYS - 1)].m;
	f = i > 1 ? &of->stays[(n - i + 1) & (WHY_STAYS - 1)].m : &s->never;
	why_around(cpu, of, to, &e, &f);
	*end = *e;
	ns = why_minus(to, e->at);
	if (f->at == ~0ULL) {
		if (!e->interrupted)
			end->at = to;
		return 1;
	}
	all = why_minus(f->at, e->at);
	if (f->irq == e->irq && f->softirq == e->softirq && f->steal == e->steal)
		end->at = to;
	else if (f->irq - e->irq == all)
		end->at = to, end->irq += ns;
	else if (f->softirq - e->softirq == all)
		end->at = to, end->softirq += ns;
	return 1;
}

static __always_inline void why_past(u64 cpu, u64 from, u64 to)
{
	if (from < to && why_past_end(cpu, to))
		why_piece(cpu, from);
}

/* ---- a wait ---- */

/* Of a real-time task: what may keep it from running. */
static __noinline u32 why_begin_real_time(struct why_cpu *s, struct task_struct *p)
{
	struct why_walk *w = &s->walk;

	if (p->prio < 0) {
		w->dl_until = s->dl_until;
		return 0;
	}
	w->rt = 1;
	w->rt_group = s->rt_group && compat_rt_in_group(p, s->rt_group)
			      ? s->rt_group
			      : compat_rt_group(compat_rt_queue(p));
	return 0;
}

/* Its epoch is there, and whether it is slow. */
static __always_inline void why_begin(struct why_cpu *s, struct task_struct *p,
				      const struct wait *wait)
{
	struct why_walk *w = &s->walk;
	u32 i;

	w->rt = w->rt_group = w->dl_until = 0;
	if (p->prio < MAX_RT_PRIO)
		why_begin_real_time(s, p);
	__builtin_memset(&w->victim, 0, sizeof(w->victim));
	group_key(&w->victim, p);
	if (keyed.by == ABI_BY_PID || keyed.by == ABI_BY_TID) {
		group_name(&w->named, p);
		__builtin_memcpy(w->victim_comm, w->named.comm, sizeof(w->named.comm));
		w->victim_pid = w->named.pid;
		w->named_ns = w->named.named_ns;
	}
	w->serial = wait->t2;
	w->left = wait->queued_ns;
	w->length = why_length(wait->queued_ns, wait->n);
	w->tid = TASK_READ(p, pid);
	w->tables = 1;
	w->nparts = 0;
	for (i = 0; i < ABI_WHY_KINDS; i++)
		w->kinds[i] = 0;
}

/* false: there were some, and of which wait is not known. */
static __always_inline bool why_moves_of(struct task_struct *p, const struct wait *w,
					 struct why_moves **m)
{
	struct stamp *st;

	*m = NULL;
	if (!w->moved || !TASK_STORAGE)
		return true;
	*m = bpf_task_storage_get(&why_moved, p, NULL, 0);
	st = stamp_get(p, false);
	if (!*m || !st)
		return false;
	return by_record() ? (*m)->base_ns + w->queued_ns == st->delay_ns : (*m)->base_ns == w->t1;
}

/*
 * What most waits are: all of it fell into one stay, which no interrupt and no thief came into. It
 * began with the stay where the task had the CPU until then, see why_step().
 */
static __always_inline bool why_simple(struct why_cpu *s, struct task_struct *p, u64 ns, u64 ep)
{
	const struct why_stay *now = why_begun(s);
	u64 stay = s->nstays - 2, due = 0;
	const struct why_stay *t = why_stay_at(s, stay), *before = why_stay_at(s, stay - 1);

	if (!ns)
		return true;
	if (t->m.at > now->m.at - ns && before->m.tid != now->m.tid)
		return false;
	if (p->prio < MAX_RT_PRIO && (p->prio < 0 ? s->dl_until != 0 : t->m.rt_out))
		return false;
	if (s->nstays < 3 || t->m.irq != now->m.irq || t->m.softirq != now->m.softirq ||
	    t->m.steal != now->m.steal)
		return false;
	if (!t->m.tid)
		return why_blame_simple(s, p, ABI_WHY_IDLE, t, ns, 0, ep);
	if (t->due_ns) {
		due = why_minus(now->m.at, t->due_ns);
		if (due > ns)
			due = ns;
	}
	return why_blame_simple(s, p, ABI_WHY_TASK | (u32)t->m.rt_class << ABI_WHY_CLASS_SHIFT, t,
				ns - due, due, ep);
}

/* What the CPUs did that it waited on. */
static __always_inline void why_walk_all(struct why_cpu *s)
{
	const struct wait *w = &s->walk.wait;
	struct why_moves *m = &s->walk.moves;
	u64 cpu = bpf_get_smp_processor_id(), t1 = w->t2 - w->queued_ns, begun = t1, here, from;
	u32 i;

	if (s->walk.dl_until > t1) {
		begun = s->walk.dl_until < w->t2 ? s->walk.dl_until : w->t2;
		why_take(&s->walk, ABI_WHY_DL, begun - t1);
	}
	here = why_minus(w->queued_ns, m->n ? m->sum_ns : 0);
	if (here) {
		s->walk.end = why_begun(s)->m;
		from = s->walk.end.at - here;
		why_piece(cpu, from > begun ? from : begun);
	}
	for (i = 0; i < WHY_MOVES && i < m->n; i++)
		why_past(m->v[i].cpu, m->v[i].from > begun ? m->v[i].from : begun, m->v[i].to);
	s->walk.kinds[ABI_WHY_UNEXPLAINED] = s->walk.left;
	for (i = ABI_WHY_TASK + 1; i < ABI_WHY_KINDS; i++)
		if (i != ABI_WHY_KERNEL && s->walk.kinds[i])
			why_blame(i, s->walk.kinds[i], 0, 0, 0);
	if (!s->walk.slow || !w->t0)
		return;
	/* A slow wakeup's way to the queue: what the CPU did that it was queued on. */
	s->walk.tables = 0;
	s->walk.left = w->to_queue_ns;
	if (m->n)
		why_past(m->v[0].cpu, m->v[0].from - w->to_queue_ns, m->v[0].from);
	else
		why_past(cpu, t1 - w->to_queue_ns, t1);
	s->walk.kinds[ABI_WHY_UNEXPLAINED] += s->walk.left;
}

/* Any wait of a task that comes to this CPU, when all that the switch itself takes has returned: before 6.13 the
 * stacks of a chain of calls share 512 bytes. */
static __noinline int why_walk_wait(struct why_cpu *s, struct task_struct *p)
{
	const struct wait *w = &s->walk.wait;
	struct why_moves *m;

	why_begin(s, p, w);
	s->walk.moves.n = 0;
	if (w->kind == ABI_WAIT_THROTTLE) {
		s->walk.kinds[ABI_WHY_THROTTLE] = w->queued_ns;
		why_blame(ABI_WHY_THROTTLE, w->queued_ns, 0, 0, 0);
		return 0;
	}
	if (!why_moves_of(p, w, &m)) { /* who knows where it began */
		s->walk.kinds[ABI_WHY_UNEXPLAINED] = s->walk.slow ? w->wait_ns : w->queued_ns;
		why_blame(ABI_WHY_UNEXPLAINED, w->queued_ns, 0, 0, 0);
		return 0;
	}
	if (m)
		s->walk.moves = *m;
	why_walk_all(s);
	return 0;
}

/* The wait of a task that comes to this CPU is over, as `w` tells. What is not simple is walked, and told if it was
 * slow, when the switch is done with. */
static __always_inline void why_wait(struct why_cpu *s, struct task_struct *p,
				     const struct stamp *st, const struct wait *w, u64 ep)
{
	bool slow = slower && w->wait_ns >= slower_ns;

	if (!slow && !w->moved && w->kind != ABI_WAIT_THROTTLE &&
	    why_simple(s, p, w->queued_ns, ep))
		return;
	s->walk.wait = *w;
	s->walk.ep = ep;
	s->walk.slow = slow;
	if (slow)
		s->walk.last_cpu = st->last_cpu;
	s->later = 1;
}

/* Waits whose ends were not reported: who knows when they were. */
static __always_inline void why_hidden(struct task_struct *p, const struct wait *w, u64 ep)
{
	struct why_cpu *s = why_own();

	if (!s)
		return;
	s->walk.ep = ep;
	s->walk.slow = 0;
	why_begin(s, p, w);
	s->walk.serial = bpf_ktime_get_ns();
	s->walk.kinds[ABI_WHY_UNEXPLAINED] =
		slower && w->wait_ns >= slower_ns ? w->wait_ns : w->queued_ns;
	why_blame(ABI_WHY_UNEXPLAINED, w->queued_ns, 0, 0, 0);
}

/* The record of a slow wait, with room for its parts. */
static __always_inline void why_slow(struct abi_slow *slow)
{
	struct abi_slow_why *r = (void *)slow;
	struct why_cpu *s = why_own();

	if (!s)
		return;
	__builtin_memcpy(r->kinds, s->walk.kinds, sizeof(r->kinds));
	r->n = s->walk.nparts;
	bpf_probe_read_kernel(r->parts, sizeof(r->parts), s->walk.parts);
}

#endif
