// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/clock.h"

uint64_t clock_mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

struct moment moment_now(void)
{
	struct moment m = {.mono_ns = clock_mono_ns()};

	clock_gettime(CLOCK_REALTIME, &m.wall); /* cannot fail */
	return m;
}
