// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/cacheline/numa.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "source/sys/cpus.h"

#define NODES_MAX 1024 /* the kernel's NODES_SHIFT is at most 10 */
#define UNKNOWN (-1)

struct block {
	uint64_t number; /* of its first byte / block_bytes */
	int32_t node;
};

struct numa {
	char *system;
	uint32_t ncpus, nodes;
	int32_t *of_cpu;
	struct block *blocks; /* by number, each once */
	size_t nblocks, cap;
	uint64_t block_bytes; /* 0: not known */
	bool stale;
};

/* What follows `prefix` in `name`, all of it, as a number. */
static bool numbered(const char *name, const char *prefix, uint64_t *out)
{
	size_t len = strlen(prefix);
	char *end;

	if (strncmp(name, prefix, len) || name[len] < '0' || name[len] > '9')
		return false;
	errno = 0;
	*out = strtoull(name + len, &end, 10);
	return !errno && !*end;
}

/* Its one line without the newline, or NULL; to be freed. */
static char *read_text(const char *dir, const char *name)
{
	char *path = NULL, *text = NULL;
	size_t room = 0;
	ssize_t len = -1;
	FILE *f = NULL;

	if (asprintf(&path, "%s/%s", dir, name) >= 0) {
		f = fopen(path, "re");
		free(path);
	}
	if (f) {
		len = getline(&text, &room, f);
		fclose(f);
	}
	if (len < 0) {
		free(text);
		return NULL;
	}
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* ---- blocks of memory ---- */

static int add_block(struct numa *n, uint64_t number, int32_t node)
{
	struct block *v = array_room(n->blocks, &n->cap, n->nblocks, 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	n->blocks = v;
	v[n->nblocks++] = (struct block){number, node};
	return 0;
}

static int compare_block(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Two nodes can have parts of one block. */
static void sort_blocks(struct numa *n)
{
	size_t i, kept = 0;

	if (n->nblocks)
		qsort(n->blocks, n->nblocks, sizeof(*n->blocks), compare_block);
	for (i = 0; i < n->nblocks; i++) {
		if (kept && n->blocks[kept - 1].number == n->blocks[i].number)
			n->blocks[kept - 1].node = UNKNOWN;
		else
			n->blocks[kept++] = n->blocks[i];
	}
	n->nblocks = kept;
}

static void read_block_bytes(struct numa *n)
{
	char *text = read_text(n->system, "memory/block_size_bytes"), *end;

	n->block_bytes = 0;
	if (!text)
		return;
	errno = 0;
	n->block_bytes = strtoull(text, &end, 16);
	if (errno || *end || end == text)
		n->block_bytes = 0;
	free(text);
}

/* ---- nodes ---- */

static void read_cpus(struct numa *n, const char *dir, int32_t node)
{
	char *list = read_text(dir, "cpulist");

	if (list && *list) /* of a node with memory only it is empty */
		for (uint32_t cpu = 0; cpu < n->ncpus; cpu++)
			if (cpus_in(list, cpu))
				n->of_cpu[cpu] = node;
	free(list);
}

static int read_node(struct numa *n, const char *name, int32_t node)
{
	struct dirent *entry;
	uint64_t number;
	char *dir;
	DIR *d;
	int ret = 0;

	if (asprintf(&dir, "%s/node/%s", n->system, name) < 0)
		return -ENOMEM;
	read_cpus(n, dir, node);
	d = opendir(dir);
	while (d && !ret && (entry = readdir(d)))
		if (numbered(entry->d_name, "memory", &number))
			ret = add_block(n, number, node);
	if (d)
		closedir(d);
	free(dir);
	return ret;
}

static int read_all(struct numa *n)
{
	struct dirent *entry;
	uint64_t node;
	char *dir;
	DIR *d;
	int ret = 0;

	for (uint32_t cpu = 0; cpu < n->ncpus; cpu++)
		n->of_cpu[cpu] = UNKNOWN;
	n->nodes = 0;
	n->nblocks = 0;
	n->stale = false;
	read_block_bytes(n);
	if (asprintf(&dir, "%s/node", n->system) < 0)
		return -ENOMEM;
	d = opendir(dir);
	free(dir);
	while (d && !ret && (entry = readdir(d))) {
		if (!numbered(entry->d_name, "node", &node) || node >= NODES_MAX)
			continue;
		n->nodes++;
		ret = read_node(n, entry->d_name, (int32_t)node);
	}
	if (d)
		closedir(d);
	sort_blocks(n);
	return ret;
}

int numa_open(struct numa **out, const char *system, uint32_t ncpus)
{
	struct numa *n = calloc(1, sizeof(*n));

	*out = n;
	if (!n)
		return -ENOMEM;
	n->ncpus = ncpus;
	n->system = strdup(system);
	n->of_cpu = calloc(ncpus, sizeof(*n->of_cpu));
	return n->system && n->of_cpu ? read_all(n) : -ENOMEM;
}

void numa_close(struct numa *n)
{
	if (!n)
		return;
	free(n->system);
	free(n->of_cpu);
	free(n->blocks);
	free(n);
}

int numa_turn(struct numa *n)
{
	return n->stale ? read_all(n) : 0;
}

bool numa_many(const struct numa *n)
{
	return n->nodes > 1;
}

int32_t numa_of_cpu(struct numa *n, uint32_t cpu)
{
	int32_t node = cpu < n->ncpus ? n->of_cpu[cpu] : UNKNOWN;

	n->stale |= node < 0;
	return node;
}

int32_t numa_of_memory(const struct numa *n, uint64_t phys)
{
	struct block key, *found;

	if (!n->block_bytes || !n->nblocks)
		return UNKNOWN;
	key.number = phys / n->block_bytes;
	found = bsearch(&key, n->blocks, n->nblocks, sizeof(key), compare_block);
	return found ? found->node : UNKNOWN;
}
