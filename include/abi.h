/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and user space share. Fixed-width types only, padding is named, and both
 * compilers check every size. Counters only rise; user space keeps its previous copy and subtracts.
 *
 * Two banks. Every histogram exists twice. BPF writes bank (epoch & 1); to end an interval user
 * space raises the epoch, waits until programs that read the old one have left, and then reads a
 * bank nobody writes: count, sum, min, max and buckets of an interval belong to the same samples.
 */
#ifndef WS_ABI_H
#define WS_ABI_H

#include "bucket.h"

#define ABI_BANKS 2
#define ABI_COMM_LEN 16

/* Histograms of the scheduler source, in the order they lie in a bank. */
#define ABI_WAKEUP_LATENCY 0 /* T2 - T0 */
#define ABI_WAKE_TO_QUEUE 1  /* T1 - T0 */
#define ABI_QUEUE_TO_RUN 2   /* T2 - T1 */
#define ABI_PREEMPT_WAIT 3   /* switched out runnable -> switched in */
#define ABI_THROTTLE_WAIT 4  /* the same, while its cgroup was out of CPU quota */
#define ABI_SCHED_HISTS 5

/*
 * One histogram, then its slots: __u32 each, read modulo 2^32 (how often: SOURCE_DRAIN_NS).
 * min_ns and max_ns hold for the epoch named beside them; the first sample of an epoch resets them.
 */
struct abi_hist {
	__u64 sum_ns;
	__u64 min_ns;
	__u64 max_ns;
	__u64 epoch;
	__u64 zero; /* samples of 0 ns: they have no bucket */
	__u64 pad[3];
};

_Static_assert(sizeof(struct abi_hist) == 64, "abi_hist: slots start on a cache line");

#define ABI_SCRATCH 5

/* Head of a bank: what was lost or seen at the edges on this CPU (DESIGN section 2.12). */
struct abi_counts {
	__u64 switches; /* never the same twice: tells that the CPU did anything */
	__u64 missed;	/* switched in without our having seen it queued: it waited since before the
			   start */
	__u64 unpaired; /* an end without its beginning, later than that */
	__u64 clamped;	/* negative differences, counted as 0 ns */
	__u64 store_full; /* a stamp could not be stored */
	__u64 keys_full;  /* a sample had no keyed entry (it is in the whole, or with the others) */
	__u64 slow_lost;  /* a slow wait found the ring buffer full */
	__u64 over;	  /* samples past the last bucket */
	__u64 inferred;	  /* one end of a wait that no tracepoint reported, from the kernel's
			     sched_info */
	__u64 untraced;	  /* 32-bit programs that began: their futex calls are not traced */
	__u64 scratch[ABI_SCRATCH]; /* of the programs: no counter */
	__u64 pad;
};

_Static_assert(sizeof(struct abi_counts) == 128, "abi_counts size");

/* Bytes of a histogram and of a per-CPU bank at schema s; multiples of a cache line. */
#define ABI_HIST_BYTES(s) (sizeof(struct abi_hist) + 4 * BUCKET_SLOTS(s))
#define ABI_BANK_BYTES(s) (sizeof(struct abi_counts) + ABI_SCHED_HISTS * ABI_HIST_BYTES(s))

/* Buckets as a program wants them, in its rodata. */
struct abi_buckets {
	__u32 schema;
	__u32 nslots;
	struct bucket_table table;
};

_Static_assert(sizeof(struct abi_buckets) == 8 + sizeof(struct bucket_table), "abi_buckets size");

/*
 * Values that a program is to place, and the slots it found (bpf/lib/bucket_check.bpf.h). As many
 * as the verifier walks through at little cost, and few enough calls for a schema's some thousand
 * values.
 */
#define ABI_CHECK_VALUES 64
#define ABI_COMPILER_LEN 64
struct abi_bucket_check {
	__u64 values[ABI_CHECK_VALUES];
	__u32 slots[ABI_CHECK_VALUES];
};

