/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_NAMES_DWARF_VAR_H
#define WS_NAMES_DWARF_VAR_H

#include <elfutils/libdw.h>

#include "names/elf_file.h"
#include "names/elf_symbol.h"

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
/* place: "kw.c:40", of code. */
bool dwarf_line_find(const struct elf_look *look, uint64_t vaddr, char *place, size_t len);

/* ---- for both ---- */

struct dwarf_session {
	Dwarf *main, *alt;
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
const char *dwarf_basename(const char *path);

#endif
