// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line: every option, every default, every contradiction, and the words for each
 * mistake. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opts_table.h"
#include "sink/sink.h"
#include "unit.h"

#define ARGS_MAX 16
#define SEC_NS 1000000000ULL

struct parsed {
	struct config cfg;
	struct err e;
	enum opts_action action;
	int ret;
	char *out; /* what was printed */
	char *words;
	char *argv[ARGS_MAX + 1];
};

/* Parses "waitscope LINE"; words of LINE are split at spaces, and '' is an empty one. */
static void parse(struct parsed *p, const char *line)
{
	FILE *out;
	char *word, *save = NULL;
	size_t len = 0;
	int argc = 0;

	memset(p, 0, sizeof(*p));
	p->words = strdup(line);
	assert_non_null(p->words);
	p->argv[argc++] = (char *)"waitscope";
	for (word = strtok_r(p->words, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(argc < ARGS_MAX);
		p->argv[argc++] = strcmp(word, "''") ? word : word + 2;
	}
	out = open_memstream(&p->out, &len);
	assert_non_null(out);
	p->ret = opts_parse(&p->cfg, out, argc, p->argv, &p->action, &p->e);
	assert_int_equal(fclose(out), 0);
}

static void parse_free(struct parsed *p)
{
	config_free(&p->cfg);
	free(p->out);
	free(p->words);
}

/* ... and must succeed. */
static void parse_good(struct parsed *p, const char *line)
{
	parse(p, line);
	if (p->ret)
		print_error("waitscope %s: %s\n", line, p->e.text);
	assert_int_equal(p->ret, 0);
	assert_int_equal(p->action, OPTS_RUN);
	assert_string_equal(p->e.text, "");
	assert_string_equal(p->out, "");
}

TEST(test_defaults)
{
	struct parsed p;

	parse_good(&p, "");
	assert_int_equal(p.cfg.sources.n, 0);
	assert_int_equal(p.cfg.filter.pids.n, 0);
	assert_int_equal(p.cfg.filter.tids.n, 0);
	assert_int_equal(p.cfg.filter.late[ABI_FILTER_CGROUP].n, 0);
	assert_int_equal(p.cfg.filter.late[ABI_FILTER_COMM].n, 0);
	assert_int_equal(p.cfg.filter.late[ABI_FILTER_CPU].n, 0);
	assert_false(p.cfg.filter.follow);
	assert_int_equal(p.cfg.by, BY_NONE);
	assert_int_equal(p.cfg.rows, 0);
	assert_int_equal(p.cfg.list_rows, 20);
	assert_int_equal(p.cfg.sort, SORT_DEFAULT);
	assert_int_equal(p.cfg.filter.devs.n, 0);
	assert_false(p.cfg.es_time || p.cfg.debuginfod);
	assert_int_equal(p.cfg.stack_every, 0);
	assert_int_equal(p.cfg.freq, 997);
	assert_int_equal(p.cfg.confirm, 10000);
	assert_int_equal(p.cfg.line_by, LINE_BY_AUTO);
	assert_int_equal(p.cfg.nquantiles, 4);
	assert_string_equal(p.cfg.quantiles[0].text, "50");
	assert_string_equal(p.cfg.quantiles[3].text, "99.9");
	assert_int_equal(p.cfg.unit, UNIT_AUTO);
	assert_false(p.cfg.timestamps || p.cfg.totals || p.cfg.slower || p.cfg.no_clear);
	assert_false(p.cfg.verbose || p.cfg.quiet);
	assert_int_equal(p.cfg.interval_ns, SEC_NS);
	assert_int_equal(p.cfg.count, 0);
	assert_int_equal(p.cfg.duration_ns, 0);
	assert_int_equal(p.cfg.warmup_ns, 0);
	assert_int_equal(p.cfg.noutputs, 1);
	assert_string_equal(p.cfg.outputs[0].format, "table");
	assert_null(p.cfg.outputs[0].path);
	assert_int_equal(p.cfg.color, COLOR_AUTO);
	assert_int_equal(p.cfg.precision, 5);
	assert_int_equal(p.cfg.max_keys, 10240);
	assert_null(p.cfg.command);
	parse_free(&p);
}

TEST(test_what)
{
	struct parsed p;

	parse_good(
		&p,
		"-s sched,synth --source sched -p 1,2 --pid=3 -c /a -c 42 --comm kw*r --cpu 0-1,65");
	assert_int_equal(p.cfg.sources.n, 2);
	assert_string_equal(p.cfg.sources.v[0], "sched");
	assert_string_equal(p.cfg.sources.v[1], "synth");
	assert_int_equal(p.cfg.filter.pids.n, 3);
	assert_int_equal(p.cfg.filter.pids.v[2], 3);
	assert_int_equal(p.cfg.filter.late[ABI_FILTER_CGROUP].n, 2);
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_CGROUP].v[0], "/a");
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_CGROUP].v[1], "42");
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_COMM].v[0], "kw*r");
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_CPU].v[0], "0-1,65");
	assert_false(p.cfg.filter.follow);
	parse_free(&p);

	parse_good(&p, "-s futex --function lock=my_lock --function work=pool_*");
	assert_int_equal(p.cfg.functions.n, 2);
	assert_string_equal(p.cfg.functions.v[0], "lock=my_lock");
	assert_string_equal(p.cfg.functions.v[1], "work=pool_*");
	parse_free(&p);

	parse_good(&p, "--dev /mnt/a --dev 8:1 --es-time --debuginfod --stack-every 1000");
	assert_int_equal(p.cfg.filter.devs.n, 2);
	assert_string_equal(p.cfg.filter.devs.v[0], "/mnt/a");
	assert_string_equal(p.cfg.filter.devs.v[1], "8:1");
	assert_true(p.cfg.es_time && p.cfg.debuginfod);
	assert_int_equal(p.cfg.stack_every, 1000);
	parse_free(&p);

	parse_good(&p, "-s sched --watch a:4 --watch 0x10 --confirm 7");
	assert_int_equal(p.cfg.watches.n, 2);
	assert_string_equal(p.cfg.watches.v[0], "a:4");
	assert_int_equal(p.cfg.confirm, 7);
	assert_int_equal(p.cfg.sources.n, 2); /* its source joins */
	assert_string_equal(p.cfg.sources.v[1], "watch");
	parse_free(&p);

	parse_good(&p, "-t 7 --tid 8 --cpu 3 --cpu 1 --comm a --comm b");
	assert_int_equal(p.cfg.filter.tids.n, 2);
	assert_int_equal(p.cfg.filter.tids.v[1], 8);
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_CPU].v[0], "1"); /* the last one counts */
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_COMM].v[0], "b");
	parse_free(&p);
}

