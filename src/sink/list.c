// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "sink/out.h"
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

int sink_open_out(struct sink *s, struct out *o, const struct sink_args *args, struct err *e)
{
	s->out = o;
	if (!args->memory)
		return out_open(o, args->path, args->owner_only, e);
	out_open_memory(o);
	return 0;
}

const struct sink_ops *sink_find(const char *name)
{
	const struct sink_ops *const *ops;

	for (ops = sink_list; *ops; ops++) {
		if (!strcmp((*ops)->name, name))
			return *ops;
	}
	return NULL;
}
