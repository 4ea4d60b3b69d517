/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries per key and CPU into rows per key. No kernel: the two maps are arrays here, and the call
 * that reads them is this file's.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf/keyed.h"
#include "khist.h"
#include "unit.h"
#include "waits.h"

#define SCHEMA 4
#define NHISTS 2
#define NCPUS 70
#define ENTRIES_MAX 150 /* more than one batch */

struct map {
	struct abi_key keys[ENTRIES_MAX];
	char values[ENTRIES_MAX][ABI_KENTRY_BYTES(NHISTS, SCHEMA)];
	uint32_t n;
};

static struct map maps[ABI_BANKS]; /* its number is its fd */
static struct bucket_table table;

/* As the kernel's: -ENOENT with what is left, the cursor says where to go on. */
int bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts)
{
	const struct map *m = &maps[fd];
	uint32_t at = 0, n;

	if (in)
		memcpy(&at, in, sizeof(at));
	n = m->n - at < *count ? m->n - at : *count;
	memcpy(keys, m->keys + at, n * sizeof(m->keys[0]));
	memcpy(values, m->values[at], n * sizeof(m->values[0]));
	*count = n;
	at += n;
	memcpy(out, &at, sizeof(at));
	return at == m->n ? -ENOENT : 0;
}

static uint32_t find(const struct map *m, const struct abi_key *key)
{
	uint32_t i;

	for (i = 0; i < m->n; i++)
		if (!memcmp(&m->keys[i], key, sizeof(*key)))
			break;
	return i;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	const struct map *m = &maps[fd];
	uint32_t i = find(m, key);

	if (i == m->n)
		return -ENOENT;
	memcpy(value, m->values[i], sizeof(m->values[i]));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	struct map *m = &maps[fd];
	uint32_t i = find(m, key);

	if (i == m->n)
		return -ENOENT;
	m->n--;
	m->keys[i] = m->keys[m->n];
	memcpy(m->values[i], m->values[m->n], sizeof(m->values[i]));
	memset(m->values[m->n], 0, sizeof(m->values[i]));
	return 0;
}

static struct abi_khead *entry(uint32_t bank, uint64_t id, uint32_t cpu)
{
	struct abi_key key = {.id = id, .cpu = cpu};
	struct map *m = &maps[bank];
	uint32_t i = find(m, &key);

	if (i < m->n)
		return (void *)m->values[i];
	assert_true(m->n < ENTRIES_MAX);
	m->keys[m->n] = key;
	return (void *)m->values[m->n++];
}

static uint32_t *slots_of(struct abi_khead *e, uint32_t m)
{
	return (uint32_t *)((char *)e + ABI_KSLOTS_AT(NHISTS)) + m * ABI_KHIST_SLOTS(SCHEMA);
}

/* What the programs do. */
static void add_n(uint64_t epoch, uint64_t id, uint32_t cpu, uint32_t m, uint64_t v, uint32_t n)
{
	struct abi_khead *e = entry(epoch & 1, id, cpu);

	khist_add((struct abi_khist *)(e + 1) + m, slots_of(e, m), epoch, v,
		  v ? bucket_slot(&table, SCHEMA, v) : (uint32_t)BUCKET_SLOTS(SCHEMA), n);
}

static void sample(uint64_t epoch, uint64_t id, uint32_t cpu, uint32_t m, uint64_t v)
{
	add_n(epoch, id, cpu, m, v, 1);
}

struct fixture {
	struct keyed *k;
	int appeared, left;
	char first_comm[ABI_COMM_LEN + 1];
};

/* The source's own row. */
struct test_row {
	struct keyed_row row;
	void *mine;
};

static int on_appeared(void *ctx, struct keyed_row *row)
{
	struct fixture *f = ctx;

	f->appeared++;
	strcpy(f->first_comm, row->comm);
	((struct test_row *)row)->mine = malloc(1); /* the sanitizers see that `leaves` frees it */
	return 0;
}

static void on_leaves(void *ctx, struct keyed_row *row)
{
	((struct fixture *)ctx)->left++;
	free(((struct test_row *)row)->mine);
}

