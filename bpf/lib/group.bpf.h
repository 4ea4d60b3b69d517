/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The group of a task (--by). */
#ifndef WS_GROUP_BPF_H
#define WS_GROUP_BPF_H

#include "filter.bpf.h"

/* Up to the NUL: older kernels leave what was there before behind it (strlcpy in __set_task_comm).
 */
static __always_inline void copy_comm(char *to, const char *from)
{
	u32 i;

	for (i = 0; i < ABI_COMM_LEN; i++) {
		if (!from[i])
			break;
		to[i] = from[i];
	}
}

static __always_inline void group_comm(struct abi_key *key, struct task_struct *p)
{
	char comm[ABI_COMM_LEN] = {};

	if (TASKS_TYPED) {
		copy_comm(key->comm, p->comm);
		return;
	}
	bpf_core_read(comm, sizeof(comm), &p->comm);
	copy_comm(key->comm, comm);
}

/* Into a zeroed key, by ABI_BY_*: its id, or name. */
static __always_inline void group_id(u32 by, struct abi_key *key, struct task_struct *p)
{
	struct task_struct *leader;

	if (by == ABI_BY_PID) {
		leader = TASK_READ(p, group_leader);
		key->id = (u32)TASK_READ(p, tgid);
		key->born = leader ? TASK_READ(leader, start_time) : 0;
	} else if (by == ABI_BY_TID) {
		key->id = (u32)TASK_READ(p, pid);
		key->born = TASK_READ(p, start_time);
	} else if (by == ABI_BY_CGROUP) {
		key->id = task_cgroup_id(p);
	} else if (by == ABI_BY_COMM) {
		group_comm(key, p);
	}
}

/* Processes and threads have a name that may change: whose it is. */
static __always_inline struct task_struct *group_named(u32 by, struct task_struct *p)
{
	struct task_struct *leader = by == ABI_BY_PID ? TASK_READ(p, group_leader) : NULL;

	return leader ? leader : p;
}

#endif
