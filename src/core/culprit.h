/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why in words: what a culprit is called, and the verdict of a final report. */
#ifndef WS_CULPRIT_H
#define WS_CULPRIT_H

#include "core/frame.h"

#define CULPRIT_NAME_BYTES 512

/* "cc1", "postgres 42", "(soft interrupts)": raw bytes, for a sink to clean. Returns out. */
const char *culprit_name(const struct culprit *k, char *out, size_t len);

/* "db": raw bytes, too; "?" of a thread without a name; "(released)", or that nobody is known. */
const char *holder_name(const struct holder *h);

/* What most of a slow wait was for; NULL: that is not told. */
const struct culprit *culprit_most(const struct slow *w);
/* The thread that held longest what a slow wait was for; NULL: no thread is known. */
const struct holder *holder_longest(const struct slow_held *held);

/* In some order of who is blamed, whoever waited; 0: the same one. */
int culprit_compare(const struct culprit *x, const struct culprit *y);
/* What was waited for that kind; NULL: for all. */
uint64_t culprit_sum(const struct frame *f, const char *kind);

#define VERDICT_LINES 5
#define VERDICT_BYTES 640

struct verdict {
	char line[VERDICT_LINES][VERDICT_BYTES]; /* raw bytes, too */
	size_t n;
};

/* From the report's numbers alone; no line where there is nothing to be said. 0 or -ENOMEM. */
int verdict_make(struct verdict *v, const struct frame *f);

#endif
