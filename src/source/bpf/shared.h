/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps that the BPF objects of several sources have in common: whoever is loaded first makes them,
 * the others take what is there.
 */
#ifndef WS_SHARED_H
#define WS_SHARED_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct ledgers;
struct cgroup_paths;

#define SHARED_LEDGERS 3 /* ledgers, of whichever store, and cpu_ops */

struct shared_maps {
	int ledgers[SHARED_LEDGERS]; /* 0: not there */
	struct ledgers *all;	     /* of all tasks (ledgers.h); NULL: not asked for so far */
	struct cgroup_paths
		*paths; /* (cgroup_paths.h); NULL: not asked for so far, or not to be had */
};

/* Are ledgers kept already, by the program of another source? */
bool shared_ledgers(const struct shared_maps *s);
/* Ledgers of bpf/lib/ledger.bpf.h, before the load: taken if they are there, else sized. `used`:
 * false where the object has no use for them. 0 or negative errno. */
int shared_setup(const struct shared_maps *s, struct bpf_object *obj, uint32_t ncpus,
		 bool task_storage, bool used);
/* After it: from now on they are there. */
int shared_keep(struct shared_maps *s, const struct bpf_object *obj);
void shared_close(struct shared_maps *s); /* all zero is fine */

#endif
