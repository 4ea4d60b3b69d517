/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "source/privs.h"
#include "source/source.h"

const struct source_ops *const source_list[] = {
	&source_sched, &source_ext4,  &source_lock,  &source_futex,
	&source_line,  &source_watch, &source_synth, NULL,
};

const struct source_ops *source_find(const char *name)
{
	for (size_t i = 0; source_list[i]; i++)
		if (!strcmp(source_list[i]->name, name))
			return source_list[i];
	return NULL;
}

bool source_named(const struct config *cfg, const struct source_ops *ops)
{
	for (size_t i = 0; i < cfg->sources.n; i++)
		if (!strcmp(cfg->sources.v[i], ops->name))
			return true;
	return false;
}

bool source_asked(const struct config *cfg, const struct source_ops *ops)
{
	return cfg->sources.n ? source_named(cfg, ops) : ops->by_default;
}

bool sources_split(const struct config *cfg)
{
	for (size_t i = 0; source_list[i]; i++)
		if (source_list[i]->splits && source_asked(cfg, source_list[i]))
			return true;
	return false;
}

static bool holds(const struct source_ops *ops)
{
	struct err e = {0};

	return ops->contends && !ops->made_up && !(ops->probe && ops->probe(&e));
}

bool sources_hold(const struct config *cfg)
{
	for (size_t i = 0; cfg->why && source_list[i]; i++)
		if (source_asked(cfg, source_list[i]) && holds(source_list[i]))
			return true;
	return false;
}

int source_open(const struct source_ops *ops, struct source **out, const struct source_args *args,
		struct err *e)
{
	int ret = ops->probe ? ops->probe(e) : 0;

	*out = NULL;
	if (!ret)
		ret = ops->open(out, args, e);
	if (ret && *out)
		ops->close(*out);
	if (ret)
		*out = NULL;
	if (ret != -EPERM || privs_suffice())
		return ret;
	*e = (struct err){0}; /* its words do not know what else was asked for */
	return privs_missing(e, ret, "BPF", args->cfg);
}
