/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slots the kernel computes are the host's, and true: every boundary of every schema with its
 * neighbours, random values, and values past the end; these are counted apart. Prints TAP; exit 77:
 * this machine has no BPF for us, with the reason on stderr.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/hist.h"
#include "source/sys/map_setup.h"
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
	ret = map_setup_buckets((struct abi_buckets *)&r->skel->rodata->hists, schema);
	return ret ? ret : bucket_test_bpf__load(r->skel);
}

static int run_program(struct run *r, const struct bpf_program *prog, uint64_t value)
{
	char packet[64] = {0}; /* a socket program wants one, if only to ignore it */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet));

	r->skel->bss->value = value;
	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);
}

/* One value through the kernel's program and the host's function. */
static int check_value(struct run *r, uint64_t value, uint32_t slot)
{
	uint32_t kernel, host = bucket_slot(&r->table, r->table.schema, value);
	int ret;

	r->skel->bss->slot = ~0U;
	ret = run_program(r, r->skel->progs.slot_of_value, value);
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

/*
 * What is past the end is in the last bucket, and counted in the bank; what is 0 ns has no bucket.
 */
static int check_bank(struct run *r, bool *good)
{
	static const uint64_t others[] = {0, 1, BUCKET_VALUE_END - 1};
	size_t nothers = sizeof(others) / sizeof(others[0]), i;
	uint32_t last = BUCKET_SLOTS(r->table.schema) - 1, slot;
	uint64_t sum = 0, in_slots = 0, in_last = PAST;
	int ret = 0;

	for (i = 0; i < PAST + nothers && !ret; i++) {
		uint64_t value = i < PAST ? past_the_end[i] : others[i - PAST];

		sum += value;
		ret = run_program(r, r->skel->progs.add_value, value);
	}
	if (bucket_slot(&r->table, r->table.schema, BUCKET_VALUE_END - 1) == last)
		in_last++;
	for (slot = 0; slot <= last; slot++)
		in_slots += r->skel->bss->bank.slots[slot];
	*good = r->skel->bss->bank.counts.over == PAST && in_slots == PAST + 2 &&
		r->skel->bss->bank.slots[last] == in_last && r->skel->bss->bank.slots[0] == 1 &&
		r->skel->bss->bank.hist.zero == 1 && r->skel->bss->bank.hist.sum_ns == sum &&
		!r->skel->bss->bank.hist.min_ns && r->skel->bss->bank.hist.max_ns == ~0ULL;
	if (!*good)
		printf("# %llu past the end of %zu; %llu in slots, %u in the last\n",
		       (unsigned long long)r->skel->bss->bank.counts.over, PAST,
		       (unsigned long long)in_slots, r->skel->bss->bank.slots[last]);
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
		bool ok, counted = false;

		ret = open_run(&r, s);
		if (unavailable(ret)) {
			bucket_test_bpf__destroy(r.skel);
			fprintf(stderr, "skip: BPF cannot be loaded here: %s\n", strerror(-ret));
			return EXIT_SKIP;
		}
		if (!ret)
			ret = check_schema(&r, s);
		if (!ret)
			ret = check_bank(&r, &counted);
		ok = !ret && !r.wrong && r.values > 1000 && counted;
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
