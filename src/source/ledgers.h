/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --why: the ledgers of all tasks (bpf/tasks.bpf.c), one BPF object for all sources that ask. They are
 * kept from ledgers_open on.
 */
#ifndef WS_LEDGERS_H
#define WS_LEDGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"
#include "source/bpf_util.h"

struct bpf_object;
struct btf;
struct ledgers;
struct shared_maps;

/* Can this kernel keep them? 0, or negative with the reason in e (exit 3). */
int ledgers_probe(const struct btf *btf, struct err *e);
/* Kept from now on, unless they are already. */
int ledgers_open(struct shared_maps *s, const struct config *cfg, const struct btf *btf,
		 struct err *e);
/* Their maps are those of an object that is not loaded yet. 0 or negative errno. */
int ledgers_reuse(const struct shared_maps *s, struct bpf_object *obj);
/* Of tasks, how many found no room since the call before. */
uint64_t ledgers_lost(struct shared_maps *s);
/* The programs' cost joins that of the source which opened them. */
const struct bpf_object *ledgers_object(const struct shared_maps *s);
void ledgers_close(struct ledgers *l); /* NULL is fine */

#endif
