// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/dwarf_type.h"

#include <dwarf.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 64
#define DIMENSIONS_MAX 8

/* One step less; false: no more. */
static bool step(struct dwarf_path *p)
{
	if (!p->steps)
		return false;
	p->steps--;
	return true;
}

static bool number(Dwarf_Die *die, unsigned int attr, uint64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, attr, &a) || dwarf_formudata(&a, &v))
		return false;
	*out = v;
	return true;
}

static bool flag(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute a;
	bool v = false;

	return dwarf_attr(die, attr, &a) && !dwarf_formflag(&a, &v) && v;
}

static const char *name_of(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name ? name : "";
}

bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, type);
}

/* The next child or sibling. A sibling that lies before is a loop somebody built. */
static bool next_die(struct dwarf_path *p, Dwarf_Die *die)
{
	Dwarf_Die next;

	if (!step(p) || dwarf_siblingof(die, &next) ||
	    dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
		return false;
	*die = next;
	return true;
}

/* ---- locks: the name ends at them ---- */

static bool listed(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

/* Types of the C library whose insides are nobody's business. */
static bool is_c_lock(const char *name)
{
	static const char *const names[] = {
		"pthread_mutex_t",
		"pthread_cond_t",
		"pthread_rwlock_t",
		"pthread_spinlock_t",
		"pthread_once_t",
		"pthread_barrier_t",
		"sem_t",
		"mtx_t",
		"cnd_t",
		"once_flag",
		NULL,
	};

	return listed(name, names);
}

/* What stands in Rust's library where C has the above: in wrappers such as Mutex<T>. */
static bool is_rust_lock(const char *name)
{
	static const char *const names[] = {
		"Mutex", "RwLock", "Condvar", "Once", "RawMutex", "RawRwLock", NULL,
	};

	return listed(name, names);
}

static bool starts(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(text, *list, strlen(*list)))
			return true;
	return false;
}

/* "._M_mutex" in std::mutex, ".inner" in Mutex<T>: the library's name for its own part. */
static bool is_library_member(bool rust, const char *type, const char *member)
{
	static const char *const rust_types[] = {
		"Mutex<",    "RwLock<", "ReentrantMutex<", "ReentrantLock<", "OnceLock<",
		"LazyLock<", NULL,
	};
	static const char *const rust_members[] = {"inner", "raw", "once", NULL};
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

/* ---- sizes ---- */

/* From a declaration to the type unit that has the rest. */
static bool whole_type(Dwarf_Die *type)
{
	Dwarf_Attribute a;

	return dwarf_attr(type, DW_AT_signature, &a) && dwarf_formref_die(&a, type);
}

/*
 * To the type behind typedefs and qualifiers. `lock`: one of the names on the way is a lock's (may
 * be NULL).
 */
static bool peel(struct dwarf_path *p, Dwarf_Die *type, bool *lock)
{
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
			if (lock && is_c_lock(name_of(type)))
				*lock = true;
			break;
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			break;
		default:
			return !dwarf_hasattr(type, DW_AT_signature) || whole_type(type);
		}
		if (!step(p) || !dwarf_type_of(type, type))
			return false;
	}
	return false;
}

struct dimensions {
	uint64_t count[DIMENSIONS_MAX];
	size_t n;
};

/* False: an index is not from 0, its count unknown, or they have gaps. */
static bool array_dimensions(struct dwarf_path *p, Dwarf_Die *array, struct dimensions *d)
{
	Dwarf_Die die;
	uint64_t v;

	d->n = 0;
	if (dwarf_hasattr(array, DW_AT_byte_stride) || dwarf_hasattr(array, DW_AT_bit_stride) ||
	    dwarf_hasattr(array, DW_AT_GNU_vector) || dwarf_child(array, &die))
		return false;
	do {
		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		if (d->n == DIMENSIONS_MAX || dwarf_hasattr(&die, DW_AT_byte_stride) ||
		    dwarf_hasattr(&die, DW_AT_bit_stride) ||
		    (number(&die, DW_AT_lower_bound, &v) && v))
			return false;
		if (number(&die, DW_AT_count, &v))
			d->count[d->n++] = v;
		else if (number(&die, DW_AT_upper_bound, &v) && v < UINT32_MAX)
			d->count[d->n++] = v + 1; /* -1 is how some say 0 */
		else
			return false;
	} while (next_die(p, &die));
	return d->n > 0;
}

static bool pointer_size(Dwarf_Die *type, uint64_t *size)
{
	uint8_t bytes = 0;
	Dwarf_Die cu;

	*size = dwarf_diecu(type, &cu, &bytes, NULL) ? bytes : 0;
	return *size != 0;
}

static bool size_at(struct dwarf_path *p, Dwarf_Die type, uint64_t *size, int depth)
{
	struct dimensions d;
	Dwarf_Die element;

	if (depth == DEPTH_MAX || !peel(p, &type, NULL))
		return false;
	if (number(&type, DW_AT_byte_size, size))
		return true;
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type: /* clang leaves the size out */
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return pointer_size(&type, size);
	case DW_TAG_array_type:
		if (!array_dimensions(p, &type, &d) || !dwarf_type_of(&type, &element) ||
		    !size_at(p, element, size, depth + 1))
			return false;
		for (size_t i = 0; i < d.n; i++)
			if (__builtin_mul_overflow(*size, d.count[i], size))
				return false;
		return true;
	}
	return false;
}

bool dwarf_size_of(struct dwarf_path *p, const Dwarf_Die *type, uint64_t *size)
{
	return size_at(p, *type, size, 0);
}

