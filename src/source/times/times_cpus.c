// SPDX-License-Identifier: GPL-2.0-or-later
/*
 *	cpu0 1132 34 1441 11311718 3675 127 438 12 0 0	user nice system idle iowait irq softirq steal guest guest_nice
 *
 * in units of 1/USER_HZ s. Guests' time is in user's, and nice's.
 */
#include "source/times/times_cpus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fields.h"

#define STAT "/proc/stat"

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, STATES };

int cpus_run_open(struct cpus_run *c, const struct config *cfg, struct err *e)
{
	const struct str_list *given = &cfg->filter.late[ABI_FILTER_CPU];

	*c = (struct cpus_run){0};
	return given->n ? parse_cpu_list(given->v[0], "--cpu", &c->only, e) : 0;
}

/* Adds the CPU of a line; false: it is none that is asked for. */
static bool read_cpu(const struct cpus_run *c, const char *line, uint64_t *busy, uint64_t *steal)
{
	uint64_t v[STATES];
	uint32_t cpu;

	if (line[3] == ' ') /* all together */
		return false;
	if (sscanf(line,
		   "cpu%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &cpu, &v[USER], &v[NICE], &v[SYSTEM], &v[IDLE], &v[IOWAIT], &v[IRQ], &v[SOFTIRQ],
		   &v[STEAL]) != 1 + STATES)
		return false;
	if (c->only.nbits && !cpu_set_has(&c->only, cpu))
		return false;
	*busy += v[USER] + v[NICE] + v[SYSTEM] + v[IRQ] + v[SOFTIRQ];
	*steal += v[STEAL];
	return true;
}

static uint64_t grown(uint64_t now, uint64_t *last, uint64_t most)
{
	uint64_t more = now > *last ? now - *last : 0;

	more = more < most ? more : most;
	*last += more; /* what does not fit is of the next interval: their clocks tick */
	return more;
}

int cpus_run_next(struct cpus_run *c, uint64_t mono_ns, struct err *e)
{
	uint64_t busy = 0, steal = 0, tick = 1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK), wall;
	bool first = !c->mono_ns;
	uint32_t n = 0;
	char line[512];
	FILE *f = fopen(STAT, "re");

	if (!f)
		return err_sys(e, -errno, STAT);
	while (fgets(line, sizeof(line), f) && !strncmp(line, "cpu", 3))
		n += read_cpu(c, line, &busy, &steal);
	fclose(f);
	if (first || n != c->n) { /* a CPU came or went: of this interval nothing is known */
		c->busy_ns = busy * tick;
		c->steal_ns = steal * tick;
	}
	wall = first || n != c->n ? 0 : (mono_ns - c->mono_ns) * n;
	c->interval = (struct times){.of = TIMES_CPUS};
	c->interval.running_ns = grown(busy * tick, &c->busy_ns, wall);
	c->interval.waiting_ns = grown(steal * tick, &c->steal_ns, wall - c->interval.running_ns);
	c->interval.asleep_ns = wall - c->interval.running_ns - c->interval.waiting_ns;
	c->n = n;
	c->mono_ns = mono_ns;
	if (!c->total.of)
		c->total.of = TIMES_CPUS;
	fields_add(&times_fields, &c->total, &c->interval);
	return 0;
}

void cpus_run_forget(struct cpus_run *c)
{
	c->total = (struct times){.of = TIMES_CPUS};
}
