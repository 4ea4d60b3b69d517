// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Split DWARF (-gsplit-dwarf): the program has a skeleton of each unit, and a .dwo file has the
 * unit itself. libdw opens .dwo files by their paths, which the sandboxed worker may not, and libdw
 * reads addresses from the program's .debug_addr only for units that it opened so. Therefore this
 * file gets a .dwo file from the opener, and reads .debug_addr. Packages of .dwo files (.dwp) are
 * not read.
 */
#include <dwarf.h>
#include <string.h>
#include <unistd.h>

#include "names/dwarf_var.h"

bool dwarf_is_skeleton(Dwarf_Die *unit)
{
	return dwarf_hasattr(unit, DW_AT_dwo_name) || dwarf_hasattr(unit, DW_AT_GNU_dwo_name);
}

void dwarf_split_close(struct dwarf_split *s)
{
	dwarf_end(s->dwarf);
	if (s->elf)
		elf_end(s->elf);
	if (s->fd > 0)
		close(s->fd);
	*s = (struct dwarf_split){0};
}

static const char *text_of(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute a;
	const char *text = dwarf_attr(die, attr, &a) ? dwarf_formstring(&a) : NULL;

	return text ? text : "";
}

/*
 * A skeleton and its unit have the same id. In DWARF 4 the id may be the last thing in .debug_info,
 * and elf_end_strings overwrites the last byte of that section: so only 7 bytes of the id are
 * compared.
 */
#define UNIT_ID_MASK (UINT64_MAX >> 8)

static bool unit_id(Dwarf_Die *unit, uint64_t *id)
{
	Dwarf_Half version;
	uint8_t type;

	return !dwarf_cu_info(unit->cu, &version, &type, NULL, NULL, id, NULL, NULL) &&
	       (type == DW_UT_skeleton || type == DW_UT_split_compile);
}

/* Finds the compile unit of a .dwo file, which type units may precede. False: there is none, or its
 * id is not `want`. */
static bool first_unit(Dwarf *dwarf, uint64_t want, Dwarf_Die *unit)
{
	Dwarf_Off at = 0, next;
	uint64_t id;

	for (; dwarf_unit_at(dwarf, at, &next, unit); at = next)
		if (unit->addr && dwarf_tag(unit) == DW_TAG_compile_unit && unit_id(unit, &id))
			return !((id ^ want) & UNIT_ID_MASK);
	return false;
}

static bool open_file(struct dwarf_split *s, const struct elf_look *look, Dwarf_Die *skeleton)
{
	const char *name = text_of(skeleton, DW_AT_dwo_name);
	struct file_id file;

	if (!*name)
		name = text_of(skeleton, DW_AT_GNU_dwo_name);
	s->fd = elf_split_open(look->finder, look->file, text_of(skeleton, DW_AT_comp_dir), name);
	if (s->fd < 0 || !elf_file_id(s->fd, &file))
		return false;
	s->elf = elf_checked(s->fd, file.size);
	if (!s->elf || elf_debug_bytes(s->elf) - 1 >= ELF_DEBUG_BYTES)
		return false;
	elf_end_strings(s->elf);
	s->dwarf = dwarf_begin_elf(s->elf, DWARF_C_READ, NULL);
	return s->dwarf != NULL;
}

/* Where the unit's part of .debug_addr begins. */
static void find_addresses(struct dwarf_split *s, const struct elf_look *look, Dwarf_Die *skeleton)
{
	GElf_Shdr sh;
	Elf_Scn *scn = elf_section(look->debug, ".debug_addr", &sh);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	uint64_t base = 0;
	Dwarf_Die unit;

	if (!data || !data->d_buf || !dwarf_diecu(skeleton, &unit, &s->address_bytes, NULL))
		return;
	if (!die_number(skeleton, DW_AT_addr_base, &base))
		(void)die_number(skeleton, DW_AT_GNU_addr_base, &base); /* none: from the start */
	if (base >= data->d_size)
		return;
	s->addresses = (const char *)data->d_buf + base;
	s->naddresses = s->address_bytes ? (data->d_size - base) / s->address_bytes : 0;
}

bool dwarf_split_open(struct dwarf_session *session, const struct elf_look *look,
		      Dwarf_Die *skeleton, Dwarf_Die *unit)
{
	struct dwarf_split *s = &session->split;
	uint64_t id;

	dwarf_split_close(s);
	if (!unit_id(skeleton, &id) || !open_file(s, look, skeleton) ||
	    !first_unit(s->dwarf, id, unit)) {
		dwarf_split_close(s);
		return false;
	}
	s->skeleton = *skeleton;
	find_addresses(s, look, skeleton);
	return true;
}

bool dwarf_split_address(const struct dwarf_split *s, uint64_t number, uint64_t *out)
{
	uint32_t narrow;

	if (number >= s->naddresses)
		return false;
	if (s->address_bytes == sizeof(*out)) {
		memcpy(out, s->addresses + number * sizeof(*out), sizeof(*out));
		return true;
	}
	if (s->address_bytes != sizeof(narrow))
		return false;
	memcpy(&narrow, s->addresses + number * sizeof(narrow), sizeof(narrow));
	*out = narrow;
	return true;
}
