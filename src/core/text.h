/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict parsing and safe printing. Pure. */
#ifndef WS_TEXT_H
#define WS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/config.h"
#include "core/err.h"

/*
 * Parsers take all of the text or fail with exit 2 and words that quote it and say what was
 * expected; `what` names the option ("--interval"). 0 or -EINVAL / -ERANGE / -ENOMEM.
 */
int parse_u32(const char *text, uint32_t min, uint32_t max, const char *what, uint32_t *out,
	      struct err *e);
int parse_u64(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *out,
	      struct err *e);
/* "250us" "10ms" "1.5s" "2m" "1h" "500ns", 0 too; a bare number is in `bare_ns` units (1e9:
 * seconds) */
int parse_time_ns(const char *text, uint64_t bare_ns, const char *what, uint64_t *out,
		  struct err *e);
/* "1,2,3", each above 0; appends */
int parse_u32_list(const char *text, const char *what, struct u32_list *out, struct err *e);
#define CPUS_MAX 8192 /* the most a kernel can be built for */

/* bit per CPU; zeroed it is empty */
struct cpu_set {
	uint64_t bits[CPUS_MAX / 64];
	uint32_t nbits; /* one past the highest */
};

/* "0-3,7" as the kernel prints it; joins what is in the set already */
int parse_cpu_list(const char *text, const char *what, struct cpu_set *out, struct err *e);
/*
 * "50,90,99,99.9": each > 0 and < 100 (100 is max: not a quantile), ascending order is made. *out
 * is NULL or from malloc, and replaced.
 */
int parse_quantiles(const char *text, const char *what, struct quantile **out, size_t *n,
		    struct err *e);
/* One of them, such as "99.9"; false: no percentile. */
bool parse_quantile(const char *text, struct quantile *out);
bool cpu_set_has(const struct cpu_set *s, uint32_t cpu); /* an empty set has all */

/*
 * Printable copy of foreign bytes for a terminal: control bytes and DEL become \xNN, invalid UTF-8
 * becomes U+FFFD, and so does what text_unseen knows. `len` bytes of in or up to its NUL
 * (SIZE_MAX). Returns out. Never splits a character.
 */
char *text_clean(char *out, size_t outlen, const char *in, size_t len);
/* Valid UTF-8 copy (U+FFFD for bad bytes); what text_unseen knows stays: JSON and CSV escape that.
 */
char *text_utf8(char *out, size_t outlen, const char *in, size_t len);
/* The bytes of the UTF-8 character that n bytes begin with; 0: they begin with none. */
size_t text_char(const char *s, size_t n);
/*
 * Does the text begin with a character that a terminal obeys or a reader does not see: a control
 * character (C0, DEL, C1), a format character such as a bidi override, a line separator? Its length
 * in bytes and its code point, or 0. One table for all formats: text_clean has the same.
 */
size_t text_unseen(const char *s, uint32_t *c);
/* Columns a clean UTF-8 text takes. */
size_t text_width(const char *s);
bool text_is_number(const char *s); /* digits alone, at least one */
uint64_t text_hash(const char *bytes, size_t len);

/* "12,904" */
char *format_count(char *out, size_t len, uint64_t v);
/*
 * `part` of `all` in percent, one decimal, or up to `most` where it takes more to tell it from 0
 * and 100: "57.2" "99.9992"; only these are "0" and "100"; "-" of nothing. most = 0: no decimals.
 */
#define SHARE_EXACT 9
char *format_share(char *out, size_t len, uint64_t part, uint64_t all, int most);
/*
 * What was waited as a share of the time, in percent: "67.4", "0.01" at least, "0" of nothing.
 * Several tasks can wait for longer than the time: past 100 it is a multiple of the time, "3.7x".
 * "-": no time.
 */
char *format_time_share(char *out, size_t len, uint64_t ns, uint64_t dur_ns);
/* n a second: "1,234" "3.4" "0.02"; "-" in no time */
char *format_rate(char *out, size_t len, uint64_t n, uint64_t dur_ns);
/*
 * ns in the unit: one decimal below 100, none from there on, thousands with commas: "0.9" "5.1"
 * "125" "1,708"; two significant digits below 0.1: "0.05".
 */
char *format_time(char *out, size_t len, uint64_t ns, enum unit unit);
const char *unit_name(enum unit unit); /* "usec" "msec" "nsec" */
/* "1.5 s", "12.3 ms": for sentences */
char *format_duration(char *out, size_t len, uint64_t ns);
/* RFC 3339 in UTC with ns: "2026-11-21T03:29:20.123456789Z" */
char *format_rfc3339(char *out, size_t len, int64_t sec, uint32_t nsec);
/* The same form read back, and no other; false: it is not. */
bool parse_rfc3339(const char *text, struct timespec *out);

#endif
