// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HdrHistogram's log: a line for each histogram of each interval, which the tools and libraries of
 * that family read and add up. A tag is a metric with its labels:
 *
 *	"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
 *	#[StartTime: 1795347131.000 (seconds since epoch), 2026-11-22T14:02:11.000000000Z]
 *	Tag=sched_wakeup_latency{pid=42;comm=cat},1795347131.000,1.000,0.201,HISTFAAAA...
 *
 * Such a histogram is linear within each octave, ours is exponential: each of our buckets goes,
 * whole, where its middle belongs, which is what our own quantiles say. With three digits no two
 * buckets of ours share one of theirs, but below a microsecond or so, where both round to a
 * nanosecond.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/array.h"
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

struct hlog_sink {
	struct sink base;
	uint64_t start_ms; /* of the earliest interval in the file so far */
	bool any;	   /* an interval was written: the final report is their sum */
	struct out counts; /* in memory: a histogram */
	uint8_t *packed;
	size_t packed_cap;
};

static struct hlog_sink *hlog_sink(struct sink *s)
{
	return (struct hlog_sink *)s;
}

static void hlog_free(struct sink *s)
{
	(void)out_close(&hlog_sink(s)->counts, NULL); /* memory */
	free(hlog_sink(s)->packed);
}

static int hlog_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	int ret = sink_new(out, &sink_hlog, args, e);

	if (!ret)
		out_open_memory(&hlog_sink(*out)->counts);
	return ret;
}

/* ---- a histogram ---- */

static void put_big(uint8_t *to, uint64_t v, int bytes)
{
	while (bytes--)
		to[bytes] = (uint8_t)v, v >>= 8;
}

/* ZigZag, then seven bits a byte, but for the ninth, which has eight. */
static void put_number(struct out *o, int64_t v)
{
	uint64_t u = (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
	uint8_t bytes[NUMBER_BYTES];
	size_t n = 0;

	for (; n < NUMBER_BYTES - 1 && u >= 0x80; u >>= 7)
		bytes[n++] = (uint8_t)(u | 0x80);
	bytes[n++] = (uint8_t)u;
	out_put(o, (const char *)bytes, n);
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

static void put_pending(struct out *o, struct hlog_walk *w)
{
	if (!w->n)
		return;
	if (w->index > w->end)
		put_number(o, -(int64_t)(w->index - w->end));
	put_number(o, (int64_t)w->n);
	w->end = w->index + 1;
	w->n = 0;
}

static void put_count(struct out *o, struct hlog_walk *w, uint64_t ns, uint64_t n)
{
	uint64_t index = index_of(ns < HIGHEST_NS ? ns : HIGHEST_NS);

	if (index != w->index)
		put_pending(o, w);
	w->index = index;
	w->n += n;
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

static void put_hist(struct out *o, const struct hist *h)
{
	const uint8_t room[HEAD_BYTES] = {0}; /* for what is known last */
	struct hlog_walk to = {0};
	struct hist_walk from = {0};

	out_put(o, (const char *)room, sizeof(room));
	if (h->zero)
		put_count(o, &to, 0, h->zero);
	while (hist_next(h, &from))
		put_count(o, &to, hist_slot_value(h, from.slot), from.n);
	put_pending(o, &to);
	if (!o->error)
		put_head((uint8_t *)o->buf, o->len - HEAD_BYTES);
}

/* How many bytes it takes packed; 0: no memory. */
static size_t pack(struct hlog_sink *l)
{
	uLongf len = compressBound(l->counts.len);
	uint8_t *v = array_room(l->packed, &l->packed_cap, 0, PACKED_HEAD_BYTES + len, 1);

	if (!v)
		return 0;
	l->packed = v;
	if (compress2(v + PACKED_HEAD_BYTES, &len, (const Bytef *)l->counts.buf, l->counts.len,
		      Z_DEFAULT_COMPRESSION) != Z_OK)
		return 0;
	put_big(v, COOKIE_PACKED, 4);
	put_big(v + 4, len, 4);
	return PACKED_HEAD_BYTES + len;
}

static void put_base64(struct out *out, const uint8_t *v, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t bits = (uint32_t)v[i] << 16 | (left > 1 ? (uint32_t)v[i + 1] << 8 : 0) |
				(left > 2 ? v[i + 2] : 0);
		const char four[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
				      left > 1 ? digits[bits >> 6 & 63] : '=',
				      left > 2 ? digits[bits & 63] : '='};

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
	size_t packed;

	out_drop(&l->counts);
	put_hist(&l->counts, s->hist);
	packed = l->counts.error ? 0 : pack(l);
	if (!packed)
		return -ENOMEM;
	put_tag(out, s);
	out_printf(out, ",%" PRIu64 ".%03u,%.3f,%.3f,", start_ms / 1000,
		   (unsigned int)(start_ms % 1000), (double)f->dur_ns / (double)NS_PER_S,
		   s->hist->count ? (double)s->hist->max_ns / NS_PER_MS : 0.0);
	put_base64(out, l->packed, packed);
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
