/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_TEST_FUTEX_H
#define WS_TEST_FUTEX_H

#include "proc.h"

struct futex_try {
	const char *tool, *err; /* waitscope, and where its messages go */
	const char *n;		/* rounds of each load */
	proc_setup_fn setup;	/* as whom the tool runs */
	void *ctx;
};

/* false, with words: a load counted otherwise. */
bool futex_try(const struct futex_try *t, char *why, size_t len);

#endif
