/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user asked for: plain data, written by opts, read by everybody, owned by main. */
#ifndef WS_CONFIG_H
#define WS_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "abi.h"
#include "core/hist.h"

enum by_key {
	BY_NONE,
	BY_CPU,
	BY_PID,
	BY_TID,
	BY_COMM,
	BY_CGROUP,
	BY_FILE,
	BY_UNIT, /* this and the next are made of cgroups: core/regroup.h */
	BY_CONTAINER,
};
enum unit { UNIT_AUTO, UNIT_NS, UNIT_US, UNIT_MS }; /* AUTO is usec, as schbench */
enum color_mode { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
/* DEFAULT: p99 for CPUs and groups, the sum for operations and contended addresses */
enum sort_key { SORT_DEFAULT, SORT_P99, SORT_COUNT, SORT_SUM, SORT_MAX, SORT_P50, SORT_NAME };

enum line_by {
	LINE_BY_AUTO,
	LINE_BY_CLOCK,
	LINE_BY_PMU
}; /* --line-source; AUTO: a PMU's if it can */

struct u32_list {
	uint32_t *v;
	size_t n;
};

struct str_list {
	char **v;
	size_t n;
};

struct filter {
	struct u32_list pids;
	struct u32_list tids;
	struct str_list
		late[ABI_FILTERS]; /* asked at the end of a wait, by ABI_FILTER_*: as given */
	bool follow;		   /* children of -p / COMMAND join */
	struct str_list devs; /* --dev: devices ("8:1", "/dev/sda1") or mount points, as given */
};

struct output {
	char *format; /* "table" "json" "csv" */
	char *path;   /* NULL: stdout */
};

struct limit;

struct limit_list {
	struct limit *v;
	size_t n;
};

#define CONFIRM_UNSAID UINT64_MAX /* while options are read */

struct config {
	struct str_list sources; /* empty: the default ones */
	struct filter filter;
	enum by_key by;
	uint32_t rows;	    /* -n, of CPUs and groups; 0 = all */
	uint32_t list_rows; /* the same of operations and addresses: never all by default */
	enum sort_key sort;
	struct quantile *quantiles;
	size_t nquantiles;
	enum unit unit;
	bool timestamps;      /* -T */
	bool totals;	      /* -z: tables show the total */
	uint64_t interval_ns; /* 0: only the final report */
	uint64_t count;	      /* intervals; 0 = unlimited */
	uint64_t duration_ns; /* 0 = until a signal */
	uint64_t warmup_ns;
	bool slower; /* --slower given (0 is allowed: every wait) */
	uint64_t slower_ns;
	bool why; /* --why: who made a task wait */
	struct output *outputs;
	size_t noutputs; /* with `listen` there need be none */
	char *listen;	 /* --listen: ADDR:PORT, or NULL */
	enum color_mode color;
	bool no_clear;
	bool verbose;
	bool check;	 /* --check: say what can run, and end */
	char *btf;	 /* --btf: kernel types from this file, or NULL */
	bool es_time;	 /* --es-time: extent-status lookups are timed */
	bool debuginfod; /* --debuginfod: debug information may be fetched */
	enum line_by line_by;
	uint32_t freq;		 /* --freq: samples a second and CPU */
	struct str_list watches; /* --watch, as given: ADDR|SYMBOL[:LEN] */
	uint64_t
		/* --confirm: accesses after which watching stops; 0: no short watches either */
		confirm;
	bool confirm_lines;   /* and it is for those that the line source finds */
	uint32_t stack_every; /* --stack-every: a stack of one in N waits for a known lock; 0: only
				 of the first */
	struct str_list functions; /* --function, as given: CLASS=NAME */
	bool quiet;		   /* no progress, no notices */
	uint32_t precision;	   /* schema */
	uint32_t export_schema; /* of what Prometheus and OTLP get, unless it is coarser already */
	uint32_t max_keys;	/* --max-keys: groups kept in the kernel */
	bool max_keys_given;	/* else a source may take fewer */
	struct limit_list limits; /* --fail-if */
	bool bisect;		  /* exit statuses as git bisect run takes them */
	char **command;		  /* NULL-terminated, or NULL; points into argv */
};

/* Does the kernel tell the groups apart by their cgroup? */
static inline bool by_cgroups(enum by_key by)
{
	return by == BY_CGROUP || by == BY_UNIT || by == BY_CONTAINER;
}

#endif
