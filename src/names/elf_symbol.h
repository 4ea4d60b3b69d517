/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_NAMES_ELF_SYMBOL_H
#define WS_NAMES_ELF_SYMBOL_H

#include "names/elf_file.h"

struct elf_symbol {
	const char *name; /* in the Elf's memory: valid as long as the look */
	uint64_t start, size;
};

/*
 * The symbol that vaddr lies in: a variable, or a function if `code`. Of several the one that
 * starts last, then the one linkers prefer. A function without a size reaches to the next.
 */
bool elf_symbol_find(const struct elf_look *look, uint64_t vaddr, bool code,
		     struct elf_symbol *out);
/* The variable of this name, as the file spells it: 0, -ENOENT, or -ENOTUNIQ where several places
 * have it. */
int elf_symbol_named(const struct elf_look *look, const char *name, struct elf_symbol *out);

#endif
