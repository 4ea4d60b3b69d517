/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A BPF array map in our memory, read-only: what programs count is read without a call. */
#ifndef WS_MAPPED_H
#define WS_MAPPED_H

#include <stddef.h>

#include "core/err.h"

struct mapped {
	const void *at; /* NULL: not open */
	size_t len;
};

int mapped_open(struct mapped *m, int map_fd, size_t bytes, const char *what, struct err *e);
void mapped_close(struct mapped *m);

#endif
