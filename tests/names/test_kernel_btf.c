/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a type and an offset to a member, on types made by hand. No kernel needed. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names/btf_view.h"
#include "unit.h"

struct types {
	struct btf *btf;
	void *bytes;
	struct btf_view v;
	int int32, int64, ptr, spin, atomic, mutex, counter, list;
	int top;
};

static void field(struct types *t, const char *name, int type, uint32_t byte)
{
	assert_int_equal(btf__add_field(t->btf, name, type, byte * 8, 0), 0);
}

/* The kernel's own: what a walk stops at, or must not stop at. */
static void add_basics(struct types *t)
{
	int raw;

	t->int32 = btf__add_int(t->btf, "unsigned int", 4, 0);
	t->int64 = btf__add_int(t->btf, "long", 8, BTF_INT_SIGNED);
	t->ptr = btf__add_ptr(t->btf, 0);
	raw = btf__add_struct(t->btf, "raw_spinlock", 4);
	field(t, "raw_lock", t->int32, 0);
	raw = btf__add_typedef(t->btf, "raw_spinlock_t", raw);
	btf__add_struct(t->btf, "spinlock", 4);
	field(t, "rlock", raw, 0);
	t->spin = btf__add_typedef(t->btf, "spinlock_t", raw + 1);
	btf__add_struct(t->btf, "", 4);
	field(t, "counter", t->int32, 0);
	t->atomic = btf__add_typedef(t->btf, "atomic_t", t->spin + 1);
	t->list = btf__add_struct(t->btf, "list_head", 16);
	field(t, "next", t->ptr, 0);
	field(t, "prev", t->ptr, 8);
	t->mutex = btf__add_struct(t->btf, "mutex", 32);
	field(t, "owner", t->int64, 0);
	field(t, "wait_lock", raw, 8);
	field(t, "wait_list", t->list, 16);
	t->counter = btf__add_struct(t->btf, "percpu_counter", 24);
	field(t, "lock", raw, 0);
	field(t, "count", t->int64, 8);
	field(t, "counters", t->ptr, 16);
}

/*
 * struct top {
 *	unsigned int a;			// 0
 *	unsigned int bit0:1, bit1:7;	// 4
 *	unsigned int wide:20;		// 8
 *	struct mutex m;			// 16
 *	struct { spinlock_t in; atomic_t n; };	// 48
 *	union { struct list_head l; unsigned int i; };	// 56: two
 *	union { spinlock_t ul; unsigned int ui; long un; };	// 72: one lock
 *	union { spinlock_t u1; atomic_t u2; };	// 80: two
 *	struct percpu_counter pc[2];	// 88
 *	unsigned int nums[4];		// 136
 *	union { long x; struct { long x; }; };	// 152: all agree
 *	union { struct { long p; spinlock_t q; }; long r; } u;	// 160: named
 *	const volatile spinlock_t cv;	// 176
 *	long flex[];			// 184
 * };
 */
static void add_top(struct types *t)
{
	struct btf *b = t->btf;
	int both, two, lock, locks, pcs, nums, inner, agree, un, in_u, cv, flex;

	both = btf__add_struct(b, "", 8);
	field(t, "in", t->spin, 0);
	field(t, "n", t->atomic, 4);
	two = btf__add_union(b, "", 16);
	field(t, "l", t->list, 0);
	field(t, "i", t->int32, 0);
	lock = btf__add_union(b, "", 8);
	field(t, "ul", t->spin, 0);
	field(t, "ui", t->int32, 0);
	field(t, "un", t->int64, 0);
	locks = btf__add_union(b, "", 4);
	field(t, "u1", t->spin, 0);
	field(t, "u2", t->atomic, 0);
	pcs = btf__add_array(b, t->int32, t->counter, 2);
	nums = btf__add_array(b, t->int32, t->int32, 4);
	inner = btf__add_struct(b, "", 8);
	field(t, "x", t->int64, 0);
	agree = btf__add_union(b, "", 8);
	field(t, "x", t->int64, 0);
	field(t, "", inner, 0);
	in_u = btf__add_struct(b, "", 16);
	field(t, "p", t->int64, 0);
	field(t, "q", t->spin, 8);
	un = btf__add_union(b, "", 16);
	field(t, "", in_u, 0);
	field(t, "r", t->int64, 0);
	cv = btf__add_const(b, btf__add_volatile(b, t->spin));
	flex = btf__add_array(b, t->int32, t->int64, 0);
	t->top = btf__add_struct(b, "top", 192);
	field(t, "a", t->int32, 0);
	assert_int_equal(btf__add_field(b, "bit0", t->int32, 32, 1), 0);
	assert_int_equal(btf__add_field(b, "bit1", t->int32, 33, 7), 0);
	assert_int_equal(btf__add_field(b, "wide", t->int32, 64, 20), 0);
	field(t, "m", t->mutex, 16);
	field(t, "", both, 48);
	field(t, "", two, 56);
	field(t, "", lock, 72);
	field(t, "", locks, 80);
	field(t, "pc", pcs, 88);
	field(t, "nums", nums, 136);
	field(t, "", agree, 152);
	field(t, "u", un, 160);
	field(t, "cv", cv, 176);
	field(t, "flex", flex, 184);
	btf__add_struct(b, "beside", 48);
	field(t, "far", t->list, 0);
	field(t, "near", t->list, 16);
	field(t, "guard", t->spin, 32);
	field(t, "count", t->int64, 40);
}

