/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: the ledgers of all tasks, for all sources that ask. They lie in the maps of one BPF object
 * (bpf/tasks.bpf.c), and its programs keep them from ledgers_open on; or those of the scheduler
 * source do, which looks at the same events: ledgers_open_for.
 */
#ifndef WS_LEDGERS_H
#define WS_LEDGERS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"
#include "source/sys/bpf_util.h"

struct bpf_object;
struct btf;
struct ledgers;
struct shared_maps;

/* Kept from now on, unless they are already. */
int ledgers_open(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		 struct err *e);
/* The same, but `obj`, which is not loaded yet, has the programs. */
int ledgers_open_for(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		     struct bpf_object *obj, struct err *e);
void ledgers_drop(struct shared_maps *s); /* they will not be: whoever asks next opens anew */
/* Such an object where nobody asks. 0 or negative errno. */
int ledgers_unused(struct bpf_object *obj);
/* The programs' read-only data, of whichever object. */
struct ledgers_words {
	__u32 *release_every;
	bool *have_pt_regs, *chains;
};
void ledgers_words(const struct ledgers_words *w, const struct config *cfg);
/* Their maps are those of an object that is not loaded yet. 0 or negative errno. */
int ledgers_reuse(const struct shared_maps *s, struct bpf_object *obj);
/* Of tasks, how many found no room since the call before. */
uint64_t ledgers_lost(struct shared_maps *s);
/* The programs' cost joins that of the source which opened them. */
const struct bpf_object *ledgers_object(const struct shared_maps *s);
void ledgers_close(struct ledgers *l); /* NULL is fine */

#endif
