// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields of a contended address that is a cache line:
 *
 *	sampler=clock sharing=false exact=1 share_ppm=62500 ...
 *	thread=PID/TID/CPU/COMM/SAMPLES/WRITES/READ_BYTES/WRITE_BYTES
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

#define PPM 1e6

static int add_thread(struct player *p, struct recorded_contended *more, char *text)
{
	struct line_accesses *a = &more->accesses;
	char *words[8], *save = NULL, *w;
	size_t n = 0;

	for (w = strtok_r(text, "/", &save); w && n < 8; w = strtok_r(NULL, "/", &save))
		words[n++] = w;
	if (n < 8 || w || a->nthreads == CONTENDED_LIST)
		return bad(p, text);
	more->threads[a->nthreads++] = (struct line_thread){
		.pid = (uint32_t)number(words[0]),
		.tid = (uint32_t)number(words[1]),
		.cpu = (uint32_t)number(words[2]),
		.comm = words[3],
		.samples = number(words[4]),
		.writes = number(words[5]),
		.read_bytes = strtoull(words[6], NULL, 0),
		.write_bytes = strtoull(words[7], NULL, 0),
	};
	return 0;
}

/* A field of `a`; NULL if there is none of that name. */
static uint64_t *field_of(struct line_accesses *a, const char *key)
{
	const struct {
		const char *name;
		uint64_t *at;
	} fields[] = {
		{"reads", &a->reads},		{"writes", &a->writes},
		{"locked", &a->locked},		{"transfers", &a->transfers},
		{"bound", &a->bound},		{"foreign", &a->foreign},
		{"hitm_local", &a->hitm_local}, {"hitm_remote", &a->hitm_remote},
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(key, fields[i].name))
			return fields[i].at;
	return NULL;
}

static void begin(struct contended *c, struct recorded_contended *more)
{
	if (c->accesses)
		return;
	more->accesses = (struct line_accesses){
		.sampler = "clock", .share = -1, .interleave = -1, .threads = more->threads};
	c->accesses = &more->accesses;
}

int line_field(struct player *p, struct contended *c, struct recorded_contended *more,
	       const char *key, char *value)
{
	struct line_accesses *a = &more->accesses;
	uint64_t *u64;

	begin(c, more);
	u64 = field_of(a, key);
	if (u64)
		*u64 = number(value);
	else if (!strcmp(key, "sampler"))
		a->sampler = value;
	else if (!strcmp(key, "sharing"))
		a->sharing = value;
	else if (!strcmp(key, "exact"))
		a->exact = number(value);
	else if (!strcmp(key, "stopped"))
		a->stopped = number(value);
	else if (!strcmp(key, "share_ppm"))
		a->share = (double)number(value) / PPM;
	else if (!strcmp(key, "moves_ppm"))
		a->interleave = (double)number(value) / PPM;
	else if (!strcmp(key, "rank"))
		a->rank = (double)number(value);
	else if (!strcmp(key, "thread"))
		return add_thread(p, more, value);
	else
		return bad(p, key);
	a->has_hitm |= !strncmp(key, "hitm_", 5);
	return 0;
}
