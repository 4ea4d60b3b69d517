// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of /proc/PID/maps: which mapping is a futex in, and is it shared? */
#include <string.h>

#include "unit.h"

#include "source/contend/futex.h"

TEST(lines)
{
	static const struct {
		const char *line;
		uint64_t addr;
		bool found;
		struct futex_place place;
		const char *why;
	} rows[] = {
		{"7f00-8f00 rw-s 00001000 00:01 1034      /dev/zero (deleted)\n",
		 0x7f10,
		 true,
		 {1, 1034, 0x1010, 0},
		 "anonymous, shared: the kernel's tmpfs"},
		{"7f00-8f00 rw-s 00000000 fe:01 77        /dev/shm/x\n",
		 0x7f00,
		 true,
		 {0xfe00000001ULL, 77, 0, 0},
		 "its first byte"},
		{"7f00-8f00 rw-s 00000000 fe:01 77        /dev/shm/x\n",
		 0x8f00,
		 false,
		 {0},
		 "the byte behind it"},
		{"7f00-8f00 rw-s 00000000 fe:01 77        /dev/shm/x\n",
		 0x7eff,
		 false,
		 {0},
		 "the byte before it"},
		{"7f00-8f00 rw-p 00000000 fe:01 77        /usr/lib/x.so\n",
		 0x7f10,
		 false,
		 {0},
		 "a private mapping of a file"},
		{"7f00-8f00 rw-p 00000000 00:00 0 \n", 0x7f10, false, {0}, "anonymous"},
		{"7f00-8f00 rw-s 00000000 00:01 5         /SYSV00000000 (deleted)\n",
		 0x7f10,
		 true,
		 {1, 5, 0x10, 1},
		 "a SysV segment: its number is no inode"},
		{"7f00-8f00 rw-s 00000000 00:01 5\n", 0x7f10, true, {1, 5, 0x10, 0}, "no path"},
		{"7f00-8f00 rw-s 00000000 00:0e 1057      anon_inode:[io_uring]\n",
		 0x7f10,
		 false,
		 {0},
		 "an anonymous inode: the same number for every ring of every process"},
		{"7f00-8f00 rw-s 00000000 00:01 1057      /memfd:anon_inode: (deleted)\n",
		 0x7f10,
		 true,
		 {1, 1057, 0x10, 0},
		 "a memfd, whatever its name"},
		{"7f00-8f00 rw", 0x7f10, false, {0}, "cut"},
		{"", 0, false, {0}, "empty"},
		{"the rest of a path that was too long rw-s 1-2\n",
		 0x7f10,
		 false,
		 {0},
		 "no mapping"},
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct futex_place p = {0};

		if (futex_place_parse(rows[i].line, rows[i].addr, &p) != rows[i].found ||
		    memcmp(&p, &rows[i].place, sizeof(p)) != 0)
			fail_msg("%s: '%s'", rows[i].why, rows[i].line);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
