// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "source/bpf/counts.h"

#define COUNTERS (sizeof(struct abi_counts) / sizeof(uint64_t))

/* The kernel rounds to pages, here and at the end. */
int mapped_open(struct mapped *m, int map_fd, size_t bytes, const char *what, struct err *e)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, map_fd, 0);

	if (at == MAP_FAILED)
		return err_sys(e, -errno, "%s", what);
	m->at = at;
	m->len = bytes;
	return 0;
}

void mapped_close(struct mapped *m)
{
	if (m->at)
		(void)munmap((void *)m->at, m->len); /* nothing to do about a failure */
	m->at = NULL;
}

int counts_open(struct counts *c, int map_fd, uint32_t ncpus, size_t bank_bytes, struct err *e)
{
	memset(c, 0, sizeof(*c));
	c->ncpus = ncpus;
	c->bank_bytes = bank_bytes;
	c->seen = calloc((size_t)ncpus * ABI_BANKS, sizeof(*c->seen));
	if (!c->seen)
		return err_sys(e, -ENOMEM, "counters of %u CPUs", ncpus);
	return mapped_open(&c->map, map_fd, (size_t)ncpus * ABI_BANKS * bank_bytes,
			   "map the counters and histograms", e);
}

const struct abi_counts *counts_bank(const struct counts *c, uint32_t cpu, uint32_t bank)
{
	const char *banks = c->map.at;

	return (const void *)(banks + ((size_t)cpu * ABI_BANKS + bank) * c->bank_bytes);
}

void counts_begin(struct counts *c)
{
	if (!c->begun)
		memset(&c->interval, 0, sizeof(c->interval));
	c->begun = true;
}

bool counts_bank_ended(uint32_t bank, uint64_t epoch)
{
	return !epoch || bank == (epoch & 1);
}

bool counts_read(struct counts *c, uint32_t cpu, uint32_t bank)
{
	const uint64_t *now = (const uint64_t *)counts_bank(c, cpu, bank);
	uint64_t *seen = (uint64_t *)&c->seen[(size_t)cpu * ABI_BANKS + bank];
	uint64_t *sum = (uint64_t *)&c->interval, v;
	bool moved = false;

	for (size_t i = 0; i < COUNTERS; i++) {
		v = __atomic_load_n(&now[i], __ATOMIC_RELAXED); /* a late program may yet add */
		moved |= v != seen[i];
		sum[i] += v - seen[i];
		seen[i] = v;
	}
	return moved;
}

int counts_hist(struct hist *to, const struct abi_hist *now, struct abi_hist *seen, uint32_t nslots)
{
	const uint32_t *slots = (const uint32_t *)(now + 1);
	uint32_t *old = (uint32_t *)(seen + 1), i, d;
	uint64_t before = to->count;
	int ret;

	for (i = 0; i < nslots; i++) {
		d = __atomic_load_n(&slots[i], __ATOMIC_RELAXED) - old[i]; /* modulo 2^32 */
		if (!d)
			continue;
		ret = hist_add_slot(to, i, d);
		if (ret)
			return ret;
		old[i] += d;
	}
	to->zero += now->zero - seen->zero;
	to->count += now->zero - seen->zero;
	to->sum_ns += now->sum_ns - seen->sum_ns;
	if (to->count != before && (!before || now->min_ns < to->min_ns))
		to->min_ns = now->min_ns;
	if (to->count != before && (!before || now->max_ns > to->max_ns))
		to->max_ns = now->max_ns;
	*seen = *now;
	return 0;
}

void counts_end(struct counts *c)
{
	uint64_t *total = (uint64_t *)&c->total, *interval = (uint64_t *)&c->interval;

	for (size_t i = 0; i < COUNTERS; i++)
		total[i] += interval[i];
	c->begun = false;
}

void counts_collect(struct counts *c, uint64_t epoch, bool ends)
{
	counts_begin(c);
	for (uint32_t cpu = 0; cpu < c->ncpus; cpu++)
		for (uint32_t bank = 0; bank < ABI_BANKS; bank++)
			if (counts_bank_ended(bank, epoch))
				(void)counts_read(c, cpu, bank); /* moved or not */
	if (ends)
		counts_end(c);
}

void counts_forget(struct counts *c)
{
	memset(&c->total, 0, sizeof(c->total));
}

void counts_close(struct counts *c)
{
	mapped_close(&c->map);
	free(c->seen);
	memset(c, 0, sizeof(*c));
}

void counts_quality(const struct abi_counts *c, struct quality *q)
{
	q->unpaired = c->unpaired;
	q->clamped = c->clamped;
	q->map_full = c->store_full + c->keys_full;
	q->lost_events = c->slow_lost;
	q->over_range = c->over;
	q->missed = c->missed;
	q->inferred = c->inferred;
	q->untraced = c->untraced;
}
