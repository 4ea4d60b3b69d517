/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PMU's program with samples that test_line_feed.c makes up: what no event of a machine without
 * a PMU tells, above all where memory's answer came from. All behind the event itself is the same.
 */
#include "../../bpf/line.bpf.c"

#define SAMPLE_BYTES 1024 /* struct perf_sample_data has some 250 */

struct feed {
	u64 ip;
	u8 data[SAMPLE_BYTES]; /* struct perf_sample_data, as this kernel's BTF lays it out */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct feed);
} feeds SEC(".maps");

SEC("raw_tp")
int ws_feed(void *ctx)
{
	u32 zero = 0;
	struct feed *f = bpf_map_lookup_elem(&feeds, &zero);

	if (f)
		pmu_sample(f->ip, (const struct perf_sample_data *)f->data);
	return 0;
}
