// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/metrics.h"

#include <string.h>

#include "core/arena.h"
#include "core/frame.h"

#define OPS "ext4_op_latency"
#define OPS_TITLE "ext4 operations"
#define WAKEUPS "sched_wakeup_latency"
#define FUTEXES "futex_wait"
#define LOOKUPS "ext4_es_lookups"

/* One table for all operations: those of the extent status tree and the journal join it. */
#define JOINS_OPS(name, help)                                    \
	{                                                        \
		name, OPS_TITLE, METRIC_ROWS, help, .joins = OPS \
	}

const struct metric_desc metric_list[METRICS] = {
	[METRIC_SCHED_WAKEUP_LATENCY] = {WAKEUPS, "Wakeup latency", METRIC_HEADLINE,
					 "Time from the waking of a task to its running",
					 .brief = "wakeup"},
	[METRIC_SCHED_WAKE_TO_QUEUE] = {"sched_wake_to_queue", "wake-to-queue", METRIC_LEG,
					"Time from the waking of a task to its being queued",
					.part_of = WAKEUPS},
	[METRIC_SCHED_QUEUE_TO_RUN] = {"sched_queue_to_run", "queue-to-run", METRIC_LEG,
				       "Time from the queueing of a woken task to its running",
				       .part_of = WAKEUPS},
	[METRIC_SCHED_PREEMPT_WAIT] =
		{"sched_preempt_wait", "preempt-wait", METRIC_SIDE,
		 "Time from being switched out while runnable to running again",
		 .part_of = WAKEUPS},
	[METRIC_SCHED_THROTTLE_WAIT] = {"sched_throttle_wait", "throttle-wait", METRIC_SIDE,
					"Waits of runnable tasks whose cgroup was out of CPU quota",
					.part_of = WAKEUPS, .ranks_as = "throttled",
					.waited = "out of CPU quota"},
	[METRIC_SCHED_RUN_DELAY] = {"sched_run_delay", "run-delay", METRIC_SIDE,
				    "Time on a run queue: queue_to_run and preempt_wait together",
				    .part_of = WAKEUPS, .ranks = true, .waited = "for a CPU"},
	[METRIC_EXT4_OP_LATENCY] = {OPS, OPS_TITLE, METRIC_ROWS,
				    "Time that one ext4 operation took", .waited = "in ext4"},
	[METRIC_EXT4_ES_LOOKUP_LATENCY] = JOINS_OPS(
		"ext4_es_lookup_latency", "Time that a look-up in the extent status tree took"),
	[METRIC_JBD2_START_WAIT] =
		JOINS_OPS("jbd2_start_wait", "Waits for a handle of the journal"),
	[METRIC_JBD2_HANDLE_HELD] =
		JOINS_OPS("jbd2_handle_held", "Time for which a handle of the journal was held"),
	[METRIC_JBD2_COMMIT] = JOINS_OPS("jbd2_commit", "Time that a commit of the journal took"),
	[METRIC_JBD2_COMMIT_LOCKING] =
		JOINS_OPS("jbd2_commit_locking", "Phase of a commit: waiting for handles to end"),
	[METRIC_JBD2_COMMIT_FLUSHING] = JOINS_OPS(
		"jbd2_commit_flushing", "Phase of a commit: writing the data of ordered files"),
	[METRIC_JBD2_COMMIT_LOGGING] =
		JOINS_OPS("jbd2_commit_logging", "Phase of a commit: writing the log"),
	[METRIC_EXT4_ES_LOOKUPS] = {LOOKUPS, "Extent status lookups", METRIC_COUNTS,
				    "Look-ups in the extent status tree", .counter = true,
				    .unit = "{lookup}", .pivot = "result"},
	[METRIC_EXT4_ES_HITS] = {"ext4_es_hits", "Extent status hits", METRIC_COUNTS,
				 "Hits in the extent status tree by the kind of extent",
				 .counter = true, .unit = "{lookup}", .pivot = "kind",
				 .joins = LOOKUPS},
	[METRIC_EXT4_EVENTS] = {"ext4_events", "ext4 events", METRIC_COUNTS,
				"Events of ext4 that have no duration", .counter = true,
				.unit = "{event}"},
	[METRIC_EXT4_OP_BYTES] = {"ext4_op_bytes", "bytes", METRIC_SIDE,
				  "Bytes that ext4 operations moved", .counter = true,
				  .unit = "By"},
	[METRIC_LOCK_WAIT] = {"lock_wait", "lock-wait", METRIC_SIDE,
			      "Waits for locks of the kernel"},
	[METRIC_FUTEX_WAIT] = {FUTEXES, "Futex locks", METRIC_HEADLINE,
			       "Waits for futexes that are locks"},
	[METRIC_FUTEX_IDLE] = {"futex_idle", "futex idle waits", METRIC_SIDE,
			       "Waits for futexes that stand for work to come", .part_of = FUTEXES},
	[METRIC_FUTEX_UNSURE] = {"futex_lock_or_work", "lock or work", METRIC_SIDE,
				 "Waits for futexes that may be locks or stand for work to come",
				 .part_of = FUTEXES},
	[METRIC_LINE_SAMPLES] = {"line_samples", "line", METRIC_NOTE,
				 "Samples of the line source by what became of them",
				 .counter = true, .unit = "{sample}", .pivot = "result"},
};

