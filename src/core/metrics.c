// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/metrics.h"

#include <string.h>

#include "core/arena.h"

#define OPS "ext4_op_latency"
#define OPS_TITLE "ext4 operations"
#define WAKEUPS "sched_wakeup_latency"
#define FUTEXES "futex_wait"
#define LOOKUPS "ext4_es_lookups"

/* One table for all operations: the journal's join it. */
#define JOURNAL(id, words)                                                                 \
	{                                                                                  \
		.name = "jbd2_" id, .title = OPS_TITLE, .role = METRIC_ROWS, .joins = OPS, \
		.help = words                                                              \
	}

const struct metric_desc metric_list[METRICS] = {
	[METRIC_SCHED_WAKEUP_LATENCY] =
		{
			.name = WAKEUPS,
			.title = "Wakeup latency",
			.role = METRIC_HEADLINE,
			.help = "Time from the waking of a task to its running",
		},
	[METRIC_SCHED_WAKE_TO_QUEUE] =
		{
			.name = "sched_wake_to_queue",
			.title = "wake-to-queue",
			.role = METRIC_LEG,
			.part_of = WAKEUPS,
			.help = "Time from the waking of a task to its being queued",
		},
	[METRIC_SCHED_QUEUE_TO_RUN] =
		{
			.name = "sched_queue_to_run",
			.title = "queue-to-run",
			.role = METRIC_LEG,
			.part_of = WAKEUPS,
			.help = "Time from the queueing of a woken task to its running",
		},
	[METRIC_SCHED_PREEMPT_WAIT] =
		{
			.name = "sched_preempt_wait",
			.title = "preempt-wait",
			.role = METRIC_SIDE,
			.part_of = WAKEUPS,
			.help = "Time from being switched out while runnable to running again",
		},
	[METRIC_SCHED_THROTTLE_WAIT] =
		{
			.name = "sched_throttle_wait",
			.title = "throttle-wait",
			.role = METRIC_SIDE,
			.part_of = WAKEUPS,
			.help = "Waits of runnable tasks whose cgroup was out of CPU quota",
		},
	[METRIC_SCHED_RUN_DELAY] =
		{
			.name = "sched_run_delay",
			.title = "run-delay",
			.role = METRIC_SIDE,
			.ranks = true,
			.part_of = WAKEUPS,
			.help = "Time on a run queue: queue_to_run and preempt_wait together",
		},
	[METRIC_EXT4_OP_LATENCY] =
		{
			.name = OPS,
			.title = OPS_TITLE,
			.role = METRIC_ROWS,
			.help = "Time that one ext4 operation took",
		},
	[METRIC_EXT4_ES_LOOKUP_LATENCY] =
		{
			.name = "ext4_es_lookup_latency",
			.title = OPS_TITLE,
			.role = METRIC_ROWS,
			.joins = OPS,
			.help = "Time that a look-up in the extent status tree took",
		},
	[METRIC_JBD2_START_WAIT] = JOURNAL("start_wait", "Waits for a handle of the journal"),
	[METRIC_JBD2_HANDLE_HELD] =
		JOURNAL("handle_held", "Time for which a handle of the journal was held"),
	[METRIC_JBD2_COMMIT] = JOURNAL("commit", "Time that a commit of the journal took"),
	[METRIC_JBD2_COMMIT_LOCKING] =
		JOURNAL("commit_locking", "Phase of a commit: waiting for handles to end"),
	[METRIC_JBD2_COMMIT_FLUSHING] =
		JOURNAL("commit_flushing", "Phase of a commit: writing the data of ordered files"),
	[METRIC_JBD2_COMMIT_LOGGING] =
		JOURNAL("commit_logging", "Phase of a commit: writing the log"),
	[METRIC_EXT4_ES_LOOKUPS] =
		{
			.name = LOOKUPS,
			.title = "Extent status lookups",
			.role = METRIC_COUNTS,
			.counter = true,
			.pivot = "result",
			.help = "Look-ups in the extent status tree",
			.unit = "{lookup}",
		},
	[METRIC_EXT4_ES_HITS] =
		{
			.name = "ext4_es_hits",
			.title = "Extent status hits",
			.role = METRIC_COUNTS,
			.counter = true,
			.pivot = "kind",
			.joins = LOOKUPS,
			.help = "Hits in the extent status tree by the kind of extent",
			.unit = "{lookup}",
		},
	[METRIC_EXT4_EVENTS] =
		{
			.name = "ext4_events",
			.title = "ext4 events",
			.role = METRIC_COUNTS,
			.counter = true,
			.help = "Events of ext4 that have no duration",
			.unit = "{event}",
		},
	[METRIC_EXT4_OP_BYTES] =
		{
			.name = "ext4_op_bytes",
			.title = "bytes",
			.role = METRIC_SIDE,
			.counter = true,
			.help = "Bytes that ext4 operations moved",
			.unit = "By",
		},
	[METRIC_LOCK_WAIT] =
		{
			.name = "lock_wait",
			.title = "lock-wait",
			.role = METRIC_SIDE,
			.help = "Waits for locks of the kernel",
		},
	[METRIC_FUTEX_WAIT] =
		{
			.name = FUTEXES,
			.title = "Futex locks",
			.role = METRIC_HEADLINE,
			.help = "Waits for futexes that are locks",
		},
	[METRIC_FUTEX_IDLE] =
		{
			.name = "futex_idle",
			.title = "futex idle waits",
			.role = METRIC_SIDE,
			.part_of = FUTEXES,
			.help = "Waits for futexes that stand for work to come",
		},
	[METRIC_LINE_SAMPLES] =
		{
			.name = "line_samples",
			.title = "line",
			.role = METRIC_NOTE,
			.counter = true,
			.pivot = "result",
			.help = "Samples of the line source by what became of them",
			.unit = "{sample}",
		},
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
