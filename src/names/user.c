// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of addresses in processes: what the worker knows (wire.h). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "names/demangle.h"
#include "names/dwarf_var.h"
#include "names/elf_file.h"
#include "names/internal.h"
#include "names/user.h"

#define PROCS_MAX 1024
#define MAPS_BYTES_MAX (8U << 20) /* over all processes but the one in use */
#define ANSWERS 1024		  /* places for answers; a power of two */
#define AGAIN_NS 1000000000ULL	  /* maps are not read again sooner for an unknown address */
#define READ_SHARE 9 /* of all time at most a tenth goes into reading a process again */

/* A place for the last answer whose address falls there. */
struct answer {
	uint64_t generation; /* of the process's maps; 0: free */
	uint64_t addr;
	enum name_what what;
	uint32_t frame;
	struct name name;
};

struct user {
	struct opener *opener;
	struct work *work;
	struct elf_files *files;
	struct jit_maps *jit;
	struct user_proc *procs[PROCS_MAX];
	size_t nprocs;
	uint64_t clock, generations;
	struct answer *answers;
	struct dwarf_frames frames; /* of the code that is looked up */
};

int user_open(struct user **out, bool debuginfod, struct opener *opener, struct work *work)
{
	struct user *u = calloc(1, sizeof(*u));
	int ret;

	*out = u;
	if (!u)
		return -ENOMEM;
	u->opener = opener;
	u->work = work;
	u->jit = jit_open();
	u->answers = calloc(ANSWERS, sizeof(*u->answers));
	ret = u->answers && u->jit ? elf_files_open(&u->files, debuginfod, opener, work) : -ENOMEM;
	if (ret) {
		user_close(u);
		*out = NULL;
	}
	return ret;
}

void user_close(struct user *u)
{
	if (!u)
		return;
	for (size_t i = 0; i < u->nprocs; i++) {
		proc_free(u->procs[i]);
		free(u->procs[i]);
	}
	elf_files_close(u->files);
	jit_close(u->jit);
	free(u->answers);
	free(u);
}

void user_trim(struct user *u)
{
	elf_files_trim(u->files);
}

/* ---- processes ---- */

/* The process longest unasked for goes until there is room beside `keep`. */
static void make_room(struct user *u, const struct user_proc *keep)
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
		proc_free(u->procs[oldest]);
		free(u->procs[oldest]);
		u->procs[oldest] = u->procs[--u->nprocs];
	}
}

/* In that space; without one the last that was read. */
static struct user_proc *known(struct user *u, struct name_process who)
{
	struct user_proc *found = NULL;

	for (size_t i = 0; i < u->nprocs; i++) {
		struct user_proc *p = u->procs[i];

		if (p->pid == who.pid && (!who.space || p->space == who.space) &&
		    (!found || p->read > found->read))
			found = p;
	}
	if (found)
		found->used = ++u->clock;
	return found;
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

/*
 * Reads a process's maps, of the program that it runs now. What was remembered of the one before,
 * or if it cannot be read, stays.
 */
static int read_process(struct user *u, uint32_t pid, struct user_proc **out)
{
	struct user_proc *p = known(u, (struct name_process){pid, 0}), fresh = {0};
	uint64_t began = clock_mono_ns();
	int ret;

	*out = p;
	/* Those that map many files are not read again and again. */
	if (p && began - p->read_ns < READ_SHARE * p->took_ns &&
	    opener_is(u->opener, pid, p->start, p->space))
		return 0;
	ret = proc_read(&fresh, pid, p, u->files, u->opener, u->work);
	if (ret)
		return ret;
	p = known(u, (struct name_process){pid, fresh.space});
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
	fresh.used = fresh.read = ++u->clock;
	fresh.read_ns = clock_mono_ns();
	fresh.took_ns = fresh.read_ns - began;
	if (fresh.partial && u->work->woken)
		fresh.read_ns = 0; /* a question came meanwhile: it may be read again at once */
	proc_free(p);
	*p = fresh;
	make_room(u, p);
	*out = p;
	return 0;
}

int user_process(struct user *u, uint32_t pid)
{
	struct user_proc *p;

	work_on_process(u->work, pid);
	return read_process(u, pid, &p);
}

/* It, as it was then or is now. -ESTALE: it runs another program by now. */
static int get_process(struct user *u, struct name_process who, struct user_proc **out)
{
	struct user_proc *p = known(u, who);
	int ret = 0;

	*out = p;
	if (!p)
		ret = read_process(u, who.pid, &p);
	if (ret)
		return ret;
	/* Where the kernel does not show us its space, it does not show its maps either. */
	if (who.space && p->space != who.space)
		return -ESTALE;
	*out = p;
	return 0;
}

/* Why a process has no names. */
static const char *why_text(int err)
{
	switch (err) {
	case -ESRCH:
	case -ENOENT:
		return "no name: its process has ended";
	case -ESTALE:
		return "no name: its process has ended or runs another program";
	case -EACCES:
	case -EPERM:
		return "no name: its process may not be looked into";
	}
	return "";
}

/* The process and the mapping of an address: asked for again if it may have a new one by now. NULL:
 * *ret says why. */
static const struct map *find_map(struct user *u, struct name_process who, uint64_t addr,
				  struct user_proc **p, int *ret)
{
	const struct map *map;

