// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/epoll.h>

#include "source/poll.h"

int poll_open(int *event_fd, const int *fds, size_t n, const char *what, struct err *e)
{
	struct epoll_event ev = {.events = EPOLLIN};
	size_t i;

	for (i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if (*event_fd < 0)
			*event_fd = epoll_create1(EPOLL_CLOEXEC);
		if (*event_fd < 0 || epoll_ctl(*event_fd, EPOLL_CTL_ADD, fds[i], &ev))
			return err_sys(e, -errno, "%s: epoll", what);
	}
	return 0;
}
