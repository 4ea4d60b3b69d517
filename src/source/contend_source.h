/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The life of a source of contended addresses: metrics of every wait, rows by address, described
 * waits through a ring buffer. The source itself opens its BPF object, and says what things are
 * called (contend.h). The object has the maps of common.bpf.h, filter.bpf.h and keyed.bpf.h,
 * `samples` (ring buffer of struct abi_contend_sample) and `in_flight` (struct abi_in_flight).
 */
#ifndef WS_CONTEND_SOURCE_H
#define WS_CONTEND_SOURCE_H

#include "source/bpf_source.h"
#include "source/contend.h"
#include "source/kmaps.h"
#include "source/whole.h"

struct bpf_link;
struct bpf_object;
struct bpf_object_open_opts;
struct btf;
struct ring_buffer;
struct contend_source;

struct contend_spec {
	const struct source_ops *ops;
	const struct contend_ops *rows;
	const struct metric_desc *metrics; /* one for each histogram of its banks */
	uint32_t nmetrics;
	uint32_t others; /* kinds that have a row for other addresses: at least ABI_KIND_OTHER */
	uint32_t ring_bytes; /* for described waits: at least, a power of two */
	size_t size;	     /* of the source's struct; it begins with struct contend_source */
	bool kernel_code;    /* see contend_args */
	/* Opens the object; NULL with errno. */
	struct bpf_object_skeleton *(*object)(struct contend_source *s,
					      const struct bpf_object_open_opts *opts);
	/* Before the load; calls contend_source_setup. */
	int (*configure)(struct contend_source *s, const struct btf *btf, struct err *e);
	/* After it; sets epoch_word. */
	int (*loaded)(struct contend_source *s, struct err *e);
	/* Attaches it; sets flight. */
	int (*attach)(struct contend_source *s, struct err *e);
	void (*unload)(struct contend_source *s); /* no object is fine */
};

/* The parts of the object's rodata that contend_source_setup fills. */
struct contend_rodata {
	struct abi_buckets *hists;
	struct abi_keyed *keyed;
	struct abi_filter *filter;
	__u32 *stack_every;
	__u64 *ring_wake_bytes;
	bool *preempt_count_known; /* NULL: not asked for */
	__s64 *preempt_count_from_rq;
};

struct contend_source {
	struct bpf_source base;
	const struct contend_spec *spec;
	const struct config *cfg;
	struct source_args args;
	struct bpf_object_skeleton *skel;
	const struct bpf_link *flight; /* the walk over the tasks */
	uint32_t ncpus;		       /* possible */
	struct kmaps_keyed keyed;
	struct whole whole;
	struct contend *rows;
	struct names *names;
	struct ext4_places *places; /* of what lies in ext4 */
	struct ring_buffer *ring;
	uint32_t drained;		  /* records of this drain */
	struct abi_contend_sample *later; /* told of, to be described at the next report */
	size_t nlater;
};

int contend_source_open(struct source **out, const struct source_args *args,
			const struct contend_spec *spec, struct err *e);
/* Between open and load of the object. */
int contend_source_setup(struct contend_source *s, struct bpf_object *obj, const struct btf *btf,
			 const struct contend_rodata *ro, struct err *e);

/* For source_ops. */
int contend_source_start(struct source *src, struct err *e);
int contend_source_fold(struct source *src, struct err *e);
int contend_source_collect(struct source *src, struct source_report *r, struct err *e);
int contend_source_drain(struct source *src, struct err *e);
void contend_source_close(struct source *src);

#endif
