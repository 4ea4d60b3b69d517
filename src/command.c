// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

struct command {
	pid_t pid;
	const char *name;
	int go_fd;   /* a byte lets it go */
	int fail_fd; /* carries errno if exec fails, else end of file */
	bool released;
	bool ended;
	int status;
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

static void child(char **argv, int go_fd, int fail_fd)
{
	sigset_t none;
	char byte;
	int code;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* while held; cleared before the exec */
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	(void)prctl(PR_SET_PDEATHSIG, 0);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	code = errno;
	(void)!write(fail_fd, &code, sizeof(code)); /* the parent has gone if this fails */
	_exit(127);
}

int command_fork(struct command **out, char **argv, struct err *e)
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
		child(argv, go[0], fail[1]);
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

bool command_ended(struct command *c, int *status)
{
	int ws;

	if (!c->ended && waitpid(c->pid, &ws, WNOHANG) == c->pid) {
		c->ended = true;
		c->status = WIFSIGNALED(ws) ? 128 + WTERMSIG(ws) : WEXITSTATUS(ws);
	}
	if (c->ended)
		*status = c->status;
	return c->ended;
}

void command_close(struct command *c)
{
	int status;

	if (!c)
		return;
	if (!command_ended(c, &status))
		(void)kill(c->pid, c->released ? SIGTERM : SIGKILL); /* it may just have ended */
	if (!c->released && !c->ended)
		(void)waitpid(c->pid, NULL, 0);
	close(c->go_fd);
	close(c->fail_fd);
	free(c);
}
