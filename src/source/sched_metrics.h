/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler's metrics, in the order they are reported (DESIGN section 1). */
#ifndef WS_SCHED_METRICS_H
#define WS_SCHED_METRICS_H

#include "core/frame.h"

enum {
	SCHED_WAKEUP_LATENCY, /* the first five are histograms of their own, numbered as in abi.h */
	SCHED_WAKE_TO_QUEUE,
	SCHED_QUEUE_TO_RUN,
	SCHED_PREEMPT_WAIT,
	SCHED_THROTTLE_WAIT,
	SCHED_RUN_DELAY, /* queue_to_run and preempt_wait together */
	SCHED_METRICS,
};

extern const struct metric_desc sched_metrics[SCHED_METRICS];

#endif
