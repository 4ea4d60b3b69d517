/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last reports, as frames of their own; the oldest go when there are too many or they take too
 * much memory. They are numbered from 0 on, and keep their numbers.
 */
#ifndef WS_SINK_TUI_KEEP_H
#define WS_SINK_TUI_KEEP_H

#include "core/frame_own.h"
#include "core/view.h"

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

/* The series, address or culprit of that report that is the same as this one. `near`: a series' index in a report
 * that is much like that one; SIZE_MAX: not known. false: it has none. */
bool tui_keep_row(const struct tui_keep *k, uint64_t number, const struct view_row *like,
		  size_t near, struct view_row *out);

#endif
