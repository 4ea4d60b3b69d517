/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this kernel and this user offer BPF programs: the facts behind --check. */
#ifndef WS_MACHINE_H
#define WS_MACHINE_H

#include <stddef.h>

#include "core/config.h"

struct machine_fact {
	const char *name;
	char text[4200];
};

#define MACHINE_FACTS 8

/* Fills at most MACHINE_FACTS; returns how many. */
size_t machine_facts(struct machine_fact *v, const struct config *cfg);

#endif
