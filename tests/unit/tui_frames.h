/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames for the terminal's report to keep and draw. */
#ifndef WS_TUI_FRAMES_H
#define WS_TUI_FRAMES_H

#include <stdio.h>
#include <stdlib.h>

#include "core/frame.h"
#include "unit.h"

#define GROUPS 1000

struct made {
	struct frame f;
	struct series s[6 + 3 * GROUPS];
	struct hist h[6 + 3 * GROUPS];
	char name[GROUPS][16];
	struct contended c[3];
	size_t n;
};

static struct bucket_table table;

static void add_series(struct made *m, const char *metric, const char *key, const char *value,
		       uint64_t ns, uint64_t count)
{
	struct series *s = &m->s[m->n];
	struct hist *h = &m->h[m->n];

	hist_init(h, 5);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(hist_add(h, &table, ns * (1 + i % 10)), 0);
	*s = (struct series){.desc = metric_find(metric), .hist = h};
	assert_non_null(s->desc);
	if (key) {
		s->labels[0] = (struct label){key, value};
		s->nlabels = 1;
	}
	m->f.series = m->s;
	m->f.nseries = ++m->n;
}

static struct made *new_frame(uint64_t seq)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->f.type = FRAME_INTERVAL;
	m->f.seq = seq;
	m->f.dur_ns = 1000000000;
	m->f.time.tv_sec = 1767225600;
	return m;
}

/* 100 waits of seq to 10 * seq usec, of which CPU 1 has the longer half. */
static struct made *usual(uint64_t seq)
{
	struct made *m = new_frame(seq);

	add_series(m, "sched_wakeup_latency", NULL, NULL, seq * 1000, 100);
	add_series(m, "sched_run_delay", NULL, NULL, seq * 500, 40);
	add_series(m, "sched_wakeup_latency", "cpu", "0", seq * 1000, 40);
	add_series(m, "sched_wakeup_latency", "cpu", "1", seq * 2000, 60);
	add_series(m, "ext4_op_latency", "op", "fsync", seq * 70000, 30);
	add_series(m, "ext4_op_latency", "op", "write", seq * 3000, 20);
	return m;
}

/* Groups that each have half as many waits as the one before, which wait longer. */
static inline struct made *groups(uint64_t seq, size_t n)
{
	struct made *m = new_frame(seq);

	add_series(m, "sched_wakeup_latency", NULL, NULL, 1000, 10);
	add_series(m, "sched_run_delay", NULL, NULL, 1000, 10);
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(m->name[i], sizeof(m->name[i]), "task%zu", i);
		add_series(m, "sched_wakeup_latency", "comm", m->name[i], 1000 + i, 30);
		add_series(m, "sched_queue_to_run", "comm", m->name[i], 900 + i, 30);
		add_series(m, "sched_run_delay", "comm", m->name[i], 1000 + i, 1 + i % 40);
	}
	return m;
}

static void drop(struct made *m)
{
	for (size_t i = 0; i < m->n; i++)
		hist_free(&m->h[i]);
	free(m);
}

#endif
