/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of a PMU that tells what address was accessed, from where it came and how long it took
 * (Intel PEBS, AMD IBS): no recipe is needed. Runs in NMIs.
 */
#ifndef WS_LINE_PMU_BPF_H
#define WS_LINE_PMU_BPF_H

#include "data_src.h"
#include "hist.bpf.h"

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

#endif