TEST(test_follow)
{
	static const struct {
		const char *line;
		bool follow;
	} rows[] = {
		{"-p 1", false},
		{"-t 1", false},
		{"-p 1 --follow", true},
		{"-t 1 --follow", true},
		{"-p 1 --no-follow", false},
		{"-- true", true},
		{"--follow -- true", true},
		{"--no-follow -- true", false},
		{"--follow --no-follow -- true", false}, /* the last one counts */
		{"--no-follow --follow -- true", true},
	};
	struct parsed p;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_good(&p, rows[i].line);
		if (p.cfg.filter.follow != rows[i].follow)
			print_error("%s\n", rows[i].line);
		assert_int_equal(p.cfg.filter.follow, rows[i].follow);
		parse_free(&p);
	}
}

TEST(test_rows)
{
	static const struct {
		const char *line;
		enum by_key by;
		uint32_t rows, list_rows;
		enum sort_key sort;
	} rows[] = {
		{"--by cpu", BY_CPU, 0, 20, SORT_DEFAULT},
		{"-b pid", BY_PID, 20, 20, SORT_DEFAULT},
		{"-b tid", BY_TID, 20, 20, SORT_DEFAULT},
		{"-b file", BY_FILE, 20, 20, SORT_DEFAULT},
		{"-b comm -n 0", BY_COMM, 0, 0, SORT_DEFAULT},
		{"-b cgroup -n 5", BY_CGROUP, 5, 5, SORT_DEFAULT},
		{"-n 4 --sort p99", BY_NONE, 4, 4, SORT_P99},
		{"--rows=4 --sort max", BY_NONE, 4, 4, SORT_MAX},
		{"-b pid --sort count", BY_PID, 20, 20, SORT_COUNT},
		{"-b pid --sort sum", BY_PID, 20, 20, SORT_SUM},
		{"-b pid --sort p50", BY_PID, 20, 20, SORT_P50},
		{"-b pid --sort name", BY_PID, 20, 20, SORT_NAME},
		{"-b cpu --sort name", BY_CPU, 0, 20, SORT_NAME},
	};
	struct parsed p;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_good(&p, rows[i].line);
		assert_int_equal(p.cfg.by, rows[i].by);
		assert_int_equal(p.cfg.rows, rows[i].rows);
		assert_int_equal(p.cfg.list_rows, rows[i].list_rows);
		assert_int_equal(p.cfg.sort, rows[i].sort);
		parse_free(&p);
	}
}

