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
#include <stdlib.h>
#include <string.h>

#include "source/futex.h"

#define PROCESS_FRESH_NS 100000000ULL

/* A shared futex, and under whose number its waits come together. */
struct shared {
	struct futex_place place; /* trees compare it */
	struct futex_addr *first;
};

/* A process whose mappings have been read, and when. */
struct process {
	uint32_t pid; /* trees compare it */
	uint64_t at_ns;
};

struct futex_addrs {
	int map_fd;
	uint32_t room; /* of the programs' map */
	uint32_t held; /* of it, by addresses that we know of */
	bool procfs;
	struct names *names;
	void *addrs;	 /* tree of struct futex_addr */
	void *shared;	 /* tree of struct shared */
	void *processes; /* tree of struct process */
};

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
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
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
	return 0;
}

/* Its mappings as they are now, for names: a new address may lie in a new one. */
static void look_at(struct futex_addrs *a, uint32_t pid)
{
	struct process *p, key = {.pid = pid};
	uint64_t now = mono_now_ns();
	void *found = tfind(&key, &a->processes, compare_pid);

	if (found) {
		p = *(struct process **)found;
		if (now - p->at_ns < PROCESS_FRESH_NS)
			return;
	} else {
		p = calloc(1, sizeof(*p));
		if (!p)
			return; /* without names, then */
		p->pid = pid;
		if (!tsearch(p, &a->processes, compare_pid)) {
			free(p);
			return;
		}
	}
	p->at_ns = now;
	(void)names_process(a->names, pid); /* it has ended: names fall back */
}

/* Whose row it is in. What cannot be looked up stays by itself. */
static void join(struct futex_addrs *a, struct futex_addr *n)
{
	struct shared *s, key = {0};
	void *found;

	n->same = n;
	if (!(n->flags & ABI_FUTEX_SHARED) || !futex_place_find(n->pid, n->uaddr, &key.place))
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
	if (!tsearch(s, &a->shared, compare_place))
		free(s);
}

static bool has_ended(uint32_t pid)
{
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

/*
 * Before the programs' map is full: addresses of processes that have ended leave it. Nobody can use
 * those any more; what was counted for them stays.
 */
void futex_addrs_tidy(struct futex_addrs *a)
{
	struct abi_futex_key key, next;
	bool more;

	if (!a->procfs || a->held < a->room / 4 * 3)
		return;
	a->held = 0;
	more = !bpf_map_get_next_key(a->map_fd, NULL, &next);
	while (more) {
		key = next;
		more = !bpf_map_get_next_key(a->map_fd, &key, &next);
		if (!has_ended(key.tgid) || bpf_map_delete_elem(a->map_fd, &key))
			a->held++;
	}
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
	n->same = n;
	a->held++;
	if (a->procfs) {
		join(a, n); /* first: it takes less, and must not come too late */
		look_at(a, n->pid);
	}
	return n;
}

void futex_addrs_told(struct futex_addrs *a, const struct abi_contend_sample *s)
{
	uint32_t op = s->type & ABI_FUTEX_OP_MASK;
	struct futex_addr *n = find(a, s->key.obj);
	struct futex_addr what = {.id = s->key.obj, .uaddr = s->object, .pid = s->pid};

	what.flags = s->type & ~ABI_FUTEX_OP_MASK;
	if (!n)
		n = add(a, &what, s->comm);
	if (!n) /* no memory: the row has no name */
		return;
	n->flags |= what.flags;
	if (!(n->flags & ABI_FUTEX_OP_MASK) && op < ABI_FUTEX_WAKE)
		n->flags |= op; /* the first that waited */
}

struct futex_addr *futex_addrs_get(struct futex_addrs *a, uint64_t id)
{
	struct futex_addr *n = find(a, id);
	struct abi_futex_key key, *prev = NULL;
	struct abi_futex_addr value;

	while (!n && !bpf_map_get_next_key(a->map_fd, prev, &key)) {
		prev = &key;
		if (bpf_map_lookup_elem(a->map_fd, &key, &value) || find(a, value.id))
			continue;
		if (!add(a,
			 &(struct futex_addr){.id = value.id,
					      .uaddr = key.uaddr,
					      .pid = key.tgid,
					      .flags = value.flags &
						       (ABI_FUTEX_SHARED | ABI_FUTEX_SEEN_IDLE)},
			 value.comm))
			return NULL;
		n = find(a, id);
	}
	return n;
}

void futex_addrs_close(struct futex_addrs *a)
{
	if (!a)
		return;
	tdestroy(a->shared, free);
	tdestroy(a->addrs, free);
	tdestroy(a->processes, free);
	free(a);
}
