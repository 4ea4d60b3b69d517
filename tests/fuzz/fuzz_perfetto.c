// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A trace made of records from elsewhere, a line each. Whatever is in them: packets are whole,
 * every event lies on a track that was described before, texts are UTF-8 that a reader sees all of,
 * and who takes the events by time and ends what began last finds the slices that were written.
 */
#include "fuzz.h"

#include "core/record.h"
#include "core/text.h"
#include "sink/out.h"
#include "sink/sink.h"

#define DEPTH 4

enum { BEGIN = 1, END, INSTANT, COUNTER };

struct event {
	uint64_t ts, track, type;
	size_t nr;    /* as written */
	size_t begun; /* of an end: the event that it belongs to */
};

struct trace {
	struct event *v;
	size_t n, cap;
	uint64_t *tracks;
	size_t ntracks, tracks_cap;
	size_t open[DEPTH], depth; /* slices are written one at a time, with what is within */
	bool clocks;
};

/* Fields of a message, one by one. */
struct reader {
	const uint8_t *at, *end;
	uint64_t field, value;
	const uint8_t *bytes; /* NULL: a number */
	size_t len;
};

static uint64_t take_number(struct reader *r)
{
	uint64_t v = 0;

	for (int shift = 0;; shift += 7) {
		MUST(r->at < r->end && shift < 70);
		v |= (uint64_t)(*r->at & 0x7f) << shift;
		if (!(*r->at++ & 0x80))
			return v;
	}
}

static bool take_field(struct reader *r)
{
	uint64_t tag;

	if (r->at == r->end)
		return false;
	tag = take_number(r);
	r->field = tag >> 3;
	r->bytes = NULL;
	r->len = 0;
	if ((tag & 7) == 0) {
		r->value = take_number(r);
		return true;
	}
	MUST((tag & 7) == 1 || (tag & 7) == 2);
	r->len = (tag & 7) == 1 ? 8 : take_number(r);
	MUST(r->len <= (size_t)(r->end - r->at));
	r->bytes = r->at;
	r->at += r->len;
	return true;
}

static struct reader inner(const struct reader *r)
{
	MUST(r->bytes);
	return (struct reader){.at = r->bytes, .end = r->bytes + r->len};
}

static void check_text(const struct reader *r)
{
	char *text = fuzz_string(r->bytes, r->len);
	uint32_t code;

	MUST(strlen(text) == r->len && fuzz_utf8_valid(text));
	for (const char *s = text; *s; s++)
		MUST(!text_unseen(s, &code));
	free(text);
}

static void *grow(void *v, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return v;
	*cap = 2 * *cap + 64;
	v = realloc(v, *cap * size);
	MUST(v);
	return v;
}

static bool described(const struct trace *t, uint64_t uuid)
{
	for (size_t i = t->ntracks; i; i--)
		if (t->tracks[i - 1] == uuid)
			return true;
	return false;
}

static void take_track(struct trace *t, struct reader r)
{
	uint64_t uuid = 0;

	while (take_field(&r)) {
		if (r.field == 1)
			uuid = r.value;
		else if (r.field == 5)
			MUST(described(t, r.value));
		else if (r.field == 2)
			check_text(&r);
	}
	MUST(uuid);
	if (described(t, uuid))
		return;
	t->tracks = grow(t->tracks, t->ntracks, &t->tracks_cap, sizeof(*t->tracks));
	t->tracks[t->ntracks++] = uuid;
}

static void take_note(struct reader r)
{
	while (take_field(&r))
		if (r.field == 6)
			check_text(&r);
}

static void take_event(struct trace *t, struct reader r, uint64_t ts)
{
	struct event e = {.ts = ts, .nr = t->n};

	while (take_field(&r)) {
		if (r.field == 9)
			e.type = r.value;
		else if (r.field == 11)
			e.track = r.value;
		else if (r.field == 4)
			take_note(inner(&r));
		else if (r.field == 23)
			check_text(&r);
	}
	MUST(t->clocks && e.type >= BEGIN && e.type <= COUNTER && described(t, e.track));
	if (e.type == BEGIN) {
		MUST(t->depth < DEPTH);
		t->open[t->depth++] = e.nr;
	} else if (e.type == END) {
		MUST(t->depth);
		e.begun = t->open[--t->depth];
		MUST(t->v[e.begun].track == e.track && t->v[e.begun].ts <= ts);
	}
	t->v = grow(t->v, t->n, &t->cap, sizeof(*t->v));
	t->v[t->n++] = e;
}

static void take_packet(struct trace *t, struct reader r)
{
	uint64_t ts = 0;

	while (take_field(&r)) {
		if (r.field == 8)
			ts = r.value;
		else if (r.field == 6)
			t->clocks = true;
		else if (r.field == 60)
			take_track(t, inner(&r));
		else if (r.field == 11)
			take_event(t, inner(&r), ts);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->nr < y->nr ? -1 : 1;
}

/* As others read it: a stack for each track. */
static void check_nesting(struct trace *t)
{
	size_t open[DEPTH], depth = 0;

	MUST(!t->depth);
	if (t->n)
		qsort(t->v, t->n, sizeof(*t->v), by_time);
	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->v[i];

		if (i && e->track != e[-1].track)
			MUST(!depth);
		if (e->type == BEGIN) {
			MUST(depth < DEPTH);
			open[depth++] = e->nr;
		} else if (e->type == END) {
			MUST(depth && open[--depth] == e->begun);
		}
	}
	MUST(!depth);
}

static void check_trace(const char *bytes, size_t len)
{
	struct reader r = {.at = (const uint8_t *)bytes};
	struct trace t = {0};

	if (!len) /* none of them was a record */
		return;
	r.end = r.at + len;
	while (take_field(&r)) {
		MUST(r.field == 1);
		take_packet(&t, inner(&r));
	}
	check_nesting(&t);
	free(t.tracks);
	free(t.v);
}

static void tell(struct sink *s, const struct record *r)
{
	struct err e = {0};

	switch (r->type) {
	case RECORD_META:
		MUST(!s->ops->meta(s, &r->meta, &e));
		break;
	case RECORD_SLOW:
		MUST(!s->ops->slow(s, &r->slow, &e));
		break;
	case RECORD_INTERVAL:
		MUST(!s->ops->interval(s, &r->frame, &r->frame, &e));
		break;
	case RECORD_FINAL:
		MUST(!s->ops->final(s, &r->frame, &e));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct quantile q = {.ppb = 990000000, .text = "99"};
	const struct config cfg = {.quantiles = &q, .nquantiles = 1};
	const struct sink_args args = {.cfg = &cfg, .memory = true};
	char *text = fuzz_string(data, size), *save;
	struct err e = {0};
	struct record r;
	const char *whole;
	struct sink *s;
	size_t len;

	record_init(&r);
	MUST(!sink_perfetto.open(&s, &args, &e));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!record_read(&r, line, strlen(line), &e))
			tell(s, &r);
	whole = out_whole(s->out, &len);
	check_trace(whole, len);
	MUST(!s->ops->close(s, &e));
	record_free(&r);
	free(text);
	return 0;
}
