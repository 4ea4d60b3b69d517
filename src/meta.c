// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/array.h"
#include "core/text.h"
#include "core/version.h"
#include "hardware.h"
#include "run.h"
#include "source/source.h"

struct meta_data {
	struct meta meta;
	struct utsname uts;
	struct label *filters;
	struct meta_options options;
	const char **percentiles;
	struct hardware *hardware;
	size_t cap;
};

/* One label for each time an option was given. Takes text over. */
static int add_filter(struct meta_data *m, const char *key, char *text)
{
	struct label *v;

	v = text ? array_room(m->filters, &m->cap, m->meta.nfilters, 1, sizeof(*v)) : NULL;
	if (!v) {
		free(text);
		return -ENOMEM;
	}
	v[m->meta.nfilters++] = (struct label){key, text};
	m->meta.filters = m->filters = v;
	return 0;
}

static char *number_text(uint64_t v, const char *unit)
{
	char buf[32];

	(void)snprintf(buf, sizeof(buf), "%" PRIu64 "%s", v, unit); /* fits */
	return strdup(buf);
}

/* In the largest unit that leaves no rest: "2ms". */
static char *time_text(uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	return number_text(ns / units[i].ns, units[i].name);
}

static int add_u32s(struct meta_data *m, const char *key, const struct u32_list *l)
{
	int ret = 0;

	for (size_t i = 0; i < l->n && !ret; i++)
		ret = add_filter(m, key, number_text(l->v[i], ""));
	return ret;
}

static int add_strs(struct meta_data *m, const char *key, const struct str_list *l)
{
	int ret = 0;

	for (size_t i = 0; i < l->n && !ret; i++)
		ret = add_filter(m, key, strdup(l->v[i]));
	return ret;
}

static int add_filters(struct meta_data *m, const struct config *cfg, const struct command *command)
{
	const struct filter *f = &cfg->filter;
	const struct option_row *o;
	int ret = 0;

	for (o = filters_options; !ret && o->name; o++) {
		const void *given = (const char *)cfg + o->at;

		if (o->type == OPTION_IDS)
			ret = add_u32s(m, o->name, given);
		else if (o->type == OPTION_TEXTS)
			ret = add_strs(m, o->name, given);
	}
	if (!ret && command)
		ret = add_filter(m, "command", strdup(cfg->command[0]));
	if (!ret && (f->pids.n || f->tids.n || command))
		ret = add_filter(m, "follow", strdup(f->follow ? "yes" : "no"));
	if (!ret && cfg->slower)
		ret = add_filter(m, "slower", time_text(cfg->slower_ns));
	return ret;
}

static int add_sources(struct meta_data *m, const struct run *r)
{
	struct meta_source *v = calloc(r->nsources ? r->nsources : 1, sizeof(*v));

	m->meta.sources = v;
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < r->nsources; i++) {
		const struct run_source *s = &r->sources[i];

		v[i].name = s->ops->name;
		v[i].on = s->src != NULL;
		v[i].why = s->src ? NULL : s->why;
		v[i].hooks = s->src ? s->ops->hooks(s->src) : NULL;
		v[i].lacks = s->src && s->ops->lacks ? s->ops->lacks(s->src) : NULL;
	}
	m->meta.nsources = r->nsources;
	return 0;
}

static const char *const by_names[] = {
	[BY_PID] = "pid",	[BY_TID] = "tid",
	[BY_COMM] = "comm",	[BY_CPU] = "cpu",
	[BY_CGROUP] = "cgroup", [BY_FILE] = "file",
	[BY_UNIT] = "unit",	[BY_CONTAINER] = "container",
};

int meta_build(struct meta_data **out, const struct run *r, struct err *e)
{
	struct meta_data *m = calloc(1, sizeof(*m));
	int ret;

	if (!m)
		return err_sys(e, -ENOMEM, "start");
	if (uname(&m->uts))
		m->uts.release[0] = '\0';
	m->meta.version = WS_VERSION;
	m->meta.kernel = m->uts.release;
	m->meta.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->meta.argv = (const char *const *)r->argv;
	m->meta.start = moment_now().wall;
	m->meta.hidden = r->hide.on;
	m->percentiles = calloc(r->cfg->nquantiles + 1, sizeof(*m->percentiles));
	for (size_t i = 0; m->percentiles && i < r->cfg->nquantiles; i++)
		m->percentiles[i] = r->cfg->quantiles[i].text;
	m->options = (struct meta_options){.by = by_names[r->cfg->by],
					   .interval_ns = r->cfg->interval_ns,
					   .precision = r->cfg->precision,
					   .percentiles = m->percentiles};
	m->meta.options = &m->options;
	m->hardware = hardware_read();
	if (m->hardware)
		m->meta.machine = hardware_get(m->hardware);
	ret = m->hardware && m->percentiles ? add_sources(m, r) : -ENOMEM;
	if (!ret)
		ret = add_filters(m, r->cfg, r->command);
	if (ret) {
		meta_free(m);
		return err_sys(e, ret, "start");
	}
	*out = m;
	return 0;
}

const struct meta *meta_get(const struct meta_data *m)
{
	return &m->meta;
}

void meta_free(struct meta_data *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->meta.nfilters; i++)
		free((void *)m->filters[i].value); /* ours, from strdup */
	free(m->filters);
	free((void *)m->meta.sources);
	hardware_free(m->hardware);
	free(m->percentiles);
	free(m);
}
