// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of addresses in processes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "names/debuginfod.h"
#include "names/demangle.h"
#include "names/dwarf_var.h"
#include "names/elf_symbol.h"
#include "names/internal.h"
#include "names/user_proc.h"

#define PROCS_MAX 1024
#define MAPS_BYTES_MAX (8U << 20) /* over all processes but the one in use */
#define ANSWERS 1024		  /* places for answers; a power of two */
#define AGAIN_NS 1000000000ULL	  /* maps are not read again sooner for an unknown address */

/* A place for the last answer whose address falls there. */
struct answer {
	uint64_t generation; /* of the process's maps; 0: free */
	uint64_t addr;
	bool code;
	struct name name;
};

struct names_user {
	struct elf_files *files;
	struct user_proc *procs[PROCS_MAX];
	size_t nprocs;
	uint64_t clock, generations;
	struct answer *answers;
};

int names_user_open(struct names_user **out, const struct names_args *args, struct err *e)
{
	struct names_user *u;
	int ret = args->debuginfod ? debuginfod_check(e) : 0;

	if (ret)
		return ret;
	u = calloc(1, sizeof(*u));
	if (!u)
		return err_sys(e, -ENOMEM, "names");
	u->answers = calloc(ANSWERS, sizeof(*u->answers));
	ret = u->answers ? elf_files_open(&u->files, args->debuginfod) : -ENOMEM;
	if (ret) {
		names_user_close(u);
		return err_sys(e, ret, "names");
	}
	*out = u;
	return 0;
}

void names_user_close(struct names_user *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->nprocs; i++) {
		proc_free(u->procs[i]);
		free(u->procs[i]);
	}
	elf_files_close(u->files);
	free(u->answers);
	free(u);
}

void names_user_trim(struct names_user *u)
{
	elf_files_trim(u->files);
}

/* ---- processes ---- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

static void forget(struct names_user *u, size_t at)
{
	proc_free(u->procs[at]);
	free(u->procs[at]);
	u->procs[at] = u->procs[--u->nprocs];
}

/* The process longest unasked for goes until there is room beside `keep`. */
static void make_room(struct names_user *u, const struct user_proc *keep)
{
	for (;;) {
		size_t bytes = 0, oldest = u->nprocs;

		for (size_t i = 0; i < u->nprocs; i++) {
			if (u->procs[i] == keep)
				continue;
			bytes += maps_bytes(&u->procs[i]->maps);
			if (oldest == u->nprocs || u->procs[i]->used < u->procs[oldest]->used)
				oldest = i;
		}
		if (oldest == u->nprocs || (bytes <= MAPS_BYTES_MAX && u->nprocs < PROCS_MAX))
			return;
		forget(u, oldest);
	}
}

static struct user_proc *known(struct names_user *u, uint32_t pid)
{
	for (size_t i = 0; i < u->nprocs; i++) {
		if (u->procs[i]->pid != pid)
			continue;
		u->procs[i]->used = ++u->clock;
		return u->procs[i];
	}
	return NULL;
}

static bool same_maps(const struct user_proc *a, const struct user_proc *b)
{
	if (!a->maps.n || a->start != b->start || a->maps.n != b->maps.n ||
	    a->maps.nsources != b->maps.nsources ||
	    memcmp(a->maps.v, b->maps.v, a->maps.n * sizeof(*a->maps.v)))
		return false;
	for (size_t i = 0; i < a->maps.nsources; i++)
		if (a->maps.sources[i].elf != b->maps.sources[i].elf ||
		    strcmp(a->maps.sources[i].path, b->maps.sources[i].path))
			return false;
	return true;
}

/* Reads a process's maps; what was remembered of it stays if it cannot be read. */
static int read_process(struct names_user *u, uint32_t pid, struct user_proc **out)
{
	struct user_proc *p = known(u, pid), fresh = {0};
	int ret = proc_read(&fresh, pid, u->files);

	*out = p;
	if (ret)
		return ret;
	if (!p) {
		make_room(u, NULL);
		p = calloc(1, sizeof(*p));
		if (!p) {
			proc_free(&fresh);
			return -ENOMEM;
		}
		u->procs[u->nprocs++] = p;
	}
	fresh.generation = same_maps(p, &fresh) ? p->generation : ++u->generations;
	fresh.used = ++u->clock;
	fresh.read_ns = now_ns();
	proc_free(p);
	*p = fresh;
	make_room(u, p);
	*out = p;
	return 0;
}

int names_process(struct names *n, uint32_t pid)
{
	struct user_proc *p;

	return read_process(n->user, pid, &p);
}

/* The process and the mapping of an address: asked for again if it may have a new one by now. */
static const struct map *find_map(struct names_user *u, uint32_t pid, uint64_t addr,
				  struct user_proc **p)
{
	const struct map *map;

