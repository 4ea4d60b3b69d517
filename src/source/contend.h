/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of the contended table, for sources that measure waits by address (lock, futex): keyed
 * histograms (keyed.h) joined with what the described waits told (abi_contend.h): names, call
 * sites, tasks. What a row's kind is called, how its address and its code are named, and what else
 * is known of it, the source says.
 *
 *	contend_open -> (contend_sample | contend_collect -> contend_push)* -> contend_close
 */
#ifndef WS_CONTEND_H
#define WS_CONTEND_H

#include <linux/types.h>

#include "abi_contend.h"
#include "core/config.h"
#include "names/names.h"
#include "source/cgroup.h"
#include "source/keyed.h"
#include "source/source.h"

struct contend;

/* One address (and kind, and group). */
struct contend_info {
	const struct abi_key *key;	       /* cpu = 0 */
	const struct keyed_row *row;	       /* NULL: described, but not yet read from the map */
	const struct abi_contend_sample *said; /* the first wait that was described, or NULL */
};

struct contend_ops {
	const char *source;		    /* "lock" */
	bool without_waits;		    /* rows are shown also for what their sums say */
	const char *(*kind)(uint32_t kind); /* "mutex"; never NULL; not asked of others */
	/* Optional: whose row an entry is in, where that is not its own; of any entry once. */
	void (*join)(void *ctx, struct abi_key *key);
	/* Optional: a described wait, as soon as it is read; what is asked about it comes later. */
	void (*told)(void *ctx, const struct abi_contend_sample *s);
	/* Name of the address. Asked when it is first seen, and again at its first description. */
	void (*name)(void *ctx, const struct contend_info *i, struct name *out);
	/* Name of code in a described wait; and is it its caller that matters? */
	void (*code)(void *ctx, const struct abi_contend_sample *s, uint64_t ip, struct name *out);
	bool (*skip)(void *ctx, const struct abi_contend_sample *s, uint64_t ip,
		     const struct name *name);
	/* Optional: what only this source knows (pid, op, futex ...); what it points to must live
	 * until the next collect. */
	void (*fill)(void *ctx, const struct contend_info *i, bool total, struct contended *c);
};

struct contend_args {
	const struct contend_ops *ops;
	void *ctx;
	int fds[ABI_BANKS]; /* the keyed maps, one histogram an entry (or more: the first is shown)
			     */
	uint32_t nhists;
	uint32_t ncpus;
	enum by_key by;
	uint32_t room;		      /* entries for which a bank's map has room */
	uint32_t rest_after;	      /* intervals without a wait, for an entry to leave */
	struct cgroup_names *cgroups; /* --by cgroup */
	struct names *names;	      /* for the members on a line; or NULL */
	struct ext4_places *places;   /* for what lies in ext4 */
	bool kernel_code;	      /* code addresses mean the same in every process */
	const char *what;	      /* for errors: "lock: waits" */
};

int contend_open(struct contend **out, const struct contend_args *args, struct err *e);
/* A record of the ring buffer. 0 or negative errno. */
int contend_sample(struct contend *c, const struct abi_contend_sample *s);
int contend_fold(struct contend *c, uint64_t epoch, struct err *e); /* as keyed_fold */
/* As keyed_collect; rows that have long been cold then leave the kernel's maps, into `other`. */
int contend_collect(struct contend *c, uint64_t epoch, struct err *e);
void contend_forget(struct contend *c);
int contend_push_rows(struct contend *c, struct source_report *r); /* 0 or -ENOMEM */
/* The keys of all rows, also of those that are only described yet. */
void contend_keys(const struct contend *c, void (*fn)(void *ctx, const struct abi_key *key),
		  void *ctx);
void contend_close(struct contend *c); /* NULL is fine */

#endif
