// SPDX-License-Identifier: GPL-2.0-or-later
/* A command line: arguments with newlines between them. */
#include "fuzz.h"

#include "opts.h"

#define ARGS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *argv[ARGS_MAX + 2] = {"waitscope"}, *next = text;
	static FILE *null;
	enum opts_action action;
	struct config cfg;
	struct err e = {0};
	int argc = 1, ret;

	if (!null)
		null = fopen("/dev/null", "w");
	while (argc <= ARGS_MAX && next)
		argv[argc++] = strsep(&next, "\n");
	argv[argc] = NULL;
	ret = opts_parse(&cfg, null, argc, argv, &action, &e);
	if (ret) {
		MUST(ret < 0 && e.text[0] && e.exit == EXIT_USAGE);
		MUST(fuzz_utf8_valid(e.text) && !strpbrk(e.text, "\n\033"));
	} else if (action == OPTS_RUN) {
		MUST(cfg.noutputs > 0 && cfg.interval_ns > 0 && cfg.nquantiles > 0);
		MUST(cfg.precision >= BUCKET_SCHEMA_MIN && cfg.precision <= BUCKET_SCHEMA_MAX);
		MUST(!(cfg.filter.pids.n && cfg.filter.tids.n));
	}
	config_free(&cfg);
	free(text);
	return 0;
}