#define MASK 3 /* a sum that is a set of bits */
#define ROOM 4
#define COLD_AFTER 3
#define REST_AFTER 10

static void begin_with(struct fixture *f, bool per_cpu, bool cold)
{
	struct keyed_args args = {
		.masks = 1 << MASK,
		.room = cold ? ROOM : 0,
		.cold_after = COLD_AFTER,
		.rest_after = REST_AFTER,
		.fds = {0, 1},
		.nhists = NHISTS,
		.row_hists = NHISTS + 1,
		.row_bytes = sizeof(struct test_row),
		.schema = SCHEMA,
		.ncpus = NCPUS,
		.per_cpu = per_cpu,
		.what = "the test's groups",
		.appeared = on_appeared,
		.leaves = on_leaves,
		.ctx = f,
	};
	struct err e = {0};

	memset(f, 0, sizeof(*f));
	memset(maps, 0, sizeof(maps));
	assert_int_equal(bucket_table_init(&table, SCHEMA), 0);
	assert_int_equal(keyed_open(&f->k, &args, &e), 0);
}

static void begin(struct fixture *f, bool per_cpu)
{
	begin_with(f, per_cpu, false);
}

static void collect(struct fixture *f, uint64_t epoch)
{
	struct err e = {0};

	assert_int_equal(keyed_collect(f->k, epoch, true, &e), 0);
}

static struct keyed_row *row_of(const struct fixture *f, uint64_t id, uint32_t cpu)
{
	struct keyed_row *row;

	for (row = keyed_first(f->k); row; row = row->next)
		if (row->key.id == id && row->key.cpu == cpu)
			return row;
	fail_msg("no row of %llu", (unsigned long long)id);
	return NULL;
}

static void end(struct fixture *f)
{
	keyed_close(f->k);
	assert_int_equal(f->left, f->appeared);
}

TEST(test_cpus_come_together)
{
	struct fixture f;
	struct keyed_row *row;

	begin(&f, false);
	sample(1, 7, 0, 0, 1000);
	sample(1, 7, 69, 0, 3000);
	sample(1, 7, 69, 0, 0);
	sample(1, 8, 1, 1, 50);
	collect(&f, 1);
	assert_int_equal(f.appeared, 2);
	row = row_of(&f, 7, 0);
	assert_true(row->active);
	check_hist(&row->interval[0], 3, 4000, 0, 3000);
	assert_int_equal(row->interval[0].zero, 1);
	assert_int_equal(row->interval[1].count, 0);
	check_hist(&row->total[0], 3, 4000, 0, 3000);
	assert_int_equal(row->cpus_interval[0], 1);
	assert_int_equal(row->cpus_interval[1], 1ULL << 5);
	check_hist(&row_of(&f, 8, 0)->interval[1], 1, 50, 50, 50);
	end(&f);
}

TEST(test_cpus_stay_apart)
{
	struct fixture f;

	begin(&f, true);
	sample(1, 7, 0, 0, 1000);
	sample(1, 7, 3, 0, 3000);
	collect(&f, 1);
	assert_int_equal(f.appeared, 2);
	check_hist(&row_of(&f, 7, 0)->interval[0], 1, 1000, 1000, 1000);
	check_hist(&row_of(&f, 7, 3)->interval[0], 1, 3000, 3000, 3000);
	end(&f);
}

/* An interval is what its epoch counted; a total is all of them; min and max are the interval's. */
TEST(test_intervals)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	sample(1, 7, 2, 0, 1000);
	collect(&f, 1);
	sample(2, 7, 2, 0, 5000);
	sample(2, 7, 4, 0, 6000);
	collect(&f, 2);
	row = row_of(&f, 7, 0);
	check_hist(&row->interval[0], 2, 11000, 5000, 6000);
	check_hist(&row->total[0], 3, 12000, 1000, 6000);
	assert_int_equal(row->cpus_interval[0], 1 << 2 | 1 << 4);
	collect(&f, 3); /* nothing came: bank 1 still holds epoch 1 */
	assert_false(row->active);
	assert_int_equal(row->interval[0].count, 0);
	assert_int_equal(row->cpus_interval[0], 0);
	sample(5, 7, 2, 0, 2000);
	collect(&f, 5);
	check_hist(&row->interval[0], 1, 2000, 2000, 2000);
	check_hist(&row->total[0], 4, 14000, 1000, 6000);
	assert_int_equal(f.appeared, 1);
	end(&f);
}

