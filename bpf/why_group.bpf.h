/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: the group that the task of a stay is of, and what else is known of it. */
#ifndef WS_WHY_GROUP_BPF_H
#define WS_WHY_GROUP_BPF_H

/* The lowest bit of each byte that is NUL; the first is right, those behind it need not be. */
static __always_inline u64 why_nul(u64 word)
{
	return ((word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL) >> 7;
}

/* A word of the group that a stay is of: older kernels leave behind a name's NUL what was there before. */
static __always_inline u64 why_group(const struct why_stay *t, u32 word)
{
	u64 nul = why_nul(t->key[word]);

	if (!WHY_NAMED)
		return t->key[word];
	if (word && why_nul(t->key[0]))
		return 0;
	return nul ? t->key[word] & ((nul & -nul) - 1) : t->key[word];
}

/* Out of line, as all that only some ask for: the switch's own frame is no deeper for it. */
static __noinline u32 why_name_group(struct why_cpu *s, struct task_struct *p)
{
	struct why_stay *t = &s->stays[s->nstays & (WHY_STAYS - 1)];
	struct why_who *who = &s->who[s->nstays & (WHY_STAYS - 1)];
	struct task_struct *leader;
	struct abi_key key = {};

	if (!WHY_NAMED) {
		group_key(&key, p);
		t->key[0] = key.id;
		t->key[1] = key.born;
	}
	who->pid = TASK_READ(p, tgid);
	who->cgroup_id = task_cgroup_id(p);
	TASK_COMM(who->comm, p);
	if (keyed.by != ABI_BY_PID)
		return 0;
	leader = TASK_READ(p, group_leader);
	if (leader)
		TASK_COMM(who->name, leader);
	return 0;
}

static __always_inline void why_name_stay(struct why_cpu *s, struct why_stay *t,
					  struct task_struct *p)
{
	if (WHY_NAMED)
		__builtin_memcpy(t->key, p->comm, sizeof(t->key));
	if (!WHY_NAMED || slower)
		why_name_group(s, p);
}

#endif
