// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/foreign.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

/* Paths can be long: kernel names of any length, three bytes for each bad one. */
char *foreign_utf8(struct out *out, const char *text)
{
	size_t size = 3 * strlen(text) + 1;
	char *clean = malloc(size);

	if (!clean) {
		out->error = -ENOMEM;
		return NULL;
	}
	return text_utf8(clean, size, text, SIZE_MAX);
}

void foreign_bytes(struct out *out, const char *s, size_t n)
{
	for (; n; n--, s++)
		out_printf(out, "\\x%02x", (unsigned char)*s);
}

void foreign_escaped(struct out *out, const char *text, const char *also)
{
	char *clean = foreign_utf8(out, text);
	uint32_t code;
	size_t n;

	for (const char *s = clean; s && *s; s += n ? n : 1) {
		n = *s == '\\' || strchr(also, *s) ? 1 : text_unseen(s, &code);
		if (n)
			foreign_bytes(out, s, n);
		else
			out_put(out, s, 1);
	}
	free(clean);
}
