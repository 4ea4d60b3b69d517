// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/maps, /tmp/perf-PID.map and symbols: rows of text and what they mean. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "names/demangle.h"
#include "names/user_proc.h"

TEST(lines)
{
	static const struct {
		const char *line, *path;
		int ret;
		uint32_t perms;
		bool deleted;
		const char *why;
	} rows[] = {
		{"1000-2000 r-xp 00003000 fe:01 42   /bin/a b", "/bin/a b", 0, MAP_R | MAP_X, false,
		 "blanks belong to the name"},
		{"1000-2000 rw-s 0 0:1 42 /dev/shm/x (deleted)", "/dev/shm/x", 0,
		 MAP_R | MAP_W | MAP_SHARED_MEM, true, "deleted"},
		{"1000-2000 rw-p 0 0:0 0 [anon:x (deleted)", "[anon:x (deleted)", 0, MAP_R | MAP_W,
		 false, "no file: a name that looks deleted"},
		{"1000-2000 rw-p 0 0:0 0 [heap]", "[heap]", 0, MAP_R | MAP_W, false, "a region"},
		{"1000-2000 ---p 0 0:0 0", NULL, 0, 0, false, "no name"},
		{"1000-2000 ---p 0 0:0 0 ", NULL, 0, 0, false, "no name, blanks"},
		{"ffffffffff600000-ffffffffff601000 --xp 0 0:0 0 [vsyscall]", "[vsyscall]", 0,
		 MAP_X, false, "the last page"},
		{"1000-1000 rw-p 0 0:0 0", NULL, -EINVAL, 0, false, "empty"},
		{"2000-1000 rw-p 0 0:0 0", NULL, -EINVAL, 0, false, "backwards"},
		{"1000-10000000000000000 rw-p 0 0:0 0", NULL, -EINVAL, 0, false, "65 bits"},
		{"1000-2000 rwp 0 0:0 0", NULL, -EINVAL, 0, false, "three letters"},
		{"1000-2000 xwrp 0 0:0 0", NULL, -EINVAL, 0, false, "another order"},
		{"1000-2000 rw-q 0 0:0 0", NULL, -EINVAL, 0, false, "neither private nor shared"},
		{"1000-2000 rw-p 0 00 0", NULL, -EINVAL, 0, false, "no device"},
		{"1000-2000 rw-p 0 0:0 4x /a", NULL, -EINVAL, 0, false, "inode with a letter"},
		{"-2000 rw-p 0 0:0 0", NULL, -EINVAL, 0, false, "no start"},
		{"", NULL, -EINVAL, 0, false, "nothing"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct maps m = {0};

		if (maps_add(&m, rows[i].line, strlen(rows[i].line)) != rows[i].ret)
			fail_msg("%s: '%s'", rows[i].why, rows[i].line);
		assert_int_equal(m.n, rows[i].ret == 0);
		if (m.n) {
			assert_int_equal(m.v[0].perms, rows[i].perms);
			assert_int_equal(m.nsources, rows[i].path != NULL);
		}
		if (m.nsources) {
			assert_string_equal(m.sources[0].path, rows[i].path);
			assert_int_equal(m.sources[0].deleted, rows[i].deleted);
		}
		maps_free(&m);
	}
}

static void add(struct maps *m, const char *line)
{
	assert_int_equal(maps_add(m, line, strlen(line)), 0);
}

TEST(found)
{
	struct maps m = {0};

	add(&m, "1000-2000 r--p 00000000 fe:01 42 /bin/a");
	add(&m, "2000-3000 r-xp 00001000 fe:01 42 /bin/a");
	add(&m, "8000-9000 rw-p 00000000 00:00 0");
	add(&m, "8800-a000 rw-p 00000000 fe:01 43 /bin/b"); /* grew while it was read */
	add(&m, "9000-a000 rw-p 00000000 00:00 0");	    /* nothing is left of it */
	assert_int_equal(m.n, 4);
	assert_int_equal(m.nsources, 2);
	assert_true(m.sources[0].exec && !m.sources[1].exec);
	assert_ptr_equal(maps_find(&m, 0x1000), &m.v[0]);
	assert_ptr_equal(maps_find(&m, 0x2fff), &m.v[1]);
	assert_null(maps_find(&m, 0xfff));
	assert_null(maps_find(&m, 0x3000));
	assert_null(maps_find(&m, UINT64_MAX));
	assert_int_equal(m.v[3].start, 0x9000);
	assert_int_equal(m.v[3].offset, 0x800);
	maps_free(&m);
}

TEST(jit)
{
	static const struct {
		const char *line, *name;
		uint64_t offset;
	} rows[] = {
		{"1000 20 foo bar", "foo bar", 0x10},
		{"0xFF0 0x21 x", "x", 0x20},
		{"1000 10 foo", NULL, 0},
		{"1011 10 foo", NULL, 0},
		{"1000 20", NULL, 0},
		{"1000 20 ", NULL, 0},
		{"1000  20 foo", NULL, 0},
		{" 1000 20 foo", NULL, 0},
		{"10000000000000000 20 foo", NULL, 0},
		{"g 20 foo", NULL, 0},
		{"fffffffffffffff0 ffff foo", "foo", 0x1020},
		{"", NULL, 0},
	};
	const char *name;
	uint64_t offset;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is = jit_line(rows[i].line, 0x1010, &name, &offset);

		if (is != (rows[i].name != NULL))
			fail_msg("'%s'", rows[i].line);
		if (is) {
			assert_string_equal(name, rows[i].name);
			assert_int_equal(offset, rows[i].offset);
		}
	}
}

