// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/clock.h"
#include "names/wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int) * WIRE_FDS)];
};

static size_t put_fds(struct msghdr *m, union control *c, const struct wire_fds *fds)
{
	size_t n = 0;

	memset(c, 0, sizeof(*c));
	while (fds && n < WIRE_FDS && fds->v[n] >= 0)
		n++;
	if (!n)
		return 0;
	m->msg_control = c;
	m->msg_controllen = CMSG_SPACE(sizeof(int) * n);
	c->head.cmsg_level = SOL_SOCKET;
	c->head.cmsg_type = SCM_RIGHTS;
	c->head.cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(&c->head), fds->v, sizeof(int) * n);
	return n;
}

int wire_send(int sock, const void *msg, size_t len, const struct wire_fds *fds, bool wait)
{
	struct iovec iov = {(void *)msg, len};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	union control c;
	ssize_t n;

	(void)put_fds(&m, &c, fds);
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	return (size_t)n == len ? 0 : -EPIPE;
}

static void take_fds(struct msghdr *m, struct wire_fds *fds)
{
	struct cmsghdr *c;
	size_t n = 0;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		int *v = (int *)(void *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; CMSG_LEN(sizeof(int) * (i + 1)) <= c->cmsg_len; i++) {
			if (n < WIRE_FDS)
				fds->v[n++] = v[i];
			else
				close(v[i]);
		}
	}
}

int wire_receive(int sock, void *msg, size_t len, struct wire_fds *fds)
{
	struct iovec iov = {msg, len};
	union control c;
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t n;

	if (fds) {
		fds->v[0] = fds->v[1] = -1;
		m.msg_control = &c; /* without room the kernel closes what comes along */
		m.msg_controllen = sizeof(c);
	}
	do
		n = recvmsg(sock, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : -EPIPE;
	if (fds)
		take_fds(&m, fds);
	if ((size_t)n == len && !(m.msg_flags & MSG_TRUNC))
		return 0;
	if (fds)
		wire_close_fds(fds);
	return -EPIPE;
}

void wire_close_fds(struct wire_fds *fds)
{
	for (size_t i = 0; i < WIRE_FDS; i++) {
		if (fds->v[i] >= 0)
			close(fds->v[i]);
		fds->v[i] = -1;
	}
}

bool wire_wait(int sock, uint64_t until_ns)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	uint64_t now = clock_mono_ns();
	int n = 0;

	do {
		uint64_t left = until_ns > now ? until_ns - now : 0;
		struct timespec ts = {(time_t)(left / 1000000000ULL), (long)(left % 1000000000ULL)};

		n = ppoll(&p, 1, &ts, NULL);
		now = clock_mono_ns();
	} while (n < 0 && errno == EINTR && now < until_ns);
	return n > 0;
}
