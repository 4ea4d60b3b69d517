/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every source with BPF programs has: filters, the epoch that its programs count under, what
 * they cost and what they missed. First member of its own struct.
 */
#ifndef WS_BPF_SOURCE_H
#define WS_BPF_SOURCE_H

#include <linux/types.h>

#include "abi.h"
#include "source/sys/bpf_util.h"
#include "source/bpf/bucket_check.h"
#include "source/bpf/counts.h"
#include "source/filter/filters.h"
#include "source/source.h"

struct bpf_link;
struct bpf_object_skeleton;

struct bpf_source {
	struct source source;
	struct filters filters;
	struct bucket_schemas schemas; /* set before the load, which checks them */
	struct bpf_object *obj;	       /* the source's; NULL: not loaded */
	volatile __u64 *epoch_word;    /* in its memory: the programs read it */
	uint64_t epoch;		       /* 0: not counting */
	uint64_t ended_ns; /* when the last epoch ended, or counting did; by the programs' clock */
	int64_t ahead_ns;  /* our CLOCK_MONOTONIC, of the programs' clock (time_ns_ahead) */
	bool stopped;
	struct cost_sampler cost;
	uint64_t misses_start, misses_seen; /* recursion misses */
	int event_fd;			    /* -1: nothing to poll */
	const char **hooks;		    /* NULL-terminated */
	size_t nhooks;
};

/* Before anything else: bpf_source_close then is fine. It goes last. */
void bpf_source_init(struct bpf_source *b, const struct source_ops *ops);
void bpf_source_close(struct bpf_source *b);

/* The skeleton's object, opened and configured. Then obj is known, epoch_word is not, and its
 * programs place values in the right buckets. */
int bpf_source_load(struct bpf_source *b, struct bpf_object_skeleton *skel, struct err *e);
int bpf_source_attach(const struct bpf_source *b, struct bpf_object_skeleton *skel, struct err *e);
/* What hooks() tells: those of the object's programs; before them, others added. */
int bpf_source_list_hooks(struct bpf_source *b, struct err *e);
int bpf_source_add_hook(struct bpf_source *b, const char *name); /* 0 or -ENOMEM */

/* A moment of the programs' clock as ours: CLOCK_MONOTONIC in our time namespace. And now, as
 * theirs. */
uint64_t bpf_source_time(const struct bpf_source *b, uint64_t ns);
uint64_t bpf_source_now(const struct bpf_source *b);

/* Begins to count: true. It counts already (the warm-up is over): false, forget what was counted.
 */
bool bpf_source_begin(struct bpf_source *b);
/* The epoch whose bank nobody writes: the one before this; 0 when stopped, whatever is left in
 * both. */
uint64_t bpf_source_ended(const struct bpf_source *b);
/* Of a report: what was lost, missed, and is still waiting. */
void bpf_source_quality(struct bpf_source *b, const struct counts *c,
			const struct abi_in_flight *flight, struct source_report *r);

/*
 * Who is still waiting, at a report: the program behind `link` walks over all tasks in the kernel
 * (bpf_iter, 5.8) and fills the one entry of map_fd. Ages are of ended_ns, but a wait that has
 * ended by the time of the walk may be missed: it comes before anything that takes long. 0 or
 * negative errno.
 */
int bpf_source_in_flight(const struct bpf_source *b, const struct bpf_link *link, int map_fd,
			 struct abi_in_flight *out);

/* One more of what its event_fd waits for, beside the targets that may end; none if fd < 0. */
int bpf_source_poll(struct bpf_source *b, int fd, struct err *e);

/* For source_ops. */
int bpf_source_next_epoch(struct source *src, struct err *e);
int bpf_source_stop(struct source *src, struct err *e);
int bpf_source_event_fd(const struct source *src);
int bpf_source_cost_begin(struct source *src, struct err *e);
int bpf_source_cost_end(struct source *src, struct self_cost *cost, struct err *e);
bool bpf_source_target_alive(struct source *src, char *why, size_t len);
const char *const *bpf_source_hooks(const struct source *src);

#endif
