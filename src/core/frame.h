/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What crosses from sources to sinks, and all that does. A frame is one report: a flat list of
 * series (a metric, its labels, its histogram or value) and how far they can be trusted. Everything
 * in it is borrowed: valid until the source collects again. Strings are raw bytes from the kernel;
 * a sink sanitises them for its format (text.h).
 */
#ifndef WS_FRAME_H
#define WS_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/hist.h"
#include "core/metrics.h"

struct label {
	const char *key; /* "cpu" "pid" "tid" "comm" "cgroup" "file" "op" "dev" "mount" ... */
	const char *value;
};

#define SERIES_LABELS 6

/* What a histogram's sum was spent on; the rest of it is CPU time. Never more than the sum. */
struct split {
	uint64_t blocked_ns;
	uint64_t run_queue_ns;
};

/*
 * No label: all samples. One label "cpu": that CPU. Else a group (--by): the first label is the
 * key, the others describe it (pid's comm). Sources emit the series without labels, then CPUs in
 * number order, then groups; a CPU's or a group's series one after another, in the order of the
 * metrics. METRIC_ROWS and METRIC_COUNTS: any labels; a group's (--by) come before the others.
 */
struct series {
	const struct metric_desc *desc;
	struct label labels[SERIES_LABELS];
	uint32_t nlabels;
	const struct hist *hist;   /* NULL for a counter */
	const struct split *split; /* NULL: not known */
	uint64_t value;
};

/* A place in code, or where a stack came through. */
struct site {
	uint64_t ip;
	const char *sym; /* "vfs_write+0x1a", "app`worker+0x18 (kw.c:15)"; never NULL */
	uint64_t count;	 /* samples at it: of the stacks taken, not of all waits */
};

/*
 * --why: who held what a row's waits were for, and what that thread did meanwhile. The parts of a
 * thread's add up to wait_ns; those of all holders of a row to the sum of its waits.
 */
struct holder {
	uint32_t pid, tid; /* 0: no thread that is known */
	const char *comm;  /* then "(readers)", "(released)" or NULL: not known */
	uint64_t count;	   /* waits, or parts of them, that were for it */
	uint64_t wait_ns;
	uint64_t running_ns, runnable_ns, throttled_ns, blocked_ns;
	uint64_t took_ns;	 /* of wait_ns: it was seen to take it, after a wait of its own */
	const char *took_at;	 /* code in which it did, for most of that; NULL: not known */
	const char *released_at; /* code that gave it up to one that waited; NULL: not known */
};

/* A member on the same 64-byte line as a contended one. */
struct line_member {
	const char *name; /* path from the object's type on */
	uint32_t offset;  /* in the object */
	uint32_t size;
	bool hot; /* known to be written often */
};

/* What a futex's callers came back with; of the same period as count. */
struct futex_counts {
	uint64_t eagain, timeouts, wakes, woken;
	bool idle; /* of class "work": for work, not for a lock */
};

/* What is waited for at an address: as far as it is certain. */
enum wait_class {
	CLASS_LOCK,
	CLASS_WORK,
	CLASS_UNSURE, /* a lock or work */
	WAIT_CLASSES,
};

extern const char *const wait_class_words[WAIT_CLASSES]; /* "lock" "work" "lock or work" */

/* A thread that touches a line, and which of its bytes. */
struct line_thread {
	uint32_t pid, tid;
	uint32_t cpu; /* where it was sampled last */
	const char *comm;
	uint64_t samples, writes;
	uint64_t read_bytes, write_bytes; /* bit per byte of the line */
};

/* Loads that found the line modified in another CPU's cache: of the same socket, or a remote one.
 */
struct line_hitm {
	bool told; /* else no sample has it: the counts mean nothing */
	uint64_t local, remote;
};

/* Code that touches a place on a line: offsets, then code. */
struct line_spot {
	uint32_t offset, size; /* bytes on the line: the lowest, and how far they reach */
	uint32_t tid;
	uint64_t ip;	  /* of the instruction */
	const char *name; /* what lies at that offset, or NULL */
	const char *sym;
	uint64_t samples, reads, writes, locked;
	struct line_hitm hitm;
	const struct hist *latency; /* in CPU cycles; NULL: not known */
};

