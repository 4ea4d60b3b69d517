/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "core/frame.h"

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
