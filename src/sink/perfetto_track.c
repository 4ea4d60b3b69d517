// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tracks. The number of one follows from what it is of, so that describing it again, as when it was
 * forgotten meanwhile, or when its thread has another name now, is no new one.
 */
#include "sink/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

#define TRACKS 4096 /* remembered */
#define LANES 8	    /* of a row: what overlaps more than that has tracks of its own */
#define NAME_LEN 1024

enum track_kind {
	TRACK_OF_PROCESS = 1,
	TRACK_OF_THREAD,
	TRACK_OF_WAITS, /* of a thread: lanes beside its own track */
	TRACK_OF_OPS,
	TRACK_OF_CPU,
	TRACK_OF_COUNTER,
	TRACK_SINGLE,
	TRACK_GROUP,
};

enum group { GROUP_CPUS = 1, GROUP_METRICS, GROUP_QUALITY };

static const char *const groups[] = {
	[GROUP_CPUS] = "CPUs waited for",
	[GROUP_METRICS] = "Metrics of each interval",
	[GROUP_QUALITY] = "Quality",
};

struct known {
	struct cache_item item;
	struct perfetto *p;
	uint64_t uuid;
	uint64_t name;	      /* a hash of what it was described with; 0: it was not */
	uint64_t ends[LANES]; /* when the last slice of each lane ends */
	uint32_t described;   /* lanes, a bit each */
};

static int compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->uuid < y->uuid ? -1 : x->uuid > y->uuid;
}

static void drop(void *item)
{
	struct known *k = item;

	for (int i = 0; i < LANES; i++)
		if (k->ends[i] > k->p->forgotten_ns)
			k->p->forgotten_ns = k->ends[i];
	free(k);
}

void perfetto_tracks_init(struct perfetto *p)
{
	cache_init(&p->tracks, TRACKS, compare, drop);
}

/* A process or thread has 22 bits (PID_MAX_LIMIT), a CPU fewer. */
static uint64_t uuid_of(enum track_kind kind, uint32_t pid, uint32_t tid)
{
	return (uint64_t)kind << 60 | (uint64_t)(pid & 0x3ffffff) << 26 | (tid & 0x3ffffff);
}

/* NULL: no memory. */
static struct known *known(struct perfetto *p, uint64_t uuid)
{
	struct known *k = cache_find(&p->tracks, &(struct known){.uuid = uuid});

	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (k) {
		k->p = p;
		k->uuid = uuid;
		for (int i = 0; i < LANES; i++)
			k->ends[i] = p->forgotten_ns;
	}
	if (k && !cache_add(&p->tracks, k))
		return k;
	p->base.out->error = -ENOMEM;
	return NULL;
}

static void describe(struct perfetto *p, const struct perfetto_track *t)
{
	struct known *k = known(p, t->uuid);
	uint64_t name = t->name ? text_hash(t->name, strlen(t->name)) | 1 : 2;

	if (!k || k->name == name || (k->name && !t->name))
		return;
	k->name = name;
	perfetto_put_track(p->base.out, t);
}

static uint64_t group(struct perfetto *p, enum group which)
{
	const struct perfetto_track t = {
		.uuid = uuid_of(TRACK_GROUP, 0, which),
		.name = groups[which],
		.ordered = which == GROUP_CPUS,
	};

	describe(p, &t);
	return t.uuid;
}

uint64_t perfetto_quality(struct perfetto *p)
{
	return group(p, GROUP_QUALITY);
}

/* ---- threads and CPUs ---- */

/* A process is called what its first thread is, once that is known. */
uint64_t perfetto_thread(struct perfetto *p, uint32_t pid, uint32_t tid, const char *comm)
{
	const struct perfetto_track process = {
		.uuid = uuid_of(TRACK_OF_PROCESS, 0, pid),
		.process = true,
		.pid = pid,
		.name = pid == tid ? comm : NULL,
	};
	const struct perfetto_track thread = {
		.uuid = uuid_of(TRACK_OF_THREAD, pid, tid),
		.parent = process.uuid,
		.thread = true,
		.pid = pid,
		.tid = tid,
		.name = comm,
	};

	describe(p, &process);
	describe(p, &thread);
	return thread.uuid;
}

/* How the tracks of a row are described, whichever lane it is. */
static struct perfetto_track row_track(struct perfetto *p, enum perfetto_row row, uint32_t pid,
				       uint32_t tid, char name[32])
{
	static const enum track_kind kinds[] = {
		[ROW_WAITS] = TRACK_OF_WAITS, [ROW_OPS] = TRACK_OF_OPS, [ROW_CPU] = TRACK_OF_CPU};
	struct perfetto_track t = {.uuid = uuid_of(kinds[row], pid, tid),
				   .parent = uuid_of(TRACK_OF_THREAD, pid, tid),
				   .name = row == ROW_OPS ? "operations" : "waits"};

	if (row != ROW_CPU)
		return t;
	(void)snprintf(name, 32, "CPU %" PRIu32, tid); /* fits */
	t.name = name;
	t.parent = group(p, GROUP_CPUS);
	t.rank = tid & INT32_MAX;
	return t;
}

/*
 * Slices of a lane follow each other. They come by their ends, nearly: an operation is told of
 * after those within it, and one that is older than what its lane has already goes to the next.
 */
uint64_t perfetto_lane(struct perfetto *p, enum perfetto_row row, uint32_t pid, uint32_t tid,
		       uint64_t begin_ns, uint64_t end_ns)
{
	char name[32];
	struct perfetto_track t = row_track(p, row, pid, tid, name);
	struct known *k = known(p, t.uuid);
	uint32_t i = 0;

	while (k && i < LANES && k->ends[i] > begin_ns)
		i++;
	if (!k || i == LANES) {
		t.uuid = (uint64_t)TRACK_SINGLE << 60 | ++p->singles;
		perfetto_put_track(p->base.out, &t);
		return t.uuid;
	}
	k->ends[i] = end_ns;
	if (row == ROW_WAITS && !i)
		return t.parent; /* the thread's own track */
	t.uuid |= (uint64_t)i << 52;
	if (!(k->described & 1U << i))
		perfetto_put_track(p->base.out, &t);
	k->described |= 1U << i;
	return t.uuid;
}

/* ---- counters ---- */

static uint64_t hash_more(uint64_t h, const char *text)
{
	return h * 1099511628211ULL ^ text_hash(text, strlen(text));
}

uint64_t perfetto_counter(struct perfetto *p, const struct series *s, const char *stat, bool time,
			  const char *unit)
{
	/* "ext4_op_latency fsync 8:1 /data"; cut where it is very long, the number is of all. */
	char name[NAME_LEN];
	size_t at = (size_t)snprintf(name, sizeof(name), "%s", s->desc->name);
	struct perfetto_track series = {.name = name, .parent = group(p, GROUP_METRICS)};
	struct perfetto_track t = {.name = stat, .counter = true, .time = time, .unit = unit};
	uint64_t hash = hash_more(0, s->desc->name);

	for (uint32_t i = 0; i < s->nlabels; i++) {
		if (at < sizeof(name))
			at += (size_t)snprintf(name + at, sizeof(name) - at, " %s",
					       s->labels[i].value);
		if (!series_label_describes(s, i))
			hash = hash_more(hash_more(hash, s->labels[i].key), s->labels[i].value);
	}
	t.parent = series.uuid = (uint64_t)TRACK_OF_COUNTER << 60 | hash >> 4;
	t.uuid = (uint64_t)TRACK_OF_COUNTER << 60 | hash_more(hash, stat) >> 4;
	describe(p, &series);
	describe(p, &t);
	return t.uuid;
}
