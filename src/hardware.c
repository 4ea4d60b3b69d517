// SPDX-License-Identifier: GPL-2.0-or-later
#include "hardware.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "core/array.h"

#define CPUS "/sys/devices/system/cpu"

struct hardware {
	struct meta_machine m;
	const char **words;
	struct label *flaws;
	size_t words_cap, flaws_cap;
	struct arena memory;
};

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
static const char *first_line(struct hardware *h, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[4096];
	bool any = f && fgets(line, sizeof(line), f);

	if (f)
		(void)fclose(f); /* only read */
	if (!any)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return arena_text(&h->memory, line);
}

/* "model name	: AMD EPYC"; arm64 has numbers instead, of who designed it and which one it is. */
static const char *cpu_model(struct hardware *h)
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
			name = arena_text(&h->memory, value);
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
	return arena_text(&h->memory, text);
}

/* Of all CPUs; "mixed" if they have not the same one. */
static const char *governor(struct hardware *h)
{
	const char *all = NULL, *one;
	char path[128];

	for (unsigned int cpu = 0; cpu < 8192; cpu++) {
		(void)snprintf(path, sizeof(path), CPUS "/cpu%u/cpufreq/scaling_governor", cpu);
		one = first_line(h, path);
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

static int read_mitigations(struct hardware *h)
{
	char *line = (char *)first_line(h, "/proc/cmdline"), *save;
	const char **words = array_room(NULL, &h->words_cap, 0, 1, sizeof(*words));
	size_t n = 0;

	h->words = words;
	for (char *word = line ? strtok_r(line, " ", &save) : NULL; words && word;
	     word = strtok_r(NULL, " ", &save)) {
		if (!strcmp(word, "--"))
			break; /* the rest is init's */
		if (!is_switch(word))
			continue;
		words = array_room(h->words, &h->words_cap, n, 2, sizeof(*words));
		if (!words)
			break;
		h->words = words;
		words[n++] = word;
	}
	if (!words)
		return -ENOMEM;
	words[n] = NULL;
	h->m.mitigations = words;
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static int read_flaws(struct hardware *h)
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
		l = array_room(h->flaws, &h->flaws_cap, n, 1, sizeof(*l));
		if (!l) {
			ret = -ENOMEM;
			break;
		}
		h->flaws = l;
		(void)snprintf(path, sizeof(path), CPUS "/vulnerabilities/%s", d->d_name);
		l[n].key = arena_text(&h->memory, d->d_name);
		l[n].value = first_line(h, path);
		n += l[n].key && l[n].value;
	}
	if (dir)
		(void)closedir(dir);
	if (n)
		qsort(h->flaws, n, sizeof(*l), by_key);
	h->m.vulnerabilities = h->flaws;
	h->m.nvulnerabilities = n;
	return ret;
}

struct hardware *hardware_read(void)
{
	struct hardware *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->m.cpu = cpu_model(h);
	h->m.governor = governor(h);
	if (!read_mitigations(h) && !read_flaws(h))
		return h;
	hardware_free(h);
	return NULL;
}

const struct meta_machine *hardware_get(const struct hardware *h)
{
	return &h->m;
}

void hardware_free(struct hardware *h)
{
	if (!h)
		return;
	arena_free(&h->memory);
	free(h->words);
	free(h->flaws);
	free(h);
}
