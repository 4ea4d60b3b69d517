// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "sink/sink.h"

const struct sink_ops *const sink_list[] = {
	&sink_table,
	&sink_json,
	&sink_csv,
	NULL,
};

const struct sink_ops *sink_find(const char *name)
{
	const struct sink_ops *const *ops;

	for (ops = sink_list; *ops; ops++) {
		if (!strcmp((*ops)->name, name))
			return *ops;
	}
	return NULL;
}