TEST(test_table_options)
{
	struct parsed p;

	parse_good(&p, "-Tzu -P 99,50 --precision 6 --max-keys 16 --no-clear -v --color never");
	assert_true(p.cfg.timestamps && p.cfg.totals && p.cfg.no_clear && p.cfg.verbose);
	assert_int_equal(p.cfg.unit, UNIT_US);
	assert_int_equal(p.cfg.nquantiles, 2);
	assert_string_equal(p.cfg.quantiles[0].text, "50");
	assert_int_equal(p.cfg.precision, 6);
	assert_int_equal(p.cfg.max_keys, 16);
	assert_int_equal(p.cfg.color, COLOR_NEVER);
	parse_free(&p);

	parse_good(&p, "-m --msec -q --timestamps --totals --precision 3 --max-keys 1048576");
	assert_int_equal(p.cfg.unit, UNIT_MS);
	assert_true(p.cfg.quiet && p.cfg.timestamps && p.cfg.totals);
	assert_false(p.cfg.verbose);
	assert_int_equal(p.cfg.precision, 3);
	assert_int_equal(p.cfg.max_keys, 1048576);
	parse_free(&p);

	parse_good(&p, "-N --color always --quiet -P 1 -P 99.99");
	assert_int_equal(p.cfg.unit, UNIT_NS);
	assert_int_equal(p.cfg.color, COLOR_ALWAYS);
	assert_int_equal(p.cfg.nquantiles, 1);
	assert_string_equal(p.cfg.quantiles[0].text, "99.99");
	parse_free(&p);
}

TEST(test_when)
{
	static const struct {
		const char *line;
		uint64_t interval_ns, count, duration_ns, warmup_ns;
	} rows[] = {
		{"2", 2 * SEC_NS, 0, 0, 0},
		{"0.5 10", SEC_NS / 2, 10, 0, 0},
		{"-i 250ms", SEC_NS / 4, 0, 0, 0},
		{"-i 2000ms 2 5", 2 * SEC_NS, 5, 0, 0}, /* the same twice is no contradiction */
		{"1 -d 10 3", SEC_NS, 3, 10 * SEC_NS, 0},
		{"1 3 -d 1m", SEC_NS, 3, 60 * SEC_NS, 0},
		{"-d 1h -w 5", SEC_NS, 0, 3600 * SEC_NS, 5 * SEC_NS},
		{"--duration=10ms --warm-up 0 --interval 10ms", SEC_NS / 100, 0, SEC_NS / 100, 0},
		{"-d 8784h", SEC_NS, 0, 366 * 86400 * SEC_NS, 0},
	};
	struct parsed p;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_good(&p, rows[i].line);
		assert_int_equal(p.cfg.interval_ns, rows[i].interval_ns);
		assert_int_equal(p.cfg.count, rows[i].count);
		assert_int_equal(p.cfg.duration_ns, rows[i].duration_ns);
		assert_int_equal(p.cfg.warmup_ns, rows[i].warmup_ns);
		parse_free(&p);
	}
}

TEST(test_slower)
{
	static const struct {
		const char *line;
		uint64_t ns;
	} rows[] = {
		{"--slower 0", 0},
		{"--slower 0ms", 0},
		{"--slower 500us", 500000},
		{"--slower 10ms", 10000000},
		{"--slower 1.5s", 3 * SEC_NS / 2},
	};
	struct parsed p;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse_good(&p, rows[i].line);
		assert_true(p.cfg.slower);
		assert_int_equal(p.cfg.slower_ns, rows[i].ns);
		parse_free(&p);
	}
}

