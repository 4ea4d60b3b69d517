/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sources that measure waits by address (lock, futex): metrics of every wait, and rows of the
 * contended table, which are keyed rows (keyed.h) with what the described waits (abi_contend.h, a
 * ring buffer) say of an address: names, call sites. What is theirs alone, and how things are
 * called, the sources say by one table of operations.
 *
 * The object has the maps of common.bpf.h, filter.bpf.h and keyed.bpf.h, `samples` (ring buffer of
 * struct abi_contend_sample) and `in_flight` (struct abi_in_flight).
 */
#ifndef WS_CONTEND_H
#define WS_CONTEND_H

#include <linux/types.h>

#include "abi_contend.h"
#include "abi_held.h"
#include "abi_holder.h"
#include "core/arena.h"
#include "core/cache.h"
#include "names/names.h"
#include "source/bpf/banks.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/groups.h"
#include "source/bpf/ledgers.h"
#include "source/sys/map_setup.h"
#include "source/bpf/ring.h"

struct bpf_link;
struct bpf_object_open_opts;
struct btf;
struct contend;

/* ---- contend_sites.c: where it is waited ---- */

/* What a piece of code is to who asks where a lock is wanted. */
enum code_role {
	CODE_ASKS,    /* the code that wants the lock */
	CODE_LOCKS,   /* a function for it, linked in or instantiated: its caller is what matters */
	CODE_LIBRARY, /* the same, in a library: of no interest even where nothing else is known */
};

/* Code, named. A process's addresses mean something in it alone. */
struct code {
	struct cache_item item;
	uint64_t ip;
	uint32_t pid;
	uint64_t space;
	enum code_role role;
	uint8_t function; /* contend_ops.function */
	bool late;	  /* there may be more to say of it: asked for again after a while */
	uint64_t asked_ns;
	char *sym;
};

/* Of a row. */
struct sites {
	struct site *v; /* in order of appearance; v[].sym is theirs */
	size_t n;
	uint64_t others; /* at code that found no room */
};

void codes_init(struct cache *codes);
/* The code at `ip` of a described wait. NULL: no memory. Valid until the next call. */
const struct code *codes_get(struct contend *c, const struct abi_contend_sample *s, uint64_t ip);
/* The innermost code that asks. Where all of it locks: the outermost that is not of a library, if
 * there is one. NULL: no stack, or no memory. Valid until the next call. */
const struct code *codes_site(struct contend *c, const struct abi_contend_sample *s);
int sites_count(struct sites *s, const struct code *code);
/* For a frame: the most frequent first, those without room last. 0 or -ENOMEM. */
int sites_show(const struct sites *s, struct arena *a, struct contended *out);
/* The most frequent; NULL: none. */
const char *sites_most(const struct sites *s);
void sites_free(struct sites *s);

/* ---- contend_holders.c: who held it (--why) ---- */

#define HOLDER_LINES 4096    /* locks whose holders are followed, with 792 bytes each */
#define HOLDER_ENTRIES 16384 /* of a bank, at least, with 120 bytes each: */
#define HOLDER_ENTRIES_OF_CPU 1024

struct row_holder {
	uint32_t tid; /* or ABI_HOLDER_* */
	uint32_t pid;
	char comm[ABI_COMM_LEN + 1];
	struct abi_holder interval, total;
	struct sites took, released; /* where it waited and took it, and where it gave it up */
};

/* Of a row. */
struct row_holders {
	struct row_holder *v;
	size_t n, cap;
};

void row_holders_free(struct row_holders *r);

struct holders;
struct contend_row;
/* Before the load: sizes, or no maps at all. 0 or negative errno. */
int holders_setup(struct contend *c, struct bpf_object *obj);
int holders_open(struct contend *c);   /* 0 or -ENOMEM; c->holders stays NULL without --why */
void holders_close(struct holders *h); /* NULL is fine */
/* What was counted under `epoch`: before the rows' entries are read. 0 or negative errno. */
int holders_take(struct holders *h, uint64_t epoch);
/* Into the rows, once these are read. */
void holders_place(struct contend *c, bool ends);
void holders_forget(struct contend *c); /* totals start anew */
/* The stack of a holder (its role says of when). 0 or -ENOMEM. */
int holders_describe(struct contend *c, struct contend_row *r, const struct abi_contend_sample *s);
/* Waits of the interval whose holders a row had no place for. */
uint64_t holders_lost(const struct holders *h);
int holders_longest_first(const void *a, const void *b); /* qsort, of struct holder */
/* Of a row, for a frame. 0 or -ENOMEM. */
int holders_fill(struct contend *c, const struct contend_row *r, bool total, struct contended *out);

