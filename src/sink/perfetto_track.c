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

static uint64_t lane_uuid(uint64_t uuid, uint32_t lane)
{
	return uuid | (uint64_t)lane << 52;
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
	struct perfetto_track t = {.parent = uuid_of(TRACK_OF_THREAD, pid, tid), .name = name};

	switch (row) { /* all fit */
	case ROW_WAITS:
		t.uuid = uuid_of(TRACK_OF_WAITS, pid, tid);
		(void)snprintf(name, 32, "waits");
		break;
	case ROW_OPS:
		t.uuid = uuid_of(TRACK_OF_OPS, pid, tid);
		(void)snprintf(name, 32, "operations");
		break;
	case ROW_CPU:
		t.uuid = uuid_of(TRACK_OF_CPU, 0, tid);
		t.parent = group(p, GROUP_CPUS);
		t.rank = tid & INT32_MAX;
		(void)snprintf(name, 32, "CPU %" PRIu32, tid);
		break;
	}
	return t;
}

static bool fits(uint64_t end_before, uint64_t begin)
{
	return begin >= end_before;
}

/*
 * Slices of a lane follow each other. They come by their ends, nearly: an operation is told of after
 * those within it, and one that is older than what its lane has already goes to the next.
 */
uint64_t perfetto_lane(struct perfetto *p, enum perfetto_row row, uint32_t pid, uint32_t tid,
		       uint64_t begin_ns, uint64_t end_ns)
{
	char name[32];
	struct perfetto_track t = row_track(p, row, pid, tid, name);
	struct known *k = known(p, t.uuid);
	uint32_t i = 0;

	while (k && i < LANES && !fits(k->ends[i], begin_ns))
		i++;
	if (!k || i == LANES) {
		t.uuid = (uint64_t)TRACK_SINGLE << 60 | ++p->singles;
		perfetto_put_track(p->base.out, &t);
		return t.uuid;
	}
	k->ends[i] = end_ns;
	if (row == ROW_WAITS && !i)
		return t.parent; /* the thread's own track */
	t.uuid = lane_uuid(t.uuid, i);
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

static uint64_t series_hash(const struct series *s)
{
	uint64_t h = hash_more(0, s->desc->name);

	for (uint32_t i = 0; i < s->nlabels; i++)
		if (!series_label_describes(s, i))
			h = hash_more(hash_more(h, s->labels[i].key), s->labels[i].value);
	return h;
}

static uint64_t counter_uuid(uint64_t hash)
{
	return (uint64_t)TRACK_OF_COUNTER << 60 | hash >> 4;
}

/* "ext4_op_latency fsync 8:1 /data"; cut where it is very long, the number is of all of it. */
static void series_name(char *out, size_t len, const struct series *s)
{
	size_t at = (size_t)snprintf(out, len, "%s", s->desc->name);

	for (uint32_t i = 0; i < s->nlabels && at < len; i++)
		at += (size_t)snprintf(out + at, len - at, " %s", s->labels[i].value);
}

uint64_t perfetto_counter(struct perfetto *p, const struct series *s, const char *stat, bool time,
			  const char *unit)
{
	char name[NAME_LEN];
	uint64_t hash = series_hash(s);
	struct perfetto_track series = {.uuid = counter_uuid(hash), .name = name};
	struct perfetto_track t = {
		.uuid = counter_uuid(hash_more(hash, stat)),
		.parent = series.uuid,
		.name = stat,
		.counter = true,
		.time = time,
		.unit = unit,
	};

	series_name(name, sizeof(name), s);
	series.parent = group(p, GROUP_METRICS);
	describe(p, &series);
	describe(p, &t);
	return t.uuid;
}
