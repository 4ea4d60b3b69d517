/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the futex source: what its files share. */
#ifndef WS_FUTEX_H
#define WS_FUTEX_H

#include <linux/types.h>

#include "abi_futex.h"
#include "source/contend/contend.h"

/*
 * An address, by the number that the programs gave it (abi_key.obj). Those that turn out to be the
 * same futex, seen by another process or at another address, are counted under one of them.
 */
struct futex_addr {
	uint64_t id; /* trees compare the first member */
	uint64_t uaddr;
	uint64_t space;			      /* abi_space.h */
	uint32_t pid, tid;		      /* tid: a thread that waited, or 0 */
	uint32_t flags;			      /* ABI_FUTEX_*, and what was called first */
	struct futex_addr *same;	      /* whose row it is in: its own, or another's */
	bool joined;			      /* others are in its row */
	bool go;			      /* a Go program's */
	struct abi_futex_key key;	      /* in the programs' map; born 0: not known */
	struct abi_contend_sample *undecided; /* a wait whose functions have no names yet */
	uint32_t tries;			      /* to name them */
	uint32_t used;			      /* see futex_addrs_tidy */
	char comm[ABI_COMM_LEN + 1];
	struct futex_addr *next;
};

struct futex_addrs;
/* map_fd: the programs' addresses, for `room` of them. procfs: process numbers are those of /proc.
 */
int futex_addrs_open(struct futex_addrs **out, int map_fd, uint32_t room, bool procfs,
		     struct names *names, struct err *e);
/* Once an interval: before the map is full, those of processes that have ended leave it; and what
 * is neither there nor in one of `rows` is forgotten. */
void futex_addrs_tidy(struct futex_addrs *a, const struct keyed_row *rows, bool full);
/* By number; one never heard of is looked for in the map, once until futex_addrs_walk_again(): what
 * is not there then was without room, or has left with its process. NULL: neither, or no memory. */
struct futex_addr *futex_addrs_get(struct futex_addrs *a, uint64_t id);
/* Its functions are known: ABI_FUTEX_LOCKS, ABI_FUTEX_WORKS or ABI_FUTEX_MANYS. The programs are
 * told, too. */
void futex_addrs_decide(struct futex_addrs *a, struct futex_addr *n, uint32_t class);
/* Calls fn for each address that has an undecided wait. */
void futex_addrs_each_undecided(struct futex_addrs *a, void (*fn)(void *ctx, struct futex_addr *n),
				void *ctx);
/* Keeps a copy of the wait for the next try; NULL: none. No memory: it stays undecided. */
void futex_addr_undecided(struct futex_addrs *a, struct futex_addr *n,
			  const struct abi_contend_sample *s);
/* Before entries are read that may be of addresses which are new in the map. */
void futex_addrs_walk_again(struct futex_addrs *a);
/* What a described wait says of its address. */
void futex_addrs_described(struct futex_addrs *a, const struct abi_contend_sample *s);
void futex_addrs_close(struct futex_addrs *a); /* NULL is fine */

/* ---- futex_class.c ---- */

/* What a function that waits says of what is waited for. */
enum futex_function {
	FUTEX_EITHER, /* its caller may say */
	FUTEX_LOCK,
	FUTEX_WORK,
	FUTEX_UNKNOWN,
	FUTEX_MANY, /* whatever its thread waits for: nobody can say */
};

/* Of code's name ("app`lock_wait+0x1a"), by --function and the built-in table. */
enum futex_function futex_function_of(const struct str_list *own, const char *text);
/* ABI_FUTEX_LOCKS, ABI_FUTEX_WORKS or ABI_FUTEX_MANYS; 0: the functions of this wait do not say,
 * or, if `late`, have no names yet. */
uint32_t futex_class_of(struct contend *c, const struct abi_contend_sample *s, bool *late);
/* An argument of --function. 0, or exit 2 with words. */
int futex_function_check(const char *text, struct err *e);

/* Where a shared futex lies. */
struct futex_place {
	uint64_t dev, inode, offset; /* of the futex, in the file */
	uint64_t sysv;		     /* 1: a SysV segment's number stands for the inode */
};
/* Does this line of /proc/PID/maps tell where addr is, and is that shared? */
bool futex_place_parse(const char *line, uint64_t addr, struct futex_place *out);

#endif
