// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/dwarf_var.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "names/demangle.h"

#define DEPTH_MAX 64
#define UNITS_A_SESSION 256
#define SAME_PLACE_MAX 16 /* descriptions of one address that are compared */
#define SPLITS_MAX 512	  /* .dwo files opened for an index, 0.1 ms each: a browser has 30,000 */

/* ---- units ---- */

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
	dwarf_split_close(&s->split);
	dwarf_end(s->main);
	dwarf_end(s->alt);
	*s = (struct dwarf_session){0};
}

bool dwarf_unit_at(Dwarf *dwarf, Dwarf_Off at, Dwarf_Off *next, Dwarf_Die *die)
{
	size_t head;

	if (dwarf_next_unit(dwarf, at, next, &head, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    *next <= at)
		return false;
	if (!dwarf_offdie(dwarf, at + head, die))
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
	for (; dwarf_unit_at(s->main, at, &next, &die); at = next) {
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

/* ---- the index ---- */

struct scan {
	struct dwarf_index *index;
	const struct elf_file *file;
	const struct elf_look *look;
	struct dwarf_session *session;
	uint32_t left;	 /* entries to look at */
	uint32_t splits; /* .dwo files to open */
	struct work *work;
};

#define ADDRESS_BYTES 16 /* of an operation and its address, at most */

/* Its location, if that is one address whatever happens. A longer one is not even decoded, which
 * would take many times its size. */
static bool fixed_address(const struct dwarf_split *split, Dwarf_Die *var, uint64_t *out)
{
	Dwarf_Attribute location, operand;
	Dwarf_Block block;
	Dwarf_Addr addr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(var, DW_AT_location, &location) || dwarf_formblock(&location, &block) ||
	    block.length > ADDRESS_BYTES || dwarf_getlocation(&location, &ops, &n) || n != 1)
		return false;
	switch (ops[0].atom) {
	case DW_OP_addr:
		*out = ops[0].number;
		return true;
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
		if (split->dwarf)
			return dwarf_split_address(split, ops[0].number, out);
		if (dwarf_getlocation_attr(&location, ops, &operand) ||
		    dwarf_formaddr(&operand, &addr))
			return false;
		*out = addr;
		return true;
	}
	return false;
}

static void add_variable(struct scan *s, Dwarf_Die *var)
{
	struct dwarf_index *x = s->index;
	struct dwarf_split *split = &s->session->split;
	struct dwarf_place *grown;
	uint64_t addr;

	/* What the linker threw away lies at 0. */
	if (!fixed_address(split, var, &addr) || !addr || !elf_file_loads(s->file, addr))
		return;
	grown = x->n < DWARF_INDEX_MAX ? array_room(x->v, &x->room, x->n, 1, sizeof(*grown)) : NULL;
	if (!grown) {
		x->partial = true;
		return;
	}
	x->v = grown;
	x->v[x->n++] = (struct dwarf_place){
		.addr = addr,
		.die = (uint32_t)dwarf_dieoffset(var),
		.skeleton = split->dwarf ? (uint32_t)dwarf_dieoffset(&split->skeleton) : 0,
	};
}

static bool goes_into(const struct scan *s, int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return s->index->deep;
	}
	return false;
}

static void scan_children(struct scan *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die, next;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return;
	for (;;) {
		int tag = dwarf_tag(&die);

		if (!s->left || work_over(s->work)) {
			s->left = 0; /* nor of what this lies in */
			s->index->partial = true;
			return;
		}
		s->left--;
		if (tag == DW_TAG_variable)
			add_variable(s, &die);
		else if (goes_into(s, tag))
			scan_children(s, &die, depth + 1);
		if (!s->left) /* to find the sibling libdw may walk through all that lies within */
			continue;
		/* One that goes back is a loop. */
		if (dwarf_siblingof(&die, &next) || dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return;
		die = next;
	}
}

static bool scan_unit(Dwarf_Die *unit, void *ctx)
{
	struct scan *s = ctx;
	int tag = dwarf_tag(unit);
	Dwarf_Die split;

	if (dwarf_is_skeleton(unit) && !s->splits) {
		s->index->partial = true;
	} else if (dwarf_is_skeleton(unit)) {
		s->splits--;
		if (dwarf_split_open(s->session, s->look, unit, &split))
			scan_children(s, &split, 0);
		dwarf_split_close(&s->session->split);
	} else if (tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit) {
		scan_children(s, unit, 0);
	}
	return false;
}

static int by_address(const void *a, const void *b)
{
	const struct dwarf_place *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->skeleton != y->skeleton)
		return x->skeleton < y->skeleton ? -1 : 1;
	return x->die < y->die ? -1 : x->die > y->die;
}

static void make_index(struct elf_file *f, const struct elf_look *look, bool deep)
{
	struct dwarf_index *x = &f->index;
	struct dwarf_session session;
	struct scan s = {.index = x,
			 .file = f,
			 .look = look,
			 .session = &session,
			 .left = DWARF_ENTRIES_MAX,
			 .splits = SPLITS_MAX,
			 .work = look->work};

	x->n = 0;
	x->made = true;
	x->deep = deep;
	x->partial = false;
	if (dwarf_each_unit(&session, look, scan_unit, &s))
		dwarf_session_close(&session);
	if (x->n)
		qsort(x->v, x->n, sizeof(*x->v), by_address);
	if (work_over(look->work)) /* from the start when there is more time */
		x->made = false;
}

/* ---- the description ---- */

bool dwarf_full_name(Dwarf_Die *die, const struct elf_symbol *symbol, char *out, size_t len)
{
	Dwarf_Attribute a;
	const char *linkage = NULL, *plain = dwarf_diename(die);

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		linkage = dwarf_formstring(&a);
	if ((linkage && demangle(out, len, linkage)) ||
	    (symbol && demangle(out, len, symbol->name)))
		return true;
	if (!plain || !*plain)
		return false;
	(void)snprintf(out, len, "%s", plain); /* cut is fine */
	return true;
}

/* The variable's DIE, valid until the next call. */
static bool die_at(struct dwarf_session *s, const struct elf_look *look,
		   const struct dwarf_place *place, Dwarf_Die *die)
{
	Dwarf_Die skeleton, unit;

	if (!place->skeleton)
		return dwarf_offdie(s->main, place->die, die);
	return dwarf_offdie(s->main, place->skeleton, &skeleton) &&
	       dwarf_split_open(s, look, &skeleton, &unit) &&
	       dwarf_offdie(s->split.dwarf, place->die, die);
}

/* Is it that, and how far in? False: vaddr is not in it, or its size is not known. */
static bool describe(struct dwarf_session *s, const struct elf_look *look,
		     const struct dwarf_place *place, uint64_t vaddr,
		     const struct elf_symbol *symbol, struct dwarf_answer *out)
{
	struct dwarf_path path = {
		.text = out->text, .len = out->text_len, .steps = DWARF_STEPS, .work = s->work};
	Dwarf_Die var, type, unit;
	uint64_t size;

	if (!die_at(s, look, place, &var) || !die_type(&var, &type) ||
	    !type_size(&path, &type, &size) || vaddr - place->addr >= size ||
	    !dwarf_full_name(&var, symbol, out->text, out->text_len))
		return false;
	path.rust = dwarf_diecu(&var, &unit, NULL, NULL) && dwarf_srclang(&unit) == DW_LANG_Rust;
	path.at = strlen(out->text);
	dwarf_path_append(&path, &type, vaddr - place->addr);
	dwarf_decl_place(&var, place->skeleton ? &s->split.skeleton : NULL, out->place,
			 out->place_len);
	out->member = path.member;
	return true;
}

/* Two names for one place (an alias): which is meant is not known. */
static bool one_name(struct dwarf_session *s, const struct elf_look *look,
		     const struct dwarf_place *v, size_t n)
{
	char first[NAME_LEN] = "";
	const char *name;
	Dwarf_Die die;

	for (size_t i = 0; n > 1 && i < n; i++) {
		name = die_at(s, look, &v[i], &die) ? dwarf_diename(&die) : NULL;
		if (!name || strlen(name) >= sizeof(first))
			return false;
		if (!i)
			memcpy(first, name, strlen(name) + 1);
		else if (strcmp(first, name))
			return false;
	}
	return true;
}

static bool find_in_index(const struct dwarf_index *x, const struct elf_look *look, uint64_t vaddr,
			  const struct elf_symbol *symbol, struct dwarf_answer *out)
{
	size_t at = array_upto(x->v, x->n, sizeof(*x->v), vaddr), n = 1;
	const struct dwarf_place *p;
	struct dwarf_session s;
	bool found = false;

	if (!at)
		return false;
	for (at--; at && x->v[at - 1].addr == x->v[at].addr;)
		at--; /* the first at that place */
	p = &x->v[at];
	if ((symbol && symbol->start != p->addr) || !dwarf_session_open(&s, look))
		return false;
	while (p + n < x->v + x->n && p[n].addr == p->addr && n < SAME_PLACE_MAX)
		n++;
	if (one_name(&s, look, p, n))
		for (size_t i = 0; i < n && !found; i++)
			found = describe(&s, look, &p[i], vaddr, symbol, out);
	dwarf_session_close(&s);
	return found;
}

bool dwarf_var_find(struct elf_file *f, const struct elf_look *look, uint64_t vaddr,
		    const struct elf_symbol *symbol, struct dwarf_answer *out)
{
	if (!look->dwarf)
		return false;
	if (!f->index.made)
		make_index(f, look, false);
	if (!f->index.made)
		return false;
	if (find_in_index(&f->index, look, vaddr, symbol, out))
		return true;
	if (f->index.deep || work_over(look->work))
		return false;
	make_index(f, look, true);
	return find_in_index(&f->index, look, vaddr, symbol, out);
}
