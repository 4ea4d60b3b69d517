// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "sink/sink.h"

/* clang-format off */
const struct sink_ops *const sink_list[] = {
	&sink_table,
	&sink_tui,
	&sink_json,
	&sink_csv,
	&sink_prom,
	&sink_prom_proto,
	&sink_otlp,
	&sink_hlog,
	&sink_html,
	&sink_perfetto,
	NULL,
};
/* clang-format on */

const struct sink_ops *sink_find(const char *name)
{
	const struct sink_ops *const *ops;

	for (ops = sink_list; *ops; ops++) {
		if (!strcmp((*ops)->name, name))
			return *ops;
	}
	return NULL;
}
