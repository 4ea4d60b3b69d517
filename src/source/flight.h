/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is still waiting: a walk over all tasks in the kernel (bpf_iter, 5.8), at a report. */
#ifndef WS_FLIGHT_H
#define WS_FLIGHT_H

#include <linux/types.h>

#include "abi.h"

struct bpf_link;

/* The program behind `link` fills the one entry of map_fd. 0 or negative errno. */
int flight_walk(const struct bpf_link *link, int map_fd, struct abi_in_flight *out);

#endif
