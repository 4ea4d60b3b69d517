/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a process's code is known by: its image and its address space. And the bytes of it that user
 * space decodes: for line the window around a sample, for watch the instruction before a trap.
 */
#ifndef WS_CODE_BPF_H
#define WS_CODE_BPF_H

#include "filter.bpf.h"
#include "abi_line.h"
#include "abi_space.h"

/* Tells a process's code from that before an exec, and from another's that had its number. */
static __always_inline u32 image_of(struct task_struct *p)
{
	return (u32)(BPF_CORE_READ(p, group_leader, start_time) >> 16) ^
	       (u32)BPF_CORE_READ(p, self_exec_id);
}

/*
 * The address space of a task, by which user space tells whether a name belongs to a user address.
 *
 * typed: the memory of `p` is read by loads, else by calls. A load is cheaper to run; futex.bpf.c
 * calls, for its loops cost the verifier half as much again with loads.
 */
static __always_inline u64 space_of(struct task_struct *p, bool typed)
{
	struct mm_struct *mm = TASK_READ(p, mm);
	u64 v[ABI_SPACE_PARTS];

	if (!mm)
		return 0;
	v[0] = READ_AS(typed, mm, start_code);
	v[1] = READ_AS(typed, mm, end_code);
	v[2] = READ_AS(typed, mm, start_stack);
	v[3] = READ_AS(typed, mm, start_data);
	v[4] = READ_AS(typed, mm, start_brk);
	return abi_space(v);
}

static __always_inline void ip_key_of(struct abi_ip_key *key, struct task_struct *p, u64 ip)
{
	*key = (struct abi_ip_key){.ip = ip};
	if (ip & KERNEL_HALF)
		return;
	key->tgid = TASK_READ(p, tgid);
	key->image = image_of(p);
}

static __always_inline bool read_code(void *to, u32 size, u64 from)
{
	if (from & KERNEL_HALF)
		return !bpf_probe_read_kernel(to, size, (const void *)from);
	return !bpf_probe_read_user(to, size, (const void *)from);
}

/* Pages that are not there: what can be read of the others. */
static __always_inline u32 window_pieces(struct abi_window *r, u64 base)
{
	u32 pieces = 0, k;

	for (k = 0; k < ABI_WINDOW_PIECES; k++) {
		u32 at = k * ABI_WINDOW_PIECE;

		if (read_code(r->code + at, ABI_WINDOW_PIECE, base + at))
			pieces |= 1U << k;
	}
	return pieces;
}

/* Never waits: a page that is not in memory is not fetched. */
static __always_inline void window_fill(struct abi_window *r, const struct abi_ip_key *key)
{
	u64 base = abi_window_base(key->ip);

	r->key = *key;
	r->pad = 0;
	r->pieces = (1U << ABI_WINDOW_PIECES) - 1;
	if ((base ^ key->ip) & KERNEL_HALF) /* begins below address 0 */
		r->pieces = 0;
	else if (!read_code(r->code, ABI_WINDOW_BYTES, base))
		r->pieces = window_pieces(r, base);
}

static __always_inline void code_fill(struct abi_new_ip *r, const struct abi_ip_key *key)
{
	r->key = *key;
	r->before = ABI_CODE_BEFORE;
	r->bytes = ABI_CODE_BYTES;
	if (read_code(r->code, ABI_CODE_BYTES, key->ip - ABI_CODE_BEFORE))
		return;
	/* the next or the last page is not there: what lies before is enough */
	r->bytes = ABI_CODE_BEFORE;
	if (!read_code(r->code, ABI_CODE_BEFORE, key->ip - ABI_CODE_BEFORE))
		r->bytes = 0;
}

#endif
