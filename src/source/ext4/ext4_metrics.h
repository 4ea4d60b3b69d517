/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ext4 source reports, by the kinds of abi_ext4.h. */
#ifndef WS_EXT4_METRICS_H
#define WS_EXT4_METRICS_H

#include <linux/types.h>

#include "abi_ext4.h"
#include "core/frame.h"

struct ext4_kind {
	const struct metric_desc *desc;
	const char *label; /* "op" or "event"; NULL: none but the device */
	const char *value; /* of that label */
	bool split;	   /* blocked and run-queue time are known */
};

/* All operations and counted events but ABI_EXT4_ES. */
extern const struct ext4_kind ext4_kinds[ABI_EXT4_KINDS];

/* By ABI_ES_*, without the miss. */
extern const char *const ext4_es_hit_kinds[ABI_ES_MISS];

#endif
