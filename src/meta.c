// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/text.h"
#include "core/version.h"
#include "meta.h"

#define FILTERS_MAX 8

struct meta_data {
	struct meta meta;
	struct utsname uts;
	struct label filters[FILTERS_MAX];
	char *texts[FILTERS_MAX];
};

/* Takes text over. */
static int add_filter(struct meta_data *m, const char *key, char *text)
{
	if (!text)
		return -ENOMEM;
	m->texts[m->meta.nfilters] = text;
	m->filters[m->meta.nfilters] = (struct label){key, text};
	m->meta.nfilters++;
	return 0;
}

static void print_u32(FILE *f, const void *list, size_t i)
{
	fprintf(f, "%u", ((const struct u32_list *)list)->v[i]);
}

static void print_str(FILE *f, const void *list, size_t i)
{
	fputs(((const struct str_list *)list)->v[i], f);
}

/* "a,b,c", to be freed; NULL without memory. */
static char *join(const void *list, size_t n, void (*print)(FILE *f, const void *list, size_t i))
{
	char *out = NULL;
	size_t len = 0, i;
	FILE *f = open_memstream(&out, &len);

	if (!f)
		return NULL;
	for (i = 0; i < n; i++) {
		if (i)
			fputc(',', f);
		print(f, list, i);
	}
	return fclose(f) ? NULL : out;
}

static char *time_text(uint64_t ns)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%lluns", (unsigned long long)ns);
	return strdup(buf);
}

static int add_filters(struct meta_data *m, const struct config *cfg, const struct command *command)
{
	const struct filter *f = &cfg->filter;
	int ret = 0;

	if (f->pids.n)
		ret = add_filter(m, "pid", join(&f->pids, f->pids.n, print_u32));
	if (!ret && f->tids.n)
		ret = add_filter(m, "tid", join(&f->tids, f->tids.n, print_u32));
	if (!ret && f->cgroups.n)
		ret = add_filter(m, "cgroup", join(&f->cgroups, f->cgroups.n, print_str));
	if (!ret && f->comm)
		ret = add_filter(m, "comm", strdup(f->comm));
	if (!ret && f->cpus_text)
		ret = add_filter(m, "cpu", strdup(f->cpus_text));
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
	size_t i;

	m->meta.sources = v;
	if (!v)
		return -ENOMEM;
	for (i = 0; i < r->nsources; i++) {
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
	m->meta.filters = m->filters;
	ret = add_sources(m, r);
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
	size_t i;

	if (!m)
		return;
	for (i = 0; i < FILTERS_MAX; i++)
		free(m->texts[i]);
	free((void *)m->meta.sources);
	free(m);
}
