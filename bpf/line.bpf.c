// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contended cache lines without a PMU: the CPU clock's samples, and for each the memory that the
 * code just before the interrupted instruction touched. A pointer seen for the first time goes to
 * user space with the code around it; what comes back is a recipe (include/recipe.h), and from then
 * on the address is computed here.
 *
 *	interrupt -> ips[ip] -> recipe -> address -> accesses[address, ip, thread, CPU]
 *	                 \-- unknown: new_ips -> user space decodes -> ips[ip]
 *
 * A PMU tells the address itself: ws_pmu().
 *
 * An access has one writer, the CPU in its key. Two banks of them: user space takes everything out
 * of the one that nobody writes.
 */
#include "lib/common.bpf.h"
#include "compat.bpf.h"

#define TASKS_FROM_CURRENT
#include "lib/filter.bpf.h"
#include "lib/follow.bpf.h"
#include "abi_line.h"
#include "data_src.h"
#include "lib/code.bpf.h"
#include "lib/line_regs.bpf.h"
#include "lib/hist.bpf.h"

#define EEXIST 17

char LICENSE[] SEC("license") = "GPL";

/* More than this waiting to be decoded: others must come again. Bounds what a compiler's storm of
 * new code costs, here and in user space. */
const volatile __u64 new_ips_bytes;

/* What ambiguous samples may have touched is wanted too, of processes' memory: short watches
 * decide. */
const volatile bool candidates;

/* Preallocated, all of these: the programs run in interrupts, PMUs' even in NMIs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct abi_ip_key);
	__type(value, struct abi_ip);
} ips SEC(".maps");

struct access_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct abi_access_key);
	__type(value, struct abi_access);
};

struct access_map accesses_even SEC(".maps"), accesses_odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* lines that are fought over stay in it */
	__uint(max_entries, 16384);
	__type(key, struct abi_turns_key);
	__type(value, struct abi_turns);
} turns SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} new_ips SEC(".maps");

/* Mapped by user space, which reads them without a system call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_line_counts);
} line_counts SEC(".maps");

static __always_inline struct abi_line_counts *counts_get(u64 ep)
{
	u32 at = bpf_get_smp_processor_id() * ABI_BANKS + (u32)(ep & 1);

	return bpf_map_lookup_elem(&line_counts, &at);
}

/* ---- new pointers ---- */

/* Of the task that runs. Global: the verifier goes through it once, not in each state. */
__noinline u64 space_here(void)
{
	return space_of(current_task(), TASKS_TYPED);
}

/*
 * To user space, once: the entry that marks it as sent is made first. Where no record can be
 * written the entry goes again, so that a later sample tries anew.
 */
static __always_inline void send_new(struct abi_line_counts *n, const struct abi_ip_key *key)
{
	struct abi_ip pending = {};
	struct abi_window *r;
	long ret;

	if (bpf_ringbuf_query(&new_ips, BPF_RB_AVAIL_DATA) > new_ips_bytes) {
		n->ring_lost++;
		return;
	}
	ret = bpf_map_update_elem(&ips, key, &pending, BPF_NOEXIST);
	if (ret) {
		n->ips_full += ret != -EEXIST; /* another CPU came first */
		return;
	}
	r = bpf_ringbuf_reserve(&new_ips, sizeof(*r), 0);
	if (!r) {
		n->ring_lost++;
		bpf_map_delete_elem(&ips, key);
		return;
	}
	window_fill(r, key);
	r->space = key->tgid ? space_here() : 0;
	bpf_ringbuf_submit(r, 0);
}

/* ---- accesses ---- */

/* Has the line been seen on two CPUs? */
static __always_inline bool note_turn(const struct abi_access_key *at)
{
	struct abi_turns_key key = {.line = at->addr >> ABI_LINE_SHIFT, .tgid = at->tgid};
	struct abi_turns first = {}, *t = bpf_map_lookup_elem(&turns, &key);

	if (!t) {
		first.last = at->cpu + 1;
		bpf_map_update_elem(&turns, &key, &first, BPF_NOEXIST);
		return false;
	}
	if (t->last) {
		t->pairs++;
		if (t->last != at->cpu + 1)
			t->changes++;
	}
	t->last = at->cpu + 1;
	return t->changes > 0;
}

