/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of a guest share: how they run waitscope, and what they say. */
#ifndef WS_TEST_GUEST_H
#define WS_TEST_GUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "proc.h"

#define TOOL "/bin/waitscope"
#define OUT "/tmp/report.json"
#define ERR "/tmp/stderr"
#define BTF_FILE "/tmp/btf" /* the kernel's types, in a guest whose kernel shows none */
#define START_MS 60000	    /* a guest is emulated: 10 to 50 times slower */
#define END_MS 60000

struct guest {
	char cmdline[2048];
	char why[1024]; /* what the running test has to say */
	int nr;		/* of the last TAP line */
	int failed;
};

enum { PASS, FAIL, SKIP };

struct test {
	const char *name;
	int (*run)(struct guest *g);
	const char *option; /* only with this option on the command line */
};

int say(struct guest *g, int result, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A TAP line: what `why` has to say about a test that ended so. */
void print_result(struct guest *g, int result, const char *name);

/* waitscope's stderr, on one line; static. */
const char *stderr_line(void);
/* `-s SOURCE MORE...`, writing JSON, counting when this returns true; else with words. */
bool tool_start(struct guest *g, struct proc *tool, const char *source, const char *const more[]);
/* Ends it with SIGINT; its reports, or NULL with words. */
struct json_object *tool_finish(struct guest *g, struct proc *tool);
/* Runs a program to its end; its exit status, its messages in ERR. */
int status_of(const char *const argv[]);
/* proc_start, its messages in ERR; waitscope, where the kernel shows no BTF, with the file of it.
 */
int tool_run(struct proc *tool, const char *const argv[], proc_setup_fn setup, void *ctx);

/* A load that waits for a byte, and waitscope beside it. */
struct run {
	struct proc load, tool;
	struct json_object *said; /* the load's first line; what it is known by */
};
/*
 * `-s SOURCE FILTER MORE...` beside a load that waits; counting when this returns true, else with
 * words. `filter`: "-p" or "-t" of the load, or NULL: of all.
 */
bool run_start(struct guest *g, struct run *r, const char *const load[], const char *source,
	       const char *filter, const char *const more[]);
/* Lets the load go, and reads its next line: NULL if there is none. */
struct json_object *run_go(struct run *r);
/* Ends both, the load last; waitscope's reports, or NULL with words. */
struct json_object *run_finish(struct guest *g, struct run *r);
/* All three: the reports, or NULL with words; and what the load's line has under `key`. */
struct json_object *run_whole(struct guest *g, const char *const load[], const char *source,
			      const char *filter, const char *const more[], const char *key,
			      int64_t *said);

/* The member that is a number, 0 if there is none. */
int64_t json_number(struct json_object *o, const char *key);
/* Rows of the contended table, an array; NULL if there is no table. */
struct json_object *contended_rows(struct json_object *final);

int online_cpus(void);
bool older_than(int major, int minor); /* is the running kernel? */
/* What the kernel kept from the programs, as waitscope says (7.2: one of 1026 events). */
int64_t quality_of(struct json_object *final, const char *key);

/* Tables of tests, each ended by one without a name. */
extern const struct test sched_tests[], check_tests[], ext4_tests[], lock_tests[], line_tests[],
	watch_tests[], why_tests[], steal_tests[], preempt_tests[], scx_first[], scx_last[];

#endif
