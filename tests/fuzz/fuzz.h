/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share. A target checks what must always hold; the sanitizers do the rest.
 */
#ifndef WS_TEST_FUZZ_H
#define WS_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                                \
	do {                                                                                      \
		if (!(cond)) {                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

/* The bytes as a string of their own, so that reading past its end is seen. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);

	MUST(s);
	if (size)
		memcpy(s, data, size);
	s[size] = '\0';
	return s;
}

/* Is it valid UTF-8? No overlong forms, no surrogates, nothing past U+10FFFF. */
static inline int fuzz_utf8_valid(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t more = *s < 0x80	      ? 0
			      : *s >> 5 == 6  ? 1
			      : *s >> 4 == 14 ? 2
			      : *s >> 3 == 30 ? 3
					      : 9;
		uint32_t code = more ? *s & (0x3f >> more) : *s;

		if (more == 9)
			return 0;
		for (size_t i = 1; i <= more; i++) {
			if (s[i] >> 6 != 2)
				return 0;
			code = code << 6 | (s[i] & 0x3f);
		}
		if ((more == 1 && code < 0x80) || (more == 2 && code < 0x800) ||
		    (more == 3 && code < 0x10000) || code > 0x10ffff ||
		    (code >= 0xd800 && code < 0xe000))
			return 0;
		s += more + 1;
	}
	return 1;
}

/* Some of what a terminal obeys or a reader does not see, whatever our own table says. */
static inline void fuzz_must_show(const char *text)
{
	static const char *const never[] = {
		"\x1b",		"\x7f",		"\xc2\x9b",	"\xd8\x9c",
		"\xe2\x80\xae", "\xe2\x81\xa6", "\xef\xbb\xbf", "\xf3\xa0\x81\x81",
	};
	size_t i;

	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		MUST(!strstr(text, never[i]));
}

#endif
