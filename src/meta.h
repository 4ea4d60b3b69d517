/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first record of a run: what ran where, with which sources and filters. */
#ifndef WS_META_H
#define WS_META_H

#include "run.h"

struct meta_data; /* owns what a struct meta points to */

int meta_build(struct meta_data **out, const struct run *r, struct err *e);
const struct meta *meta_get(const struct meta_data *m);
void meta_free(struct meta_data *m);

#endif
