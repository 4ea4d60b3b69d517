// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/ext4/ext4_metrics.h"

#define OPS "ext4_op_latency"
#define OPS_TITLE "ext4 operations"

/* One table for all of them: the journal's join it. */
static const struct metric_desc op_latency = {
	.name = OPS,
	.title = OPS_TITLE,
	.role = METRIC_ROWS,
};

#define JOURNAL(id)                            \
	static const struct metric_desc id = { \
		.name = "jbd2_" #id,           \
		.title = OPS_TITLE,            \
		.role = METRIC_ROWS,           \
		.joins = OPS,                  \
	}

JOURNAL(start_wait);
JOURNAL(handle_held);
JOURNAL(commit);
JOURNAL(commit_locking);
JOURNAL(commit_flushing);
JOURNAL(commit_logging);

static const struct metric_desc es_lookup_latency = {
	.name = "ext4_es_lookup_latency",
	.title = OPS_TITLE,
	.role = METRIC_ROWS,
	.joins = OPS,
};

static const struct metric_desc events = {
	.name = "ext4_events",
	.title = "ext4 events",
	.role = METRIC_COUNTS,
	.counter = true,
};

const struct ext4_kind ext4_kinds[ABI_EXT4_KINDS] = {
	[ABI_EXT4_FSYNC] = {&op_latency, "op", "fsync", true},
	[ABI_EXT4_WRITE] = {&op_latency, "op", "write", true},
	[ABI_EXT4_MAP] = {&op_latency, "op", "map-blocks", true},
	[ABI_EXT4_WRITEPAGES] = {&op_latency, "op", "writepages", true},
	[ABI_EXT4_TRUNCATE] = {&op_latency, "op", "truncate", true},
	[ABI_EXT4_UNLINK] = {&op_latency, "op", "unlink", true},
	[ABI_EXT4_FALLOCATE] = {&op_latency, "op", "fallocate", true},
	[ABI_EXT4_DIO_READ] = {&op_latency, "op", "dio-read", true},
	[ABI_EXT4_DIO_WRITE] = {&op_latency, "op", "dio-write", true},
	[ABI_EXT4_AIO_READ] = {&op_latency, "op", "aio-read", false},
	[ABI_EXT4_AIO_WRITE] = {&op_latency, "op", "aio-write", false},
	[ABI_EXT4_START_WAIT] = {&start_wait, "op", "start-wait", true},
	[ABI_EXT4_HANDLE_HELD] = {&handle_held, "op", "handle-held", true},
	[ABI_EXT4_COMMIT] = {&commit, "op", "commit", true},
	[ABI_EXT4_COMMIT_LOCKING] = {&commit_locking, "op", "commit-locking", true},
	[ABI_EXT4_COMMIT_FLUSHING] = {&commit_flushing, "op", "commit-flushing", true},
	[ABI_EXT4_COMMIT_LOGGING] = {&commit_logging, "op", "commit-logging", true},
	[ABI_EXT4_ES_LOOKUP] = {&es_lookup_latency, "op", "es-lookup", true},
	[ABI_EXT4_FILE_READ] = {&op_latency, "op", "file-read", true},
	[ABI_EXT4_FILE_WRITE] = {&op_latency, "op", "file-write", true},
	[ABI_EXT4_FILE_OPEN] = {&op_latency, "op", "file-open", true},
	[ABI_EXT4_WRITE_RETRY] = {&events, "event", "write-retry", false},
	[ABI_EXT4_PUNCH_HOLE] = {&events, "event", "punch-hole", false},
	[ABI_EXT4_ZERO_RANGE] = {&events, "event", "zero-range", false},
	[ABI_EXT4_COLLAPSE_RANGE] = {&events, "event", "collapse-range", false},
	[ABI_EXT4_INSERT_RANGE] = {&events, "event", "insert-range", false},
};

const struct metric_desc ext4_es_lookups = {
	.name = "ext4_es_lookups",
	.title = "Extent status lookups",
	.role = METRIC_COUNTS,
	.counter = true,
	.pivot = "result",
};

const struct metric_desc ext4_es_hits = {
	.name = "ext4_es_hits",
	.title = "Extent status hits",
	.role = METRIC_COUNTS,
	.counter = true,
	.pivot = "kind",
	.joins = "ext4_es_lookups",
};

/* Tables have no room for it. */
const struct metric_desc ext4_op_bytes = {
	.name = "ext4_op_bytes",
	.title = "bytes",
	.role = METRIC_SIDE,
	.counter = true,
};

const char *const ext4_es_hit_kinds[ABI_ES_MISS] = {
	[ABI_ES_WRITTEN] = "written",
	[ABI_ES_UNWRITTEN] = "unwritten",
	[ABI_ES_DELAYED] = "delayed",
	[ABI_ES_HOLE] = "hole",
};
