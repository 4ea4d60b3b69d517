/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Prometheus reads, of what a run has counted: both forms of it. */
#ifndef WS_SINK_PROM_H
#define WS_SINK_PROM_H

#include "core/export.h"
#include "sink/out.h"

#define PROM_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define PROM_PROTO_TYPE                     \
	"application/vnd.google.protobuf; " \
	"proto=io.prometheus.client.MetricFamily; encoding=delimited"

/* Classic buckets: powers of two seconds, from 1 us to 64 s. */
#define PROM_LE_FIRST (-20)
#define PROM_LE_LAST 6
#define PROM_LES (PROM_LE_LAST - PROM_LE_FIRST + 1)

/* "waitscope_sched_wakeup_latency_seconds": the unit, then what a counter ends in. */
#define PROM_NAME 160
const char *prom_name(char out[PROM_NAME], const struct export_family *f);
/* How many samples are below each edge, or on it. */
void prom_classic(const struct hist *h, uint64_t below[PROM_LES]);

/* All families, as a record that is not flushed. */
void prom_put_text(struct out *o, const struct export *x);
/* The same delimited, with native histograms beside the classic buckets. */
void prom_put_proto(struct out *o, const struct export *x);

#endif
