// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sched/sched_metrics.h"

const struct metric_desc sched_metrics[SCHED_METRICS] = {
	[SCHED_WAKEUP_LATENCY] = {"sched_wakeup_latency", "Wakeup latency", METRIC_HEADLINE, false},
	[SCHED_WAKE_TO_QUEUE] = {"sched_wake_to_queue", "wake-to-queue", METRIC_LEG, false},
	[SCHED_QUEUE_TO_RUN] = {"sched_queue_to_run", "queue-to-run", METRIC_LEG, false},
	[SCHED_PREEMPT_WAIT] = {"sched_preempt_wait", "preempt-wait", METRIC_SIDE, false},
	[SCHED_THROTTLE_WAIT] = {"sched_throttle_wait", "throttle-wait", METRIC_SIDE, false},
	[SCHED_RUN_DELAY] = {"sched_run_delay", "run-delay", METRIC_SIDE, false, .ranks = true},
};
