/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a PMU says of a sampled access: the data_src word of PERF_SAMPLE_DATA_SRC (union
 * perf_mem_data_src of the UAPI), as little-endian machines lay it out. Pure, for BPF and host.
 *
 * HITM: another cache had the line modified. Local and remote are told apart as perf c2c does: by
 * the level that served it, or by mem_remote where the level is a number (Intel from Skylake, AMD
 * IBS). A "peer" snoop (arm64, AMD's cache-to-cache transfers) is a hand-over too, of a line whose
 * state is not told: no HITM.
 */
#ifndef WS_DATA_SRC_H
#define WS_DATA_SRC_H

/* mem_op, bits 0-4 */
#define DATA_SRC_OP_LOAD 0x02U
#define DATA_SRC_OP_STORE 0x04U
/* mem_lvl, bits 5-18: hit or miss, and the level by a bit */
#define DATA_SRC_LVL_SHIFT 5
#define DATA_SRC_LVL_HIT 0x02U
#define DATA_SRC_LVL_L1 0x08U
#define DATA_SRC_LVL_LFB 0x10U
#define DATA_SRC_LVL_L2 0x20U
#define DATA_SRC_LVL_L3 0x40U
#define DATA_SRC_LVL_LOCAL_RAM 0x80U
#define DATA_SRC_LVL_REMOTE_RAM 0x300U	 /* one or two hops */
#define DATA_SRC_LVL_REMOTE_CACHE 0xc00U /* one or two hops */
/* mem_snoop, bits 19-23 */
#define DATA_SRC_SNOOP_SHIFT 19
#define DATA_SRC_SNOOP_TOLD 0x1eU /* none, hit, miss, HITM; else not available */
#define DATA_SRC_SNOOP_HITM 0x10U
/* mem_lock, bits 24-25 */
#define DATA_SRC_LOCK_SHIFT 24
#define DATA_SRC_LOCKED 0x02U
/* mem_lvl_num, bits 33-36; mem_remote, bit 37; mem_snoopx, bits 38-39 */
#define DATA_SRC_LVL_NUM_SHIFT 33
#define DATA_SRC_NUM_L1 0x01U
#define DATA_SRC_NUM_L2 0x02U
#define DATA_SRC_NUM_L3 0x03U
#define DATA_SRC_NUM_L4 0x04U
#define DATA_SRC_NUM_ANY_CACHE 0x0bU
#define DATA_SRC_NUM_LFB 0x0cU
#define DATA_SRC_NUM_RAM 0x0dU
#define DATA_SRC_NUM_PMEM 0x0eU
#define DATA_SRC_NUM_NA 0x0fU
#define DATA_SRC_REMOTE_SHIFT 37
#define DATA_SRC_SNOOPX_SHIFT 38
#define DATA_SRC_SNOOPX_PEER 0x02U

enum data_level {
	DATA_LEVEL_UNKNOWN,
	DATA_LEVEL_L1,
	DATA_LEVEL_LFB, /* a fill that was under way */
	DATA_LEVEL_L2,
	DATA_LEVEL_L3,
	DATA_LEVEL_REMOTE_CACHE,
	DATA_LEVEL_RAM,
	DATA_LEVEL_REMOTE_RAM,
};

#define DATA_READ 1U
#define DATA_WRITE 2U
#define DATA_LOCKED 4U
#define DATA_HITM_LOCAL 8U
#define DATA_HITM_REMOTE 16U
#define DATA_PEER 32U
#define DATA_TOLD 64U /* a load, and what answered it is told: it is a HITM or it is none */

struct data_src {
	__u32 flags; /* DATA_* */
	__u32 level; /* enum data_level */
};

static inline __u32 data_src_level(__u64 word)
{
	__u32 lvl = (word >> DATA_SRC_LVL_SHIFT) & 0x3fff;
	__u32 num = (word >> DATA_SRC_LVL_NUM_SHIFT) & 0xf;
	__u32 remote = (word >> DATA_SRC_REMOTE_SHIFT) & 1;

	if (lvl & DATA_SRC_LVL_REMOTE_CACHE)
		return DATA_LEVEL_REMOTE_CACHE;
	if (lvl & DATA_SRC_LVL_REMOTE_RAM)
		return DATA_LEVEL_REMOTE_RAM;
	if (num == DATA_SRC_NUM_RAM || num == DATA_SRC_NUM_PMEM || (lvl & DATA_SRC_LVL_LOCAL_RAM))
		return remote ? DATA_LEVEL_REMOTE_RAM : DATA_LEVEL_RAM;
	if (remote)
		return DATA_LEVEL_REMOTE_CACHE;
	if (num == DATA_SRC_NUM_L3 || num == DATA_SRC_NUM_L4 || num == DATA_SRC_NUM_ANY_CACHE ||
	    (lvl & DATA_SRC_LVL_L3))
		return DATA_LEVEL_L3;
	if (num == DATA_SRC_NUM_L2 || (lvl & DATA_SRC_LVL_L2))
		return DATA_LEVEL_L2;
	if (num == DATA_SRC_NUM_LFB || (lvl & DATA_SRC_LVL_LFB))
		return DATA_LEVEL_LFB;
	if (num == DATA_SRC_NUM_L1 || (lvl & DATA_SRC_LVL_L1))
		return DATA_LEVEL_L1;
	return DATA_LEVEL_UNKNOWN;
}

/* Into *d, not returned: BPF has no aggregate returns, and not every clang inlines this. */
static inline void data_src_decode(__u64 word, struct data_src *d)
{
	__u32 snoop = (word >> DATA_SRC_SNOOP_SHIFT) & 0x1f;

	d->flags = 0;
	d->level = data_src_level(word);
	if (word & DATA_SRC_OP_LOAD)
		d->flags |= DATA_READ;
	if (word & DATA_SRC_OP_STORE)
		d->flags |= DATA_WRITE;
	if ((word >> DATA_SRC_LOCK_SHIFT) & DATA_SRC_LOCKED)
		d->flags |= DATA_LOCKED;
	if (snoop & DATA_SRC_SNOOP_HITM)
		d->flags |= d->level == DATA_LEVEL_REMOTE_CACHE || d->level == DATA_LEVEL_REMOTE_RAM
				    ? DATA_HITM_REMOTE
				    : DATA_HITM_LOCAL;
	else if ((word >> DATA_SRC_SNOOPX_SHIFT) & DATA_SRC_SNOOPX_PEER)
		d->flags |= DATA_PEER;
	if ((d->flags & DATA_READ) &&
	    (d->level != DATA_LEVEL_UNKNOWN || (snoop & DATA_SRC_SNOOP_TOLD)))
		d->flags |= DATA_TOLD;
}

#endif
