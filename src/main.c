// SPDX-License-Identifier: GPL-2.0-or-later
/* waitscope: shows where tasks wait. The only file that prints errors and chooses the exit code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "core/err.h"
#include "diff.h"
#include "loop.h"
#include "names/names.h"
#include "opts.h"
#include "report.h"
#include "run.h"
#include "source/sys/bpf_util.h"
#include "source/sys/btf_check.h"
#include "source/sys/cgroup.h"
#include "source/sys/fd_keeper.h"
#include "source/times/times.h"
#include "source/privs.h"

static void print_error(const struct err *e, int ret)
{
	fprintf(stderr, "waitscope: error: %s\n", e->text[0] ? e->text : strerror(-ret));
}

/* What stands behind a source's name, if the words begin with it: it is said once. */
static const char *after_name(const char *words, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(words, name, len) && !strncmp(words + len, ": ", 2) ? words + len + 2
									    : words;
}

/* Default sources that cannot run here, and what those that do have to say. */
static void print_notes(const struct run *r)
{
	const struct run_source *s;
	const char *name, *notice;

	for (size_t i = 0; i < r->nsources && !r->cfg->quiet; i++) {
		s = &r->sources[i];
		name = s->ops->name;
		notice = s->src && s->ops->notice ? s->ops->notice(s->src) : NULL;
		if (!s->src)
			fprintf(stderr, "waitscope: note: without %s: %s\n", name,
				after_name(s->why, name));
		else if (notice)
			fprintf(stderr, "waitscope: note: %s: %s\n", name,
				after_name(notice, name));
		if (r->cfg->by != BY_NONE && s->src && s->ops->ungrouped)
			fprintf(stderr, "waitscope: note: %s: --by means nothing to it: %s\n", name,
				s->ops->ungrouped);
	}
	if (r->times && times_why(r->times) && !r->cfg->quiet)
		fprintf(stderr, "waitscope: note: where the time went is not told of threads: %s\n",
			after_name(times_why(r->times), "times"));
	if (by_cgroups(r->cfg->by) && !r->cfg->quiet && cgroup_v1_mounted())
		fprintf(stderr,
			"waitscope: note: --by: cgroup v1 controllers are mounted here; what is in "
			"cgroups of v1 alone, as containers of a v1 host are, is / or (none): rows are of cgroup v2\n");
	if (outputs_address(&r->outputs) && !r->cfg->quiet)
		fprintf(stderr, "waitscope: note: serving %s\n", outputs_address(&r->outputs));
	if (r->hide.on && !r->cfg->quiet)
		fprintf(stderr,
			"waitscope: note: the kernel hides its addresses from you (CAP_SYSLOG, "
			"kernel.kptr_restrict): others stand for them, in this run\n");
}

/*
 * What is read with our privileges is not the user's choice where the binary was given them: types
 * say where in the kernel's memory the programs look, a cache of debug information what file is
 * read. Nor are types that of anybody but root where the kernel has its own.
 */
static int check_files(const struct config *cfg, struct err *e)
{
	static const char lent[] = "this binary has privileges that you lack";
	bool borrowed = privs_borrowed();

	if (cfg->debuginfod && borrowed)
		return err_set(e, EXIT_USAGE, -EPERM,
			       "--debuginfod: refused: %s (only root may read other files with it)",
			       lent);
	if (!cfg->btf)
		return 0;
	bpf_util_log(cfg->verbose); /* libbpf's own words, of what is no BTF */
	if (borrowed || (geteuid() && kernel_has_btf()))
		return err_set(e, EXIT_USAGE, -EPERM,
			       "--btf '%s': refused: %s (only root may say where in the kernel's "
			       "memory to read)",
			       cfg->btf, borrowed ? lent : "the kernel has BTF of its own");
	return btf_check_file(cfg->btf, e);
}

#define COMMAND_NOTE_NS 500000000ULL	    /* then the user is told what is waited for */
#define COMMAND_INTERRUPT_NS 5000000000ULL  /* to end by itself, at Ctrl-C */
#define COMMAND_TERMINATE_NS 10000000000ULL /* to end at SIGTERM */

/*
 * The run is over and written. A COMMAND that still runs is ended, and waited for: another Ctrl-C
 * then ends us as any program. Returns what to exit with.
 */
