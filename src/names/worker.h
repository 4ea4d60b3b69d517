/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef WS_NAMES_WORKER_H
#define WS_NAMES_WORKER_H

#include <stdbool.h>

/* The worker's process: serves main_sock until it is closed. mark_fd: of a struct mark. */
int worker_main(int main_sock, int opener_sock, int mark_fd, bool debuginfod);

#endif
