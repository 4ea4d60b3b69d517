// SPDX-License-Identifier: GPL-2.0-or-later
/* Names from the kernel on their way to a terminal: two bytes of buffer size, then the name. */
#include "fuzz.h"

#include "core/text.h"

static int has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f ||
		    (s[0] == '\xc2' && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xa0))
			return 1;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t outlen, len;
	char *in, *out;

	if (size < 2)
		return 0;
	outlen = 1 + (data[0] | (size_t)data[1] << 8) % 600;
	in = fuzz_string(data + 2, size - 2);
	len = data[0] & 1 ? SIZE_MAX : size - 2;
	out = malloc(outlen); /* exactly: a byte too many is seen */
	MUST(out);

	MUST(text_clean(out, outlen, in, len) == out);
	MUST(memchr(out, '\0', outlen));
	MUST(fuzz_utf8_valid(out));
	MUST(!has_control(out));
	MUST(text_width(out) <= strlen(out) * 2);

	MUST(text_utf8(out, outlen, in, len) == out);
	MUST(memchr(out, '\0', outlen));
	MUST(fuzz_utf8_valid(out));
	if (fuzz_utf8_valid(in) && strlen(in) < outlen && strlen(in) <= len)
		MUST(strcmp(in, out) == 0);
	free(out);
	free(in);
	return 0;
}
