// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/dwarf_var.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64

/* ---- locks: the name ends at them ---- */

static bool listed(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static bool starts(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(text, *list, strlen(*list)))
			return true;
	return false;
}

/*
 * What stands in Rust's library where C has the above: in wrappers such as Mutex<T>. What an atomic
 * has inside is its library's too, and another thing from release to release.
 */
static bool is_rust_lock(const char *name)
{
	static const char *const names[] = {
		"Mutex",      "RwLock",	   "Condvar",	"Once",	     "RawMutex",    "RawRwLock",
		"AtomicBool", "AtomicI8",  "AtomicI16", "AtomicI32", "AtomicI64",   "AtomicIsize",
		"AtomicU8",   "AtomicU16", "AtomicU32", "AtomicU64", "AtomicUsize", NULL,
	};
	static const char *const generic[] = {"AtomicPtr<", "Atomic<", NULL};

	return listed(name, names) || starts(name, generic);
}

/* "._M_mutex" in std::mutex, ".inner" in Mutex<T>: the library's name for its own part. */
static bool is_library_member(bool rust, const char *type, const char *member)
{
	static const char *const rust_types[] = {
		"Mutex<",    "RwLock<",	     "ReentrantMutex<", "ReentrantLock<", "OnceLock<",
		"LazyLock<", "MovableMutex", "MovableRwLock", /* the last two as in Rust 1.63 */
		NULL,
	};
	static const char *const rust_members[] = {"inner", "raw", "once", "__0", NULL};
	static const char *const types[] = {
		"mutex",	"recursive_mutex",	  "timed_mutex",
		"shared_mutex", "shared_timed_mutex",	  "recursive_timed_mutex",
		"__mutex_base", "__recursive_mutex_base", "condition_variable",
		"__condvar",	"__shared_mutex_pthread", "condition_variable_any",
		"once_flag",	"__shared_mutex_cv",	  NULL,
	};

	if (rust)
		return starts(type, rust_types) && listed(member, rust_members);
	return listed(type, types) && (!strncmp(member, "_M_", 3) || !strncmp(member, "__", 2));
}

/* ---- members ---- */

/* OPEN: it starts at or before the byte, and its type is only declared in this unit. */
enum cover { COVERS_NOT, COVERS, OPEN, UNSURE };

#define MEMBER_BYTES 16 /* of an operation and its offset, at most */

/* Bytes before a member; DWARF 2 wrote an expression for it. */
static bool member_start(Dwarf_Die *member, bool in_union, uint64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Block block;
	Dwarf_Word v;
	Dwarf_Op *ops;
	size_t n;

	*out = 0;
	if (!dwarf_attr(member, DW_AT_data_member_location, &a))
		return in_union;
	if (!dwarf_formudata(&a, &v)) {
		*out = v;
		return true;
	}
	if (dwarf_tag(member) == DW_TAG_inheritance || dwarf_formblock(&a, &block) ||
	    block.length > MEMBER_BYTES || dwarf_getlocation(&a, &ops, &n) || n != 1 ||
	    ops[0].atom != DW_OP_plus_uconst)
		return false;
	*out = ops[0].number;
	return true;
}

/* Does it have anything in it? Empty base classes lie over other members. */
static bool has_data(struct dwarf_path *p, Dwarf_Die type, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || !type_peel(p, &type, NULL))
		return true; /* to be on the safe side */
	if (dwarf_tag(&type) != DW_TAG_structure_type && dwarf_tag(&type) != DW_TAG_class_type)
		return true;
	if (die_flag(&type, DW_AT_declaration))
		return true;
	if (dwarf_child(&type, &die))
		return false;
	do {
		Dwarf_Die base;

		if (dwarf_tag(&die) == DW_TAG_variant_part)
			return true;
		if (dwarf_tag(&die) == DW_TAG_member && !die_flag(&die, DW_AT_external))
			return true;
		if (dwarf_tag(&die) == DW_TAG_inheritance &&
		    (!die_type(&die, &base) || has_data(p, base, depth + 1)))
			return true;
	} while (die_next(p, &die));
	return !p->steps;
}

/*
 * First bit of a bit field. DWARF 2 and 3 count from the highest bit of the storage unit that it is
 * in, little-endian machines from the lowest.
 */
static bool first_bit(struct dwarf_path *p, Dwarf_Die *member, uint64_t bits, uint64_t *out)
{
	uint64_t start = 0, from_top, unit;
	Dwarf_Die type;

	/* For a union's sake: a missing location is 0. */
	if (!member_start(member, true, &start) || start > UINT32_MAX)
		return false;
	if (die_number(member, DW_AT_data_bit_offset, out) && *out < UINT32_MAX) {
		*out += 8 * start;
		return true;
	}
	if (!die_type(member, &type) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||
	    !die_number(member, DW_AT_bit_offset, &from_top) ||
	    (!die_number(member, DW_AT_byte_size, &unit) && !type_size(p, &type, &unit)) ||
	    unit > 16 || from_top > 8 * unit || bits > 8 * unit - from_top)
		return false;
	*out = 8 * start + 8 * unit - from_top - bits;
	return true;
}

/* A bit field: it shares its bytes with others. */
static enum cover bits_cover(struct dwarf_path *p, Dwarf_Die *member, uint64_t offset,
			     uint64_t *start)
{
	uint64_t bits, from;

	if (!die_number(member, DW_AT_bit_size, &bits) || bits > 128 ||
	    !first_bit(p, member, bits, &from))
		return UNSURE;
	*start = from / 8;
	return offset >= from / 8 && offset < (from + bits + 7) / 8 ? COVERS : COVERS_NOT;
}

