/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metrics of scheduler waits: of the scheduler source, and of synth, which plays it. */
#ifndef WS_SCHED_METRICS_H
#define WS_SCHED_METRICS_H

#include "core/frame.h"

enum sched_metric {
	SCHED_WAKEUP_LATENCY, /* T2 - T0; the first five are numbered as in abi.h */
	SCHED_WAKE_TO_QUEUE,  /* T1 - T0 */
	SCHED_QUEUE_TO_RUN,   /* T2 - T1 */
	SCHED_PREEMPT_WAIT,   /* switched out runnable -> switched in */
	SCHED_THROTTLE_WAIT,  /* the same while out of CPU quota: not in run_delay */
	SCHED_RUN_DELAY,      /* queue_to_run and preempt_wait together */
	SCHED_METRICS,
};

extern const struct metric_desc sched_metrics[SCHED_METRICS];

#endif
