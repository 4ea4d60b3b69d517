/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What line and watch know a piece of code by, and the bytes of it that user space decodes: line
 * the window around it, watch the instruction before a trap. */
#ifndef WS_CODE_BPF_H
#define WS_CODE_BPF_H

/* Tells a process's code from that before an exec, and from another's that had its number. */
static __always_inline u32 image_of(struct task_struct *p)
{
	return (u32)(BPF_CORE_READ(p, group_leader, start_time) >> 16) ^
	       (u32)BPF_CORE_READ(p, self_exec_id);
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
