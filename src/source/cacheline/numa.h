/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NUMA nodes as sysfs tells of them: of CPUs (node/nodeN/cpulist), and of memory by its physical
 * address, in blocks that all have one size (node/nodeN/memoryB, memory/block_size_bytes).
 */
#ifndef WS_NUMA_H
#define WS_NUMA_H

#include <stdbool.h>
#include <stdint.h>

#define NUMA_SYSTEM "/sys/devices/system"

struct numa;

/* Reads below `system`, for that many CPUs. 0 or -ENOMEM: what sysfs does not tell is not known. */
int numa_open(struct numa **out, const char *system, uint32_t ncpus);
void numa_close(struct numa *n); /* NULL is fine */
/* A new interval: if somebody asked for a CPU that was in no node, it is read again. */
int numa_turn(struct numa *n); /* 0 or -ENOMEM */
/* Is there more than one node? */
bool numa_many(const struct numa *n);
/* Negative: not known, as of a CPU that is offline. */
int32_t numa_of_cpu(struct numa *n, uint32_t cpu);
/* Negative: not known; or the block has memory of several nodes. */
int32_t numa_of_memory(const struct numa *n, uint64_t phys);

#endif
