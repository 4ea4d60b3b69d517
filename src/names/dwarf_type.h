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

#include "names/work.h"

#define DWARF_STEPS 200000 /* members looked at for one name */

struct dwarf_path {
	char *text; /* the variable's name; the path is appended */
	size_t len, at;
	uint32_t steps;	   /* left */
	struct work *work; /* or NULL */
	bool rust;
	bool member; /* out: went into the variable */
};

/*
 * ".buckets[3].lock" for an offset within `type`, as far as it is certain; then "+0x4" for what is
 * left: padding, an undecided union, the inside of a mutex.
 */
void dwarf_path_append(struct dwarf_path *p, const Dwarf_Die *type, uint64_t offset);

/* ---- DIEs and types (dwarf_size.c) ---- */

/* A constant attribute; false: none, or another kind. */
bool die_number(Dwarf_Die *die, unsigned int attr, uint64_t *out);
bool die_flag(Dwarf_Die *die, unsigned int attr);
const char *die_name(Dwarf_Die *die); /* or "" */
bool die_type(Dwarf_Die *die, Dwarf_Die *type);
/* To the next sibling. One that lies before is a loop somebody built: false, as at the end. */
bool die_next(struct dwarf_path *p, Dwarf_Die *die);

/*
 * To the type behind typedefs and qualifiers. `lock` (may be NULL): one of the names on the way is
 * that of a lock of the C library.
 */
bool type_peel(struct dwarf_path *p, Dwarf_Die *type, bool *lock);
/* Bytes; false: not known (only declared, a flexible array, nonsense). */
bool type_size(struct dwarf_path *p, const Dwarf_Die *type, uint64_t *size);

#define DIMENSIONS_MAX 8
struct type_dims {
	uint64_t count[DIMENSIONS_MAX];
	size_t n;
};
/* False: an index is not from 0, its count unknown, or they have gaps. */
bool type_dimensions(struct dwarf_path *p, Dwarf_Die *array, struct type_dims *d);

#endif
