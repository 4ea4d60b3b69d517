/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the scheduler source: what its files share. */
#ifndef WS_SCHED_H
#define WS_SCHED_H

#include <linux/types.h>

#include "abi.h"
#include "core/metrics.h"
#include "source/banks.h"
#include "source/bpf_source.h"
#include "source/sched/sched_object.h"
#include "source/ring.h"
#include "source/shared.h"

/* The one metric that is made of others: run_delay of an interval's histograms. 0 or -ENOMEM. */
int sched_derive(struct hist *interval);

/* Groups (--by). */
struct sched_keys;
struct sched_keys_args {
	int fds[ABI_BANKS];
	enum by_key by;
	uint32_t ncpus; /* possible */
	struct cgroup_names *names;
};
int sched_keys_open(struct sched_keys **out, const struct sched_keys_args *args, struct err *e);
int sched_keys_collect(struct sched_keys *k, uint64_t epoch, bool ends, struct err *e);
void sched_keys_forget(struct sched_keys *k);
int sched_keys_push(struct sched_keys *k, struct source_report *r); /* series of all groups */
void sched_keys_close(struct sched_keys *k);

struct sched {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct sched_object bpf;
	uint32_t ncpus; /* possible */
	bool by_record; /* when a task is queued is known by the kernel's own record of waits */
	struct banks banks;
	struct sched_keys *keys; /* NULL without --by */
	struct ring slow;	 /* not open without --slower */
};

/* sched_load.c: BPF object opened, configured for this kernel and these filters, loaded, attached.
 */
int sched_load(struct sched *s, struct err *e);
int sched_attach(struct sched *s, struct err *e);

/* sched_slow.c: --slower */
int sched_slow_open(struct sched *s, struct err *e);

/* sched_flight.c: tasks still waiting now; 0 or negative errno */
int sched_in_flight(const struct sched *s, struct abi_in_flight *out);

#endif
