// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses. The programs number them, one for each process that uses them; here it is found out
 * which are the same futex. A described wait tells of a new one at once, while its process lives;
 * what is missed that way lies in the programs' map.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/cache.h"
#include "core/map_line.h"
#include "source/contend/futex.h"

#define PROCESS_FRESH_NS 100000000ULL
#define PROCESSES_MAX 1024
#define ADDRS_MIN 1024 /* fewer are not worth a look */

/* A shared futex, and under whose number its waits come together. */
struct shared {
	struct futex_place place; /* trees compare it */
	struct futex_addr *first;
	struct shared *next;
};

/* A process whose mappings have been read, and when. */
struct process {
	struct cache_item item;
	uint32_t pid;
	uint64_t space;
	uint64_t at_ns;
};

struct futex_addrs {
	int map_fd;
	uint32_t room; /* of the programs' map */
	uint32_t held; /* of it, by addresses that we know of */
	bool procfs;
	struct names *names;
	void *addrs; /* tree of struct futex_addr, and their list */
	struct futex_addr *first_addr;
	uint32_t naddrs, look_at; /* how many, and how many make it worth a look */
	uint32_t nundecided;	  /* of them: with a wait whose functions have no names yet */
	uint32_t look;
	bool walked;  /* the programs' map, since futex_addrs_walk_again() */
	void *shared; /* tree of struct shared, and their list */
	struct shared *first_shared;
	struct cache processes;
};

/* ---- where a shared one lies ---- */

/*
 * Its file and the offset in it are the same for all who map it. Anonymous shared memory has a file
 * too, in the kernel's own tmpfs.
 *
 *	7f0a2c000000-7f0a2c001000 rw-s 00000000 00:01 1034	/dev/zero (deleted)
 */
bool futex_place_parse(const char *line, uint64_t addr, struct futex_place *out)
{
	static const char sysv[] = "/SYSV";
	struct map_line l;

	if (!map_line_parse(line, strlen(line), &l) || !(l.perms & MAP_SHARED_MEM))
		return false;
	if (addr < l.start || addr >= l.end)
		return false;
	if (map_line_anon_inode(&l))
		return false;
	out->dev = l.dev;
	out->inode = l.inode;
	out->offset = l.offset + (addr - l.start);
	out->sysv = l.path_len >= sizeof(sysv) - 1 && !memcmp(l.path, sysv, sizeof(sysv) - 1);
	return true;
}

/* false: it is private, or the process has ended. */
static bool place_find(const struct futex_addr *n, struct futex_place *out)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	/* The main thread may have ended: then it has no mappings any more. */
	(void)snprintf(path, sizeof(path), "/proc/%u/task/%u/maps", n->pid, n->tid); /* fits */
	f = n->tid ? fopen(path, "re") : NULL;
	(void)snprintf(path, sizeof(path), "/proc/%u/maps", n->pid); /* fits */
	f = f ? f : fopen(path, "re");
	if (!f)
		return false;
	/* the rest of a line longer than ours is no mapping, and is not taken for one */
	while (!found && fgets(line, sizeof(line), f))
		found = futex_place_parse(line, n->uaddr, out);
	fclose(f);
	return found;
}

/* ---- addresses ---- */

static int compare_addr(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int compare_place(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct futex_place));
}

static int compare_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->space > y->space) - (x->space < y->space);
}

int futex_addrs_open(struct futex_addrs **out, int map_fd, uint32_t room, bool procfs,
		     struct names *names, struct err *e)
{
	struct futex_addrs *a = calloc(1, sizeof(*a));

	*out = a;
	if (!a)
		return err_sys(e, -ENOMEM, "futex: addresses");
	a->map_fd = map_fd;
	a->room = room;
	a->procfs = procfs;
	a->names = names;
	a->look_at = ADDRS_MIN;
	cache_init(&a->processes, PROCESSES_MAX, compare_pid, free);
	return 0;
}

/* Its mappings as they are now, for names: a new address may lie in a new one. */
static void look_at(struct futex_addrs *a, const struct futex_addr *n)
{
	struct process like = {.pid = n->pid, .space = n->space}, *p;
	uint64_t now = clock_mono_ns();

	cache_trim(&a->processes);
	p = cache_get(&a->processes, &like, sizeof(like));
	if (!p || (p->at_ns && now - p->at_ns < PROCESS_FRESH_NS))
		return; /* no memory: without names, then */
	p->at_ns = now;
	names_note(a->names, (struct name_process){n->pid, n->space}, n->uaddr, NAME_DATA);
}

