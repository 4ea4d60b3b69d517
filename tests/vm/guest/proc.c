// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_TIMEOUT_MS 60000

int64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail */
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static void child(const char *const argv[], const int in[2], const int out[2], const char *err_path,
		  proc_setup_fn setup, void *ctx)
{
	int status, fd;

	if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0)
		_exit(126);
	if (err_path) {
		fd = open(err_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		if (fd < 0 || dup2(fd, 2) < 0)
			_exit(126);
	}
	status = setup ? setup(ctx) : 0;
	if (status)
		_exit(status);
	(void)execv(argv[0], (char *const *)argv); /* returns only on failure */
	_exit(127);
}

int proc_start(struct proc *p, const char *const argv[], const char *err_path, proc_setup_fn setup,
	       void *ctx)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -errno;
	p->pid = fork();
	if (p->pid < 0)
		return -errno;
	if (p->pid == 0)
		child(argv, in, out, err_path, setup, ctx);
	(void)close(in[0]);
	(void)close(out[1]);
	p->in = in[1];
	p->out = out[0];
	return 0;
}

struct json_object *proc_read_json(struct proc *p)
{
	char line[4096];
	size_t n = 0;
	int64_t end = now_ms() + LINE_TIMEOUT_MS;

	while (n < sizeof(line) - 1 && now_ms() < end) {
		struct pollfd pfd = {.fd = p->out, .events = POLLIN};

		if (poll(&pfd, 1, 100) <= 0)
			continue;
		if (read(p->out, line + n, 1) != 1)
			break;
		if (line[n] == '\n') {
			line[n] = 0;
			return json_tokener_parse(line);
		}
		n++;
	}
	return NULL;
}

void proc_poke(struct proc *p)
{
	if (write(p->in, "\n", 1) != 1)
		fprintf(stderr, "guest: child %d does not listen\n", (int)p->pid);
}

int proc_wait(struct proc *p, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	int status;
	pid_t got;

	while ((got = waitpid(p->pid, &status, WNOHANG)) == 0 && now_ms() < end)
		sleep_ms(10);
	(void)close(p->in);
	(void)close(p->out);
	if (got == p->pid)
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, &status, 0);
	return -1;
}

char *file_text(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t len = 0, cap = 0;

	do {
		char *bigger = realloc(text, cap += 65536);

		if (!bigger)
			abort();
		text = bigger;
		len += f ? fread(text + len, 1, cap - len - 1, f) : 0;
	} while (f && len == cap - 1);
	text[len] = 0;
	if (f)
		(void)fclose(f); /* read only */
	return text;
}

struct json_object *report_load(const char *path)
{
	struct json_object *all = json_object_new_array(), *one;
	char *text = file_text(path), *line = text, *end;

	for (; all && (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		one = json_tokener_parse(line);
		if (!one) {
			json_object_put(all);
			all = NULL;
		} else {
			(void)json_object_array_add(all, one); /* fails only without memory */
		}
	}
	if (all && *line) { /* text after the last newline: a torn line */
		json_object_put(all);
		all = NULL;
	}
	free(text);
	return all;
}

const char *json_text(struct json_object *o, const char *key)
{
	const char *s = json_object_get_string(json_object_object_get(o, key));

	return s ? s : "";
}

struct json_object *report_line(struct json_object *report, const char *type)
{
	struct json_object *found = NULL;

	for (size_t i = 0; report && i < json_object_array_length(report); i++) {
		struct json_object *line = json_object_array_get_idx(report, i);

		if (strcmp(json_text(line, "type"), type))
			continue;
		if (found)
			return NULL;
		found = line;
	}
	return found;
}

bool report_await(const struct proc *p, const char *path, const char *type, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	char want[64];
	bool seen = false, ended = false;

	(void)snprintf(want, sizeof(want), "\"type\":\"%s\"", type);
	while (!seen && !ended && now_ms() < end) {
		siginfo_t info = {0};
		char *text;

		ended = waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
			info.si_pid;
		text = file_text(path);
		seen = strstr(text, want) != NULL;
		free(text);
		if (!seen)
			sleep_ms(20);
	}
	return seen;
}

static bool label_matches(struct json_object *labels, const char *key, const char *value)
{
	if (!key)
		return json_object_object_length(labels) == 0;
	if (!value)
		return json_object_object_get(labels, key) != NULL;
	return strcmp(json_text(labels, key), value) == 0;
}

int64_t report_sum(struct json_object *line, const char *metric, const char *key, const char *value,
		   const char *field)
{
	struct json_object *metrics = json_object_object_get(line, "metrics");
	int64_t sum = -1;

	for (size_t i = 0; metrics && i < json_object_array_length(metrics); i++) {
		struct json_object *m = json_object_array_get_idx(metrics, i);

		if (strcmp(json_text(m, "name"), metric) ||
		    !label_matches(json_object_object_get(m, "labels"), key, value))
			continue;
		sum = (sum < 0 ? 0 : sum) + json_object_get_int64(json_object_object_get(m, field));
	}
	return sum;
}
