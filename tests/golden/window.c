// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Draws a record as a run draws tables on a terminal: each report in the place of the one before,
 * in a window whose size changes. `waitscope report` never does that: what it prints stays on the
 * screen.
 *
 * window RECORD <STEPS, to stdout. A step is a line of words; # begins a comment:
 *
 *	options -b pid -n 5		as of the command line
 *	screen COLUMNS LINES
 *	next				the next line of the record
 *	again				the report before it
 *	resize COLUMNS LINES
 *	progress NS
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_own.h"
#include "core/record.h"
#include "opts_table.h"
#include "sink/sink.h"

#define WORDS 32

struct window {
	struct sink *sink;
	struct config cfg;
	struct sink_args args;
	struct record r;
	FILE *in;
	struct err e;
};

static int set_options(struct window *w, char **words, int n)
{
	char *argv[WORDS + 3] = {(char *)"waitscope", (char *)"-s", (char *)"synth"};
	enum opts_action action;

	memcpy(argv + 3, words + 1, (size_t)n * sizeof(*words)); /* with the NULL at the end */
	config_free(&w->cfg);
	return opts_parse(&w->cfg, stderr, n + 2, argv, &action, &w->e);
}

static int show(struct window *w)
{
	const struct frame *f = &w->r.frame;

	if (w->r.type == RECORD_META)
		return sink_table.meta(w->sink, &w->r.meta, &w->e);
	if (w->r.type == RECORD_FINAL)
		return sink_table.final(w->sink, f, &w->e);
	return sink_table.interval(w->sink, f, f, &w->e);
}

static int next(struct window *w)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len = getline(&line, &room, w->in);
	int ret = -ENODATA;

	if (len > 0)
		ret = record_read(&w->r, line, (size_t)len - 1, &w->e);
	free(line);
	if (!ret && !w->sink)
		ret = sink_table.open(&w->sink, &w->args, &w->e);
	return ret ? ret : show(w);
}

static int step(struct window *w, char **words, int n)
{
	uint64_t numbers[2] = {0};

	for (int i = 0; i < 2 && i + 1 < n; i++)
		numbers[i] = strtoull(words[i + 1], NULL, 10);
	if (!strcmp(words[0], "options"))
		return set_options(w, words, n);
	if (!strcmp(words[0], "next"))
		return next(w);
	if (!strcmp(words[0], "again"))
		return show(w);
	if (!strcmp(words[0], "progress"))
		return sink_table.progress(w->sink, numbers[0], &w->e);
	if (!strcmp(words[0], "screen")) {
		w->args.columns = (uint32_t)numbers[0];
		w->args.lines = (uint32_t)numbers[1];
	} else if (!strcmp(words[0], "resize")) {
		sink_table.resize(w->sink, (uint32_t)numbers[0], (uint32_t)numbers[1]);
	} else {
		return err_set(&w->e, EXIT_USAGE, -EINVAL, "bad step '%s'", words[0]);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct window w = {
		.args = {.tty = true, .color = true, .redraw = true, .cfg = &w.cfg},
	};
	char line[4096], *words[WORDS + 1], *save;
	int ret = set_options(&w, (char *[]){(char *)"options", NULL}, 1), closed;

	record_init(&w.r);
	w.in = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (!w.in)
		ret = -EINVAL;
	while (!ret && fgets(line, sizeof(line), stdin)) {
		int n = 0;

		for (char *at = strtok_r(line, " \n", &save); at && n < WORDS;
		     at = strtok_r(NULL, " \n", &save))
			words[n++] = at;
		words[n] = NULL;
		if (n && words[0][0] != '#')
			ret = step(&w, words, n);
	}
	closed = w.sink ? sink_table.close(w.sink, &w.e) : 0;
	ret = ret ? ret : closed;
	if (ret)
		fprintf(stderr, "window: %s\n", w.e.text[0] ? w.e.text : strerror(-ret));
	if (w.in)
		(void)fclose(w.in);
	record_free(&w.r);
	config_free(&w.cfg);
	return ret != 0;
}
