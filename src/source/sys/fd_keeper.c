// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sys/fd_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEPER_NAME \
	"waitscope: keeper" /* its argv[0]; the number of its pipe is the only argument */

/* ---- in the child ---- */

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Closes all descriptors but those of the sorted list, which the exec does not close. */
static int keep_only(const int *fds, size_t n)
{
	unsigned int from = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned int fd = (unsigned int)fds[i];

		if (fd > from && syscall(SYS_close_range, from, fd - 1, 0))
			return -errno;
		if (fcntl(fds[i], F_SETFD, 0))
			return -errno;
		from = fd + 1;
	}
	return syscall(SYS_close_range, from, ~0U, 0) ? -errno : 0;
}

/* A keeper needs no right to wait for the end of a pipe. */
static int drop_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	return syscall(SYS_capset, &head, none) ? -errno : 0;
}

/*
 * The exec lets go of this process's memory, which the maps of BPF objects are part of. The signals
 * of a terminal are for the parent alone, and a current directory would keep its file system
 * mounted.
 */
static void become_keeper(int *fds, size_t n, int end_fd)
{
	char number[16], *argv[] = {KEEPER_NAME, number, NULL};
	char *no_env[] = {NULL};
	sigset_t all;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL); /* the parent's end is the end, no signal is */
	(void)setpgid(0, 0);
	(void)snprintf(number, sizeof(number), "%d", end_fd); /* fits */
	qsort(fds, n, sizeof(*fds), compare_fds);
	if (keep_only(fds, n) || chdir("/") || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    drop_caps())
		_exit(1);
	execve("/proc/self/exe", argv, no_env);
	_exit(1);
}

int fd_keeper_main(int argc, char **argv)
{
	char *end, byte;
	ssize_t n;
	long fd;

	if (argc != 2 || strcmp(argv[0], KEEPER_NAME))
		return -1;
	fd = strtol(argv[1], &end, 10);
	if (end == argv[1] || *end || fd < 0)
		return 2;
	(void)prctl(PR_SET_NAME, "waitscope: keep");
	(void)prctl(PR_SET_DUMPABLE, 0); /* nobody else takes the descriptors */
	do
		n = read((int)fd, &byte, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	return 0;
}

/* ---- in main ---- */

int fd_keeper_start(struct fd_keeper *k, const int *fds, size_t n)
{
	int *kept = calloc(n + 1, sizeof(*kept)), end[2], ret = 0;
	pid_t pid;

	*k = (struct fd_keeper){0};
	if (!kept)
		return -ENOMEM;
	if (pipe2(end, O_CLOEXEC)) {
		ret = -errno;
		goto out;
	}
	memcpy(kept, fds, n * sizeof(*kept));
	kept[n] = end[0];
	pid = fork();
	if (!pid)
		become_keeper(kept, n + 1, end[0]);
	ret = pid < 0 ? -errno : 0;
	close(end[0]);
	if (ret)
		close(end[1]);
	else
		*k = (struct fd_keeper){pid, end[1]};
out:
	free(kept);
	return ret;
}

void fd_keeper_end(struct fd_keeper *k)
{
	if (!k->pid)
		return;
	close(k->end_fd);
	(void)waitpid(k->pid, NULL, WNOHANG); /* else it is init's: its exit may take seconds */
	*k = (struct fd_keeper){0};
}
