/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the ext4 source: what its files share. */
#ifndef WS_EXT4_H
#define WS_EXT4_H

#include <linux/types.h>

#include "abi_ext4.h"
#include "source/bpf_source.h"
#include "source/cpus.h"
#include "source/ext4/ext4_slow.h"
#include "source/groups.h"
#include "source/keyed.h"

struct btf;
struct ext4_bpf;
struct ext4_names;

/* Are there groups (--by), but for CPUs? */
static inline bool ext4_by_group(const struct config *cfg)
{
	return cfg->by > BY_CPU;
}

/* ---- ext4_metrics.c: what it reports, by the kinds of abi_ext4.h ---- */

struct ext4_kind {
	const struct metric_desc *desc;
	const char *label; /* "op" or "event"; NULL: none but the device */
	const char *value; /* of that label */
	bool split;	   /* blocked and run-queue time are known */
};

/* All operations and counted events but ABI_EXT4_ES. */
extern const struct ext4_kind ext4_kinds[ABI_EXT4_KINDS];

/* By ABI_ES_*, without the miss. */
extern const char *const ext4_es_hit_kinds[ABI_ES_MISS];

/* ---- ext4_rows.c: operations and counted events ---- */

/* Of one device and kind, all groups and CPUs together. */
struct ext4_all {
	uint32_t kdev, kind;
	struct hist interval, total;
	uint64_t sums_interval[ABI_SUMS], sums_total[ABI_SUMS];
	struct split split_interval, split_total;
	struct ext4_all *next; /* in order of appearance */
};

struct ext4_rows_args {
	const struct config *cfg;
	struct cgroup_names *cgroups;
	struct ext4_names *names;
	int op_fds[ABI_BANKS], count_fds[ABI_BANKS];
	uint32_t schema, ncpus;
	const cpu_name *cpu_names;
};

struct ext4_rows;
int ext4_rows_open(struct ext4_rows **out, const struct ext4_rows_args *args, struct err *e);
/* What was counted under `epoch` joins the interval, which ends or goes on. */
int ext4_rows_collect(struct ext4_rows *r, uint64_t epoch, bool ends, struct err *e);
void ext4_rows_forget(struct ext4_rows *r);
int ext4_rows_push(struct ext4_rows *r, struct source_report *to);
void ext4_rows_close(struct ext4_rows *r); /* NULL is fine */

/* ---- ext4_es.c: extent status look-ups, by device and CPU ---- */

struct ext4_es_args {
	int map_fd;
	bool cpu_kinds; /* what hits were is told for each CPU, too */
	uint32_t ncpus;
	uint32_t ndevs; /* places in a CPU's table */
	struct ext4_names *names;
	const cpu_name *cpu_names;
};

struct ext4_es;
int ext4_es_open(struct ext4_es **out, const struct ext4_es_args *args, struct err *e);
int ext4_es_collect(struct ext4_es *es); /* 0 or -ENOMEM */
void ext4_es_forget(struct ext4_es *es);
int ext4_es_push(struct ext4_es *es, struct source_report *to);
void ext4_es_close(struct ext4_es *es); /* NULL is fine */
/* Series of the look-ups of one set of labels, hits and misses; `kinds`: what the hits were, too.
 */
int ext4_es_push_results(struct series_list *to, const struct label *labels, uint32_t nlabels,
			 const uint64_t n[ABI_ES_RESULTS], bool kinds);

/* ---- ext4_names.c: labels of devices and files ---- */

/* Exit 2 with words when --dev names what is no ext4. */
int ext4_names_open(struct ext4_names **out, const struct config *cfg, struct err *e);
void ext4_names_close(struct ext4_names *n); /* NULL is fine */
struct ext4_devs *ext4_names_devs(const struct ext4_names *n);
void ext4_names_begin(struct ext4_names *n); /* of a report: those of the last one may go */
/* Adds "dev" and, if known, "mount"; how many there are then. */
uint32_t ext4_names_labels(struct ext4_names *n, uint32_t kdev, struct label *labels,
			   uint32_t nlabels);
/* "/data/x" or "inode 42"; only with --by file. */
const char *ext4_names_file(struct ext4_names *n, uint32_t kdev, uint64_t ino, uint32_t generation);

/* ---- ext4_lacks.c: what cannot be had here, and what the user should know ---- */

struct ext4_lacks {
	char files[256]; /* "reads, writes and opens: WHY"; empty: they are there */
	const char *list[3];
	const char *notice;
};

/* `files_why`: empty if whole calls can be traced. */
void ext4_lacks_init(struct ext4_lacks *l, const struct config *cfg, const struct ext4_devs *devs,
		     const char *files_why);

/*
 * ---- ext4_file.c: reads, writes and opens, as whole calls. ext4 has no tracepoints there, so they
 * take tracing its functions (fentry), which not every kernel and not every sandbox lets us. ----
 */

/*
 * Loads and attaches a program that does nothing to each of the functions. 0, or negative with the
 * reason in `why`. `vmlinux`: the running kernel's own BTF.
 */
int ext4_file_try(struct btf *vmlinux, char *why, size_t len);

/* ---- the source ---- */

struct ext4 {
	struct bpf_source base;
	const struct config *cfg;
	struct source_args args;
	struct ext4_bpf *skel;
	uint32_t ncpus; /* possible */
	struct counts counts;
	struct ext4_rows *rows;
	struct ext4_es *es;
	struct ext4_names *names;
	struct ext4_slow *slow; /* NULL without --slower */
	struct ext4_slow_name slow_names[ABI_EXT4_OPS];
	uint32_t ndevs;	     /* places for devices in a CPU's table of look-ups */
	char files_why[128]; /* whole calls cannot be traced */
	struct ext4_lacks lacks;
	cpu_name *cpu_names;
};

/* ext4_load.c: skeleton opened, configured for this kernel and these filters, loaded, attached. */
int ext4_probe(struct err *e);
int ext4_load(struct ext4 *x, struct err *e);
int ext4_attach(struct ext4 *x, struct err *e);
uint32_t ext4_schema(const struct config *cfg); /* of its histograms */

/* ext4_flight.c: operations still in flight; 0 or negative errno */
int ext4_in_flight(struct ext4 *x, struct abi_in_flight *out);

#endif
