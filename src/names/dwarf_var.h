/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_NAMES_DWARF_VAR_H
#define WS_NAMES_DWARF_VAR_H

#include <elfutils/libdw.h>

#include "names/elf_file.h"

#define DWARF_INDEX_MAX (1U << 18)   /* variables remembered of a file */
#define DWARF_ENTRIES_MAX (1U << 23) /* looked at for them: about a second */

struct dwarf_answer {
	char *text; /* "buckets[3].lock" */
	size_t text_len;
	char *place; /* "kw.c:15" */
	size_t place_len;
	bool member; /* went into the variable */
};

/*
 * The variable that vaddr lies in and the path in it. `symbol`: what the symbol table has there, or
 * NULL; where both disagree about the object, the linker is right: false.
 */
bool dwarf_var_find(struct elf_file *f, const struct elf_look *look, uint64_t vaddr,
		    const struct elf_symbol *symbol, struct dwarf_answer *out);

/* A function at an address of code, and its line there. */
struct dwarf_frame {
	char name
		/* of a function that is inlined; "" for the last one, which has a symbol */
		[NAME_LEN];
	char place[NAME_PLACE_LEN]; /* "kw.c:40"; "": not known */
};
#define DWARF_FRAMES_MAX 16
struct dwarf_frames {
	struct dwarf_frame
		v[DWARF_FRAMES_MAX]; /* the innermost first; each is inlined in the next */
	size_t n;
};
/* The functions that the instruction at vaddr is of. False: no unit has code there, and n is 0. */
bool dwarf_code_find(const struct elf_look *look, uint64_t vaddr, struct dwarf_frames *out);

/* ---- for both ---- */

/* Where it is declared, "kw.c:15"; "": not known. skeleton: of its unit, where that is split, or
 * NULL. */
void dwarf_decl_place(Dwarf_Die *die, Dwarf_Die *skeleton, char *out, size_t len);
/* Its own name; a mangled one says the namespace too, as `symbol` (may be NULL) may. False: it has
 * none. */
bool dwarf_full_name(Dwarf_Die *die, const struct elf_symbol *symbol, char *out, size_t len);

/* The one unit whose .dwo file is open; dwarf NULL: none. */
struct dwarf_split {
	Dwarf *dwarf;
	Elf *elf;
	int fd;
	Dwarf_Die skeleton;
	const char *addresses; /* its part of .debug_addr, in the memory of the look */
	size_t naddresses;
	uint8_t address_bytes;
};

struct dwarf_session {
	Dwarf *main, *alt;
	struct dwarf_split split;
	struct work *work;
};

bool dwarf_session_open(struct dwarf_session *s, const struct elf_look *look);
void dwarf_session_close(struct dwarf_session *s);

/*
 * Calls visit for each unit until it says true. What libdw keeps of a unit is freed only with all
 * of it: a new session now and then bounds that. True: one said so, and `s` is open with that unit.
 */
bool dwarf_each_unit(struct dwarf_session *s, const struct elf_look *look,
		     bool (*visit)(Dwarf_Die *unit, void *ctx), void *ctx);
/* The unit at `at`, its first DIE (die->addr NULL: none), and where the next unit is. False: there
 * is no unit any more. */
bool dwarf_unit_at(Dwarf *dwarf, Dwarf_Off at, Dwarf_Off *next, Dwarf_Die *die);
const char *dwarf_basename(const char *path);

/* ---- units in files of their own (dwarf_split.c) ---- */

bool dwarf_is_skeleton(Dwarf_Die *unit);
/* The unit that a skeleton stands for, valid until the next call. False: its file is not there, or
 * is not of this program. */
bool dwarf_split_open(struct dwarf_session *session, const struct elf_look *look,
		      Dwarf_Die *skeleton, Dwarf_Die *unit);
void dwarf_split_close(struct dwarf_split *s);
/* The address with that number in the unit's list; false: there is none. */
bool dwarf_split_address(const struct dwarf_split *s, uint64_t number, uint64_t *out);

/* ---- what lies at an offset in a variable of some type (dwarf_type.c, dwarf_size.c) ---- */

/* DWARF is foreign: every walk is bounded, by depth and by `steps`. */
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
