/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "source/source.h"

const struct source_ops *const source_list[] = {
	&source_sched, &source_ext4, &source_lock, &source_futex, &source_line, &source_synth, NULL,
};

const struct source_ops *source_find(const char *name)
{
	for (size_t i = 0; source_list[i]; i++)
		if (!strcmp(source_list[i]->name, name))
			return source_list[i];
	return NULL;
}
