/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: a wait is over: what its CPU did meanwhile, by the ring of stays. Parts add up to the
 * wait: they are taken from what is left of it, and what is left in the end is unexplained.
 *
 * No program runs when a task is queued, nothing is remembered then: the ring of stays and the
 * readings hold the time before, and are looked at when the wait ends. Its beginning is a moment
 * between two readings.
 *
 * A chapter of sched.bpf.c, with why_cpu.bpf.h.
 */
#ifndef WS_WHY_BPF_H
#define WS_WHY_BPF_H

/* ---- blame ---- */

/* --why: entries, of who waited and for whom. */

/* As those of keyed.bpf.h: the group that waited is the key's, `obj` who is blamed, `kind` the
 * class. */
struct keyed_map why_even SEC(".maps"), why_odd SEC(".maps");

/* Who that is. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct abi_culprit);
} why_culprits SEC(".maps");

/* In the place of a stay: tasks that are known no more. */
#define WHY_NO_STAY (~0ULL)
#define WHY_EARLIER 2 /* as why_id() */

/* ---- entries ---- */

/* Of `n` waits of `ns` together, of which nothing more is known. */
static __always_inline u32 why_length(u64 ns, u32 n)
{
	u64 longer = 0, step;

	ns /= n; /* no branch: it would double the paths through all that follows */
#pragma unroll
	for (step = 16; step; step >>= 1)
		longer += step * bucket_above(ns, ABI_WHY_LONGER(longer + step - 1));
	return (u32)longer + 1;
}

static __always_inline struct abi_khead *why_entry(const struct abi_key *key, u64 ep)
{
	return ep & 1 ? bpf_map_lookup_elem(&why_odd, key) : bpf_map_lookup_elem(&why_even, key);
}

static __always_inline struct abi_khead *why_entry_made(struct why_walk *w,
							const struct abi_key *key, u64 ep)
{
	if (ep & 1)
		bpf_map_update_elem(&why_odd, key, &w->none, BPF_NOEXIST);
	else
		bpf_map_update_elem(&why_even, key, &w->none, BPF_NOEXIST);
	return why_entry(key, ep);
}

/* 64 bits of a group's two words: of as many groups as fit into the map no two are the same. */
static __always_inline u64 why_id(const struct why_stay *t)
{
	u64 h = why_group(t, 0) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 29 ^ why_group(t, 1)) * 0xbf58476d1ce4e5b9ULL;
	h ^= h >> 32;
	return h > WHY_EARLIER && h != ABI_OBJ_OTHER ? h : 1;
}

static __always_inline void why_full(u64 ep)
{
	struct abi_counts *bank = bank_get(ep);

	if (bank)
		bank->keys_full++;
}

/* What all of the group have; a process has the name that it has now. */
static __always_inline void why_describe(struct why_walk *w, u64 id, const struct why_stay *t,
					 const struct why_who *who)
{
	struct abi_culprit *known = bpf_map_lookup_elem(&why_culprits, &id), *c;

	if (known && keyed.by != ABI_BY_PID && keyed.by != ABI_BY_TID)
		return;
	c = known ? known : &w->culprit;
	c->pid = WHY_NAMED || keyed.by == ABI_BY_CGROUP ? 0 : who->pid;
	c->tid = keyed.by == ABI_BY_TID ? t->m.tid : 0;
	c->cgroup_id = WHY_NAMED ? 0 : who->cgroup_id;
	if (WHY_NAMED) {
		((u64 *)c->comm)[0] = why_group(t, 0);
		((u64 *)c->comm)[1] = why_group(t, 1);
	} else if (keyed.by == ABI_BY_CGROUP) {
		__builtin_memset(c->comm, 0, sizeof(c->comm));
	} else {
		__builtin_memcpy(c->comm, keyed.by == ABI_BY_TID ? who->comm : who->name,
				 sizeof(c->comm));
	}
	if (!known && bpf_map_update_elem(&why_culprits, &id, c, BPF_ANY))
		why_full(w->ep); /* a row without a name */
}

