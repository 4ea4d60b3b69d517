// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "core/clock.h"
#include "core/array.h"
#include "core/text.h"
#include "source/filter/targets.h"
#include "source/sys/bpf_util.h"

/* COMMAND, or a descendant of it. */
struct member {
	uint32_t pid;
	int pidfd;  /* -1: it has ended */
	bool asked; /* it was sent SIGTERM */
};

struct command {
	pid_t pid;
	const char *name;
	int go_fd;   /* a byte lets it go */
	int fail_fd; /* carries errno if exec fails, else end of file */
	bool released;
	bool ended;
	int wait_status; /* once it has ended */
	int asked;	 /* the signal that ended the run and went to it as well, or 0 */
	pid_t group;	 /* its process group, once its members are known */
	struct member *members;
	size_t nmembers, members_cap;
};

static int cannot_run(struct err *e, int code, const char *name)
{
	return err_set(e, EXIT_FAILED, code, "command '%s': %s (expected a program after --)", name,
		       strerror(-code));
}

/* 0 if the file may be executed, else negative errno. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) ? -errno : 0;
}

/* As execvp will look: so that a typing error is told before anything has begun. */
static int find_program(const char *name)
{
	const char *path = getenv("PATH"), *next;
	char file[4096];
	int ret, worst = -ENOENT;

	if (strchr(name, '/'))
		return executable(name);
	for (path = path ? path : "/usr/bin:/bin"; path; path = next ? next + 1 : NULL) {
		int len;

		next = strchr(path, ':');
		len = next ? (int)(next - path) : (int)strlen(path);
		if (snprintf(file, sizeof(file), "%.*s%s%s", len, path, len ? "/" : "", name) >=
		    (int)sizeof(file))
			continue;
		ret = executable(file);
		if (!ret)
			return 0;
		if (ret == -EACCES)
			worst = ret;
	}
	return worst;
}

static void child(char **argv, const struct rlimit *files, int go_fd, int fail_fd)
{
	sigset_t none;
	char byte;
	int code;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* while held; cleared before the exec */
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	(void)prctl(PR_SET_PDEATHSIG, 0);
	if (files->rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, files); /* as it would have without us */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	code = errno;
	(void)!write(fail_fd, &code, sizeof(code)); /* the parent has gone if this fails */
	_exit(127);
}

int command_fork(struct command **out, char **argv, const struct rlimit *files, struct err *e)
{
	int go[2] = {-1, -1}, fail[2] = {-1, -1}, ret;
	struct command *c;

	ret = find_program(argv[0]);
	if (ret)
		return cannot_run(e, ret, argv[0]);
	c = calloc(1, sizeof(*c));
	if (!c || pipe2(go, O_CLOEXEC) || pipe2(fail, O_CLOEXEC)) {
		ret = c ? -errno : -ENOMEM;
		goto fail;
	}
	c->name = argv[0];
	c->pid = fork();
	if (c->pid < 0) {
		ret = -errno;
		goto fail;
	}
	if (!c->pid) {
		close(go[1]);
		child(argv, files, go[0], fail[1]);
	}
	close(go[0]);
	close(fail[1]);
	c->go_fd = go[1];
	c->fail_fd = fail[0];
	*out = c;
	return 0;
fail:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (fail[i] >= 0)
			close(fail[i]);
	}
	free(c);
	return cannot_run(e, ret, argv[0]);
}

uint32_t command_pid(const struct command *c)
{
	return (uint32_t)c->pid;
}

