/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program in the kernel tells of keyed entries (bpf/walk.bpf.c) is what is in their maps:
 * random samples go into two hash maps, as programs would put them there, and each interval is read
 * both ways, as told and as copied. All rows must be the same. Prints TAP; exit 77: this machine has
 * no BPF for us, or lets no program walk over maps, not even an empty one, as TAP says.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/bpf_util.h"
#include "source/keyed_inside.h"
#include "khist.h" /* tests/unit */

#define EXIT_SKIP 77
#define KEYS 3000 /* more than the memory that both share has room for */
#define NHISTS 3
#define NCPUS 4
#define INTERVALS 6
#define SAMPLES 12000 /* an interval */

struct run {
	int fds[ABI_BANKS];
	uint32_t schema;
	struct abi_khead *entry; /* of one key, while it is changed */
	struct keyed *told, *copied;
	uint64_t seed;
};

static uint32_t next(struct run *r) /* Knuth's MMIX generator: the same numbers in each run */
{
	r->seed = r->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(r->seed >> 33);
}

/* As khist_add_n does it, but any slot, and now and then one that passes 2^32. */
static void sample(struct run *r, struct abi_hist *h, uint64_t epoch)
{
	uint32_t *slots = (uint32_t *)(h + 1), slot = next(r) % BUCKET_SLOTS(r->schema);
	uint64_t v = next(r) % 1000;

	khist_sum(h, epoch, v, 1);
	if (next(r) % 8)
		slots[slot] += next(r) % 64 ? 1 : (uint32_t)-2;
	else
		h->zero++;
}

static int put(struct run *r, uint64_t epoch)
{
	struct abi_key key = {.id = next(r) % KEYS, .cpu = next(r) % NCPUS};
	struct abi_khead *e = r->entry;
	int fd = r->fds[epoch & 1];
	char *hists = (char *)(e + 1);

	key.born = key.id + 1;
	if (bpf_map_lookup_elem(fd, &key, e))
		memset(e, 0, ABI_KENTRY_BYTES(NHISTS, r->schema));
	snprintf(e->comm, sizeof(e->comm), "w%u", next(r) % 10);
	e->named_ns = epoch;
	e->sums[next(r) % ABI_SUMS] += next(r) % 3;
	if (next(r) % 4)
		sample(r, (void *)(hists + next(r) % NHISTS * ABI_HIST_BYTES(r->schema)), epoch);
	return bpf_map_update_elem(fd, &key, e, BPF_ANY) ? -errno : 0;
}

static bool same_hist(const struct hist *a, const struct hist *b)
{
	return a->count == b->count && a->sum_ns == b->sum_ns && a->min_ns == b->min_ns &&
	       a->max_ns == b->max_ns && a->zero == b->zero && a->len == b->len &&
	       !memcmp(a->bytes, b->bytes, a->len);
}

static bool same_row(const struct keyed_row *a, const struct keyed_row *b)
{
	uint32_t m;

	for (m = 0; m < NHISTS; m++)
		if (!same_hist(&a->interval[m], &b->interval[m]) ||
		    !same_hist(&a->total[m], &b->total[m]))
			return false;
	return a->active == b->active && !strcmp(a->comm, b->comm) &&
	       !memcmp(a->sums_interval, b->sums_interval, sizeof(a->sums_interval)) &&
	       !memcmp(a->sums_total, b->sums_total, sizeof(a->sums_total)) &&
	       a->cpus_interval[0] == b->cpus_interval[0] && a->cpus_total[0] == b->cpus_total[0];
}

/* How many rows are the same; all, or -1. */
static int64_t same(const struct run *r)
{
	const struct keyed_row *a, *b;
	int64_t n = 0, active = 0;

	for (a = keyed_first(r->told); a; a = a->next, n++) {
		b = keyed_find(r->copied, &a->key);
		if (!b || !same_row(a, b)) {
			printf("# key %llu: %s\n", (unsigned long long)a->key.id,
			       b ? "another row" : "no row");
			return -1;
		}
		active += a->active;
	}
	for (b = keyed_first(r->copied); b; b = b->next)
		n--;
	return n ? -1 : active;
}