/* A sample that a program added after its epoch was read comes with the next reading of its bank.
 */
TEST(test_late)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	sample(1, 7, 0, 0, 1000);
	collect(&f, 1);
	sample(1, 7, 0, 0, 2000);
	collect(&f, 2);
	row = row_of(&f, 7, 0);
	assert_int_equal(row->interval[0].count, 0);
	collect(&f, 0); /* the end of the run: both banks */
	assert_int_equal(row->interval[0].count, 1);
	assert_int_equal(row->interval[0].sum_ns, 2000);
	assert_int_equal(row->total[0].count, 2);
	end(&f);
}

TEST(test_sums)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	entry(1, 7, 0)->sums[0] = 10;
	entry(1, 7, 1)->sums[0] = 5;
	entry(1, 7, 1)->sums[4] = 1;
	collect(&f, 1);
	row = row_of(&f, 7, 0);
	assert_true(row->active);
	assert_int_equal(row->sums_interval[0], 15);
	assert_int_equal(row->sums_interval[4], 1);
	entry(1, 7, 1)->sums[0] += 100;
	collect(&f, 3);
	assert_int_equal(row->sums_interval[0], 100);
	assert_int_equal(row->sums_interval[4], 0);
	assert_int_equal(row->sums_total[0], 115);
	assert_int_equal(row->cpus_interval[0], 1 << 1);
	assert_int_equal(row->cpus_total[0], 3);
	end(&f);
}

/* Bits are joined over CPUs and intervals, not added; those of an entry at rest are of an older
 * epoch. */
TEST(test_masks)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	*(struct abi_khead *)entry(1, 7, 0) = (struct abi_khead){.sums = {[0] = 1, [MASK] = 6}};
	*(struct abi_khead *)entry(1, 7, 1) = (struct abi_khead){.sums = {[0] = 1, [MASK] = 3}};
	collect(&f, 1);
	row = row_of(&f, 7, 0);
	assert_int_equal(row->sums_interval[MASK], 7);
	entry(1, 7, 1)->sums[0]++;
	entry(1, 7, 1)->sums[MASK] = 8;
	collect(&f, 3);
	assert_int_equal(row->sums_interval[MASK], 8);
	assert_int_equal(row->sums_total[MASK], 15);
	end(&f);
}

static void make_others(void)
{
	struct abi_key key = {.obj = ABI_OBJ_OTHER};
	uint32_t b;

	for (b = 0; b < ABI_BANKS; b++)
		maps[b].keys[maps[b].n++] = key;
}

static uint64_t sum_of_totals(const struct fixture *f)
{
	struct keyed_row *row;
	uint64_t sum = 0;

	for (row = keyed_first(f->k); row; row = row->next)
		sum += row->total[0].sum_ns;
	return sum;
}

/* Of too many rows those that rest leave; the sums stay, and who comes back begins anew. */
TEST(test_cold)
{
	struct fixture f;
	uint64_t epoch, id, sum = 0;

	begin_with(&f, false, true);
	make_others();
	for (epoch = 1; epoch <= 2; epoch++)
		for (id = 1; id <= ROOM; id++)
			sample(epoch, id, 0, 0, 1000 * id);
	collect(&f, 1);
	collect(&f, 2);
	assert_int_equal(maps[0].n, ROOM + 1);
	assert_int_equal(f.left, 0);
	for (epoch = 3; epoch < 12; epoch++) {
		sample(epoch, 1, 0, 0, 10); /* one goes on */
		collect(&f, epoch);
		sum += 10;
		assert_int_equal(sum_of_totals(&f), 2 * (1000 + 2000 + 3000 + 4000) + sum);
	}
	assert_int_equal(f.left, 1);	/* as many as there is no room for, with the others */
	assert_int_equal(maps[0].n, 2); /* the one, and the others */
	assert_int_equal(maps[1].n, 2);
	check_hist(&row_of(&f, 0, 0)->total[0], 2, 4000, 2000, 2000);
	sample(12, 2, 0, 0, 7);
	collect(&f, 12);
	check_hist(&row_of(&f, 2, 0)->total[0], 1, 7, 7, 7);
	assert_int_equal(f.appeared, ROOM + 2);
	assert_int_equal(sum_of_totals(&f), 2 * (1000 + 2000 + 3000 + 4000) + sum + 7);
	end(&f);
}

