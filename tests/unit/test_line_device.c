// SPDX-License-Identifier: GPL-2.0-or-later
/* Which kernel functions access a device's registers, by their names. */
#include "unit.h"

#include "source/line/line.h"

TEST(names)
{
	static const struct {
		const char *sym;
		bool device;
	} rows[] = {
		{"iowrite16+0x9", true},
		{"ioread32be+0x1", true},
		{"iowrite8", true},
		{"memcpy_fromio+0x3", true},
		{"__iowrite32_copy", true},
		{"readl+0x2", true},
		{"writeq", true},
		{"readlink_copy+0x2", false},
		{"writeback_inodes", false},
		{"read+0x1", false},
		{"memset+0x9", false},
		{"iov_iter_revert", false},
		{"0xffffffff81000000", false},
		{"", false},
	};
	size_t k;

	for (k = 0; k < ROWS(rows); k++)
		if (line_device_code(rows[k].sym) != rows[k].device)
			fail_msg("'%s'", rows[k].sym);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
