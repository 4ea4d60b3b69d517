// SPDX-License-Identifier: GPL-2.0-or-later
/* Units of DWARF, and lines of code. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "names/dwarf_var.h"

#define UNITS_A_SESSION 256

bool dwarf_session_open(struct dwarf_session *s, const struct elf_look *look)
{
	*s = (struct dwarf_session){.work = look->work};
	if (!look->dwarf)
		return false;
	s->main = dwarf_begin_elf(look->debug, DWARF_C_READ, NULL);
	if (s->main && look->alt)
		s->alt = dwarf_begin_elf(look->alt, DWARF_C_READ, NULL);
	if (!s->main || (look->alt && !s->alt)) {
		dwarf_session_close(s);
		return false;
	}
	/* Always ours: libdw would open whatever path the file names. */
	if (s->alt)
		dwarf_setalt(s->main, s->alt);
	return true;
}

void dwarf_session_close(struct dwarf_session *s)
{
	dwarf_end(s->main);
	dwarf_end(s->alt);
	*s = (struct dwarf_session){0};
}

/* The unit at `at`, its first DIE, and where the next is; false: no more. */
static bool unit_at(struct dwarf_session *s, Dwarf_Off at, Dwarf_Off *next, Dwarf_Die *die)
{
	size_t head;

	if (dwarf_next_unit(s->main, at, next, &head, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    *next <= at)
		return false;
	if (!dwarf_offdie(s->main, at + head, die))
		memset(die, 0, sizeof(*die));
	return true;
}

bool dwarf_each_unit(struct dwarf_session *s, const struct elf_look *look,
		     bool (*visit)(Dwarf_Die *unit, void *ctx), void *ctx)
{
	Dwarf_Off at = 0, next;
	Dwarf_Die die;
	size_t n = 0;

	if (!dwarf_session_open(s, look))
		return false;
	for (; unit_at(s, at, &next, &die); at = next) {
		if (die.addr && visit(&die, ctx))
			return true;
		if (work_over(look->work))
			break;
		if (++n % UNITS_A_SESSION)
			continue;
		dwarf_session_close(s);
		if (!dwarf_session_open(s, look))
			return false;
	}
	dwarf_session_close(s);
	return false;
}

const char *dwarf_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct line_search {
	uint64_t vaddr;
	char *place;
	size_t len;
};

static bool line_in_unit(Dwarf_Die *unit, void *ctx)
{
	const struct line_search *search = ctx;
	int tag = dwarf_tag(unit), number;
	Dwarf_Line *line;
	const char *file;

	if ((tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) ||
	    dwarf_haspc(unit, search->vaddr) <= 0)
		return false;
	line = dwarf_getsrc_die(unit, search->vaddr);
	file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (file && !dwarf_lineno(line, &number) && number > 0)
		(void)snprintf(search->place, search->len, "%s:%d", dwarf_basename(file),
			       number); /* cut is fine */
	return true;
}

bool dwarf_line_find(const struct elf_look *look, uint64_t vaddr, char *place, size_t len)
{
	struct line_search search = {vaddr, place, len};
	struct dwarf_session s;

	*place = '\0';
	if (dwarf_each_unit(&s, look, line_in_unit, &search))
		dwarf_session_close(&s);
	return *place != '\0';
}
