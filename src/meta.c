// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/array.h"
#include "core/text.h"
#include "core/version.h"
#include "run.h"
#include "source/source.h"

struct meta_data {
	struct meta meta;
	struct utsname uts;
	struct label *filters;
	struct meta_options options;
	struct meta_machine machine;
	struct label *flaws;
	size_t cap, flaws_cap;
	struct arena memory; /* of all else */
};

/* ---- what of the machine makes two runs comparable; what it does not tell is NULL ---- */

#define CPUS "/sys/devices/system/cpu"

/* Parameters of the kernel that switch the mitigations of processor flaws. */
static const char *const switches[] = {
	"mitigations",
	"pti",
	"nopti",
	"kpti",
	"nospectre_v1",
	"nospectre_v2",
	"nospectre_bhb",
	"spectre_v2",
	"spectre_v2_user",
	"spectre_bhi",
	"spec_store_bypass_disable",
	"nospec_store_bypass_disable",
	"ssbd",
	"l1tf",
	"mds",
	"tsx",
	"tsx_async_abort",
	"kvm.nx_huge_pages",
	"srbds",
	"mmio_stale_data",
	"retbleed",
	"spec_rstack_overflow",
	"gather_data_sampling",
	"reg_file_data_sampling",
	"indirect_target_selection",
	"tsa",
	"vmscape",
	"nosmt",
	"l1d_flush",
	"rodata",
};

/* The first line of a file without its end, or NULL. */
static const char *first_line(struct meta_data *m, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	bool any = f && fgets(line, sizeof(line), f);

	if (f)
		(void)fclose(f); /* only read */
	if (!any)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return arena_text(&m->memory, line);
}

/* "model name	: AMD EPYC"; arm64 has numbers instead, of who designed it and which one it is. */
static const char *cpu_model(struct meta_data *m)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], by[64] = "", part[64] = "", text[160];
	const char *name = NULL;

	while (f && !name && !*part && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (!value || !value[1])
			continue;
		value[strcspn(value, "\n")] = '\0';
		value += 2;
		if (!strncmp(line, "model name", 10))
			name = arena_text(&m->memory, value);
		else if (!strncmp(line, "CPU implementer", 15))
			(void)snprintf(by, sizeof(by), "%s", value); /* cut is fine */
		else if (!strncmp(line, "CPU part", 8))
			(void)snprintf(part, sizeof(part), "%s", value);
	}
	if (f)
		(void)fclose(f);
	if (name || !*part)
		return name;
	(void)snprintf(text, sizeof(text), "implementer %s part %s", by, part); /* fits */
	return arena_text(&m->memory, text);
}

/* Of all CPUs; "mixed" if they have not the same one. */
static const char *governor(struct meta_data *m)
{
	const char *all = NULL, *one;
	char path[128];

	for (unsigned int cpu = 0; cpu < 8192; cpu++) {
		(void)snprintf(path, sizeof(path), CPUS "/cpu%u/cpufreq/scaling_governor", cpu);
		one = first_line(m, path);
		if (!one)
			break; /* the last, or none is told */
		if (all && strcmp(all, one))
			return "mixed";
		all = one;
	}
	return all;
}

static bool is_switch(const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (strlen(switches[i]) == len && !strncmp(switches[i], word, len))
			return true;
	return false;
}

static int read_mitigations(struct meta_data *m)
{
	char *line = (char *)first_line(m, "/proc/cmdline"), *save;
	size_t n = 0, most = line ? strlen(line) / 2 + 1 : 0;
	const char **words = arena_take(&m->memory, (most + 1) * sizeof(*words));

	if (!words)
		return -ENOMEM;
	for (char *word = line ? strtok_r(line, " ", &save) : NULL; word;
	     word = strtok_r(NULL, " ", &save)) {
		if (!strcmp(word, "--"))
			break; /* the rest is init's */
		if (is_switch(word))
			words[n++] = word;
	}
	m->machine.mitigations = words;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static int read_flaws(struct meta_data *m)
{
	DIR *dir = opendir(CPUS "/vulnerabilities");
	const struct dirent *d;
	struct label *l;
	char path[512];
	size_t n = 0;
	int ret = 0;

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		l = array_room(m->flaws, &m->flaws_cap, n, 1, sizeof(*l));
		if (!l) {
			ret = -ENOMEM;
			break;
		}
		m->flaws = l;
		(void)snprintf(path, sizeof(path), CPUS "/vulnerabilities/%s", d->d_name);
		l[n].key = arena_text(&m->memory, d->d_name);
		l[n].value = first_line(m, path);
		n += l[n].key && l[n].value;
	}
	if (dir)
		(void)closedir(dir);
	if (n)
		qsort(m->flaws, n, sizeof(*l), by_key);
	m->machine.vulnerabilities = m->flaws;
	m->machine.nvulnerabilities = n;
	return ret;
}

/* ---- filters and sources ---- */

/* One label for each time an option was given. */
static int add_filter(struct meta_data *m, const char *key, const char *text)
{
	struct label *v = array_room(m->filters, &m->cap, m->meta.nfilters, 1, sizeof(*v));
	char *copy = arena_text(&m->memory, text);

	if (v)
		m->meta.filters = m->filters = v;
	if (!v || !copy)
		return -ENOMEM;
	v[m->meta.nfilters++] = (struct label){key, copy};
	return 0;
}

/* In the largest unit that leaves no rest: "2ms". */
static int add_time(struct meta_data *m, const char *key, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	char text[32];
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	(void)snprintf(text, sizeof(text), "%" PRIu64 "%s", ns / units[i].ns,
		       units[i].name); /* fits */
	return add_filter(m, key, text);
}

static int add_u32s(struct meta_data *m, const char *key, const struct u32_list *l)
{
	char text[16];
	int ret = 0;

	for (size_t i = 0; i < l->n && !ret; i++) {
		(void)snprintf(text, sizeof(text), "%" PRIu32, l->v[i]); /* fits */
		ret = add_filter(m, key, text);
	}
	return ret;
}

static int add_strs(struct meta_data *m, const char *key, const struct str_list *l)
{
	int ret = 0;

	for (size_t i = 0; i < l->n && !ret; i++)
		ret = add_filter(m, key, l->v[i]);
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
		ret = add_filter(m, "command", cfg->command[0]);
	if (!ret && (f->pids.n || f->tids.n || command))
		ret = add_filter(m, "follow", f->follow ? "yes" : "no");
	if (!ret && cfg->slower)
		ret = add_time(m, "slower", cfg->slower_ns);
	return ret;
}

static int add_sources(struct meta_data *m, const struct run *r)
{
	struct meta_source *v = arena_take(&m->memory, r->nsources * sizeof(*v));

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
	const char **percentiles;
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
	percentiles = arena_take(&m->memory, (r->cfg->nquantiles + 1) * sizeof(*percentiles));
	for (size_t i = 0; percentiles && i < r->cfg->nquantiles; i++)
		percentiles[i] = r->cfg->quantiles[i].text;
	m->options = (struct meta_options){.by = by_names[r->cfg->by],
					   .interval_ns = r->cfg->interval_ns,
					   .precision = r->cfg->precision,
					   .percentiles = percentiles};
	m->meta.options = &m->options;
	m->machine.cpu = cpu_model(m);
	m->machine.governor = governor(m);
	m->meta.machine = &m->machine;
	ret = percentiles ? read_mitigations(m) : -ENOMEM;
	if (!ret)
		ret = read_flaws(m);
	if (!ret)
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
	if (!m)
		return;
	free(m->filters);
	free(m->flaws);
	arena_free(&m->memory);
	free(m);
}
