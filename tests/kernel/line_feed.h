/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up samples of a PMU, from two threads of ours on two CPUs, into line_feed.bpf.c. */
#ifndef WS_TEST_LINE_FEED_H
#define WS_TEST_LINE_FEED_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* Samples of one kind. */
struct fed {
	int thread; /* 0: the one that calls; 1: another */
	int n;
	uint64_t addr, phys, ip;
	union perf_mem_data_src src;
	uint32_t cycles;
};

struct line_feed_bpf;

struct feeder {
	struct line_feed_bpf *bpf;
	uint32_t ncpus;	  /* possible */
	uint32_t cpus[2]; /* of the threads */
	/* in this kernel's struct perf_sample_data */
	uint32_t flags_at, addr_at, phys_at, data_src_at, weight_at;
};

/* Where the kernel keeps what a sample says. 0; -ENOENT: it lacks some of that. */
int feeder_find(struct feeder *f);
/* Two CPUs that we may run on. 0; -ENODEV: there is one. */
int feeder_cpus(struct feeder *f);
/* All of them, one after the other. Leaves the caller on its CPU. 0 or negative errno. */
int feeder_run(struct feeder *f, const struct fed *v, size_t n);

#endif
