// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "source/texts.h"

void texts_replace(struct str_list *old, char **text, const char *value)
{
	char *copy = value ? strdup(value) : NULL, **v;

	if ((value && !copy) || (*text && value && !strcmp(*text, value))) {
		free(copy);
		return;
	}
	if (*text) {
		v = realloc(old->v, (old->n + 1) * sizeof(*v));
		if (!v) {
			free(copy);
			return;
		}
		old->v = v;
		old->v[old->n++] = *text;
	}
	*text = copy;
}

void texts_drop(struct str_list *old)
{
	while (old->n)
		free(old->v[--old->n]);
	free(old->v);
	old->v = NULL;
}
