/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka and what it wants before it. */
#ifndef WS_UNIT_H
#define WS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 names the type, and warns of the name that version 1 has. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range assert_uint_in_range
#endif

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

#endif
