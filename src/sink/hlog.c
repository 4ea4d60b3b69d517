// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HdrHistogram's log: a line for each histogram of each interval, which the tools and libraries of that
 * family read and add up. A tag is a metric with its labels:
 *
 *	"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
 *	#[StartTime: 1795347131.000 (seconds since epoch), 2026-11-22T14:02:11.000000000Z]
 *	Tag=sched_wakeup_latency{pid=42;comm=cat},1795347131.000,1.000,0.201,HISTFAAAA...
 *
 * Such a histogram is linear within each octave, ours is exponential: each of our buckets goes, whole, where
 * its middle belongs, which is what our own quantiles say. With three digits no two buckets of ours
 * share one of theirs, but below a microsecond or so, where both round to a nanosecond.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/text.h"
#include "core/version.h"
#include "sink/foreign.h"
#include "sink/sink.h"

#define COOKIE_COUNTS 0x1c849313U /* version 2, counts of variable length */
#define COOKIE_PACKED 0x1c849314U /* the same in zlib */
#define DIGITS 3
#define SUB_BITS 11 /* 2 * 10^DIGITS values, each of its own, need so many bits */
#define HIGHEST_NS 3600000000000ULL
#define HEAD_BYTES 40
#define PACKED_HEAD_BYTES 8
#define NUMBER_BYTES 9
#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1e6

struct hlog_bytes {
	uint8_t *v;
	size_t len, cap;
};

struct hlog_sink {
	struct sink base;
	uint64_t start_ms; /* of the earliest interval in the file so far */
	bool any;	   /* an interval was written: the final report is their sum */
	struct hlog_bytes counts, packed;
};

static struct hlog_sink *hlog_sink(struct sink *s)
{
	return (struct hlog_sink *)s;
}

static void hlog_free(struct sink *s)
{
	struct hlog_sink *l = hlog_sink(s);

	free(l->counts.v);
	free(l->packed.v);
}

static int hlog_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	return sink_new(out, &sink_hlog, args, e);
}

/* ---- a histogram ---- */

/* Room for `more` bytes; false: no memory. */
static bool reserve(struct hlog_bytes *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 1024;
	uint8_t *v;

	while (cap - b->len < more)
		cap *= 2;
	if (cap == b->cap)
		return true;
	v = realloc(b->v, cap);
	if (!v)
		return false;
	b->v = v;
	b->cap = cap;
	return true;
}

static void put_big(uint8_t *to, uint64_t v, int bytes)
{
	while (bytes--)
		to[bytes] = (uint8_t)v, v >>= 8;
}

/* ZigZag, then seven bits a byte, but for the ninth, which has eight. */
static void put_number(struct hlog_bytes *b, int64_t v)
{
	uint64_t u = (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
	int i;

	for (i = 1; i < NUMBER_BYTES && u >= 0x80; i++, u >>= 7)
		b->v[b->len++] = (uint8_t)(u | 0x80);
	b->v[b->len++] = (uint8_t)u;
}

/* Where a value is counted: one by one up to 2^SUB_BITS, then half as many for each octave. */
static uint64_t index_of(uint64_t ns)
{
	unsigned int bits = ns >> SUB_BITS ? 64 - (unsigned int)__builtin_clzll(ns) - SUB_BITS : 0;

	return ((uint64_t)bits << (SUB_BITS - 1)) + (ns >> bits);
}

/* The counts from index 0 to the last that is not zero; runs of zeros as negative numbers. */
struct hlog_walk {
	uint64_t index, n, end; /* `n` is at `index`, and not written yet; all before `end` is */
};

static void put_pending(struct hlog_bytes *b, struct hlog_walk *w)
{
	if (!w->n)
		return;
	if (w->index > w->end)
		put_number(b, -(int64_t)(w->index - w->end));
	put_number(b, (int64_t)w->n);
	w->end = w->index + 1;
	w->n = 0;
}

static bool put_count(struct hlog_bytes *b, struct hlog_walk *w, uint64_t ns, uint64_t n)
{
	uint64_t index = index_of(ns < HIGHEST_NS ? ns : HIGHEST_NS);

	if (!reserve(b, 4 * (size_t)NUMBER_BYTES))
		return false;
	if (index != w->index)
		put_pending(b, w);
	w->index = index;
	w->n += n;
	return true;
}

static void put_head(uint8_t *to, size_t counts)
{
	const double ratio = 1;
	uint64_t bits;

	memcpy(&bits, &ratio, sizeof(bits));
	put_big(to, COOKIE_COUNTS, 4);
	put_big(to + 4, counts, 4);
	put_big(to + 8, 0, 4); /* no offset of the indices */
	put_big(to + 12, DIGITS, 4);
	put_big(to + 16, 1, 8); /* ns: the smallest difference it tells */
	put_big(to + 24, HIGHEST_NS, 8);
	put_big(to + 32, bits, 8);
}

static bool put_hist(struct hlog_bytes *b, const struct hist *h)
{
	struct hlog_walk to = {0};
	struct hist_walk from = {0};
	bool fits;

	b->len = 0;
	fits = reserve(b, HEAD_BYTES);
	if (!fits)
		return false;
	b->len = HEAD_BYTES;
	if (h->zero)
		fits = put_count(b, &to, 0, h->zero);
	while (fits && hist_next(h, &from))
		fits = put_count(b, &to, hist_slot_value(h, from.slot), from.n);
	if (!fits)
		return false;
	put_pending(b, &to);
	put_head(b->v, b->len - HEAD_BYTES);
	return true;
}

static bool pack(struct hlog_bytes *to, const struct hlog_bytes *from)
{
	uLongf len = compressBound(from->len);

	to->len = 0;
	if (!reserve(to, PACKED_HEAD_BYTES + len) ||
	    compress2(to->v + PACKED_HEAD_BYTES, &len, from->v, from->len, Z_DEFAULT_COMPRESSION) !=
		    Z_OK)
		return false;
	put_big(to->v, COOKIE_PACKED, 4);
	put_big(to->v + 4, len, 4);
	to->len = PACKED_HEAD_BYTES + len;
	return true;
}

static void put_base64(struct out *out, const struct hlog_bytes *b)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < b->len; i += 3) {
		size_t left = b->len - i;
		uint32_t v = (uint32_t)b->v[i] << 16 | (left > 1 ? (uint32_t)b->v[i + 1] << 8 : 0) |
			     (left > 2 ? b->v[i + 2] : 0);
		const char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
				      left > 1 ? digits[v >> 6 & 63] : '=',
				      left > 2 ? digits[v & 63] : '='};

		out_put(out, four, sizeof(four));
	}
}

