// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Asks of the names worker's process what it may not. For each act a child enters the sandbox that
 * the worker enters, and tries it:
 *
 *	walls sandbox|free	=> ACT TAB RESULT: "refused" (EPERM, ENOMEM), "killed", "done", or an errno
 *
 * "free" is the same without sandbox_worker: who is root can do all of it, so that a refusal is the
 * sandbox's.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "names/sandbox.h"

/* What was there before the sandbox was entered. */
struct room {
	int file;    /* open for writing, and as the worker's files are, for reading */
	pid_t other; /* a process that waits */
	char path[64];
};

static long do_open(const struct room *r)
{
	return syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
}

static long do_openat2(const struct room *r)
{
	uint64_t how[3] = {O_RDONLY};

	return syscall(SYS_openat2, AT_FDCWD, "/dev/null", how, sizeof(how));
}

static long do_create(const struct room *r)
{
	return syscall(SYS_openat, AT_FDCWD, r->path, O_WRONLY | O_CREAT, 0600);
}

static long do_unlink(const struct room *r)
{
	return unlink(r->path);
}

static long do_write(const struct room *r)
{
	return write(r->file, "x", 1);
}

static long do_pwrite(const struct room *r)
{
	struct iovec v = {"x", 1};

	return pwritev(r->file, &v, 1, 0);
}

static long do_truncate(const struct room *r)
{
	return ftruncate(r->file, 0);
}

static long do_socket(const struct room *r)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static long do_unix(const struct room *r)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long do_exec(const struct room *r)
{
	char *argv[] = {"true", NULL}, *none[] = {NULL};

	return execve("/bin/true", argv, none);
}

static long do_fork(const struct room *r)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	return pid;
}

static long do_ptrace(const struct room *r)
{
	return ptrace(PTRACE_SEIZE, r->other, NULL, NULL);
}

static long do_peek(const struct room *r)
{
	static char here[8];
	struct iovec to = {here, sizeof(here)}, from = {here, sizeof(here)};

	return process_vm_readv(r->other, &to, 1, &from, 1, 0);
}

static long do_kill(const struct room *r)
{
	return kill(r->other, SIGCONT);
}

static long do_code(const struct room *r)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static long do_bpf(const struct room *r)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static long do_perf(const struct room *r)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_CPU_CLOCK};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long do_chroot(const struct room *r)
{
	return chroot("/");
}

static long do_memory(const struct room *r)
{
	return mmap(NULL, WORKER_MEMORY, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

/* For longer than a request may. */
static long do_compute(const struct room *r)
{
	struct timespec used;

	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000000 + used.tv_nsec / 1000 < 3 * WORKER_REQUEST_CPU_US / 2);
	return 0;
}

static const struct act {
	const char *name;
	long (*go)(const struct room *r);
} acts[] = {
	{"open", do_open},     {"openat2", do_openat2},	   {"create", do_create},
	{"write", do_write},   {"pwritev", do_pwrite},	   {"truncate", do_truncate},
	{"unlink", do_unlink}, {"socket inet", do_socket}, {"socket unix", do_unix},
	{"execve", do_exec},   {"fork", do_fork},	   {"ptrace", do_ptrace},
	{"peek", do_peek},     {"kill", do_kill},	   {"code", do_code},
	{"bpf", do_bpf},       {"perf", do_perf},	   {"chroot", do_chroot},
	{"memory", do_memory}, {"compute", do_compute},
};

/* Exit status: 0 done, 255 no sandbox, else the errno. */
static void tried(const struct act *act, const struct room *r, int enter)
{
	long ret;

	if (enter && sandbox_worker())
		_exit(255);
	if (enter)
		sandbox_request_begin();
	errno = 0;
	ret = act->go(r);
	_exit(ret < 0 ? errno : 0);
}

static void try_one(const struct act *act, const struct room *r, int enter)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		tried(act, r, enter);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(1, "%s", act->name);
	if (WIFSIGNALED(status))
		printf("%s\t%s\n", act->name,
		       WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGPROF ? "killed"
										 : "signal");
	else if (WEXITSTATUS(status) == 255)
		errx(1, "no sandbox");
	else if (WEXITSTATUS(status))
		printf("%s\t%s\n", act->name,
		       WEXITSTATUS(status) == EPERM || WEXITSTATUS(status) == ENOMEM
			       ? "refused"
			       : strerror(WEXITSTATUS(status)));
	else
		printf("%s\tdone\n", act->name);
}

int main(int argc, char **argv)
{
	struct room r = {.path = "/tmp/ws-walls-XXXXXX"};
	int enter = argc == 2 && !strcmp(argv[1], "sandbox");

	if (!enter && (argc != 2 || strcmp(argv[1], "free")))
		errx(2, "usage: walls sandbox|free");
	setvbuf(stdout, NULL, _IOLBF, 0);
	r.file = mkstemp(r.path);
	r.other = r.file < 0 ? -1 : fork();
	if (!r.other) {
		pause();
		_exit(0);
	}
	if (r.other < 0)
		err(1, "%s", r.path);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		try_one(&acts[i], &r, enter);
	(void)kill(r.other, SIGKILL); /* ours */
	(void)waitpid(r.other, NULL, 0);
	(void)unlink(r.path); /* gone, where it could be */
	return 0;
}
