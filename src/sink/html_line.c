// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A cache line as a strip of its 64 bytes for each thread that touched it: what it read in the upper half of
 * the strip, what it wrote in the lower one. Strips whose lower halves share no byte are false sharing.
 *
 *	               0       8       16      24      32      40      48      56      64
 *	orders 26815   |       |       |       |       |▄▄▄▄▄▄▄|       |       |       |
 *	orders 26816   |       |       |       |       |       |▄▄▄▄▄▄▄|       |       |
 */
#include <inttypes.h>

#include "sink/html.h"

#define BYTES 64
#define BYTE 9 /* wide */
#define LEFT 170
#define TOP 20
#define STRIP 22
#define HALF 9
#define THREADS 16 /* more are in the table alone */

static void ruler(struct out *out, size_t n)
{
	for (unsigned int b = 0; b <= BYTES; b += 8)
		out_printf(out,
			   "<path class=g d=\"M%u %uv%zu\"/><text x=%u y=%u "
			   "text-anchor=middle>%u</text>",
			   LEFT + b * BYTE, TOP, n * STRIP, LEFT + b * BYTE, TOP - 6, b);
}

/* Bytes side by side are one rectangle. */
static void bytes(struct out *out, const char *class, uint64_t mask, size_t y)
{
	for (unsigned int from = 0, to; from < BYTES; from = to + 1) {
		for (to = from; to < BYTES && mask >> to & 1;)
			to++;
		if (to > from)
			out_printf(out, "<rect class=%s x=%u y=%zu width=%u height=%u />", class,
				   LEFT + from * BYTE, y, (to - from) * BYTE, HALF);
	}
}

/* "32..39" */
static void put_ranges(struct out *out, const char *what, uint64_t mask)
{
	const char *before = what;

	for (unsigned int from = 0, to; from < BYTES; from = to + 1) {
		for (to = from; to < BYTES && mask >> to & 1;)
			to++;
		if (to > from) {
			out_printf(out, "%s %u..%u", before, from, to - 1);
			before = ",";
		}
	}
}

/* For those who hear it: the same in words. */
static void spoken(struct out *out, const struct line_accesses *a, size_t n)
{
	out_text(out, "aria-label=\"Bytes of the line:");
	for (size_t i = 0; i < n; i++) {
		const struct line_thread *t = &a->threads[i];

		out_printf(out, "%s ", i ? ";" : "");
		html_text(out, t->comm ? t->comm : "thread");
		out_printf(out, " %" PRIu32, t->tid);
		put_ranges(out, " reads", t->read_bytes);
		put_ranges(out, " writes", t->write_bytes);
	}
	out_text(out, "\"");
}

void html_line(struct out *out, const struct line_accesses *a)
{
	size_t n = a->nthreads < THREADS ? a->nthreads : THREADS;

	if (!n || out->len > HTML_BYTES)
		return;
	out_printf(out, "<figure class=line><svg viewBox=\"0 0 %u %zu\" role=img ",
		   LEFT + BYTES * BYTE + 12, TOP + n * STRIP + 6);
	spoken(out, a, n);
	out_text(out, "><g class=m>");
	ruler(out, n);
	for (size_t i = 0; i < n; i++) {
		const struct line_thread *t = &a->threads[i];
		size_t y = TOP + i * STRIP;

		out_printf(out, "<text x=%u y=%zu text-anchor=end>", LEFT - 8, y + 15);
		html_text(out, t->comm ? t->comm : "");
		out_printf(out, " %" PRIu32 "</text>", t->tid);
		bytes(out, "c4", t->read_bytes, y + 2);
		bytes(out, "c8", t->write_bytes, y + 2 + HALF);
	}
	out_text(out,
		 "</g></svg><figcaption>The 64 bytes of the line, a strip for each thread: above "
		 "what it read, below what it wrote");
	if (n < a->nthreads)
		out_printf(out, "; the busiest %zu of %zu", n, a->nthreads);
	out_text(out, ".</figcaption></figure>\n");
}
