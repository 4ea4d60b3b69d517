/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sink writes frames in one format to one stream. It knows core only. Nothing but the sink's own
 * stream is written to; errors go up in struct err. -EPIPE from any call means: the reader is gone,
 * end quietly.
 */
#ifndef WS_SINK_H
#define WS_SINK_H

#include "core/config.h"
#include "core/err.h"
#include "core/frame.h"
#include "sink/out.h"

struct event_base;
struct sink;

struct sink_args {
	const struct config *cfg;
	const char *path; /* NULL: stdout */
	bool memory;	  /* no stream at all: what is written is for out_whole (out.h) */
	bool replay; /* no run: reports come as fast as they are read, and nobody runs `base` */
	struct event_base *base; /* for sockets */
	bool owner_only;	 /* a file that is created is for nobody else to read */
	bool tty;		 /* stdout is a terminal (never with a path) */
	bool color;		 /* resolved from --color, NO_COLOR, tty */
	bool redraw;		 /* resolved: tty and not --no-clear */
	uint32_t columns;	 /* width to fill, >= 80 when not a terminal */
	uint32_t lines;		 /* terminal height, 0 unknown */
};

struct sink_ops {
	const char *name; /* as in --output */
	const char *summary;
	const char *what; /* "in CSV": what failed, after "output" */
	size_t size;	  /* of its struct, which begins with a struct sink */
	int (*open)(struct sink **out, const struct sink_args *args, struct err *e);
	int (*meta)(struct sink *s, const struct meta *m, struct err *e);
	/* An interval's end: both views; the sink takes what it prints. The total has rows only if
	 * some sink wants them. */
	int (*interval)(struct sink *s, const struct frame *interval, const struct frame *total,
			struct err *e);
	/* Optional: are the total's rows wanted with each interval? Else only at the end. */
	bool (*totals)(const struct sink *s);
	int (*final)(struct sink *s, const struct frame *total, struct err *e);
	int (*slow)(struct sink *s, const struct slow *w, struct err *e); /* optional */
	/* Nothing printed for a while: seconds so far; only a terminal shows it. */
	int (*progress)(struct sink *s, uint64_t elapsed_ns, struct err *e); /* optional */
	void (*resize)(struct sink *s, uint32_t columns, uint32_t lines);    /* optional */
	/* Optional: no report follows, and the loop has ended: the time for what takes long. True:
	 * there is something to be said (a line for stderr). */
	bool (*finish)(struct sink *s, char *note, size_t len);
	int (*reopen)(struct sink *s, struct err *e); /* SIGHUP: path again; no-op on stdout */
	int (*close)(struct sink *s, struct err *e); /* NULL is fine; reports a failed last write */
	/* Both optional, for those who take sink_reopen and sink_close: a new file begins, which
	 * has nothing of what was written before; its own memory goes, all but the struct. */
	void (*begin)(struct sink *s);
	void (*free)(struct sink *s);
};

struct sink {
	const struct sink_ops *ops;
	const struct config *cfg;
	struct out *out; /* what it writes to: */
	struct out own;
	char *head; /* what each file begins with; NULL: nothing of its own */
	size_t head_len;
};

extern const struct sink_ops sink_table;
extern const struct sink_ops sink_json;
extern const struct sink_ops sink_csv;
extern const struct sink_ops sink_prom;
extern const struct sink_ops sink_prom_proto;
extern const struct sink_ops sink_hlog;
extern const struct sink_ops sink_otlp;
extern const struct sink_ops sink_html;
extern const struct sink_ops sink_perfetto;
extern const struct sink_ops sink_tui;

/* For open: a zeroed struct of ops->size, with what the arguments name as its stream. */
int sink_new(struct sink **out, const struct sink_ops *ops, const struct sink_args *args,
	     struct err *e);
/* "output in CSV: ...", of a negative errno; returns that. */
int sink_failed(const struct sink *s, int ret, struct err *e);
/* Writes the record, with which files that are begun later begin as well. */
int sink_flush_head(struct sink *s, struct err *e);
int sink_reopen(struct sink *s, struct err *e);
int sink_close(struct sink *s, struct err *e);

extern const struct sink_ops *const sink_list[]; /* NULL-terminated; a new format is a line here */
const struct sink_ops *sink_find(const char *name);

#endif
