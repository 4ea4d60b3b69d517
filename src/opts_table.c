// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that are no filter's and no single source's, once. An option is a line here and a
 * paragraph in the manual; a setter in opts_set.c where its type does not say enough. */
#include "listen.h"
#include "opts_table.h"

static const struct option_word by_words[] = {
	{"cpu", BY_CPU},
	{"pid", BY_PID},
	{"tid", BY_TID},
	{"comm", BY_COMM},
	{"cgroup", BY_CGROUP},
	{"unit", BY_UNIT},
	{"container", BY_CONTAINER},
	{"file", BY_FILE},
	{NULL, 0},
};

const struct option_word opts_sort_words[] = {
	{"p99", SORT_P99}, {"p50", SORT_P50},	{"max", SORT_MAX}, {"count", SORT_COUNT},
	{"sum", SORT_SUM}, {"name", SORT_NAME}, {NULL, 0},
};

const struct option_word opts_color_words[] = {
	{"auto", COLOR_AUTO},
	{"always", COLOR_ALWAYS},
	{"never", COLOR_NEVER},
	{NULL, 0},
};

#define TO(member) .at = offsetof(struct config, member)
#define FLAG(member) .type = OPTION_FLAG, TO(member), .value = true

/* clang-format off */
const struct option_row opts_source = {
	"source", 's', "LIST", "sources to run, with commas between them", .set = opts_set_source,
	.kind = OPTION_SOURCES, .repeat = true};

const struct option_row opts_table[] = {
	{"debuginfod", 0, NULL, "debug information may be fetched (DEBUGINFOD_URLS)", FLAG(debuginfod)},

	{"by", 'b', "KEY", "a row for each cpu, pid, tid, comm, cgroup, unit, container or file", OPTION_WORD, TO(by),
	 .words = by_words, .group = OPTION_ROWS},
	{"rows", 'n', "N", "at most N rows, 0 for all (default: all CPUs, 20 of others)", OPTION_U32, TO(rows),
	 .max = 1000000, .group = OPTION_ROWS},
	{"sort", 0, "KEY", "order of rows: p99, p50, max, count, sum or name (default: p99; of operations and addresses: sum)",
	 OPTION_WORD, TO(sort), .words = opts_sort_words, .group = OPTION_ROWS},
	{"percentiles", 'P', "LIST", "percentiles to show (default 50,90,99,99.9)", .set = opts_set_percentiles,
	 .group = OPTION_ROWS},
	{"msec", 'm', NULL, "times in milliseconds", .set = opts_set_unit, .group = OPTION_ROWS, .value = UNIT_MS},
	{"usec", 'u', NULL, "times in microseconds (default)", .set = opts_set_unit, .group = OPTION_ROWS,
	 .value = UNIT_US},
	{"nsec", 'N', NULL, "times in nanoseconds", .set = opts_set_unit, .group = OPTION_ROWS, .value = UNIT_NS},
	{"timestamps", 'T', NULL, "date and time on every report", FLAG(timestamps), .group = OPTION_ROWS},
	{"totals", 'z', NULL, "tables show the whole run so far, not the interval", FLAG(totals),
	 .group = OPTION_ROWS},
	{"precision", 0, "3..6", "histogram resolution: 2^N buckets an octave (default 5)", OPTION_U32, TO(precision),
	 .min = BUCKET_SCHEMA_MIN, .max = BUCKET_SCHEMA_MAX,
	 .value = BUCKET_SCHEMA_DEFAULT, .group = OPTION_ROWS},
	{"max-keys", 0, "N", "groups kept in the kernel with --by (default 10240)", OPTION_U32, TO(max_keys),
	 .min = 16, .max = 1048576, .value = 10240, .group = OPTION_ROWS},

	{"interval", 'i', "TIME", "time between reports, as INTERVAL (default 1s)", .set = opts_set_interval,
	 .group = OPTION_WHEN},
	{"duration", 'd', "TIME", "end after this time", OPTION_TIME, TO(duration_ns), .min = OPTS_TIME_MIN_NS,
	 .group = OPTION_WHEN},
	{"warm-up", 'w', "TIME", "time at the start that is not counted", OPTION_TIME, TO(warmup_ns),
	 .group = OPTION_WHEN},
	{"slower", 0, "TIME", "also print every single wait and operation of TIME or longer; give a unit: 500us, 10ms",
	 .set = opts_set_slower, .group = OPTION_WHEN},
	{"why", 0, NULL, "who had the CPU or held the lock that was waited for, and what that thread did", FLAG(why),
	 .group = OPTION_WHEN},

	{"output", 'o', "FORMAT[:FILE]", "format, and file if not stdout (default: table); may be repeated",
	 .set = opts_set_output, .group = OPTION_OUTPUT, .kind = OPTION_FORMATS, .repeat = true},
	{"listen", 0, "ADDR:PORT", "serve /metrics to Prometheus there (port 9768 if none is named); no table then, without -o",
	 OPTION_TEXT, TO(listen), .check = listen_check, .group = OPTION_OUTPUT},
	{"export-precision", 0, "3..6", "the same of prom and otlp, at most --precision (default 3)", OPTION_U32, TO(export_schema),
	 .min = BUCKET_SCHEMA_MIN, .max = BUCKET_SCHEMA_MAX,
	 .value = BUCKET_SCHEMA_MIN, .group = OPTION_OUTPUT},
	{"color", 0, "WHEN", "auto (default), always or never", OPTION_WORD, TO(color), .words = opts_color_words,
	 .group = OPTION_OUTPUT},
	{"no-clear", 0, NULL, "do not redraw in place on a terminal", FLAG(no_clear), .group = OPTION_OUTPUT},
	{"btf", 0, "FILE", "the kernel's types from FILE (BTF), not from /sys", OPTION_TEXT, TO(btf),
	 .group = OPTION_OUTPUT},
	{"verbose", 'v', NULL, "also what libbpf says, on stderr", FLAG(verbose), .group = OPTION_OUTPUT},
	{"quiet", 'q', NULL, "no progress and no notices on stderr", FLAG(quiet), .group = OPTION_OUTPUT},

	{"fail-if", 0, "LIMIT", "exit 4 if the whole run exceeds it: 'sched_wakeup_latency p99 > 500us'; may be repeated",
	 .set = opts_set_limit, .group = OPTION_LIMITS, .repeat = true},
	{"bisect", 0, NULL, "exit as git bisect run wants it: 0 good, 1 bad, 125 not measured", FLAG(bisect),
	 .group = OPTION_LIMITS},

	{"check", 0, NULL, "what this machine can and cannot do, and why; then end", FLAG(check),
	 .group = OPTION_HELP},
	{"help", 'h', NULL, "this list", .set = opts_print_help, .group = OPTION_HELP},
	{"usage", 0, NULL, "a short usage message", .set = opts_print_usage, .group = OPTION_HELP},
	{"version", 'V', NULL, "the version", .set = opts_print_version, .group = OPTION_HELP},
	{"dump-options", 0, NULL, "this table, for the completions and the tests", .set = opts_print_table,
	 .group = OPTION_HELP, .hidden = true},
	{0},
};
/* clang-format on */
