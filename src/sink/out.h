/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stream a sink writes to: stdout or a path. A record (a report, a line, some rows) is put
 * together in memory and written as one by out_flush; when that fails half way in a regular file,
 * the file is cut back, so that a reader never finds half a record.
 */
#ifndef WS_SINK_OUT_H
#define WS_SINK_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

struct out {
	int fd;		  /* -1: closed */
	bool owned;	  /* opened from `path`; stdout is not ours to close */
	bool owner_only;  /* files are created for nobody else to read */
	bool old_content; /* nothing written yet: the first record empties the file */
	char *aside;	  /* each record replaces the file; this is where it is written first */
	char *path;	  /* NULL: stdout */
	char *buf;	  /* the record so far; keeps its addresses */
	size_t len, cap;
	bool memory; /* records stay in buf, one behind the other: the first `whole` bytes of it */
	size_t whole;
	struct out_gzip *gzip;	 /* the file's name ends in .gz; else NULL */
	struct out_queue *queue; /* for a reader that may stall (out_queues); else NULL */
	int error; /* -ENOMEM while the record was put together; reported by out_flush */
};

/*
 * A path that ends in .gz: each flush is one gzip member, so that whatever happens, a reader has
 * all that was flushed before. Many small ones would be larger than what they hold: see
 * out_flush_soon.
 *
 * Opens path, created if it is not there, or stdout (path NULL). Never waits: -ENXIO for a FIFO
 * that nobody reads. What a file holds is lost with the first record only: a run that fails before,
 * as another of its files cannot be opened, say, leaves it as it was. -EBADF: stdout is closed.
 * out_close also after failure.
 */
int out_open(struct out *o, const char *path, bool owner_only, struct err *e);
/* No stream: what is flushed is kept, for those who answer requests with it. Cannot fail. */
void out_open_memory(struct out *o);
/* What was flushed into memory, *len bytes that hold until the next record is begun; it starts anew
 * then. */
const char *out_whole(struct out *o, size_t *len);
/*
 * Of a file just opened: from now on each record replaces it as a whole, so that a reader finds the
 * one before or this one. It keeps its mode, and its owner if we may. What is no regular file (a
 * pipe, /dev/null), or has no name any more, is written to as ever.
 */
int out_replace(struct out *o, struct err *e);
/* SIGHUP: the path again, created if it was moved away, else appended to. No-op on stdout. */
int out_reopen(struct out *o, struct err *e);
/* Nothing in the file yet (a pipe is empty until the first flush only for the caller to know). */
bool out_is_empty_file(const struct out *o);

/* Add to the record. A failure is kept for out_flush. */
void out_put(struct out *o, const char *data, size_t len);
void out_text(struct out *o, const char *text);
/* In quotes; quotes, backslashes and line breaks within have a backslash before. */
void out_quoted(struct out *o, const char *text);
/* As HTML's text and attributes have it: & < > and quotes as entities. All else as it is. */
void out_html(struct out *o, const char *text, size_t len);
void out_u64(struct out *o, uint64_t v);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Forget the record. */
void out_drop(struct out *o);
/* A record that may wait for the next: in a .gz file it does, up to a size, else as out_flush. */
int out_flush_soon(struct out *o, struct err *e);
/* Write the record. 0, -EPIPE without words (the reader is gone), or negative with words. */
int out_flush(struct out *o, struct err *e);

/*
 * From now on no write waits for a reader: what a pipe, a socket or a terminal does not take at
 * once is queued. For regular files, which have no reader to wait for, this does nothing. 0 or
 * -ENOMEM.
 */
int out_queues(struct out *o);
/* How many bytes are queued. */
size_t out_queued(const struct out *o);
/* Where to wait until more can be written; -1: nothing is ever queued. */
int out_queue_fd(const struct out *o);
/* Writes what the reader takes now of what is queued. 0, -EPIPE, or negative with words. */
int out_drain(struct out *o, struct err *e);
/* The records that follow are queued however many there are: the last ones of a run. */
void out_queue_last(struct out *o);
/* Records that were dropped, as 4 MB were queued and nobody read. */
uint64_t out_dropped(const struct out *o);
/* Has the reader gone? */
bool out_reader_gone(const struct out *o);
/* Both write to one regular file or FIFO, under whatever names. */
bool out_same_file(const struct out *a, const struct out *b);

/* Fine twice, and on a zeroed struct. Reports what only close(2) finds (NFS, quota). */
int out_close(struct out *o, struct err *e);

#endif
