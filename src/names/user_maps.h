/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process, from /proc/PID/maps. Pure. */
#ifndef WS_NAMES_USER_MAPS_H
#define WS_NAMES_USER_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/map_line.h"

struct elf_file;

#define MAP_NO_SOURCE UINT32_MAX /* no file, and the kernel has no name for it */

struct map {
	uint64_t start, end, offset;
	uint32_t source; /* index in maps.sources, or MAP_NO_SOURCE */
	uint32_t perms;
};

/* A file, or a region that the kernel names: "[heap]", "[stack]", "[anon:arena]". */
struct map_source {
	char *path;   /* without " (deleted)" */
	uint64_t ino; /* 0: no file */
	uint64_t dev; /* as maps has it: major << 32 | minor */
	bool deleted, exec;
	bool refused;	     /* its file is not looked into any more */
	uint64_t start, end; /* of one of its mappings: its name in map_files */
	struct elf_file *elf;
};

struct maps {
	struct map *v;
	struct map_source *sources;
	size_t n, nsources;
};

/*
 * Appends what a line says; `line` ends at `len`, without its newline. 0, -EINVAL (not a line of
 * the kernel's), -E2BIG (MAPS_MAX), -ENOMEM.
 */
int maps_add(struct maps *m, const char *line, size_t len);
#define MAPS_MAX 131072 /* twice the default of vm.max_map_count */

/* What lies at addr, or NULL. */
const struct map *maps_find(const struct maps *m, uint64_t addr);
size_t maps_bytes(const struct maps *m);
void maps_free(struct maps *m); /* not the elf files */

#endif
