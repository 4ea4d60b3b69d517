// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/tui_save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sink/out.h"

#define NAMES 100 /* within one second */

int tui_save_meta(struct record *out, const struct sink_args *args, const struct meta *m,
		  struct err *e)
{
	struct sink_args memory = {.cfg = args->cfg, .memory = true};
	struct sink *json = NULL;
	const char *text;
	size_t len;
	int ret = sink_json.open(&json, &memory, e);

	if (!ret)
		ret = json->ops->meta(json, m, e);
	if (!ret) {
		text = out_whole(json->out, &len);
		ret = record_read(out, text, len && text[len - 1] == '\n' ? len - 1 : len, e);
	}
	if (json)
		(void)json->ops->close(json, NULL); /* memory */
	return ret;
}

/* A new file, never one that somebody has put there: "waitscope-20261122-140211.json.gz". */
static int new_file(char *path, size_t len, mode_t mode)
{
	time_t now = time(NULL);
	char stamp[32] = "";
	struct tm tm;
	int fd = -1;

	if (localtime_r(&now, &tm))
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm); /* empty if it fails */
	for (int i = 1; i < NAMES && fd < 0; i++) {
		if (i == 1)
			(void)snprintf(path, len, "waitscope-%s.json.gz", stamp);
		else
			(void)snprintf(path, len, "waitscope-%s-%d.json.gz", stamp, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -errno;
	(void)close(fd); /* empty */
	return 0;
}

static int write_record(struct sink *json, const struct tui *t, const struct meta *m, struct err *e)
{
	int ret = json->ops->meta(json, m, e);
	size_t slow = 0;

	for (uint64_t i = t->keep.gone; i < tui_keep_end(&t->keep) && !ret; i++) {
		const struct frame *f = tui_keep_get(&t->keep, i);

		for (; slow < t->slow.n && t->slow.v[slow].report <= i && !ret; slow++)
			if (t->slow.v[slow].report == i) /* none of reports that went */
				ret = json->ops->slow(json, t->slow.v[slow].w, e);
		if (ret)
			break;
		if (f->type == FRAME_FINAL)
			ret = json->ops->final(json, f, e);
		else
			ret = json->ops->interval(json, f, f, e);
	}
	return ret;
}

void tui_save(struct tui *t, const struct sink_args *args, const struct meta *m)
{
	struct sink_args to = *args;
	struct sink *json = NULL;
	struct err e = {0};
	char path[64];
	int ret, closed;

	if (!t->keep.n) {
		tui_say(t, "there is no report yet to be saved");
		return;
	}
	ret = new_file(path, sizeof(path), args->owner_only ? 0600 : 0666);
	if (ret) {
		tui_say(t, "not saved: %s: %s", path, strerror(-ret));
		return;
	}
	to.path = path;
	ret = sink_json.open(&json, &to, &e);
	if (!ret)
		ret = write_record(json, t, m, &e);
	closed = json ? json->ops->close(json, ret ? NULL : &e) : 0;
	if (ret || closed)
		tui_say(t, "not saved: %s", e.text[0] ? e.text : strerror(ret ? -ret : -closed));
	else
		tui_say(t, "saved %zu report%s: %s", t->keep.n, t->keep.n == 1 ? "" : "s", path);
}
