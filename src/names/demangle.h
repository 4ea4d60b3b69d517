/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_NAMES_DEMANGLE_H
#define WS_NAMES_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * C++ and Rust symbols as their programmers wrote them, without parameters and hashes; any other
 * symbol as it is. Cut to `len`. True if it was a mangled one.
 */
bool demangle(char *out, size_t len, const char *symbol);

#endif