/* Does this child of a structure or union hold the byte? */
static enum cover covers(struct dwarf_path *p, Dwarf_Die *member, bool in_union, uint64_t offset,
			 uint64_t *start)
{
	Dwarf_Die type;
	uint64_t size;

	*start = 0;
	switch (dwarf_tag(member)) {
	case DW_TAG_variant_part: /* a Rust enum: which variant it is now is not known */
		return UNSURE;
	case DW_TAG_inheritance:
		if (die_number(member, DW_AT_virtuality, &size) && size)
			return UNSURE;
		break;
	case DW_TAG_member:
		if (die_flag(member, DW_AT_external) || die_flag(member, DW_AT_declaration))
			return COVERS_NOT; /* static */
		if (dwarf_hasattr(member, DW_AT_bit_size))
			return bits_cover(p, member, offset, start);
		break;
	default:
		return COVERS_NOT;
	}
	if (!member_start(member, in_union, start) || !die_type(member, &type))
		return UNSURE;
	if (offset < *start)
		return COVERS_NOT;
	if (dwarf_tag(member) == DW_TAG_inheritance && !has_data(p, type, 0))
		return COVERS_NOT;
	if (type_size(p, &type, &size))
		return offset - *start < size ? COVERS : COVERS_NOT;
	return !in_union && dwarf_tag(member) == DW_TAG_member && type_peel(p, &type, NULL) &&
			       die_flag(&type, DW_AT_declaration)
		       ? OPEN
		       : UNSURE;
}

/*
 * The one member that holds the byte: false if there is none, or more, or doubt. One whose type is
 * only declared (clang leaves out classes of the library) reaches to the member that follows.
 */
static bool member_at(struct dwarf_path *p, Dwarf_Die *type, uint64_t offset, Dwarf_Die *out,
		      uint64_t *start)
{
	bool in_union = dwarf_tag(type) == DW_TAG_union_type, open = false;
	uint64_t at, last = 0; /* where the last member seen before the byte starts */
	size_t found = 0;
	Dwarf_Die die;

	*start = 0;
	if (dwarf_child(type, &die))
		return false;
	do {
		enum cover c = covers(p, &die, in_union, offset, &at);

		if (c == UNSURE)
			return false;
		found += c == COVERS;
		if (c == COVERS || (c == OPEN && !found && at >= last)) {
			*out = die;
			*start = at;
			open = c == OPEN;
		} else if (dwarf_tag(&die) == DW_TAG_member && at <= offset && at > last) {
			open = false; /* the byte is behind this one */
		}
		if (at <= offset && at > last)
			last = at;
	} while (die_next(p, &die));
	return (found == 1 || (!found && open)) && p->steps;
}

/* ---- the path ---- */

static void append(struct dwarf_path *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct dwarf_path *p, const char *fmt, ...)
{
	size_t room = p->len - p->at;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(p->text + p->at, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		p->at += (size_t)n < room ? (size_t)n : room - 1;
}

/* Where a walk stands: `inner` within the type, `shown` since the last name in the text. */
struct walk {
	Dwarf_Die type;
	uint64_t inner, shown;
	size_t user_end; /* of the text without trailing members of a library */
};

/* False: it stops here. */
static bool into_array(struct dwarf_path *p, struct walk *w)
{
	struct type_dims d;
	Dwarf_Die element;
	uint64_t size, index;

	if (!type_dimensions(p, &w->type, &d) || !die_type(&w->type, &element) ||
	    !type_size(p, &element, &size) || !size)
		return false;
	index = w->inner / size;
	for (size_t i = 0; i < d.n; i++) {
		uint64_t below = 1; /* elements in one step of this dimension */

		for (size_t j = i + 1; j < d.n; j++)
			below *= d.count[j];
		if (!below || index / below >= d.count[i])
			return false;
		append(p, "[%" PRIu64 "]", index / below);
		index %= below;
	}
	w->inner %= size;
	w->shown = w->inner;
	w->type = element;
	w->user_end = p->at;
	p->member = true;
	return true;
}

static bool into_member(struct dwarf_path *p, struct walk *w)
{
	const char *holder = die_name(&w->type), *name;
	Dwarf_Die member, type;
	uint64_t start;

	if (!member_at(p, &w->type, w->inner, &member, &start) || !die_type(&member, &type))
		return false;
	w->inner -= start;
	w->type = type;
	if (dwarf_hasattr(&member, DW_AT_bit_size))
		w->inner = 0;
	name = dwarf_tag(&member) == DW_TAG_member ? die_name(&member) : "";
	if (!*name)
		return true; /* an anonymous struct, a base class */
	/* Rust's "__0" is the user's ".0" */
	append(p, ".%s", p->rust && !strncmp(name, "__", 2) ? name + 2 : name);
	w->shown = w->inner;
	if (!is_library_member(p->rust, holder, name))
		w->user_end = p->at;
	p->member = true;
	return true;
}

void dwarf_path_append(struct dwarf_path *p, const Dwarf_Die *type, uint64_t offset)
{
	struct walk w = {.type = *type, .inner = offset, .shown = offset, .user_end = p->at};
	size_t start = p->at;
	bool more = true;

	for (int depth = 0; more && depth < DEPTH_MAX; depth++) {
		bool lock = false;

		if (type_peel(p, &w.type, &lock) &&
		    (lock || (p->rust && is_rust_lock(die_name(&w.type))))) {
			/* Its name is that of the user's variable or member which is one. */
			p->at = w.user_end;
			p->text[p->at] = '\0';
			w.shown = w.inner;
			break;
		}
		switch (dwarf_tag(&w.type)) {
		case DW_TAG_array_type:
			more = into_array(p, &w);
			break;
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
			more = into_member(p, &w);
			break;
		default:
			more = false;
		}
	}
	if (p->at == start)
		p->member = false;
	if (w.shown)
		append(p, "+0x%" PRIx64, w.shown);
}