	*p = known(u, pid);
	if (!*p && read_process(u, pid, p))
		return NULL;
	map = maps_find(&(*p)->maps, addr);
	/* Of another process with this number nothing is asked: addr was seen in the one known. */
	if (map || now_ns() - (*p)->read_ns < AGAIN_NS || proc_start(pid) != (*p)->start ||
	    read_process(u, pid, p))
		return map;
	return maps_find(&(*p)->maps, addr);
}

/*
 * Its file may have been given up for others: opened again while the process is there to ask. The
 * mapping is the one that the process has now.
 */
static const struct map *reopen(struct names_user *u, struct user_proc **p, const struct map *map,
				uint64_t addr)
{
	struct elf_spot spot;

	if (!proc_elf_spot(*p, map, addr, &spot) || spot.source->elf->fd >= 0 ||
	    proc_start((*p)->pid) != (*p)->start || read_process(u, (*p)->pid, p))
		return map;
	return maps_find(&(*p)->maps, addr);
}

/* ---- words ---- */

static const char *short_name(const struct map_source *s)
{
	if (!strcmp(s->path, "/dev/zero"))
		return "[shared]"; /* anonymous memory shared over fork */
	return s->path[0] == '/' ? dwarf_basename(s->path) : s->path;
}

/* Where the region that a mapping is part of starts: mappings are split by their protection. */
static uint64_t region_start(const struct maps *m, const struct map *map)
{
	while (map > m->v && map[-1].end == map->start && map[-1].source == map->source &&
	       map->source != MAP_ANON)
		map--;
	return map->start;
}

/* "app+0x4018", "[heap]+0x2a0", "[anon]+0x10" */
static void name_region(const struct user_proc *p, const struct map *map, uint64_t addr,
			struct name *out)
{
	const struct map_source *s = map->source == MAP_ANON ? NULL : &p->maps.sources[map->source];
	struct elf_spot spot;
	uint64_t start;

	out->found = NAME_REGION;
	if (proc_elf_spot(p, map, addr, &spot)) {
		(void)snprintf(out->text, sizeof(out->text), "%s+0x%" PRIx64,
			       short_name(spot.source), spot.vaddr);
		return;
	}
	if (s && s->ino) {
		(void)snprintf(out->text, sizeof(out->text), "%s+0x%" PRIx64, short_name(s),
			       addr - map->start + map->offset);
		return;
	}
	start = region_start(&p->maps, map);
	(void)snprintf(out->text, sizeof(out->text), "%s+0x%" PRIx64,
		       s		    ? s->path
		       : map->perms & MAP_X ? "[jit]"
					    : "[anon]",
		       addr - start);
	if (!s)
		(void)snprintf(out->place, sizeof(out->place), "from 0x%" PRIx64, start);
}

static void symbol_text(char *out, size_t len, const char *name, uint64_t offset)
{
	size_t at;

	(void)demangle(out, len, name); /* mangled or not, there is a name now */
	at = strlen(out);
	if (offset)
		(void)snprintf(out + at, len - at, "+0x%" PRIx64, offset); /* cut is fine */
}

/* "app`", and what it leaves for the rest. */
static char *object_text(struct name *out, const struct map_source *s, size_t *left)
{
	size_t at;

	(void)snprintf(out->text, sizeof(out->text) / 2, "%s`", short_name(s)); /* cut is fine */
	at = strlen(out->text);
	*left = sizeof(out->text) - at;
	return out->text + at;
}

static bool name_variable(struct names_user *u, const struct elf_spot *spot, struct name *out)
{
	struct elf_file *f = spot->source->elf;
	struct elf_symbol symbol;
	struct elf_look look;
	struct dwarf_answer a = {.place = out->place, .place_len = sizeof(out->place)};
	bool has_symbol;

	if (!elf_file_look(u->files, f, &look))
		return false;
	has_symbol = elf_symbol_find(&look, spot->vaddr, false, &symbol);
	a.text = object_text(out, spot->source, &a.text_len);
	if (dwarf_var_find(f, &look, spot->vaddr, has_symbol ? &symbol : NULL, &a)) {
		out->found = a.member ? NAME_MEMBER : NAME_OBJECT;
		return true;
	}
	out->place[0] = '\0';
	if (!has_symbol)
		return false;
	symbol_text(a.text, a.text_len, symbol.name, spot->vaddr - symbol.start);
	out->found = NAME_OBJECT;
	return true;
}

static bool name_function(struct names_user *u, const struct elf_spot *spot, struct name *out)
{
	struct elf_symbol symbol;
	struct elf_look look;
	char *text;
	size_t left;

	if (!elf_file_look(u->files, spot->source->elf, &look) ||
	    !elf_symbol_find(&look, spot->vaddr, true, &symbol))
		return false;
	text = object_text(out, spot->source, &left);
	symbol_text(text, left, symbol.name, spot->vaddr - symbol.start);
	(void)dwarf_line_find(&look, spot->vaddr, out->place, sizeof(out->place)); /* or empty */
	out->found = NAME_OBJECT;
	return true;
}

