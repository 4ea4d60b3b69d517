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

#endif
