/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups that are several of the kernel's: --by unit and --by container. Sources name the unit or
 * container of each cgroup; here those of one name become one group.
 */
#ifndef WS_REGROUP_H
#define WS_REGROUP_H

#include "core/frame_own.h"

/* Zeroed is an empty one; its memory is kept from report to report. */
struct regroup {
	struct frame_own *own;
	struct series *v;
	size_t *order;
	size_t cap, order_cap;
};

/* The rows of *f become those of joined groups, valid until the next call. 0 or -ENOMEM. */
int regroup(struct regroup *r, struct frame *f);
void regroup_free(struct regroup *r);

#endif
