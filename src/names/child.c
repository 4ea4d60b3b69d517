// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "names/opener.h"
#include "names/sandbox.h"

/* What tells an exec of our own file that it is such a child: nobody is called that by chance, and
 * whoever is finds no socket as descriptor 3, which ends it. */
#define CHILD_NAME "waitscope: names"
#define ROLE_WORKER "worker"
#define ROLE_WORKER_FETCH "worker, debuginfod"
#define ROLE_OPENER "opener"
#define FIRST_FD 3
#define CHILD_FDS 3
#define START_NICE 10
#define IDLE_NICE 19
#define END_WAIT_NS 100000000L

void children_init(struct children *c, bool debuginfod)
{
	*c = (struct children){.sock = -1, .mark_fd = -1, .debuginfod = debuginfod};
}

/* ---- in the child ---- */

/* Descriptors 3, 4, ... are those given, 0 to 2 lead nowhere, and there are no others. */
static int only_fds(const int *fds, size_t n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high[CHILD_FDS];

	if (null < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FD + CHILD_FDS);
		if (high[i] < 0)
			return -errno;
	}
	for (int i = 0; i < FIRST_FD; i++)
		if (dup2(null, i) < 0)
			return -errno;
	for (size_t i = 0; i < n; i++)
		if (dup2(high[i], FIRST_FD + (int)i) < 0)
			return -errno;
	return syscall(SYS_close_range, FIRST_FD + n, ~0U, 0) ? -errno : 0;
}

/*
 * What is permitted stays so over the exec, of a file with or without capabilities of its own; and
 * as no_new_privs is set, nothing comes to it.
 */
static void keep_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0};

	if (!geteuid() || syscall(SYS_capget, &head, d))
		return; /* root's stay anyway */
	d[0].inheritable = d[0].permitted;
	d[1].inheritable = d[1].permitted;
	if (syscall(SYS_capset, &head, d))
		return; /* then fewer files can be opened */
	for (unsigned long cap = 0; cap < 64; cap++)
		if (d[cap / 32].permitted >> cap % 32 & 1)
			(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0); /* as above */
}

static void become(const char *role, const int *fds, size_t n, pid_t parent)
{
	char *argv[] = {CHILD_NAME, (char *)role, NULL};
	bool opens = !strcmp(role, ROLE_OPENER);
	struct sigaction fresh = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig < _NSIG; sig++)
		(void)sigaction(sig, &fresh, NULL); /* two cannot be */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* A terminal's signals are for main. No session of its own: that would have an autogroup of
	 * its own, and in turns no processor for half a second beside a busy one. */
	(void)setpgid(0, 0);
	/* What is measured goes first; the limits of a look-up's time are of what the child ran. */
	if (getpriority(PRIO_PROCESS, 0) < START_NICE)
		(void)setpriority(PRIO_PROCESS, 0, START_NICE);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || only_fds(fds, n) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(1);
	if (opens)
		keep_caps();
	else if (sandbox_drop_caps())
		_exit(1);
	execve("/proc/self/exe", argv, environ);
	_exit(1);
}

int names_child_main(int argc, char **argv)
{
	socklen_t len = sizeof(int);
	int type = 0;

	if (argc != 2 || strcmp(argv[0], CHILD_NAME))
		return -1;
	if (getsockopt(FIRST_FD, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_SEQPACKET)
		return 2;
	if (!strcmp(argv[1], ROLE_OPENER))
		return opener_main(FIRST_FD);
	return worker_main(FIRST_FD, FIRST_FD + 1, FIRST_FD + 2,
			   !strcmp(argv[1], ROLE_WORKER_FETCH));
}

/* ---- in main ---- */

static pid_t spawn(const char *role, const int *fds, size_t n)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid)
		become(role, fds, n, parent);
	return pid < 0 ? -errno : pid;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* What the worker writes about itself: of a size that it cannot change under us. */
