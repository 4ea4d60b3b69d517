// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading keyed entries: user space has the kernel walk over the map of a bank that nobody writes
 * (bpf_iter over a map's elements, a5cbe05a6673, 5.9), and is told of each entry the slots with
 * samples, in memory that both share. To copy the entries would be to copy mostly zeros: one of the
 * scheduler's has 12.5 KB, of which 100 to 500 bytes are of use. Where few samples came since the
 * last time its slots are not even read. An object of its own: where it does not load, maps are
 * copied as they are.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "abi.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 hists; /* in an entry */
const volatile __u32 slots; /* in a histogram */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct abi_walk));
} walked SEC(".maps");

/* For the verifier it may be the last bytes, hence abi_walk.past. */
static __always_inline void *walk_at(struct abi_walk *w, u64 at)
{
	return w->bytes + (at & (ABI_WALK_BYTES - 8));
}

/* Without a branch, since each would double the paths through all that follows. */
static __always_inline u64 put_slot(struct abi_walk *w, u64 at, u32 slot, u64 n)
{
	*(u64 *)walk_at(w, at) = n << 32 | slot;
	return at + sizeof(struct abi_walk_slot) * bucket_nonzero(n);
}

static __always_inline u64 put_two(struct abi_walk *w, u64 at, u32 slot, u64 both)
{
	at = put_slot(w, at, slot, (u32)both);
	return put_slot(w, at, slot + 1, both >> 32);
}

/* Eight slots from `slot` on. Global, so that the verifier looks at it once. */
__noinline int put_eight(u32 slot, u64 a, u64 b, u64 c, u64 d)
{
	u32 first = 0;
	struct abi_walk *w = bpf_map_lookup_elem(&walked, &first);
	u64 at;

	if (!w)
		return 0;
	at = w->used;
	at = put_two(w, at, slot, a);
	at = put_two(w, at, slot + 2, b);
	at = put_two(w, at, slot + 4, c);
	at = put_two(w, at, slot + 6, d);
	w->used = at;
	return 0;
}

static __always_inline void put_slots(const u64 *eight)
{
	u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < slots; i += 8, eight += 4) {
		u64 a = eight[0], b = eight[1], c = eight[2], d = eight[3];

		if (a | b | c | d)
			(void)put_eight(i, a, b, c, d);
	}
}

/* Of the slots only where the last samples are not all that user space was not told of. */
static __always_inline void put_hist(struct abi_walk *w, struct abi_khist *h, const void *its_slots)
{
	u64 at = w->used, placed = h->placed, told = h->told;
	struct abi_walk_hist *to = walk_at(w, at);

	to->head = *h;
	to->slots = 0;
	h->told = placed;
	at += sizeof(*to);
	w->used = at;
	if (placed - told < ABI_KHIST_LAST)
		return;
	put_slots(its_slots);
	to->slots = (w->used - at) / sizeof(struct abi_walk_slot);
}

SEC("iter/bpf_map_elem")
int ws_walk_keys(struct bpf_iter__bpf_map_elem *ctx)
{
	struct abi_khead *e = ctx->value;
	const struct abi_key *key = ctx->key;
	u32 first = 0, m;
	struct abi_khist *h = (void *)(e + 1);
	const void *its_slots = h + hists;
	struct abi_walk *w = bpf_map_lookup_elem(&walked, &first);
	struct abi_walk_entry *told;

	if (!e || !key || !w)
		return 0;
	if (w->used > ABI_WALK_BYTES - ABI_WALK_ENTRY_MAX)
		return 1; /* full: this one again when there is room */
	told = walk_at(w, w->used);
	w->used += sizeof(*told);
	told->key = *key;
	told->head = *e;
	told->hists = 0;
#pragma clang loop unroll(disable)
	for (m = 0; m < hists; m++, h++, its_slots += 4 * slots) {
		u64 of = h->epoch;

		if (!of || (w->epoch && of != w->epoch))
			continue;
		told->hists |= 1ULL << m;
		put_hist(w, h, its_slots);
	}
	return 0;
}