_Static_assert(sizeof(struct abi_bucket_check) == 12 * ABI_CHECK_VALUES, "abi_bucket_check size");

/* Keyed entries (--by): schema 4, 32-bit slots that are read modulo 2^32. */
#define ABI_KEY_SCHEMA 4

#define ABI_BY_NONE 0
#define ABI_BY_PID 1
#define ABI_BY_TID 2
#define ABI_BY_COMM 3
#define ABI_BY_CGROUP 4

/*
 * The key of an entry: its group (--by; all zero without), what the source tells apart besides
 * (`obj` and `kind`: a lock's address and type, a device and an operation; 0 in the scheduler's),
 * and the CPU, so that no entry has two writers. A thread runs on one CPU at a time, so
 * ABI_BY_TID leaves it 0.
 */
struct abi_key {
	union {
		struct {
			__u64 id;   /* pid, tid or cgroup id */
			__u64 born; /* start time of the process or thread: ids are used again */
		};
		char comm[ABI_COMM_LEN];
	};
	__u64 obj;
	__u32 kind;
	__u32 cpu;
};

_Static_assert(sizeof(struct abi_key) == 32, "abi_key size");

/* abi_key.obj of entries made at load for what finds no room of its own; the group is all zero. */
#define ABI_OBJ_OTHER (~0ULL)

/* Rodata of keyed.bpf.h. */
struct abi_keyed {
	__u32 by;	/* ABI_BY_* */
	__u32 others;	/* kinds that have an entry for others */
	__u32 slots;	/* of a histogram (ABI_KHIST_SLOTS) */
	__u32 slots_at; /* bytes of an entry before the first of them */
	struct abi_buckets buckets;
};

_Static_assert(sizeof(struct abi_keyed) == 16 + sizeof(struct abi_buckets), "abi_keyed size");

/*
 * An entry: its head, then those of its histograms (struct abi_khist), then all their slots:
 * what a report wants of an entry where little happened lies in one place.
 */
#define ABI_SUMS 5
struct abi_khead {
	char comm[ABI_COMM_LEN]; /* of the process (pid) or thread (tid), as last seen */
	__u64 pid;		 /* process of a tid key */
	__u64 named_ns;		 /* CLOCK_MONOTONIC when comm was read: of a row's entries, the one
				    of another CPU or bank may have an older name; 0: has none */
	__u64 sums[ABI_SUMS];	 /* counters that only rise; the source says of what */
};

_Static_assert(sizeof(struct abi_khead) == 72, "abi_khead size");

/*
 * Head of a histogram of an entry. A sample waits among the `last` ones before it is in its slot:
 * to add one puts the oldest of them into its slot, and takes its place. So a histogram is its
 * slots *and* `last` at every moment, and who knows all but the newest few samples need not look at
 * the slots: `placed` counts the samples that went through, sample n is last[n % ABI_KHIST_LAST].
 * The oldest is not relied on: a late program may be about to replace it. Samples that come several
 * at once are in their slot but for one of them; they count in the upper half of `placed`.
 */
#define ABI_KHIST_LAST 16 /* a power of two */
struct abi_khist {
	__u64 sum_ns;
	__u64 min_ns; /* as in struct abi_hist */
	__u64 max_ns;
	__u64 epoch;
	__u64 placed;
	__u64 told; /* `placed` when user space was last told of it: the walk alone writes it */
	__u16 last[ABI_KHIST_LAST]; /* their slots */
};

_Static_assert(sizeof(struct abi_khist) == 80, "abi_khist size");

/*
 * Slots of a histogram of an entry: those of bucket.h, one for samples of 0 ns, and as many as make
 * it a multiple of eight. The first `last` of a new entry are samples of slot 0 that never were.
 */
#define ABI_KHIST_MORE 8
#define ABI_KHIST_SLOTS(s) (BUCKET_SLOTS(s) + ABI_KHIST_MORE)
#define ABI_KEY_SLOTS ABI_KHIST_SLOTS(ABI_KEY_SCHEMA)

