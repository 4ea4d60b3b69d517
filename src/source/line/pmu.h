/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PMU events by the names that the kernel gives them in sysfs: a device's type, what its terms mean
 * (format/) and its named events (events/). libpfm 4.13 knows no IBS and no Intel core newer than
 * Sapphire Rapids; sysfs is what the running kernel's driver says of itself.
 */
#ifndef WS_PMU_H
#define WS_PMU_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define PMU_DEVICES "/sys/bus/event_source/devices"

/* One term's place: bits of a config word, lowest first. */
struct pmu_format {
	uint8_t word; /* 0: config, 1: config1 ... */
	uint8_t nbits;
	uint8_t bit[64];
};

/* "config:0-7,32-35" -> places. 0 or -EINVAL. */
int pmu_format_parse(const char *text, struct pmu_format *f);

/*
 * An event's terms, "event=0xcd,umask=0x1,ldlat=30", into attr->config..config2 by the formats of
 * the device in directory `dev`; a term without a value is 1. config= to config2= need no
 * format. 0; -EINVAL: not such a list, or a value too wide; -ENOENT: a term the device has not;
 * -ENOTSUP: one in config3.
 */
int pmu_terms(const char *dev, const char *terms, struct perf_event_attr *attr);

/* attr->type and the words of a named event of device `name` below `devices` (PMU_DEVICES), with
 * `more` terms (or NULL) behind its own. -ENOENT: no such device or event. */
int pmu_event(const char *devices, const char *name, const char *event, const char *more,
	      struct perf_event_attr *attr);

/* CPUs that a device counts on ("cpus" of a hybrid core type, else "cpumask"), as text; 0 or
 * negative errno: it counts on all. */
int pmu_cpus(const char *devices, const char *name, char *text, size_t len);

/* ---- the plan ---- */

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