static bool name_jit(const struct user_proc *p, const struct map *map, uint64_t ip,
		     struct name *out)
{
	char function[NAME_LEN - 32];
	uint64_t offset;

	if (!(map->perms & MAP_X) || proc_start(p->pid) != p->start ||
	    !jit_find(p->pid, ip, function, sizeof(function), &offset))
		return false;
	(void)snprintf(out->text, sizeof(out->text), "[jit]`%s", function); /* fits */
	if (offset)
		(void)snprintf(out->text + strlen(out->text), sizeof(out->text) - strlen(out->text),
			       "+0x%" PRIx64, offset); /* fits */
	out->found = NAME_OBJECT;
	return true;
}

/* True: the answer stands as long as the maps do. Run-time compilers write their map as they go. */
static bool name_address(struct names_user *u, const struct user_proc *p, const struct map *map,
			 uint64_t addr, bool code, struct name *out)
{
	bool elf, found;
	struct elf_spot spot;

	elf = proc_elf_spot(p, map, addr, &spot);
	if (elf)
		found = code ? name_function(u, &spot, out) : name_variable(u, &spot, out);
	else
		found = code && name_jit(p, map, addr, out);
	if (!found)
		name_region(p, map, addr, out);
	return elf || !code;
}

/* Where the answer for an address is kept, if it is. */
static struct answer *answer_place(struct names_user *u, const struct user_proc *p, uint64_t addr,
				   bool code)
{
	uint64_t key = addr ^ p->generation << 20 ^ code;

	return &u->answers[(key * 0x9e3779b97f4a7c15ULL >> 40) % ANSWERS];
}

static void name_user(struct names_user *u, uint32_t pid, uint64_t addr, bool code,
		      struct name *out)
{
	struct user_proc *p;
	const struct map *map = find_map(u, pid, addr, &p);
	struct answer *a;

	name_bare(out, addr);
	if (!map)
		return;
	a = answer_place(u, p, addr, code);
	if (a->generation == p->generation && a->addr == addr && a->code == code) {
		*out = a->name;
		return;
	}
	map = reopen(u, &p, map, addr);
	if (map && name_address(u, p, map, addr, code, out))
		*answer_place(u, p, addr, code) = (struct answer){p->generation, addr, code, *out};
}

void names_user_data(struct names *n, uint32_t pid, uint64_t addr, struct name *out)
{
	name_user(n->user, pid, addr, false, out);
}

void names_user_code(struct names *n, uint32_t pid, uint64_t ip, struct name *out)
{
	name_user(n->user, pid, ip, true, out);
}

/* ---- addresses of names ---- */

/* Looks for it in the file of one mapping. */
static int symbol_in(struct names_user *u, const struct user_proc *p, const struct map *map,
		     const char *name, uint64_t *addr, uint64_t *size)
{
	struct elf_symbol symbol;
	struct elf_look look;
	uint64_t bias;
	int ret;

	if (!proc_elf_bias(p, map, &bias) ||
	    !elf_file_look(u->files, p->maps.sources[map->source].elf, &look))
		return -ENOENT;
	ret = elf_symbol_named(&look, name, &symbol);
	if (!ret) {
		*addr = symbol.start + bias;
		*size = symbol.size;
	}
	return ret;
}

/* Is this the first mapping of its file, and the file the one that is meant? */
static bool is_object(const struct user_proc *p, const struct map *map, const char *object,
		      size_t len)
{
	const char *base;

	if (map->source == MAP_ANON || (map > p->maps.v && map[-1].source == map->source))
		return false;
	base = short_name(&p->maps.sources[map->source]);
	return !object || (strlen(base) == len && !strncmp(base, object, len));
}

int names_user_symbol(struct names *n, uint32_t pid, const char *symbol, uint64_t *addr,
		      uint64_t *size)
{
	const char *tick = strchr(symbol, '`'), *name = tick ? tick + 1 : symbol;
	struct user_proc *p;
	int ret = read_process(n->user, pid, &p);
	size_t i;

	if (ret)
		return ret;
	ret = -ENOENT;
	for (i = 0; ret == -ENOENT && i < p->maps.n; i++)
		if (is_object(p, &p->maps.v[i], tick ? symbol : NULL, (size_t)(name - symbol - 1)))
			ret = symbol_in(n->user, p, &p->maps.v[i], name, addr, size);
	return ret;
}

bool names_user_mapped(struct names *n, uint32_t pid, uint64_t addr)
{
	struct user_proc *p;

	return find_map(n->user, pid, addr, &p) != NULL;
}
