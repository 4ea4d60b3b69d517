/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What frame_own.c, frame_own_contended.c (rows of the contended table), frame_copy.c and
 * frame_subtract.c share. */
#ifndef WS_FRAME_OWN_INSIDE_H
#define WS_FRAME_OWN_INSIDE_H

#include "core/arena.h"
#include "core/fields.h"
#include "core/frame_own.h"

/* A byte string: a text, or the key of a series or row. */
struct own_entry {
	uint64_t hash;
	size_t len;
	uint32_t at; /* a key's: place in series, rows or culprits, from 1 on; 0: none yet */
	char bytes[];
};

struct own_array {
	void *v;
	size_t n, cap;
};

struct own_accesses {
	struct line_accesses a;
	double share, share_ns; /* of that period; a.share is of the whole frame's */
};

/* What `c` points to is ours: histograms and lists are from malloc(), the rest is in `kept`. */
struct own_row {
	struct contended c;
	struct futex_counts *futex;
	struct own_accesses *accesses;
	struct holder unheld; /* waits of frames that do not tell who held */
};

struct frame_own {
	struct frame frame; /* the view's head; series and rows are set by frame_own_view */
	int error;	    /* the first one; nothing is added after it */
	bool copied;	    /* by frame_own_copy: series, with their histograms, are in `kept` */
	size_t nkeyed;	    /* then: those that have keys */
	bool subtracted;    /* views leave out what nothing came to */
	/* Of struct series, own_row and culprit. Histograms of series and rows are packed ones. */
	struct own_array series, rows, culprits, times;
	double used_ns, costed_ns; /* periods whose cost is known: ours, and the kernel's */
	struct own_entry **places;
	size_t nplaces, nentries; /* places: a power of two */
	char *key;		  /* being put together */
	size_t key_len, key_cap;
	struct arena kept; /* entries, descriptions, and what goes with them all */
	struct arena view;
};

/* Sets o->error, unless there is one. */
void own_fail(struct frame_own *o, int error);
/* A text of its own; NULL of NULL, or no memory. */
const char *own_text(struct frame_own *o, const char *text);
/* The same of the item's, as the table names them. */
void own_texts(struct frame_own *o, const struct field_table *t, void *item);
/* Puts bytes, or a text with its end ("" for NULL), behind o->key. */
void own_key(struct frame_own *o, const void *bytes, size_t len);
void own_key_text(struct frame_own *o, const char *text);
void own_series_key(struct frame_own *o, const struct series *s); /* is o->key from then on */
/* The entry of o->key; NULL: no memory, or without `add` none that has a place. */
struct own_entry *own_key_entry(struct frame_own *o, bool add);
/* The array's item whose key is o->key, with `add` a new one, zeroed, if there is none; or NULL. */
void *own_item(struct frame_own *o, struct own_array *a, size_t size, bool add);
/* Adds h, of which there may be none, to *p, which is ours or NULL. */
void own_hist_add(struct frame_own *o, const struct hist **p, const struct hist *h);
void own_hist_free(const struct hist *h); /* NULL is fine */
double own_mean(double a, double a_weight, double b, double b_weight);

/* frame_copy.c: makes o->series, the copies of a frame's series. */
void own_copy_series(struct frame_own *o, const struct frame *f);
/* Finds the series with the same metric and labels; NULL if there is none. */
const struct series *own_copy_find(struct frame_own *o, const struct series *s);

/* Finds the row of the same task or group; NULL if there is none. */
struct times *own_times_find(struct frame_own *o, const struct times *t);

/* frame_subtract.c: takes h, of which there may be none, from one that is ours or NULL. */
void own_hist_subtract(struct frame_own *o, const struct hist *from, const struct hist *h);
/* Brings one that is ours or NULL to `schema`, if it is finer. */
void own_hist_rescale(struct frame_own *o, const struct hist *h, uint32_t schema);

/* frame_own_contended.c */
void own_row_add(struct frame_own *o, const struct contended *c, uint64_t dur_ns);
void own_row_subtract(struct frame_own *o, const struct contended *c);
void own_rows_rescale(struct frame_own *o, uint32_t schema);
void own_rows_view(struct frame_own *o);
void own_rows_free(struct frame_own *o);

#endif
