/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What records must have in common to be added up or compared, and what they should have. */
#ifndef WS_META_SAME_H
#define WS_META_SAME_H

#include <stdio.h>

#include "core/err.h"
#include "core/frame.h"

struct meta_named {
	const char *name; /* of the file, as messages call it */
	const struct meta *meta;
};

/*
 * 0 if sources, filters, groups and the command that was run are the same; -EINVAL with words that
 * say which are not, and `exit`. `commands`: those may differ, as where two are compared. `does` is
 * what --force goes on to do: "merges them".
 */
int meta_check_same(const struct meta_named *a, const struct meta_named *b, bool commands,
		    const char *does, enum ws_exit exit, struct err *e);
/*
 * A note for each thing in which one of n records is not as the first of them: those above, and
 * kernel, machine, version and precision. `who` begins it: "diff".
 */
void meta_note_differences(const struct meta_named *list, size_t n, const char *who, FILE *notes);

#endif
