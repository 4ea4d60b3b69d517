/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks that all of waitscope reads. */
#ifndef WS_CORE_CLOCK_H
#define WS_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds: the clock that bpf_ktime_get_ns() reads, too. */
uint64_t clock_mono_ns(void);

/* One moment, on both clocks. */
struct moment {
	struct timespec wall;
	uint64_t mono_ns;
};

struct moment moment_now(void);

#endif
