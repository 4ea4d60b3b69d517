/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keyed histograms, for every source: the kernel keeps one entry per key and CPU in a hash map per
 * bank (struct abi_key -> struct abi_khead, then `nhists` histograms with 32-bit slots); here the
 * CPUs' entries come together into one row per key. Entries only grow: each one's last reading is
 * kept and subtracted.
 */
#ifndef WS_KEYED_H
#define WS_KEYED_H

#include <linux/types.h>

#include "abi.h"
#include "core/err.h"
#include "core/hist.h"

struct keyed;
struct keyed_row;

#define KEYED_HISTS 8

struct keyed_args {
	int fds[ABI_BANKS];
	uint32_t nhists;    /* in an entry, at most KEYED_HISTS */
	uint32_t row_hists; /* in a row: those past nhists are the source's; 0: nhists */
	size_t row_bytes;   /* of the source's row, which begins with struct keyed_row; 0: that */
	uint32_t schema;    /* of their buckets */
	uint32_t ncpus;	    /* possible */
	bool per_cpu;	    /* rows keep CPUs apart: key.cpu stays */
	const char *what;   /* for errors: "the groups of --by" */
	bool many;	    /* a program in the kernel tells what entries have, where it can */
	/*
	 * Bit per sum that is a set of bits: joined, not added, where there were samples or
	 * another sum rose. Its program empties it at the first sample of an epoch.
	 */
	uint32_t masks;
	/*
	 * For runs of days: entries of rows that were quiet for `rest_after` collects leave the
	 * kernel's maps, until their next sample; those of a map with more than `room` of them
	 * when it was `cold_after`. Of more than `room` rows cold ones leave, too, and what they
	 * had goes to the row of others (obj ABI_OBJ_OTHER, of their kind or else 0), which there
	 * must be. 0: all stay.
	 */
	uint32_t room;
	uint32_t cold_after, rest_after;
	uint32_t other_kinds; /* by which bits of the kind others are told apart; 0: all */
	/* Optional: entries whose keys it makes equal are in one row. Called once for each. */
	void (*join)(void *ctx, struct abi_key *key);
	/* Optional: samples of an entry that join its row, whose key need not be the entry's. 0 or
	 * negative errno. */
	int (*came)(void *ctx, const struct keyed_row *row, const struct abi_key *entry,
		    const struct hist *samples);
	/* Optional: a row was made, all zero but for its key and its name. 0 or negative errno. */
	int (*appeared)(void *ctx, struct keyed_row *row);
	void (*leaves)(void *ctx, struct keyed_row *row); /* optional: frees what the source has */
	void *ctx;
};

/* What is found by its key. */
struct keyed_node {
	struct abi_key key;
	struct keyed_node *chain;
};

struct keyed_row {
	union {
		struct keyed_node node;
		struct abi_key key; /* cpu = 0 unless per_cpu */
	};
	char comm[ABI_COMM_LEN + 1]; /* of its entries' names the latest */
	bool active;		     /* had samples, or sums that rose, in this interval */
	bool counted;		     /* it has had an entry: not only keyed_get() made it */
	uint32_t quiet;		     /* collects since it was active */
	uint32_t entries;	     /* in the kernel's maps, as far as they were read */
	uint64_t pid;
	uint64_t named_ns; /* when that name was read (abi_khead) */
	/* row_hists of them, packed. Those past nhists are the source's, to fill in after
	 * keyed_collect: reset with the others. */
	struct hist *interval, *total;
	uint64_t sums_interval[ABI_SUMS], sums_total[ABI_SUMS]; /* abi_khead.sums */
	/* Bit per CPU that had samples; of no meaning if the source's keys leave the CPU 0. */
	uint64_t *cpus_interval, *cpus_total;
	struct keyed_row *next; /* in order of appearance */
};

int keyed_open(struct keyed **out, const struct keyed_args *args, struct err *e);
/*
 * What was counted under `epoch` (0: the end of the run, both banks) joins the interval, which ends
 * or goes on; with its end come rows' totals. Rows' intervals hold until the next call. 0 or
 * negative errno with words.
 */
int keyed_collect(struct keyed *k, uint64_t epoch, bool ends, struct err *e);
void keyed_forget(struct keyed *k); /* totals start anew */
struct keyed_row *keyed_first(const struct keyed *k);
struct keyed_row *keyed_find(const struct keyed *k, const struct abi_key *key); /* or NULL */
/* The row of a key, also before it has an entry; one that gets none goes after `cold_after`
 * collects. NULL: no memory. */
struct keyed_row *keyed_get(struct keyed *k, const struct abi_key *key);
uint32_t keyed_uncounted(const struct keyed *k); /* rows without an entry so far */
void keyed_close(struct keyed *k);		 /* NULL is fine */

/* 64-bit words in cpus_interval and cpus_total. */
static inline uint32_t keyed_cpu_words(uint32_t ncpus)
{
	return (ncpus + 63) / 64;
}

#endif
