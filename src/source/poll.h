/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one fd to poll that a source shows (event_fd), for all that it waits for. */
#ifndef WS_POLL_H
#define WS_POLL_H

#include <stddef.h>

#include "core/err.h"

/* Readable when one of fds is; those below 0 are not there. Without any it stays as it is. */
int poll_open(int *event_fd, const int *fds, size_t n, const char *what, struct err *e);

#endif
