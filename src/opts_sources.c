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

/* To whom an option means something: who has it as a row, or this bool of its ops. */
struct scope {
	const struct option_row *row; /* or NULL: */
	size_t member;
};

static bool means(const struct source_ops *ops, const struct scope *s)
{
	if (!s->row)
		return *(const bool *)((const char *)ops + s->member);
	for (const struct option_row *own = ops->options; own && own->name; own++)
		if (!strcmp(own->name, s->row->name))
			return true;
	return false;
}

/* "sched, ext4 or lock" */
static void sources_text(const struct scope *s, char *out, size_t size)
{
	const char *names[SOURCES_MAX];
	size_t i, n = 0, at = 0;

	for (i = 0; source_list[i] && n < SOURCES_MAX; i++)
		if (!source_list[i]->made_up && means(source_list[i], s))
			names[n++] = source_list[i]->name;
	for (i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", /* fits: short names */
				       !i	    ? ""
				       : i + 1 == n ? " or "
						    : ", ",
				       names[i]);
}

static int check_scope(struct opts_run *r, const char *name, const struct scope *s)
{
	const struct source_ops *says_why = NULL;
	char names[64] = "";

	for (size_t i = 0; source_list[i]; i++) {
		const struct source_ops *ops = source_list[i];

		if (!source_asked(r->cfg, ops))
			continue;
		if (ops->made_up || means(ops, s))
			return 0;
		if (!s->row && s->member == offsetof(struct source_ops, groups) && ops->ungrouped)
			says_why = ops;
	}
	sources_text(s, names, sizeof(names));
	if (says_why)
		return opts_bad(r, "--%s: means nothing to %s: %s (expected %s in --source)", name,
				says_why->name, says_why->ungrouped, names);
	return opts_bad(r, "--%s: means nothing to these sources (expected %s in --source)", name,
			names);
}

int opts_check_scopes(struct opts_run *r)
{
	const struct config *cfg = r->cfg;
	const struct {
		bool given;
		const char *name;
		size_t member;
	} shared[] = {
		{cfg->by == BY_FILE, "by file", offsetof(struct source_ops, files)},
		{cfg->by != BY_NONE, "by", offsetof(struct source_ops, groups)},
		{cfg->slower, "slower", offsetof(struct source_ops, slow)},
		{cfg->why, "why", offsetof(struct source_ops, why)},
	};
	int ret = 0;

	/* Options of a source that were given are for it, or for another that is asked. */
	for (size_t i = 0; source_list[i]; i++)
		for (const struct option_row *o = source_list[i]->options; !ret && o && o->name;
		     o++)
			if (opts_given(r, o->name))
				ret = check_scope(r, o->name, &(struct scope){.row = o});
	for (size_t i = 0; !ret && i < sizeof(shared) / sizeof(shared[0]); i++)
		if (shared[i].given)
			ret = check_scope(r, shared[i].name,
					  &(struct scope){.member = shared[i].member});
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
