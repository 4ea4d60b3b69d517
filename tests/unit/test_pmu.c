// SPDX-License-Identifier: GPL-2.0-or-later
/* Terms and formats, with devices as real machines have them (a Skylake, an Alder Lake, a Zen 4).
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/line/pmu.h"
#include "tree.h"

static char root[TREE_ROOT];

static const struct file files[] = {
	{"cpu/type", "4"},
	{"cpu/format/event", "config:0-7"},
	{"cpu/format/umask", "config:8-15"},
	{"cpu/format/ldlat", "config1:0-15"},
	{"cpu/format/offcore_rsp", "config1:0-63"},
	{"cpu/format/split", "config:0-7,32-35"},
	{"cpu/format/inv", "config:23"},
	{"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
	{"cpu/events/odd", "event=0xcd,nothing=1"},
	{"ibs_op/type", "11"},
	{"ibs_op/format/cnt_ctl", "config:19"},
	{"cpu_core/type", "4"},
	{"cpu_core/cpus", "0-15"},
	{NULL},
};

static int setup(void **state)
{
	tree_make(root, files);
	return 0;
}

static int teardown(void **state)
{
	tree_gone(root);
	return 0;
}

TEST(formats)
{
	static const struct {
		const char *text;
		int ret;
		uint8_t word, nbits, first, last;
	} rows[] = {
		{"config:0-7", 0, 0, 8, 0, 7},		{"config1:0-15", 0, 1, 16, 0, 15},
		{"config:23", 0, 0, 1, 23, 23},		{"config:0-7,32-35", 0, 0, 12, 0, 35},
		{"config2:0-63", 0, 2, 64, 0, 63},	{"config", -EINVAL, 0, 0, 0, 0},
		{"config:", -EINVAL, 0, 0, 0, 0},	{"config4:0", -EINVAL, 0, 0, 0, 0},
		{"config:7-0", -EINVAL, 0, 0, 0, 0},	{"config:0-64", -EINVAL, 0, 0, 0, 0},
		{"config:0-63,1", -EINVAL, 0, 0, 0, 0}, {"config:1,", -EINVAL, 0, 0, 0, 0},
		{"config:1 ", -EINVAL, 0, 0, 0, 0},	{"", -EINVAL, 0, 0, 0, 0},
	};
	struct pmu_format f;

	for (size_t k = 0; k < ROWS(rows); k++) {
		int ret = pmu_format_parse(rows[k].text, &f);

		if (ret != rows[k].ret)
			fail_msg("'%s': %d", rows[k].text, ret);
		if (ret)
			continue;
		assert_int_equal(f.word, rows[k].word);
		assert_int_equal(f.nbits, rows[k].nbits);
		assert_int_equal(f.bit[0], rows[k].first);
		assert_int_equal(f.bit[f.nbits - 1], rows[k].last);
	}
}

TEST(terms)
{
	static const struct {
		const char *text;
		int ret;
		uint64_t config, config1;
	} rows[] = {
		{"event=0xcd,umask=0x1,ldlat=30", 0, 0x1cd, 30},
		{"inv,event=1", 0, 1 | 1 << 23, 0},
		{"split=0xfab", 0, 0xab | 0xfULL << 32, 0},
		{"offcore_rsp=0xffffffffffffffff", 0, 0, UINT64_MAX},
		{"config=0x4d2,config1=7", 0, 0x4d2, 7},
		{"event=256", -EINVAL, 0, 0},
		{"event=-1", -EINVAL, 0, 0},
		{"event=", -EINVAL, 0, 0},
		{"event=1x", -EINVAL, 0, 0},
		{",", -EINVAL, 0, 0},
		{"nothing=1", -ENOENT, 0, 0},
		{"../type=1", -EINVAL, 0, 0},
	};
	char dev[96];

	(void)snprintf(dev, sizeof(dev), "%s/cpu", root);
	for (size_t k = 0; k < ROWS(rows); k++) {
		struct perf_event_attr attr = {0};
		int ret = pmu_terms(dev, rows[k].text, &attr);

		if (ret != rows[k].ret ||
		    (!ret && (attr.config != rows[k].config || attr.config1 != rows[k].config1)))
			fail_msg("'%s': %d, config %#llx config1 %#llx", rows[k].text, ret,
				 (unsigned long long)attr.config, (unsigned long long)attr.config1);
	}
}

TEST(events)
{
	struct perf_event_attr attr = {0};
	char cpus[64];

	assert_int_equal(pmu_event(root, "cpu", "mem-loads", NULL, &attr), 0);
	assert_int_equal(attr.type, 4);
	assert_int_equal(attr.config, 0x1cd);
	assert_int_equal(attr.config1, 3);
	attr = (struct perf_event_attr){0};
	assert_int_equal(pmu_event(root, "ibs_op", NULL, "cnt_ctl=1", &attr), 0);
	assert_int_equal(attr.type, 11);
	assert_int_equal(attr.config, 1 << 19);
	assert_int_equal(pmu_event(root, "cpu", "mem-stores", NULL, &attr), -ENOENT);
	assert_int_equal(pmu_event(root, "cpu", "odd", NULL, &attr), -ENOENT);
	assert_int_equal(pmu_event(root, "none", NULL, NULL, &attr), -ENOENT);
	assert_int_equal(pmu_cpus(root, "cpu_core", cpus, sizeof(cpus)), 0);
	assert_string_equal(cpus, "0-15");
	assert_int_equal(pmu_cpus(root, "cpu", cpus, sizeof(cpus)), -ENOENT);
}

int main(void)
{
	return unit_main(setup, teardown);
}
