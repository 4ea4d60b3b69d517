// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/ext4/ext4.h"

const struct ext4_kind ext4_kinds[ABI_EXT4_KINDS] = {
	[ABI_EXT4_FSYNC] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "fsync", true},
	[ABI_EXT4_WRITE] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "write", true},
	[ABI_EXT4_MAP] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "map-blocks", true},
	[ABI_EXT4_WRITEPAGES] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "writepages", true},
	[ABI_EXT4_TRUNCATE] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "truncate", true},
	[ABI_EXT4_UNLINK] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "unlink", true},
	[ABI_EXT4_FALLOCATE] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "fallocate", true},
	[ABI_EXT4_DIO_READ] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "dio-read", true},
	[ABI_EXT4_DIO_WRITE] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "dio-write", true},
	[ABI_EXT4_AIO_READ] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "aio-read", false},
	[ABI_EXT4_AIO_WRITE] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "aio-write", false},
	[ABI_EXT4_START_WAIT] = {&metric_list[METRIC_JBD2_START_WAIT], "op", "start-wait", true},
	[ABI_EXT4_HANDLE_HELD] = {&metric_list[METRIC_JBD2_HANDLE_HELD], "op", "handle-held", true},
	[ABI_EXT4_COMMIT] = {&metric_list[METRIC_JBD2_COMMIT], "op", "commit", true},
	[ABI_EXT4_COMMIT_LOCKING] = {&metric_list[METRIC_JBD2_COMMIT_LOCKING], "op",
				     "commit-locking", true},
	[ABI_EXT4_COMMIT_FLUSHING] = {&metric_list[METRIC_JBD2_COMMIT_FLUSHING], "op",
				      "commit-flushing", true},
	[ABI_EXT4_COMMIT_LOGGING] = {&metric_list[METRIC_JBD2_COMMIT_LOGGING], "op",
				     "commit-logging", true},
	[ABI_EXT4_ES_LOOKUP] = {&metric_list[METRIC_EXT4_ES_LOOKUP_LATENCY], "op", "es-lookup",
				true},
	[ABI_EXT4_FILE_READ] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "file-read", true},
	[ABI_EXT4_FILE_WRITE] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "file-write", true},
	[ABI_EXT4_FILE_OPEN] = {&metric_list[METRIC_EXT4_OP_LATENCY], "op", "file-open", true},
	[ABI_EXT4_WRITE_RETRY] = {&metric_list[METRIC_EXT4_EVENTS], "event", "write-retry", false},
	[ABI_EXT4_PUNCH_HOLE] = {&metric_list[METRIC_EXT4_EVENTS], "event", "punch-hole", false},
	[ABI_EXT4_ZERO_RANGE] = {&metric_list[METRIC_EXT4_EVENTS], "event", "zero-range", false},
	[ABI_EXT4_COLLAPSE_RANGE] = {&metric_list[METRIC_EXT4_EVENTS], "event", "collapse-range",
				     false},
	[ABI_EXT4_INSERT_RANGE] = {&metric_list[METRIC_EXT4_EVENTS], "event", "insert-range",
				   false},
};

const char *const ext4_es_hit_kinds[ABI_ES_MISS] = {
	[ABI_ES_WRITTEN] = "written",
	[ABI_ES_UNWRITTEN] = "unwritten",
	[ABI_ES_DELAYED] = "delayed",
	[ABI_ES_HOLE] = "hole",
};
