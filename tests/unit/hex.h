/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code written as hexadecimal digits, two a byte. */
#ifndef WS_TEST_HEX_H
#define WS_TEST_HEX_H

#include <stdio.h>

#include "unit.h"

static inline size_t from_hex(const char *text, uint8_t *out)
{
	size_t n;

	for (n = 0; text[2 * n]; n++) {
		unsigned int byte;

		assert_int_equal(sscanf(text + 2 * n, "%2x", &byte), 1);
		out[n] = (uint8_t)byte;
	}
	return n;
}

#endif
