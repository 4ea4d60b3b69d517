/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors: negative errno goes up; the words are written once, where the failure is seen. */
#ifndef WS_ERR_H
#define WS_ERR_H

#include <stddef.h>

/* Exit codes of the command (manual, EXIT STATUS). */
enum ws_exit {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_CANNOT = 3, /* this kernel or machine cannot */
	EXIT_LIMIT = 4,	 /* --fail-if */
};

#define ERR_TEXT_LEN 512

/* Lives on the caller's stack, zeroed. The first text stays: it is nearest to the cause. */
struct err {
	enum ws_exit exit;
	char text[ERR_TEXT_LEN]; /* "WHAT: WHY (HINT)", without prefix and newline */
};

/*
 * Writes the words and returns `code` (a negative errno), so that `return err_set(...)` reads well.
 * `e` may be NULL. Does not overwrite an earlier text. What is printed is safe for a terminal
 * (text_clean) and one line, whatever was quoted in it.
 */
int err_set(struct err *e, enum ws_exit exit, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* strerror, of a code of either sign, that knows ENOTSUPP: the kernel's own, which BPF lets out. */
const char *err_words(int code);
/* "WHAT: err_words(code)", exit 1. */
int err_sys(struct err *e, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The exit code for a failed call: e->exit if words were written, else EXIT_FAILED. */
enum ws_exit err_exit(const struct err *e);

#endif
