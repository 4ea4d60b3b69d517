// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/mman.h>

#include "source/mapped.h"

/* The kernel rounds to pages, here and at the end. */
int mapped_open(struct mapped *m, int map_fd, size_t bytes, const char *what, struct err *e)
{
	void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED, map_fd, 0);

	if (at == MAP_FAILED)
		return err_sys(e, -errno, "%s", what);
	m->at = at;
	m->len = bytes;
	return 0;
}

void mapped_close(struct mapped *m)
{
	if (m->at)
		(void)munmap((void *)m->at, m->len); /* nothing to do about a failure */
	m->at = NULL;
}