static int interval(struct run *r, uint64_t epoch, struct err *e)
{
	int i, ret = 0;

	for (i = 0; !ret && i < SAMPLES; i++)
		ret = put(r, epoch);
	if (ret)
		return ret;
	ret = keyed_collect(r->told, epoch, true, e);
	return ret ? ret : keyed_collect(r->copied, epoch, true, e);
}

static int open_run(struct run *r, uint32_t schema, struct err *e)
{
	struct keyed_args args = {
		.nhists = NHISTS, .schema = schema, .ncpus = NCPUS, .what = "keys"};
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	__u32 bytes = ABI_KENTRY_BYTES(NHISTS, schema);
	int b, ret;

	*r = (struct run){.fds = {-1, -1}, .schema = schema, .seed = schema};
	r->entry = calloc(1, bytes);
	if (!r->entry)
		return -ENOMEM;
	for (b = 0; b < ABI_BANKS; b++) {
		r->fds[b] = bpf_map_create(BPF_MAP_TYPE_HASH, "keys", sizeof(struct abi_key), bytes,
					   KEYS * NCPUS, &opts);
		if (r->fds[b] < 0)
			return -errno;
	}
	memcpy(args.fds, r->fds, sizeof(args.fds));
	ret = keyed_open(&r->copied, &args, e);
	args.many = true;
	return ret ? ret : keyed_open(&r->told, &args, e);
}

static void close_run(struct run *r)
{
	int b;

	keyed_close(r->told);
	keyed_close(r->copied);
	for (b = 0; b < ABI_BANKS; b++)
		if (r->fds[b] >= 0)
			close(r->fds[b]);
	free(r->entry);
}

/* Of a program that does nothing: what the kernel says to it. 0: it may walk over maps. */
static int may_walk(void)
{
	const struct bpf_insn none[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_ITER);
	int btf_id = libbpf_find_vmlinux_btf_id("bpf_map_elem", BPF_TRACE_ITER), fd;

	if (btf_id < 0)
		return btf_id;
	opts.attach_btf_id = (__u32)btf_id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "none", "GPL", none,
			   sizeof(none) / sizeof(none[0]), &opts);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int one(uint32_t schema, bool *good)
{
	struct err e = {0};
	int64_t active = 0;
	uint64_t epoch;
	struct run r;
	int ret = open_run(&r, schema, &e);

	if (!ret && !r.told->walk.told)
		ret = -EOPNOTSUPP; /* an empty program may, ours was refused */
	for (epoch = 1; !ret && active >= 0 && epoch <= INTERVALS; epoch++) {
		ret = interval(&r, epoch, &e);
		active = same(&r);
		printf("# interval %llu: %lld active rows are the same\n",
		       (unsigned long long)epoch, (long long)active);
	}
	if (!ret) { /* the end of the run: both banks */
		ret = keyed_collect(r.told, 0, true, &e);
		if (!ret)
			ret = keyed_collect(r.copied, 0, true, &e);
	}
	if (e.text[0])
		printf("# %s\n", e.text);
	*good = !ret && active > KEYS / 2 && same(&r) >= 0;
	close_run(&r);
	return ret;
}

int main(void)
{
	static const uint32_t schemas[] = {ABI_KEY_SCHEMA, 2};
	size_t n = sizeof(schemas) / sizeof(schemas[0]), i;
	int failed = 0, ret;

	bpf_util_log(getenv("V") != NULL);
	ret = may_walk();
	if (ret) {
		printf("1..0 # SKIP no program may walk over maps here: %s\n", strerror(-ret));
		return EXIT_SKIP;
	}
	for (i = 0; i < n; i++) {
		bool good = false;

		ret = one(schemas[i], &good);
		if (ret)
			printf("# %s\n", strerror(-ret));
		printf("%s %zu - rows as told are rows as copied, schema %u\n",
		       good ? "ok" : "not ok", i + 1, schemas[i]);
		failed |= !good;
	}
	printf("1..%zu\n", n);
	return failed;
}
