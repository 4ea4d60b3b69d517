/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of keyed: what its files share. */
#ifndef WS_KEYED_INSIDE_H
#define WS_KEYED_INSIDE_H

#include "source/keyed.h"

/* The non-zero stretch of a histogram's 32-bit slots, as last read. */
struct window {
	uint64_t sum_ns, zero;
	uint32_t first, len;
	uint32_t *slots;
};

/* An entry of the kernel's map, as last read. */
struct reading {
	struct abi_key key; /* trees compare the first member */
	struct keyed_row *row;
	uint64_t sums[ABI_SUMS];
	uint32_t nhists;
	struct window seen[];
};

struct keyed {
	struct keyed_args args;
	size_t hist_bytes, entry_bytes;
	void *entries[ABI_BANKS]; /* trees of struct reading */
	uint32_t nentries[ABI_BANKS];
	void *rows; /* tree of struct keyed_row */
	struct keyed_row *first, **last;
	uint32_t nrows;
	bool begun; /* something of the interval was read */
	struct abi_key *batch_keys;
	char *batch_entries;
	struct reading **cold; /* of a bank, while they leave it */
	uint32_t cold_cap;
};

int keyed_compare(const void *a, const void *b); /* by struct abi_key */
/* One entry as the map has it now, into its row; see keyed_collect. */
int keyed_read_entry(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *now, uint64_t epoch);
/* Sums and CPUs into a row's totals. */
void keyed_join(const struct keyed *k, struct keyed_row *to, const uint64_t *sums,
		const uint64_t *cpus);
void keyed_free_reading(void *p);
void keyed_free_row(struct keyed *k, struct keyed_row *row);

/* keyed_cold.c. Before a bank is collected: entries that were cold by the last time leave it. */
int keyed_retire(struct keyed *k, uint32_t bank, uint64_t epoch);
/* After it: where rows are too many, those that have left both banks go, too. */
int keyed_forget_cold(struct keyed *k);

#endif
