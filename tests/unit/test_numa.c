// SPDX-License-Identifier: GPL-2.0-or-later
/* Nodes of CPUs and of memory: trees as machines show them. */
#include "unit.h"

#include <string.h>

#include "source/cacheline/numa.h"
#include "tree.h"

#define CPUS 16
#define MB (1ULL << 20)

static char root[TREE_ROOT];

/* Two sockets whose CPUs alternate; block 2 has memory of both; block 9 came later. */
static const struct file two_sockets[] = {
	{"memory/block_size_bytes", "8000000"},
	{"node/online", "0-1"},
	{"node/node0/cpulist", "0,2,4,6,8-11"},
	{"node/node0/memory0", NULL},
	{"node/node0/memory1", NULL},
	{"node/node0/memory2", NULL},
	{"node/node0/memory_failure", NULL},
	{"node/node0/meminfo", "Node 0 MemTotal: 1 kB"},
	{"node/node1/cpulist", "1,3,5,7"},
	{"node/node1/memory2", NULL},
	{"node/node1/memory3", NULL},
	{"node/node1/memory9", NULL},
	{"node/power", NULL},
	{NULL},
};

/* A node of memory alone (CXL), with a larger number than there are nodes. */
static const struct file memory_only[] = {
	{"memory/block_size_bytes", "80000000"},
	{"node/node0/cpulist", "0-15"},
	{"node/node0/memory0", NULL},
	{"node/node4/cpulist", ""},
	{"node/node4/memory32", NULL},
	{NULL},
};

/* Sub-NUMA clusters of a kernel without memory blocks (no hotplug). */
static const struct file no_blocks[] = {
	{"node/node0/cpulist", "0-7"},
	{"node/node1/cpulist", "8-15"},
	{NULL},
};

static const struct file one_node[] = {
	{"memory/block_size_bytes", "8000000"},
	{"node/node0/cpulist", "0-15"},
	{"node/node0/memory0", NULL},
	{NULL},
};

static const struct file nothing[] = {{"cpu/online", "0-15"}, {NULL}};

static const struct {
	const char *name;
	const struct file *files;
	bool many;
	struct {
		uint32_t cpu;
		int32_t node;
	} cpus[5];
	struct {
		uint64_t phys;
		int32_t node;
	} memory[7];
} machines[] = {
	{"two sockets",
	 two_sockets,
	 true,
	 {{0, 0}, {1, 1}, {7, 1}, {11, 0}, {12, -1}},
	 {{0, 0},
	  {256 * MB - 1, 0},
	  {256 * MB, -1},
	  {384 * MB, 1},
	  {512 * MB, -1},
	  {9 * 128 * MB + 5, 1},
	  {~0ULL, -1}}},
	{"memory without CPUs",
	 memory_only,
	 true,
	 {{0, 0}, {15, 0}},
	 {{2048 * MB - 1, 0}, {2048 * MB, -1}, {64 * 1024 * MB, 4}, {66 * 1024 * MB, -1}}},
	{"no blocks of memory", no_blocks, true, {{7, 0}, {8, 1}}, {{1, -1}}},
	{"one node", one_node, false, {{3, 0}}, {{1, 0}}},
	{"a kernel without NUMA", nothing, false, {{3, -1}}, {{1, -1}}},
};

TEST(nodes)
{
	struct numa *n;
	size_t m, k;

	for (m = 0; m < ROWS(machines); m++) {
		print_message("# %s\n", machines[m].name);
		tree_make(root, machines[m].files);
		assert_int_equal(numa_open(&n, root, CPUS), 0);
		assert_int_equal(numa_many(n), machines[m].many);
		for (k = 0; k < ROWS(machines[m].cpus) && (!k || machines[m].cpus[k].cpu); k++)
			assert_int_equal(numa_of_cpu(n, machines[m].cpus[k].cpu),
					 machines[m].cpus[k].node);
		for (k = 0; k < ROWS(machines[m].memory) && (!k || machines[m].memory[k].phys); k++)
			assert_int_equal(numa_of_memory(n, machines[m].memory[k].phys),
					 machines[m].memory[k].node);
		assert_int_equal(numa_of_cpu(n, CPUS), -1); /* more than there can be */
		numa_close(n);
		tree_gone(root);
	}
}

/* A CPU that comes is known after the turn in which it was asked for. */
TEST(comes_online)
{
	struct numa *n;

	tree_make(root, two_sockets);
	assert_int_equal(numa_open(&n, root, CPUS), 0);
	tree_put(root, "node/node1/cpulist", "1,3,5,7,12");
	assert_int_equal(numa_turn(n), 0); /* nobody asked */
	assert_int_equal(numa_of_cpu(n, 12), -1);
	assert_int_equal(numa_turn(n), 0);
	assert_int_equal(numa_of_cpu(n, 12), 1);
	assert_int_equal(numa_of_cpu(n, 0), 0);
	assert_int_equal(numa_of_memory(n, 384 * MB), 1);
	numa_close(n);
	tree_gone(root);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
