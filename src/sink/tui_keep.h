/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last reports, as frames of their own; the oldest go when there are too many or they take too
 * much memory. They are numbered from 0 on, and keep their numbers.
 */
#ifndef WS_SINK_TUI_KEEP_H
#define WS_SINK_TUI_KEEP_H

#include "core/frame_own.h"

struct tui_kept {
	struct frame_own *own;
	const struct frame *f;
	size_t bytes;
};

struct tui_keep {
	struct tui_kept *v;
	size_t first, n, cap;	 /* v[first .. first + n) */
	uint64_t gone;		 /* so many went; the number of the oldest that is there */
	size_t bytes;		 /* about what they take */
	size_t most, most_bytes; /* bounds; one always stays */
};

/* Takes a copy. 0 or -ENOMEM. */
int tui_keep_add(struct tui_keep *k, const struct frame *f);
/* NULL: it is not there. */
const struct frame *tui_keep_get(const struct tui_keep *k, uint64_t number);
uint64_t tui_keep_end(const struct tui_keep *k); /* one behind the newest */
void tui_keep_free(struct tui_keep *k);

/* The series of that report that is the same as this one; NULL: it has none. */
const struct series *tui_keep_series(const struct tui_keep *k, uint64_t number,
				     const struct series *s);
/*
 * The row of another frame that is the same as this one; *hint: where it was found last, and is looked
 * for first. NULL: it has none.
 */
const struct contended *tui_find_contended(const struct frame *f, const struct contended *c,
					   size_t *hint);

#endif
