// SPDX-License-Identifier: GPL-2.0-or-later
#include "limits_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/limit.h"
#include "core/text.h"

uint64_t limits_metrics(const struct source_ops *ops)
{
	return ops->made_up ? UINT64_MAX : ops->metrics;
}

static bool tells_of(uint64_t metrics, const struct metric_desc *desc)
{
	return metrics >> (desc - metric_list) & 1;
}

/* By what a task is called in rows of --by; other labels are there or not, as it happens. */
static bool needs_groups(const struct limit *l)
{
	static const char *const keys[] = {"pid",  "tid",  "comm",	  "cgroup",
					   "file", "unit", "container_id"};

	for (size_t i = 0; i < l->nlabels; i++)
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (!strcmp(l->labels[i].key, keys[k]))
				return true;
	return false;
}

static int check(const struct limit *l, uint64_t metrics, bool groups, const char *which,
		 struct err *e)
{
	char text[128], names[64] = "";
	size_t i, at = 0;

	text_clean(text, sizeof(text), l->text, SIZE_MAX);
	if (needs_groups(l) && !groups)
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"--fail-if '%s': nothing in this run has these labels (expected --by)",
			text);
	if (tells_of(metrics, l->desc))
		return 0;
	for (i = 0; source_list[i] && at < sizeof(names); i++)
		if (!source_list[i]->made_up && tells_of(source_list[i]->metrics, l->desc))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? " or " : "", source_list[i]->name);
	return err_set(e, EXIT_USAGE, -EINVAL,
		       "--fail-if '%s': no source %s tells of %s (expected %s in --source)", text,
		       which, l->desc->name, names);
}

int limits_check(const struct limit_list *l, uint64_t metrics, bool groups, const char *which,
		 struct err *e)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < l->n; i++)
		ret = check(&l->v[i], metrics, groups, which, e);
	return ret;
}
