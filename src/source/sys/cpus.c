// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/frame.h"
#include "source/sys/cpus.h"

int possible_cpus(struct err *e)
{
	int n = libbpf_num_possible_cpus();

	if (n <= 0)
		return err_set(e, EXIT_CANNOT, n ? n : -EINVAL,
			       "possible CPUs: %s (/sys must be mounted)",
			       strerror(n ? -n : EINVAL));
	return n;
}

cpu_name *cpu_names(uint32_t ncpus)
{
	cpu_name *names = calloc(ncpus, sizeof(*names));

	for (uint32_t c = 0; names && c < ncpus; c++)
		(void)snprintf(names[c], sizeof(names[c]), "%u", c); /* fits */
	return names;
}

int cpus_fill(struct arena *a, const uint64_t *bits, uint32_t ncpus, struct contended *out)
{
	uint32_t cpu, n = 0, *cpus;

	for (cpu = 0; cpu < (ncpus + 63) / 64; cpu++)
		n += (uint32_t)__builtin_popcountll(bits[cpu]);
	cpus = arena_take(a, n * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	out->cpus = cpus;
	for (cpu = 0; cpu < ncpus; cpu++)
		if (bits[cpu / 64] >> (cpu % 64) & 1)
			cpus[out->ncpus++] = cpu;
	return 0;
}

bool cpus_in(const char *list, uint32_t cpu)
{
	unsigned long from, to;
	char *end;

	if (!*list)
		return true;
	for (;; list = end + 1) {
		from = to = strtoul(list, &end, 10);
		if (end == list)
			return false;
		if (*end == '-') {
			list = end + 1;
			to = strtoul(list, &end, 10);
			if (end == list)
				return false;
		}
		if (cpu >= from && cpu <= to)
			return true;
		if (*end != ',')
			return false;
	}
}
