// SPDX-License-Identifier: GPL-2.0-or-later
/* Code: the functions that are inlined at an address, and the line of each. */
#include "names/dwarf_var.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "names/internal.h"

#define DEPTH_MAX 64
#define ORIGINS_MAX 16

/* ---- files and lines ---- */

/* A file of a unit's list, by its number; NULL: none. Number 0 is a file since DWARF 5. */
static const char *file_of(Dwarf_Die *unit, Dwarf_Word number)
{
	Dwarf_Half version;
	Dwarf_Files *files;
	size_t n;

	if (dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    (!number && version < 5) || dwarf_getsrcfiles(unit, &files, &n) || number >= n)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static void place_text(const char *file, uint64_t line, char *out, size_t len)
{
	if (file && line)
		(void)snprintf(out, len, "%s:%" PRIu64, dwarf_basename(file),
			       line); /* cut is fine */
	else
		*out = '\0';
}

/* A file's number counts in the list of the DIE's unit. clang's units in .dwo files have no list:
 * they use their skeleton's. */
static void place_of(Dwarf_Die *die, Dwarf_Die *skeleton, unsigned int file_attr,
		     unsigned int line_attr, char *out, size_t len)
{
	uint64_t file, line;
	const char *path;
	Dwarf_Die unit;

	*out = '\0';
	if (!die_number(die, file_attr, &file) || !die_number(die, line_attr, &line) ||
	    !dwarf_diecu(die, &unit, NULL, NULL))
		return;
	path = file_of(&unit, file);
	if (!path && skeleton)
		path = file_of(skeleton, file);
	place_text(path, line, out, len);
}

void dwarf_decl_place(Dwarf_Die *die, Dwarf_Die *skeleton, char *out, size_t len)
{
	Dwarf_Attribute a;
	Dwarf_Die at = *die;

	*out = '\0';
	/* Where the definition has no line of its own it refers to a declaration, perhaps in
	 * another unit. */
	for (int i = 0; i < ORIGINS_MAX; i++) {
		place_of(&at, skeleton, DW_AT_decl_file, DW_AT_decl_line, out, len);
		if (*out ||
		    (!dwarf_attr(&at, DW_AT_specification, &a) &&
		     !dwarf_attr(&at, DW_AT_abstract_origin, &a)) ||
		    !dwarf_formref_die(&a, &at))
			return;
	}
}

static void line_of(Dwarf_Die *unit, uint64_t vaddr, char *out, size_t len)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int number;

	*out = '\0';
	if (line && !dwarf_lineno(line, &number) && number > 0)
		place_text(dwarf_linesrc(line, NULL, NULL), (uint64_t)number, out, len);
}

/* ---- what is inlined there ---- */

struct code_search {
	uint64_t vaddr;
	Dwarf_Die inlined[DWARF_FRAMES_MAX - 1]; /* outermost first */
	size_t n;
	uint32_t left; /* entries to look at */
	struct work *work;
	struct dwarf_frames *out;
};

enum scope {
	SCOPE_NONE, /* no code in it */
	SCOPE_OF,   /* it has code, but addresses of its own only sometimes */
	SCOPE_CODE, /* a function, a block */
	SCOPE_INLINED,
};

static enum scope scope_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return SCOPE_OF;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges)
			       ? SCOPE_CODE
			       : SCOPE_OF;
	case DW_TAG_subprogram:
		return SCOPE_CODE;
	case DW_TAG_inlined_subroutine:
		return SCOPE_INLINED;
	}
	return SCOPE_NONE;
}

/* Collects what is inlined at the address, from the outermost on. True: it lies below `parent`, or
 * there is no time left. */
static bool descend(struct code_search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die, next;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return false;
	for (;;) {
		enum scope scope = scope_of(&die);

		if (!s->left || work_over(s->work)) {
			s->left = 0;
			return true;
		}
		s->left--;
		if (scope == SCOPE_OF && descend(s, &die, depth + 1))
			return true;
		if (scope >= SCOPE_CODE && dwarf_haspc(&die, s->vaddr) > 0) {
			if (scope == SCOPE_INLINED && s->n < DWARF_FRAMES_MAX - 1)
				s->inlined[s->n++] = die;
			(void)descend(s, &die, depth + 1);
			return true;
		}
		/* One that goes back is a loop. */
		if (dwarf_siblingof(&die, &next) || dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return false;
		die = next;
	}
}

static bool is_mangled(Dwarf_Die *die)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
	       dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a);
}

