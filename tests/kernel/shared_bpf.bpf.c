/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least a source can be whose tasks are `current`: it counts some system calls by group and
 * number. test_shared_bpf.c loads it with what all sources share.
 */
#define TASKS_FROM_CURRENT
#include "lib/common.bpf.h"
#include "compat.bpf.h"

#include "lib/filter.bpf.h"
#include "lib/follow.bpf.h"
#include "lib/keyed.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define VALUE_NS 1000

const volatile __u32 numbers[3]; /* of the system calls */

static __always_inline void count(struct task_struct *p, struct stamp *st, u32 nr, u64 ep)
{
	struct abi_counts *bank = bank_get(ep);
	struct abi_key key = {.obj = nr, .kind = nr == numbers[2]};
	struct abi_khead *e;

	if (!bank || !filter_late(st, p))
		return;
	group_key(&key, p);
	key.cpu = bpf_get_smp_processor_id();
	e = keyed_get(bank, &key, ep);
	if (!e)
		return;
	group_name(e, p);
	e->sums[0]++;
	khist_add(e, 0, VALUE_NS, ep);
}

/* An entry with one histogram that user space has samples added to, `add_n` of `add_ns` at once. */
struct {
	struct abi_khead head;
	struct abi_khist hist;
	__u32 slots[ABI_KHIST_SLOTS(BUCKET_SCHEMA_MAX)];
} added;
__u64 add_ns;
__u32 add_n;

SEC("raw_tp")
int ws_add(u64 *ctx)
{
	if (add_n == 1)
		khist_add(&added.head, 0, add_ns, epoch);
	else
		khist_add_n(&added.head, 0, add_ns * add_n, add_n, epoch);
	return 0;
}

SEC("tp_btf/sys_enter")
int ws_enter(u64 *ctx)
{
	struct task_struct *p = current_task();
	u32 nr = (u32)ctx[1];
	struct stamp *st;
	u64 ep = epoch;

	if (!ep || (nr != numbers[0] && nr != numbers[1] && nr != numbers[2]) || !filter_early(p))
		return 0;
	st = stamp_get(p, true);
	if (st)
		count(p, st, nr, ep);
	return 0;
}
