/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms in the per-CPU banks: for the few that every event goes to. User space reads only
 * banks of which a counter has moved: who adds to a histogram also adds to `switches`.
 */
#ifndef WS_HIST_BPF_H
#define WS_HIST_BPF_H

#include "common.bpf.h"
#include "bucket_check.bpf.h"

const volatile struct abi_buckets hists = {
	.schema = BUCKET_SCHEMA_DEFAULT,
	.nslots = BUCKET_SLOTS(BUCKET_SCHEMA_DEFAULT),
};

#define HIST_SCHEMA OPTION(hists.schema, BUCKET_SCHEMA_DEFAULT)
#define HIST_SLOTS OPTION(hists.nslots, BUCKET_SLOTS(BUCKET_SCHEMA_DEFAULT))

/* The least and the most of an epoch. */
static __always_inline void hist_ends(struct abi_hist *h, u64 v, u64 ep)
{
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
 * The slot of a sample that is not 0. Inlined: where returns are made safe from speculation (AMD) a
 * call for each of three samples is as much as all that it does.
 */
static __always_inline u32 hist_slot(u64 v)
{
	return bucket_slot(&hists.table, HIST_SCHEMA, v);
}

/*
 * The same code, for the values that user space checks: the verifier takes a global function once.
 */
__noinline u32 hist_slot_called(u64 v)
{
	return hist_slot(v);
}

/* Run by user space alone. */
SEC("raw_tp")
int ws_check_hist(u64 *ctx)
{
	return check_slots(hist_slot_called);
}

/* `n` samples of `sum` together into histogram `m` of a bank: as so many of their mean. */
static __always_inline void hist_add_n(struct abi_counts *bank, u32 m, u64 sum, u32 n, u64 ep)
{
	u64 lim = HIST_SLOTS, slot, v = n == 1 ? sum : sum / n;
	struct abi_hist *h = (void *)(bank + 1) + m * (sizeof(*h) + 4 * lim);

	h->sum_ns += sum;
	hist_ends(h, v, ep);
	if (!v) {
		h->zero += n;
		return;
	}
	if (v >= BUCKET_VALUE_END)
		bank->over += n;
	slot = hist_slot(v);
	CLAMP_INDEX(slot, lim);
	((u32 *)(h + 1))[slot] += n;
}

static __always_inline void hist_add(struct abi_counts *bank, u32 m, u64 v, u64 ep)
{
	hist_add_n(bank, m, v, 1, ep);
}

#endif