static __always_inline void why_describe_earlier(struct why_walk *w)
{
	u64 id = WHY_EARLIER;

	__builtin_memset(&w->culprit, 0, sizeof(w->culprit));
	__builtin_memcpy(w->culprit.comm, "(earlier tasks)", sizeof(w->culprit.comm));
	if (bpf_map_update_elem(&why_culprits, &id, &w->culprit, BPF_ANY))
		why_full(w->ep);
}

/* The serial number has a bit for each of the two counts. */
static __always_inline void why_add(struct abi_khead *e, const struct why_walk *w, u64 ns,
				    u64 due_ns)
{
	u64 last = e->sums[ABI_WHY_LAST], counted = (last ^ w->serial) >> 2 ? 0 : last & 3;

	e->sums[ABI_WHY_NS] += ns;
	e->sums[ABI_WHY_DUE_NS] += due_ns;
	if (ns && !(counted & 1)) {
		e->sums[ABI_WHY_COUNT]++;
		counted |= 1;
	}
	if (due_ns && !(counted & 2)) {
		e->sums[ABI_WHY_DUE_COUNT]++;
		counted |= 2;
	}
	e->sums[ABI_WHY_LAST] = (w->serial & ~3ULL) | counted;
	if (keyed.by != ABI_BY_PID && keyed.by != ABI_BY_TID)
		return;
	__builtin_memcpy(e->comm, w->victim_comm, sizeof(e->comm));
	e->pid = w->victim_pid;
	e->named_ns = w->named_ns;
}

/* `stay`: entry of `cpu`'s switch log that says which task is blamed, or WHY_NO_STAY. A global
 * function, as all that are called more than once here: the verifier checks it once. */
__noinline u32 why_blame(u64 kind, u64 ns, u64 due_ns, u64 cpu, u64 stay)
{
	struct why_cpu *s = why_own(), *of = why_of((u32)cpu);
	const struct why_stay *t;
	struct abi_khead *e;
	struct abi_key *key;

	if (!s || !of || !(ns | due_ns))
		return 0;
	key = &s->walk.key;
	*key = s->walk.victim;
	key->kind = (u32)(kind | s->walk.length << ABI_WHY_LENGTH_SHIFT);
	t = &of->stays[stay & (WHY_STAYS - 1)];
	if (kind == ABI_WHY_TASK) {
		key->obj = stay == WHY_NO_STAY ? WHY_EARLIER : why_id(t);
		if (stay != WHY_NO_STAY)
			key->kind |= (u32)t->m.rt_class << ABI_WHY_CLASS_SHIFT;
	}
	e = why_entry(key, s->walk.ep);
	if (stay == WHY_NO_STAY) {
		if (!e)
			why_describe_earlier(&s->walk);
	} else if (kind == ABI_WHY_TASK && (!e || keyed.by == ABI_BY_PID || keyed.by == ABI_BY_TID))
		why_describe(&s->walk, key->obj, t, &of->who[stay & (WHY_STAYS - 1)]);
	if (!e)
		e = why_entry_made(&s->walk, key, s->walk.ep);
	if (e) {
		why_add(e, &s->walk, ns, due_ns);
		return 0;
	}
	why_full(s->walk.ep);
	__builtin_memset(key, 0, sizeof(*key));
	key->obj = ABI_OBJ_OTHER;
	key->kind = (u32)kind;
	key->cpu = bpf_get_smp_processor_id();
	e = why_entry(key, s->walk.ep);
	if (e)
		why_add(e, &s->walk, ns, due_ns);
	return 0;
}

/* false: it has no entry yet. */
static __always_inline bool why_add_simple(const struct abi_key *key, u64 ns, u64 due_ns, u64 ep)
{
	struct abi_khead *e = why_entry(key, ep);

	if (!e)
		return false;
	e->sums[ABI_WHY_NS] += ns;
	e->sums[ABI_WHY_COUNT] += ns != 0;
	if (due_ns) {
		e->sums[ABI_WHY_DUE_NS] += due_ns;
		e->sums[ABI_WHY_DUE_COUNT]++;
	}
	return true;
}