int command_release(struct command *c, struct err *e)
{
	int code = 0;
	ssize_t n;

	c->released = true;
	do
		n = write(c->go_fd, "", 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return cannot_run(e, -errno, c->name);
	do
		n = read(c->fail_fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	return n == sizeof(code) ? cannot_run(e, -code, c->name) : 0;
}

bool command_released(const struct command *c)
{
	return c->released;
}

bool command_ended(struct command *c)
{
	if (!c->ended && waitpid(c->pid, &c->wait_status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

int command_status(const struct command *c)
{
	if (!c->ended)
		return 0;
	if (!WIFSIGNALED(c->wait_status))
		return WEXITSTATUS(c->wait_status);
	return WTERMSIG(c->wait_status) == c->asked ? 0 : 128 + WTERMSIG(c->wait_status);
}

/* ---- the end of a run that COMMAND outlives ---- */

static bool is_member(const struct command *c, uint32_t pid)
{
	for (size_t i = 0; i < c->nmembers; i++)
		if (c->members[i].pid == pid && c->members[i].pidfd >= 0)
			return true;
	return false;
}

static void add_member(struct command *c, uint32_t pid)
{
	struct member *v;
	int fd;

	if (is_member(c, pid))
		return;
	v = array_room(c->members, &c->members_cap, c->nmembers, 1, sizeof(*v));
	fd = v ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	if (v)
		c->members = v;
	if (fd >= 0) /* else it has just ended */
		c->members[c->nmembers++] = (struct member){.pid = pid, .pidfd = fd};
}

/* Notes COMMAND and its descendants as of now; without /proc that is COMMAND alone. */
static void find_members(struct command *c)
{
	uint32_t pid = (uint32_t)c->pid;
	const struct filter command = {.pids = {.v = &pid, .n = 1}};
	struct u32_list found = {0};

	if (!command_ended(c)) {
		c->group = getpgid(c->pid);
		add_member(c, pid);
	}
	(void)targets_descendants(&command, &found);
	for (size_t i = 0; i < found.n; i++)
		add_member(c, found.v[i]);
	free(found.v);
}

static bool member_runs(struct member *m)
{
	struct pollfd p = {.fd = m->pidfd, .events = POLLIN};

	if (m->pidfd >= 0 && poll(&p, 1, 0) > 0) {
		close(m->pidfd);
		m->pidfd = -1;
	}
	return m->pidfd >= 0;
}

/* Waits until this one has ended, or until then. */
static bool await_member(struct member *m, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = m->pidfd, .events = POLLIN};
	uint64_t now = clock_mono_ns();

	while (m->pidfd >= 0 && now < deadline_ns &&
	       poll(&p, 1, (int)((deadline_ns - now) / 1000000 + 1)) < 0 && errno == EINTR)
		now = clock_mono_ns();
	return !member_runs(m);
}

void command_interrupt(struct command *c)
{
	c->asked = SIGINT;
	find_members(c);
}

bool command_is_interrupted(const struct command *c)
{
	return c->asked == SIGINT;
}

bool command_await(struct command *c, uint64_t ns)
{
	struct member self = {.pid = (uint32_t)c->pid, .pidfd = -1};

	if (!command_ended(c)) {
		self.pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
		(void)await_member(&self, clock_mono_ns() + ns);
		if (self.pidfd >= 0)
			close(self.pidfd);
	}
	return command_ended(c);
}

void command_terminate(struct command *c)
{
	find_members(c);
	if (!c->ended)
		c->asked = SIGTERM;
	for (size_t i = 0; i < c->nmembers; i++) {
		struct member *m = &c->members[i];

		/* Who has a process group of its own has left COMMAND's on purpose. */
		if (!member_runs(m) || getpgid((pid_t)m->pid) != c->group)
			continue;
		m->asked = !syscall(SYS_pidfd_send_signal, m->pidfd, SIGTERM, NULL, 0);
	}
}

bool command_await_all(struct command *c, uint64_t ns)
{
	uint64_t deadline = clock_mono_ns() + ns;
	bool all = true;

	for (size_t i = 0; i < c->nmembers; i++)
		if (c->members[i].asked)
			all &= await_member(&c->members[i], deadline);
	return command_ended(c) && all;
}

/* "42 sleep", to be printed. */
static void member_text(const struct member *m, char *out, size_t len)
{
	char path[64], comm[64] = "", clean[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%u/comm", m->pid); /* fits */
	f = fopen(path, "re");
	if (f && !fgets(comm, sizeof(comm), f))
		*comm = '\0';
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	(void)snprintf(out, len, "%u %s", m->pid,
		       text_clean(clean, sizeof(clean), comm, SIZE_MAX)); /* fits */
}

void command_left(struct command *c, char *out, size_t len)
{
	size_t n = 0, more = 0;
	char one[96];

	*out = '\0';
	for (size_t i = 0; i < c->nmembers; i++) {
		if (!member_runs(&c->members[i]))
			continue;
		member_text(&c->members[i], one, sizeof(one));
		if (n + strlen(one) + sizeof(", and 4294967295 more") > len)
			more++;
		else
			n += (size_t)snprintf(out + n, len - n, "%s%s", n ? ", " : "", one);
	}
	if (more)
		(void)snprintf(out + n, len - n, ", and %zu more", more); /* fits: see above */
}

void command_close(struct command *c)
{
	if (!c)
		return;
	if (!c->released && !c->ended) {
		(void)kill(c->pid, SIGKILL); /* a copy of us, held before its exec */
		(void)waitpid(c->pid, NULL, 0);
	}
	for (size_t i = 0; i < c->nmembers; i++)
		if (c->members[i].pidfd >= 0)
			close(c->members[i].pidfd);
	free(c->members);
	close(c->go_fd);
	close(c->fail_fd);
	free(c);
}