TEST(test_outputs)
{
	struct parsed p;

	parse_good(&p, "-o json -o table:a -o csv:b:c --output=json:a,b");
	assert_int_equal(p.cfg.noutputs, 4);
	assert_string_equal(p.cfg.outputs[0].format, "json");
	assert_null(p.cfg.outputs[0].path);
	assert_string_equal(p.cfg.outputs[1].format, "table");
	assert_string_equal(p.cfg.outputs[1].path, "a");
	assert_string_equal(p.cfg.outputs[2].path, "b:c"); /* only the first colon parts */
	assert_string_equal(p.cfg.outputs[3].path, "a,b");
	parse_free(&p);

	parse_good(&p, "-o csv:-");
	assert_int_equal(p.cfg.noutputs, 1);
	assert_string_equal(p.cfg.outputs[0].format, "csv");
	assert_null(p.cfg.outputs[0].path);
	parse_free(&p);
}

TEST(test_command)
{
	struct parsed p;

	parse_good(&p, "1 -d 5 -- make -j 2 -- x");
	assert_int_equal(p.cfg.interval_ns, SEC_NS);
	assert_int_equal(p.cfg.count, 0);
	assert_non_null(p.cfg.command);
	assert_string_equal(p.cfg.command[0], "make");
	assert_string_equal(p.cfg.command[1], "-j");
	assert_string_equal(p.cfg.command[3], "--");
	assert_string_equal(p.cfg.command[4], "x");
	assert_null(p.cfg.command[5]);
	parse_free(&p);

	parse_good(&p, "-- 5"); /* after the dashes a number is a command too */
	assert_int_equal(p.cfg.interval_ns, SEC_NS);
	assert_string_equal(p.cfg.command[0], "5");
	parse_free(&p);

	parse_good(&p, "--comm --"); /* here they are the argument */
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_COMM].v[0], "--");
	assert_null(p.cfg.command);
	parse_free(&p);

	parse_good(&p, "--comm -- -- true");
	assert_string_equal(p.cfg.filter.late[ABI_FILTER_COMM].v[0], "--");
	assert_string_equal(p.cfg.command[0], "true");
	parse_free(&p);
}

/* Long options may be cut short where that is clear, as everywhere. */
TEST(test_abbreviation)
{
	struct parsed p;

	parse_good(&p, "--interv 2 --dur=3");
	assert_int_equal(p.cfg.interval_ns, 2 * SEC_NS);
	assert_int_equal(p.cfg.duration_ns, 3 * SEC_NS);
	parse_free(&p);
}

