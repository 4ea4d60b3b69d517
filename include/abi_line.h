/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs of the line source and user space share. */
#ifndef WS_ABI_LINE_H
#define WS_ABI_LINE_H

#include "bucket.h"
#include "recipe.h"

#define KERNEL_HALF (1ULL << 63) /* set in every address of the kernel's */
#define ABI_LINE_SHIFT 6	 /* 64-byte lines, on all machines we sample */
#define ABI_CODE_BEFORE 64
#define ABI_CODE_BYTES 96

/*
 * Code for which the ways that lead to a pointer are looked for: the slot that the pointer lies in,
 * and as much on both sides. All pointers of a slot are sent with the same bytes.
 */
#define ABI_WINDOW_BYTES 4096
#define ABI_WINDOW_SLOT 1024
#define ABI_WINDOW_PIECE 512 /* what is read at once where a page is not there; divides pages */
#define ABI_WINDOW_PIECES (ABI_WINDOW_BYTES / ABI_WINDOW_PIECE)

/* An instruction pointer: in the kernel (tgid 0) or in a process. */
struct abi_ip_key {
	__u64 ip;
	__u32 tgid;
	__u32 image; /* changes with exec and with another process of that number */
};

/* What is known of it. */
#define ABI_IP_PENDING 0 /* sent to user space, or no room there just now */
#define ABI_IP_RECIPE 1
#define ABI_IP_NO_OPERAND 2
#define ABI_IP_NOT_COMPUTABLE 3
#define ABI_IP_UNDECODED 4
#define ABI_IP_AMBIGUOUS \
	5 /* it can be come to in several ways: the recipes are of some of them \
	   */

#define ABI_GUARDED 2 /* recipes of a guard, before the candidates */

struct abi_ip {
	struct abi_recipe recipes[ABI_CANDIDATES];
	struct abi_guard guard; /* of an ambiguous one: the first recipe is that of a register
				 * that is equal, the second of another; candidates follow */
	__u64 space;		/* abi_space.h, of the key's process; 0: the kernel's code */
	__u32 state;
	__u16 n;   /* recipes; with ABI_IP_RECIPE 1 */
	__u16 all; /* of an ambiguous one: not 0: one of them has run, there is no other way */
};

_Static_assert(sizeof(struct abi_ip) == 32 + 16 * ABI_CANDIDATES, "abi_ip size");

static inline __u64 abi_window_base(__u64 ip)
{
	return (ip & ~(__u64)(ABI_WINDOW_SLOT - 1)) - (ABI_WINDOW_BYTES - ABI_WINDOW_SLOT) / 2;
}

/*
 * Samples of one thread, at one place in code, of one address, on one CPU: no entry has two
 * writers. tgid 0: a line of the kernel's.
 */
struct abi_access_key {
	__u64 addr; /* of the first byte; its line: addr >> ABI_LINE_SHIFT */
	__u64 ip;   /* of the sample; `back` bytes behind the instruction's first one */
	__u32 tgid;
	__u32 tid;
	__u32 cpu;
	__u32 pid;   /* of the thread, also for a line of the kernel's */
	__u64 space; /* abi_space.h; 0: of the kernel's */
};

struct abi_access {
	__u64 read_bytes; /* bit per byte of the line */
	__u64 write_bytes;
	__u32 samples;
	__u32 reads;
	__u32 writes;
	__u32 locked;
	__u32 inferred; /* of the writes */
	__s32 back;
	__u32 hitm_local; /* a PMU's: another cache had the line modified */
	__u32 hitm_remote;
	__u32 told;  /* loads of which the PMU says what answered: those that can be HITM */
	__u32 doubt; /* ABI_ACCESS_* */
	__u64 phys;  /* of the last sample; 0: not told */
	char comm[16];
};

#define ABI_ACCESS_SURE 0
#define ABI_ACCESS_LINE 1  /* the line is sure, its bytes are not: one of several places on it */
#define ABI_ACCESS_MAYBE 2 /* one of several lines that the sample may have been of */

_Static_assert(sizeof(struct abi_access_key) == 40, "abi_access_key size");
_Static_assert(sizeof(struct abi_access) == 80, "abi_access size");

/*
 * What a PMU's samples of an access took, in cycles; the key is the access's. Only of lines that
 * have been seen on two CPUs, or modified in another cache: private ones, which are nearly all,
 * would fill the map. Counted from then on.
 */
#define ABI_LATENCY_SCHEMA 3
#define ABI_LATENCY_OCTAVES 18 /* up to 262,144 cycles; longer ones go to the last slot */
#define ABI_LATENCY_SLOTS (ABI_LATENCY_OCTAVES << ABI_LATENCY_SCHEMA)

struct abi_latency {
	__u64 phys; /* as in struct abi_access */
	__u64 sum;
	__u32 min; /* 0: none yet */
	__u32 max;
	__u32 over; /* in the last slot */
	__u32 pad;
	__u32 slots[ABI_LATENCY_SLOTS];
};

_Static_assert(sizeof(struct abi_latency) == 32 + 4 * ABI_LATENCY_SLOTS, "abi_latency size");

/* How a line goes from CPU to CPU: consecutive samples of it, and those that changed CPU. Written
 * by all; a lost race loses one pair. */
struct abi_turns_key {
	__u64 line;
	__u32 tgid;
	__u32 pad;
};

struct abi_turns {
	__u32 last; /* CPU + 1 of the last sample */
	__u32 pairs;
	__u32 changes;
	__u32 pad;
};

/* A pointer that is new, and the code around it: [ip - before, ip - before + bytes). */
struct abi_new_ip {
	struct abi_ip_key key;
	__u32 before;
	__u32 bytes;
	__u8 code[ABI_CODE_BYTES];
};

/* The same with the whole window of code. */
struct abi_window {
	struct abi_ip_key key;
	__u64 space;  /* as in struct abi_ip */
	__u32 pieces; /* bit per piece that could be read, from abi_window_base() on */
	__u32 pad;
	__u8 code[ABI_WINDOW_BYTES];
};

_Static_assert(sizeof(struct abi_window) == 32 + ABI_WINDOW_BYTES, "abi_window size");

/*
 * Rising; bank b of CPU c is entry c * ABI_BANKS + b, as with histograms. What became of a sample
 * is counted once: what is known of its pointer (ABI_IP_*; with a recipe it has been placed in an
 * access), or one of these. They add up to `samples`.
 */
#define ABI_LINE_COMPAT 6  /* 32-bit code */
#define ABI_LINE_NO_ROOM 7 /* for another access */
#define ABI_LINE_RESULTS 8

struct abi_line_counts {
	__u64 samples; /* of tasks that pass the filters; idle CPUs are not sampled */
	__u64 results[ABI_LINE_RESULTS];
	__u64 ips_full;	      /* of the pending: no room for another pointer */
	__u64 ring_lost;      /* of the pending: could not be sent, comes again later */
	__u64 latencies_full; /* no room for another latency */
	__u64 latencies_over; /* longer than the last slot */
	__u64 pad[3];
};

_Static_assert(sizeof(struct abi_line_counts) == 128, "abi_line_counts size");
_Static_assert(__builtin_offsetof(struct abi_line_counts, ips_full) == 72, "results before it");

#endif
