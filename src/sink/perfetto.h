/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Perfetto trace, written packet by packet:
 *
 *	perfetto.c		which events a report or a slow wait makes
 *	perfetto_track.c	the tracks that they lie on, each described before its first event
 *	perfetto_packet.c	the packets
 *
 * Events of a track are a stack for those who read them: an end belongs to the slice that began
 * last. So a track of ours has slices one after another and within each other, never across: what
 * overlaps lies in another lane, a track of the same name beside it, which viewers draw as one.
 */
#ifndef WS_SINK_PERFETTO_H
#define WS_SINK_PERFETTO_H

#include "core/cache.h"
#include "core/frame.h"
#include "sink/sink.h"

struct perfetto {
	struct sink base;
	struct cache tracks;   /* what is known of those that were described */
	uint64_t forgotten_ns; /* no slice ended later on those that no longer are */
	uint64_t singles;      /* tracks made for one slice */
	uint64_t flows;
	uint64_t clock_ns; /* CLOCK_MONOTONIC of the last comparison of clocks */
	bool clocks;	   /* there was one */
	bool any;	   /* an interval was written */
};

/* ---- packets ---- */

/* What begins a trace; also interns the words below. */
void perfetto_put_head(struct out *o, const struct meta *m);
/* What two clocks say at one moment. Times in all other packets are CLOCK_MONOTONIC. */
void perfetto_put_clocks(struct out *o, const struct timespec *wall, uint64_t mono_ns);

enum perfetto_type { PERFETTO_BEGIN = 1, PERFETTO_END, PERFETTO_INSTANT, PERFETTO_COUNTER };

/* Names of annotations and categories: the same in every event, so they are written once. */
enum perfetto_word {
	WORD_METRIC = 1,
	WORD_CPU,
	WORD_CGROUP,
	WORD_CLASS,
	WORD_PRIORITY,
	WORD_WAKER,
	WORD_WAKER_COMM,
	WORD_WAKER_PID,
	WORD_WAKER_TID,
	WORD_PREV_COMM,
	WORD_PREV_PID,
	WORD_PREV_TID,
	WORD_LAST_CPU,
	WORD_COMM,
	WORD_PID,
	WORD_TID,
	WORD_DEV,
	WORD_MOUNT,
	WORD_PATH,
	WORD_BYTES,
	WORD_BLOCKED_NS,
	WORD_RUN_QUEUE_NS,
	WORD_CPU_NS,
	WORD_KIND,
	WORD_MEANING,
	WORD_NAME,
	WORD_ADDR,
	WORD_HOLDER_COMM,
	WORD_HOLDER_PID,
	WORD_HOLDER_TID,
	WORDS,
};

enum perfetto_category {
	CATEGORY_WAIT = 1, /* of a thread, one for each that --slower tells */
	CATEGORY_OP,	   /* the same of a file system */
	CATEGORY_LEG,	   /* part of a wait */
	CATEGORY_WAKING,   /* on the waker's track */
	CATEGORY_CPU,	   /* a wait on the track of the CPU waited for */
	CATEGORY_QUALITY,
	CATEGORY_CULPRIT, /* part of a wait on the CPU's track: whom it was for */
	CATEGORIES,
};

/* A packet that is being written: fields of its event between begin and end. */
struct perfetto_event {
	size_t packet, event;
};

struct perfetto_event perfetto_begin(struct out *o, enum perfetto_type type, uint64_t track,
				     uint64_t ns);
void perfetto_end(struct out *o, struct perfetto_event e);
/* `more` is added to the text. */
void perfetto_name(struct out *o, enum perfetto_category category, const char *text,
		   const char *more);
void perfetto_flow(struct out *o, uint64_t id, bool arrives);
void perfetto_note(struct out *o, enum perfetto_word word, const char *text);
void perfetto_note_u64(struct out *o, enum perfetto_word word, uint64_t v);
void perfetto_put_end(struct out *o, uint64_t track, uint64_t ns);
void perfetto_put_value(struct out *o, uint64_t track, uint64_t ns, double v);
void perfetto_put_count(struct out *o, uint64_t track, uint64_t ns, uint64_t v);

/* A track: of a process or thread if it has a pid, else by name. */
struct perfetto_track {
	uint64_t uuid, parent; /* 0: none */
	const char *name;      /* NULL: not known */
	uint32_t pid, tid;
	bool thread, process, counter;
	bool ordered;	  /* children by rank */
	uint32_t rank;	  /* among those of a parent */
	bool time;	  /* counter: in ns */
	const char *unit; /* counter: else this */
};

void perfetto_put_track(struct out *o, const struct perfetto_track *t);

/* ---- tracks ---- */

void perfetto_tracks_init(struct perfetto *p);

/* What slices lie on, each kind of a thread's or CPU's. */
enum perfetto_row { ROW_WAITS, ROW_OPS, ROW_CPU };

/* A thread's, described with this name. */
uint64_t perfetto_thread(struct perfetto *p, uint32_t pid, uint32_t tid, const char *comm);
/* One on which a slice fits between those that it has: of the thread, or of the CPU `tid`. */
uint64_t perfetto_lane(struct perfetto *p, enum perfetto_row row, uint32_t pid, uint32_t tid,
		       uint64_t begin_ns, uint64_t end_ns);
/* A counter of a series: "p99". */
uint64_t perfetto_counter(struct perfetto *p, const struct series *s, const char *stat, bool time,
			  const char *unit);
uint64_t perfetto_quality(struct perfetto *p);

#endif
