// SPDX-License-Identifier: GPL-2.0-or-later
/* A shared library with variables. */
#include <pthread.h>

#include "truth.h"

struct inside {
	int n;
	pthread_mutex_t lock;
};

DECLARED(lib_state);
static struct inside lib_state; /* .bss */
DECLARED(lib_ready);
static struct inside lib_ready = {.n = 1};
#ifdef INTERPOSABLE
long lib_public = 4;
#endif

void lib_show(void);

void lib_show(void)
{
	TRUTH(&lib_state.lock, lib_state, ".lock");
	TRUTH(&lib_ready.n, lib_ready, ".n");
}
