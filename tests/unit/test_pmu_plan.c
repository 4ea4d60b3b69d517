// SPDX-License-Identifier: GPL-2.0-or-later
/* From what sysfs has to the events that are opened; trees as real machines show them. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "source/sys/cpus.h"
#include "source/line/pmu.h"
#include "tree.h"

#define FREQ 997

#define INTEL_FORMATS(dev)                                                         \
	{dev "/format/event", "config:0-7"}, {dev "/format/umask", "config:8-15"}, \
	{                                                                          \
		dev "/format/ldlat", "config1:0-15"                                \
	}

static const struct file skylake[] = {
	{"cpu/type", "4"},
	INTEL_FORMATS("cpu"),
	{"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{"cpu/events/mem-stores", "event=0xd0,umask=0x82"},
	{NULL},
};

static const struct file sapphire_rapids[] = {
	{"cpu/type", "4"},
	INTEL_FORMATS("cpu"),
	{"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{"cpu/events/mem-loads-aux", "event=0x03,umask=0x82"},
	{"cpu/events/mem-stores", "event=0xcd,umask=0x2"},
	{NULL},
};

static const struct file alder_lake[] = {
	{"cpu_core/type", "4"},
	{"cpu_core/cpus", "0-15"},
	INTEL_FORMATS("cpu_core"),
	{"cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{"cpu_core/events/mem-loads-aux", "event=0x03,umask=0x82"},
	{"cpu_core/events/mem-stores", "event=0xcd,umask=0x2"},
	{"cpu_atom/type", "10"},
	{"cpu_atom/cpus", "16-23"},
	INTEL_FORMATS("cpu_atom"),
	{"cpu_atom/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3"},
	{"cpu_atom/events/mem-stores", "event=0xd0,umask=0x6"},
	{NULL},
};

static const struct file arrow_lake_h[] = {
	{"cpu_core/type", "4"},
	{"cpu_core/cpus", "0-5"},
	INTEL_FORMATS("cpu_core"),
	{"cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{"cpu_core/events/mem-stores", "event=0xcd,umask=0x2"},
	{"cpu_atom/type", "10"},
	{"cpu_atom/cpus", "6-13"},
	INTEL_FORMATS("cpu_atom"),
	{"cpu_atom/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3"},
	{"cpu_atom/events/mem-stores", "event=0xd0,umask=0x6"},
	{"cpu_lowpower/type", "11"},
	{"cpu_lowpower/cpus", "14-15"},
	INTEL_FORMATS("cpu_lowpower"),
	{"cpu_lowpower/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3"},
	{"cpu_lowpower/events/mem-stores", "event=0xd0,umask=0x6"},
	{NULL},
};

static const struct file sierra_forest[] = {
	{"cpu/type", "4"},
	INTEL_FORMATS("cpu"),
	{"cpu/events/mem-loads", "event=0xd0,umask=0x5,ldlat=3"},
	{"cpu/events/mem-stores", "event=0xd0,umask=0x6"},
	{NULL},
};

static const struct file no_stores[] = {
	{"cpu/type", "4"},
	INTEL_FORMATS("cpu"),
	{"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{NULL},
};

/* Loads that cannot be told by latency: a hypervisor may show them so. */
static const struct file no_latency[] = {
	{"cpu/type", "4"},
	{"cpu/format/event", "config:0-7"},
	{"cpu/format/umask", "config:8-15"},
	{"cpu/events/mem-loads", "event=0xcd,umask=0x1"},
	{NULL},
};

static const struct file family_10h[] = {
	{"ibs_op/type", "11"},
	{"ibs_op/format/swfilt", "config2:0"},
	{NULL},
};

static const struct file zen4[] = {
	{"cpu/type", "4"},
	{"cpu/format/event", "config:0-7,32-35"},
	{"cpu/events/cycles", "event=0x76"},
	{"ibs_op/type", "11"},
	{"ibs_op/format/cnt_ctl", "config:19"},
	{"ibs_fetch/type", "10"},
	{NULL},
};

static const struct file guest[] = {
	{"cpu/type", "4"},
	{"cpu/format/event", "config:0-7"},
	{"cpu/events/instructions", "event=0xc0"},
	{NULL},
};

static const struct file odd[] = {
	{"cpu/type", "4"},
	INTEL_FORMATS("cpu"),
	{"cpu/events/mem-loads", "event=0xcdcd,umask=0x1"},
	{NULL},
};

struct event {
	const char *device, *event;
	uint32_t type;
	uint64_t config, config1, leader; /* leader 0: none */
	const char *cpus;
	uint32_t precise;
};

