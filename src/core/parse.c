/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict parsers: all of the text or an error that quotes it. No float: 0.1 must be exact. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/text.h"

#define QUOTED_BYTES 100  /* of the user's text in an error */
#define DECIMAL_DIGITS 24 /* so that times the largest unit they fit 128 bits */
#define PERCENT_DECIMALS 7
#define PPB_PER_PERCENT 10000000U

/* Words of a failed parse: WHAT 'TEXT': WHY; the text made safe for a terminal and cut if long. */
static int refuse(struct err *e, int code, const char *what, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

static int refuse(struct err *e, int code, const char *what, const char *text, const char *fmt, ...)
{
	char quoted[4 * QUOTED_BYTES + 1], why[200];
	size_t len = strnlen(text, QUOTED_BYTES + 1);
	const char *more = len > QUOTED_BYTES ? "..." : "";
	va_list ap;

	if (len > QUOTED_BYTES)
		for (len = QUOTED_BYTES; len && ((unsigned char)text[len] & 0xc0) == 0x80;)
			len--; /* not within a character */
	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap); /* our own words: they fit */
	va_end(ap);
	return err_set(e, EXIT_USAGE, code, "%s '%s%s': %s", what,
		       text_clean(quoted, sizeof(quoted), text, len), more, why);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *p, which moves past them: 0, -EINVAL (none) or -ERANGE. */
static int scan_u64(const char **p, uint64_t *out)
{
	uint64_t v = 0;
	int ret = 0;

	if (!is_digit(**p))
		return -EINVAL;
	for (; is_digit(**p); (*p)++)
		if (__builtin_mul_overflow(v, 10U, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(**p - '0'), &v))
			ret = -ERANGE;
	*out = v;
	return ret;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	      struct err *e)
{
	const char *p = text;
	uint64_t v = 0;
	int ret = scan_u64(&p, &v);

	if (*p)
		ret = -EINVAL;
	else if (!ret && (v < min || v > max))
		ret = -ERANGE;
	if (ret && max == UINT64_MAX)
		return refuse(e, ret, what, text, "expected a whole number from %" PRIu64, min);
	if (ret)
		return refuse(e, ret, what, text,
			      "expected a whole number from %" PRIu64 " to %" PRIu64, min, max);
	*out = v;
	return 0;
}

int parse_u32(const char *text, uint32_t min, uint32_t max, const char *what, uint32_t *out,
	      struct err *e)
{
	uint64_t v = 0;
	int ret = parse_u64(text, min, max, what, &v, e);

	if (!ret)
		*out = (uint32_t)v;
	return ret;
}

/* digits / 10^decimals */
struct decimal {
	unsigned __int128 digits;
	uint32_t decimals;
};

/* "12" or "12.5" at *p, which moves past it: 0, -EINVAL or -ERANGE. */
static int scan_decimal(const char **p, struct decimal *out)
{
	uint32_t digits = 0;
	bool fraction = false;

	*out = (struct decimal){0};
	if (!is_digit(**p))
		return -EINVAL;
	for (;; (*p)++) {
		if (**p == '.' && !fraction && is_digit((*p)[1])) {
			fraction = true;
			continue;
		}
		if (!is_digit(**p))
			return 0;
		if (++digits > DECIMAL_DIGITS)
			return -ERANGE;
		out->digits = out->digits * 10 + (uint32_t)(**p - '0');
		out->decimals += fraction;
	}
}

/* d * unit: 0, -EINVAL if not an integer, -ERANGE above INT64_MAX (kernel times are signed) */
static int scale_decimal(const struct decimal *d, uint64_t unit, uint64_t *out)
{
	unsigned __int128 v = d->digits * unit;

	for (uint32_t i = 0; i < d->decimals; i++) {
		if (v % 10)
			return -EINVAL;
		v /= 10;
	}
	if (v > INT64_MAX)
		return -ERANGE;
	*out = (uint64_t)v;
	return 0;
}

/* The third is micro sign and s. */
static const struct {
	const char *suffix;
	uint64_t ns;
} time_units[] = {
	{"ns", 1},	   {"us", 1000},       {"\xc2\xb5s", 1000},  {"ms", 1000000},
	{"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
};

/* ns of the unit named; 0 if there is none of that name */
static uint64_t unit_ns(const char *suffix, uint64_t bare_ns)
{
	if (!*suffix)
		return bare_ns;
	for (size_t i = 0; i < sizeof(time_units) / sizeof(time_units[0]); i++)
		if (!strcmp(suffix, time_units[i].suffix))
			return time_units[i].ns;
	return 0;
}

int parse_time_ns(const char *text, uint64_t bare_ns, const char *what, uint64_t *out,
		  struct err *e)
{
	const char *p = text;
	struct decimal d;
	uint64_t unit, v;
	int ret = scan_decimal(&p, &d);

	if (ret == -ERANGE)
		return refuse(e, ret, what, text, "expected a time of at most %u digits",
			      DECIMAL_DIGITS);
	unit = unit_ns(p, bare_ns);
	if (ret || !unit)
		return refuse(e, -EINVAL, what, text, "expected a time such as 1, 500ms or 2m");
	ret = scale_decimal(&d, unit, &v);
	if (ret == -EINVAL)
		return refuse(e, ret, what, text, "expected whole nanoseconds");
	if (ret)
		return refuse(e, ret, what, text, "expected a time below 292 years");
	*out = v;
	return 0;
}

/* One or more "N," then "N" and the end; appends them. */
static int scan_u32_list(const char *p, struct u32_list *out)
{
	uint64_t v;
	int ret;

	for (;; p++) {
		ret = scan_u64(&p, &v);
		if (!ret && (!v || v > UINT32_MAX))
			ret = -ERANGE;
		if (!ret && *p && *p != ',')
			ret = -EINVAL;
		if (!ret)
			ret = u32_list_push(out, (uint32_t)v);
		if (ret || !*p)
			return ret;
	}
}

int parse_u32_list(const char *text, const char *what, struct u32_list *out, struct err *e)
{
	size_t before = out->n;
	int ret = scan_u32_list(text, out);

	if (!ret)
		return 0;
	out->n = before;
	if (ret == -ENOMEM)
		return err_sys(e, ret, "%s", what);
	return refuse(e, ret, what, text, "expected numbers above 0 such as 42 or 42,43");
}

/* "0-3" or "7" at *p, which moves past it */
static int scan_cpu_range(const char **p, uint64_t *from, uint64_t *to)
{
	int ret = scan_u64(p, from);

	*to = *from;
	if (!ret && **p == '-') {
		(*p)++;
		ret = scan_u64(p, to);
	}
	if (!ret && *from > *to)
		ret = -EINVAL;
	if (!ret && *to >= CPUS_MAX)
		ret = -ERANGE;
	return ret;
}

static int scan_cpu_list(const char *p, struct cpu_set *out)
{
	uint64_t from = 0, to;
	int ret;

	for (;; p++) {
		ret = scan_cpu_range(&p, &from, &to);
		if (!ret && *p && *p != ',')
			ret = -EINVAL;
		if (ret)
			return ret;
		for (uint64_t cpu = from; cpu <= to; cpu++)
			out->bits[cpu / 64] |= 1ULL << (cpu % 64);
		if (to >= out->nbits)
			out->nbits = (uint32_t)to + 1;
		if (!*p)
			return 0;
	}
}

int parse_cpu_list(const char *text, const char *what, struct cpu_set *out, struct err *e)
{
	struct cpu_set joined = *out;
	int ret = scan_cpu_list(text, &joined);

	if (ret)
		return refuse(e, ret, what, text,
			      "expected CPU numbers below %u such as 3 or 0-3,7", CPUS_MAX);
	*out = joined;
	return 0;
}

bool cpu_set_has(const struct cpu_set *s, uint32_t cpu)
{
	if (!s->nbits)
		return true;
	return cpu < s->nbits && s->bits[cpu / 64] >> (cpu % 64) & 1;
}

/* "99.9" at *p, which moves past it */
static int scan_quantile(const char **p, struct quantile *q)
{
	const char *start = *p;
	struct decimal d;
	int ret = scan_decimal(p, &d);
	size_t len = (size_t)(*p - start);

	if (!ret)
		ret = scale_decimal(&d, PPB_PER_PERCENT, &q->ppb);
	if (ret)
		return ret;
	if (d.decimals > PERCENT_DECIMALS || len >= sizeof(q->text))
		return -EINVAL;
	if (!q->ppb || q->ppb >= 100ULL * PPB_PER_PERCENT)
		return -ERANGE;
	memcpy(q->text, start, len);
	q->text[len] = '\0';
	return 0;
}

bool parse_quantile(const char *text, struct quantile *out)
{
	return !scan_quantile(&text, out) && !*text;
}

/* Keeps the list ascending; one that is there already stays as it was written first. */
static size_t insert_quantile(struct quantile *list, size_t n, const struct quantile *q)
{
	size_t at = n;

	while (at && list[at - 1].ppb > q->ppb)
		at--;
	if (at && list[at - 1].ppb == q->ppb)
		return n;
	memmove(list + at + 1, list + at, (n - at) * sizeof(*list));
	list[at] = *q;
	return n + 1;
}

static int scan_quantiles(const char *p, struct quantile *list, size_t *n)
{
	struct quantile q;
	int ret;

	for (*n = 0;; p++) {
		ret = scan_quantile(&p, &q);
		if (!ret && *p && *p != ',')
			ret = -EINVAL;
		if (ret)
			return ret;
		*n = insert_quantile(list, *n, &q);
		if (!*p)
			return 0;
	}
}

int parse_quantiles(const char *text, const char *what, struct quantile **out, size_t *n,
		    struct err *e)
{
	size_t room = 1;
	struct quantile *list;
	int ret;

	for (const char *p = text; *p; p++)
		room += *p == ',';
	list = calloc(room, sizeof(*list));
	if (!list)
		return err_sys(e, -ENOMEM, "%s", what);
	ret = scan_quantiles(text, list, &room);
	if (ret) {
		free(list);
		return refuse(e, ret, what, text,
			      "expected percentiles above 0 and below 100, of at most %u decimals, "
			      "such as 50,99.9",
			      PERCENT_DECIMALS);
	}
	free(*out);
	*out = list;
	*n = room;
	return 0;
}
