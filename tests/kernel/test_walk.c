/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program in the kernel tells of keyed entries (bpf/walk.bpf.c) is what is in their maps:
 * random samples go into two hash maps, as programs would put them there, and each interval is read
 * both ways, as told and as copied. All rows must be the same, and what was put in. Samples come
 * one by one, in bursts around as many as need no look at the slots, several at once, and late:
 * after their epoch was read. In every third interval somebody else is told first. Prints TAP; exit
 * 77: this machine has no BPF for us, or lets no program walk over maps, not even an empty one, as
 * TAP says.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/sys/bpf_util.h"
#include "source/bpf/keyed_inside.h"
#include "khist.h" /* tests/unit */

#define EXIT_SKIP 77
#define KEYS 3000 /* more than the memory that both share has room for */
#define NHISTS 3
#define NCPUS 4
#define INTERVALS 6
#define SAMPLES 12000 /* an interval, and bursts */
#define LATE 600      /* after it was read */

struct run {
	int fds[ABI_BANKS];
	uint32_t schema;
	struct abi_khead *entry; /* of one key, while it is changed */
	struct keyed *told, *copied, *first;
	uint64_t seed;
	struct truth *truth;
};

/* What was put in. What came late is found once its entry has samples of a later epoch. */
struct truth {
	struct hist interval[KEYS][NHISTS], total[KEYS][NHISTS],
		late[KEYS][NCPUS][NHISTS][ABI_BANKS];
};

static uint32_t next(struct run *r) /* Knuth's MMIX generator: the same numbers in each run */
{
	r->seed = r->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(r->seed >> 33);
}

static void truth_add(struct hist *h, uint32_t slot, uint64_t v, uint32_t n)
{
	if (!h->count || v < h->min_ns)
		h->min_ns = v;
	if (!h->count || v > h->max_ns)
		h->max_ns = v;
	h->sum_ns += v * n;
	if (slot < (uint32_t)BUCKET_SLOTS(h->schema)) {
		(void)hist_add_slot(h, slot, n); /* without memory rows are not the same */
		return;
	}
	h->count += n;
	h->zero += n;
}

/* What came late is part of the interval, but its least and most are not. */
static void truth_late(struct hist *to, struct hist *late)
{
	if (!late->count)
		return;
	late->min_ns = to->min_ns;
	late->max_ns = to->max_ns;
	(void)hist_merge(to, late);
	hist_reset(late);
}

/* As khist_add_n does it, but any slot. */
static void sample(struct run *r, struct abi_key *key, uint32_t m, uint64_t epoch, bool late,
		   uint32_t n)
{
	uint32_t zero = BUCKET_SLOTS(r->schema), slot = next(r) % (zero + 1);
	struct abi_khist *h = (struct abi_khist *)(r->entry + 1);
	uint32_t *slots = (uint32_t *)(h + NHISTS) + m * ABI_KHIST_SLOTS(r->schema);
	struct hist *to = &r->truth->interval[key->id][m],
		    *later = &r->truth->late[key->id][key->cpu][m][epoch & 1];
	uint64_t v = next(r) % 1000;

	if (!(next(r) % 8))
		slot = zero;
	khist_add(h + m, slots, epoch, v, slot, n);
	truth_add(late ? later : to, slot, v, n);
	if (!late)
		truth_late(to, later);
}

/* Mostly one, seldom several, and now and then nearly 2^32. */
static uint32_t at_once(struct run *r, bool burst)
{
	if (next(r) % 16)
		return 1;
	return burst || next(r) % 4 ? 1 + next(r) % 40 : UINT32_MAX - 100000;
}

/* Samples: mostly one or none, else around as many as the last ones are. */
static void samples(struct run *r, struct abi_key *key, uint64_t epoch, bool late)
{
	static const uint32_t burst[] = {ABI_KHIST_LAST - 1, ABI_KHIST_LAST, ABI_KHIST_LAST + 1,
					 3 * ABI_KHIST_LAST};
	uint32_t m = next(r) % NHISTS, n = next(r) % 4 ? 1 : 0;
	bool several = !(next(r) % 16);

	if (several)
		n = burst[next(r) % (sizeof(burst) / sizeof(burst[0]))];
	for (; n; n--)
		sample(r, key, m, epoch, late, at_once(r, several));
}