TEST(symbols)
{
	static const struct {
		const char *symbol, *text;
		bool mangled;
	} rows[] = {
		{"main", "main", false},
		{"_Zzz", "_Zzz", false},
		{"_ZN4shop5stockE", "shop::stock", true},
		{"_ZZ5localvE7counted", "local()::counted", true},
		{"_ZN4shop3addERKSsi", "shop::add", true},
		{"_ZN2rs4shop5TABLE17h0123456789abcdefE", "rs::shop::TABLE", true},
		{"_RNvNtCs1234_2rs4shop5TABLE", "rs::shop::TABLE", true},
		{"_RNvCu8_gdel_5qa5TABLE", "g\u00f6del::TABLE", true},
		{"_RINvCu8_gdel_5qa1fFG0_EuE", "g\u00f6del::f::<for<'a, 'b> fn()>", true},
		/* 62^10 lifetimes, where what is printed cannot be left half way. */
		{"_RINvCu8_gdel_5qa1fFGzzzzzzzzzz_EuE", "_RINvCu8_gdel_5qa1fFGzzzzzzzzzz_EuE",
		 false},
		{"_R", "_R", false},
		{"", "", false},
	};
	static const char lifetimes[] = "_RINvC1a1fFGzzzzzzzzzz_EuE"; /* it can be left here */
	char out[64], bomb[1000];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(demangle(out, sizeof(out), rows[i].symbol), rows[i].mangled);
		assert_string_equal(out, rows[i].text);
	}
	if (demangle(out, sizeof(out), lifetimes))
		assert_string_equal(
			out, "a::f::<for<'a, 'b, 'c, 'd, 'e, 'f, 'g, 'h, 'i, 'j, 'k, 'l, 'm, ");
	else /* refused: libiberty of 2026 does not begin with so many */
		assert_string_equal(out, lifetimes);
	assert_true(demangle(out, 8, "_ZN4shop5stockE"));
	assert_string_equal(out, "shop::s");

	/* f<T1, T2, ...>, each a pair of the one before: 2^60 characters, if it were let. */
	(void)strcpy(bomb, "_Z1fISt4pairIiiE"); /* fits; S1_ is that pair, S0_ the template */
	for (size_t i = 1; i < 60; i++) {
		const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t at = strlen(bomb);
		char id[3] = {digits[i % 36], '\0'};

		if (i >= 36)
			(void)snprintf(id, sizeof(id), "1%c", digits[i % 36]);
		(void)snprintf(bomb + at, sizeof(bomb) - at, "S0_IS%s_S%s_E", id, id);
	}
	assert_true(strlen(bomb) < sizeof(bomb) - 4);
	(void)strcat(bomb, "Evv");
	assert_true(demangle(out, sizeof(out), bomb)); /* that it ends is the test */
	assert_int_equal(strlen(out), sizeof(out) - 1);
}

/* Packs within packs, each of which refers to the one before: for each the library would go through
 * all of it, which doubles each time. */
TEST(packs)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char bomb[1000] = "_Z1vIDp", out[64];

	for (int i = 0; i < 60; i++)
		(void)strcat(bomb, "1AI"); /* fits */
	(void)strcat(bomb, "1AIiiE");
	for (int i = 61; i < 121; i++) {
		char id[3] = {digits[i % 36], '\0'};

		if (i >= 36)
			(void)snprintf(id, sizeof(id), "%c%c", digits[i / 36], digits[i % 36]);
		(void)snprintf(bomb + strlen(bomb), sizeof(bomb) - strlen(bomb), "S%s_E", id);
	}
	(void)strcat(bomb, "E");
	assert_true(strlen(bomb) < sizeof(bomb) - 1);
	assert_false(demangle(out, sizeof(out), bomb)); /* that it ends is the test */
	assert_true(demangle(out, sizeof(out), "_Z1fIJiiEEvDpT_"));
	assert_string_equal(out, "f<int, int>");
}

int main(void)
{
	return unit_main(NULL, NULL);
}
