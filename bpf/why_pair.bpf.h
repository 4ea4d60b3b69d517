/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: what a CPU counts by itself. */
#ifndef WS_WHY_PAIR_BPF_H
#define WS_WHY_PAIR_BPF_H

#include "abi_why.h"

/* Who waited, for whom and how long, by its length: what of it this CPU has counted since user space last asked, and
 * is not in its entry yet. A look-up in a hash takes as long as all else of such a wait. */
struct why_pair {
	struct abi_key key; /* of its entry; all 0: of nobody */
	u64 who[2];	    /* the stay's key; 0 of idle's */
	u64 least_ns;	    /* waits of that length: from here on */
	u64 span_ns;	    /* and up to so much more */
	u64 ns;
	u64 count;
	u64 due_ns;
	u64 due_count;
};

/* Nearly all waits of a pair have one or two lengths: that many places next to each other are its own. */
#define WHY_PAIR_WAYS 2
#define WHY_PAIRS 16 /* in all; powers of two */

#endif
