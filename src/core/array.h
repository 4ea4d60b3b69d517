/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow. */
#ifndef WS_ARRAY_H
#define WS_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "core/config.h"

/*
 * The array with room for `more` elements behind its first n, *cap of which it has memory for;
 * grown, it has at least twice as much. NULL: no memory, and it is as it was.
 */
void *array_room(void *v, size_t *cap, size_t n, size_t more, size_t size);

/* Of n elements that begin with a uint64_t and ascend by it: how many have one that is not above
 * `key`. */
size_t array_upto(const void *v, size_t n, size_t size, uint64_t key);

int u32_list_push(struct u32_list *l, uint32_t v); /* 0, -ENOMEM */
/* Takes a text from malloc over, also where it fails. NULL, or no memory: -ENOMEM. */
int str_list_push(struct str_list *l, char *text);
void str_list_free(struct str_list *l); /* zeroed is fine */

#endif