static int set_up(void **state)
{
	struct types *t = calloc(1, sizeof(*t));
	const void *data;
	__u32 len;

	t->btf = btf__new_empty();
	add_basics(t);
	add_top(t);
	data = btf__raw_data(t->btf, &len);
	t->bytes = malloc(len); /* libbpf's go when a module's types are made */
	memcpy(t->bytes, data, len);
	*state = t;
	return btf_view_init(&t->v, t->bytes, len, NULL);
}

static int tear_down(void **state)
{
	struct types *t = *state;

	btf_view_close(&t->v);
	btf__free(t->btf);
	free(t->bytes);
	free(t);
	return 0;
}

TEST(members)
{
	static const struct {
		uint32_t offset;
		const char *path;
		uint32_t rest;
		enum member_kind kind;
		const char *why;
	} rows[] = {
		{0, "a", 0, MEMBER_PLAIN, "the first"},
		{3, "a", 3, MEMBER_PLAIN, "its last byte"},
		{4, "", 4, MEMBER_NONE, "two bit fields in one byte"},
		{5, "", 5, MEMBER_NONE, "padding behind bit fields"},
		{8, "wide", 0, MEMBER_PLAIN, "a bit field alone in its byte"},
		{10, "wide", 2, MEMBER_PLAIN, "its third byte"},
		{11, "", 11, MEMBER_NONE, "behind its bits"},
		{12, "", 12, MEMBER_NONE, "padding"},
		{16, "m", 0, MEMBER_LOCK, "a lock, not its owner field"},
		{24, "m.wait_lock", 0, MEMBER_LOCK, "a lock in a lock"},
		{32, "m.wait_list.next", 0, MEMBER_PLAIN, "what is no lock in it"},
		{28, "m", 12, MEMBER_NONE, "padding in a lock: what is sure"},
		{48, "in", 0, MEMBER_LOCK, "a struct without a name"},
		{52, "n", 0, MEMBER_ATOMIC, "not n.counter"},
		{56, "", 56, MEMBER_NONE, "a union of a list and a number"},
		{61, "l.next", 5, MEMBER_PLAIN, "only one of the union is that long"},
		{72, "ul", 0, MEMBER_LOCK, "one lock in the union"},
		{77, "un", 5, MEMBER_PLAIN, "behind the lock"},
		{80, "", 80, MEMBER_NONE, "a lock or an atomic: which?"},
		{88, "pc[0].lock", 0, MEMBER_LOCK, "an array's first"},
		{120, "pc[1].count", 0, MEMBER_PLAIN, "its second"},
		{116, "pc[1]", 4, MEMBER_NONE, "padding in an element"},
		{144, "nums[2]", 0, MEMBER_PLAIN, "numbers"},
		{152, "x", 0, MEMBER_PLAIN, "all of the union say the same"},
		{160, "u", 0, MEMBER_NONE, "a union with a name: that is sure"},
		{168, "u.q", 0, MEMBER_LOCK, "only one reaches there"},
		{176, "cv", 0, MEMBER_LOCK, "behind const and volatile"},
		{184, "", 184, MEMBER_NONE, "an array without a length"},
	};
	struct types *t = *state;
	struct member_at m;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		assert_int_equal(btf_member_at(&t->v, (uint32_t)t->top, rows[i].offset, &m), 0);
		if (strcmp(m.path, rows[i].path) || m.kind != rows[i].kind ||
		    (m.kind == MEMBER_NONE && m.rest != rows[i].rest))
			fail_msg("at %u: '%s'+%u kind %d, not '%s'+%u kind %d (%s)", rows[i].offset,
				 m.path, m.rest, m.kind, rows[i].path, rows[i].rest, rows[i].kind,
				 rows[i].why);
	}
	assert_int_equal(btf_member_at(&t->v, (uint32_t)t->top, 192, &m), -ENOENT);
	assert_int_equal(btf_member_at(&t->v, (uint32_t)t->int32, 0, &m), -ENOENT);
	assert_int_equal(btf_member_at(&t->v, 9999, 0, &m), -ENOENT);
}

struct line_row {
	const char *name;
	uint32_t offset, size;
	bool hot;
};

static void check_line(const struct types *t, const char *type, uint32_t from, uint32_t to,
		       const struct line_row *rows, size_t n)
{
	uint32_t id = btf_view_find((struct btf_view *)&t->v, type, BTF_KIND_STRUCT);
	struct name_member m[32];
	size_t i, found = btf_members_in(&t->v, id, from, to, m, ROWS(m));

	for (i = 0; i < found && i < n; i++) {
		assert_string_equal(m[i].name, rows[i].name);
		assert_int_equal(m[i].offset, rows[i].offset);
		assert_int_equal(m[i].size, rows[i].size);
		assert_int_equal(m[i].hot, rows[i].hot);
	}
	assert_int_equal(found, n);
}

