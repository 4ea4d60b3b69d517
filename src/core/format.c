/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for people. Integers to the end: what is printed is rounded once, half up. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/text.h"

#define COUNT_CHARS 27 /* 18,446,744,073,709,551,615 and its NUL */

/* All formatters cut at `len`: what is too narrow for a number is the caller's layout, no error. */
static char *put(char *out, size_t len, const char *text)
{
	(void)snprintf(out, len, "%s", text);
	return out;
}

char *format_count(char *out, size_t len, uint64_t v)
{
	char text[COUNT_CHARS];
	char *p = text + sizeof(text);
	int digits = 0;

	*--p = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + v % 10);
		v /= 10;
		digits++;
	} while (v);
	return put(out, len, p);
}

/* v / unit, rounded; no overflow */
static uint64_t divide(uint64_t v, uint64_t unit)
{
	return v / unit + (v % unit >= unit - unit / 2);
}

/* Below a tenth of the unit: two significant digits, so that 50 ns are 0.05 usec and not 0.1. */
static char *format_small(char *out, size_t len, uint64_t ns, uint64_t unit)
{
	uint64_t step = unit / 100; /* ns in the last decimal shown */
	int decimals = 2;
	uint64_t v;

	while (step > 1 && ns < 10 * step) {
		step /= 10;
		decimals++;
	}
	v = divide(ns, step);
	while (v && v % 10 == 0) {
		v /= 10;
		decimals--;
	}
	/* cut like put */
	(void)snprintf(out, len, "0.%0*" PRIu64, decimals, v);
	return out;
}

/* One decimal below 100, none from there on; `unit` is 1 or a power of 1000 ns. */
static char *format_in(char *out, size_t len, uint64_t ns, uint64_t unit)
{
	uint64_t tenths;

	if (unit == 1 || !ns)
		return format_count(out, len, ns);
	if (ns < unit / 10)
		return format_small(out, len, ns, unit);
	tenths = divide(ns, unit / 10);
	if (tenths >= 1000)
		return format_count(out, len, divide(ns, unit));
	/* cut like put */
	(void)snprintf(out, len, "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
	return out;
}

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	[UNIT_AUTO] = {"usec", 1000},
	[UNIT_NS] = {"nsec", 1},
	[UNIT_US] = {"usec", 1000},
	[UNIT_MS] = {"msec", 1000000},
};

char *format_time(char *out, size_t len, uint64_t ns, enum unit unit)
{
	return format_in(out, len, ns, units[unit].ns);
}

const char *unit_name(enum unit unit)
{
	return units[unit].name;
}

char *format_duration(char *out, size_t len, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} scale[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	char text[COUNT_CHARS];
	size_t i = 0;

	/* What would round to 1,000 of a unit is 1.0 of the next. */
	while (scale[i].ns > 1 && ns < scale[i].ns && divide(ns, scale[i + 1].ns) < 1000)
		i++;
	/* cut like put */
	(void)snprintf(out, len, "%s %s", format_in(text, sizeof(text), ns, scale[i].ns),
		       scale[i].name);
	return out;
}

char *format_share(char *out, size_t len, uint64_t part, uint64_t all, int most)
{
	uint64_t rest = part < all ? all - part : 0;
	uint64_t less = part < rest ? part : rest, v, unit;
	int decimals = most > 0, last = most < SHARE_EXACT ? most : SHARE_EXACT;
	double scale = decimals ? 1000 : 100; /* of one, for percent */

	if (!all || !part || !rest)
		return put(out, len, !all ? "-" : !part ? "0" : "100");
	for (; (double)less * scale < (double)all && decimals < last; decimals++)
		scale *= 10;
	v = (uint64_t)((double)less * scale / (double)all + 0.5);
	v = v ? v : 1;
	if (less == rest)
		v = (uint64_t)scale - v;
	for (; decimals > 1 && v % 10 == 0; decimals--) { /* 9.99 of a last place rounded up */
		v /= 10;
		scale /= 10;
	}
	unit = (uint64_t)scale / 100;
	if (!decimals)
		return format_count(out, len, v);
	/* cut like put */
	(void)snprintf(out, len, "%" PRIu64 ".%0*" PRIu64, v / unit, decimals, v % unit);
	return out;
}

char *format_time_share(char *out, size_t len, uint64_t ns, uint64_t dur_ns)
{
	double times = dur_ns ? (double)ns / (double)dur_ns : 0;
	char count[COUNT_CHARS];

	if (!dur_ns || !ns)
		return put(out, len, dur_ns ? "0" : "-");
	if (times >= 9.95) /* all are cut like put */
		(void)snprintf(out, len, "%sx",
			       format_count(count, sizeof(count), (uint64_t)(times + 0.5)));
	else if (times >= 1.0005)
		(void)snprintf(out, len, "%.1fx", times);
	else if (times >= 0.9995)
		(void)snprintf(out, len, "100");
	else if (times >= 0.00095)
		(void)snprintf(out, len, "%.1f", 100 * times);
	else
		(void)snprintf(out, len, "%.2f", times > 0.0001 ? 100 * times : 0.01);
	return out;
}

char *format_rate(char *out, size_t len, uint64_t n, uint64_t dur_ns)
{
	double rate = dur_ns ? (double)n * 1e9 / (double)dur_ns : 0, least = 0.1;
	int decimals = 1;

	if (!dur_ns)
		return put(out, len, "-");
	if (rate >= 10)
		return format_count(out, len, rate < 0x1p64 ? (uint64_t)(rate + 0.5) : UINT64_MAX);
	for (; n && rate < least && decimals < SHARE_EXACT; decimals++)
		least /= 10;
	/* cut like put */
	(void)snprintf(out, len, "%.*f", n ? decimals : 0, rate);
	return out;
}

/* Years 0 to 9999: what RFC 3339 can say. */
#define SEC_MIN (-62167219200)
#define SEC_MAX 253402300799

char *format_rfc3339(char *out, size_t len, int64_t sec, uint32_t nsec)
{
	time_t t = sec < SEC_MIN ? SEC_MIN : sec > SEC_MAX ? SEC_MAX : sec;
	struct tm tm = {0};

	(void)gmtime_r(&t, &tm); /* cannot fail within these years */
	(void)snprintf(out, len, "%04d-%02d-%02dT%02d:%02d:%02d.%09" PRIu32 "Z", tm.tm_year + 1900,
		       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		       nsec % 1000000000);
	return out;
}

bool parse_rfc3339(const char *text, struct timespec *out)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
	char again[sizeof(form)];
	struct tm tm = {0};
	size_t i;

	for (i = 0; form[i]; i++)
		if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	if (text[i] || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
		return false;
	out->tv_sec = timegm(&tm);
	out->tv_nsec = strtol(text + 20, NULL, 10);
	/* The 31st of February is a form, but no time. */
	return !strcmp(format_rfc3339(again, sizeof(again), out->tv_sec, (uint32_t)out->tv_nsec),
		       text);
}