/* ---- rows, and the sources ---- */

/* One address (and kind, and group). */
struct contend_row {
	struct keyed_row keyed;
	struct abi_contend_sample *first; /* the first wait that was described, or NULL */
	char *name, *place;		  /* NULL: not known */
	bool inferred, late;		  /* the name; late: there may be more to say by now */
	struct name_inode inode;	  /* that it lies in */
	const char *placed;		  /* place with its path, for a frame */
	struct line_member *members;
	size_t nmembers;
	struct sites sites;
	struct row_holders holders;
	struct group_text group;
};

struct contend_ops {
	const struct source_ops *source;
	size_t size; /* of the source's struct, which begins with contend */
	/* One for each histogram of its banks; of several the first has the waits of kind 1, and so
	 * on. */
	const struct metric_desc *metrics;
	uint32_t nmetrics;
	uint32_t others; /* kinds that have a row for other addresses: at least ABI_KIND_OTHER */
	uint32_t ring_bytes; /* for described waits: at least, a power of two */
	bool kernel_code;    /* code addresses mean the same in every process */
	bool without_waits;  /* rows are shown also for what their sums say */
	uint32_t unheld;     /* bit per kind: what is waited for is held by nobody */
	uint32_t unsure;     /* bit per kind: or perhaps not, unless a holder was seen */

	/* Opens the object, sets skel, and configures it, which calls contend_setup. */
	int (*configure)(struct contend *c, const struct bpf_object_open_opts *opts,
			 const struct btf *btf, struct err *e);
	int (*attach)(struct contend *c,
		      struct err *e);	   /* once loaded; sets epoch_word and flight */
	void (*unload)(struct contend *c); /* no object is fine */

	const char *(*kind)(uint32_t kind); /* "mutex"; never NULL; not asked of others */
	/* Optional: one of wait_class_words; without, all are locks. */
	const char *(*class)(uint32_t kind);
	/* Optional: whose row an entry is in, where that is not its own; of any entry once. */
	void (*join)(struct contend *c, struct abi_key *key);
	/* Optional: a described wait, before its row is looked for: join may then know better. */
	void (*decide)(struct contend *c, const struct abi_contend_sample *s);
	/* Optional: a described wait, as soon as it is read; what is asked about it comes later. */
	void (*described)(struct contend *c, const struct abi_contend_sample *s);
	/* Name of the address. Asked when it is first seen, and again at its first description. */
	void (*name)(struct contend *c, const struct contend_row *r, struct name *out);
	/* Optional: the address space of the process that the stack of a described wait is of; 0:
	 * not known. */
	uint64_t (*space)(struct contend *c, const struct abi_contend_sample *s);
	/* Name of code in a described wait (frame: of functions inlined there, 0 the innermost),
	 * and its role. */
	void (*code)(struct contend *c, const struct abi_contend_sample *s, uint64_t ip,
		     uint32_t frame, struct name *out);
	enum code_role (*role)(struct contend *c, uint64_t ip, const struct name *name);
	/* Optional: what else the source knows of the code's function; 0: it is passed, for that of
	 * its caller. */
	uint8_t (*function)(struct contend *c, const struct name *name);
	/* Optional: what only this source knows (pid, op, futex ...), from the report's arena. */
	void (*fill)(struct contend *c, const struct contend_row *r, bool total,
		     struct contended *out);
};

/* The parts of the object's rodata that contend_setup fills. */
struct contend_rodata {
	struct abi_buckets *hists;
	struct abi_keyed *keyed;
	struct abi_filter *filter;
	__u32 *stack_every;
	__u64 *ring_wake_bytes;
	bool *why, *slower;
	__u64 *slower_ns, *slow_wake_bytes;
	bool *preempt_count_known; /* NULL: not asked for */
	__s64 *preempt_count_from_rq;
};

