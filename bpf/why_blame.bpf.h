/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: entries, of who waited and for whom. */
#ifndef WS_WHY_BLAME_BPF_H
#define WS_WHY_BLAME_BPF_H

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

/* `stay` of `cpu` says which task, if it was one, or WHY_NO_STAY. Global, as all that is called more than once: the
 * verifier takes it by itself. */
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

/* The key of a wait's entry, but for its length and who is blamed. In place of a stack, as all of that. */
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

/* What has no place of its own: into its entry, and a place if one is free. 0: it has no entry yet. */
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
 * Nothing else counts in the entry of such a wait, so it needs no serial number. A pair that has an entry may have
 * a place of the CPU's own, until user space asks. false: it has no entry yet, or one that says more.
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
 * Run by user space before it reads the entries of a bank, which nobody writes then: for a CPU, what it has
 * counted goes into them.
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

#endif