/* Accesses into a cache line. Samples, not counts, unless `exact`. */
struct line_accesses {
	const char *sampler; /* "clock" "pebs" "ibs" "breakpoint" */
	const char *sharing; /* "false" "true" or NULL: not known */
	bool exact;
	uint64_t reads, writes, locked;
	uint64_t inferred; /* of the writes: loads whose store follows */
	double share;	   /* of all samples of busy CPUs: of the time; 0..1, negative: unknown */
	double interleave; /* consecutive accesses that changed CPU, 0..1; negative: unknown */
	double rank;	   /* what lines are sorted by */
	uint32_t cores;	   /* SMT siblings count once */
	/* If exact: */
	uint64_t transfers; /* consecutive accesses that changed CPU */
	uint64_t bound;	    /* accesses, of all watches together, after which watching stops */
	bool stopped;	    /* it has: no more are counted */
	uint64_t foreign; /* traps of tasks that the filters leave out, from the start of the run */
	bool watched;	  /* a short watch decided what samples leave open */
	bool confirmed;	  /* watched because of samples that were ambiguous: they make no row
				    themselves */
	const char *unconfirmed; /* why --confirm does not watch it; NULL: nothing was refused */
	struct line_hitm hitm;
	const struct hist *latency;	   /* in CPU cycles; NULL: not known */
	const uint32_t *nodes;		   /* NUMA nodes of the CPUs that touched it, ascending */
	size_t nnodes;			   /* 0: the machine has one, or none is known */
	int32_t memory_node;		   /* that it lies on; negative: not known */
	const struct line_thread *threads; /* busiest first */
	size_t nthreads;
	const struct line_spot *uses; /* by offset, then the most frequent first */
	size_t nuses;
};

/*
 * One row of the contended table: an address, and whatever its source really knows of it; what it
 * does not know is NULL or 0 with its flag false. Sorted by nobody: sinks sort.
 */
struct contended {
	const char *source; /* "lock" "futex" "line" "watch" */
	const char *kind;   /* "mutex" "rwsem:r" "rwsem:w" "spinlock" ... "futex" "line" "other" */
	bool other;	    /* addresses that found no row of their own; addr means nothing */
	uint64_t addr;
	uint32_t pid;	   /* whose address space; 0: the kernel's, or shared */
	const char *owner; /* its comm, or NULL */
	const char *name;  /* "ext4_inode_info.i_es_lock", "app`table.lock"; NULL: unknown */
	const char *place; /* where it is declared ("kw.c:15"), on which device, aliases; or NULL */
	bool name_inferred;	 /* by the code that locks it: the address alone does not name it */
	struct label group;	 /* --by: key NULL without */
	uint64_t count;		 /* waits, or samples */
	const struct hist *wait; /* NULL: the source measures no time */
	const char *class
		; /* of its waits: one of wait_class_words; NULL: a line, or an older record */
	const char *runtime;		  /* "go": waits of its goroutines are not seen; or NULL */
	const struct futex_counts *futex; /* NULL: not a futex */
	const struct line_accesses *accesses; /* NULL: no line */
	const char *op;			      /* futex: "wait" "wait_bitset" "lock_pi"; else NULL */
	const uint32_t *cpus;		      /* that waited or touched it, ascending */
	size_t ncpus;
	uint64_t ntasks;	  /* threads that waited, at least; 0: not known */
	const struct site *sites; /* most frequent first */
	size_t nsites;
	const struct holder *holders; /* longest first; none: not asked for, or nothing was held */
	size_t nholders;
	uint64_t line;			   /* address of the 64-byte line shown; 0: none */
	const struct line_member *members; /* of that line, by offset */
	size_t nmembers;
};

/*
 * --why: what a CPU did while somebody waited for it. Of all rows of a frame `wait_ns` adds up to
 * the sums of sched_run_delay and sched_throttle_wait; what could not be told is a row of its own.
 */
#define CULPRIT_LABELS 3
#define CULPRIT_LENGTHS 32
#define CULPRIT_LENGTH_FIRST (-20) /* the first of them: waits up to 2^-20 s */
struct culprit {
	struct label victim[CULPRIT_LABELS]; /* who waited: labels of --by; none without */
	uint32_t nvictim;
	const char *kind;  /* "task" "idle-exit" "irq" "softirq" "steal" "throttle" "rt-throttle"
			      "dl-throttle" "kernel" "unexplained" */
	uint32_t pid, tid; /* of a task with --by pid or tid, else 0 */
	const char *comm;  /* of a task; NULL: of several names, or one that found no row */
	const char *cgroup;
	uint64_t count; /* waits that it had a part in */
	uint64_t wait_ns;
	/* Of wait_ns what is of waits longer than 2^(i - 21) s, up to 2^(i - 20) s; the last has no
	 * end. What is in none was of waits whose length is not known. */
	uint64_t length_ns[CULPRIT_LENGTHS];
	/* Of a real-time task: "SCHED_FIFO" "SCHED_RR" "SCHED_DEADLINE"; else NULL */
	const char *rt_class;
	uint32_t priority; /* of the first two, 1 to 99; else 0 */
};