static int put(struct run *r, uint64_t epoch, bool late)
{
	struct abi_key key = {.id = next(r) % KEYS, .cpu = next(r) % NCPUS};
	struct abi_khead *e = r->entry;
	int fd = r->fds[epoch & 1];

	key.born = key.id + 1;
	if (bpf_map_lookup_elem(fd, &key, e))
		memset(e, 0, ABI_KENTRY_BYTES(NHISTS, r->schema));
	snprintf(e->comm, sizeof(e->comm), "w%u", next(r) % 10);
	e->named_ns = epoch;
	e->sums[next(r) % ABI_SUMS] += next(r) % 3;
	samples(r, &key, epoch, late);
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

/* Rows whose intervals and totals are not what was put in; at the end of the run of the least and
 * most of what came late nobody knows. */
static uint32_t not_true(struct run *r, bool end)
{
	uint32_t i, m, wrong = 0;

	for (i = 0; i < KEYS; i++) {
		const struct abi_key key = {.id = i, .born = i + 1};
		const struct keyed_row *row = keyed_find(r->told, &key);

		for (m = 0; m < NHISTS; m++) {
			struct hist *now = &r->truth->interval[i][m],
				    *total = &r->truth->total[i][m];

			if (hist_merge(total, now) || (!row && total->count))
				wrong++;
			if (row && end && now->count) {
				now->min_ns = row->interval[m].min_ns;
				now->max_ns = row->interval[m].max_ns;
			}
			if (row && end) {
				total->min_ns = row->total[m].min_ns;
				total->max_ns = row->total[m].max_ns;
			}
			if (row && (!same_hist(&row->interval[m], now) ||
				    !same_hist(&row->total[m], total)))
				wrong++;
			hist_reset(now);
		}
	}
	if (wrong)
		printf("# %u histograms are not what was put in\n", wrong);
	return wrong;
}

static int collect(struct run *r, uint64_t epoch, struct err *e)
{
	int ret = keyed_collect(r->told, epoch, true, e);

	return ret ? ret : keyed_collect(r->copied, epoch, true, e);
}

static int interval(struct run *r, uint64_t epoch, struct err *e)
{
	int i, ret = 0;

	for (i = 0; !ret && i < SAMPLES; i++)
		ret = put(r, epoch, false);
	if (!ret && !(epoch % 3))
		ret = keyed_collect(r->first, epoch, true, e);
	if (!ret)
		ret = collect(r, epoch, e);
	for (i = 0; !ret && i < LATE; i++)
		ret = put(r, epoch, true);
	return ret;
}

/* The end of the run: both banks, and all that came late. */
static int end(struct run *r, struct err *e)
{
	uint32_t i, c, m, b;

	for (i = 0; i < KEYS; i++)
		for (c = 0; c < NCPUS; c++)
			for (m = 0; m < NHISTS; m++)
				for (b = 0; b < ABI_BANKS; b++)
					truth_late(&r->truth->interval[i][m],
						   &r->truth->late[i][c][m][b]);
	return collect(r, 0, e);
}

static int truth_open(struct run *r)
{
	struct hist *h;

	r->truth = calloc(1, sizeof(*r->truth));
	if (!r->truth)
		return -ENOMEM;
	for (h = (void *)r->truth; h < (struct hist *)(r->truth + 1); h++)
		hist_init_packed(h, r->schema);
	return 0;
}

static void truth_close(struct run *r)
{
	struct hist *h;

	for (h = (void *)r->truth; r->truth && h < (struct hist *)(r->truth + 1); h++)
		hist_free(h);
	free(r->truth);
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
	if (!r->entry || truth_open(r))
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
	if (!ret)
		ret = keyed_open(&r->told, &args, e);
	return ret ? ret : keyed_open(&r->first, &args, e);
}

static void close_run(struct run *r)
{
	int b;

	keyed_close(r->told);
	keyed_close(r->copied);
	keyed_close(r->first);
	truth_close(r);
	for (b = 0; b < ABI_BANKS; b++)
		if (r->fds[b] >= 0)
			close(r->fds[b]);
	free(r->entry);
}

/* How many slots were told of a histogram of the only entry. */
static uint64_t told_slots(const struct run *r, uint32_t m)
{
	const struct abi_walk_entry *e = (const void *)r->told->walk.told->bytes;
	const char *at = (const char *)(e + 1);

	for (; m; m--)
		at += sizeof(struct abi_walk_hist) +
		      ((const struct abi_walk_hist *)at)->slots * sizeof(struct abi_walk_slot);
	return ((const struct abi_walk_hist *)at)->slots;
}

/* Slots are told where the last samples are not all that is new, and only there. */
static bool only_what_is_new(struct err *e)
{
	static const struct {
		uint32_t came[NHISTS];
		bool told[NHISTS];
	} rows[] = {
		{{1, ABI_KHIST_LAST - 1, ABI_KHIST_LAST}, {false, false, true}},
		{{ABI_KHIST_LAST + 1, 1, ABI_KHIST_LAST - 1}, {true, false, false}},
		{{2, 2, 2}, {false, false, false}},
	};
	struct abi_key key = {.id = 1, .born = 2};
	struct run r;
	uint32_t i, m, n;
	bool good = !open_run(&r, ABI_KEY_SCHEMA, e);

	for (i = 0; good && i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t epoch = 1 + 2 * i; /* of one bank */

		if (bpf_map_lookup_elem(r.fds[1], &key, r.entry))
			memset(r.entry, 0, ABI_KENTRY_BYTES(NHISTS, r.schema));
		for (m = 0; m < NHISTS; m++)
			for (n = 0; n < rows[i].came[m]; n++)
				sample(&r, &key, m, epoch, false, 1);
		good = !bpf_map_update_elem(r.fds[1], &key, r.entry, BPF_ANY) &&
		       !collect(&r, epoch, e) && !not_true(&r, false);
		for (m = 0; good && m < NHISTS; m++)
			good = rows[i].told[m] == !!told_slots(&r, m);
	}
	close_run(&r);
	return good;
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
	uint32_t wrong = 0;
	uint64_t epoch;
	struct run r;
	int ret = open_run(&r, schema, &e);

	if (!ret && !r.told->walk.told)
		ret = -EOPNOTSUPP; /* an empty program may, ours was refused */
	for (epoch = 1; !ret && active >= 0 && epoch <= INTERVALS; epoch++) {
		ret = interval(&r, epoch, &e);
		active = same(&r);
		wrong += not_true(&r, false);
		printf("# interval %llu: %lld active rows are the same\n",
		       (unsigned long long)epoch, (long long)active);
	}
	if (!ret) {
		ret = end(&r, &e);
		wrong += not_true(&r, true);
	}
	if (e.text[0])
		printf("# %s\n", e.text);
	*good = !ret && !wrong && active > KEYS / 2 && same(&r) >= 0;
	close_run(&r);
	return ret;
}

int main(void)
{
	static const uint32_t schemas[] = {ABI_KEY_SCHEMA, 2};
	size_t n = sizeof(schemas) / sizeof(schemas[0]), i;
	struct err e = {0};
	int failed = 0, ret;
	bool good;

	bpf_util_log(getenv("V") != NULL);
	ret = may_walk();
	if (ret) {
		printf("1..0 # SKIP no program may walk over maps here: %s\n", strerror(-ret));
		return EXIT_SKIP;
	}
	for (i = 0; i < n; i++) {
		good = false;
		ret = one(schemas[i], &good);
		if (ret)
			printf("# %s\n", strerror(-ret));
		printf("%s %zu - rows as told are rows as copied, and what was put in, schema %u\n",
		       good ? "ok" : "not ok", i + 1, schemas[i]);
		failed |= !good;
	}
	good = only_what_is_new(&e);
	printf("%s %zu - slots are told where they are needed\n", good ? "ok" : "not ok", i + 1);
	printf("1..%zu\n", n + 1);
	return failed || !good;
}