/* ---- lines ---- */

/* A tag ends at a comma, and some readers end it at a blank. */
static void put_tag(struct out *out, const struct series *s)
{
	out_printf(out, "Tag=%s", s->desc->name);
	for (uint32_t i = 0; i < s->nlabels; i++) {
		out_printf(out, "%s", i ? ";" : "{");
		foreign_escaped(out, s->labels[i].key, ", ;={}");
		out_text(out, "=");
		foreign_escaped(out, s->labels[i].value, ", ;={}");
	}
	out_text(out, s->nlabels ? "}" : "");
}

static int put_line(struct hlog_sink *l, const struct frame *f, uint64_t start_ms,
		    const struct series *s)
{
	struct out *out = l->base.out;

	if (!put_hist(&l->counts, s->hist) || !pack(&l->packed, &l->counts))
		return -ENOMEM;
	put_tag(out, s);
	out_printf(out, ",%" PRIu64 ".%03u,%.3f,%.3f,", start_ms / 1000,
		   (unsigned int)(start_ms % 1000), (double)f->dur_ns / (double)NS_PER_S,
		   s->hist->count ? (double)s->hist->max_ns / NS_PER_MS : 0.0);
	put_base64(out, &l->packed);
	out_text(out, "\n");
	return 0;
}

/* Readers pass over what lies before it: where an interval does, there is a new one. */
static void put_start(struct hlog_sink *l, uint64_t ms)
{
	char text[64];

	if (ms >= l->start_ms)
		return;
	l->start_ms = ms;
	format_rfc3339(text, sizeof(text), (int64_t)(ms / 1000), (uint32_t)(ms % 1000) * 1000000);
	out_printf(l->base.out, "#[StartTime: %" PRIu64 ".%03u (seconds since epoch), %s]\n",
		   ms / 1000, (unsigned int)(ms % 1000), text);
}

static int hlog_report(struct hlog_sink *l, const struct frame *f, struct err *e)
{
	uint64_t end_ns = (uint64_t)f->time.tv_sec * NS_PER_S + (uint64_t)f->time.tv_nsec;
	uint64_t start_ms = (end_ns > f->dur_ns ? end_ns - f->dur_ns : 0) / 1000000;

	put_start(l, start_ms);
	for (size_t i = 0; i < f->nseries && !l->base.out->error; i++)
		if (f->series[i].hist)
			l->base.out->error = put_line(l, f, start_ms, &f->series[i]);
	return out_flush(l->base.out, e);
}

static void hlog_begin(struct sink *s)
{
	hlog_sink(s)->start_ms = UINT64_MAX;
}

static int hlog_meta(struct sink *s, const struct meta *m, struct err *e)
{
	hlog_begin(s);
	out_printf(s->out, "#[Logged with waitscope %s]\n", WS_VERSION);
	out_text(s->out, "#[Histogram log format version 1.3]\n"
			 "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
			 "\"Interval_Compressed_Histogram\"\n");
	return sink_flush_head(s, e);
}

static int hlog_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			 struct err *e)
{
	hlog_sink(s)->any = true;
	return hlog_report(hlog_sink(s), interval, e);
}

/* A run without intervals is one itself. */
static int hlog_final(struct sink *s, const struct frame *total, struct err *e)
{
	return hlog_sink(s)->any ? 0 : hlog_report(hlog_sink(s), total, e);
}

const struct sink_ops sink_hlog = {
	.name = "hlog",
	.summary = "HdrHistogram log: a tag for each metric and its labels, a line an interval",
	.what = "as HdrHistogram log",
	.size = sizeof(struct hlog_sink),
	.open = hlog_open,
	.meta = hlog_meta,
	.interval = hlog_interval,
	.final = hlog_final,
	.reopen = sink_reopen,
	.close = sink_close,
	.begin = hlog_begin,
	.free = hlog_free,
};