/* An entry of n histograms at schema s. */
#define ABI_KSLOTS_AT(n) (sizeof(struct abi_khead) + (n) * sizeof(struct abi_khist))
#define ABI_KENTRY_BYTES(n, s) (ABI_KSLOTS_AT(n) + (n) * sizeof(__u32) * ABI_KHIST_SLOTS(s))

struct abi_kentry { /* of the scheduler source */
	struct abi_khead head;
	struct abi_khist hists[ABI_SCHED_HISTS];
	__u32 slots[ABI_SCHED_HISTS][ABI_KEY_SLOTS];
};

_Static_assert(sizeof(struct abi_kentry) == ABI_KENTRY_BYTES(ABI_SCHED_HISTS, ABI_KEY_SCHEMA),
	       "abi_kentry size");

/*
 * What the walk over a bank's map tells user space (bpf/walk.bpf.c), in a map that both have in
 * their memory: of each entry a struct abi_walk_entry, then for each histogram in `hists` a struct
 * abi_walk_hist and its slots.
 */
#define ABI_WALK_BYTES (128 << 10) /* a power of two */
struct abi_walk_slot {
	__u32 slot;
	__u32 samples; /* since the entry was made, modulo 2^32; never 0 */
};

struct abi_walk_hist {
	struct abi_khist head;
	/* struct abi_walk_slot that follow, in order; 0 where `last` has what is new */
	__u64 slots;
};

struct abi_walk_entry {
	struct abi_key key;
	struct abi_khead head;
	__u64 hists; /* bit per histogram with samples of the epoch that was asked for */
};

struct abi_walk {
	__u64 epoch; /* asked for, as the entries have it; 0: all */
	__u64 used;  /* of the bytes; user space says 0 and has the walk go on */
	char bytes[ABI_WALK_BYTES];
	char past[112]; /* a piece may begin at the last bytes, for all that the verifier knows */
};

#define ABI_WALK_HISTS 8 /* at most, in an entry */
#define ABI_WALK_ENTRY_MAX               \
	(sizeof(struct abi_walk_entry) + \
	 ABI_WALK_HISTS *                \
		 (sizeof(struct abi_walk_hist) + ABI_KEY_SLOTS * sizeof(struct abi_walk_slot)))

_Static_assert(sizeof(struct abi_walk_entry) == 112, "abi_walk_entry fits abi_walk.past");
_Static_assert(ABI_WALK_ENTRY_MAX <= ABI_WALK_BYTES / 2, "some entries fit");

/* What -p and -t ask for. */
#define ABI_IDS_NONE 0
#define ABI_IDS_PID 1
#define ABI_IDS_TID 2

#define ABI_CPUS_MAX 8192 /* --cpu; NR_CPUS is at most that */

/*
 * --comm: a glob as a bit-parallel automaton. Bit i of the state means that i tokens have matched;
 * match[c] has the tokens that byte c satisfies, `star` those that stand for any run of bytes,
 * `accept` is the state after the last.
 */
#define ABI_GLOB_TOKENS_MAX 63
struct abi_glob {
	__u64 match[256];
	__u64 star;
	__u64 accept;
};

_Static_assert(sizeof(struct abi_glob) == 8 * 258, "abi_glob size");

/* Filters that are asked at the end of a wait: until then the answer may change. */
#define ABI_FILTER_CPU 0    /* cpu_mask says; about the place, not about a task */
#define ABI_FILTER_CGROUP 1 /* target_cgroups says */
#define ABI_FILTER_COMM 2   /* glob says */
#define ABI_FILTERS 3

/* Rodata of filter.bpf.h. */
#define ABI_CGROUP_LEVELS 256 /* of a hierarchy that ancestors are looked for in */

