/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka and what it wants before it. */
#ifndef WS_UNIT_H
#define WS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

#endif