/* ---- most waits: one part, besides what was due to the kernel ---- */

/* The key of a wait's entry, but for its length and who is blamed. In place of a stack, as all of
 * that. */
static __always_inline struct abi_key *why_key_begin(struct why_cpu *s, struct task_struct *p,
						     u32 kind)
{
	struct abi_key *key = &s->walk.key;

	__builtin_memset(key, 0, sizeof(*key));
	key->kind = kind;
	group_key(key, p);
	return key;
}

/* Those of one hash, by its highest bits. */
static __always_inline struct why_pair *why_pairs_of(struct why_cpu *s, u64 victim, u64 who, u64 ep)
{
	u64 h = (victim ^ who) * 0x9e3779b97f4a7c15ULL / (~0ULL / WHY_PAIRS + 1);
	struct why_pair *q = &s->pairs[ep & 1][h & (WHY_PAIRS - WHY_PAIR_WAYS)];

	asm("" : "+r"(q)); /* as why_stay_at() */
	return q;
}

/* What of a key's kind says who is blamed: all but the length. */
#define WHY_PAIR_KINDS (ABI_WHY_KIND_MASK | 0xffU << ABI_WHY_CLASS_SHIFT)

/* Of that CPU, which is in all keys here. Without groups nobody's key has an id. */
static __always_inline bool why_pair_is(const struct why_pair *q, u64 id, u64 born, u32 kind,
					u64 low, u64 high, u64 all_ns)
{
	u64 other =
		(q->who[0] ^ low) | (q->who[1] ^ high) | ((q->key.kind ^ kind) & WHY_PAIR_KINDS);

	if (keyed.by != ABI_BY_NONE)
		other |= (q->key.id ^ id) | (q->key.born ^ born);
	return !other && all_ns - q->least_ns <= q->span_ns;
}

/* It counts what has that key, which has its length. */
static __always_inline void why_pair_begin(struct why_pair *q, const struct abi_key *key,
					   const struct why_stay *t, u32 length)
{
	bool task = (key->kind & ABI_WHY_KIND_MASK) == ABI_WHY_TASK;

	q->key = *key;
	q->who[0] = task ? t->key[0] : 0;
	q->who[1] = task ? t->key[1] : 0;
	q->least_ns = length > 1 ? ABI_WHY_LONGER(length - 2) + 1 : 0;
	q->span_ns = length < ABI_WHY_LENGTHS - 1 ? ABI_WHY_LONGER(length - 1) - q->least_ns
						  : ~0ULL >> 1;
}

static __always_inline void why_pair_add(struct abi_khead *e, const struct why_pair *q)
{
	e->sums[ABI_WHY_NS] += q->ns;
	e->sums[ABI_WHY_COUNT] += q->count;
	e->sums[ABI_WHY_DUE_NS] += q->due_ns;
	e->sums[ABI_WHY_DUE_COUNT] += q->due_count;
}

/*
 * What has no place of its own: into its entry, and a place if one is free. 0: it has no entry yet.
 */
static __noinline u32 why_pair_new(struct why_cpu *s, struct why_pair *q, u64 ns, u64 due_ns,
				   u64 ep)
{
	const struct why_stay *t = &s->stays[(s->nstays - 2) & (WHY_STAYS - 1)];
	u32 length = why_length(ns + due_ns, 1);
	struct abi_key *key = &s->walk.key;

	if ((key->kind & ABI_WHY_KIND_MASK) == ABI_WHY_TASK)
		key->obj = why_id(t);
	key->kind |= length << ABI_WHY_LENGTH_SHIFT;
	if (!why_add_simple(key, ns, due_ns, ep))
		return 0;
	if (s->no_pairs)
		return 1;
	if (!q->key.kind)
		why_pair_begin(q, key, t, length);
	else if (!q[1].key.kind)
		why_pair_begin(&q[1], key, t, length);
	return 1;
}