/* Where there is room rows stay, and their entries leave the kernel's maps until the next sample.
 */
TEST(test_cold_with_room)
{
	struct keyed_row *row;
	struct fixture f;
	uint64_t epoch;

	begin_with(&f, false, true);
	make_others();
	sample(1, 7, 0, 0, 1000);
	sample(2, 7, 1, 0, 3000);
	for (epoch = 1; epoch < 3 + REST_AFTER; epoch++)
		collect(&f, epoch);
	assert_int_equal(maps[0].n + maps[1].n, 4);
	for (; epoch < 20; epoch++)
		collect(&f, epoch);
	row = row_of(&f, 7, 0);
	check_hist(&row->total[0], 2, 4000, 1000, 3000);
	assert_int_equal(row->entries, 0);
	assert_int_equal(maps[0].n, 1); /* the others */
	assert_int_equal(maps[1].n, 1);
	sample(21, 7, 0, 0, 500);
	collect(&f, 21);
	assert_ptr_equal(row_of(&f, 7, 0), row);
	check_hist(&row->interval[0], 1, 500, 500, 500);
	check_hist(&row->total[0], 3, 4500, 500, 3000);
	assert_int_equal(f.left, 0);
	end(&f);
}

/* 32-bit slots are read modulo 2^32. */
TEST(test_wrap)
{
	struct fixture f;
	int i;

	begin(&f, false);
	add_n(1, 7, 0, 0, 1000, UINT32_MAX - 1);
	collect(&f, 1);
	assert_int_equal(row_of(&f, 7, 0)->total[0].count, UINT32_MAX - 1);
	for (i = 0; i < 2 * ABI_KHIST_LAST; i++)
		sample(3, 7, 0, 0, 1000);
	collect(&f, 3);
	assert_int_equal(row_of(&f, 7, 0)->interval[0].count, 2 * ABI_KHIST_LAST);
	assert_int_equal(row_of(&f, 7, 0)->total[0].count, UINT32_MAX - 1ULL + 2 * ABI_KHIST_LAST);
	sample(5, 7, 0, 0, 1000);
	collect(&f, 5);
	assert_int_equal(row_of(&f, 7, 0)->interval[0].count, 1);
	end(&f);
}

static uint64_t bucket_of(const struct hist *h, uint64_t v)
{
	struct hist_walk w = {0};

	while (hist_next(h, &w))
		if (w.slot == bucket_slot(&table, SCHEMA, v))
			return w.n;
	return 0;
}

/*
 * What came to an entry since it was last read: nothing, fewer than the last samples are, as many,
 * more; several at once; and always the samples that came, each in its bucket.
 */
TEST(test_last_samples)
{
	static const uint32_t came[] = {1,
					ABI_KHIST_LAST - 1,
					0,
					ABI_KHIST_LAST,
					2,
					3,
					ABI_KHIST_LAST + 1,
					0,
					5 * ABI_KHIST_LAST + 3,
					1,
					ABI_KHIST_LAST - 2,
					ABI_KHIST_LAST};
	uint64_t epoch = 1, total = 0;
	struct keyed_row *row;
	struct fixture f;
	uint32_t i, c, at_once;

	begin(&f, false);
	for (at_once = 1; at_once <= 3; at_once++)
		for (c = 0; c < ROWS(came); c++, epoch += 2) {
			for (i = 0; i < came[c]; i++)
				add_n(epoch, 7, 0, 0, i % 3 * 1000, at_once);
			collect(&f, epoch);
			total += came[c] * at_once;
			row = row_of(&f, 7, 0);
			assert_int_equal(row->interval[0].count, came[c] * at_once);
			assert_int_equal(row->interval[0].zero, (came[c] + 2) / 3 * at_once);
			assert_int_equal(bucket_of(&row->interval[0], 1000),
					 (came[c] + 1) / 3 * at_once);
			assert_int_equal(bucket_of(&row->interval[0], 2000), came[c] / 3 * at_once);
			assert_int_equal(row->total[0].count, total);
		}
	end(&f);
}

