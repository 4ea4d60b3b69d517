/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lies at an offset in a variable of some type. DWARF is foreign: every walk is bounded, by
 * depth and by `steps`.
 */
#ifndef WS_NAMES_DWARF_TYPE_H
#define WS_NAMES_DWARF_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DWARF_STEPS 200000 /* members looked at for one name */

struct dwarf_path {
	char *text; /* the variable's name; the path is appended */
	size_t len, at;
	uint32_t steps; /* left */
	bool rust;
	bool member; /* out: went into the variable */
};

/* A DIE's type; false: none. */
bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *type);
/* Bytes; false: not known (only declared, a flexible array, nonsense). */
bool dwarf_size_of(struct dwarf_path *p, const Dwarf_Die *type, uint64_t *size);
/*
 * ".buckets[3].lock" for an offset within `type`, as far as it is certain; then "+0x4" for what is
 * left: padding, an undecided union, the inside of a mutex.
 */
void dwarf_path_append(struct dwarf_path *p, const Dwarf_Die *type, uint64_t offset);

#endif