static int make_mark(struct children *c)
{
	void *at;

	if (c->mark) {
		memset(c->mark, 0, sizeof(*c->mark));
		return 0;
	}
	c->mark_fd = memfd_create("waitscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (c->mark_fd < 0 || ftruncate(c->mark_fd, sizeof(struct mark)) ||
	    fcntl(c->mark_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	at = mmap(NULL, sizeof(struct mark), PROT_READ | PROT_WRITE, MAP_SHARED, c->mark_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	c->mark = at;
	return 0;
}

static void leave(struct children *c, pid_t *pid)
{
	if (*pid > 0 && c->nleft < CHILDREN_LEFT_MAX) {
		(void)kill(*pid, SIGKILL);
		c->left[c->nleft++] = *pid;
	}
	*pid = 0;
}

/* Lowers the child's niceness by one and raises it again: may we lower it later? */
static bool may_hurry(pid_t pid)
{
	return !setpriority(PRIO_PROCESS, (id_t)pid, START_NICE) &&
	       !setpriority(PRIO_PROCESS, (id_t)pid, START_NICE - 1) &&
	       !setpriority(PRIO_PROCESS, (id_t)pid, START_NICE);
}

int children_another_opener(struct children *c, int *sock)
{
	int sv[2];
	pid_t pid;

	*sock = -1;
	leave(c, &c->opener); /* there is room: looked at below and at a start */
	children_reap(c);
	if (c->nleft + 2 > CHILDREN_LEFT_MAX)
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	pid = spawn(ROLE_OPENER, &sv[1], 1);
	close(sv[1]);
	if (pid < 0) {
		close(sv[0]);
		return pid;
	}
	c->opener = pid;
	c->pace = CHILDREN_NOTED;
	c->may_hurry = may_hurry(pid);
	*sock = sv[0];
	return 0;
}

int children_start(struct children *c)
{
	int sv[2] = {-1, -1}, opener = -1, ret;
	pid_t pid = -1;

	ret = make_mark(c);
	if (!ret)
		ret = children_another_opener(c, &opener);
	if (!ret && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		ret = -errno;
	if (!ret) {
		pid = spawn(c->debuginfod ? ROLE_WORKER_FETCH : ROLE_WORKER,
			    (int[]){sv[1], opener, c->mark_fd}, CHILD_FDS);
		ret = pid < 0 ? pid : 0;
	}
	close_fd(&sv[1]);
	close_fd(&opener);
	if (ret) {
		close_fd(&sv[0]);
		(void)children_end(c); /* an opener, perhaps */
		return ret;
	}
	c->worker = pid;
	c->sock = sv[0];
	return 0;
}

int children_end(struct children *c)
{
	int status = 0, how = 0;

	close_fd(&c->sock);
	if (c->worker > 0 && waitpid(c->worker, &status, WNOHANG) == c->worker) {
		how = WIFSIGNALED(status) ? WTERMSIG(status) : 256;
		how = how == SIGKILL ? 0 : how;
		c->worker = 0;
	}
	leave(c, &c->worker);
	leave(c, &c->opener);
	children_reap(c);
	return how;
}

void children_hurry(struct children *c, enum children_pace pace)
{
	int nice = pace == CHILDREN_IDLE ? IDLE_NICE : START_NICE;

	if (pace == c->pace || c->worker <= 0 || !c->may_hurry)
		return;
	if (pace == CHILDREN_AWAITED)
		nice = getpriority(PRIO_PROCESS, 0); /* our own: it cannot fail */
	c->may_hurry = !setpriority(PRIO_PROCESS, (id_t)c->worker, nice) &&
		       (c->opener <= 0 || !setpriority(PRIO_PROCESS, (id_t)c->opener, nice));
	c->pace = pace;
}

void children_reap(struct children *c)
{
	for (size_t i = c->nleft; i--;)
		if (waitpid(c->left[i], NULL, WNOHANG) != 0) /* ended, or no child of ours */
			c->left[i] = c->left[--c->nleft];
}

static char state_of(pid_t pid)
{
	char path[64], line[512], *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid); /* fits */
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	at = strrchr(line, ')');
	return at && at[1] == ' ' ? at[2] : 0;
}

char children_state(const struct children *c)
{
	return state_of(c->worker);
}

bool children_runnable(const struct children *c)
{
	return state_of(c->worker) == 'R' || state_of(c->opener) == 'R';
}

static uint64_t ran_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

uint64_t children_ran_ns(const struct children *c)
{
	return ran_ns(c->worker) + ran_ns(c->opener);
}

void children_close(struct children *c)
{
	struct timespec ms = {0, 1000000};

	(void)children_end(c);
	for (long waited = 0; c->nleft && waited < END_WAIT_NS; waited += ms.tv_nsec) {
		(void)nanosleep(&ms, NULL); /* shorter is fine */
		children_reap(c);
	}
	if (c->mark)
		(void)munmap(c->mark, sizeof(*c->mark));
	c->mark = NULL;
	close_fd(&c->mark_fd);
}
