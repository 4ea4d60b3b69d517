// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A loop on CPU 1 that looks at the clock all the time: what it misses are interruptions. Those of
 * SHORT_NS or less are interrupts; longer ones other tasks' turns (or the host's), and are no
 * time of the loop's.
 *
 *	gaps SECONDS
 *	{"own_ns":N,"lost_ns":N,"gaps":N,"p50_ns":N}	of own_ns, lost_ns went to interrupts
 */
#include "load/load.h"

#include <string.h>

#define LEAST_NS 700 /* two readings of the clock take less, an interrupt more */
#define SHORT_NS 60000
#define GAPS_MAX (1U << 20)

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static uint32_t gaps[GAPS_MAX];
	uint64_t now, then, begin, end, others = 0, lost = 0;
	size_t n = 0;

	if (argc != 2)
		errx(2, "usage: gaps SECONDS");
	load_pin(1);
	memset(gaps, 0, sizeof(gaps)); /* no page faults later */
	begin = then = load_now_ns();
	end = begin + (uint64_t)(atof(argv[1]) * 1e9);
	for (; then < end && n < GAPS_MAX; then = now) {
		now = load_now_ns();
		if (now - then > SHORT_NS) {
			others += now - then;
		} else if (now - then > LEAST_NS) {
			lost += now - then;
			gaps[n++] = (uint32_t)(now - then);
		}
	}
	qsort(gaps, n, sizeof(gaps[0]), compare);
	printf("{\"own_ns\":%" PRIu64 ",\"lost_ns\":%" PRIu64 ",\"gaps\":%zu,\"p50_ns\":%" PRIu32
	       "}\n",
	       then - begin - others, lost, n, n ? gaps[n / 2] : 0);
	return 0;
}
