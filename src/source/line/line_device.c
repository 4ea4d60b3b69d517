// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device's registers are no cache line: nobody fights over them, they are slow by themselves.
 * Told by the kernel's own functions that access them; a driver that has readl or writel inlined
 * cannot be told from one that uses memory.
 */
#include <string.h>

#include "source/line/line_device.h"

static const char *const whole[] = {"readb",  "readw",	"readl",  "readq",
				    "writeb", "writew", "writel", "writeq"};

static const char *const beginnings[] = {
	"ioread",	 "iowrite",	  "__ioread",	     "__iowrite", "memcpy_toio",
	"memcpy_fromio", "__memcpy_toio", "__memcpy_fromio", "memset_io", "__memset_io"};

bool line_device_code(const char *sym)
{
	size_t len = strcspn(sym, "+"), k;

	for (k = 0; k < sizeof(whole) / sizeof(whole[0]); k++)
		if (strlen(whole[k]) == len && !strncmp(sym, whole[k], len))
			return true;
	for (k = 0; k < sizeof(beginnings) / sizeof(beginnings[0]); k++)
		if (!strncmp(sym, beginnings[k], strlen(beginnings[k])))
			return true;
	return false;
}
