/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledgers of all tasks (--why), by thread number: found, and read while others write them. */
#ifndef WS_ACCOUNT_BPF_H
#define WS_ACCOUNT_BPF_H

#include "abi_holder.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_ledger);
} tasks SEC(".maps");

/* Of tasks in pid namespaces: the number that we know them by. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct abi_vtid);
	__type(value, u32);
} vtids SEC(".maps");

/*
 * The sums at `now`. false: they are being written on another CPU, which has then gone past `now` or
 * is about to, or there was never a whole reading of them.
 */
static __always_inline bool account_read(const volatile struct abi_ledger *l, u64 now,
					 struct abi_did *out)
{
	u64 mark = l->mark_ns, woken = l->woken_ns, seen = l->seen_ns;
	u32 does = l->does & (ABI_DIDS - 1);

	out->ns[0] = l->did.ns[0];
	out->ns[1] = l->did.ns[1];
	out->ns[2] = l->did.ns[2];
	out->ns[3] = l->did.ns[3];
	if (now < mark || out->ns[0] + out->ns[1] + out->ns[2] + out->ns[3] != mark - seen)
		return false;
	if (does == ABI_DID_BLOCK && woken >= mark && woken <= now) {
		out->ns[ABI_DID_BLOCK] += woken - mark;
		out->ns[ABI_DID_QUEUE] += now - woken;
	} else if (does == ABI_DID_RUN) {
		out->ns[ABI_DID_RUN] += now - mark;
	} else if (does == ABI_DID_QUEUE) {
		out->ns[ABI_DID_QUEUE] += now - mark;
	} else if (does == ABI_DID_THROTTLE) {
		out->ns[ABI_DID_THROTTLE] += now - mark;
	} else {
		out->ns[ABI_DID_BLOCK] += now - mark;
	}
	return true;
}

#endif
