/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes of the maps that common.bpf.h and keyed.bpf.h declare, for this machine and these options.
 */
#ifndef WS_MAP_SETUP_H
#define WS_MAP_SETUP_H

#include <linux/types.h>
#include <stdbool.h>

#include "abi.h"

struct bpf_map;
struct bpf_object;
struct btf;

/* One of the object's maps by its name, before the load. 0, -ENOENT or negative errno. */
int map_setup_entries(struct bpf_object *obj, const char *name, uint32_t entries);
int map_setup_create(struct bpf_object *obj, const char *name, bool create);

/*
 * The largest power of two that is at most n, for what the kernel rounds up to one: a hash table's
 * buckets, and ring buffers have to be one. Else 33 CPUs would take what 64 do. n is not 0.
 */
uint32_t map_setup_pow2(uint32_t n);

/* Those of n names, as far as the object has them, are not made. */
int map_setup_leave_out(struct bpf_object *obj, const char *const *names, size_t n);

/* The rodata of a histogram's buckets; 0 or -EINVAL. */
int map_setup_buckets(struct abi_buckets *rodata, uint32_t schema);

/* Banks of `bytes` each (struct abi_counts and what the source keeps besides), for ncpus possible
 * CPUs; before the load. */
int map_setup_banks(struct bpf_object *obj, uint32_t ncpus, size_t bytes);

/* For a program of a perf event, before the load. */
int map_setup_preallocate(struct bpf_map *map);

struct map_setup_keyed {
	bool used;   /* else the maps are as small as may be */
	uint32_t by; /* ABI_BY_* */
	uint32_t nhists, schema;
	uint32_t keys; /* --max-keys, or what the source wants */
	bool per_cpu;  /* keys have the CPU in them (not by tid, unless the source puts it there) */
	uint32_t others; /* kinds that have an entry on each CPU for what finds no room */
	uint32_t ncpus;	 /* possible */
};

/* Can programs make entries of a hash map wherever they run? Else maps hold all from the start. */
bool map_setup_on_demand(const struct btf *btf);

/* Before the load: sizes, and the rodata. 0 or negative errno. */
int map_setup_keyed(struct bpf_object *obj, struct abi_keyed *rodata, const struct btf *btf,
		    const struct map_setup_keyed *k);
/* After it: the entries for others. */
int map_setup_others(const struct bpf_object *obj, const struct map_setup_keyed *k);
/* For keyed_open. */
void map_setup_keyed_fds(const struct bpf_object *obj, int fds[ABI_BANKS]);

#endif
