// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/line/pmu_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/line/pmu.h"

/* Bits of struct perf_sample_data that are not asked for are not filled either. */
#define SAMPLE_TYPE                                                              \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_PHYS_ADDR)

/* 2: the very instruction, which every PEBS can. */
#define PEBS_PRECISE_IP 2

static const char *const intel_devices[] = {"cpu", "cpu_core", "cpu_atom", "cpu_lowpower"};

/*
 * Neither idle nor hypervisor excluded: IBS refuses to exclude anything, the program skips what is
 * idle. freq and wakeup_events keep PEBS from gathering records, of which BPF would see the last
 * task only.
 */
static void attr_init(struct perf_event_attr *attr, uint64_t freq)
{
	*attr = (struct perf_event_attr){
		.size = sizeof(*attr),
		.sample_type = SAMPLE_TYPE,
		.freq = 1,
		.sample_freq = freq,
		.wakeup_events = 1,
	};
}

static struct pmu_sampled *next_event(struct pmu_plan *plan, const char *device, const char *event,
				      uint64_t freq)
{
	struct pmu_sampled *s = &plan->v[plan->n];

	memset(s, 0, sizeof(*s));
	s->device = device;
	s->event = event;
	attr_init(&s->attr, freq);
	return s;
}

/* Golden Cove and later refuse loads that are not in a group with this event (ENODATA). */
static int add_leader(const char *devices, struct pmu_sampled *s)
{
	int ret;

	s->leader = (struct perf_event_attr){.size = sizeof(s->leader)};
	ret = pmu_event(devices, s->device, "mem-loads-aux", NULL, &s->leader);
	s->led = !ret;
	return ret == -ENOENT ? 0 : ret;
}

static int add_loads(const char *devices, const char *device, uint64_t freq, struct pmu_plan *plan)
{
	struct pmu_sampled *s = next_event(plan, device, "mem-loads", freq);
	struct perf_event_attr words = {0};
	char more[32];
	int ret;

	/* the event's own ldlat and ours would be or-ed: the event with ours in place of its own */
	(void)snprintf(more, sizeof(more), "ldlat=%d", PMU_LOAD_LATENCY); /* fits */
	ret = pmu_event(devices, device, "mem-loads", NULL, &s->attr);
	if (!ret)
		ret = pmu_event(devices, device, NULL, more, &words);
	if (ret)
		return ret;
	s->attr.config1 = words.config1;
	s->attr.precise_ip = PEBS_PRECISE_IP;
	ret = add_leader(devices, s);
	if (!ret)
		plan->n++;
	return ret;
}

static int add_stores(const char *devices, const char *device, uint64_t freq, struct pmu_plan *plan)
{
	struct pmu_sampled *s = next_event(plan, device, "mem-stores", freq);
	int ret = pmu_event(devices, device, "mem-stores", NULL, &s->attr);

	if (ret)
		return ret;
	s->attr.precise_ip = PEBS_PRECISE_IP;
	plan->n++;
	return 0;
}

/* Both, or what there is: without loads there is nothing to tell of. */
static int add_intel(const char *devices, const char *device, uint64_t freq, struct pmu_plan *plan)
{
	uint32_t first = plan->n, k;
	int ret;

	if (first + 2 > PMU_EVENTS_MAX)
		return -E2BIG;
	ret = add_loads(devices, device, freq, plan);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = add_stores(devices, device, freq, plan);
	if (ret && ret != -ENOENT)
		return ret;
	for (k = first; k < plan->n; k++)
		if (pmu_cpus(devices, device, plan->v[k].cpus, sizeof(plan->v[k].cpus)))
			plan->v[k].cpus[0] = '\0';
	return 0;
}

static int add_amd(const char *devices, uint64_t freq, struct pmu_plan *plan)
{
	struct pmu_sampled *s = next_event(plan, "ibs_op", NULL, freq);
	int ret = pmu_event(devices, "ibs_op", NULL, "cnt_ctl=1", &s->attr);

	if (ret == -ENOENT) /* the first IBS counts cycles only */
		ret = pmu_event(devices, "ibs_op", NULL, NULL, &s->attr);
	if (!ret)
		plan->n++;
	return ret == -ENOENT ? 0 : ret;
}

int pmu_plan(const char *devices, uint64_t freq, struct pmu_plan *plan, struct err *e)
{
	size_t k;
	int ret = 0;

	memset(plan, 0, sizeof(*plan));
	plan->sampler = "pebs";
	for (k = 0; !ret && k < sizeof(intel_devices) / sizeof(intel_devices[0]); k++)
		ret = add_intel(devices, intel_devices[k], freq, plan);
	if (!ret && !plan->n) {
		plan->sampler = "ibs";
		ret = add_amd(devices, freq, plan);
	}
	if (ret)
		return err_set(e, EXIT_CANNOT, ret,
			       "line: PMU: the events in '%s' cannot be read: %s", devices,
			       strerror(-ret));
	if (!plan->n)
		return err_set(e, EXIT_CANNOT, -ENOENT,
			       "line: this machine offers no PMU that samples memory accesses "
			       "(neither Intel mem-loads nor AMD ibs_op in '%s')",
			       devices);
	return 0;
}
