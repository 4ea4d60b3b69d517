// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "core/hist.h"
#include "source/sys/bpf_util.h"
#include "source/sys/map_setup.h"

/* Where entries cannot be made on demand: in each bank. 4096 of the scheduler's. */
#define PREALLOC_BYTES_MAX (50ULL << 20)

static const char *const keyed_maps[ABI_BANKS] = {"keyed_even", "keyed_odd"};

int map_setup_entries(struct bpf_object *obj, const char *name, uint32_t entries)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, name);

	return m ? bpf_map__set_max_entries(m, entries) : -ENOENT;
}

int map_setup_create(struct bpf_object *obj, const char *name, bool create)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, name);

	return m ? bpf_map__set_autocreate(m, create) : -ENOENT;
}

uint32_t map_setup_pow2(uint32_t n)
{
	while (n & (n - 1))
		n &= n - 1;
	return n;
}

int map_setup_leave_out(struct bpf_object *obj, const char *const *names, size_t n)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < n; i++)
		if (bpf_object__find_map_by_name(obj, names[i]))
			ret = map_setup_create(obj, names[i], false);
	return ret;
}

int map_setup_buckets(struct abi_buckets *rodata, uint32_t schema)
{
	rodata->schema = schema;
	rodata->nslots = BUCKET_SLOTS(schema);
	return bucket_table_init(&rodata->table, schema);
}

static int set_value_size(struct bpf_object *obj, const char *name, size_t bytes)
{
	struct bpf_map *m = bpf_object__find_map_by_name(obj, name);

	return m ? bpf_map__set_value_size(m, (__u32)bytes) : -ENOENT;
}

int map_setup_banks(struct bpf_object *obj, uint32_t ncpus, size_t bytes)
{
	int ret = set_value_size(obj, "banks", bytes);

	return ret ? ret : map_setup_entries(obj, "banks", ncpus * ABI_BANKS);
}

/*
 * Before 34dd3bad1a6f ("bpf: Relax the requirement to use preallocated hash maps in tracing
 * progs.", 6.1) a program of a perf event was refused any other.
 */
int map_setup_preallocate(struct bpf_map *map)
{
	return bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~(__u32)BPF_F_NO_PREALLOC);
}

/*
 * Entries are made on demand where hash maps have an allocator that is safe under the run-queue
 * lock (7c8199e24fa0 "bpf: Introduce any context BPF specific memory allocator.", 6.1), else up
 * front. Also on RT: there a thread refills that allocator, too late for 20 % of the samples seen.
 */
bool map_setup_on_demand(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, "bpf_mem_alloc", BTF_KIND_STRUCT) > 0 &&
	       !struct_has_member(btf, "task_struct", "softirq_disable_cnt"); /* PREEMPT_RT */
}

static uint32_t entries_wanted(const struct map_setup_keyed *k, bool on_demand)
{
	uint64_t n = k->keys, max = PREALLOC_BYTES_MAX / ABI_KENTRY_BYTES(k->nhists, k->schema);

	if (!k->used)
		return 1;
	if (k->per_cpu)
		n *= k->ncpus;
	if (!on_demand && n > max)
		n = max;
	n += (uint64_t)k->others * k->ncpus;
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

int map_setup_keyed(struct bpf_object *obj, struct abi_keyed *rodata, const struct btf *btf,
		    const struct map_setup_keyed *k)
{
	struct bpf_program *check = bpf_object__find_program_by_name(obj, "ws_check_khist");
	/* programs that use no entries still name the maps */
	size_t bytes = ABI_KENTRY_BYTES(k->used ? k->nhists : 0, k->schema);
	bool on_demand = map_setup_on_demand(btf);
	int ret;

	rodata->by = k->by;
	rodata->others = k->others;
	rodata->slots = ABI_KHIST_SLOTS(k->schema);
	rodata->slots_at = ABI_KSLOTS_AT(k->nhists);
	/* there is nothing to check of entries that nobody makes */
	ret = check ? bpf_program__set_autoload(check, k->used) : -ENOENT;
	if (!ret)
		ret = map_setup_buckets(&rodata->buckets, k->schema);
	if (!ret)
		ret = set_value_size(obj, "keyed_zero", bytes); /* one more entry, as large */
	for (int b = 0; !ret && b < ABI_BANKS; b++) {
		ret = set_value_size(obj, keyed_maps[b], bytes);
		if (!ret)
			ret = map_setup_entries(obj, keyed_maps[b], entries_wanted(k, on_demand));
		if (!ret && on_demand)
			ret = bpf_map__set_map_flags(
				bpf_object__find_map_by_name(obj, keyed_maps[b]),
				BPF_F_NO_PREALLOC);
	}
	return ret;
}

int map_setup_others(const struct bpf_object *obj, const struct map_setup_keyed *k)
{
	void *zero = calloc(1, ABI_KENTRY_BYTES(k->nhists, k->schema));
	struct abi_key key = {.obj = ABI_OBJ_OTHER};
	int fds[ABI_BANKS], b, ret = zero ? 0 : -ENOMEM;

	map_setup_keyed_fds(obj, fds);
	for (b = 0; b < ABI_BANKS; b++)
		for (key.kind = 0; !ret && key.kind < k->others; key.kind++)
			for (key.cpu = 0; !ret && key.cpu < k->ncpus; key.cpu++)
				if (bpf_map_update_elem(fds[b], &key, zero, BPF_NOEXIST))
					ret = -errno;
	free(zero);
	return ret;
}

void map_setup_keyed_fds(const struct bpf_object *obj, int fds[ABI_BANKS])
{
	for (int b = 0; b < ABI_BANKS; b++)
		fds[b] = bpf_object__find_map_fd_by_name(obj, keyed_maps[b]);
}