/*
 * Where the time of CPUs or threads went in this period, by the kernel's own account. The four
 * parts of a row add up to the time that all of them were there: two threads in 1 s are 2 s.
 */
#define TIMES_CPUS "cpus"	/* running: busy; waiting: taken by the hypervisor; asleep: idle */
#define TIMES_THREADS "threads" /* those that the filters ask for, or of a group */
#define TIMES_LABELS 3
struct times {
	const char *of; /* TIMES_CPUS, TIMES_THREADS */
	struct label
		labels[TIMES_LABELS]; /* of a group (--by), as its series have them; none: all */
	uint32_t nlabels;
	uint64_t running_ns;
	uint64_t waiting_ns;   /* for a CPU, */
	uint64_t throttled_ns; /* but for this: the task's cgroup was out of CPU quota */
	uint64_t asleep_ns;    /* the rest */
};

/* DESIGN 2.12. All counts of this report's period, but in_flight: now. */
struct quality {
	uint64_t unpaired;
	uint64_t clamped;
	uint64_t map_full;
	uint64_t recursion_misses;
	uint64_t lost_events;
	uint64_t untraced;   /* 32-bit programs whose futex waits nobody saw */
	uint64_t over_range; /* counted in the last bucket */
	uint64_t inferred;   /* no loss: an end taken from the kernel's own record, its event never
				came */
	uint64_t pending;    /* no loss: samples at code that was not decoded yet */
	uint64_t names_refused; /* no loss: names that a report did without: file or process took
				   too long to read; the rows keep an address */
	uint64_t watches;	/* no loss: short watches of memory, by debug registers */
	uint64_t watched_ns;	/* for so long they took these, all together */
	uint64_t missed;	/* edge: already waiting at the start */
	uint64_t in_flight;	/* edge: still waiting */
	uint64_t longest_ns;	/* the longest of those */
	uint32_t longest_tid;
	char longest_comm[16];
};

/* What waitscope costs, measured by the kernel; known = false until the first sample. */
struct self_cost {
	bool bpf_known;
	bool bpf_denied; /* and there will be none: we may not ask for the kernel's statistics */
	double bpf_ns_per_event;
	double bpf_cpu_ppm; /* of one CPU */
	double user_cpu_ppm;
};

enum frame_type {
	FRAME_INTERVAL,
	FRAME_TOTAL, /* from the start of the run until now */
	FRAME_FINAL, /* the same at its end */
};

struct frame {
	enum frame_type type;
	uint64_t seq;	      /* intervals from 1; the final's is the last interval's */
	struct timespec time; /* wall clock at the end of the period */
	uint64_t mono_ns;     /* CLOCK_MONOTONIC at the same moment */
	uint64_t dur_ns;
	bool last; /* of the run's intervals: the final follows at once */
	const struct series *series;
	size_t nseries;
	const struct contended *contended;
	size_t ncontended;
	const struct culprit *culprits;
	size_t nculprits;
	const struct times *times; /* none: not known */
	size_t ntimes;
	bool why;      /* who made tasks wait for a CPU is told; there may be none */
	bool contends; /* a source runs that reports waits for addresses */
	bool lines;    /* one that reports cache lines */
	struct quality quality;
	struct self_cost self;
	const char *end; /* FRAME_FINAL: why the run ended ("interrupted", "target gone: pid 42"),
			    else NULL */
};

/* --slower of an operation (ext4): what it was, on what, and what its time went to. */
struct slow_op {
	const char *op;	   /* "fsync" */
	const char *dev;   /* "8:1" */
	const char *mount; /* mount point, or NULL */
	const char *path;  /* "/data/x", or "inode 42"; NULL: no file */
	uint64_t bytes;	   /* 0: none, or not known */
	bool has_split;	   /* else it ended in another task's time: split means nothing */
	struct split split;
};

/*
 * What the thread waited for itself that held what a slow wait was for longest. Those of its CPU
 * (the first four kinds) add up to what it was runnable and throttled.
 */
struct slow_link {
	const char *kind; /* "task" "idle-exit" "throttle" "unexplained"; "lock" "futex"; "blocked":
			     for neither, as far as it is known */
	uint32_t pid, tid; /* who ran in its place, or held that lock longest; 0: not known */
	const char *comm;
	uint64_t addr;	  /* of a lock or futex */
	const char *name; /* of it; NULL: not known */
	uint64_t ns;
};

