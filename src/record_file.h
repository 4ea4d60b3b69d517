/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that -o json wrote, plain or .gz, read record by record. It may end anywhere: what is
 * whole is read.
 *
 *	record_file_open -> record_file_begin -> record_file_next* -> record_file_close
 */
#ifndef WS_RECORD_FILE_H
#define WS_RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/record.h"

struct record_file {
	const char *name; /* as messages call it */
	void *gz;	  /* gzFile */
	char *line;	  /* the last one read */
	size_t len, cap;
	uint64_t number; /* of that line */
	bool cut;	 /* what came after it was no whole line */
};

/* "-" is standard input. `path` must outlive it. 0, or negative with words. */
int record_file_open(struct record_file *f, const char *path, struct err *e);
/* The meta record that every file begins with. 0, or negative with words: there is none. */
int record_file_begin(struct record_file *f, struct record *r, struct err *e);
/* 1: the next record is in *r; 0: there is none; or negative with words that name file and line. */
int record_file_next(struct record_file *f, struct record *r, struct err *e);
/* Back to the first record. Negative with words where that cannot be (a pipe). */
int record_file_rewind(struct record_file *f, struct err *e);
void record_file_close(struct record_file *f); /* zeroed is fine */

#endif