/* The last child of `die` that begins at `target` or before: that DIE, or the one it lies in.
 * False: none. */
static bool child_towards(struct code_search *s, Dwarf_Die *die, Dwarf_Off target)
{
	Dwarf_Die child, next;

	if (dwarf_child(die, &child) || dwarf_dieoffset(&child) > target)
		return false;
	while (s->left && !work_over(s->work) && !dwarf_siblingof(&child, &next) &&
	       dwarf_dieoffset(&next) > dwarf_dieoffset(&child) &&
	       dwarf_dieoffset(&next) <= target) {
		child = next;
		s->left--;
	}
	*die = child;
	return true;
}

/* "std::condition_variable::": what the function is declared in. For those whose name is not
 * mangled, as of templates that are made of lambdas. */
static void scope_text(struct code_search *s, Dwarf_Die *die, char *out, size_t len)
{
	Dwarf_Die at = *die, unit, scope;
	Dwarf_Attribute a;
	const char *name;

	*out = '\0';
	for (int i = 0; i < ORIGINS_MAX; i++)
		if ((!dwarf_attr(&at, DW_AT_abstract_origin, &a) &&
		     !dwarf_attr(&at, DW_AT_specification, &a)) ||
		    !dwarf_formref_die(&a, &at))
			break;
	if (!dwarf_diecu(&at, &unit, NULL, NULL))
		return;
	scope = unit;
	for (int depth = 0; depth < DEPTH_MAX && child_towards(s, &scope, dwarf_dieoffset(&at));
	     depth++) {
		if (dwarf_dieoffset(&scope) == dwarf_dieoffset(&at))
			return;
		name = dwarf_diename(&scope);
		if (name || dwarf_tag(&scope) == DW_TAG_namespace)
			name_print(out, len, true, "%s::", name ? name : "(anonymous namespace)");
	}
	*out = '\0'; /* it is not there */
}

static void inlined_name(struct code_search *s, Dwarf_Die *unit, Dwarf_Die *die, char *out,
			 size_t len)
{
	char name[NAME_LEN];

	*out = '\0';
	if (!dwarf_full_name(die, NULL, name, sizeof(name)))
		(void)snprintf(name, sizeof(name), "?"); /* fits */
	else if (dwarf_srclang(unit) != DW_LANG_Rust && !is_mangled(die))
		scope_text(s, die, out, len);
	name_print(out, len, true, "%s", name);
}

/* Each is called where it says; the address lies on the line that the table of lines says. */
static void fill_frames(struct code_search *s, Dwarf_Die *unit)
{
	struct dwarf_frames *out = s->out;

	line_of(unit, s->vaddr, out->v[0].place, sizeof(out->v[0].place));
	out->n = 1;
	out->v[0].name[0] = '\0';
	for (size_t i = s->n; i--; out->n++) {
		struct dwarf_frame *inner = &out->v[out->n - 1], *outer = &out->v[out->n];

		inlined_name(s, unit, &s->inlined[i], inner->name, sizeof(inner->name));
		outer->name[0] = '\0';
		place_of(&s->inlined[i], NULL, DW_AT_call_file, DW_AT_call_line, outer->place,
			 sizeof(outer->place));
	}
}

static bool code_in_unit(Dwarf_Die *unit, void *ctx)
{
	struct code_search *s = ctx;
	int tag = dwarf_tag(unit);

	if ((tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) ||
	    dwarf_haspc(unit, s->vaddr) <= 0)
		return false;
	(void)descend(s, unit, 0);
	fill_frames(s, unit);
	return true;
}

bool dwarf_code_find(const struct elf_look *look, uint64_t vaddr, struct dwarf_frames *out)
{
	struct code_search search = {
		.vaddr = vaddr, .left = DWARF_ENTRIES_MAX, .work = look->work, .out = out};
	struct dwarf_session s;

	out->n = 0;
	if (dwarf_each_unit(&s, look, code_in_unit, &search))
		dwarf_session_close(&s);
	return out->n > 0;
}
