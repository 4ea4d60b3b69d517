// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets of a trace; numbers of fields are those of
 * https://github.com/google/perfetto/tree/main/protos/perfetto/trace. A file is a message whose
 * field 1 is repeated, so that packets stand one behind the other, and it may end with any of them.
 */
#include "sink/perfetto.h"

#include "sink/foreign.h"
#include "sink/proto.h"

#define NS_PER_S 1000000000ULL
#define SEQUENCE 1 /* all packets are of one writer */

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_SYSTEM_INFO = 45,
	PACKET_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum { CLOCK_ID_REALTIME = 1, CLOCK_ID_MONOTONIC = 3 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY }; /* a clock: its id and its ns */
enum { INTERNED_CATEGORY = 1, INTERNED_NOTE_NAME = 3 };
enum { INTERNED_IID = 1, INTERNED_TEXT };
enum { SYSTEM_UTSNAME = 1, SYSTEM_VERSION = 4, SYSTEM_CPUS = 8 };
enum { UTSNAME_SYSNAME = 1, UTSNAME_RELEASE = 3 };
enum {
	EVENT_CATEGORY_IID = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_COUNT = 30,
	EVENT_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
};
enum { NOTE_NAME_IID = 1, NOTE_U64 = 3, NOTE_TEXT = 6 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME,
	TRACK_PROCESS,
	TRACK_THREAD,
	TRACK_PARENT,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDER = 11,
	TRACK_RANK,
};
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum { UNIT_TIME = 1, ORDER_EXPLICIT = 3 };

static const char *const words[WORDS] = {
	[WORD_METRIC] = "metric",
	[WORD_CPU] = "cpu",
	[WORD_CGROUP] = "cgroup",
	[WORD_CLASS] = "class",
	[WORD_PRIORITY] = "priority",
	[WORD_WAKER] = "waker",
	[WORD_WAKER_COMM] = "waker_comm",
	[WORD_WAKER_PID] = "waker_pid",
	[WORD_WAKER_TID] = "waker_tid",
	[WORD_PREV_COMM] = "prev_comm",
	[WORD_PREV_PID] = "prev_pid",
	[WORD_PREV_TID] = "prev_tid",
	[WORD_LAST_CPU] = "last_cpu",
	[WORD_COMM] = "comm",
	[WORD_PID] = "pid",
	[WORD_TID] = "tid",
	[WORD_DEV] = "dev",
	[WORD_MOUNT] = "mount",
	[WORD_PATH] = "path",
	[WORD_BYTES] = "bytes",
	[WORD_BLOCKED_NS] = "blocked_ns",
	[WORD_RUN_QUEUE_NS] = "run_queue_ns",
	[WORD_CPU_NS] = "cpu_ns",
	[WORD_KIND] = "kind",
	[WORD_MEANING] = "meaning",
	[WORD_NAME] = "name",
	[WORD_ADDR] = "addr",
	[WORD_HOLDER_COMM] = "holder_comm",
	[WORD_HOLDER_PID] = "holder_pid",
	[WORD_HOLDER_TID] = "holder_tid",
};

static const char *const categories[CATEGORIES] = {
	[CATEGORY_WAIT] = "wait",	[CATEGORY_OP] = "operation", [CATEGORY_LEG] = "leg",
	[CATEGORY_WAKING] = "waking",	[CATEGORY_CPU] = "cpu",	     [CATEGORY_QUALITY] = "quality",
	[CATEGORY_CULPRIT] = "culprit",
};

/* Raw bytes of the kernel's: UTF-8, and nothing in it that a reader does not see. */
static void put_foreign(struct out *o, uint32_t field, const char *text, const char *more)
{
	size_t at = proto_begin(o, field);

	foreign_escaped(o, text, "");
	if (more)
		foreign_escaped(o, more, "");
	proto_end(o, at);
}