	*ret = get_process(u, who, p);
	if (*ret)
		return NULL;
	map = maps_find(&(*p)->maps, addr);
	/* Of another process with this number nothing is asked: addr was seen in the one known. */
	if ((map && !(*p)->partial) || clock_mono_ns() - (*p)->read_ns < AGAIN_NS ||
	    !opener_is(u->opener, who.pid, (*p)->start, (*p)->space) || read_process(u, who.pid, p))
		return map;
	return maps_find(&(*p)->maps, addr);
}

/*
 * Its file may have been given up for others: opened again while the process is there to ask. The
 * mapping is the one that the process has now.
 */
static const struct map *reopen(struct user *u, struct user_proc **p, const struct map *map,
				uint64_t addr)
{
	struct elf_spot spot;

	if (!proc_elf_spot(*p, map, addr, &spot) || spot.source->elf->fd >= 0 ||
	    !opener_is(u->opener, (*p)->pid, (*p)->start, (*p)->space) ||
	    read_process(u, (*p)->pid, p))
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
	       map->source != MAP_NO_SOURCE)
		map--;
	return map->start;
}

/* The byte that is looked up: of a call the last one, not where it returns to. */
static uint64_t looked_at(const struct user_ask *ask)
{
	return ask->addr - (ask->what == NAME_CALL && ask->addr);
}

