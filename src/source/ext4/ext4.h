/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the ext4 source: what its files share. */
#ifndef WS_EXT4_H
#define WS_EXT4_H

#include <linux/types.h>

#include "abi_ext4.h"
#include "source/bpf/bpf_source.h"
#include "source/sys/cpus.h"
#include "source/bpf/groups.h"
#include "source/inodes/ext4_dev.h"
#include "source/inodes/ext4_path.h"
#include "source/bpf/keyed.h"
#include "source/bpf/ring.h"

struct btf;
struct ext4_bpf;

/* Are there groups (--by), but for CPUs? */
static inline bool ext4_by_group(const struct config *cfg)
{
	return cfg->by > BY_CPU;
}

/* What an operation or counted event is called: its metric's label "op" or "event". */
struct ext4_kind {
	enum metric_id metric;
	const char *value; /* NULL: ABI_EXT4_ES, which has no row of its own */
	bool split;	   /* blocked and run-queue time are known */
};

extern const struct ext4_kind ext4_kinds[ABI_EXT4_KINDS];

/* Of one file system and kind, all groups and CPUs together. */
struct ext4_all {
	uint64_t fs; /* ABI_EXT4_OBJ */
	uint32_t kind;
	struct hist interval, total;
	uint64_t sums_interval[ABI_SUMS], sums_total[ABI_SUMS];
	struct split split_interval, split_total;
	struct ext4_all *next; /* in order of appearance */
};

/* Operations and counted events. */
struct ext4_rows {
	struct keyed *ops, *counted;
	struct ext4_all *first, **last;
	struct keyed_row **heavy; /* --by file: rows, by weight */
	size_t heavy_cap;
};

/* Extent status look-ups: a table of devices on each CPU. */
struct ext4_es {
	uint32_t ndevs;	   /* places in a CPU's table */
	struct mapped map; /* struct abi_ext4_es by CPU and place, as are: */
	struct abi_ext4_es *seen;
	struct es_dev **of;
	struct es_dev *first, **last;
};

struct ext4 {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct ext4_bpf *skel;
	uint32_t ncpus; /* possible */
	cpu_name *cpu_names;
	struct counts counts;
	struct ext4_devs *devs;
	struct ext4_paths *paths; /* NULL without --by file */
	struct ext4_rows rows;
	struct ext4_es es;
	struct ring slow; /* of --slower, and paths for its records */
	struct ext4_paths *slow_paths;
	char files_why[128]; /* whole calls cannot be traced; empty: they are */
	char no_files[256];  /* the same for lacks: */
	const char *lacks[3];
	const char *notice;
};

/* ext4_load.c: skeleton opened, configured for this kernel and these filters, loaded. */
int ext4_probe(struct err *e);
int ext4_load(struct ext4 *x, struct err *e);
uint32_t ext4_schema(const struct config *cfg); /* of its histograms */

/*
 * ext4_file.c: reads, writes and opens, as whole calls. ext4 has no tracepoints there, so they take
 * tracing its functions (fentry), which not every kernel and not every sandbox lets us. Loads and
 * attaches a program that does nothing to each of them: 0, or negative with the reason in `why`.
 * `vmlinux`: the running kernel's own BTF.
 */
int ext4_file_try(struct btf *vmlinux, char *why, size_t len);

/* ext4_rows.c: what was counted under `epoch` joins the interval, which ends or goes on. */
int ext4_rows_open(struct ext4 *x, struct err *e);
int ext4_rows_collect(struct ext4_rows *r, uint64_t epoch, bool ends, struct err *e);
void ext4_rows_forget(struct ext4_rows *r);
int ext4_rows_push(struct ext4 *x, struct source_report *to);
void ext4_rows_close(struct ext4_rows *r); /* unopened is fine */
/* Adds "dev" and, if known, "mount" to a series' labels. */
void ext4_label_dev(struct ext4 *x, uint64_t fs, struct series *s);

/* ext4_es.c */
int ext4_es_open(struct ext4 *x, struct err *e);
int ext4_es_collect(struct ext4 *x); /* 0 or -ENOMEM */
void ext4_es_forget(struct ext4 *x);
int ext4_es_push(struct ext4 *x, struct source_report *to);
void ext4_es_close(struct ext4_es *es); /* unopened is fine */
/* Series of the look-ups of one set of labels (those of `like`), hits and misses; `kinds`: what the
 * hits were, too. */
int ext4_es_push_results(struct series_list *to, const struct series *like,
			 const uint64_t n[ABI_ES_RESULTS], bool kinds);

/* ext4_slow.c: --slower */
int ext4_slow_open(struct ext4 *x, struct err *e);

#endif
