/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in a frame are raw bytes: what formats of text make of them first. */
#ifndef WS_SINK_FOREIGN_H
#define WS_SINK_FOREIGN_H

#include "sink/out.h"

/* A copy that is valid UTF-8, from malloc. NULL: no memory, which out_flush reports. */
char *foreign_utf8(struct out *out, const char *text);
/* "\x1b" */
void foreign_bytes(struct out *out, const char *s, size_t n);
/* Valid UTF-8 in which \xNN stands for the byte NN: what text_unseen knows, the backslash, and each
 * of the ASCII characters `also`. Nothing of the name is lost. */
void foreign_escaped(struct out *out, const char *text, const char *also);

#endif
