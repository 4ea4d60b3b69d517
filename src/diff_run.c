// SPDX-License-Identifier: GPL-2.0-or-later
#include "diff.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/array.h"
#include "core/text.h"
#include "outputs.h"

#define SHOWN 60

static const char *const side_names[] = {[DIFF_BASE] = "base", [DIFF_NEW] = "new"};

struct runner {
	struct diff_opts *o;
	const char *dir;
	FILE *notes;
	bool progress;
	sigset_t ours, old;
	bool stop; /* a signal asked for it */
	struct err *e;
};

/* Of the commands' output nothing may come between what diff writes. */
static void exec_child(const struct runner *r, const char *command, char *output)
{
	int null = open("/dev/null", O_RDWR);

	(void)setpgid(0, 0); /* cannot fail */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(127);
	(void)sigprocmask(SIG_SETMASK, &r->old, NULL); /* cannot fail */
	(void)execl("/proc/self/exe", "waitscope", "-q", "-o", output, "--", "sh", "-c", command,
		    (char *)NULL);
	_exit(127);
}

/*
 * Ended early, the child's group is: the tracer, the command and what that started. The child is
 * not reaped before its group has been asked, so that the number is of no other one; who asks twice
 * does not wait.
 */
static int await(struct runner *r, pid_t child)
{
	siginfo_t info = {0};
	int status = 0;

	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid) {
		if (sigwaitinfo(&r->ours, &info) >= 0 && info.si_signo != SIGCHLD) {
			(void)kill(-child, r->stop ? SIGKILL : SIGTERM); /* it may have ended */
			r->stop = true;
		}
		info = (siginfo_t){0};
	}
	if (r->stop)
		(void)kill(-child, SIGTERM); /* what the command has left behind */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int trace(struct runner *r, int side, const char *path)
{
	const char *command = r->o->words[side];
	char *output, clean[SHOWN];
	int status;
	pid_t child;

	if (asprintf(&output, "json:%s", path) < 0)
		return err_sys(r->e, -ENOMEM, "diff --run");
	child = fork();
	if (!child)
		exec_child(r, command, output);
	free(output);
	if (child < 0)
		return err_sys(r->e, -errno, "diff --run: fork");
	(void)setpgid(child, child); /* or it has done so itself */
	status = await(r, child);
	if (!status || r->stop)
		return 0;
	text_clean(clean, sizeof(clean), command, SIZE_MAX);
	if (WIFSIGNALED(status))
		return err_set(r->e, EXIT_FAILED, -ECHILD, "diff --run '%s': ended by signal %d",
			       clean, WTERMSIG(status));
	return err_set(r->e, EXIT_FAILED, -ECHILD,
		       "diff --run '%s': exit status %d (what fails is not compared)", clean,
		       WEXITSTATUS(status));
}

/* The name of a run's record, which must not be there yet. NULL with words. */
static char *new_path(struct runner *r, int side, uint32_t number)
{
	char *path;

	if (asprintf(&path, "%s/%s-%u.json.gz", r->dir, side_names[side], number) < 0) {
		(void)err_sys(r->e, -ENOMEM, "diff --run");
		return NULL;
	}
	if (access(path, F_OK) && errno == ENOENT)
		return path;
	(void)err_set(r->e, EXIT_USAGE, -EEXIST,
		      "--keep '%s': has %s-%u.json.gz (expected a directory without records)",
		      r->dir, side_names[side], number);
	free(path);
	return NULL;
}