static size_t begin_packet(struct out *o, uint64_t flags)
{
	size_t at = proto_begin(o, TRACE_PACKET);

	proto_u64(o, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(o, PACKET_SEQUENCE_FLAGS, flags);
	return at;
}

/* ---- head ---- */

static void put_interned(struct out *o, uint32_t field, const char *const *v, uint64_t n)
{
	for (uint64_t iid = 1; iid < n; iid++) {
		size_t at = proto_begin(o, field);

		proto_u64(o, INTERNED_IID, iid);
		proto_text(o, INTERNED_TEXT, v[iid]);
		proto_end(o, at);
	}
}

void perfetto_put_head(struct out *o, const struct meta *m)
{
	size_t packet = begin_packet(o, STATE_CLEARED), at, system;

	at = proto_begin(o, PACKET_DEFAULTS);
	proto_u64(o, PACKET_CLOCK_ID, CLOCK_ID_MONOTONIC);
	proto_end(o, at);
	at = proto_begin(o, PACKET_INTERNED_DATA);
	put_interned(o, INTERNED_CATEGORY, categories, CATEGORIES);
	put_interned(o, INTERNED_NOTE_NAME, words, WORDS);
	proto_end(o, at);
	proto_end(o, packet);

	packet = begin_packet(o, NEEDS_STATE);
	system = proto_begin(o, PACKET_SYSTEM_INFO);
	at = proto_begin(o, SYSTEM_UTSNAME);
	proto_text(o, UTSNAME_SYSNAME, "Linux");
	put_foreign(o, UTSNAME_RELEASE, m->kernel, NULL);
	proto_end(o, at);
	put_foreign(o, SYSTEM_VERSION, "waitscope ", m->version);
	proto_u64(o, SYSTEM_CPUS, m->cpus);
	proto_end(o, system);
	proto_end(o, packet);
}

/* ---- clocks ---- */

/* The primary clock is the trace's own time; BOOTTIME, which it would be else, no report tells. */
void perfetto_put_clocks(struct out *o, const struct timespec *wall, uint64_t mono_ns)
{
	size_t packet = begin_packet(o, NEEDS_STATE), at = proto_begin(o, PACKET_CLOCK_SNAPSHOT);

	proto_pair(o, SNAPSHOT_CLOCK, CLOCK_ID_MONOTONIC, mono_ns);
	proto_pair(o, SNAPSHOT_CLOCK, CLOCK_ID_REALTIME,
		   (uint64_t)wall->tv_sec * NS_PER_S + (uint64_t)wall->tv_nsec);
	proto_u64(o, SNAPSHOT_PRIMARY, CLOCK_ID_MONOTONIC);
	proto_end(o, at);
	proto_end(o, packet);
}

/* ---- events ---- */

struct perfetto_event perfetto_begin(struct out *o, enum perfetto_type type, uint64_t track,
				     uint64_t ns)
{
	struct perfetto_event e = {.packet = begin_packet(o, NEEDS_STATE)};

	proto_u64(o, PACKET_TIMESTAMP, ns);
	e.event = proto_begin(o, PACKET_TRACK_EVENT);
	proto_u64(o, EVENT_TYPE, type);
	proto_u64(o, EVENT_TRACK, track);
	return e;
}

void perfetto_end(struct out *o, struct perfetto_event e)
{
	proto_end(o, e.event);
	proto_end(o, e.packet);
}

void perfetto_name(struct out *o, enum perfetto_category category, const char *text,
		   const char *more)
{
	proto_u64(o, EVENT_CATEGORY_IID, category);
	put_foreign(o, EVENT_NAME, text, more);
}

void perfetto_flow(struct out *o, uint64_t id, bool arrives)
{
	proto_fixed64(o, arrives ? EVENT_FLOW_ENDS : EVENT_FLOW, id);
}

void perfetto_note(struct out *o, enum perfetto_word word, const char *text)
{
	size_t at;

	if (!text)
		return;
	at = proto_begin(o, EVENT_NOTE);
	proto_u64(o, NOTE_NAME_IID, word);
	put_foreign(o, NOTE_TEXT, text, NULL);
	proto_end(o, at);
}

void perfetto_note_u64(struct out *o, enum perfetto_word word, uint64_t v)
{
	size_t at = proto_begin(o, EVENT_NOTE);

	proto_u64(o, NOTE_NAME_IID, word);
	proto_u64(o, NOTE_U64, v);
	proto_end(o, at);
}

void perfetto_put_end(struct out *o, uint64_t track, uint64_t ns)
{
	perfetto_end(o, perfetto_begin(o, PERFETTO_END, track, ns));
}

void perfetto_put_value(struct out *o, uint64_t track, uint64_t ns, double v)
{
	struct perfetto_event e = perfetto_begin(o, PERFETTO_COUNTER, track, ns);

	proto_double(o, EVENT_VALUE, v);
	perfetto_end(o, e);
}

void perfetto_put_count(struct out *o, uint64_t track, uint64_t ns, uint64_t v)
{
	struct perfetto_event e = perfetto_begin(o, PERFETTO_COUNTER, track, ns);

	proto_u64(o, EVENT_COUNT, v);
	perfetto_end(o, e);
}

/* ---- tracks ---- */

/* A process or thread is named in a message of its own. */
static void put_task(struct out *o, const struct perfetto_track *t)
{
	size_t at = proto_begin(o, t->thread ? TRACK_THREAD : TRACK_PROCESS);

	proto_u64(o, t->thread ? THREAD_PID : PROCESS_PID, t->pid);
	if (t->thread)
		proto_u64(o, THREAD_TID, t->tid);
	if (t->name)
		put_foreign(o, t->thread ? THREAD_NAME : PROCESS_NAME, t->name, NULL);
	proto_end(o, at);
}

void perfetto_put_track(struct out *o, const struct perfetto_track *t)
{
	size_t packet = begin_packet(o, NEEDS_STATE), at = proto_begin(o, PACKET_TRACK_DESCRIPTOR);
	size_t counter;

	proto_u64(o, TRACK_UUID, t->uuid);
	if (t->parent)
		proto_u64(o, TRACK_PARENT, t->parent);
	if (t->process || t->thread)
		put_task(o, t);
	else
		put_foreign(o, TRACK_NAME, t->name, NULL);
	if (t->counter) {
		counter = proto_begin(o, TRACK_COUNTER);
		if (t->time)
			proto_u64(o, COUNTER_UNIT, UNIT_TIME);
		else
			proto_text(o, COUNTER_UNIT_NAME, t->unit);
		proto_end(o, counter);
	}
	if (t->ordered)
		proto_u64(o, TRACK_CHILD_ORDER, ORDER_EXPLICIT);
	if (t->rank)
		proto_u64(o, TRACK_RANK, t->rank);
	proto_end(o, at);
	proto_end(o, packet);
}
