/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/hide.h"
#include "unit.h"

static const uint8_t key[HIDE_KEY_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t other_key[HIDE_KEY_BYTES] = {1};

#define LOCK 0xffff888103a5c018
#define CODE 0xffffffff81234567
#define USER 0x00007f12000010c0

/* The authors' own vector, of the bytes 0 to 7. */
TEST(hash)
{
	struct hide h = {0};

	hide_begin(&h, key);
	assert_true(hide_hash(&h, 0x0706050403020100) == 0x93f5f5799a932462);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

TEST(addresses)
{
	static uint64_t all[64 * 1024];
	struct hide h = {0}, h2 = {0};
	uint64_t addr, shown;
	size_t i, n = sizeof(all) / sizeof(all[0]);

	hide_begin(&h, key);
	hide_begin(&h2, other_key);
	for (i = 0; i < n; i++) {
		addr = LOCK - LOCK % 64 + 8 * i;
		shown = all[i] = hide_addr(&h, addr);
		assert_true(shown != addr && shown >> 63 && shown % 64 == addr % 64);
		assert_true(shown == hide_addr(&h, addr));
		assert_true(shown - shown % 64 == hide_addr(&h, addr - addr % 64)); /* its line */
		assert_true(shown != hide_addr(&h2, addr));
	}
	qsort(all, n, sizeof(all[0]), compare);
	for (i = 1; i < n; i++)
		assert_true(all[i] != all[i - 1]);
	assert_true(hide_addr(&h, USER) == USER);
	assert_true(hide_addr(&h, 0) == 0);
}

TEST(texts)
{
	static const struct {
		uint64_t addr;
		const char *text, *shown; /* NULL: the pseudonym alone */
		const char *why;
	} rows[] = {
		{LOCK, "0xffff888103a5c018", NULL, "the address itself"},
		{LOCK, "0xffff888103a5c000", "(hidden)", "another one: who chose it may guess"},
		{LOCK, "page of 0xffff888103a5c018", "page of (hidden)", "within words"},
		{LOCK, "/d/0xffff888103a5c018", "/d/(hidden)", "a file that is called so"},
		{LOCK, "0xffff888103a5c0180xffffffff81234567", "0xffff888103a5c018(hidden)",
		 "17 digits are no address"},
		{LOCK, "0xffffffff81234567,0x8000000000000000", "(hidden),(hidden)", "two"},
		{LOCK, "kmalloc-64+0x18", "kmalloc-64+0x18", "an offset"},
		{LOCK, "ext4_sb_info.s_lock", "ext4_sb_info.s_lock", "a name"},
		{LOCK, "0x7f12000010c0", "0x7f12000010c0", "a user address"},
		{LOCK, "0x00007f12000010c0", "0x00007f12000010c0", "the same, with zeros"},
		{LOCK, "0xffff888103a5c01", "0xffff888103a5c01", "15 digits"},
		{LOCK, "0x", "0x", "no digits"},
		{LOCK, "", "", "nothing"},
	};
	char pseudonym[32];
	struct hide h = {0};
	size_t i;

	hide_begin(&h, key);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(pseudonym, sizeof(pseudonym), "0x%llx",
			       (unsigned long long)hide_addr(&h, rows[i].addr));
		if (strcmp(hide_text(&h, rows[i].addr, rows[i].text),
			   rows[i].shown ? rows[i].shown : pseudonym))
			fail_msg("%s: '%s' became '%s'", rows[i].why, rows[i].text,
				 hide_text(&h, rows[i].addr, rows[i].text));
	}
	hide_end(&h);
}

TEST(rows)
{
	const struct site sites[] = {
		{CODE, "0xffffffff81234567", 3},
		{USER, "0x7f12000010c0", 2},
		{USER, "0xffffffff81234567", 1}, /* a symbol may be called so */
		{0, "(others)", 1},
	};
	const struct line_spot uses[] = {
		{.offset = 24,
		 .ip = CODE,
		 .sym = "0xffffffff81234567",
		 .name = "0xffff888103a5c018"},
		{.offset = 32, .ip = USER, .sym = "app`main", .name = NULL},
	};
	const struct line_accesses accesses = {
		.reads = 7, .uses = uses, .nuses = 2, .unconfirmed = "at 0xffff888103a5c018: busy"};
	struct contended c[] = {
		{.addr = LOCK,
		 .line = LOCK - 24,
		 .name = "0xffff888103a5c018",
		 .place = "page of 0xffff888103a5c018",
		 .sites = sites,
		 .nsites = 4,
		 .accesses = &accesses},
		{.addr = USER,
		 .line = USER,
		 .pid = 1,
		 .name = "app`0xffffffff81234567",
		 .sites = sites,
		 .nsites = 1},
		{.other = true},
	};
	struct contended before[3];
	const char *sym;
	struct hide h = {0};

	memcpy(before, c, sizeof(c));
	assert_int_equal(hide_rows(&h, c, 3), 0); /* off */
	assert_memory_equal(before, c, sizeof(c));

	hide_begin(&h, key);
	assert_int_equal(hide_rows(&h, c, 3), 0);
	assert_true(c[0].addr == hide_addr(&h, LOCK) && c[0].line == c[0].addr - 24);
	assert_string_equal(c[0].name, hide_text(&h, LOCK, "0xffff888103a5c018"));
	assert_string_equal(c[0].place, "page of (hidden)");
	assert_true(c[0].nsites == 4 && c[0].sites[0].ip == hide_addr(&h, CODE));
	sym = hide_text(&h, CODE, "0xffffffff81234567");
	assert_string_equal(c[0].sites[0].sym, sym);
	assert_true(c[0].sites[1].ip == USER && c[0].sites[0].count == 3);
	assert_string_equal(c[0].sites[1].sym, "0x7f12000010c0");
	assert_string_equal(c[0].sites[2].sym, "0xffffffff81234567");
	assert_true(!c[0].sites[3].ip && c[0].accesses->reads == 7);
	assert_true(c[0].accesses->uses[0].ip == hide_addr(&h, CODE));
	assert_string_equal(c[0].accesses->uses[0].sym, sym);
	assert_string_equal(c[0].accesses->uses[0].name, c[0].name);
	assert_true(c[0].accesses->uses[1].ip == USER && !c[0].accesses->uses[1].name);
	assert_string_equal(c[0].accesses->unconfirmed, "at (hidden): busy");

	assert_true(c[1].addr == USER && c[1].line == USER && !c[1].place);
	assert_string_equal(c[1].name, "app`0xffffffff81234567");
	assert_string_equal(c[1].sites[0].sym, sym); /* where it waits is the kernel's */
	assert_true(c[2].addr == 0 && !c[2].sites);

	assert_true(sites[0].ip == CODE && uses[0].ip == CODE); /* the source's own */
	hide_end(&h);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