static const struct {
	const char *line;
	const char *text;
} mistakes[] = {
	/* the options themselves */
	{"--bogus", "--bogus: unknown option (see waitscope --help)"},
	{"--bogus=1", "--bogus=1: unknown option (see waitscope --help)"},
	{"-x", "-x: unknown option (see waitscope --help)"},
	{"-zxT", "-x: unknown option (see waitscope --help)"},
	{"--no", "--no: ambiguous (one of: --no-follow, --no-clear)"},
	{"--no=1", "--no: ambiguous (one of: --no-follow, --no-clear)"},
	{"--quiet=yes", "--quiet: takes no argument ('--quiet=yes' was given)"},
	{"--output", "--output: needs an argument (FORMAT[:FILE])"},
	{"-zo", "--output: needs an argument (FORMAT[:FILE])"},
	{"-p", "--pid: needs an argument (PID[,PID...])"},
	{"\033[31m", "'\\x1b[31m': neither an option nor an INTERVAL (a command comes after --)"},
	{"--\033[31m", "--\\x1b[31m: unknown option (see waitscope --help)"},

	/* empty arguments */
	{"-s ''", "--source '': empty (expected LIST)"},
	{"-p ''", "--pid '': empty (expected PID[,PID...])"},
	{"-t ''", "--tid '': empty (expected TID[,TID...])"},
	{"-c ''", "--cgroup '': empty (expected CGROUP)"},
	{"--comm=", "--comm '': empty (expected GLOB)"},
	{"--cpu=", "--cpu '': empty (expected LIST)"},
	{"--dev=", "--dev '': empty (expected DEV|MOUNT)"},
	{"--stack-every=", "--stack-every '': empty (expected N)"},
	{"--watch=", "--watch '': empty (expected ADDR|SYMBOL[:LEN])"},
	{"--watch x --confirm 0",
	 "--confirm '0': nothing would be watched (expected a whole number from 1 to 1000000 with "
	 "--watch)"},
	{"--confirm 5",
	 "--confirm: means nothing to these sources (expected line or watch in --source)"},
	{"--line-source ibs", "--line-source 'ibs': not known (one of: auto, clock, pmu)"},
	{"--freq 9", "--freq '9': expected a whole number from 10 to 20000"},
	{"-b ''", "--by '': empty (expected KEY)"},
	{"-i ''", "--interval '': empty (expected TIME)"},
	{"-o ''", "--output '': empty (expected FORMAT[:FILE])"},
	{"--slower=", "--slower '': empty (expected TIME)"},

	/* values */
	{"-s sched,,synth",
	 "--source 'sched,,synth': has an empty item (expected names with commas "
	 "between them, of: sched, ext4, lock, futex, line, watch, synth)"},
	{"-s sched,",
	 "--source 'sched,': has an empty item (expected names with commas between them, "
	 "of: sched, ext4, lock, futex, line, watch, synth)"},
	{"-s sched,net",
	 "--source 'net': not a source (one of: sched, ext4, lock, futex, line, watch, synth)"},
	{"-s sche",
	 "--source 'sche': not a source (one of: sched, ext4, lock, futex, line, watch, synth)"},
	{"-p 12abc", "--pid '12abc': expected numbers above 0 such as 42 or 42,43"},
	{"-p 1,,2", "--pid '1,,2': expected numbers above 0 such as 42 or 42,43"},
	{"-p 0", "--pid '0': expected numbers above 0 such as 42 or 42,43"},
	{"-p 4194305", "--pid '4194305': out of range (expected 1 to 4194304)"},
	{"-t -1", "--tid '-1': expected numbers above 0 such as 42 or 42,43"},
	{"-t 5,4194305", "--tid '5,4194305': out of range (expected 1 to 4194304)"},
	{"--comm a-name-too-long-x",
	 "--comm 'a-name-too-long-x': no task can match: the kernel keeps 15 "
	 "bytes of a name (try 'a-name-too-long*')"},
	{"--cpu 3-1", "--cpu '3-1': expected CPU numbers below 8192 such as 3 or 0-3,7"},
	{"--cpu x", "--cpu 'x': expected CPU numbers below 8192 such as 3 or 0-3,7"},
	{"--by process",
	 "--by 'process': not known (one of: cpu, pid, tid, comm, cgroup, unit, container, file)"},
	{"--sort avg", "--sort 'avg': not known (one of: p99, p50, max, count, sum, name)"},
	{"--color sometimes", "--color 'sometimes': not known (one of: auto, always, never)"},
	{"-n -1", "--rows '-1': expected a whole number from 0 to 1000000"},
	{"-n 1000001", "--rows '1000001': expected a whole number from 0 to 1000000"},
	{"-P 101", "--percentiles '101': expected percentiles above 0 and below 100, of at most 7 "
		   "decimals, such as 50,99.9"},
	{"-P 50,x",
	 "--percentiles '50,x': expected percentiles above 0 and below 100, of at most 7 "
	 "decimals, such as 50,99.9"},
	{"--precision 7", "--precision '7': expected a whole number from 3 to 6"},
	{"--precision 2", "--precision '2': expected a whole number from 3 to 6"},
	{"--max-keys 15", "--max-keys '15': expected a whole number from 16 to 1048576"},
	{"--max-keys 1048577", "--max-keys '1048577': expected a whole number from 16 to 1048576"},
	{"--stack-every -1", "--stack-every '-1': expected a whole number from 0 to 1000000000"},
	{"--stack-every 1k", "--stack-every '1k': expected a whole number from 0 to 1000000000"},
	{"--es-time=1", "--es-time: takes no argument ('--es-time=1' was given)"},
	{"-i 0", "--interval '0': too short (expected at least 10ms)"},
	{"-i 12abc", "--interval '12abc': expected a time such as 1, 500ms or 2m"},
	{"-i 9ms", "--interval '9ms': too short (expected at least 10ms)"},
	{"-i 367d", "--interval '367d': expected a time such as 1, 500ms or 2m"},
	{"-d 0", "--duration '0': too short (expected at least 10ms)"},
	{"-d 8785h", "--duration '8785h': too long (expected at most 8784h, a year)"},
	{"-w -1", "--warm-up '-1': expected a time such as 1, 500ms or 2m"},
	{"--slower 500",
	 "--slower '500': has no unit (expected 0, or a time such as 500us or 500ms)"},
	{"--slower fast", "--slower 'fast': expected a time such as 1, 500ms or 2m"},
	{"-o json:", "--output 'json:': no file after the colon (expected json or json:FILE)"},

	/* positionals */
	{"0", "INTERVAL '0': too short (expected at least 10ms)"},
	{"12abc", "INTERVAL '12abc': expected a time such as 1, 500ms or 2m"},
	{"1 0", "COUNT '0': expected a whole number from 1"},
	{"1 2x", "COUNT '2x': expected a whole number from 1"},
	{"sleep 10", "'sleep': neither an option nor an INTERVAL (a command comes after --)"},
	{"''", "'': neither an option nor an INTERVAL (a command comes after --)"},
	{"1 2 make",
	 "'make': one argument too many after INTERVAL and COUNT (a command comes after --)"},
	{"--", "--: no command follows (expected -- COMMAND [ARG...])"},
	{"-- ''", "-- '': not a command (expected -- COMMAND [ARG...])"},

	/* contradictions */
	{"-i 2 1", "--interval '2': contradicts INTERVAL '1' (give one of them)"},
	{"-p 1 -t 2", "--tid: contradicts --pid (a thread of that process, or all of them?)"},
	{"-p 1 -- true", "--pid: contradicts COMMAND (trace what runs, or start something?)"},
	{"-t 1 -- true", "--tid: contradicts COMMAND (trace what runs, or start something?)"},
	{"--follow", "--follow: nobody to follow (it goes with --pid, --tid or COMMAND)"},
	{"--no-follow -c /a",
	 "--no-follow: nobody to follow (it goes with --pid, --tid or COMMAND)"},
	{"-m -u", "--usec: contradicts --msec (a table has one unit)"},
	{"-N -m", "--msec: contradicts --nsec (a table has one unit)"},
	{"--bisect", "--bisect: nothing to decide by (it goes with --fail-if)"},
	{"--fail-if=", "--fail-if '': empty (expected LIMIT)"},
	{"-q -v", "--quiet: contradicts --verbose (choose one)"},
	{"-s sched --es-time",
	 "--es-time: means nothing to these sources (expected ext4 in --source)"},
	{"-s sched,lock --by file",
	 "--by file: means nothing to these sources (expected ext4 in --source)"},
	{"-s line --by pid",
	 "--by: means nothing to line: its rows name their threads (expected sched, ext4, lock or futex in --source)"},
	{"--watch x -b cpu",
	 "--by: means nothing to watch: its rows name their threads (expected sched, ext4, lock or futex in --source)"},
	{"-s futex --function my_lock",
	 "--function 'my_lock': expected lock=, work= or either= and the name of a function"},
	{"-s futex --function lock=",
	 "--function 'lock=': expected lock=, work= or either= and the name of a function"},
	{"-s lock --function lock=my_lock",
	 "--function: means nothing to these sources (expected futex in --source)"},
	{"--stack-every 3 -s ext4",
	 "--stack-every: means nothing to these sources (expected lock or futex in --source)"},
	{"--slower 1ms -s line",
	 "--slower: means nothing to these sources (expected sched, ext4, lock or futex in --source)"},
	{"--freq 99 -s sched",
	 "--freq: means nothing to these sources (expected line in --source)"},
	/* the default sources */
	{"--freq 99", "--freq: means nothing to these sources (expected line in --source)"},
	{"--line-source clock",
	 "--line-source: means nothing to these sources (expected line in --source)"},
	{"-o json -o csv",
	 "--output: both json and csv would go to stdout (give one a file: csv:FILE)"},
	{"-o json -o csv:-",
	 "--output: both json and csv would go to stdout (give one a file: csv:FILE)"},
	{"-o json:x -o csv:x",
	 "--output: both json and csv would go to 'x' (give each its own file)"},
};

