/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two halves behind names.h; nobody else includes this. */
#ifndef WS_NAMES_INTERNAL_H
#define WS_NAMES_INTERNAL_H

#include "names/names.h"

struct names_user;
struct names_kernel;

struct names {
	struct names_user *user;
	struct names_kernel *kernel;
};

/* Opening reads nothing yet: that waits for the first address. */
int names_user_open(struct names_user **out, const struct names_args *args, struct err *e);
void names_user_close(struct names_user *u); /* NULL is fine */
void names_user_trim(struct names_user *u);
int names_kernel_open(struct names_kernel **out, const struct names_args *args, struct err *e);
void names_kernel_close(struct names_kernel *k); /* NULL is fine */
void names_kernel_trim(struct names_kernel *k);

/* "0x7f1200001000", nothing else known. */
void name_bare(struct name *out, uint64_t addr);
/* snprintf for what may be cut: names are for reading. Appends if `add`. */
void name_print(char *to, size_t len, bool add, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
