/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts that were replaced while a report may still show them: kept until it is gone. */
#ifndef WS_TEXTS_H
#define WS_TEXTS_H

#include "core/config.h"

/* Makes *text a copy of `value` (NULL: none); without memory it stays as it is. */
void texts_replace(struct str_list *old, char **text, const char *value);
void texts_drop(struct str_list *old); /* frees them; the list can be used again */

#endif
