/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of the CPUs, as /proc/stat has it. */
#ifndef WS_TIMES_CPUS_H
#define WS_TIMES_CPUS_H

#include <stdint.h>

#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"
#include "core/text.h"

struct cpus_run {
	struct cpu_set only;		     /* --cpu; no bits: all */
	uint64_t busy_ns, steal_ns, mono_ns; /* as last read */
	uint32_t n;			     /* CPUs then */
	struct times interval, total;
};

int cpus_run_open(struct cpus_run *c, const struct config *cfg, struct err *e);
/* Reads them: what came since the last time is the interval. 0 or negative errno with words. */
int cpus_run_next(struct cpus_run *c, uint64_t mono_ns, struct err *e);
void cpus_run_forget(struct cpus_run *c); /* the total starts anew */

#endif