/* Bits of the bytes [offset, offset + size) that lie on this line. */
static __always_inline u64 byte_mask(u64 addr, u32 size)
{
	u64 mask = size >= 64 ? ~0ULL : (1ULL << (size & 63)) - 1;

	return mask << (addr & 63);
}

static __always_inline struct abi_access *access_get(void *map, const struct abi_access_key *key)
{
	struct abi_access zero = {}, *a = bpf_map_lookup_elem(map, key);

	if (a)
		return a;
	bpf_map_update_elem(map, key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

struct sample {
	struct task_struct *p;
	u64 space; /* the task's */
	u64 ep;
	struct abi_ip_key at;
};

static __always_inline void access_key(struct abi_access_key *key, struct task_struct *p, u64 space,
				       u64 ip, u64 addr)
{
	key->addr = addr;
	key->ip = ip;
	key->tid = TASK_READ(p, pid);
	key->cpu = bpf_get_smp_processor_id();
	key->pid = TASK_READ(p, tgid);
	key->tgid = addr & KERNEL_HALF ? 0 : key->pid;
	key->space = space & ~(u64)((s64)(addr & ip) >> 63); /* 0 if both are the kernel's */
}

/* 0 if there is no room. */
static __always_inline u32 place(const struct sample *s, const struct abi_recipe *r, u64 addr,
				 u32 flags, u32 doubt)
{
	u32 size = doubt == ABI_ACCESS_LINE ? 0 : r->size;
	struct task_struct *p = s->p;
	struct abi_access_key key;
	struct abi_access *a;

	access_key(&key, p, s->space, s->at.ip, addr);
	a = s->ep & 1 ? access_get(&accesses_odd, &key) : access_get(&accesses_even, &key);
	if (!a)
		return 0;
	a->samples++;
	a->doubt = doubt;
	a->back = r->back;
	if (flags & RECIPE_READ) {
		a->reads++;
		a->read_bytes |= byte_mask(addr, size);
	}
	if (flags & RECIPE_WRITE) {
		a->writes++;
		a->write_bytes |= byte_mask(addr, size);
	}
	if (flags & RECIPE_LOCKED)
		a->locked++;
	if (flags & RECIPE_INFERRED)
		a->inferred++;
	bpf_core_read(a->comm, sizeof(a->comm), &p->comm);
	if (doubt != ABI_ACCESS_MAYBE)
		note_turn(&key);
	return 1;
}

static __always_inline u64 tls_base(struct task_struct *p)
{
	return bpf_core_field_exists(p->thread.fsbase) ? BPF_CORE_READ(p, thread.fsbase) : 0;
}

/* 0: the stack that an indirect recipe's pointer lies on could not be read. */
static __always_inline u64 address(struct task_struct *p, const struct abi_recipe *r,
				   const u64 *regs)
{
	u64 slot, pointer;

	if (!(r->flags & RECIPE_INDIRECT))
		return recipe_address(r, regs, r->flags & RECIPE_TLS ? tls_base(p) : 0);
	slot = recipe_slot(r, regs);
	if (slot & KERNEL_HALF || bpf_probe_read_user(&pointer, sizeof(pointer), (void *)slot))
		return 0;
	return recipe_behind(r, regs, pointer);
}

/*
 * One of the recipes has run, or (ip->all is 0) something else. Returns what the sample is counted
 * as: it is of a line if all of them lie on that one; else each is noted as somewhere that it may
 * have been.
 */
static __always_inline u64 use_candidates(const struct sample *s, const struct abi_ip *ip,
					  const u64 *regs)
{
	u32 first = ip->guard.bytes ? ABI_GUARDED : 0, k, flags = ~0U;
	u64 addr[ABI_CANDIDATES] = {}, apart = !ip->all, differ = 0;
	const struct abi_recipe *r = ip->recipes;

	for (k = first; k < ABI_CANDIDATES; k++) {
		if (k >= ip->n)
			break;
		addr[k] = address(s->p, r + k, regs);
		apart |= (addr[k] ^ addr[first]) >> ABI_LINE_SHIFT | !addr[k];
		differ |= addr[k] ^ addr[first];
		flags &= r[k].flags;
	}
	if (!apart)
		return place(s, r + first, addr[first], flags,
			     differ ? ABI_ACCESS_LINE : ABI_ACCESS_SURE)
			       ? ABI_IP_RECIPE
			       : ABI_LINE_NO_ROOM;
	for (k = first; candidates && k < ABI_CANDIDATES; k++) {
		if (k >= ip->n)
			break;
		if (addr[k] && !(addr[k] & KERNEL_HALF))
			place(s, r + k, addr[k], r[k].flags, ABI_ACCESS_MAYBE);
	}
	return ABI_IP_AMBIGUOUS;
}

static __always_inline u64 use_recipe(const struct sample *s, const struct abi_recipe *r,
				      const u64 *regs)
{
	u64 addr = address(s->p, r, regs);

	if (!addr && r->flags & RECIPE_INDIRECT)
		return ABI_IP_NOT_COMPUTABLE;
	return place(s, r, addr, r->flags, ABI_ACCESS_SURE) ? ABI_IP_RECIPE : ABI_LINE_NO_ROOM;
}

static __always_inline void use(struct abi_line_counts *n, struct sample *s,
				const struct abi_ip *ip, void *ctx)
{
	bool guarded = ip->state == ABI_IP_AMBIGUOUS && ip->guard.bytes;
	u64 state = ip->state, lim = ABI_LINE_RESULTS;
	const struct abi_recipe *r = ip->recipes;
	const u64 *regs = NULL;

	if (state == ABI_IP_RECIPE || state == ABI_IP_AMBIGUOUS)
		regs = regs_copy(ctx);
	if (guarded && regs) {
		if (guard_equal(&ip->guard, regs)) {
			state = ip->guard.equal;
		} else {
			state = ip->guard.other;
			r = ip->recipes + 1;
		}
	}
	s->space = s->at.tgid ? ip->space : space_here();
	if (regs && state == ABI_IP_RECIPE)
		state = use_recipe(s, r, regs);
	else if (regs && state == ABI_IP_AMBIGUOUS)
		state = use_candidates(s, ip, regs);
	CLAMP_INDEX(state, lim);
	n->results[state]++;
}

/* The task that runs, if the filters want it: a sample of theirs. */
static __always_inline struct task_struct *sampled(struct abi_line_counts *n)
{
	struct task_struct *p = current_task();
	struct stamp *st;

	if (!TASK_READ(p, pid) || !filter_early(p))
		return NULL;
	st = stamp_get(p, true);
	if (!st || !filter_late(st, p))
		return NULL;
	n->samples++;
	return p;
}

static __always_inline void sample(void *ctx)
{
	struct sample s = {.ep = epoch};
	struct abi_line_counts *n = counts_get(s.ep);
	struct abi_ip *ip;

	if (!n || !s.ep)
		return;
	s.p = sampled(n);
	if (!s.p)
		return;
	if (regs_compat(ctx)) {
		n->results[ABI_LINE_COMPAT]++;
		return;
	}
	ip_key_of(&s.at, s.p, regs_ip(ctx));
	ip = bpf_map_lookup_elem(&ips, &s.at);
	if (!ip) {
		n->results[ABI_IP_PENDING]++;
		send_new(n, &s.at);
		return;
	}
	use(n, &s, ip, ctx);
}

SEC("perf_event")
int ws_clock(void *ctx)
{
	sample(ctx);
	return 0;
}

/* ---- samples of a PMU ---- */

/*
 * Samples of a PMU that tells what address was accessed, from where it came and how long it took
 * (Intel PEBS, AMD IBS): no recipe is needed. Runs in NMIs.
 */

/* PERF_SAMPLE_*: what of struct perf_sample_data is filled. The rest of it is whatever lay on the
 * stack. */
#define SAMPLE_ADDR (1ULL << 3)
#define SAMPLE_WEIGHT (1ULL << 14)
#define SAMPLE_DATA_SRC (1ULL << 15)
#define SAMPLE_PHYS_ADDR (1ULL << 19)
#define SAMPLE_WEIGHT_STRUCT (1ULL << 24)

/* fd264ca02094 ("bpf: Add a kfunc to type cast from bpf uapi ctx to kernel ctx", 6.2). Loaded only
 * where BTF has it. */
extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;

struct latency_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* with a PMU: set at load */
	__type(key, struct abi_access_key);
	__type(value, struct abi_latency);
};

struct latency_map latencies_even SEC(".maps"), latencies_odd SEC(".maps");

/* An entry is too large for the stack. Zero for good: not volatile. */
const struct abi_latency latency_zero;

static __always_inline struct abi_latency *latency_get(void *map, const struct abi_access_key *key)
{
	struct abi_latency *l = bpf_map_lookup_elem(map, key);

	if (l)
		return l;
	bpf_map_update_elem(map, key, &latency_zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

static __always_inline void note_latency(struct abi_line_counts *n,
					 const struct abi_access_key *key, u64 ep, u64 phys,
					 u32 cycles)
{
	struct abi_latency *l =
		ep & 1 ? latency_get(&latencies_odd, key) : latency_get(&latencies_even, key);
	u64 slot;

	if (!l) {
		n->latencies_full++;
		return;
	}
	l->phys = phys;
	slot = hist_slot(cycles);
	if (slot >= ABI_LATENCY_SLOTS) {
		l->over++;
		n->latencies_over++;
		slot = ABI_LATENCY_SLOTS - 1;
	}
	CLAMP_INDEX(slot, ABI_LATENCY_SLOTS);
	l->slots[slot]++;
	l->sum += cycles;
	if (!l->min || cycles < l->min)
		l->min = cycles;
	if (cycles > l->max)
		l->max = cycles;
}

/* Its first byte: no PMU tells how many an access has. */
static __always_inline void note_source(struct abi_access *a, u32 flags, u64 addr)
{
	u64 byte = 1ULL << (addr & 63);

	a->samples++;
	if (flags & DATA_READ) {
		a->reads++;
		a->read_bytes |= byte;
	}
	if (flags & DATA_WRITE) {
		a->writes++;
		a->write_bytes |= byte;
	}
	if (flags & DATA_LOCKED)
		a->locked++;
	if (flags & DATA_HITM_LOCAL)
		a->hitm_local++;
	if (flags & DATA_HITM_REMOTE)
		a->hitm_remote++;
	if (flags & DATA_TOLD)
		a->told++;
}

static __always_inline void pmu_place(struct abi_line_counts *n, struct task_struct *p, u64 ep,
				      u64 ip, const struct perf_sample_data *data)
{
	u64 has = data->sample_flags, addr = data->addr;
	struct data_src from = {};
	struct abi_access_key key;
	struct abi_access *a;
	u32 cycles = 0;
	bool moves;

	access_key(&key, p, space_here(), ip, addr);
	a = ep & 1 ? access_get(&accesses_odd, &key) : access_get(&accesses_even, &key);
	if (!a) {
		n->results[ABI_LINE_NO_ROOM]++;
		return;
	}
	n->results[ABI_IP_RECIPE]++;
	if (has & SAMPLE_DATA_SRC)
		data_src_decode(data->data_src.val, &from);
	note_source(a, from.flags, addr);
	if (has & SAMPLE_PHYS_ADDR)
		a->phys = data->phys_addr;
	bpf_core_read(a->comm, sizeof(a->comm), &p->comm);
	moves = note_turn(&key) || (from.flags & (DATA_HITM_LOCAL | DATA_HITM_REMOTE));
	if (has & (SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT) &&
	    bpf_core_field_exists(data->weight.full))
		cycles = (u32)data->weight.full; /* of the struct: var1_dw, the latency */
	if (cycles && moves)
		note_latency(n, &key, ep, a->phys, cycles);
}

static __always_inline void pmu_sample(u64 ip, const struct perf_sample_data *data)
{
	u64 ep = epoch;
	struct abi_line_counts *n = counts_get(ep);
	struct task_struct *p;

	if (!n || !ep || !bpf_core_field_exists(data->sample_flags))
		return;
	p = sampled(n);
	if (!p)
		return;
	if (!(data->sample_flags & SAMPLE_ADDR) || !data->addr) {
		/* an operation that touched no memory: IBS samples all */
		n->results[ABI_IP_NO_OPERAND]++;
		return;
	}
	pmu_place(n, p, ep, ip, data);
}

SEC("perf_event")
int ws_pmu(void *ctx)
{
	struct bpf_perf_event_data_kern *kern = bpf_cast_to_kern_ctx(ctx);

	if (kern->data)
		pmu_sample(regs_ip(ctx), kern->data);
	return 0;
}
