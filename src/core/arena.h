/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of one report: taken piece by piece, forgotten at once, kept for the next one. */
#ifndef WS_ARENA_H
#define WS_ARENA_H

#include <stddef.h>

struct arena_block;

/* All zero is an empty arena. */
struct arena {
	struct arena_block *first, *at;
};

/* Zeroed, aligned for anything; NULL: no memory. Lives until arena_reset. */
void *arena_take(struct arena *a, size_t bytes);
char *arena_text(struct arena *a, const char *text); /* a copy; NULL for NULL or no memory */
void arena_reset(struct arena *a);
void arena_free(struct arena *a);

#endif
