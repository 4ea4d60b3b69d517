/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/err.h"
#include "core/text.h"

#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h; no libc has it */

/*
 * The words at `at`; too long ones are cut. They quote what users and other programs wrote: that
 * must not reach a terminal, or begin another line, as it is. Returns the new end.
 */
static size_t append(struct err *e, size_t at, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static size_t append(struct err *e, size_t at, const char *fmt, va_list ap)
{
	char raw[ERR_TEXT_LEN];

	if (vsnprintf(raw, sizeof(raw), fmt, ap) >= 0)
		(void)text_clean(e->text + at, sizeof(e->text) - at, raw, SIZE_MAX);
	return at + strlen(e->text + at);
}

/* Nowhere to write, or written already. */
static bool err_is_set(const struct err *e)
{
	return !e || e->text[0];
}

int err_set(struct err *e, enum ws_exit exit, int code, const char *fmt, ...)
{
	va_list ap;

	if (err_is_set(e))
		return code;
	e->exit = exit;
	va_start(ap, fmt);
	(void)append(e, 0, fmt, ap); /* the end is of no use here */
	va_end(ap);
	return code;
}

const char *err_words(int code)
{
	code = code < 0 ? -code : code;
	return code == KERNEL_ENOTSUPP ? "not supported by this kernel" : strerror(code);
}

int err_sys(struct err *e, int code, const char *fmt, ...)
{
	const char *why = err_words(code);
	va_list ap;
	size_t end;

	if (err_is_set(e))
		return code;
	e->exit = EXIT_FAILED;
	va_start(ap, fmt);
	end = append(e, 0, fmt, ap);
	va_end(ap);
	(void)snprintf(e->text + end, sizeof(e->text) - end, ": %s", why); /* cut like append */
	return code;
}

enum ws_exit err_exit(const struct err *e)
{
	return e && e->text[0] ? e->exit : EXIT_FAILED;
}
