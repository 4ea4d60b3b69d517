/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events sample memory accesses with their addresses on this machine, as sysfs tells: from
 * its devices to perf_event_attr, without opening anything.
 *
 *	Intel	cpu, or the kinds of cores of a hybrid (cpu_core, cpu_atom, cpu_lowpower): mem-loads
 *		above a latency, mem-stores (PEBS); where there is a mem-loads-aux it must lead the
 *		loads' group
 *	AMD	ibs_op: one operation in so many (cnt_ctl; by cycles, which it counts else,
 *		those that wait long before they start would be sampled more often),
 *		whatever it does; no filter
 *
 * HITM has no event of its own here. Sysfs names none; the raw ones differ by model, count clean
 * lines too from Ice Lake on (XSNP_FWD), and a remote one exists on servers only, so that
 * sampling them beside the loads would make local and remote hits incomparable. It is read from the
 * snoop bits of a load's data_src, as by perf c2c.
 */
#ifndef WS_PMU_PLAN_H
#define WS_PMU_PLAN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/err.h"

#define PMU_EVENTS_MAX 6    /* loads and stores of three kinds of cores */
#define PMU_LOAD_LATENCY 30 /* cycles: faster loads, the first-level cache's, are not sampled */

struct pmu_sampled {
	const char *device, *event;  /* "cpu_core", "mem-loads"; ibs_op: event NULL */
	struct perf_event_attr attr; /* of a sample each time, and BPF sees each by itself */
	bool led;
	struct perf_event_attr leader; /* counts only */
	char cpus[256];		       /* of a device that has not all: "0-15"; else "" */
};

struct pmu_plan {
	const char *sampler; /* "pebs" "ibs" */
	struct pmu_sampled v[PMU_EVENTS_MAX];
	uint32_t n;
};

/* 0; -ENOENT: this machine offers none; else what sysfs says makes no sense. With words, exit 3. */
int pmu_plan(const char *devices, uint64_t freq, struct pmu_plan *plan, struct err *e);

#endif
