// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* With sanitizers memory cannot be bounded, and they ask for more of the kernel. */
#ifdef WS_SANITIZED
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define LAST_CAP_TRIED 63

int sandbox_drop_caps(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	/* The bounding set wants CAP_SETPCAP; without it what counts is that no exec gives any. */
	for (unsigned long cap = 0; cap <= LAST_CAP_TRIED; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* goes with the rest */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, none))
		return -errno;
	return 0;
}

static int limit(int what, uint64_t value)
{
	struct rlimit now, r = {value, value};

	if (getrlimit((__rlimit_resource_t)what, &now))
		return -errno;
	if (now.rlim_max < value)
		r.rlim_cur = r.rlim_max = now.rlim_max;
	return setrlimit((__rlimit_resource_t)what, &r) ? -errno : 0;
}

/* What all three do without. */
static int common(void)
{
	return limit(RLIMIT_CORE, 0) ?: prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

/*
 * System calls of parsing: memory, reading what was passed, talking to main and to the opener.
 * fstat is newfstatat with AT_EMPTY_PATH in the C library; that a name could be given with it is
 * the one thing that this lets through: it tells whether a file is there, and opens nothing.
 */
static const int calls[] = {
	SCMP_SYS(read),		SCMP_SYS(pread64),    SCMP_SYS(lseek),
	SCMP_SYS(fstat),	SCMP_SYS(munmap),     SCMP_SYS(mremap),
	SCMP_SYS(brk),		SCMP_SYS(madvise),    SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),	SCMP_SYS(ppoll),      SCMP_SYS(close),
	SCMP_SYS(futex),	SCMP_SYS(setitimer),  SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday), SCMP_SYS(sysinfo),    SCMP_SYS(getrandom),
	SCMP_SYS(exit),		SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
	SCMP_SYS(getpid),	SCMP_SYS(gettid),     SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
};

/*
 * What libdw tries of itself: what is its file called, where are the parts of it that it names. It
 * goes on without.
 */
static const int refused[] = {
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
};

#define ALLOW SCMP_ACT_ALLOW

static int add_rules(scmp_filter_ctx f)
{
	static const int fcntls[] = {F_GETFD, F_GETFL, F_DUPFD_CLOEXEC};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(calls) / sizeof(calls[0]); i++)
		ret = seccomp_rule_add(f, ALLOW, calls[i], 0);
	for (size_t i = 0; !ret && i < sizeof(refused) / sizeof(refused[0]); i++)
		ret = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	for (size_t i = 0; !ret && i < sizeof(fcntls) / sizeof(fcntls[0]); i++)
		ret = seccomp_rule_add(f, ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)fcntls[i]));
	if (!ret)
		ret = seccomp_rule_add(f, ALLOW, SCMP_SYS(newfstatat), 1,
				       SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	if (!ret)
		ret = seccomp_rule_add(f, ALLOW, SCMP_SYS(mmap), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	if (!ret)
		ret = seccomp_rule_add(f, ALLOW, SCMP_SYS(mprotect), 1,
				       SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return ret;
}

static int filter_calls(void)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int ret = f ? add_rules(f) : -ENOMEM;

	if (!ret)
		ret = seccomp_load(f);
	seccomp_release(f);
	return ret;
}

int sandbox_worker(void)
{
	pid_t parent = getppid();
	int ret;

	/* A user name space of its own gives a network name space of its own to whoever may not
	 * have one, as far as the machine allows that; the filter shuts out sockets in any case. */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		(void)unshare(CLONE_NEWNET);
	ret = sandbox_drop_caps() ?: common() ?: limit(RLIMIT_FSIZE, 0) ?: limit(RLIMIT_NPROC, 0);
	if (!ret)
		ret = limit(RLIMIT_NOFILE, WORKER_FILES) ?: limit(RLIMIT_CPU, WORKER_CPU_S);
	if (!ret && !SANITIZED)
		ret = limit(RLIMIT_AS, WORKER_MEMORY);
	if (ret)
		return ret;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	return SANITIZED ? 0 : filter_calls();
}

void sandbox_request_begin(void)
{
	struct itimerval t = {
		.it_value = {WORKER_REQUEST_CPU_US / 1000000, WORKER_REQUEST_CPU_US % 1000000}};

	(void)setitimer(ITIMER_PROF, &t, NULL); /* cannot fail with these arguments */
}

void sandbox_request_end(void)
{
	struct itimerval none = {{0, 0}, {0, 0}};

	(void)setitimer(ITIMER_PROF, &none, NULL); /* cannot fail with these arguments */
}

int sandbox_opener(void)
{
	int ret = common(); /* no RLIMIT_FSIZE: who fetches for it writes to a cache */

	if (!ret && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		ret = -errno;
	return ret;
}

int sandbox_fetcher(unsigned int seconds)
{
	int ret = sandbox_drop_caps();

	if (!ret && !SANITIZED)
		ret = limit(RLIMIT_AS, FETCHER_MEMORY);
	if (!ret)
		ret = limit(RLIMIT_CPU, seconds);
	(void)alarm(seconds + 1);
	return ret;
}
