// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/escape.h"

struct code_range {
	uint32_t first, last;
};

static const struct code_range three_bytes[] = {
	{0x200e, 0x200f}, /* directional marks */
	{0x2028, 0x202e}, /* line and paragraph separator, bidi embeddings and overrides */
	{0x2066, 0x2069}, /* bidi isolates */
	{0xfeff, 0xfeff}, /* byte order mark */
};

size_t escape_needed(const char *s, uint32_t *code)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t i;

	if (u[0] < 0x20 || u[0] == 0x7f) {
		*code = u[0];
		return 1;
	}
	if (u[0] == 0xc2 && u[1] >= 0x80 && u[1] < 0xa0) {
		*code = u[1];
		return 2;
	}
	if (u[0] < 0xe0 || u[0] > 0xef || !u[1] || !u[2])
		return 0;
	*code = (u[0] & 0xfU) << 12 | (u[1] & 0x3fU) << 6 | (u[2] & 0x3fU);
	for (i = 0; i < sizeof(three_bytes) / sizeof(three_bytes[0]); i++) {
		if (*code >= three_bytes[i].first && *code <= three_bytes[i].last)
			return 3;
	}
	return 0;
}
