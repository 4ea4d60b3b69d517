/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is remembered of a process: its mappings, and a hold on the files of its code. */
#ifndef WS_NAMES_USER_PROC_H
#define WS_NAMES_USER_PROC_H

#include "core/map_line.h"
#include "names/elf_file.h"
#include "names/opener.h"

/* ---- the mappings of a process, from /proc/PID/maps; pure ---- */

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
	size_t n, cap, nsources, sources_cap;
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

/* ---- the process ---- */

#define PROC_FILES_MAX \
	2048 /* of a process that are looked into; of the rest the mapping is told \
	      */

struct user_proc {
	uint32_t pid;
	uint64_t start;	     /* of /proc/PID/stat: tells two processes of one number apart */
	uint64_t space;	     /* tells its programs apart; 0: not known */
	uint64_t generation; /* of the maps: another number for each that was ever read */
	uint64_t used, read; /* the user's clock then */
	uint64_t read_ns;    /* 0: a question cut it short */
	uint64_t took_ns;    /* to read it: the more, the less often that is done */
	bool partial;	     /* its files are not all held yet: the time was over */
	struct maps maps;
};

/*
 * Fills start and maps, with what the opener gives. `before`: what was remembered of it, or NULL:
 * files that it still maps at the same place are not opened again. Negative errno: nothing is
 * changed.
 */
int proc_read(struct user_proc *p, uint32_t pid, const struct user_proc *before,
	      struct elf_files *files, struct opener *o, struct work *w);
void proc_free(struct user_proc *p); /* gives its files back */

/* "a`b" wants a, "b+0x10" that: what an address is in ELF terms. */
struct elf_spot {
	const struct map_source *source;
	uint64_t vaddr;
};

/*
 * The ELF file that an address belongs to, which may be that of a mapping before its own: .bss is
 * anonymous memory. False: none.
 */
bool proc_elf_spot(const struct user_proc *p, const struct map *map, uint64_t addr,
		   struct elf_spot *out);

/* How far a mapping's own ELF file was loaded from the addresses in it. False: it has none. */
bool proc_elf_bias(const struct user_proc *p, const struct map *map, uint64_t *bias);

/* ---- names that run-time compilers wrote down (user_jit.c) ---- */

/* Of the perf maps last asked for, where their lines are: each byte is read once. */
struct jit_maps;
struct jit_maps *jit_open(void); /* NULL: no memory */
void jit_close(struct jit_maps *j);
/*
 * "Lcom/Foo;::bar" from /tmp/perf-PID.map, which must be root's, ours or the process's own. The
 * last line that says so counts: code is written over.
 */
bool jit_find(struct jit_maps *j, struct opener *o, struct work *w, uint32_t pid, uint64_t ip,
	      char *out, size_t len, uint64_t *offset);
/* One line "START SIZE NAME" (hexadecimal): is ip in it? Pure. */
bool jit_line(const char *line, uint64_t ip, const char **name, uint64_t *offset);

#endif
