// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Watched addresses: hardware breakpoints, one event for each slot on each CPU. Every hit goes to
 * user space, in order, up to a limit. A trap costs a virtual machine 20 us, whoever hits: so what
 * the filters leave out is bounded too, here, and in the kernel by the event's own limit of
 * overflows, which counts them for a program that returns 1.
 *
 * In the kernel the trap is an NMI in all but name: no stamps are made, which would allocate.
 */
#include "lib/common.bpf.h"
#include "compat.bpf.h"

#define TASKS_FROM_CURRENT
#include "lib/filter.bpf.h"
#include "lib/follow.bpf.h"
#include "abi_watch.h"
#include "lib/code.bpf.h"
#include "lib/line_regs.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define X86_CTX_ADDR 22 /* of struct bpf_perf_event_data, behind the registers and the period */

const volatile __u64 hits_max;
const volatile __u64 foreign_max;
__u32 user_tgid; /* whose the watched user addresses are */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct abi_ip_key);
	__type(value, u32);
} sent_ips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} hits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_watch_counts);
} watch_counts SEC(".maps");

/*
 * The ring's lock is tried, not awaited, by an NMI (bpf_ringbuf_reserve, before raw_res_spin_lock
 * of 6.15): with hits on several CPUs at once another holds it, for as long as a reservation takes.
 * So it is tried again, a few microseconds at most; a ring that is full costs as much, and is
 * bounded.
 */
#define RING_TRIES 64

static __always_inline void *hits_reserve(struct abi_watch_counts *n, const u64 size)
{
	void *r;
	int i;

	for (i = 0; i < RING_TRIES; i++) {
		r = bpf_ringbuf_reserve(&hits, size, 0);
		if (r)
			return r;
	}
	__sync_fetch_and_add(&n->lost, 1);
	return NULL;
}

/* The code first, then the mark that it was sent: no hit comes before its code. Two CPUs at once
 * send it twice, and so does a full map: no harm. */
static __always_inline void send_code(struct abi_watch_counts *n, const struct abi_ip_key *key)
{
	struct abi_new_ip *r;
	u32 one = 1;

	if (bpf_map_lookup_elem(&sent_ips, key))
		return;
	r = hits_reserve(n, sizeof(*r));
	if (!r)
		return;
	code_fill(r, key);
	bpf_ringbuf_submit(r, 0);
	bpf_map_update_elem(&sent_ips, key, &one, BPF_ANY);
}

static __always_inline void send_hit(struct abi_watch_counts *n, struct task_struct *p, u64 addr,
				     u64 ip)
{
	struct abi_ip_key key;
	struct abi_hit *h;

	ip_key_of(&key, p, ip);
	send_code(n, &key);
	h = hits_reserve(n, sizeof(*h));
	if (!h)
		return;
	h->key = key;
	h->addr = addr;
	h->pid = TASK_READ(p, tgid);
	h->tid = TASK_READ(p, pid);
	h->cpu = bpf_get_smp_processor_id();
	h->pad = 0;
	h->space = space_of(p, TASKS_TYPED);
	bpf_core_read(h->comm, sizeof(h->comm), &p->comm);
	bpf_ringbuf_submit(h, 0);
	__sync_fetch_and_add(&n->taken, 1); /* a lost one is none of those that were asked for */
}

/* Another process has something else at a user address, a child of the watched one's too. */
static __always_inline bool wanted(struct task_struct *p, u64 addr)
{
	struct stamp st = {};

	if (!(addr & KERNEL_HALF) && TASK_READ(p, tgid) != user_tgid)
		return false;
	return filter_early(p) && filter_late(&st, p);
}

SEC("perf_event")
int ws_watch(void *ctx)
{
	struct task_struct *p = current_task();
	u64 addr = CTX_WORD(ctx, X86_CTX_ADDR);
	struct abi_watch_counts *n;
	u32 zero = 0;

	n = bpf_map_lookup_elem(&watch_counts, &zero);
	if (!n || !epoch)
		return 1;
	if (!wanted(p, addr)) {
		__sync_fetch_and_add(&n->foreign, 1);
		return 1;
	}
	if (!abi_watch_over(n, hits_max, foreign_max))
		send_hit(n, p, addr, regs_ip(ctx));
	return 1;
}
