// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/elf_file.h"

#include <errno.h>
#include <string.h>

#define STEP 256 /* symbols between two looks at the time */

struct search {
	Elf *elf;
	const char *strings; /* of strings_len bytes, the last a NUL */
	size_t strings_len;
	uint64_t vaddr;
	const char *named; /* by name instead: vaddr and code mean nothing */
	bool several;	   /* of that name, at different places */
	bool code;
	/* The best one so far; name NULL: none. */
	struct elf_symbol best;
	int rank;
	uint64_t last; /* where the last one at or before vaddr starts, whether it reaches or not */
};

/* "" outside of the table. */
static const char *string_at(const struct search *s, size_t at)
{
	return at < s->strings_len ? s->strings + at : "";
}

static bool wanted_type(const struct search *s, const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
		return false;
	if (s->code)
		return type == STT_FUNC || type == STT_GNU_IFUNC;
	return type == STT_OBJECT || (type == STT_NOTYPE && sym->st_size);
}

/* Does vaddr lie in the section that the symbol is in? For those without a size. */
static bool same_section(const struct search *s, const GElf_Sym *sym)
{
	Elf_Scn *scn = sym->st_shndx < SHN_LORESERVE ? elf_getscn(s->elf, sym->st_shndx) : NULL;
	GElf_Shdr sh;

	return scn && gelf_getshdr(scn, &sh) && s->vaddr >= sh.sh_addr &&
	       s->vaddr - sh.sh_addr < sh.sh_size;
}

/* Of names for one place: global before weak before local, plain before reserved. */
static int rank_of(const GElf_Sym *sym, const char *name)
{
	int bind = GELF_ST_BIND(sym->st_info);

	return 4 * (bind == STB_GLOBAL ? 2 : bind == STB_WEAK) + 2 * (sym->st_size > 0) +
	       (name[0] != '_');
}

static void consider_name(struct search *s, const GElf_Sym *sym)
{
	const char *name;

	if (!wanted_type(s, sym))
		return;
	name = string_at(s, sym->st_name);
	if (strcmp(name, s->named))
		return;
	s->several |= s->best.name && s->best.start != sym->st_value;
	s->best = (struct elf_symbol){name, sym->st_value, sym->st_size};
}

static void consider(struct search *s, const GElf_Sym *sym)
{
	const char *name;
	int rank;

	if (sym->st_value > s->vaddr || !wanted_type(s, sym))
		return;
	if (sym->st_value > s->last)
		s->last = sym->st_value;
	if (s->best.name && sym->st_value < s->best.start)
		return;
	if (sym->st_size ? s->vaddr - sym->st_value >= sym->st_size
			 : !s->code || !same_section(s, sym))
		return;
	name = string_at(s, sym->st_name);
	if (!*name)
		return;
	rank = rank_of(sym, name);
	if (s->best.name && sym->st_value == s->best.start && rank <= s->rank)
		return;
	s->best = (struct elf_symbol){name, sym->st_value, sym->st_size};
	s->rank = rank;
}

/*
 * A table that does not end in a NUL is none: then libelf would go through all of it for each name,
 * and a name could be as long as the file.
 */
static bool take_strings(struct search *s, Elf *elf, size_t section)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf_Data *data;
	GElf_Shdr sh;

	if (!scn || !gelf_getshdr(scn, &sh) || sh.sh_size > ELF_SYMBOL_BYTES ||
	    sh.sh_type != SHT_STRTAB || sh.sh_flags & SHF_COMPRESSED)
		return false;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf || !data->d_size || ((const char *)data->d_buf)[data->d_size - 1])
		return false;
	s->strings = data->d_buf;
	s->strings_len = data->d_size;
	return true;
}

/* True if the Elf has such a table at all. */
static bool search_table(struct search *s, Elf *elf, uint32_t type, struct work *work)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf_Data *data;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type)
			break;
	if (!scn || sh.sh_size > ELF_SYMBOL_BYTES ||
	    sh.sh_entsize != gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT))
		return false;
	data = elf_getdata(scn, NULL);
	if (!data || sh.sh_flags & SHF_COMPRESSED || !take_strings(s, elf, sh.sh_link))
		return false;
	s->elf = elf;
	for (int i = 0; gelf_getsym(data, i, &sym) && (i % STEP || !work_over(work)); i++)
		s->named ? consider_name(s, &sym) : consider(s, &sym);
	return true;
}

static void search_tables(struct search *s, const struct elf_look *look)
{
	if (!search_table(s, look->main, SHT_SYMTAB, look->work) &&
	    (!look->debug || look->debug == look->main ||
	     !search_table(s, look->debug, SHT_SYMTAB, look->work)))
		(void)search_table(s, look->main, SHT_DYNSYM, look->work); /* none: nothing found */
}

int elf_symbol_named(const struct elf_look *look, const char *name, struct elf_symbol *out)
{
	struct search s = {.named = name};

	search_tables(&s, look);
	if (!s.best.name)
		return -ENOENT;
	*out = s.best;
	return s.several ? -ENOTUNIQ : 0;
}

bool elf_symbol_find(const struct elf_look *look, uint64_t vaddr, bool code, struct elf_symbol *out)
{
	struct search s = {.vaddr = vaddr, .code = code};

	search_tables(&s, look);
	if (!s.best.name || (!s.best.size && s.best.start < s.last))
		return false;
	*out = s.best;
	return true;
}
