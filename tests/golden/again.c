// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads JSON Lines from standard input as `waitscope report` does, and writes each record again
 * through the JSON sink: what comes out must be what went in, byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "sink/sink.h"

static int write_again(struct sink *s, const struct record *r, struct err *e)
{
	switch (r->type) {
	case RECORD_META:
		return sink_json.meta(s, &r->meta, e);
	case RECORD_INTERVAL:
		return sink_json.interval(s, &r->frame, &r->frame, e);
	case RECORD_FINAL:
		return sink_json.final(s, &r->frame, e);
	case RECORD_SLOW:
		return sink_json.slow(s, &r->slow, e);
	}
	return -1;
}

static int again(struct sink *s, struct config *cfg, struct err *e)
{
	struct record r;
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int ret = 0;

	record_init(&r);
	while (!ret && (len = getline(&line, &room, stdin)) > 0) {
		ret = record_read(&r, line, (size_t)len - (line[len - 1] == '\n'), e);
		cfg->quantiles = (struct quantile *)r.quantiles; /* only read */
		cfg->nquantiles = r.nquantiles;
		if (!ret)
			ret = write_again(s, &r, e);
	}
	free(line);
	record_free(&r);
	return ret;
}

int main(void)
{
	struct config cfg = {0};
	struct sink_args args = {.cfg = &cfg};
	struct sink *s = NULL;
	struct err e = {0};
	int ret = sink_json.open(&s, &args, &e);

	if (!ret)
		ret = again(s, &cfg, &e);
	if (s && sink_json.close(s, &e))
		ret = -1;
	if (ret)
		fprintf(stderr, "again: %s\n", e.text);
	return ret ? 1 : 0;
}