/* Whose row it is in. What cannot be looked up stays by itself. */
static void join(struct futex_addrs *a, struct futex_addr *n)
{
	struct shared *s, key = {0};
	void *found;

	n->same = n;
	if (!(n->flags & ABI_FUTEX_SHARED) || !place_find(n, &key.place))
		return;
	found = tfind(&key, &a->shared, compare_place);
	if (found) {
		n->same = (*(struct shared **)found)->first;
		n->same->joined = true;
		return;
	}
	s = malloc(sizeof(*s));
	if (!s)
		return;
	*s = key;
	s->first = n;
	if (!tsearch(s, &a->shared, compare_place)) {
		free(s);
		return;
	}
	s->next = a->first_shared;
	a->first_shared = s;
}

static bool has_ended(uint32_t pid)
{
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

static struct futex_addr *find(struct futex_addrs *a, uint64_t id)
{
	void *found = tfind(&id, &a->addrs, compare_addr);

	return found ? *(struct futex_addr **)found : NULL;
}

static struct futex_addr *add(struct futex_addrs *a, const struct futex_addr *what,
			      const char comm[ABI_COMM_LEN])
{
	struct futex_addr *n = malloc(sizeof(*n));

	if (!n)
		return NULL;
	*n = *what;
	memcpy(n->comm, comm, ABI_COMM_LEN); /* and a NUL */
	if (!tsearch(n, &a->addrs, compare_addr)) {
		free(n);
		return NULL;
	}
	n->next = a->first_addr;
	a->first_addr = n;
	n->same = n;
	a->naddrs++;
	a->held++;
	if (a->procfs) {
		join(a, n); /* first: it takes less, and must not come too late */
		look_at(a, n);
	}
	n->used = n->same->used = a->look;
	return n;
}

void futex_addrs_described(struct futex_addrs *a, const struct abi_contend_sample *s)
{
	uint32_t op = s->type & ABI_FUTEX_OP_MASK;
	struct futex_addr *n = find(a, s->key.obj);
	struct futex_addr what = {.id = s->key.obj,
				  .uaddr = s->object,
				  .space = s->space,
				  .pid = s->pid,
				  .tid = s->tid};

	what.flags = s->type & ~ABI_FUTEX_OP_MASK;
	if (!n)
		n = add(a, &what, s->comm);
	if (!n) /* no memory: the row has no name */
		return;
	n->key = (struct abi_futex_key){s->object, s->born, s->pid, s->execs};
	n->flags |= what.flags;
	if (!(n->flags & ABI_FUTEX_OP_MASK) && op < ABI_FUTEX_WAKE)
		n->flags |= op; /* the first that waited */
}

/* ---- their class ---- */

void futex_addr_undecided(struct futex_addrs *a, struct futex_addr *n,
			  const struct abi_contend_sample *s)
{
	if (!s == !n->undecided)
		return;
	if (s) {
		n->undecided = malloc(sizeof(*s));
		if (!n->undecided)
			return;
		*n->undecided = *s;
		a->nundecided++;
	} else {
		free(n->undecided);
		n->undecided = NULL;
		a->nundecided--;
	}
}

void futex_addrs_each_undecided(struct futex_addrs *a, void (*fn)(void *ctx, struct futex_addr *n),
				void *ctx)
{
	struct futex_addr *n = a->nundecided ? a->first_addr : NULL;

	for (; n; n = n->next)
		if (n->undecided)
			fn(ctx, n);
}

/* What the programs set in its flags meanwhile they set again at the next wait. */
void futex_addrs_decide(struct futex_addrs *a, struct futex_addr *n, uint32_t class)
{
	struct abi_futex_addr value;

	n->same->flags |= class;
	if (!n->key.born || bpf_map_lookup_elem(a->map_fd, &n->key, &value) || value.id != n->id)
		return; /* it has left: there will be no wait */
	value.flags |= class;
	(void)bpf_map_update_elem(a->map_fd, &n->key, &value, BPF_EXIST); /* the same */
}

typedef void with_entry(struct futex_addrs *a, const struct abi_futex_key *key,
			const struct abi_futex_addr *value);

/* Bounded: where a key goes away under us the kernel begins anew. */
static void for_each_entry(struct futex_addrs *a, with_entry *fn)
{
	struct abi_futex_key key, *prev = NULL;
	struct abi_futex_addr value;
	uint32_t left = a->room;

	for (; left && !bpf_map_get_next_key(a->map_fd, prev, &key); left--) {
		prev = &key;
		if (!bpf_map_lookup_elem(a->map_fd, &key, &value))
			fn(a, &key, &value);
	}
}

/* One that no description told of. Without memory it has no name. */
static void add_unknown(struct futex_addrs *a, const struct abi_futex_key *key,
			const struct abi_futex_addr *value)
{
	struct futex_addr what = {
		.id = value->id, .uaddr = key->uaddr, .space = value->space, .pid = key->tgid};

	what.key = *key;
	what.flags = value->flags & (ABI_FUTEX_SHARED | ABI_FUTEX_SEEN_UNSURE);
	if (!find(a, value->id))
		(void)add(a, &what, value->comm);
}

void futex_addrs_walk_again(struct futex_addrs *a)
{
	a->walked = false;
}

struct futex_addr *futex_addrs_get(struct futex_addrs *a, uint64_t id)
{
	struct futex_addr *n = find(a, id);

	if (n || a->walked)
		return n;
	a->walked = true;
	for_each_entry(a, add_unknown);
	return find(a, id);
}

/* ---- what is not used any more ---- */

/*
 * Before the programs' map is full: addresses of processes that have ended leave it. Nobody can use
 * those any more; what was counted for them stays.
 */
static void empty_map(struct futex_addrs *a)
{
	struct abi_futex_key key, next;
	bool more;

	a->held = 0;
	more = !bpf_map_get_next_key(a->map_fd, NULL, &next);
	while (more) {
		key = next;
		more = !bpf_map_get_next_key(a->map_fd, &key, &next);
		if (!has_ended(key.tgid) || bpf_map_delete_elem(a->map_fd, &key))
			a->held++;
	}
}

static void mark(struct futex_addrs *a, uint64_t id)
{
	struct futex_addr *n = find(a, id);

	if (n)
		n->used = n->same->used = a->look;
}

static void mark_entry(struct futex_addrs *a, const struct abi_futex_key *key,
		       const struct abi_futex_addr *value)
{
	mark(a, value->id);
}

/* By this look at what is used, or by the one before: an address may leave the map with its process
 * before the waits for it are read. */
static bool is_used(const struct futex_addrs *a, const struct futex_addr *n)
{
	return a->look - n->used <= 1;
}

static void forget_unmarked(struct futex_addrs *a)
{
	struct futex_addr **at = &a->first_addr, *n;
	struct shared **of = &a->first_shared, *s;

	while ((s = *of)) {
		if (is_used(a, s->first)) {
			of = &s->next;
			continue;
		}
		*of = s->next;
		(void)tdelete(s, &a->shared, compare_place); /* it is there, as are the others */
		free(s);
	}
	while ((n = *at)) {
		if (is_used(a, n)) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		(void)tdelete(n, &a->addrs, compare_addr);
		futex_addr_undecided(a, n, NULL);
		free(n);
		a->naddrs--;
	}
}

void futex_addrs_tidy(struct futex_addrs *a, const struct keyed_row *rows, bool full)
{
	if (a->procfs && (full || a->held >= a->room / 4 * 3))
		empty_map(a);
	if (a->naddrs < a->look_at)
		return;
	a->look++;
	for_each_entry(a, mark_entry);
	for (; rows; rows = rows->next)
		mark(a, rows->key.obj);
	forget_unmarked(a);
	a->look_at = 2 * a->naddrs > ADDRS_MIN ? 2 * a->naddrs : ADDRS_MIN;
}

void futex_addrs_close(struct futex_addrs *a)
{
	if (!a)
		return;
	tdestroy(a->shared, free);
	for (struct futex_addr *n = a->first_addr; n; n = n->next)
		futex_addr_undecided(a, n, NULL);
	tdestroy(a->addrs, free);
	cache_clear(&a->processes);
	free(a);
}
