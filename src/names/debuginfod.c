// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/debuginfod.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WS_STATIC

int debuginfod_check(struct err *e)
{
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"--debuginfod: this static waitscope cannot load libdebuginfod (use one built "
		"from source with 'make')");
}

int debuginfod_fetch(const uint8_t *id, size_t len)
{
	return -1;
}

#else

#include <dlfcn.h>

#define SONAME "libdebuginfod.so.1"
#define MAXTIME "DEBUGINFOD_MAXTIME"

struct debuginfod_client; /* the library's */

/* Its functions, found by name: declared as its manual has them. */
struct library {
	void *handle;
	struct debuginfod_client *(*begin)(void);
	void (*end)(struct debuginfod_client *client);
	int (*find)(struct debuginfod_client *client, const unsigned char *id, int len,
		    char **path);
};

static bool load(struct library *l)
{
	/* It stays: what it stands on (TLS libraries) loses memory each time it is taken out. */
	l->handle = dlopen(SONAME, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
	if (!l->handle)
		return false;
	*(void **)&l->begin = dlsym(l->handle, "debuginfod_begin");
	*(void **)&l->end = dlsym(l->handle, "debuginfod_end");
	*(void **)&l->find = dlsym(l->handle, "debuginfod_find_debuginfo");
	return l->begin && l->end && l->find;
}

static void unload(struct library *l)
{
	if (l->handle)
		dlclose(l->handle);
}

int debuginfod_check(struct err *e)
{
	struct library l = {0};
	const char *urls = getenv("DEBUGINFOD_URLS");
	bool loaded = load(&l);

	unload(&l);
	if (!loaded)
		return err_set(e, EXIT_CANNOT, -ENOENT,
			       "--debuginfod: " SONAME " cannot be loaded (install debuginfod's "
			       "client library)");
	if (!urls || !*urls)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--debuginfod: DEBUGINFOD_URLS is not set: no servers to ask");
	return 0;
}

/* The library's own limit of a transfer, unless the user has set one. */
static bool limit_time(void)
{
	char seconds[16];

	(void)snprintf(seconds, sizeof(seconds), "%d", DEBUGINFOD_WAIT_S); /* fits */
	return !getenv(MAXTIME) && !setenv(MAXTIME, seconds, 1);
}

int debuginfod_fetch(const uint8_t *id, size_t len)
{
	struct library l = {0};
	struct debuginfod_client *client = load(&l) ? l.begin() : NULL;
	bool limited;
	int fd = -1;

	if (client) {
		limited = limit_time();
		fd = l.find(client, id, (int)len, NULL);
		if (limited)
			(void)unsetenv(MAXTIME); /* only fails for names that are none */
		l.end(client);
	}
	unload(&l);
	return fd >= 0 ? fd : -1;
}

#endif