struct abi_filter {
	__u32 self_tgid;    /* our own process, as the initial pid namespace numbers it */
	__u32 ids;	    /* ABI_IDS_* */
	__u32 one_id;	    /* the only id, or 0: look it up */
	__u32 command_tgid; /* COMMAND: becomes a target by its exec */
	__u8 task_storage;  /* stamps are kept in task storage, else in a hash */
	__u8 follow;	    /* children of targets are targets */
	__u8 asks_task;	    /* something is asked about the task, early or late */
	__u8 asks_late;	    /* any of `asked` */
	__u8 asked[4];	    /* by ABI_FILTER_* */
	/* wanted cgroups lie at most so many levels down, the root's being the first */
	__u32 cgroup_levels;
	__u32 pad;
	__u64 cpu_mask[ABI_CPUS_MAX / 64];
	struct abi_glob glob;
};

_Static_assert(sizeof(struct abi_filter) == 32 + ABI_CPUS_MAX / 8 + sizeof(struct abi_glob),
	       "abi_filter size");

/* What a wait was. */
#define ABI_WAIT_WAKEUP 1
#define ABI_WAIT_NEW 2
#define ABI_WAIT_PREEMPT 3
#define ABI_WAIT_THROTTLE 4
#define ABI_WAIT_WOKEN_EARLY 5	/* queued after the start, woken before it: no T0 */
#define ABI_WAIT_WOKEN_UNSEEN 6 /* woken, but T0 was not reported */

/* Who woke it. */
#define ABI_WAKER_NONE 0    /* no wakeup (new or preempted) or not seen */
#define ABI_WAKER_TASK 1    /* waker_* name it */
#define ABI_WAKER_IRQ 2	    /* an interrupt: the task it came upon is not the waker */
#define ABI_WAKER_UNKNOWN 3 /* this kernel does not let us tell a task from an interrupt */

/* --slower: one wait, through the ring buffer. */
struct abi_slow {
	__u64 t0_ns; /* sched_waking; 0 if there was none */
	__u64 t1_ns; /* queued */
	__u64 t2_ns; /* on the CPU */
	__u64 cgroup_id;
	__u32 pid;
	__u32 tid;
	__u32 waker_pid;
	__u32 waker_tid;
	__u32 prev_pid;
	__u32 prev_tid; /* 0: the CPU was idle */
	__u32 cpu;
	__u32 last_cpu;	  /* where it ran before; ~0: nowhere yet */
	__u32 kind;	  /* ABI_WAIT_* */
	__u32 waker;	  /* ABI_WAKER_* */
	__u32 prev_known; /* 0: the switch-in was not reported */
	__u32 pad;
	char comm[ABI_COMM_LEN];
	char waker_comm[ABI_COMM_LEN];
	char prev_comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_slow) == 80 + 48, "abi_slow size");

/*
 * A stamp where it is sooner found than in task storage (sched.bpf.c), a cache line each. Twelve
 * pages hold 768; two are left out for the object's other variables, which took a page of their
 * own.
 */
#define ABI_SLOTS 766

struct abi_slot {
	__u64 words[6]; /* as in struct stamp, and its bytes from `kind` on */
	__u32 bytes;
	__u32 claims;
	__u64 owner; /* the task's address; 0: nobody's */
};

/* Where in a task's stamp (sched.bpf.c) the moment is that it was queued, 0 if it is not: without
 * an iterator user space looks for those who wait. */
#define ABI_STAMP_BYTES 80
#define ABI_STAMP_T1 8

/* What the walk over all tasks at a report finds still waiting. */
struct abi_in_flight {
	__u64 at_ns; /* user space writes it: when counting of the period ended, CLOCK_MONOTONIC */
	__u64 count;
	__u64 longest_ns;
	__u64 unseen; /* queued since before the start and not yet run: `missed` */
	__u32 tid;    /* the longest */
	__u32 pid;
	char comm[ABI_COMM_LEN];
};

_Static_assert(sizeof(struct abi_in_flight) == 56, "abi_in_flight size");

#endif
