/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: the part of a wait whose stays the ring has no more. By the readings of all sums, one for each
 * lap of WHY_LAP stays, it is known by class what the CPU did from lap to lap; which tasks ran is not. Of
 * the lap in which the wait began only what must lie behind its beginning is told, as in why_since().
 */
#ifndef WS_WHY_LAPS_BPF_H
#define WS_WHY_LAPS_BPF_H

#define LAPS_SLACK 2 /* the oldest may just be written over */

/* The first stay that a walk looks at: all that the ring has, but of a wait that began before these from
 * the first one on that a lap begins with. */
static __always_inline u64 why_first(const struct why_cpu *of, u64 n, u64 from)
{
	u64 first = n > WHY_STAYS - WHY_SLACK ? n - (WHY_STAYS - WHY_SLACK) : 0;

	if (!first || of->stays[first & (WHY_STAYS - 1)].m.at <= from)
		return first;
	return (first + WHY_LAP - 1) & ~(WHY_LAP - 1ULL);
}

/* From one lap to another, of which `before` lies in front of the wait. */
static __always_inline u64 lap_take(struct why_walk *w, const struct why_lap *a,
				    const struct why_lap *b, u64 before)
{
	u64 irq = why_minus(b->irq, a->irq), softirq = why_minus(b->softirq, a->softirq);
	u64 steal = why_minus(b->steal, a->steal), idle = why_minus(b->idle, a->idle), tasks;
	u64 rt_out = why_minus(b->rt_out, a->rt_out);

	if (!w->rt)
		rt_out = 0; /* tasks ran then */
	tasks = why_minus(why_minus(b->at, a->at), irq + softirq + steal + idle + rt_out);
	why_take(w, ABI_WHY_IRQ, why_minus(irq, before));
	why_take(w, ABI_WHY_SOFTIRQ, why_minus(softirq, before));
	why_take(w, ABI_WHY_STEAL, why_minus(steal, before));
	why_take(w, ABI_WHY_IDLE, why_minus(idle, before));
	why_take(w, ABI_WHY_RT, why_minus(rt_out, before));
	return why_take(w, ABI_WHY_TASK, why_minus(tasks, before));
}

/* What lies before that lap, back to where the wait began: walk.from. */
__noinline u32 why_earlier(u64 cpu, u64 lap)
{
	struct why_cpu *s = why_own(), *of = why_of((u32)cpu);
	u64 lo, hi = lap, mid, ns;
	const struct why_lap *l;
	struct why_walk *w;
	u32 i;

	if (!s || !of || !lap)
		return 0;
	w = &s->walk;
	lo = lap > WHY_LAPS - LAPS_SLACK ? lap - (WHY_LAPS - LAPS_SLACK) : 0;
	l = &of->laps[lo & (WHY_LAPS - 1)];
	if (l->at > w->from) {
		hi = lo; /* the laps have not all of it either */
	} else {
		for (i = 0; i < 11 && hi - lo > 1; i++) {
			mid = lo + (hi - lo) / 2;
			if (of->laps[mid & (WHY_LAPS - 1)].at <= w->from)
				lo = mid;
			else
				hi = mid;
		}
	}
	ns = lap_take(w, &of->laps[hi & (WHY_LAPS - 1)], &of->laps[lap & (WHY_LAPS - 1)], 0);
	l = &of->laps[lo & (WHY_LAPS - 1)];
	if (lo < hi && l->at <= w->from)
		ns += lap_take(w, l, &of->laps[hi & (WHY_LAPS - 1)], w->from - l->at);
	if (w->tables)
		why_blame(ABI_WHY_TASK, ns, 0, cpu, WHY_NO_STAY);
	return 0;
}

#endif
