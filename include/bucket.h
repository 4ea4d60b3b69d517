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
 *	m = v << (63 - e)		   mantissa, top bit set
 *	t = next s+1 bits of m		   picks a table slot with at most one threshold in it
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

/* Thresholds and look-up table of one schema; a slot past the last threshold never compares true.
 */
struct bucket_table {
	__u64 th[2 << BUCKET_SCHEMA_MAX]; /* 2^s of them, then ~0: as long as lut's values can reach
					   */
	__u32 schema;
	__s32 base; /* slot 0 is schema bucket `base`: slot k is bucket base + k */
	__u8 lut[2 << BUCKET_SCHEMA_MAX];
};

_Static_assert(sizeof(struct bucket_table) == 128 * 8 + 8 + 128, "bucket_table size");

/*
 * 1 if x is not 0, for x below 2^63. A compiler that knows what is meant makes a branch of it, which
 * bucket_ilog2 is there to avoid.
 */
static inline __u64 bucket_nonzero(__u64 x)
{
	x = 0 - x;
	__asm__("" : "+r"(x));
	return x >> 63;
}

/*
 * floor(log2(v)), v > 0. BPF has no instruction for it, and branches would make the verifier walk
 * every combination of them at every use: so by arithmetic.
 */
static inline __u32 bucket_ilog2(__u64 v)
{
	__u64 e, step;

	e = bucket_nonzero(v >> 32) << 5;
	v >>= e;
	step = bucket_nonzero(v >> 16) << 4;
	v >>= step;
	e += step;
	step = bucket_nonzero(v >> 8) << 3;
	v >>= step;
	e += step;
	step = bucket_nonzero(v >> 4) << 2;
	v >>= step;
	e += step;
	step = bucket_nonzero(v >> 2) << 1;
	v >>= step;
	return (__u32)(e + step + (v >> 1));
}

/* 1 if a > b, else 0: the borrow of b - a. */
static inline __u64 bucket_above(__u64 a, __u64 b)
{
	return ((~b & a) | ((~b | a) & (b - a))) >> 63;
}

/*
 * Slot of v ns: 0 .. BUCKET_SLOTS(s) - 1. v = 0 has no slot (it is counted apart): callers test
 * first. v >= BUCKET_VALUE_END lands in the last slot; callers count that.
 */
static inline __u32 bucket_slot(const volatile struct bucket_table *t, __u32 s, __u64 v)
{
	__u32 e, i;
	__u64 m;

	if (v >= BUCKET_VALUE_END)
		return BUCKET_SLOTS(s) - 1;
	e = bucket_ilog2(v);
	m = v << (63 - e);
	i = t->lut[(m >> (62 - s)) & ((2U << s) - 1)] & ((2U << BUCKET_SCHEMA_MAX) - 1);
	return (e << s) + i + (__u32)bucket_above(m, t->th[i]);
}

#endif
