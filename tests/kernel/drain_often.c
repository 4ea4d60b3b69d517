// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waitscope with the sched source alone, whose long intervals are read in parts more often than the
 * tool does it: every few ms, not every ten minutes.
 *
 *	drain_often MS OPTIONS...	at the end on stderr: {"drains":N}
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop.h"
#include "opts.h"
#include "source/sys/bpf_util.h"

/* The linker puts it in the place of the loop's (--wrap). */
int __real_run_drain_banks(struct run *r, struct err *e);
int __wrap_run_drain_banks(struct run *r, struct err *e);

static unsigned long drains;

int __wrap_run_drain_banks(struct run *r, struct err *e)
{
	drains++;
	return __real_run_drain_banks(r, e);
}

int main(int argc, char **argv)
{
	enum opts_action action = OPTS_EXIT;
	uint64_t ms = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	struct config cfg;
	struct run r = {0};
	struct err e = {0};
	sigset_t old;
	struct command *command;
	int ret, status = 0;

	if (!ms)
		errx(2, "usage: drain_often MS OPTIONS...");
	bpf_util_log(false); /* as main does */
	loop_block_signals(&old);
	argv[1] = argv[0];
	ret = opts_parse(&cfg, stdout, argc - 1, argv + 1, &action, &e);
	if (!ret && action == OPTS_RUN)
		ret = run_open(&r, &cfg, argv + 1, &e);
	r.drain_ns = ms * 1000000;
	if (!ret)
		ret = loop_run(&r, &old, &e);
	command = r.command;
	if (run_close(&r, &e) && !ret)
		ret = -1;
	if (command) {
		(void)command_ended(command);
		status = command_status(command);
	}
	command_close(command);
	config_free(&cfg);
	fprintf(stderr, "{\"drains\":%lu}\n", drains);
	if (ret)
		errx(1, "%s", e.text);
	return status;
}