const struct run_metric run_metric_list[RUN_METRICS] = {
	[RUN_LOST] = {"lost", "{event}", "Events that the report lacks, by reason",
		      .label = "reason"},
	[RUN_NOTED] =
		{"noted", "{event}",
		 "Events worth knowing that cost no sample, such as tasks that waited already "
		 "at the start",
		 .label = "event"},
	[RUN_IN_FLIGHT] = {"in_flight", "{task}", "Tasks that wait now", .gauge = true},
	[RUN_IN_FLIGHT_LONGEST] = {"in_flight_longest", "s",
				   "Time for which the one of them that waits longest has waited",
				   .gauge = true},
	[RUN_BPF_CPU] = {"bpf_cpu", "1", "Share of one CPU that the BPF programs take",
			 .gauge = true},
	[RUN_BPF_EVENT] = {"bpf_event", "s", "Time that the BPF programs take for an event",
			   .gauge = true},
	[RUN_USER_CPU] = {"user_cpu", "1", "Share of one CPU that waitscope itself takes",
			  .gauge = true},
	[RUN_REPORT_TIME] = {"report_timestamp", "s", "End of the last interval, in Unix time",
			     .gauge = true},
	[RUN_INFO] = {"build_info", NULL, "The version that runs; always 1", .label = "version",
		      .gauge = true},
	[RUN_REPORTS] = {"reports", "{report}", "Reports to the collector by what became of them",
			 .label = "result"},
	[RUN_REJECTED] = {"rejected_points", "{point}",
			  "Data points that the collector did not take of reports it took"},
};

const struct metric_desc *metric_find(const char *name)
{
	for (int i = 0; i < METRICS; i++)
		if (!strcmp(metric_list[i].name, name))
			return &metric_list[i];
	return NULL;
}

const struct metric_desc *metric_keep(const struct metric_desc *desc, struct arena *a)
{
	const struct metric_desc *known = metric_find(desc->name);
	struct metric_desc *copy;

	if (known && known->counter == desc->counter)
		return known;
	copy = arena_take(a, sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = (struct metric_desc){
		.name = arena_text(a, desc->name),
		.title = arena_text(a, desc->title),
		.role = desc->role,
		.counter = desc->counter,
	};
	return copy->name && (copy->title || !desc->title) ? copy : NULL;
}

void metric_share(struct series *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct metric_desc *desc = v[i].desc;

		if (desc >= metric_list && desc < metric_list + METRICS)
			continue;
		for (size_t k = i; k-- > 0;) /* mostly the one before */
			if (v[k].desc->counter == desc->counter &&
			    !strcmp(v[k].desc->name, desc->name)) {
				v[i].desc = v[k].desc;
				break;
			}
	}
}
