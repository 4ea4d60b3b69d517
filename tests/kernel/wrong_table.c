/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into the tool, it does what a compiler has done: programs find other tables of
 * thresholds than user space gave them. WRONG_TABLE says how wrong. With NO_TEST_RUN the kernel
 * runs no program for us, as if it did not know how to.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

#define KERNEL_ENOTSUPP 524

/* What clang 19 made of them: what their initialiser has. */
static void zeros(struct bucket_table *t)
{
	memset(t->th, 0, sizeof(t->th));
	memset(t->lut, 0, sizeof(t->lut));
}

/* One boundary of 2^s: some nanoseconds too far in octaves from a tenth of a second on. */
static void threshold(struct bucket_table *t)
{
	t->th[1] += 1ULL << (62 - 29);
}

static void place(struct bucket_table *t)
{
	t->lut[(3 << t->schema) - 1]++;
}

static const struct {
	const char *name;
	void (*spoil)(struct bucket_table *t);
} ways[] = {{"zeros", zeros}, {"threshold", threshold}, {"place", place}};

static void spoil(struct bucket_table *t)
{
	const char *how = getenv("WRONG_TABLE");
	size_t i;

	for (i = 0; how && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(how, ways[i].name))
			ways[i].spoil(t);
}

/* A variable of the read-only data, or NULL. */
static void *variable(const struct btf *btf, char *rodata, const char *name)
{
	int sec = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *t = sec < 0 ? NULL : btf__type_by_id(btf, (__u32)sec);
	__u32 i;

	for (i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;
		const struct btf_type *var = btf__type_by_id(btf, v->type);

		if (!strcmp(btf__name_by_offset(btf, var->name_off), name))
			return rodata + v->offset;
	}
	return NULL;
}

static void spoil_object(const struct bpf_object *obj)
{
	struct bpf_map *m;
	size_t len;

	bpf_object__for_each_map(m, obj)
	{
		const char *dot = strchr(bpf_map__name(m), '.');
		char *data = (char *)bpf_map__initial_value(m, &len);
		struct abi_buckets *hists;
		struct abi_keyed *keyed;

		if (!data || !dot || strcmp(dot, ".rodata"))
			continue;
		hists = variable(bpf_object__btf(obj), data, "hists");
		keyed = variable(bpf_object__btf(obj), data, "keyed");
		if (hists)
			spoil(&hists->table);
		if (keyed)
			spoil(&keyed->buckets.table);
	}
}

int bpf_object__load_skeleton(struct bpf_object_skeleton *s)
{
	int (*load)(struct bpf_object_skeleton *) = dlsym(RTLD_NEXT, "bpf_object__load_skeleton");

	spoil_object(*s->obj);
	return load(s);
}

int bpf_prog_test_run_opts(int fd, struct bpf_test_run_opts *opts)
{
	int (*run)(int, struct bpf_test_run_opts *) = dlsym(RTLD_NEXT, "bpf_prog_test_run_opts");

	if (!getenv("NO_TEST_RUN"))
		return run(fd, opts);
	errno = KERNEL_ENOTSUPP;
	return -KERNEL_ENOTSUPP;
}
