/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slots the kernel computes are the host's, and true: every boundary of every schema with its
 * neighbours, random values, and values past the end. Prints TAP; exit 77: this machine has no BPF
 * for us, with the reason on stderr.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/hist.h"
#include "bucket_test.skel.h"

#define EXIT_SKIP 77
#define SHOWN 5 /* wrong slots named in full */

struct truth {
	uint32_t schema;
	uint64_t value;
	uint32_t slot;
};

#include "boundaries.inc"

#define TRUTHS (sizeof(truths) / sizeof(truths[0]))

static const uint64_t past_the_end[] = {BUCKET_VALUE_END, BUCKET_VALUE_END + 1, 1ULL << 38,
					1ULL << 63, ~0ULL};

#define PAST (sizeof(past_the_end) / sizeof(past_the_end[0]))

struct run {
	struct bucket_test_bpf *skel;
	struct bucket_table table;
	size_t values, wrong;
};

static int open_run(struct run *r, uint32_t schema)
{
	int ret = bucket_table_init(&r->table, schema);

	if (ret)
		return ret;
	r->skel = bucket_test_bpf__open();
	if (!r->skel)
		return -errno;
	memcpy((void *)&r->skel->rodata->buckets, &r->table, sizeof(r->table));
	r->skel->rodata->schema = schema;
	return bucket_test_bpf__load(r->skel);
}

/* One value through the kernel's program and the host's function. */
static int check_value(struct run *r, uint64_t value, uint32_t slot)
{
	char packet[64] = {0}; /* a socket program wants one, if only to ignore it */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet));
	uint32_t kernel, host = bucket_slot(&r->table, r->table.schema, value);
	int ret;

	r->skel->bss->value = value;
	r->skel->bss->slot = ~0U;
	ret = bpf_prog_test_run_opts(bpf_program__fd(r->skel->progs.slot_of_value), &opts);
	if (ret)
		return ret;
	kernel = r->skel->bss->slot;
	if ((kernel != host || kernel != slot) && r->wrong++ < SHOWN)
		printf("# %llu ns: kernel %u, host %u, true %u\n", (unsigned long long)value,
		       kernel, host, slot);
	r->values++;
	return 0;
}

static int check_schema(struct run *r, uint32_t schema)
{
	int ret = 0;

	for (size_t i = 0; i < TRUTHS && !ret; i++)
		if (truths[i].schema == schema)
			ret = check_value(r, truths[i].value, truths[i].slot);
	for (size_t i = 0; i < PAST && !ret; i++)
		ret = check_value(r, past_the_end[i], (uint32_t)BUCKET_SLOTS(schema) - 1);
	return ret;
}

/* Not ours to fail: no rights, or a kernel without BPF. */
static bool unavailable(int ret)
{
	return ret == -EPERM || ret == -EACCES || ret == -ENOSYS;
}

static int silent(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

int main(void)
{
	int failed = 0, ret = 0;

	libbpf_set_print(silent);
	for (uint32_t s = BUCKET_SCHEMA_MIN; s <= BUCKET_SCHEMA_MAX; s++) {
		struct run r = {0};
		bool ok;

		ret = open_run(&r, s);
		if (unavailable(ret)) {
			bucket_test_bpf__destroy(r.skel);
			fprintf(stderr, "skip: BPF cannot be loaded here: %s\n", strerror(-ret));
			return EXIT_SKIP;
		}
		if (!ret)
			ret = check_schema(&r, s);
		ok = !ret && !r.wrong && r.values > 1000;
		if (ret)
			printf("# %s\n", strerror(-ret));
		printf("%s %u - schema %u: %zu values, %zu wrong\n", ok ? "ok" : "not ok",
		       s - BUCKET_SCHEMA_MIN + 1, s, r.values, r.wrong);
		failed |= !ok;
		bucket_test_bpf__destroy(r.skel);
	}
	printf("1..%d\n", BUCKET_SCHEMA_MAX - BUCKET_SCHEMA_MIN + 1);
	return failed;
}
