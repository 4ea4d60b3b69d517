/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of --fail-if can be known before a report: it is not found out at the end of a long run. */
#ifndef WS_LIMITS_CHECK_H
#define WS_LIMITS_CHECK_H

#include "core/config.h"
#include "core/err.h"
#include "source/source.h"

/* A SOURCE_METRICS each of what the source tells of; of made-up data, all of them. */
uint64_t limits_metrics(const struct source_ops *ops);
/*
 * Does a source tell of each limit's metric, and may there be its labels? `groups`: there are rows of --by.
 * -EINVAL with words, exit 2; `which` sources, for these: "that runs".
 */
int limits_check(const struct limit_list *l, uint64_t metrics, bool groups, const char *which,
		 struct err *e);

#endif
