/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What frame_own.c (series) and frame_own_contended.c (rows of the contended table) share. */
#ifndef WS_FRAME_OWN_INSIDE_H
#define WS_FRAME_OWN_INSIDE_H

#include "core/arena.h"
#include "core/frame_own.h"

/* A byte string: a text, or the key of a series or row. */
struct own_entry {
	uint64_t hash;
	size_t len;
	uint32_t at; /* a key's: place in series, contended or culprits, from 1 on; 0: none yet */
	char bytes[];
};

struct own_series {
	struct series s; /* without hist and split: a view has them */
	struct hist *hist;
	struct split split;
	bool has_split;
};

/* An array of struct site, line_thread, ... */
struct own_list {
	void *v;
	size_t n;
};

struct field_table;

struct own_spot {
	struct line_spot s; /* without latency */
	struct hist *latency;
};

struct own_contended {
	struct contended c; /* without what follows */
	struct hist *wait, *latency;
	struct futex_counts futex;
	struct line_accesses accesses;
	double share_ns; /* the period that accesses.share is a share of */
	struct own_list cpus, nodes, sites, holders, members, threads, spots;
	struct holder unheld; /* waits of frames that do not tell who held */
	bool has_futex, has_accesses;
};

struct frame_own {
	struct frame frame; /* the view's head; series and rows are set by frame_own_view */
	struct own_series *series;
	size_t nseries, series_cap;
	struct series *copied;	/* in place of `series`, of frame_own_copy; NULL: it has those */
	size_t ncopied, nkeyed; /* those that have keys: 0, or all */
	struct own_contended *contended;
	size_t ncontended, contended_cap;
	struct culprit *culprits;
	size_t nculprits, culprits_cap;
	double used_ns, costed_ns; /* of them, those whose cost is known: ours, and the kernel's */
	struct own_entry **places;
	size_t nplaces, nentries; /* places: a power of two */
	char *key;		  /* being put together */
	size_t key_len, key_cap;
	struct arena kept; /* entries, descriptions */
	struct arena view;
};

/* The entry of a byte string, made if there is none; NULL: no memory. */
struct own_entry *own_entry(struct frame_own *o, const char *bytes, size_t len);
/* That of o->key; without `add` NULL where there is no series or row of that key. 0, -ENOMEM. */
int own_key_entry(struct frame_own *o, bool add, struct own_entry **out);
/* A text of its own, or NULL for NULL. 0, -ENOMEM. */
int own_text(struct frame_own *o, const char **out, const char *text);
int own_series_key(struct frame_own *o, const struct series *s); /* into o->key. 0, -ENOMEM */
/* frame_copy.c. 0, -ENOMEM; NULL: it has none, or no memory. */
int own_copy_series(struct frame_own *o, const struct frame *f);
const struct series *own_copy_find(struct frame_own *o, const struct series *s);
/* Puts bytes behind o->key. 0, -ENOMEM. */
int own_key(struct frame_own *o, const void *bytes, size_t len);
/* Histograms of a frame's own are packed ones. *p += h, either may be NULL. 0, -ENOMEM. */
int own_hist_add(struct hist **p, const struct hist *h);
void own_hist_free(struct hist *h); /* NULL is fine */
double own_mean(double a, double a_weight, double b, double b_weight);

/* What is in a list: which of its items are one. What they say is joined by their table. */
struct own_kind {
	size_t size, from_size;			      /* of an item here, and in a frame */
	const struct field_table *fields;	      /* NULL: numbers */
	int (*compare)(const void *a, const void *b); /* 0: one */
	int (*order)(const void *a, const void *b);   /* as a frame has it; NULL: as compare */
	int (*take)(struct frame_own *o, void *item); /* what is not in the table */
	int (*absorb)(struct frame_own *o, void *to, void *later);
};
/* frame_own_list.c: at `from` there are n items of a frame. The first ones stay in the order they have. */
int own_list_add(struct frame_own *o, const struct own_kind *k, struct own_list *l,
		 const void *from, size_t n);
/* The item's texts are of a frame: from now on, ours. */
int own_texts(struct frame_own *o, const struct field_table *t, void *item);

/* frame_own_contended.c */
int own_contended_add(struct frame_own *o, const struct contended *c, uint64_t dur_ns);
int own_contended_view(struct frame_own *o);
void own_contended_free(struct frame_own *o);

/* frame_own_culprits.c */
int own_culprit_add(struct frame_own *o, const struct culprit *c);

#endif
