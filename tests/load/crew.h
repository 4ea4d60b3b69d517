/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A crew of threads that work until a deadline, with the kernel's own account of each. The account
 * is taken by the main thread while the others are blocked, before and after: no wait is half in
 * it.
 *
 *	stdout: {"pid":P,"tids":[...]}		once all threads are blocked at the start
 *		{"tid":T,"before":{...},"after":{...}}	a line each, once all have finished
 */
#ifndef WS_CREW_H
#define WS_CREW_H

#include "load.h"

#include <pthread.h>
#include <semaphore.h>

#define CREW_MAX 64

struct crew;

struct member {
	struct crew *crew;
	pthread_t thread;
	unsigned int index;
	pid_t tid;
	uint64_t worked_ns; /* from the first to the last moment of its work */
	struct load_schedstat before;
	struct load_schedstat after;
};

struct crew {
	void (*work)(struct member *m, uint64_t end_ns);
	unsigned int n;
	uint64_t duration_ns;
	bool wait; /* for a byte on stdin before the work, and for another after the account */
	sem_t here, go, done, leave;
	struct member members[CREW_MAX];
};

static inline void crew_sem_wait(sem_t *s)
{
	while (sem_wait(s) && errno == EINTR)
		;
}

static void *crew_member(void *arg)
{
	struct member *m = arg;
	uint64_t begin_ns;

	m->tid = load_tid();
	sem_post(&m->crew->here);
	crew_sem_wait(&m->crew->go);
	begin_ns = load_now_ns();
	m->crew->work(m, begin_ns + m->crew->duration_ns);
	m->worked_ns = load_now_ns() - begin_ns;
	sem_post(&m->crew->done);
	crew_sem_wait(&m->crew->leave);
	return NULL;
}

static inline void crew_print(const struct member *m)
{
	printf("{\"tid\":%d,\"worked_ns\":%" PRIu64 ",\"before\":{\"run_ns\":%" PRIu64
	       ",\"delay_ns\":%" PRIu64 ",\"slices\":%" PRIu64 "},\"after\":{\"run_ns\":%" PRIu64
	       ",\"delay_ns\":%" PRIu64 ",\"slices\":%" PRIu64 "}}\n",
	       (int)m->tid, m->worked_ns, m->before.run_ns, m->before.delay_ns, m->before.slices,
	       m->after.run_ns, m->after.delay_ns, m->after.slices);
}

/* Every member goes through `s` once, and blocks after that. */
static inline void crew_gather(struct crew *c, sem_t *s)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		crew_sem_wait(s);
	for (i = 0; i < c->n; i++)
		load_await_blocked(c->members[i].tid);
}

static inline void crew_release(struct crew *c, sem_t *s)
{
	unsigned int i;

	for (i = 0; i < c->n; i++)
		sem_post(s);
}

static inline void crew_start(struct crew *c)
{
	unsigned int i;

	sem_init(&c->here, 0, 0);
	sem_init(&c->go, 0, 0);
	sem_init(&c->done, 0, 0);
	sem_init(&c->leave, 0, 0);
	for (i = 0; i < c->n; i++) {
		c->members[i] = (struct member){.crew = c, .index = i};
		errno = pthread_create(&c->members[i].thread, NULL, crew_member, &c->members[i]);
		if (errno)
			err(1, "thread %u", i);
	}
	crew_gather(c, &c->here);
	printf("{\"pid\":%d,\"tids\":[", (int)getpid());
	for (i = 0; i < c->n; i++)
		printf("%s%d", i ? "," : "", (int)c->members[i].tid);
	printf("]}\n");
	fflush(stdout);
}

static inline void crew_run(struct crew *c)
{
	unsigned int i;

	crew_start(c);
	if (c->wait)
		load_wait_stdin();
	for (i = 0; i < c->n; i++)
		c->members[i].before = load_schedstat(c->members[i].tid);
	crew_release(c, &c->go);
	crew_gather(c, &c->done);
	for (i = 0; i < c->n; i++) {
		c->members[i].after = load_schedstat(c->members[i].tid);
		crew_print(&c->members[i]);
	}
	fflush(stdout);
	if (c->wait)
		load_wait_stdin();
	crew_release(c, &c->leave);
	for (i = 0; i < c->n; i++)
		pthread_join(c->members[i].thread, NULL);
}

#endif
