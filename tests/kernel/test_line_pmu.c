/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PMU's program without a PMU: attached to a hardware breakpoint, whose samples go the same
 * way and whose truth we know: our own stores to a variable of ours. What a breakpoint cannot
 * tell is what memory answered and how long it took. Prints TAP; all is skipped (exit 77) where
 * the kernel or the machine lacks what it takes.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi_line.h"
#include "core/err.h"
#include "source/sys/bpf_util.h"
#include "source/sys/map_setup.h"
#include "source/line/pmu.h"

#include "line.skel.h" /* needs abi_line.h */

#define EXIT_SKIP 77
#define STORES 137
#define PFN_BITS 55

#define FULL                                                                     \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_PHYS_ADDR)

/* Alone on its line; not at its beginning. */
static struct {
	char before[40];
	volatile uint64_t v;
	char after[16];
} __attribute__((aligned(64))) target;

/* Its bounds tell where samples must come from. */
static __attribute__((noinline, section("ws_stores"))) void stores(int n)
{
	while (n--)
		target.v++;
}

extern const char __start_ws_stores[], __stop_ws_stores[];

static const struct {
	const char *what;
	uint64_t sample_type;
	bool clock; /* in place of a breakpoint: no sample has an address */
	bool stopped;
	bool phys;
} ways[] = {
	{"every field that a PMU fills", FULL, .phys = true},
	{"weight as one number", (FULL & ~PERF_SAMPLE_WEIGHT_STRUCT) | PERF_SAMPLE_WEIGHT,
	 .phys = true},
	{"what was not asked for is not read", FULL & ~PERF_SAMPLE_PHYS_ADDR},
	{"nothing is placed without an address", FULL, .clock = true},
	{"nothing is counted before the start", FULL, .stopped = true},
};

struct run {
	struct line_bpf *skel;
	struct bpf_link *link;
	struct abi_access_key key;
	struct abi_access access;
	struct abi_line_counts counts;
	uint32_t entries, latencies;
};

/* What the kernel says of the page that target.v lies in; 0: it does not. */
static uint64_t phys_of_target(void)
{
	uint64_t entry = 0, addr = (uint64_t)&target.v, page = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry), (off_t)(addr / page * sizeof(entry))) !=
	    (ssize_t)sizeof(entry))
		entry = 0;
	close(fd);
	return (entry & ((1ULL << PFN_BITS) - 1)) * page + addr % page;
}

static bool kernel_can(void)
{
	struct btf *btf = kernel_btf(NULL, NULL);
	bool can = btf && btf__find_by_name_kind(btf, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC) > 0;

	btf__free(btf);
	return can;
}

static int load(struct run *r)
{
	int ret, ncpus = libbpf_num_possible_cpus();

	r->skel = line_bpf__open();
	if (!r->skel)
		return -errno;
	ret = bpf_program__set_autoload(r->skel->progs.ws_clock, false);
	if (!ret)
		ret = bpf_map__set_max_entries(r->skel->maps.line_counts, (__u32)ncpus * ABI_BANKS);
	if (!ret)
		ret = map_setup_buckets((struct abi_buckets *)&r->skel->rodata->hists,
					ABI_LATENCY_SCHEMA);
	return ret ? ret : line_bpf__load(r->skel);
}

static int attach(struct run *r, size_t way)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = ways[way].clock ? PERF_TYPE_SOFTWARE : PERF_TYPE_BREAKPOINT,
		.config = ways[way].clock ? PERF_COUNT_SW_CPU_CLOCK : 0,
		.sample_period = ways[way].clock ? 100000 : 1,
		.sample_type = ways[way].sample_type,
		.wakeup_events = 1,
	};
	int fd;

	if (!ways[way].clock) {
		attr.bp_type = HW_BREAKPOINT_W;
		attr.bp_addr = (uint64_t)&target.v;
		attr.bp_len = HW_BREAKPOINT_LEN_8;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r->link = bpf_program__attach_perf_event(r->skel->progs.ws_pmu, fd);
	if (r->link)
		return 0;
	close(fd);
	return -errno;
}

static void read_counts(struct run *r)
{
	int fd = bpf_map__fd(r->skel->maps.line_counts);
	struct abi_line_counts one;
	__u32 at, k, n = bpf_map__max_entries(r->skel->maps.line_counts);

	for (at = 0; at < n; at++) {
		if (bpf_map_lookup_elem(fd, &at, &one))
			continue;
		r->counts.samples += one.samples;
		for (k = 0; k < ABI_LINE_RESULTS; k++)
			r->counts.results[k] += one.results[k];
	}
}

