/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was lost, per CPU and bank (struct abi_counts at the head of each bank of common.bpf.h),
 * into one sum for the interval and one for the whole. As with histograms the bank of an interval
 * is read after its epoch has ended; what came late is in its bank's next reading.
 */
#ifndef WS_COUNTS_H
#define WS_COUNTS_H

#include <linux/types.h>

#include "abi.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/hist.h"

/* A BPF array map in our memory, read-only: what programs count is read without a call. */
struct mapped {
	const void *at; /* NULL: not open */
	size_t len;
};

int mapped_open(struct mapped *m, int map_fd, size_t bytes, const char *what, struct err *e);
void mapped_close(struct mapped *m);

struct counts {
	struct mapped map; /* the banks */
	size_t bank_bytes;
	uint32_t ncpus;		 /* possible */
	struct abi_counts *seen; /* of each bank, as last read */
	struct abi_counts interval, total;
	bool begun; /* something of the interval was read */
};

/* bank_bytes: as given to map_setup_banks, or what else begins with as many counters. */
int counts_open(struct counts *c, int map_fd, uint32_t ncpus, size_t bank_bytes, struct err *e);
/* Has the bank of this number the samples of an epoch that has ended? 0: the run has, both have. */
bool counts_bank_ended(uint32_t bank, uint64_t epoch);
/* Bank of a CPU, in the map. */
const struct abi_counts *counts_bank(const struct counts *c, uint32_t cpu, uint32_t bank);
/* What was counted under `epoch` (both banks if 0: at the end) joins the interval, which ends or
 * goes on. */
void counts_collect(struct counts *c, uint64_t epoch, bool ends);
/* The same in parts, for who reads more of the banks. The interval begins at its first reading;
 * counts_read is false if nothing of the bank has moved. It goes first: what a late program then
 * adds is found at the bank's next turn. */
void counts_begin(struct counts *c);
bool counts_read(struct counts *c, uint32_t cpu, uint32_t bank);
/*
 * What came to one histogram of a bank since it was last read. Its min and max are those of its
 * last epoch: of just these samples, unless one came too late for an earlier reading.
 */
int counts_hist(struct hist *to, const struct abi_hist *now, struct abi_hist *seen,
		uint32_t nslots);
void counts_end(struct counts *c);
void counts_forget(struct counts *c); /* the total starts anew */
void counts_close(struct counts *c);  /* unopened (all zero) is fine */

/* The fields of `quality` that these counts are; the others stay. */
void counts_quality(const struct abi_counts *c, struct quality *q);

#endif
