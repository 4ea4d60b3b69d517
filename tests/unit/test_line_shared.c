// SPDX-License-Identifier: GPL-2.0-or-later
/* Which lines are one: mappings as the kernel lists them, and those of this very process. */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/line/line_shared.h"

#define PAGE 4096UL

TEST(parse)
{
	static const struct {
		const char *text;
		bool ok, shared, anonymous_inode;
	} rows[] = {
		{"7f0a2c000000-7f0a2c001000 rw-s 00000000 00:01 1034  /dev/zero (deleted)\n", true,
		 true, false},
		{"7f0a2c000000-7f0a2c001000 rw-p 00000000 00:01 1034  /memfd:x (deleted)\n", true,
		 false, false},
		{"7f0a2c000000-7f0a2c001000 rw-s 00000000 00:10 9  anon_inode:bpf-map\n", true,
		 true, true},
		{"7f0a2c000000-7f0a2c001000 rw-s 00000000 00:10 9  /tmp/anon_inode:x\n", true, true,
		 false},
		{"7f0a2c000000-7f0a2c001000 rw-p 00000000 00:00 0 \n", true, false, false},
		{"7f0a2c000000-7f0a2c000000 rw-s 00000000 00:01 1034\n", false, false, false},
		{"tail of a long path\n", false, false, false},
		{"0x1000-0x2000 rw-s 00000000 00:01 1034\n", false, false, false},
		{" 1000-2000 rw-s 00000000 00:01 1034\n", false, false, false},
		{"1000-2000 rw-s 00000000 00:01 18446744073709551616\n", false, false, false},
		{"1000-2000 rw-q 00000000 00:01 1034\n", false, false, false},
		{"", false, false, false},
	};
	struct line_mapping m;
	size_t k;

	for (k = 0; k < ROWS(rows); k++) {
		bool ok = line_mapping_parse(rows[k].text, &m);

		if (ok != rows[k].ok || (ok && (m.shared != rows[k].shared ||
						m.anonymous_inode != rows[k].anonymous_inode)))
			fail_msg("'%s'", rows[k].text);
	}
	assert_true(line_mapping_parse(rows[0].text, &m));
	assert_int_equal(m.dev, 1);
	assert_int_equal(m.inode, 1034);
	assert_int_equal(m.end - m.start, PAGE);
}

static struct line_key key_of(struct line_shared *s, const char *addr)
{
	struct abi_access_key at = {.addr = (uint64_t)addr, .tgid = (uint32_t)getpid()};
	struct line_key key;

	line_shared_key(s, &at, 0, &key);
	return key;
}

static bool same(struct line_key a, struct line_key b)
{
	return !memcmp(&a, &b, sizeof(a));
}

static char *map(int fd, int flags, off_t at)
{
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, at);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

TEST(keys)
{
	int fd = memfd_create("ws", 0), other = memfd_create("ws", 0);
	char *one, *two, *second, *apart, *private, *anon;
	struct line_shared *s;

	assert_true(fd >= 0 && other >= 0);
	assert_int_equal(ftruncate(fd, 2 * PAGE) | ftruncate(other, PAGE), 0);
	assert_int_equal(line_shared_open(&s), 0);
	one = map(fd, MAP_SHARED, 0);
	second = map(fd, MAP_SHARED, PAGE);
	apart = map(other, MAP_SHARED, 0);
	private = map(fd, MAP_PRIVATE, 0);
	anon = map(-1, MAP_SHARED | MAP_ANONYMOUS, 0);
	line_shared_turn(s);
	assert_int_equal(key_of(s, one + 128).tgid, 0);
	assert_false(same(key_of(s, one), key_of(s, one + 64)));
	assert_false(same(key_of(s, one), key_of(s, second)));
	assert_false(same(key_of(s, one), key_of(s, apart)));
	assert_false(same(key_of(s, one), key_of(s, anon)));
	assert_int_equal(key_of(s, private).tgid, getpid());
	assert_int_equal(key_of(s, private).share, 0);

	/* mapped since: found out in the next interval */
	two = map(fd, MAP_SHARED, 0);
	line_shared_turn(s);
	assert_true(same(key_of(s, one + 128), key_of(s, two + 128)));
	line_shared_close(s);
	close(fd);
	close(other);
}

TEST(kernel)
{
	struct abi_access_key at = {.addr = 0xffff888100000000ULL};
	struct line_key key;
	struct line_shared *s;

	assert_int_equal(line_shared_open(&s), 0);
	line_shared_key(s, &at, 0x1000, &key);
	assert_int_equal(key.line, at.addr >> ABI_LINE_SHIFT);
	assert_int_equal(key.share, 0);
	line_shared_close(s);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