/* Epoch 1: the odd bank. */
static int read_all(struct run *r)
{
	int fd = bpf_map__fd(r->skel->maps.accesses_odd);
	struct abi_access_key key, *prev = NULL;
	struct abi_access_key latency;

	while (!bpf_map_get_next_key(fd, prev, &key)) {
		r->entries++;
		r->key = key;
		prev = &r->key;
		if (bpf_map_lookup_elem(fd, &key, &r->access))
			return -errno;
	}
	if (!bpf_map_get_next_key(bpf_map__fd(r->skel->maps.latencies_odd), NULL, &latency))
		r->latencies++;
	read_counts(r);
	return 0;
}

static int measure(struct run *r, size_t way)
{
	int ret = load(r);

	if (!ret)
		ret = attach(r, way);
	if (ret)
		return ret;
	r->skel->bss->epoch = !ways[way].stopped;
	if (ways[way].clock)
		while (!r->counts.samples) /* CPU time of ours: it comes */
			read_counts(r);
	else
		stores(STORES);
	r->skel->bss->epoch = 0;
	return read_all(r);
}

#define CHECK(what)                                                 \
	do {                                                        \
		if (!(what)) {                                      \
			printf("# line %d: %s\n", __LINE__, #what); \
			good = false;                               \
		}                                                   \
	} while (0)

static bool judge(const struct run *r, size_t way)
{
	bool placed = !ways[way].clock && !ways[way].stopped, good = true;
	uint64_t ip = r->key.ip, phys = phys_of_target();
	const __u64 *results = r->counts.results;

	CHECK(r->entries == placed);
	CHECK(results[ABI_IP_RECIPE] == (placed ? STORES : 0));
	CHECK(!results[ABI_LINE_NO_ROOM] && !r->latencies);
	if (ways[way].clock)
		CHECK(results[ABI_IP_NO_OPERAND] >= 1);
	else
		CHECK(r->counts.samples == results[ABI_IP_RECIPE] && !results[ABI_IP_NO_OPERAND]);
	if (!placed)
		return good;
	CHECK(r->key.addr == (uint64_t)&target.v);
	CHECK(ip > (uint64_t)__start_ws_stores && ip <= (uint64_t)__stop_ws_stores);
	CHECK(r->key.cpu == (uint32_t)sched_getcpu());
	CHECK(r->access.samples == STORES);
	CHECK(r->access.phys == (ways[way].phys ? phys : 0));
	CHECK(phys > 0);
	CHECK(!strncmp(r->access.comm, program_invocation_short_name, 15));
	/* memory's answer is "not available", not a stack's garbage */
	CHECK(!r->access.reads && !r->access.writes && !r->access.locked);
	CHECK(!r->access.told && !r->access.hitm_local && !r->access.hitm_remote);
	return good;
}

/* In the initial pid namespace, as BPF numbers them: ours differ in a container. */
static bool judge_ids(const struct run *r)
{
	bool good = true;
	uint32_t tgid = 0;

	CHECK(!self_tgid(&tgid));
	CHECK(r->key.tgid == tgid && r->key.pid == tgid && r->key.tid == tgid);
	return good;
}

static int pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int skip(const char *why, int ret)
{
	printf("1..0 # SKIP %s: %s\n", why, strerror(-ret));
	return EXIT_SKIP;
}

int main(void)
{
	size_t n = sizeof(ways) / sizeof(ways[0]), way;
	int failed = 0, ret = pin();

	bpf_util_log(getenv("V") != NULL);
	target.v = 1; /* its page is there */
	if (ret)
		return skip("one CPU cannot be kept", ret);
	if (!kernel_can())
		return skip("no bpf_cast_to_kern_ctx", -ENOTSUP);
	for (way = 0; way < n; way++) {
		struct run r = {0};
		bool good;

		ret = measure(&r, way);
		good = !ret && judge(&r, way);
		if (good && r.entries)
			good = judge_ids(&r);
		(void)bpf_link__destroy(r.link); /* closes the event */
		line_bpf__destroy(r.skel);
		if (ret == -EPERM || ret == -EACCES)
			return skip("BPF or perf events", ret);
		if (ret == -ENODEV || ret == -ENOSPC)
			return skip("no hardware breakpoint", ret);
		if (ret)
			printf("# %s\n", strerror(-ret));
		printf("%s %zu - %s\n", good ? "ok" : "not ok", way + 1, ways[way].what);
		failed |= !good;
	}
	printf("1..%zu\n", n);
	return failed;
}
