// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols: what they stand for may be endless. */
#include "fuzz.h"

#include "names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *symbol = fuzz_string(data, size), out[128];
	size_t len = 2 + size % 126;

	memset(out, 'x', sizeof(out));
	(void)demangle(out, len, symbol); /* whether it was one is all the same */
	MUST(memchr(out, '\0', len));
	free(symbol);
	return 0;
}