/* In the midst of adding a sample of 3000 ns: the oldest is in its slot, or is replaced as well. */
static uint16_t *begin_sample(struct abi_khead *e, bool replaced)
{
	struct abi_khist *h = (void *)(e + 1);
	uint16_t *last = &h->last[h->placed % ABI_KHIST_LAST];

	slots_of(e, 0)[*last]++;
	if (replaced)
		*last = (uint16_t)bucket_slot(&table, SCHEMA, 3000);
	return last;
}

/* A late program is adding a sample while its entry is read: the sample comes with the next
 * reading, however many came with this one. */
TEST(test_half_added)
{
	static const uint32_t came[] = {1, ABI_KHIST_LAST - 1, ABI_KHIST_LAST, 3 * ABI_KHIST_LAST};
	struct keyed_row *row;
	struct fixture f;
	uint32_t c, i, n, replaced;
	uint16_t *last;

	for (replaced = 0; replaced < 2; replaced++)
		for (c = 0; c < ROWS(came); c++) {
			begin(&f, false);
			for (i = 0; i < ABI_KHIST_LAST; i++)
				sample(1, 7, 0, 0, 1000);
			collect(&f, 1);
			for (i = 0; i < came[c]; i++)
				sample(3, 7, 0, 0, 2000);
			last = begin_sample(entry(1, 7, 0), replaced);
			collect(&f, 3);
			row = row_of(&f, 7, 0);
			assert_int_equal(row->interval[0].count, came[c]);
			assert_int_equal(bucket_of(&row->interval[0], 2000), came[c]);
			*last = (uint16_t)bucket_slot(&table, SCHEMA, 3000);
			((struct abi_khist *)(entry(1, 7, 0) + 1))->placed++;
			for (n = 0; n < (c & 1 ? 2 * ABI_KHIST_LAST : 1); n++)
				sample(5, 7, 0, 0, 1000);
			collect(&f, 5);
			assert_int_equal(row->interval[0].count, n + 1);
			assert_int_equal(bucket_of(&row->interval[0], 3000), 1);
			assert_int_equal(bucket_of(&row->interval[0], 1000), n);
			assert_int_equal(row->total[0].count, ABI_KHIST_LAST + came[c] + n + 1);
			end(&f);
		}
}

/* Of several at once it cannot be said: all that came since waits for the next time. */
TEST(test_half_added_n)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	sample(1, 7, 0, 0, 1000);
	collect(&f, 1);
	add_n(3, 7, 0, 0, 2000, ABI_KHIST_LAST);
	(void)begin_sample(entry(1, 7, 0), true);
	slots_of(entry(1, 7, 0), 0)[bucket_slot(&table, SCHEMA, 3000)] += 4;
	collect(&f, 3);
	row = row_of(&f, 7, 0);
	assert_int_equal(row->interval[0].count, 0);
	((struct abi_khist *)(entry(1, 7, 0) + 1))->placed += 1 + (4ULL << 32);
	collect(&f, 0);
	assert_int_equal(row->interval[0].count, ABI_KHIST_LAST + 5);
	assert_int_equal(bucket_of(&row->interval[0], 3000), 5);
	end(&f);
}

static void drain(struct fixture *f, uint64_t epoch)
{
	struct err e = {0};

	assert_int_equal(keyed_collect(f->k, epoch, false, &e), 0);
}

/* A long interval is read in parts, each an epoch of its own: slots that wrap between two of them
 * lose nothing, and what the interval had before stays. */