TEST(a_line)
{
	static const struct line_row top[] = {
		{"l", 56, 16, false},	      /* reaches into it */
		{"ul", 72, 4, true},	      /* all of a union */
		{"ui", 72, 4, false},	      /**/
		{"un", 72, 8, false},	      /**/
		{"u1", 80, 4, true},	      /**/
		{"u2", 80, 4, true},	      /* an atomic */
		{"pc[0].lock", 88, 4, true},  /* an array of structs, one by one */
		{"pc[0].count", 96, 8, true}, /* the sum of a percpu_counter */
		{"pc[0].counters", 104, 8, false},
		{"pc[1].lock", 112, 4, true},
		{"pc[1].count", 120, 8, true},
	};
	static const struct line_row nums[] = {
		{"pc[1].counters", 128, 8, false},
		{"nums", 136, 16, false}, /* an array of numbers is one */
	};
	static const struct line_row beside[] = {
		{"far", 0, 16, false},
		{"near", 16, 16, true}, /* a list head right before a lock */
		{"guard", 32, 4, true},
		{"count", 40, 8, false}, /* no percpu_counter's */
	};
	const struct types *t = *state;
	struct name_member few[3];

	check_line(t, "top", 64, 128, top, ROWS(top));
	check_line(t, "top", 128, 152, nums, ROWS(nums));
	check_line(t, "beside", 0, 64, beside, ROWS(beside));
	assert_int_equal(btf_members_in(&t->v, (uint32_t)t->top, 64, 128, few, ROWS(few)), 3);
}

TEST(offsets)
{
	struct types *t = *state;
	uint32_t top = btf_view_find(&t->v, "top", BTF_KIND_STRUCT), type;

	assert_int_equal(top, t->top);
	assert_int_equal(btf_view_find(&t->v, "top", BTF_KIND_UNION), 0);
	assert_int_equal(btf_view_find(&t->v, "nothing", BTF_KIND_STRUCT), 0);
	assert_int_equal(btf_view_offset(&t->v, top, "m.wait_list.prev", &type), 40);
	assert_int_equal(type, t->ptr);
	assert_int_equal(btf_view_offset(&t->v, top, "in", NULL), 48);
	assert_int_equal(btf_view_offset(&t->v, top, "u.q", NULL), 168);
	assert_int_equal(btf_view_offset(&t->v, top, "pc.count", NULL), 96); /* the first's */
	assert_int_equal(btf_view_offset(&t->v, top, "m.wait", NULL), -ENOENT);
	assert_int_equal(btf_view_offset(&t->v, top, "a.b", NULL), -ENOENT);
	assert_int_equal(btf_view_size(&t->v, top), 192);
}

/* A module's types build on the kernel's: ids and names go on where those end. */
TEST(of_a_module)
{
	struct types *t = *state;
	struct btf *split = btf__new_empty_split(t->btf);
	int id = btf__add_struct(split, "ext4_thing", 64);
	struct member_at m;
	const void *data;
	struct btf_view v;
	uint32_t found;
	__u32 len;

	assert_true(id > 0);
	assert_int_equal(btf__add_field(split, "own_lock", t->spin, 0, 0), 0);
	assert_int_equal(btf__add_field(split, "m", t->mutex, 64, 0), 0);
	data = btf__raw_data(split, &len);
	assert_int_equal(btf_view_init(&v, data, len, &t->v), 0);
	found = btf_view_find(&v, "ext4_thing", BTF_KIND_STRUCT);
	assert_int_equal(found, id);
	assert_int_equal(btf_view_find(&v, "top", BTF_KIND_STRUCT), 0); /* the kernel's */
	assert_int_equal(btf_member_at(&v, found, 0, &m), 0);
	assert_string_equal(m.path, "own_lock");
	assert_int_equal(m.kind, MEMBER_LOCK);
	assert_int_equal(btf_member_at(&v, found, 16, &m), 0);
	assert_string_equal(m.path, "m.wait_lock");
	assert_int_equal(btf_view_offset(&v, found, "m.wait_list.prev", NULL), 32);
	btf_view_close(&v);
	btf__free(split);
}

/* Cut short anywhere it is refused, never read past its end (the sanitizers see). */
TEST(broken)
{
	struct types *t = *state;
	struct btf_view v;
	const void *data;
	uint8_t *copy;
	__u32 len, i;

	data = btf__raw_data(t->btf, &len);
	for (i = 0; i < len; i++) {
		copy = malloc(i + 1);
		memcpy(copy, data, i);
		assert_int_equal(btf_view_init(&v, copy, i, NULL), -EINVAL);
		free(copy);
	}
}

int main(void)
{
	return unit_main(set_up, tear_down);
}