static int end_command(struct command *c, bool quiet)
{
	static const char waiting[] =
		"waitscope: note: waiting for COMMAND to end (Ctrl-C: do not wait)\n";
	char left[512];

	if (command_is_interrupted(c) && !command_await(c, COMMAND_NOTE_NS)) {
		if (!quiet)
			fputs(waiting, stderr);
		(void)command_await(c, COMMAND_INTERRUPT_NS - COMMAND_NOTE_NS);
	}
	if (command_is_interrupted(c) || !command_ended(c))
		command_terminate(c);
	if (!command_await_all(c, COMMAND_NOTE_NS) && !quiet)
		fputs(waiting, stderr);
	(void)command_await_all(c, COMMAND_TERMINATE_NS - COMMAND_NOTE_NS);
	command_left(c, left, sizeof(left));
	if (*left)
		fprintf(stderr, "waitscope: left behind, still running: %s\n", left);
	return command_status(c);
}

static int run_all(const struct config *cfg, char **argv, int *status, bool *began, struct err *e)
{
	int ret, closed, limit = EXIT_DONE;
	struct err at_close = {0};
	struct command *command;
	sigset_t old;
	struct run r;

	loop_block_signals(&old);
	bpf_util_log(cfg->verbose);
	privs_keep_from_command();
	ret = run_open(&r, cfg, argv, e);
	if (!ret)
		ret = privs_drop(cfg, e);
	if (!ret) {
		print_notes(&r);
		*began = true;
		ret = loop_run(&r, &old, e);
	}
	if (ret)
		run_explain(cfg, ret, e);
	command = r.command;
	ret = outputs_verdict(&r.outputs, ret, stderr, &limit, e);
	closed = run_close(&r, ret ? &at_close : e);
	if (command && command_released(command))
		*status = end_command(command, cfg->quiet);
	command_close(command);
	if (cfg->bisect &&
	    *status) /* COMMAND's own, whatever it means by it: nothing was measured */
		*status = EXIT_FAILED;
	if (*status == EXIT_DONE)
		*status = limit;
	return ret ? ret : closed;
}

static int check(const struct config *cfg, int *status, struct err *e)
{
	struct rlimit had;
	bool can;
	int ret;

	run_raise_files(&had);
	bpf_util_log(cfg->verbose);
	ret = check_run(cfg, stdout, &can, e);
	*status = can ? EXIT_DONE : EXIT_CANNOT;
	return ret;
}

/*
 * A descriptor 0, 1 or 2 that was closed would be given to the next file that is opened: a table
 * would land in a CSV file. Output that is closed gets what cannot be written to, so that writing
 * fails.
 */
static int open_standard_fds(struct err *e)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_RDWR};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
			return err_sys(e, -errno, "/dev/null, for a closed descriptor %d", fd);
	return 0;
}

/* For git bisect run: 125 passes over what could not be measured, and from 128 on it gives up. */
#define BISECT_BAD 1
#define BISECT_SKIP 125
#define BISECT_ABORT 128

static int bisect_status(int status, bool began)
{
	if (status == EXIT_DONE)
		return EXIT_DONE;
	if (status == EXIT_LIMIT)
		return BISECT_BAD;
	return status == EXIT_USAGE && !began ? BISECT_ABORT : BISECT_SKIP;
}

static int trace_main(int argc, char **argv, int *status, bool *bisect, bool *began, struct err *e)
{
	enum opts_action action = OPTS_EXIT;
	struct config cfg;
	int ret = opts_parse(&cfg, stdout, argc, argv, &action, e);

	*bisect = cfg.bisect;
	if (!ret && action == OPTS_RUN)
		ret = check_files(&cfg, e);
	if (!ret && action == OPTS_RUN)
		ret = cfg.check ? check(&cfg, status, e) : run_all(&cfg, argv, status, began, e);
	config_free(&cfg);
	if (!ret && action == OPTS_EXIT && fflush(stdout))
		ret = err_set(e, EXIT_FAILED, -1, "standard output: cannot write");
	return ret;
}

int main(int argc, char **argv)
{
	struct err e = {0};
	int ret = names_child_main(argc, argv), status = 0;
	bool began = false, bisect = false;

	if (ret < 0)
		ret = fd_keeper_main(argc, argv);
	if (ret >= 0)
		return ret;
	ret = open_standard_fds(&e);
	if (ret) {
		print_error(&e, ret);
		return err_exit(&e);
	}
	if (argc > 1 && !strcmp(argv[1], "report"))
		ret = report_main(argc - 1, argv + 1, stdout, stderr, &status, &bisect, &began, &e);
	else if (argc > 1 && !strcmp(argv[1], "diff"))
		ret = diff_main(argc - 1, argv + 1, stdout, stderr, &status, &bisect, &began, &e);
	else
		ret = trace_main(argc, argv, &status, &bisect, &began, &e);
	if (ret) {
		print_error(&e, ret);
		status = err_exit(&e);
	}
	return bisect ? bisect_status(status, began) : status;
}
