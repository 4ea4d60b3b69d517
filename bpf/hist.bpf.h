/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms in the per-CPU banks: for the few that every event goes to. Two banks.
 */
#ifndef WS_HIST_BPF_H
#define WS_HIST_BPF_H

#include "bucket_check.bpf.h"

const volatile struct abi_buckets hists = {
	.schema = BUCKET_SCHEMA_DEFAULT,
	.nslots = BUCKET_SLOTS(BUCKET_SCHEMA_DEFAULT),
};

/* Head of a histogram: everything but the slot. */
static __always_inline void hist_head_add(struct abi_hist *h, u64 v, u64 ep)
{
	h->sum_ns += v;
	if (h->epoch != ep) {
		h->epoch = ep;
		h->min_ns = v;
		h->max_ns = v;
	} else if (v > h->max_ns) {
		h->max_ns = v;
	} else if (v < h->min_ns) {
		h->min_ns = v;
	}
}

/*
 * Global: the verifier takes it by itself, once. Inlined, what it learns of one sample's slot
 * multiplies with the next one's, past its limit of a million instructions.
 */
__noinline u32 hist_slot(u64 v)
{
	return bucket_slot(&hists.table, hists.schema, v);
}

/* Run by user space alone. */
SEC("raw_tp")
int ws_check_hist(u64 *ctx)
{
	return check_slots(hist_slot);
}

/* One sample into histogram `m` of a bank. */
static __always_inline void hist_add(struct abi_counts *bank, u32 m, u64 v, u64 ep)
{
	u64 lim = hists.nslots, slot;
	struct abi_hist *h = (void *)(bank + 1) + m * (sizeof(*h) + 4 * lim);

	hist_head_add(h, v, ep);
	if (!v) {
		h->zero++;
		return;
	}
	if (v >= BUCKET_VALUE_END) {
		h->over++;
		bank->over++;
	}
	slot = hist_slot(v);
	CLAMP_INDEX(slot, lim);
	((u32 *)(h + 1))[slot]++;
}

#endif
