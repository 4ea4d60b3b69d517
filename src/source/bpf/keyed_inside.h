/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of keyed: what its files share. */
#ifndef WS_KEYED_INSIDE_H
#define WS_KEYED_INSIDE_H

#include "source/bpf/keyed.h"

/* A hash table that grows; nodes lie in what they are found for. */
struct keyed_table {
	struct keyed_node **chains;
	uint32_t n, size; /* nodes; chains, a power of two or none */
};

/*
 * An entry of the kernel's map, as last read (packed.h): its sums, then of each histogram the sum,
 * `placed`, the bytes of its slots, and these.
 */
struct reading {
	struct keyed_node node;
	struct keyed_row *row;
	struct reading *after; /* was read after this one the last time, or NULL */
	uint8_t *seen;	       /* NULL: nothing yet */
	uint32_t len, cap;
};

/* An entry as it is now: what it has of the epoch that is read. */
struct keyed_view {
	const struct abi_key *key;
	const struct abi_khead *head;
	uint64_t hists;				       /* bit per histogram with samples of it */
	const struct abi_khist *hist[KEYED_HISTS];     /* of those */
	const struct abi_walk_hist *told[KEYED_HISTS]; /* the same, where it was told */
	bool copied;				       /* it was copied: hist[] lie in it */
};

/* How the kernel tells of entries; all zero where it cannot: their maps are copied. */
struct keyed_walk {
	struct walk_bpf *skel;
	struct bpf_link *links[ABI_BANKS];
	struct abi_walk *told; /* mapped */
};

struct keyed {
	struct keyed_args args;
	size_t entry_bytes;
	struct keyed_table entries[ABI_BANKS]; /* of struct reading */
	struct keyed_table rows;
	struct keyed_row *first, **last;
	uint32_t uncounted; /* rows */
	bool begun;	    /* something of the interval was read */
	struct abi_key *batch_keys;
	char *batch_entries;
	struct keyed_walk walk;
	struct reading *previous; /* the entry read before, or NULL */
	/* While an entry is read: its slots as copied, those that count, and what is kept. */
	struct abi_walk_slot *copied, *slots;
	uint8_t *seen, *buckets, *delta;
};

/* Where a node with that key hangs, or would: *at is NULL. The table is not empty. */
struct keyed_node **keyed_table_at(const struct keyed_table *t, const struct abi_key *key);
int keyed_table_add(struct keyed_table *t, struct keyed_node *node); /* 0 or -ENOMEM */

/* keyed_read.c. One entry as the map has it now, into its row; see keyed_collect. */
int keyed_read_entry(struct keyed *k, uint32_t bank, const struct abi_key *key,
		     const struct abi_khead *now, uint64_t epoch);
int keyed_read_view(struct keyed *k, uint32_t bank, struct keyed_view *v);
int keyed_read_alloc(struct keyed *k); /* 0 or -ENOMEM */
void keyed_free_reading(struct reading *n);

int keyed_row_get(struct keyed *k, const struct abi_key *key, const struct abi_khead *head,
		  struct keyed_row **out);
void keyed_row_name(struct keyed_row *row, const struct abi_khead *head);
/* Sums and CPUs into a row's totals. */
void keyed_join(const struct keyed *k, struct keyed_row *to, const uint64_t *sums,
		const uint64_t *cpus);
void keyed_row_leaves(struct keyed *k, struct keyed_row **at); /* it is freed, *at the next one */

/* keyed_walk.c. 0, also where this kernel cannot, or negative errno; close in any case. */
int keyed_walk_open(struct keyed_walk *w, const struct keyed_args *args);
void keyed_walk_close(struct keyed_walk *w);
int keyed_walk_bank(struct keyed *k, uint32_t bank, uint64_t epoch); /* all its entries */

/* keyed_cold.c. Before a bank is collected: entries that were cold by the last time leave it. */
int keyed_retire(struct keyed *k, uint32_t bank, uint64_t epoch);
/* After it: where rows are too many, those that have left both banks go, too; and those that were
 * never counted. */
int keyed_forget_cold(struct keyed *k);

#endif
