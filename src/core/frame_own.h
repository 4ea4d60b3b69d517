/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A frame that owns all it points to, and so outlives the report: made by adding frames, the first
 * of which it copies. Counts, sums, buckets and what was lost add up exactly.
 *
 *	frame_own_new -> (frame_own_add | _rescale | _subtract -> frame_own_view)* -> frame_own_free
 *
 * Series are one if their metrics and labels are the same, but labels that only describe others
 * (`comm` and `pid` behind the thread or process, `mount` behind `dev`): the latest ones hold. Rows
 * of the contended table are one if source, kind, process, address and group are.
 *
 * Histograms are kept as the buckets they have (hist_init_packed).
 */
#ifndef WS_FRAME_OWN_H
#define WS_FRAME_OWN_H

#include "core/frame.h"

/* How two frames lie to each other. */
enum frame_join {
	FRAME_THEN,   /* periods of one run: what is true at a moment (in_flight) is the later's */
	FRAME_BESIDE, /* two runs, or sources of one: waits in flight in both are as many */
};

struct frame_own;

struct frame_own *frame_own_new(void); /* NULL: no memory */
/*
 * One that stays as it is: nothing can be added, subtracted or rescaled (-EINVAL). NULL: no memory
 */
struct frame_own *frame_own_copy(const struct frame *f);
/*
 * Adds a frame. Type, number, time and `end` are those of the frame that was added last, the
 * duration is the sum. Of histograms of two schemas the result has the coarser one. What is a share
 * of time or of accesses (self, a line's share and interleave) is weighted. 0; -ENOMEM: it is of
 * no more use.
 */
int frame_own_add(struct frame_own *o, const struct frame *f, enum frame_join how);
/*
 * Brings histograms that are finer than `schema` (3 to 6) to it; the others, and all that is exact,
 * stay as they are. 0; -EINVAL: there is no such schema; -ENOMEM: it is of no more use.
 */
int frame_own_rescale(struct frame_own *o, uint32_t schema);
/*
 * Takes an earlier total of the same run away: what came since remains, also of quality. Rows of
 * the contended table and culprits to which nothing came are left out of views; what a row's line
 * was touched by stays that of the whole run. 0; -EINVAL: `earlier` is no part of it; -ENOMEM.
 * After an error it is of no more use.
 */
int frame_own_subtract(struct frame_own *o, const struct frame *earlier);
/*
 * All of it as a frame, series and rows in the order in which they came first. Valid until the next
 * call with `o`. NULL: no memory.
 */
const struct frame *frame_own_view(struct frame_own *o);
/*
 * What in the last view is one with this, of a frame from which nothing was taken away; NULL: it
 * has none, or no memory. The view stays valid. `near`: its index in a report that is much like
 * this.
 */
const struct series *frame_own_find_series(struct frame_own *o, const struct series *s,
					   size_t near);
const struct contended *frame_own_find_row(struct frame_own *o, const struct contended *c);
const struct culprit *frame_own_find_culprit(struct frame_own *o, const struct culprit *c);
/* Forgets what was added; NULL is fine for free. */
void frame_own_reset(struct frame_own *o);
void frame_own_free(struct frame_own *o);

/* Adds what was lost and what waits; the longest of both remains. */
void quality_add(struct quality *to, const struct quality *q);

#endif
