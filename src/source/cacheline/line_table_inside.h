/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the table of lines: what its files share. */
#ifndef WS_LINE_TABLE_INSIDE_H
#define WS_LINE_TABLE_INSIDE_H

#include "source/cacheline/line_table.h"

struct line_table {
	uint32_t *core_of;
	uint32_t ncpus;
	size_t words; /* of a bit set of CPUs */
	size_t n, max;
	uint64_t dropped;
	struct line_samples rest; /* of contended lines that have left */
	void *tree;
	struct line *first;
	struct line_thread_sum *scratch;
	size_t scratch_cap;
};

void line_samples_add(struct line_samples *to, const struct line_samples *s);

#endif