/* --slower of a wait for a lock or futex: for which, and with --why who held it. */
struct slow_held {
	const char *source; /* "lock" "futex" */
	uint64_t addr;
	const char *name, *place;     /* as of struct contended; NULL: not known */
	const char *class;	      /* likewise */
	const struct holder *holders; /* --why: longest first; their wait_ns add up to the wait */
	size_t nholders;
	const struct slow_link *behind; /* of the longest that is a thread; longest first */
	size_t nbehind;
};

/* --slower: one wait. Times are CLOCK_MONOTONIC ns. */
struct slow {
	struct timespec time; /* wall clock of the switch-in */
	uint64_t mono_ns;
	const char *metric; /* "sched_wakeup_latency" or "sched_preempt_wait" or ... */
	const char *kind;   /* "wakeup" "new" "preempt" "throttle" */
	uint32_t cpu;
	uint32_t pid, tid;
	const char *comm;
	const char *cgroup; /* path, or NULL */
	uint64_t wait_ns;
	bool has_legs; /* wakeups: wake_to_queue + queue_to_run = wait */
	uint64_t wake_to_queue_ns, queue_to_run_ns;
	const char *waker; /* "task": waker_* hold; "irq"; "unknown"; NULL: none */
	uint32_t waker_pid, waker_tid;
	const char *waker_comm;
	uint32_t prev_pid, prev_tid; /* 0: the CPU was idle */
	const char *prev_comm;	     /* NULL: not known */
	bool migrated;		     /* runs on another CPU than last time */
	bool last_cpu_known;
	uint32_t last_cpu;
	const struct culprit *culprits; /* --why: their wait_ns add up to the wait; no victims, each
					   counts 1 */
	size_t nculprits;
	const struct slow_op *op;     /* an operation */
	const struct slow_held *held; /* a wait for a lock or futex */
	/* Neither: a wait for a CPU; else nothing from has_legs on holds. */
};

static inline bool slow_is_of_cpu(const struct slow *w)
{
	return !w->op && !w->held;
}

struct meta_source {
	const char *name;
	bool on;
	const char *why;	  /* off: the reason */
	const char *const *hooks; /* on: NULL-terminated */
	const char *const *lacks; /* on: "WHAT: WHY" of the parts that cannot run here,
				     NULL-terminated; or NULL */
};

/* What of the machine two runs must have in common to be compared fairly; NULL: not told. */
struct meta_machine {
	const char *cpu;		     /* "AMD EPYC 9R14" */
	const char *governor;		     /* of the frequency: "schedutil"; "mixed" */
	const char *const *mitigations;	     /* words of the kernel's command line about those of
				       processor flaws; NULL-terminated */
	const struct label *vulnerabilities; /* flaw and what the kernel says of it */
	size_t nvulnerabilities;
};

/* Options that shape what is recorded. */
struct meta_options {
	const char *by;			/* "pid"; NULL: no groups */
	uint64_t interval_ns;		/* 0: a final report alone */
	uint32_t precision;		/* schema */
	const char *const *percentiles; /* "99.9", NULL-terminated */
};

struct meta {
	const char *version;
	const char *kernel;
	uint32_t cpus;		 /* online */
	const char *const *argv; /* NULL-terminated */
	struct timespec start;
	const struct meta_source *sources;
	size_t nsources;
	const struct label *filters; /* as given: key = option's long name */
	size_t nfilters;
	const struct meta_machine *machine; /* NULL, as options: a record of an older version */
	const struct meta_options *options;
	bool hidden; /* the kernel's addresses are pseudonyms (hide.h) */
};

/* What a row's waits were for; a row without a class is told by its futex. */
enum wait_class contended_class(const struct contended *c);
/* The waits of a frame's rows of one source ("futex"; NULL: of all) and class. */
struct wait_sum {
	uint64_t count, sum_ns;
};
struct wait_sum frame_waited(const struct frame *f, const char *source, enum wait_class class);
/* value of a label, or NULL */
const char *series_label(const struct series *s, const char *key);
bool series_same_labels(const struct series *a, const struct series *b);
/* Does its i-th label only say something about another one: a thread's comm, a device's mount
 * point? It is no part of which series it is, and may differ in the next report or run. */
bool series_label_describes(const struct series *s, uint32_t i);
/* Its metric and labels, but those that describe, "metric{key="value"}": the length. 0: it does not
 * fit. */
size_t series_key_text(char *out, size_t len, const struct series *s);
/* No loss in it? (edges do not count) */
bool quality_complete(const struct quality *q);

#endif
