/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_CPUS_H
#define WS_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

/* Possible CPUs, or negative errno with words. */
int possible_cpus(struct err *e);

/* "0", "1"...: labels of so many CPUs, to be freed; NULL: no memory. */
typedef char cpu_name[12];
cpu_name *cpu_names(uint32_t ncpus);

/* The CPUs that have a bit, into the row. 0 or -ENOMEM. */
struct arena;
struct contended;
int cpus_fill(struct arena *a, const uint64_t *bits, uint32_t ncpus, struct contended *out);

/* Is the CPU in a list of the kernel's ("0-3,8")? Everything is in an empty one. */
bool cpus_in(const char *list, uint32_t cpu);

#endif
