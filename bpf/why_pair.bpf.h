/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --why: what a CPU counts by itself. */
#ifndef WS_WHY_PAIR_BPF_H
#define WS_WHY_PAIR_BPF_H

#include "abi_why.h"

/* Who waited, and for whom: what of it this CPU has counted since user space last asked, and is not in its
 * entry yet. A look-up in a hash takes as long as all else of such a wait. */
struct why_pair {
	struct abi_key key; /* all 0: of nobody */
	u64 ns;
	u64 count;
	u64 due_ns;
	u64 due_count;
};

#define WHY_PAIRS 16 /* a power of two */

#endif
