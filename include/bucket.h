/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Base-2 exponential buckets, anchored at one second: the same code for BPF and for the host.
 *
 * Bucket j of schema s covers (2^((j-1)/2^s), 2^(j/2^s)] seconds, as Prometheus native histograms
 * (schema s) and OpenTelemetry exponential histograms (scale s, index j-1) do. Values are whole
 * nanoseconds, so the 1e9 of ns -> s sits in the thresholds: within every octave [2^e, 2^(e+1)) ns
 * the 2^s boundaries have the same mantissas, and one table of them serves all octaves.
 *
 *	e = ilog2(v)			   octave
 *	m = v << (62 - e)		   mantissa, its top bit is bit 62: a difference of two has a sign
 *	t = top s+2 bits of m		   picks a table slot with at most one threshold in it
 *	i = lut[t]; i += m > th[i]	   thresholds below m, 0..2^s
 *	slot = (e << s) + i
 *
 * "m > th" puts a value on a boundary into the lower bucket (upper edge inclusive). Boundaries are
 * irrational but for 2^n * 1e9, which is an exact integer, so the comparison is never in doubt.
 */
#ifndef WS_BUCKET_H
#define WS_BUCKET_H

#define BUCKET_SCHEMA_MIN 3
#define BUCKET_SCHEMA_MAX 6
#define BUCKET_SCHEMA_DEFAULT 5
#define BUCKET_OCTAVES 38 /* room for 1 ns up to 2^38 ns = 274 s */
#define BUCKET_SLOTS(s) (BUCKET_OCTAVES << (s))
/* First value out of range: past 256 s, the last boundary below 2^38 ns that every schema has. */
#define BUCKET_VALUE_END 256000000001ULL

#define BUCKET_LOW_BITS 10

/* Whatever a compiler would choose: a call for each sample is dear where returns are made safe
 * (AMD). */
#define BUCKET_FN static inline __attribute__((always_inline))

/*
 * Thresholds and look-up tables of one schema; a slot past the last threshold never compares true.
 */
struct bucket_table {
	__u64 th[2 << BUCKET_SCHEMA_MAX]; /* 2^s of them, then ~0 >> 1: as long as lut's values can
					     reach */
	__u32 schema;
	__s32 base; /* slot 0 is schema bucket `base`: slot k is bucket base + k */
	__u8 lut[4 << BUCKET_SCHEMA_MAX]; /* of them the upper half of the first 4 << s */
	__u8 ilog2[1 << BUCKET_LOW_BITS]; /* of what has so few bits; [0] is 0 */
};

_Static_assert(sizeof(struct bucket_table) == 128 * 8 + 8 + 256 + 1024, "bucket_table size");

/*
 * 1 if x is not 0, for x below 2^63. A compiler that knows what is meant makes a branch of it,
 * which bucket_slot is there to avoid.
 */
BUCKET_FN __u64 bucket_nonzero(__u64 x)
{
	x = 0 - x;
	__asm__("" : "+r"(x));
	return x >> 63;
}

/* `step` (below 32) if v has more than `bits` bits, else 0; v below 2^59. */
BUCKET_FN __u64 bucket_step(__u64 v, __u32 bits, __u64 step)
{
	v = 0 - (v >> bits);
	__asm__("" : "+r"(v));
	return v >> 59 & step;
}

/*
 * floor(log2(v)), 0 < v < 2^BUCKET_OCTAVES. BPF has no instruction for it, and branches would make
 * the verifier walk every combination of them at every use: so by arithmetic down to the bits that
 * the table knows.
 */
BUCKET_FN __u32 bucket_ilog2(const volatile struct bucket_table *t, __u64 v)
{
	__u64 e, step;

	e = bucket_step(v, 19, 19);
	v >>= e;
	step = bucket_step(v, BUCKET_LOW_BITS, BUCKET_LOW_BITS);
	v >>= step;
	return (__u32)(e + step) + t->ilog2[v & ((1U << BUCKET_LOW_BITS) - 1)];
}

_Static_assert(BUCKET_OCTAVES <= 19 + 19 && 19 <= 2 * BUCKET_LOW_BITS, "bucket_ilog2's steps");

/* 1 if a > b, else 0: the borrow of b - a. */
BUCKET_FN __u64 bucket_above(__u64 a, __u64 b)
{
	return ((~b & a) | ((~b | a) & (b - a))) >> 63;
}

/* 1 if b < a, else 0, of two below 2^63; nor may this become a branch. */
BUCKET_FN __u64 bucket_below(__u64 b, __u64 a)
{
	b -= a;
	__asm__("" : "+r"(b));
	return b >> 63;
}

/*
 * Slot of v ns: 0 .. BUCKET_SLOTS(s) - 1. v = 0 has no slot (it is counted apart): callers test
 * first. v >= BUCKET_VALUE_END lands in the last slot; callers count that.
 */
BUCKET_FN __u32 bucket_slot(const volatile struct bucket_table *t, __u32 s, __u64 v)
{
	__u32 e, i;
	__u64 m;

	if (v >= BUCKET_VALUE_END)
		return BUCKET_SLOTS(s) - 1;
	e = bucket_ilog2(t, v);
	m = v << (62 - e);
	i = t->lut[(m >> (61 - s)) & ((4U << BUCKET_SCHEMA_MAX) - 1)] &
	    ((2U << BUCKET_SCHEMA_MAX) - 1);
	return (e << s) + i + (__u32)bucket_below(t->th[i], m);
}

#endif
