/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --by in words: the labels of a keyed row's group. */
#ifndef WS_GROUPS_H
#define WS_GROUPS_H

#include "core/config.h"
#include "core/frame.h"
#include "source/sys/cgroup.h"
#include "source/bpf/keyed.h"

/* Labels borrow from it: it lives as long as they do (in row->user, say). */
struct group_text {
	char id[24], pid[24];
	char comm[ABI_COMM_LEN + 1];
	char *cgroup; /* its path, unit or container, as --by has it; NULL: none, or no memory */
	char pod[40];
};

#define GROUP_LABELS 3

/* Once, when the group appears: a cgroup keeps the name it had. */
void group_text_init(struct group_text *t, enum by_key by, const struct abi_key *key,
		     struct cgroup_names *names);
void group_text_free(struct group_text *t); /* zeroed is fine */
/* The group's labels, key first, with the names as last seen; how many: 0 where it has none
 * (BY_NONE, and BY_CPU, whose label is the source's). */
uint32_t group_labels(struct group_text *t, enum by_key by, const struct keyed_row *row,
		      struct label labels[GROUP_LABELS]);

/* --by as the programs know it; BY_CPU is none of theirs: keys have a CPU anyway. */
uint32_t group_abi(enum by_key by);

#endif
