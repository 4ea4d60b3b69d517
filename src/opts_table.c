// SPDX-License-Identifier: GPL-2.0-or-later
/* Every option there is, once. An option is a line here, a setter, and a paragraph in the manual.
 */
#include "opts_table.h"

#include <stddef.h>

static const struct opts_word by_words[] = {
	{"cpu", BY_CPU},       {"pid", BY_PID},	  {"tid", BY_TID}, {"comm", BY_COMM},
	{"cgroup", BY_CGROUP}, {"file", BY_FILE}, {NULL, 0},
};

static const struct opts_word sort_words[] = {
	{"p99", SORT_P99}, {"p50", SORT_P50},	{"max", SORT_MAX}, {"count", SORT_COUNT},
	{"sum", SORT_SUM}, {"name", SORT_NAME}, {NULL, 0},
};

static const struct opts_word color_words[] = {
	{"auto", COLOR_AUTO},
	{"always", COLOR_ALWAYS},
	{"never", COLOR_NEVER},
	{NULL, 0},
};

static const struct opts_word line_words[] = {
	{"auto", LINE_BY_AUTO},
	{"clock", LINE_BY_CLOCK},
	{"pmu", LINE_BY_PMU},
	{NULL, 0},
};

const char *const opts_group_titles[OPTS_GROUPS] = {
	[OPTS_WHAT] = "What is traced:",
	[OPTS_ROWS] = "What the tables show:",
	[OPTS_WHEN] = "How long, how often:",
	[OPTS_OUTPUT] = "Where it goes:",
	[OPTS_HELP] = "Help:",
};

const char *const opts_kind_names[OPTS_KINDS] = {
	[OPTS_TEXT] = "text",	    [OPTS_WORDS] = "words",	[OPTS_SOURCES] = "sources",
	[OPTS_FORMATS] = "formats", [OPTS_PIDS] = "pids",	[OPTS_TIDS] = "tids",
	[OPTS_COMMS] = "comms",	    [OPTS_CGROUPS] = "cgroups", [OPTS_CPUS] = "cpus",
	[OPTS_MOUNTS] = "mounts",
};

/* Keys of options that have no short form. */
enum {
	KEY_COMM = OPTS_LONG,
	KEY_CPU,
	KEY_DEV,
	KEY_FOLLOW,
	KEY_NO_FOLLOW,
	KEY_SORT,
	KEY_SLOWER,
	KEY_BTF,
	KEY_CHECK,
	KEY_COLOR,
	KEY_NO_CLEAR,
	KEY_PRECISION,
	KEY_MAX_KEYS,
	KEY_ES_TIME,
	KEY_DEBUGINFOD,
	KEY_STACK_EVERY,
	KEY_FREQ,
	KEY_LINE_SOURCE,
	KEY_WATCH,
	KEY_CONFIRM,
	KEY_USAGE,
	KEY_DUMP,
};

