/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Buckets as a stream of bytes: for each that holds something, in order, how far its slot lies from
 * the previous one's and how many samples it has; numbers of seven bits a byte (LEB128). A bucket
 * with one sample, as most are in a histogram of few, is one number, which is odd:
 *
 *	slot 40: 1 sample, slot 43: 5 samples	->	2 * 40 + 1, 2 * 3, 5
 */
#ifndef WS_PACKED_H
#define WS_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#define PACKED_U64_BYTES 10 /* the longest number */
#define PACKED_U32_BYTES 5
#define PACKED_SLOT_BYTES 2 /* any distance between slots */

static inline uint8_t *packed_put_number(uint8_t *to, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

static inline const uint8_t *packed_get_number(const uint8_t *from, uint64_t *v)
{
	uint64_t out = *from & 0x7f;
	int shift = 7;

	for (; *from++ & 0x80; shift += 7)
		out |= (uint64_t)(*from & 0x7f) << shift;
	*v = out;
	return from;
}

/* A bucket behind one at slot `previous`, which is not above its own; 0 at first. n is not 0. */
static inline uint8_t *packed_put(uint8_t *to, uint32_t previous, uint32_t slot, uint64_t n)
{
	to = packed_put_number(to, (uint64_t)(slot - previous) << 1 | (n == 1));
	return n == 1 ? to : packed_put_number(to, n);
}

/* `slot` is the previous one before, 0 at first. */
static inline const uint8_t *packed_get(const uint8_t *from, uint32_t *slot, uint64_t *n)
{
	uint64_t v;

	from = packed_get_number(from, &v);
	*slot += (uint32_t)(v >> 1);
	*n = 1;
	return v & 1 ? from : packed_get_number(from, n);
}

#endif
