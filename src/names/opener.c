// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The opener's process: it holds what privileges main has kept, opens what the worker asks for and
 * may have, passes the descriptor on and closes its own. What it reads itself is what the kernel
 * writes (maps, stat, status).
 */
#include "names/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names/debuginfod.h"
#include "names/sandbox.h"

#define FETCHES 4 /* at a time; then the oldest makes room */

/* ---- debuginfod: whoever it asks is foreign, and the library takes what time it likes ---- */

struct fetch {
	uint8_t id[BUILD_ID_MAX];
	size_t len; /* 0: free */
	pid_t pid;
	int sock; /* what it found comes there */
	bool done;
	int fd; /* it; -1: there is none */
};

struct fetches {
	struct fetch v[FETCHES];
	size_t next;
};

/* In a process of its own, without capabilities: the network is there for this. */
static void fetch_child(const struct fetch *f, int sock)
{
	struct wire_fds found = {{-1, -1}};
	char byte = 0;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sandbox_fetcher(DEBUGINFOD_WAIT_S))
		_exit(1);
	found.v[0] = debuginfod_fetch(f->id, f->len);
	(void)wire_send(sock, &byte, 1, &found, true); /* nobody is left to be told */
	_exit(0);
}

static int fetch_begin(struct fetch *f, const uint8_t *id, size_t len)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	*f = (struct fetch){.len = len, .sock = sv[0], .fd = -1};
	memcpy(f->id, id, len);
	f->pid = fork();
	if (!f->pid)
		fetch_child(f, sv[1]);
	close(sv[1]);
	if (f->pid < 0) {
		close(sv[0]);
		f->len = 0;
		return -ENOMEM;
	}
	return -EAGAIN;
}

static void fetch_end(struct fetch *f)
{
	if (!f->len)
		return;
	(void)kill(f->pid, SIGKILL); /* it has ended if it is done */
	(void)waitpid(f->pid, NULL, 0);
	if (f->fd >= 0)
		close(f->fd);
	close(f->sock);
	f->len = 0;
}

static int fetch_look(struct fetch *f)
{
	struct wire_fds fds = {{-1, -1}};
	char byte;
	int ret;

	if (!f->done) {
		ret = wire_receive(f->sock, &byte, 1, &fds);
		if (ret == -EAGAIN)
			return ret;
		f->done = true;
		f->fd = fds.v[0];
	}
	return f->fd < 0 ? -ENOENT : fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
}

int fetch_get(struct fetches *f, const uint8_t *id, size_t len)
{
	struct fetch *one;

	if (!f || !len || len > BUILD_ID_MAX)
		return -EINVAL;
	for (size_t i = 0; i < FETCHES; i++)
		if (f->v[i].len == len && !memcmp(f->v[i].id, id, len))
			return fetch_look(&f->v[i]);
	one = &f->v[f->next++ % FETCHES];
	fetch_end(one);
	return fetch_begin(one, id, len);
}

/* ---- the loop ---- */

int opener_main(int sock)
{
	struct fetches *fetches = calloc(1, sizeof(*fetches)); /* NULL: none is fetched */
	struct open_tell tell;
	struct open_ask ask;
	struct wire_fds with, fds;
	int ret = 0;

	(void)prctl(PR_SET_NAME, "waitscope-open"); /* 15 letters at most; others are cut */
	if (sandbox_opener())
		return 1;
	while (!ret) {
		(void)wire_wait(sock, UINT64_MAX);
		ret = wire_receive(sock, &ask, sizeof(ask), &with);
		if (ret == -EAGAIN) {
			ret = 0;
			continue;
		}
		if (ret)
			break;
		ask.path[sizeof(ask.path) - 1] = ask.name[sizeof(ask.name) - 1] = '\0';
		memset(&tell, 0, sizeof(tell));
		fds.v[0] = fds.v[1] = -1;
		opener_serve(fetches, &ask, &with, &tell, &fds);
		ret = wire_send(sock, &tell, sizeof(tell), &fds, true);
		wire_close_fds(&with);
		wire_close_fds(&fds);
	}
	for (size_t i = 0; fetches && i < FETCHES; i++)
		fetch_end(&fetches->v[i]);
	free(fetches);
	return 0;
}
