/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The scheduler's BPF object, of which there are four from one source: with BTF tracepoints; the
 * same for a run that asks for nothing (OPTION in bpf/lib/common.bpf.h); with what --why takes; and
 * with raw tracepoints for kernels without BTF, which tell what types they have by --btf.
 */
#ifndef WS_SCHED_OBJECT_H
#define WS_SCHED_OBJECT_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

struct config;
struct bpf_link;
struct bpf_object;
struct bpf_object_skeleton;
struct sched_bpf;
struct sched_bpf__rodata;
struct sched_plain_bpf;
struct sched_raw_bpf;
struct sched_why_bpf;

struct sched_object {
	struct bpf_object *obj;
	bool raw;
	struct sched_bpf *btf; /* one of these */
	struct sched_plain_bpf *plain;
	struct sched_raw_bpf *raw_tp;
	struct sched_why_bpf *why;
	struct bpf_object_skeleton *skeleton;
	struct sched_bpf__rodata *rodata; /* before the load; of all alike */
};

enum sched_variant {
	SCHED_BTF,
	/* BTF tracepoints; sched_object_fits() says of what is asked whether it does */
	SCHED_PLAIN,
	SCHED_RAW,
	SCHED_WHY, /* BTF tracepoints, and what --why takes */
};

/* 0 or negative errno; btf_file may be NULL. */
int sched_object_open(struct sched_object *o, const char *btf_file, enum sched_variant variant);
/* Before the load: is what the object has as constants what its read-only data says? */
bool sched_object_fits(const struct sched_object *o);
/* After the load: the word the programs read. */
volatile __u64 *sched_object_epoch(const struct sched_object *o);
/* And when counting began. */
volatile __u64 *sched_object_started(const struct sched_object *o);
/* The iterator over tasks; NULL where there is none. */
struct bpf_link *sched_object_iter(const struct sched_object *o);
/* Of --why, before the load: its programs keep the ledgers of all tasks (ledgers.h). */
void sched_object_keep_tasks(const struct sched_object *o, const struct config *cfg);
int sched_object_map(const struct sched_object *o, const char *name); /* its fd */
void sched_object_close(struct sched_object *o);		      /* unopened is fine */

#endif