/* Of a skeleton of either, but for the last two. */
#define CONTEND_RODATA(skel)                                                            \
	.hists = (struct abi_buckets *)&(skel)->rodata->hists,                          \
	.keyed = (struct abi_keyed *)&(skel)->rodata->keyed,                            \
	.filter = (struct abi_filter *)&(skel)->rodata->filter,                         \
	.stack_every = (__u32 *)&(skel)->rodata->stack_every,                           \
	.ring_wake_bytes = (__u64 *)&(skel)->rodata->ring_wake_bytes,                   \
	.why = (bool *)&(skel)->rodata->why, .slower = (bool *)&(skel)->rodata->slower, \
	.slower_ns = (__u64 *)&(skel)->rodata->slower_ns,                               \
	.slow_wake_bytes = (__u64 *)&(skel)->rodata->slow_wake_bytes

struct contend {
	struct bpf_source base;
	const struct contend_ops *ops;
	const struct config *cfg;
	struct source_args args;
	struct bpf_object_skeleton *skel;
	const struct bpf_link *flight; /* the walk over the tasks */
	uint32_t ncpus;		       /* possible */
	struct map_setup_keyed maps;
	struct banks banks;
	struct contend_left *left; /* by CPU and metric; NULL: there is one metric */
	struct hist *moved;	   /* by CPU, metric, and the metric that they are of */
	struct keyed *keyed;	   /* of struct contend_row */
	const struct abi_contend_sample *describing; /* for which a row is made */
	struct cache codes;
	struct arena arena; /* of the last report */
	struct names *names;
	struct ext4_places *places;	  /* of what lies in ext4 */
	struct ring ring, slow;		  /* described waits; those above --slower */
	struct abi_contend_sample *later; /* to be described at the next report */
	size_t nlater;
	struct holders *holders;	  /* NULL without --why */
	struct cost_sampler ledgers_cost; /* of all tasks' ledgers, by who opened them */
	bool ledgers_ours;
};

int contend_open(struct source **out, const struct source_args *args, const struct contend_ops *ops,
		 struct err *e);
/* Between open and load of the object. */
int contend_setup(struct contend *c, struct bpf_object *obj, const struct btf *btf,
		  const struct contend_rodata *ro, struct err *e);

/*
 * What an interval's waits, of a CPU and a metric, came to that are in rows of their kind, where
 * others are in rows of another (ops->join): those have moved to that kind's metric.
 */
struct contend_left {
	bool any, moved;
	uint64_t min_ns, max_ns; /* if any */
};

/* contend_rows.c */
int contend_rows_moved(
	struct contend *c); /* at the end of an interval, once it is read: 0 or -ENOMEM */
void contend_rows_free(struct contend *c);
int contend_rows_open(struct contend *c, struct err *e);
/* keyed_args.join: the key of the row that an entry's belongs to, of struct contend. */
void contend_join(void *ctx, struct abi_key *key);
int contend_describe(struct contend *c, const struct abi_contend_sample *s); /* 0 or -errno */
int contend_rows_push(struct contend *c, struct source_report *r);	     /* 0 or -ENOMEM */

/* Of a wait with that key, whether or not it is counted yet; NULL: no memory. */
struct contend_row *contend_row_described(struct contend *c, const struct abi_key *key);
int contend_describe_later(struct contend *c); /* those that wait for it; 0 or -ENOMEM */

/* contend_slow.c: before the load; 0 or negative errno. And once the rows are there. */
int contend_slow_setup(struct contend *c, struct bpf_object *obj, const struct contend_rodata *ro);
int contend_slow_open(struct contend *c, struct err *e);

/* For source_ops. */
int contend_start(struct source *src, struct err *e);
int contend_drain_banks(struct source *src, struct err *e);
int contend_collect(struct source *src, struct source_report *r, struct err *e);
int contend_drain(struct source *src, struct err *e);
int contend_cost_begin(struct source *src, struct err *e);
int contend_cost_end(struct source *src, struct self_cost *cost, struct err *e);
void contend_close(struct source *src);

/* A row of option tables: of locks and of futexes. */
#define CONTEND_STACK_EVERY                                                                        \
	{                                                                                          \
		"stack-every", 0, "N",                                                             \
			"a stack of one in N waits for a known lock (default 0: the first)",       \
			OPTION_U32, .at = offsetof(struct config, stack_every), .max = 1000000000, \
	}

#endif