/* "app+0x4018", "[heap]+0x2a0", "[anon]+0x10": where `at` lies, and how far from there. */
static void name_region(const struct user_proc *p, const struct map *map, uint64_t at,
			uint64_t offset, struct name *out)
{
	const struct map_source *s =
		map->source == MAP_NO_SOURCE ? NULL : &p->maps.sources[map->source];
	const char *what;
	struct elf_spot spot;
	uint64_t from;

	out->found = NAME_REGION;
	if (proc_elf_spot(p, map, at, &spot)) {
		what = short_name(spot.source);
		from = at - spot.vaddr;
	} else if (s && s->ino) {
		what = short_name(s);
		from = map->start - map->offset;
	} else {
		what = s ? s->path : map->perms & MAP_X ? "[jit]" : "[anon]";
		from = region_start(&p->maps, map);
		if (!s)
			(void)snprintf(out->place, sizeof(out->place), "from 0x%" PRIx64, from);
	}
	(void)snprintf(out->text, sizeof(out->text), "%s+0x%" PRIx64, what, at + offset - from);
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

/* Of a slow file nothing but its symbols while somebody waits. */
static bool name_variable(struct user *u, const struct elf_spot *spot, bool soon, struct name *out)
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
	if (!(f->slow && soon) &&
	    dwarf_var_find(f, &look, spot->vaddr, has_symbol ? &symbol : NULL, &a)) {
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

/* The function that has a symbol, and in u->frames those that are inlined in it. */
static bool name_function(struct user *u, const struct elf_spot *spot, const struct user_ask *ask,
			  struct name *out)
{
	uint64_t back = ask->what == NAME_CALL;
	struct elf_symbol symbol;
	struct elf_look look;
	char *text;
	size_t left;

	if (!elf_file_look(u->files, spot->source->elf, &look) ||
	    !elf_symbol_find(&look, spot->vaddr, true, &symbol))
		return false;
	text = object_text(out, spot->source, &left);
	symbol_text(text, left, symbol.name, spot->vaddr + back - symbol.start);
	if (!(spot->source->elf->slow && ask->soon))
		(void)dwarf_code_find(&look, spot->vaddr, &u->frames); /* or none */
	out->found = NAME_OBJECT;
	return true;
}

/* One of the functions at that place, from the name of the one that has a symbol. */
static void name_frame(const struct dwarf_frames *frames, size_t i, const struct name *function,
		       struct name *out)
{
	const char *tick = strchr(function->text, '`');
	const struct dwarf_frame *f = &frames->v[i];

	*out = *function;
	if (!frames->n)
		return;
	memcpy(out->place, f->place, sizeof(out->place));
	out->inlined_in = (uint32_t)(frames->n - 1 - i);
	if (f->name[0] && tick)
		name_print(out->text, sizeof(out->text), false, "%.*s`%.*s" NAME_INLINED "%s",
			   (int)(tick - function->text), function->text, NAME_LEN / 2, f->name,
			   tick + 1);
}

static bool name_jit(struct user *u, const struct user_proc *p, const struct map *map, uint64_t at,
		     uint64_t more, struct name *out)
{
	char function[NAME_LEN - 32];
	uint64_t offset;

	if (!(map->perms & MAP_X) || !opener_is(u->opener, p->pid, p->start, p->space) ||
	    !jit_find(u->jit, u->opener, u->work, p->pid, at, function, sizeof(function), &offset))
		return false;
	(void)snprintf(out->text, sizeof(out->text), "[jit]`%s", function); /* fits */
	offset += more;
	if (offset)
		name_print(out->text, sizeof(out->text), true, "+0x%" PRIx64, offset);
	out->found = NAME_OBJECT;
	return true;
}

/* True: the answer stands as long as the maps do. Run-time compilers write their map as they go. */
static bool name_address(struct user *u, const struct user_proc *p, const struct map *map,
			 const struct user_ask *ask, struct name *out)
{
	uint64_t at = looked_at(ask), offset = ask->addr - at;
	bool elf, found;
	struct elf_spot spot;

	name_bare(out, ask->addr);
	u->frames.n = 0;
	elf = proc_elf_spot(p, map, at, &spot);
	if (elf)
		found = ask->what ? name_function(u, &spot, ask, out)
				  : name_variable(u, &spot, ask->soon, out);
	else
		found = ask->what && name_jit(u, p, map, at, offset, out);
	if (!found)
		name_region(p, map, at, offset, out);
	return elf || !ask->what;
}

/* Where the answer for an address is kept, if it is. */
static struct answer *answer_place(struct user *u, const struct answer *like)
{
	uint64_t key =
		like->addr ^ like->generation << 20 ^ like->what ^ (uint64_t)like->frame << 40;

	return &u->answers[(key * 0x9e3779b97f4a7c15ULL >> 40) % ANSWERS];
}

static bool is_answer_to(const struct answer *a, const struct answer *like)
{
	return a->generation == like->generation && a->addr == like->addr &&
	       a->what == like->what && a->frame == like->frame;
}

/* Whoever asks for a frame may ask for those further out. */
static void keep_answers(struct user *u, const struct user_proc *p, const struct user_ask *ask,
			 const struct name *function)
{
	struct answer one = {
		.generation = p->generation, .addr = ask->addr, .what = ask->what, .frame = 0};

	do {
		name_frame(&u->frames, one.frame, function, &one.name);
		*answer_place(u, &one) = one;
	} while (++one.frame < u->frames.n);
}

/* A look-up that was not done in time is begun again with more, but not for ever. */
static bool judge(struct user *u, const struct elf_spot *spot, uint64_t took_ns)
{
	struct elf_file *f = spot->source->elf;

	if (!u->work->over) {
		f->slow = false;
		return f->fetching; /* its debug file is yet to come */
	}
	f->slow = true;
	f->spent_ns += took_ns;
	if ((!u->work->woken && took_ns > USER_TRY_NS) || f->spent_ns > USER_TRIES_NS)
		refused_add(u->work->refused, &f->what, 0);
	return true;
}

static bool is_refused(const struct user *u, const struct elf_spot *spot)
{
	return refused_has(u->work->refused, &spot->source->elf->what, 0);
}

/*
 * What has no place yet: the region is told first, then looked for. A file in which something was
 * not done in time gets time when there is nothing else to do (USER_LATER).
 */
static enum user_done look(struct user *u, struct user_proc *p, const struct map *map,
			   const struct user_ask *ask, struct name *out)
{
	uint64_t began = clock_mono_ns();
	struct elf_spot spot;
	uint64_t at = looked_at(ask);
	bool elf = proc_elf_spot(p, map, at, &spot), stands, was_slow;
	struct name function;
	size_t frame;

	name_region(p, map, at, ask->addr - at, out);
	ask->region(ask->ctx, out);
	if (elf ? is_refused(u, &spot)
		: map->source != MAP_NO_SOURCE && p->maps.sources[map->source].refused)
		return USER_REFUSED;
	was_slow = elf && spot.source->elf->slow && ask->soon;
	stands = name_address(u, p, map, ask, &function);
	frame = ask->frame < u->frames.n ? ask->frame : u->frames.n - 1;
	name_frame(&u->frames, u->frames.n ? frame : 0, &function, out);
	if (was_slow || (!elf && p->partial))
		return USER_LATER;
	if (elf ? judge(u, &spot, clock_mono_ns() - began) : u->work->over)
		return elf && is_refused(u, &spot) ? USER_REFUSED : USER_LATER;
	if (stands)
		keep_answers(u, p, ask, &function);
	return USER_DONE;
}

enum user_done user_name(struct user *u, struct name_process who, const struct user_ask *ask,
			 struct name *out)
{
	struct answer like = {.addr = ask->addr, .what = ask->what, .frame = ask->frame};
	uint64_t at = looked_at(ask);
	const struct map *map;
	struct user_proc *p;
	struct answer *a;
	int ret;

	work_on_process(u->work, who.pid);
	name_bare(out, ask->addr);
	if (refused_has(u->work->refused, NULL, who.pid))
		return USER_REFUSED;
	map = find_map(u, who, at, &p, &ret);
	name_print(out->place, sizeof(out->place), false, "%s", why_text(ret));
	if (!map)
		return u->work->over ? USER_LATER : USER_DONE;
	like.generation = p->generation;
	a = answer_place(u, &like);
	if (is_answer_to(a, &like)) {
		*out = a->name;
		return USER_DONE;
	}
	map = reopen(u, &p, map, at);
	return map ? look(u, p, map, ask, out) : USER_DONE;
}

/* ---- addresses of names ---- */

/* Looks for it in the file of one mapping. */
static int symbol_in(struct user *u, const struct user_proc *p, const struct map *map,
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

	if (map->source == MAP_NO_SOURCE || (map > p->maps.v && map[-1].source == map->source))
		return false;
	base = short_name(&p->maps.sources[map->source]);
	return !object || (strlen(base) == len && !strncmp(base, object, len));
}

int user_symbol(struct user *u, uint32_t pid, const char *symbol, uint64_t *addr, uint64_t *size)
{
	const char *tick = strchr(symbol, '`'), *name = tick ? tick + 1 : symbol;
	struct user_proc *p;
	int ret;

	work_on_process(u->work, pid);
	ret = read_process(u, pid, &p);
	if (ret)
		return ret;
	ret = -ENOENT;
	for (size_t i = 0; ret == -ENOENT && i < p->maps.n; i++)
		if (is_object(p, &p->maps.v[i], tick ? symbol : NULL, (size_t)(name - symbol - 1)))
			ret = symbol_in(u, p, &p->maps.v[i], name, addr, size);
	return ret;
}

bool user_mapped(struct user *u, uint32_t pid, uint64_t addr)
{
	struct user_proc *p;
	int ret;

	work_on_process(u->work, pid);
	return find_map(u, (struct name_process){pid, 0}, addr, &p, &ret) != NULL;
}