/* ---- members ---- */

enum cover { COVERS_NOT, COVERS, UNSURE };

/* Bytes before a member; DWARF 2 wrote an expression for it. */
static bool member_start(Dwarf_Die *member, bool in_union, uint64_t *out)
{
	Dwarf_Attribute a;
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
	if (dwarf_tag(member) == DW_TAG_inheritance || dwarf_getlocation(&a, &ops, &n) || n != 1 ||
	    ops[0].atom != DW_OP_plus_uconst)
		return false;
	*out = ops[0].number;
	return true;
}

/* Does it have anything in it? Empty base classes lie over other members. */
static bool has_data(struct dwarf_path *p, Dwarf_Die type, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || !peel(p, &type, NULL))
		return true; /* to be on the safe side */
	if (dwarf_tag(&type) != DW_TAG_structure_type && dwarf_tag(&type) != DW_TAG_class_type)
		return true;
	if (flag(&type, DW_AT_declaration))
		return true;
	if (dwarf_child(&type, &die))
		return false;
	do {
		Dwarf_Die base;

		if (dwarf_tag(&die) == DW_TAG_variant_part)
			return true;
		if (dwarf_tag(&die) == DW_TAG_member && !flag(&die, DW_AT_external))
			return true;
		if (dwarf_tag(&die) == DW_TAG_inheritance &&
		    (!dwarf_type_of(&die, &base) || has_data(p, base, depth + 1)))
			return true;
	} while (next_die(p, &die));
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
	if (number(member, DW_AT_data_bit_offset, out) && *out < UINT32_MAX) {
		*out += 8 * start;
		return true;
	}
	if (!dwarf_type_of(member, &type) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||
	    !number(member, DW_AT_bit_offset, &from_top) ||
	    (!number(member, DW_AT_byte_size, &unit) && !dwarf_size_of(p, &type, &unit)) ||
	    unit > 16 || from_top > 8 * unit || bits > 8 * unit - from_top)
		return false;
	*out = 8 * start + 8 * unit - from_top - bits;
	return true;
}

/* A bit field: it shares its bytes with others. */
static enum cover bits_cover(struct dwarf_path *p, Dwarf_Die *member, uint64_t offset)
{
	uint64_t bits, from;

	if (!number(member, DW_AT_bit_size, &bits) || bits > 128 ||
	    !first_bit(p, member, bits, &from))
		return UNSURE;
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
		if (number(member, DW_AT_virtuality, &size) && size)
			return UNSURE;
		break;
	case DW_TAG_member:
		if (flag(member, DW_AT_external) || flag(member, DW_AT_declaration))
			return COVERS_NOT; /* static */
		if (dwarf_hasattr(member, DW_AT_bit_size))
			return bits_cover(p, member, offset);
		break;
	default:
		return COVERS_NOT;
	}
	if (!member_start(member, in_union, start) || !dwarf_type_of(member, &type))
		return UNSURE;
	if (offset < *start)
		return COVERS_NOT;
	if (dwarf_tag(member) == DW_TAG_inheritance && !has_data(p, type, 0))
		return COVERS_NOT;
	if (!dwarf_size_of(p, &type, &size))
		return UNSURE;
	return offset - *start < size ? COVERS : COVERS_NOT;
}

/* The one member that holds the byte: false if there is none, or more, or doubt. */
static bool member_at(struct dwarf_path *p, Dwarf_Die *type, uint64_t offset, Dwarf_Die *out,
		      uint64_t *start)
{
	bool in_union = dwarf_tag(type) == DW_TAG_union_type, found = false;
	Dwarf_Die die;
	uint64_t at;

	if (dwarf_child(type, &die))
		return false;
	do {
		enum cover c = covers(p, &die, in_union, offset, &at);

		if (c == UNSURE || (c == COVERS && found))
			return false;
		if (c == COVERS) {
			*out = die;
			*start = at;
			found = true;
		}
	} while (next_die(p, &die));
	return found && p->steps;
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
	struct dimensions d;
	Dwarf_Die element;
	uint64_t size, index;

	if (!array_dimensions(p, &w->type, &d) || !dwarf_type_of(&w->type, &element) ||
	    !dwarf_size_of(p, &element, &size) || !size)
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
	const char *holder = name_of(&w->type), *name;
	Dwarf_Die member, type;
	uint64_t start;

	if (!member_at(p, &w->type, w->inner, &member, &start) || !dwarf_type_of(&member, &type))
		return false;
	w->inner -= start;
	w->type = type;
	if (dwarf_hasattr(&member, DW_AT_bit_size))
		w->inner = 0;
	name = dwarf_tag(&member) == DW_TAG_member ? name_of(&member) : "";
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

/* The name of a lock is that of the user's variable or member which is one. */
static void stop_at_lock(struct dwarf_path *p, struct walk *w)
{
	p->at = w->user_end;
	p->text[p->at] = '\0';
	w->shown = w->inner;
}

static bool at_lock(struct dwarf_path *p, struct walk *w)
{
	bool lock = false;

	if (!peel(p, &w->type, &lock))
		return false;
	return lock || (p->rust && is_rust_lock(name_of(&w->type)));
}

void dwarf_path_append(struct dwarf_path *p, const Dwarf_Die *type, uint64_t offset)
{
	struct walk w = {.type = *type, .inner = offset, .shown = offset, .user_end = p->at};
	size_t start = p->at;
	bool more = true;

	for (int depth = 0; more && depth < DEPTH_MAX; depth++) {
		if (at_lock(p, &w)) {
			stop_at_lock(p, &w);
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