TEST(test_mistakes)
{
	struct parsed p;
	size_t i;

	for (i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		parse(&p, mistakes[i].line);
		if (!p.ret || strcmp(p.e.text, mistakes[i].text))
			print_error("waitscope %s\n", mistakes[i].line);
		assert_string_equal(p.e.text, mistakes[i].text);
		assert_true(p.ret < 0);
		assert_int_equal(p.e.exit, EXIT_USAGE);
		assert_string_equal(p.out, "");
		parse_free(&p);
	}
}

static void formats(char *out, const char *between)
{
	*out = '\0';
	for (const struct sink_ops *const *ops = sink_list; *ops; ops++) {
		(void)strcat(out, ops == sink_list ? "" : between); /* fits */
		(void)strcat(out, (*ops)->name);
	}
}

/* What there is, is named: a format is in one list alone. */
TEST(test_formats)
{
	static const char *const lines[][2] = {{"-o jsn", "jsn"}, {"-o :x", ""}};
	char names[512], want[600];
	struct parsed p;

	formats(names, ", ");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		(void)snprintf(want, sizeof(want), "--output '%s': not a format (one of: %s)",
			       lines[i][1], names);
		parse(&p, lines[i][0]);
		assert_string_equal(p.e.text, want);
		assert_int_equal(p.e.exit, EXIT_USAGE);
		parse_free(&p);
	}
	formats(names, " ");
	(void)snprintf(want, sizeof(want), "output\to\tFORMAT[:FILE]\tformats\t%s\trepeat\t",
		       names);
	parse(&p, "--dump-options");
	assert_non_null(strstr(p.out, want));
	parse_free(&p);
}

