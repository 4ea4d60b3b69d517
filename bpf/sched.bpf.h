/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler source keeps of a task, and of a wait that is over. */
#ifndef WS_SCHED_BPF_H
#define WS_SCHED_BPF_H

#define STAMP_SEEN (STAMP_OWN << 0)  /* queued or running: from now on a missing stamp is a loss */
#define STAMP_RUNS (STAMP_OWN << 1)  /* `runs` holds */
#define STAMP_DELAY (STAMP_OWN << 2) /* `delay_ns` holds */

struct stamp {
	u64 t0;
	u64 t1; /* by the record: only where the kernel keeps none, on the way to sleep */
	u64 cgroup_id;
	u64 delay_ns; /* the kernel's sum of its waits, when it last came to a CPU: that one in it */
	u32 flags;
	u32 runs;   /* times it came to a CPU, by the kernel's count, as far as we saw */
	u32 sleeps; /* of these stays, how many ended in sleep */
	u32 left;   /* `runs` at the switch-out that `kind` is of */
	u8 kind;    /* ABI_WAIT_* of a wait that a switch-out began; 0 after one that blocked */
	u8 in_op;   /* it left its CPU in the middle of an operation: its ledger waits for it */
	u8 moved;   /* --why: to another CPU, in the midst of this wait */
	u8 waker;   /* this and all that follows: --slower */
	u32 last_cpu;
	u32 waker_pid;
	u32 waker_tid;
	char waker_comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct stamp) == ABI_STAMP_BYTES, "stamp size");
_Static_assert(__builtin_offsetof(struct stamp, t1) == ABI_STAMP_T1, "stamp t1");

/* One finished wait, as it goes from the switch-in to everything that wants it. */
struct wait {
	u64 t0;
	u64 t1;
	u64 t2;
	u64 to_queue_ns;
	u64 queued_ns; /* of all `n` */
	u64 wait_ns;
	u32 kind;
	u32 n;	    /* 1; more: waits that no tracepoint reported, of which the sum is known */
	bool moved; /* --why: to another CPU, in the midst of it */
};

#endif
