// SPDX-License-Identifier: GPL-2.0-or-later
/* How a run begins: COMMAND, sources, sinks; which of the sources there are, it says itself. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/limit.h"
#include "core/text.h"
#include "limits_check.h"
#include "run.h"
#include "source/privs.h"

/*
 * Probed and opened. A default source that this machine cannot run is left out, with the reason; a
 * named one (`must`) is an error then, and for both a mistake of the user's is.
 */
static int open_source(struct run *r, const struct source_ops *ops, bool must, struct err *e)
{
	struct run_source *s = &r->sources[r->nsources++];
	struct source_args args = {
		.cfg = r->cfg,
		.on_slow = run_slow,
		.slow_ctx = r,
		.names = &r->names,
		.shared = &r->shared,
	};
	struct err why = {0};
	int ret;

	s->ops = ops;
	if (r->command)
		args.command_pid = command_pid(r->command);
	ret = source_open(ops, &s->src, &args, &why);
	if (!ret)
		return 0;
	if (!why.text[0])
		err_sys(&why, ret, "%s", ops->name);
	s->cannot = ret;
	memcpy(s->why, why.text, sizeof(s->why));
	if (!must && err_exit(&why) == EXIT_CANNOT)
		return 0;
	return err_set(e, err_exit(&why), ret, "%s", why.text);
}

/*
 * In the order of the list, however they were named: a source that keeps what others read is opened
 * before them. Where none of the default ones can run, the reason of the first is the one that matters
 * most.
 */
static int open_sources(struct run *r, struct err *e)
{
	bool named = r->cfg->sources.n;
	size_t i, n = 0, on = 0;
	int ret = 0;

	for (i = 0; source_list[i]; i++)
		n += source_asked(r->cfg, source_list[i]);
	r->sources = calloc(n, sizeof(*r->sources));
	if (!r->sources)
		return err_sys(e, -ENOMEM, "sources");
	for (i = 0; !ret && source_list[i]; i++)
		if (source_asked(r->cfg, source_list[i]))
			ret = open_source(r, source_list[i], named, e);
	for (i = 0; i < r->nsources; i++)
		on += r->sources[i].src != NULL;
	if (ret || on)
		return ret;
	return err_set(e, EXIT_CANNOT, r->sources[0].cannot, "%s", r->sources[0].why);
}

/*
 * As the kernel decides for us: a user whom it shows no addresses of its own sees none in our
 * reports either. Sources that have any have opened the names.
 */
static int hide_addresses(struct run *r, struct err *e)
{
	uint8_t key[HIDE_KEY_BYTES];

	if (!r->names.names || privs_kernel_shown(r->names.names))
		return 0;
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return err_sys(e, -errno, "addresses: no random bytes to hide them with");
	hide_begin(&r->hide, key);
	hide_begin(&r->hide_slow, key);
	return 0;
}

static int check_limits(const struct run *r, struct err *e)
{
	uint64_t metrics = 0;

	for (size_t i = 0; i < r->nsources; i++)
		if (r->sources[i].src)
			metrics |= limits_metrics(r->sources[i].ops);
	return limits_check(&r->cfg->limits, metrics, r->cfg->by > BY_CPU, "that runs", e);
}

int run_open(struct run *r, const struct config *cfg, char **argv, struct err *e)
{
	int ret = 0;

	memset(r, 0, sizeof(*r));
	r->cfg = cfg;
	r->argv = argv;
	r->names.args = (struct names_args){.btf = cfg->btf, .debuginfod = cfg->debuginfod};
	r->drain_ns = SOURCE_DRAIN_NS;
	if (cfg->command)
		ret = command_fork(&r->command, cfg->command, e);
	if (!ret)
		ret = open_sources(r, e);
	if (!ret)
		ret = check_limits(r, e);
	if (!ret)
		ret = hide_addresses(r, e);
	return ret ? ret : outputs_open(&r->outputs, cfg, false, e);
}