TEST(test_drain)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	add_n(1, 7, 0, 0, 1000, UINT32_MAX - 1);
	entry(1, 7, 0)->sums[0] = 5;
	entry(1, 7, 0)->sums[MASK] = 1;
	drain(&f, 1);
	sample(2, 7, 1, 0, 50);
	entry(0, 7, 1)->sums[MASK] = 2;
	drain(&f, 2);
	sample(3, 7, 0, 0, 1000);
	sample(3, 7, 0, 0, 1000);
	collect(&f, 3);
	row = row_of(&f, 7, 0);
	check_hist(&row->interval[0], UINT32_MAX + 2ULL, 1000ULL * (UINT32_MAX + 1ULL) + 50, 50,
		   1000);
	check_hist(&row->total[0], UINT32_MAX + 2ULL, 1000ULL * (UINT32_MAX + 1ULL) + 50, 50, 1000);
	assert_int_equal(row->sums_interval[0], 5);
	assert_int_equal(row->sums_total[0], 5);
	assert_int_equal(row->sums_interval[MASK], 3);
	assert_int_equal(row->cpus_interval[0], 3);
	sample(4, 7, 0, 0, 10);
	collect(&f, 4);
	check_hist(&row->interval[0], 1, 10, 10, 10);
	assert_int_equal(row->total[0].count, UINT32_MAX + 3ULL);
	end(&f);
}

TEST(test_many)
{
	uint64_t id, total = 0;
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	for (id = 1; id <= ENTRIES_MAX; id++)
		sample(1, id, 0, 0, id);
	collect(&f, 1);
	assert_int_equal(f.appeared, ENTRIES_MAX);
	for (row = keyed_first(f.k); row; row = row->next)
		total += row->total[0].sum_ns;
	assert_int_equal(total, ENTRIES_MAX * (ENTRIES_MAX + 1) / 2);
	end(&f);
}

TEST(test_names_and_forget)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	sample(1, 7, 0, 0, 1000);
	strcpy(entry(1, 7, 0)->comm, "before");
	entry(1, 7, 0)->pid = 42;
	collect(&f, 1);
	assert_string_equal(f.first_comm, "before");
	row = row_of(&f, 7, 0);
	strcpy(entry(1, 7, 0)->comm, "0123456789abcde");
	keyed_forget(f.k);
	assert_int_equal(row->total[0].count, 0);
	assert_false(row->active);
	sample(3, 7, 0, 0, 3000);
	collect(&f, 3);
	assert_string_equal(row->comm, "0123456789abcde");
	assert_int_equal(row->pid, 42);
	check_hist(&row->total[0], 1, 3000, 3000, 3000);
	end(&f);
}

/* Those past the entry's own are the source's, and reset for it. */
TEST(test_derived)
{
	struct keyed_row *row;
	struct fixture f;

	begin(&f, false);
	sample(1, 7, 0, 0, 1000);
	collect(&f, 1);
	row = row_of(&f, 7, 0);
	assert_int_equal(hist_add(&row->interval[NHISTS], &table, 9), 0);
	collect(&f, 2);
	assert_int_equal(row->interval[NHISTS].count, 0);
	end(&f);
}

/* A row may be there before its first entry; one that gets none does not stay, nor does it go to
 * the others. */
TEST(test_uncounted)
{
	const struct abi_key key = {.id = 7}, lost = {.id = 9};
	struct keyed_row *row;
	struct fixture f;
	uint64_t epoch;

	begin_with(&f, false, true);
	make_others();
	row = keyed_get(f.k, &key);
	assert_non_null(row);
	assert_ptr_equal(keyed_get(f.k, &key), row);
	assert_non_null(keyed_get(f.k, &lost));
	assert_int_equal(keyed_uncounted(f.k), 2);
	sample(1, 7, 3, 0, 1000);
	collect(&f, 1);
	assert_ptr_equal(row_of(&f, 7, 0), row);
	check_hist(&row->interval[0], 1, 1000, 1000, 1000);
	assert_int_equal(keyed_uncounted(f.k), 1);
	assert_int_equal(f.left, 0);
	for (epoch = 2; epoch <= COLD_AFTER; epoch++)
		collect(&f, epoch);
	assert_non_null(keyed_find(f.k, &lost));
	collect(&f, epoch);
	assert_null(keyed_find(f.k, &lost));
	assert_int_equal(keyed_uncounted(f.k), 0);
	assert_int_equal(f.left, 1);
	assert_ptr_equal(keyed_find(f.k, &key), row);
	end(&f);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
