/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What export.c (series of the report) and export_run.c (those of the run itself) share. */
#ifndef WS_EXPORT_INSIDE_H
#define WS_EXPORT_INSIDE_H

#include "core/export.h"

#define NS_PER_S 1000000000ULL

struct family;

/* What tells a series from all others. */
struct kept_id {
	const struct family *family;
	const char *key; /* the labels: keys and values, each with its NUL */
	size_t len;
};

struct kept {
	struct export_series s; /* first: what export_series.next points to */
	struct kept_id id;	/* what the tree points to */
	uint64_t seen_ns;	/* CLOCK_MONOTONIC, when it had samples last */
	bool group;		/* of --by: it may end */
	char key[];		/* id's */
};

struct family {
	struct export_family f; /* first */
	struct kept *last;
	size_t labelled; /* series with labels, but the others' */
	char *name;	 /* its own, of a metric that the registry lacks */
};

struct export
{
	const struct config *cfg;
	char version[32];
	struct family *v[METRICS + RUN_METRICS]; /* in the registry's order */
	struct family **more;			 /* of metrics it lacks */
	size_t nmore;
	void *tree; /* of struct kept_id, by family and key */
	size_t groups;
	uint64_t start_ns, dur_ns, time_ns;
	char *key; /* being put together; clean values are no longer than 4 times the bytes */
	size_t key_len, key_cap;
};

/* One series on its way in. */
struct arrival {
	struct family *family;
	uint32_t nlabels;
	bool group;
	const struct hist *hist;
	uint64_t value;
	uint64_t start_ns; /* of the interval */
	uint64_t mono_ns;
};

/* A label of the key; `value` is made clean. 0 or -ENOMEM. */
int export_key_label(struct export *x, const char *key, const char *value);
/* The series with the labels of x->key, made if it is not there; NULL: no memory. */
struct kept *export_kept(struct export *x, const struct arrival *a);
struct family *export_family_new(const char *name, const char *help, const char *unit,
				 enum export_type type);

/* export_run.c; 0 or -ENOMEM */
int export_add_run(struct export *x, const struct frame *f);

#endif