/*
 * Nothing else counts in the entry of such a wait, so it needs no serial number. A pair that has an
 * entry may have a place of the CPU's own, until user space asks. false: it has no entry yet, or
 * one that says more.
 */
static __always_inline bool why_blame_simple(struct why_cpu *s, struct task_struct *p, u32 kind,
					     const struct why_stay *t, u64 ns, u64 due_ns, u64 ep)
{
	bool task = (kind & ABI_WHY_KIND_MASK) == ABI_WHY_TASK;
	u64 low = task ? t->key[0] : 0, high = task ? t->key[1] : 0;
	u64 id = 0, born = 0;
	struct abi_key *key;
	struct why_pair *q;

	if (keyed.by == ABI_BY_PID || keyed.by == ABI_BY_TID)
		return false;
	if (keyed.by != ABI_BY_NONE) {
		key = why_key_begin(s, p, kind);
		id = key->id;
		born = key->born;
	}
	q = why_pairs_of(s, id, low, ep);
	if (!why_pair_is(q, id, born, kind, low, high, ns + due_ns)) {
		if (!why_pair_is(&q[1], id, born, kind, low, high, ns + due_ns)) {
			if (keyed.by == ABI_BY_NONE)
				why_key_begin(s, p, kind);
			return why_pair_new(s, q, ns, due_ns, ep);
		}
		q++;
	}
	if (ns) {
		q->ns += ns;
		q->count++;
	}
	if (due_ns) {
		q->due_ns += due_ns;
		q->due_count++;
	}
	return true;
}

/* Where it has no entry any more, which cannot be: to the others. */
static __always_inline void why_pair_tell(struct why_pair *q, u64 ep)
{
	struct abi_key other = {.obj = ABI_OBJ_OTHER};
	struct abi_khead *e = why_entry(&q->key, ep);

	if (!e) {
		other.kind = q->key.kind & ABI_WHY_KIND_MASK;
		other.cpu = q->key.cpu;
		e = why_entry(&other, ep);
	}
	if (e)
		why_pair_add(e, q);
	__builtin_memset(q, 0, sizeof(*q));
}

/*
 * Run by user space before it reads the entries of a bank, which nobody writes then: for a CPU,
 * what it has counted goes into them.
 */
SEC("raw_tp")
int ws_why_pairs(u64 *ctx)
{
	struct why_cpu *of = why_of((u32)ctx[0]);
	u64 bank = ctx[1] & 1;
	u32 i;

	if (!of)
		return 0;
	for (i = 0; i < WHY_PAIRS; i++)
		if (of->pairs[bank][i].key.kind)
			why_pair_tell(&of->pairs[bank][i], bank);
	return 0;
}

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
	/* no memory, see stamp_early(): all of the wait is unexplained, as it is not known where it
	 * waited */
	if (!m)
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
 * Steps to the previous entry of the CPU's switch log. Returns 0 at the end of the part that can
 * belong to this wait: the log is empty, or the waiting task itself had the CPU before. Its wait
 * cannot have begun earlier; if it seems to, that is the distance between the run queue's clock, by
 * which the wait was measured, and ours.
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

/* ---- laps ---- */

/*
 * --why: the part of a wait whose stays the ring has no more. By the readings of all sums, one for
 * each lap of WHY_LAP stays, it is known by class what the CPU did from lap to lap; which tasks ran
 * is not. Of the lap in which the wait began only what must lie behind its beginning is told, as in
 * why_since().
 */

#define LAPS_SLACK 2 /* the oldest may just be written over */

/* The first stay that a walk looks at: all that the ring has, but of a wait that began before these
 * from the first one on that a lap begins with. */
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

/* Any wait of a task that comes to this CPU, when all that the switch itself takes has returned:
 * before 6.13 the stacks of a chain of calls share 512 bytes. */
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

/* The wait of a task that comes to this CPU is over, as `w` tells. What is not simple is walked,
 * and told if it was slow, when the switch is done with. */
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