static const struct machine {
	const char *name;
	const struct file *files;
	int ret;
	const char *sampler;
	struct event events[PMU_EVENTS_MAX + 1];
} machines[] = {
	{"Skylake",
	 skylake,
	 0,
	 "pebs",
	 {{"cpu", "mem-loads", 4, 0x1cd, 30, 0, "", 2},
	  {"cpu", "mem-stores", 4, 0x82d0, 0, 0, "", 2}}},
	{"Sapphire Rapids: loads are led",
	 sapphire_rapids,
	 0,
	 "pebs",
	 {{"cpu", "mem-loads", 4, 0x1cd, 30, 0x8203, "", 2},
	  {"cpu", "mem-stores", 4, 0x2cd, 0, 0, "", 2}}},
	{"Alder Lake: two kinds of cores",
	 alder_lake,
	 0,
	 "pebs",
	 {{"cpu_core", "mem-loads", 4, 0x1cd, 30, 0x8203, "0-15", 2},
	  {"cpu_core", "mem-stores", 4, 0x2cd, 0, 0, "0-15", 2},
	  {"cpu_atom", "mem-loads", 10, 0x5d0, 30, 0, "16-23", 2},
	  {"cpu_atom", "mem-stores", 10, 0x6d0, 0, 0, "16-23", 2}}},
	{"Arrow Lake-H: three kinds of cores, no leader",
	 arrow_lake_h,
	 0,
	 "pebs",
	 {{"cpu_core", "mem-loads", 4, 0x1cd, 30, 0, "0-5", 2},
	  {"cpu_core", "mem-stores", 4, 0x2cd, 0, 0, "0-5", 2},
	  {"cpu_atom", "mem-loads", 10, 0x5d0, 30, 0, "6-13", 2},
	  {"cpu_atom", "mem-stores", 10, 0x6d0, 0, 0, "6-13", 2},
	  {"cpu_lowpower", "mem-loads", 11, 0x5d0, 30, 0, "14-15", 2},
	  {"cpu_lowpower", "mem-stores", 11, 0x6d0, 0, 0, "14-15", 2}}},
	{"Sierra Forest: small cores alone",
	 sierra_forest,
	 0,
	 "pebs",
	 {{"cpu", "mem-loads", 4, 0x5d0, 30, 0, "", 2},
	  {"cpu", "mem-stores", 4, 0x6d0, 0, 0, "", 2}}},
	{"no stores: loads alone",
	 no_stores,
	 0,
	 "pebs",
	 {{"cpu", "mem-loads", 4, 0x1cd, 30, 0, "", 2}}},
	{"no term for the latency: no loads", no_latency, -ENOENT, NULL, {{NULL}}},
	{"Zen 4: operations are counted",
	 zen4,
	 0,
	 "ibs",
	 {{"ibs_op", NULL, 11, 1 << 19, 0, 0, "", 0}}},
	{"the first IBS: cycles are", family_10h, 0, "ibs", {{"ibs_op", NULL, 11, 0, 0, 0, "", 0}}},
	{"a guest without", guest, -ENOENT, NULL, {{NULL}}},
	{"a value too wide", odd, -EINVAL, NULL, {{NULL}}},
};

static char root[TREE_ROOT];

static void check_event(const struct pmu_sampled *s, const struct event *x)
{
	const uint64_t fields = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
				PERF_SAMPLE_CPU | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT |
				PERF_SAMPLE_PHYS_ADDR;

	assert_string_equal(s->device, x->device);
	if (x->event)
		assert_string_equal(s->event, x->event);
	else
		assert_null(s->event);
	assert_int_equal(s->attr.type, x->type);
	assert_int_equal(s->attr.config, x->config);
	assert_int_equal(s->attr.config1, x->config1);
	assert_int_equal(s->attr.precise_ip, x->precise);
	assert_int_equal(s->attr.sample_type, fields);
	assert_int_equal(s->attr.freq, 1);
	assert_int_equal(s->attr.sample_freq, FREQ);
	assert_int_equal(s->attr.wakeup_events, 1);
	/* IBS refuses to exclude anything */
	assert_false(s->attr.exclude_idle || s->attr.exclude_hv || s->attr.exclude_kernel);
	assert_int_equal(s->led, x->leader != 0);
	if (x->leader) {
		assert_int_equal(s->leader.type, x->type);
		assert_int_equal(s->leader.config, x->leader);
		assert_int_equal(s->leader.sample_period, 0);
	}
	assert_string_equal(s->cpus, x->cpus);
}

static void plan_of(const struct machine *m)
{
	struct pmu_plan plan;
	struct err e = {0};
	uint32_t n = 0;

	assert_int_equal(pmu_plan(root, FREQ, &plan, &e), m->ret);
	if (m->ret) {
		assert_int_equal(e.exit, EXIT_CANNOT);
		assert_non_null(strstr(e.text, root));
		return;
	}
	assert_string_equal(plan.sampler, m->sampler);
	for (; m->events[n].device; n++)
		check_event(&plan.v[n], &m->events[n]);
	assert_int_equal(plan.n, n);
}

TEST(plans)
{
	size_t k;

	for (k = 0; k < ROWS(machines); k++) {
		print_message("# %s\n", machines[k].name);
		tree_make(root, machines[k].files);
		plan_of(&machines[k]);
		tree_gone(root);
	}
}

TEST(cpu_lists)
{
	static const struct {
		const char *list;
		uint32_t cpu;
		bool in;
	} rows[] = {
		{"", 7, true},	      {"0-15", 15, true},    {"0-15", 16, false},
		{"0,2,4-6", 5, true}, {"0,2,4-6", 3, false}, {"8", 8, true},
		{"8", 80, false},     {"x", 0, false},	     {"1-", 1, false},
		{"3 ,4", 4, false},
	};
	size_t k;

	for (k = 0; k < ROWS(rows); k++)
		if (cpus_in(rows[k].list, rows[k].cpu) != rows[k].in)
			fail_msg("'%s' %u", rows[k].list, rows[k].cpu);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
