/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of the machine makes two runs comparable, for the meta record. */
#ifndef WS_HARDWARE_H
#define WS_HARDWARE_H

#include "core/frame.h"

struct hardware; /* owns what a struct meta_machine points to */

/* Reads it. What the machine does not tell is NULL there. NULL: no memory. */
struct hardware *hardware_read(void);
const struct meta_machine *hardware_get(const struct hardware *h);
void hardware_free(struct hardware *h); /* NULL is fine */

#endif
