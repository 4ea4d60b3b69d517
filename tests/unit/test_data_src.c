// SPDX-License-Identifier: GPL-2.0-or-later
/* A PMU's words, put together with the UAPI's own bit field and constants. */
#include "unit.h"

#include <linux/perf_event.h>
#include <linux/types.h>

#include "data_src.h"

#define LVL(x) PERF_MEM_LVL_##x
#define NUM(x) PERF_MEM_LVLNUM_##x

struct row {
	const char *why;
	union perf_mem_data_src src;
	__u32 flags, level;
};

#define SRC(...)            \
	{                   \
		__VA_ARGS__ \
	}

static const struct row rows[] = {
	{"load, L1 hit",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(HIT) | LVL(L1),
	     .mem_snoop = PERF_MEM_SNOOP_NONE),
	 DATA_READ | DATA_TOLD, DATA_LEVEL_L1},
	{"Haswell: modified in a sibling core's cache",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(HIT) | LVL(L3),
	     .mem_snoop = PERF_MEM_SNOOP_HITM),
	 DATA_READ | DATA_TOLD | DATA_HITM_LOCAL, DATA_LEVEL_L3},
	{"Haswell: modified on the other socket",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(HIT) | LVL(REM_CCE1),
	     .mem_snoop = PERF_MEM_SNOOP_HITM),
	 DATA_READ | DATA_TOLD | DATA_HITM_REMOTE, DATA_LEVEL_REMOTE_CACHE},
	{"two hops away",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(REM_CCE2),
	     .mem_snoop = PERF_MEM_SNOOP_HITM),
	 DATA_READ | DATA_TOLD | DATA_HITM_REMOTE, DATA_LEVEL_REMOTE_CACHE},
	{"Skylake: level by number, remote by its bit",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = NUM(ANY_CACHE), .mem_remote = 1,
	     .mem_snoop = PERF_MEM_SNOOP_HITM),
	 DATA_READ | DATA_TOLD | DATA_HITM_REMOTE, DATA_LEVEL_REMOTE_CACHE},
	{"the same, local",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = NUM(L3), .mem_snoop = PERF_MEM_SNOOP_HITM),
	 DATA_READ | DATA_TOLD | DATA_HITM_LOCAL, DATA_LEVEL_L3},
	{"a snoop that hit a clean line is none",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = NUM(L3), .mem_snoop = PERF_MEM_SNOOP_HIT),
	 DATA_READ | DATA_TOLD, DATA_LEVEL_L3},
	{"a peer's cache, state not told",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = NUM(L2),
	     .mem_snoopx = PERF_MEM_SNOOPX_PEER),
	 DATA_READ | DATA_TOLD | DATA_PEER, DATA_LEVEL_L2},
	{"locked load",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(HIT) | LVL(L1),
	     .mem_lock = PERF_MEM_LOCK_LOCKED),
	 DATA_READ | DATA_TOLD | DATA_LOCKED, DATA_LEVEL_L1},
	{"store", SRC(.mem_op = PERF_MEM_OP_STORE, .mem_lvl = LVL(HIT) | LVL(L1)), DATA_WRITE,
	 DATA_LEVEL_L1},
	{"both, as IBS says of an atomic",
	 SRC(.mem_op = PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE, .mem_lvl_num = NUM(L1)),
	 DATA_READ | DATA_TOLD | DATA_WRITE, DATA_LEVEL_L1},
	{"line fill buffer", SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(HIT) | LVL(LFB)),
	 DATA_READ | DATA_TOLD, DATA_LEVEL_LFB},
	{"memory here", SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(LOC_RAM)),
	 DATA_READ | DATA_TOLD, DATA_LEVEL_RAM},
	{"memory there", SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl_num = NUM(RAM), .mem_remote = 1),
	 DATA_READ | DATA_TOLD, DATA_LEVEL_REMOTE_RAM},
	{"a load of which only the snoop is told: none hit",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(NA), .mem_snoop = PERF_MEM_SNOOP_MISS,
	     .mem_lvl_num = NUM(NA)),
	 DATA_READ | DATA_TOLD, DATA_LEVEL_UNKNOWN},
	{"a load of which nothing is told: it may be a HITM",
	 SRC(.mem_op = PERF_MEM_OP_LOAD, .mem_lvl = LVL(NA), .mem_snoop = PERF_MEM_SNOOP_NA,
	     .mem_lvl_num = NUM(NA)),
	 DATA_READ, DATA_LEVEL_UNKNOWN},
	{"not available",
	 SRC(.mem_op = PERF_MEM_OP_NA, .mem_lvl = LVL(NA), .mem_snoop = PERF_MEM_SNOOP_NA,
	     .mem_lock = PERF_MEM_LOCK_NA, .mem_lvl_num = NUM(NA)),
	 0, DATA_LEVEL_UNKNOWN},
};

TEST(table)
{
	for (size_t k = 0; k < ROWS(rows); k++) {
		struct data_src d;

		data_src_decode(rows[k].src.val, &d);
		if (d.flags != rows[k].flags || d.level != rows[k].level)
			fail_msg("%s: flags %#x level %u", rows[k].why, d.flags, d.level);
	}
}

/* A breakpoint event's word, as seen on 6.18: nothing is known. */
TEST(not_available_word)
{
	struct data_src d;

	data_src_decode(0x1e05080021ULL, &d);
	assert_int_equal(d.flags, 0);
	assert_int_equal(d.level, DATA_LEVEL_UNKNOWN);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
