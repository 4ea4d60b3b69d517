/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a file format allows but a terminal showing the file would obey. */
#ifndef WS_SINK_ESCAPE_H
#define WS_SINK_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Is the valid UTF-8 at s a control character (C0, DEL, C1), a line separator or a bidi override?
 * Its length in bytes and its code point, or 0.
 */
size_t escape_needed(const char *s, uint32_t *code);

#endif
