/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --check: what this machine can and cannot do, source by source. */
#ifndef WS_CHECK_H
#define WS_CHECK_H

#include <stdio.h>

#include "core/config.h"
#include "core/err.h"

/*
 * Writes the answer to `out`: every source is loaded and attached for a moment, in each of its
 * ways. *can: a run with these options would begin. 0, or negative with words.
 *
 *	kernel         6.1.0-50-cloud-amd64 x86_64, 2 CPUs online, 2 possible
 *	sched          yes
 *	sched --slower no: sched: load BPF programs: the kernel is locked down (...)
 */
int check_run(const struct config *cfg, FILE *out, bool *can, struct err *e);

#endif
