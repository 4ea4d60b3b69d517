/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What line and watch know a piece of code by, and the bytes of it that user space decodes. */
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
