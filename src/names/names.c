// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names/internal.h"

int names_open(struct names **out, const struct names_args *args, struct err *e)
{
	struct names *n = calloc(1, sizeof(*n));
	int ret;

	if (!n)
		return err_sys(e, -ENOMEM, "names");
	ret = names_user_open(&n->user, args, e);
	if (!ret)
		ret = names_kernel_open(&n->kernel, args, e);
	if (ret) {
		names_close(n);
		return ret;
	}
	*out = n;
	return 0;
}

void names_close(struct names *n)
{
	if (!n)
		return;
	names_kernel_close(n->kernel);
	names_user_close(n->user);
	free(n);
}

int names_borrow(struct names_shared *s, struct names **out, struct err *e)
{
	int ret = s->names ? 0 : names_open(&s->names, &s->args, e);

	*out = s->names;
	return ret;
}

void names_shared_close(struct names_shared *s)
{
	names_close(s->names);
	s->names = NULL;
}

void names_trim(struct names *n)
{
	if (!n)
		return;
	names_user_trim(n->user);
	names_kernel_trim(n->kernel);
}

void name_bare(struct name *out, uint64_t addr)
{
	memset(out, 0, sizeof(*out));
	(void)snprintf(out->text, sizeof(out->text), "0x%" PRIx64, addr); /* fits */
}

void name_print(char *to, size_t len, bool add, const char *fmt, ...)
{
	size_t at = add ? strlen(to) : 0;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(to + at, len - at, fmt, ap);
	va_end(ap);
}

void name_add_place(struct name *n)
{
	char *within = strstr(n->text, NAME_INLINED), rest[NAME_LEN];
	char place[NAME_PLACE_LEN + 4]; /* " (kw.c:15)" */
	size_t at = within ? (size_t)(within - n->text) : strlen(n->text), most;

	if (!n->place[0])
		return;
	name_print(rest, sizeof(rest), false, "%s", n->text + at);
	name_print(place, sizeof(place), false, " (%s)", n->place);
	most = sizeof(n->text) - 1 - strlen(place);
	at = at < most ? at : most; /* of a long name the end is less than the line */
	name_print(n->text + at, sizeof(n->text) - at, false, "%s%s", place, rest);
}
