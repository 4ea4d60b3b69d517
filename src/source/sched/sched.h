/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the scheduler source: what its files share. */
#ifndef WS_SCHED_H
#define WS_SCHED_H

#include <linux/types.h>

#include "abi_why.h"
#include "core/metrics.h"
#include "source/bpf/banks.h"
#include "source/bpf/bpf_source.h"
#include "source/sched/sched_object.h"
#include "source/bpf/ring.h"
#include "source/bpf/shared.h"

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

/* sched_why.c: --why, who made tasks wait. */
struct sched_why;
struct sched_why_args {
	int fds[ABI_BANKS];
	int culprits_fd;
	/* the program that puts what CPUs count by themselves into the maps; -1: none */
	int pairs_fd;
	enum by_key by;
	uint32_t ncpus; /* possible */
	uint32_t room;	/* entries in each map */
	struct cgroup_names *names;
};
int sched_why_open(struct sched_why **out, const struct sched_why_args *args, struct err *e);
int sched_why_collect(struct sched_why *w, uint64_t epoch, bool ends, struct err *e);
void sched_why_forget(struct sched_why *w);
int sched_why_push(struct sched_why *w, struct source_report *r);
void sched_why_close(struct sched_why *w);
extern const char *const sched_why_kinds[];
/* The class of a task that was blamed, as abi_why.h has it, in words. */
void sched_why_class(struct culprit *c, uint32_t rt_class);

#define SCHED_WHY_LACKS 6

struct sched {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct sched_object bpf;
	uint32_t ncpus;	  /* possible */
	bool keeps_tasks; /* --why: its programs keep the ledgers of all tasks, for others */
	bool by_record;	  /* when a task is queued is known by the kernel's own record of waits */
	struct banks banks;
	struct sched_keys *keys;		     /* NULL without --by */
	struct sched_why *why;			     /* NULL without --why */
	char *why_victim, *why_names[ABI_WHY_PARTS]; /* of a slow wait, while it is told */
	int64_t why_steal;
	/* CPUs count by themselves until they are asked: this kernel runs programs for us */
	bool why_pairs;
	const char *why_lacks[SCHED_WHY_LACKS + 1];
	struct ring slow; /* not open without --slower */
};

/* sched_load.c: BPF object opened, configured for this kernel and these filters, loaded, attached.
 */
struct btf;
int sched_load(struct sched *s, struct err *e);
int sched_attach(struct sched *s, struct err *e);

/* sched_why_load.c: what of --why this kernel can do. */
int sched_why_configure(struct sched *s, const struct btf *btf);
int sched_why_fill(const struct sched *s); /* after the load */

/* sched_slow.c: --slower */
int sched_slow_open(struct sched *s, struct err *e);

/* sched_flight.c: tasks that still wait, as bpf_source_in_flight() */
int sched_in_flight(const struct sched *s, struct abi_in_flight *out);
/* Before counting begins, where tasks have storage: a stamp for each that is there. 0 or negative
 * errno. */
int sched_stamp_tasks(const struct sched *s);

#endif