TEST(test_printed)
{
	static const struct {
		const char *line;
		const char *has;
	} rows[] = {
		{"--help", "Usage: waitscope"},
		{"-h", "[INTERVAL [COUNT]] [-- COMMAND [ARG...]]"},
		{"-h", "What is traced:"},
		{"-h", "-o, --output=FORMAT[:FILE]"},
		{"-h", "scheduler waits"},
		{"-h", "  csv  "},
		{"--usage", "[-o FORMAT[:FILE]]"},
		{"-V", "waitscope 0."},
		{"--version", "waitscope 0."},
		{"-h --bogus", "Usage: waitscope"}, /* what comes after help is not read */
		{"--dump-options",
		 "by\tb\tKEY\twords\tcpu pid tid comm cgroup unit container file\t-\t"},
		{"--dump-options", "dev\t-\tDEV|MOUNT\tmounts\t-\trepeat\t"},
		{"--dump-options", "totals\tz\t-\t-\t-\t-\t"},
	};
	struct parsed p;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(&p, rows[i].line);
		assert_int_equal(p.ret, 0);
		assert_int_equal(p.action, OPTS_EXIT);
		if (!strstr(p.out, rows[i].has))
			print_error("%s: no '%s' in\n%s\n", rows[i].line, rows[i].has, p.out);
		assert_non_null(strstr(p.out, rows[i].has));
		assert_null(strstr(p.out, "dump-options"));
		parse_free(&p);
	}
}

TEST(test_full_disk)
{
	FILE *out;
	char *argv[] = {(char *)"waitscope", (char *)"--help", NULL};
	enum opts_action action;
	struct config cfg;
	struct err e = {0};

	out = fopen("/dev/full", "w");
	if (!out)
		skip();
	assert_true(opts_parse(&cfg, out, 2, argv, &action, &e) < 0);
	assert_int_equal(e.exit, EXIT_FAILED);
	assert_string_equal(e.text, "standard output: No space left on device");
	config_free(&cfg);
	(void)fclose(out); /* fails: the disk is full */
}

/* Every line of --dump-options: nothing twice, nothing that completion could not use. */
TEST(test_table)
{
	char *line, *save = NULL, *fields[8], seen[4096] = " ", word[64];
	struct parsed p;
	size_t i, n = 0;

	parse(&p, "--dump-options");
	for (line = strtok_r(p.out, "\n", &save); line; line = strtok_r(NULL, "\n", &save), n++) {
		for (i = 0; i < 8; i++)
			fields[i] = strsep(&line, "\t");
		assert_non_null(fields[6]);
		assert_null(fields[7]);
		snprintf(word, sizeof(word), " --%s ", fields[0]);
		assert_null(strstr(seen, word));
		strcat(seen, word);
		snprintf(word, sizeof(word), " -%s ", fields[1]);
		assert_true(fields[1][0] == '-' || !strstr(seen, word));
		strcat(seen, word);
		assert_int_equal(!strcmp(fields[2], "-"), !strcmp(fields[3], "-"));
		if (!strcmp(fields[3], "words"))
			assert_string_not_equal(fields[4], "-");
	}
	assert_in_range(n, 40, 100);
	parse_free(&p);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
