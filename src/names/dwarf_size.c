// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/dwarf_var.h"

#include <dwarf.h>
#include <string.h>

#define DEPTH_MAX 64

/* One step less; false: no more. */
static bool step(struct dwarf_path *p)
{
	if (work_over(p->work))
		p->steps = 0;
	if (!p->steps)
		return false;
	p->steps--;
	return true;
}

bool die_number(Dwarf_Die *die, unsigned int attr, uint64_t *out)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr(die, attr, &a) || dwarf_formudata(&a, &v))
		return false;
	*out = v;
	return true;
}

bool die_flag(Dwarf_Die *die, unsigned int attr)
{
	Dwarf_Attribute a;
	bool v = false;

	return dwarf_attr(die, attr, &a) && !dwarf_formflag(&a, &v) && v;
}

const char *die_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name ? name : "";
}

bool die_type(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_type, &a) && dwarf_formref_die(&a, type);
}

/* The next child or sibling. A sibling that lies before is a loop somebody built. */
bool die_next(struct dwarf_path *p, Dwarf_Die *die)
{
	Dwarf_Die next;

	if (!step(p) || dwarf_siblingof(die, &next) ||
	    dwarf_dieoffset(&next) <= dwarf_dieoffset(die))
		return false;
	*die = next;
	return true;
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
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

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
bool type_peel(struct dwarf_path *p, Dwarf_Die *type, bool *lock)
{
	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
			if (lock && is_c_lock(die_name(type)))
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
		if (!step(p) || !die_type(type, type))
			return false;
	}
	return false;
}

/* False: an index is not from 0, its count unknown, or they have gaps. */
bool type_dimensions(struct dwarf_path *p, Dwarf_Die *array, struct type_dims *d)
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
		    (die_number(&die, DW_AT_lower_bound, &v) && v))
			return false;
		if (die_number(&die, DW_AT_count, &v))
			d->count[d->n++] = v;
		else if (die_number(&die, DW_AT_upper_bound, &v) && v < UINT32_MAX)
			d->count[d->n++] = v + 1; /* -1 is how some say 0 */
		else
			return false;
	} while (die_next(p, &die));
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
	struct type_dims d;
	Dwarf_Die element;

	if (depth == DEPTH_MAX || !type_peel(p, &type, NULL))
		return false;
	if (die_number(&type, DW_AT_byte_size, size))
		return true;
	switch (dwarf_tag(&type)) {
	case DW_TAG_pointer_type: /* clang leaves the size out */
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return pointer_size(&type, size);
	case DW_TAG_array_type:
		if (!type_dimensions(p, &type, &d) || !die_type(&type, &element) ||
		    !size_at(p, element, size, depth + 1))
			return false;
		for (size_t i = 0; i < d.n; i++)
			if (__builtin_mul_overflow(*size, d.count[i], size))
				return false;
		return true;
	}
	return false;
}

bool type_size(struct dwarf_path *p, const Dwarf_Die *type, uint64_t *size)
{
	return size_at(p, *type, size, 0);
}