/* Number 0 is the warm-up. A run that a signal ends is none. */
static int run_once(struct runner *r, int side, uint32_t number)
{
	char *path = number ? new_path(r, side, number) : NULL, clean[SHOWN];
	int ret;

	if (number && !path)
		return -EEXIST;
	if (r->progress && number)
		fprintf(r->notes, "\r\033[Krun %u of %u, %s: %s", number, r->o->runs,
			side_names[side],
			text_clean(clean, sizeof(clean), r->o->words[side], SIZE_MAX));
	else if (r->progress)
		fprintf(r->notes, "\r\033[Kwarm-up, %s", side_names[side]);
	(void)fflush(r->notes); /* progress is no data */
	ret = trace(r, side, path ? path : "/dev/null");
	if (!path)
		return ret;
	if (!ret && !r->stop)
		return str_list_push(&r->o->sides[side], path)
			       ? err_sys(r->e, -ENOMEM, "diff --run")
			       : 0;
	(void)unlink(path); /* half a run; it may not even have begun */
	free(path);
	return ret;
}

/* Base first, then new first, ...: a drift of the machine is in both. */
static int run_all(struct runner *r)
{
	static const struct timespec now = {0};
	int ret = 0;

	for (uint32_t i = 0; i <= r->o->runs; i++)
		for (uint32_t k = 0; k < DIFF_SIDES && !ret && !r->stop; k++) {
			ret = run_once(r, (int)((i + k) % DIFF_SIDES), i);
			while (sigtimedwait(&r->ours, NULL, &now) > 0) /* between two runs */
				r->stop = true;
		}
	if (r->progress)
		fputs("\r\033[K", r->notes);
	if (ret || !r->stop)
		return ret;
	if (!r->o->sides[DIFF_BASE].n || !r->o->sides[DIFF_NEW].n)
		return err_set(r->e, EXIT_FAILED, -EINTR,
			       "diff --run: interrupted before a run of each had ended");
	if (!r->o->quiet)
		fprintf(r->notes, "waitscope: note: diff: interrupted: %zu and %zu runs\n",
			r->o->sides[DIFF_BASE].n, r->o->sides[DIFF_NEW].n);
	return 0;
}

/* --keep's directory, or a new one. From malloc, or NULL with words. */
static char *make_dir(const struct diff_opts *o, struct err *e)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = NULL;

	if (o->keep)
		dir = strdup(o->keep);
	else if (asprintf(&dir, "%s/waitscope-diff-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0)
		dir = NULL;
	if (!dir) {
		(void)err_sys(e, -ENOMEM, "diff --run");
		return NULL;
	}
	if (o->keep ? !mkdir(dir, 0777) || errno == EEXIST : mkdtemp(dir) != NULL)
		return dir;
	(void)err_sys(e, -errno, "--keep: cannot make '%s'", dir);
	free(dir);
	return NULL;
}

/* Both commands are traced as a run without options is. */
static int check_limits(const struct diff_opts *o, struct err *e)
{
	uint64_t metrics = 0;

	for (size_t i = 0; source_list[i]; i++)
		if (source_list[i]->by_default)
			metrics |= limits_metrics(source_list[i]);
	return limits_check(&o->limits, metrics, false, "of --run", e);
}

int diff_run(struct diff_opts *o, FILE *notes, struct err *e)
{
	struct runner r = {.o = o, .notes = notes, .e = e};
	int ret = check_limits(o, e);
	char *dir, clean[256];

	if (ret)
		return ret;
	dir = make_dir(o, e);
	if (!dir)
		return -EIO;
	r.dir = dir;
	r.progress = !o->quiet && isatty(fileno(notes));
	(void)sigemptyset(&r.ours); /* these cannot fail */
	(void)sigaddset(&r.ours, SIGINT);
	(void)sigaddset(&r.ours, SIGTERM);
	(void)sigaddset(&r.ours,
			SIGHUP); /* the terminal's, which a group of its own does not get */
	(void)sigaddset(&r.ours, SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL); /* whoever started us may have ignored it */
	(void)sigprocmask(SIG_BLOCK, &r.ours, &r.old);
	if (!o->keep && !o->quiet)
		fprintf(notes, "waitscope: note: diff: records in %s\n",
			text_clean(clean, sizeof(clean), dir, SIZE_MAX));
	ret = run_all(&r);
	(void)sigprocmask(SIG_SETMASK, &r.old, NULL);
	free(dir);
	return ret;
}