/* clang-format off */
const struct opts_entry opts_table[] = {
	{"source", 's', "LIST", "sources to run, with commas between them", opts_set_source,
	 .group = OPTS_WHAT, .kind = OPTS_SOURCES, .repeat = true},
	{"pid", 'p', "PID[,PID...]", "only these processes, all their threads", opts_set_ids,
	 .group = OPTS_WHAT, .kind = OPTS_PIDS, .repeat = true},
	{"tid", 't', "TID[,TID...]", "only these threads", opts_set_ids,
	 .group = OPTS_WHAT, .kind = OPTS_TIDS, .repeat = true},
	{"cgroup", 'c', "CGROUP", "only this cgroup (v2 path or id) and those below it", opts_set_cgroup,
	 .group = OPTS_WHAT, .kind = OPTS_CGROUPS, .repeat = true},
	{"comm", KEY_COMM, "GLOB", "only tasks whose command name matches", opts_set_comm,
	 .group = OPTS_WHAT, .kind = OPTS_COMMS},
	{"cpu", KEY_CPU, "LIST", "only waits that end on these CPUs: 0-3,7", opts_set_cpu,
	 .group = OPTS_WHAT, .kind = OPTS_CPUS},
	{"dev", KEY_DEV, "DEV|MOUNT", "only file systems on this device or mounted here", opts_set_dev,
	 .group = OPTS_WHAT, .kind = OPTS_MOUNTS, .repeat = true},
	{"follow", KEY_FOLLOW, NULL, "children of -p, -t or COMMAND join (default with COMMAND)",
	 opts_set_follow, .group = OPTS_WHAT, .value = true},
	{"no-follow", KEY_NO_FOLLOW, NULL, "children do not join (default with -p and -t)",
	 opts_set_follow, .group = OPTS_WHAT, .value = false},
	{"es-time", KEY_ES_TIME, NULL, "ext4: also how long extent status lookups take", opts_set_flag,
	 .group = OPTS_WHAT, .value = offsetof(struct config, es_time)},
	{"stack-every", KEY_STACK_EVERY, "N",
	 "a stack of one in N waits for a known lock (default 0: the first)", opts_set_stack_every,
	 .group = OPTS_WHAT},
	{"freq", KEY_FREQ, "N", "line: samples a second on each CPU (default 997)", opts_set_freq,
	 .group = OPTS_WHAT},
	{"line-source", KEY_LINE_SOURCE, "WHAT", "line: samples of the clock or of a pmu; auto: pmu if it can",
	 opts_set_line_source, line_words, .group = OPTS_WHAT, .kind = OPTS_WORDS},
	{"watch", KEY_WATCH, "ADDR|SYMBOL[:LEN]",
	 "every access to it, by hardware breakpoints (user addresses: with -p PID)", opts_set_watch,
	 .group = OPTS_WHAT, .repeat = true},
	{"confirm", KEY_CONFIRM, "N", "watch: stop after N accesses (default 10000); line: watch what it finds", opts_set_confirm,
	 .group = OPTS_WHAT},
	{"debuginfod", KEY_DEBUGINFOD, NULL, "debug information may be fetched (DEBUGINFOD_URLS)",
	 opts_set_flag, .group = OPTS_WHAT, .value = offsetof(struct config, debuginfod)},

	{"by", 'b', "KEY", "a row for each cpu, pid, tid, comm, cgroup or file", opts_set_by, by_words,
	 .group = OPTS_ROWS, .kind = OPTS_WORDS},
	{"rows", 'n', "N", "at most N rows, 0 for all (default: all CPUs, 20 of others)", opts_set_rows,
	 .group = OPTS_ROWS},
	{"sort", KEY_SORT, "KEY", "order of rows: p99, p50, max, count, sum or name (default: p99; of operations and addresses: sum)",
	 opts_set_sort, sort_words, .group = OPTS_ROWS, .kind = OPTS_WORDS},
	{"percentiles", 'P', "LIST", "percentiles to show (default 50,90,99,99.9)", opts_set_percentiles,
	 .group = OPTS_ROWS},
	{"msec", 'm', NULL, "times in milliseconds", opts_set_unit, .group = OPTS_ROWS, .value = UNIT_MS},
	{"usec", 'u', NULL, "times in microseconds (default)", opts_set_unit, .group = OPTS_ROWS,
	 .value = UNIT_US},
	{"nsec", 'N', NULL, "times in nanoseconds", opts_set_unit, .group = OPTS_ROWS, .value = UNIT_NS},
	{"timestamps", 'T', NULL, "date and time on every report", opts_set_flag, .group = OPTS_ROWS,
	 .value = offsetof(struct config, timestamps)},
	{"totals", 'z', NULL, "tables show the whole run so far, not the interval", opts_set_flag,
	 .group = OPTS_ROWS, .value = offsetof(struct config, totals)},
	{"precision", KEY_PRECISION, "3..6", "histogram resolution: 2^N buckets an octave (default 5)",
	 opts_set_precision, .group = OPTS_ROWS},
	{"max-keys", KEY_MAX_KEYS, "N", "groups kept in the kernel with --by (default 10240)",
	 opts_set_max_keys, .group = OPTS_ROWS},

	{"interval", 'i', "TIME", "time between reports, as INTERVAL (default 1s)", opts_set_interval,
	 .group = OPTS_WHEN},
	{"duration", 'd', "TIME", "end after this time", opts_set_duration, .group = OPTS_WHEN},
	{"warm-up", 'w', "TIME", "time at the start that is not counted", opts_set_warmup,
	 .group = OPTS_WHEN},
	{"slower", KEY_SLOWER, "TIME", "also print every single wait and operation of TIME or longer; give a unit: 500us, 10ms",
	 opts_set_slower, .group = OPTS_WHEN},

	{"output", 'o', "FORMAT[:FILE]", "format, and file if not stdout (default: table); may be repeated",
	 opts_set_output, .group = OPTS_OUTPUT, .kind = OPTS_FORMATS, .repeat = true},
	{"color", KEY_COLOR, "WHEN", "auto (default), always or never", opts_set_color, color_words,
	 .group = OPTS_OUTPUT, .kind = OPTS_WORDS},
	{"no-clear", KEY_NO_CLEAR, NULL, "do not redraw in place on a terminal", opts_set_flag,
	 .group = OPTS_OUTPUT, .value = offsetof(struct config, no_clear)},
	{"btf", KEY_BTF, "FILE", "the kernel's types from FILE (BTF), not from /sys", opts_set_btf,
	 .group = OPTS_OUTPUT},
	{"verbose", 'v', NULL, "also what libbpf says, on stderr", opts_set_flag, .group = OPTS_OUTPUT,
	 .value = offsetof(struct config, verbose)},
	{"quiet", 'q', NULL, "no progress and no notices on stderr", opts_set_flag, .group = OPTS_OUTPUT,
	 .value = offsetof(struct config, quiet)},

	{"check", KEY_CHECK, NULL, "what this machine can and cannot do, and why; then end", opts_set_flag,
	 .group = OPTS_HELP, .value = offsetof(struct config, check)},
	{"help", 'h', NULL, "this list", opts_print_help, .group = OPTS_HELP},
	{"usage", KEY_USAGE, NULL, "a short usage message", opts_print_usage, .group = OPTS_HELP},
	{"version", 'V', NULL, "the version", opts_print_version, .group = OPTS_HELP},
	{"dump-options", KEY_DUMP, NULL, "this table, for the completions and the tests", opts_print_table,
	 .group = OPTS_HELP, .hidden = true},
};
/* clang-format on */

const size_t opts_count = sizeof(opts_table) / sizeof(opts_table[0]);
