/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "core/frame.h"

const struct series *frame_whole(const struct frame *f, const char *name)
{
	for (size_t i = 0; i < f->nseries; i++) {
		const struct series *s = &f->series[i];

		if (!s->nlabels && !strcmp(s->desc->name, name))
			return s;
	}
	return NULL;
}

const char *series_label(const struct series *s, const char *key)
{
	for (uint32_t i = 0; i < s->nlabels && i < SERIES_LABELS; i++)
		if (!strcmp(s->labels[i].key, key))
			return s->labels[i].value;
	return NULL;
}

bool quality_complete(const struct quality *q)
{
	return !(q->unpaired || q->clamped || q->map_full || q->recursion_misses || q->lost_events);
}
