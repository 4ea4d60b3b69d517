// SPDX-License-Identifier: GPL-2.0-or-later
/* Options that mean something to some sources only; made-up data takes them all. */
#include <stdio.h>
#include <string.h>

#include "opts_table.h"
#include "source/source.h"

bool opts_given(const struct opts_run *r, const char *name)
{
	size_t i = 0;

	while (strcmp(r->rows[i]->name, name)) /* it is one of them */
		i++;
	return r->given[i];
}

typedef bool (*means_fn)(const struct source_ops *ops, const struct option_row *o);

static bool means_row(const struct source_ops *ops, const struct option_row *o)
{
	const struct option_row *own;

	for (own = ops->options; own && own->name; own++)
		if (!strcmp(own->name, o->name))
			return true;
	return false;
}

static bool means_by(const struct source_ops *ops, const struct option_row *o)
{
	return ops->groups;
}

static bool means_file(const struct source_ops *ops, const struct option_row *o)
{
	return ops->files;
}

static bool means_slower(const struct source_ops *ops, const struct option_row *o)
{
	return ops->slow;
}

static bool means_why(const struct source_ops *ops, const struct option_row *o)
{
	return ops->why;
}

/* "sched, ext4 or lock" */
static void sources_text(means_fn means, const struct option_row *o, char *out, size_t size)
{
	const char *names[SOURCES_MAX];
	size_t i, n = 0, at = 0;

	for (i = 0; source_list[i] && n < SOURCES_MAX; i++)
		if (!source_list[i]->made_up && means(source_list[i], o))
			names[n++] = source_list[i]->name;
	for (i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", /* fits: short names */
				       !i	    ? ""
				       : i + 1 == n ? " or "
						    : ", ",
				       names[i]);
}

static int check_scope(struct opts_run *r, const char *name, means_fn means,
		       const struct option_row *o)
{
	const struct source_ops *says_why = NULL;
	char names[64] = "";

	for (size_t i = 0; source_list[i]; i++) {
		const struct source_ops *ops = source_list[i];

		if (!source_asked(r->cfg, ops))
			continue;
		if (ops->made_up || means(ops, o))
			return 0;
		if (means == means_by && ops->ungrouped)
			says_why = ops;
	}
	sources_text(means, o, names, sizeof(names));
	if (says_why)
		return opts_bad(r, "--%s: means nothing to %s: %s (expected %s in --source)", name,
				says_why->name, says_why->ungrouped, names);
	return opts_bad(r, "--%s: means nothing to these sources (expected %s in --source)", name,
			names);
}

/* Of a source: its options that were given are for it, or for another that is asked. */
static int check_own_rows(struct opts_run *r, const struct source_ops *ops)
{
	const struct option_row *o;
	int ret = 0;

	for (o = ops->options; !ret && o && o->name; o++)
		if (opts_given(r, o->name))
			ret = check_scope(r, o->name, means_row, o);
	return ret;
}

int opts_check_scopes(struct opts_run *r)
{
	const struct config *cfg = r->cfg;
	int ret = 0;

	for (size_t i = 0; !ret && source_list[i]; i++)
		ret = check_own_rows(r, source_list[i]);
	if (!ret && cfg->by == BY_FILE)
		ret = check_scope(r, "by file", means_file, NULL);
	if (!ret && cfg->by != BY_NONE)
		ret = check_scope(r, "by", means_by, NULL);
	if (!ret && cfg->slower)
		ret = check_scope(r, "slower", means_slower, NULL);
	if (!ret && cfg->why)
		ret = check_scope(r, "why", means_why, NULL);
	return ret;
}

int opts_settle_sources(struct opts_run *r)
{
	const struct option_row *o;
	int ret = 0;

	for (size_t i = 0; !ret && source_list[i]; i++) {
		const struct source_ops *ops = source_list[i];

		for (o = ops->options; !ret && o && o->name; o++)
			if (o->asks && opts_given(r, o->name) && !source_named(r->cfg, ops))
				ret = opts_add_source(r, ops->name);
		if (!ret && ops->settle)
			ret = ops->settle(r->cfg, r->e);
	}
	return ret;
}
