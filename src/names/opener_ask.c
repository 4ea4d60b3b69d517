// SPDX-License-Identifier: GPL-2.0-or-later
/* The worker's side of opening: a request, and no more patience than OPENER_WAIT_NS. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "names/opener.h"

static bool has_hung(const struct opener *o, uint32_t pid, uint64_t dev)
{
	size_t n = o->nhung < HUNG_MAX ? o->nhung : HUNG_MAX;

	for (size_t i = 0; i < n; i++)
		if (o->hung[i].pid == pid || (dev && o->hung[i].dev == dev))
			return true;
	return false;
}

bool opener_has_hung(const struct opener *o, uint32_t pid)
{
	return o && has_hung(o, pid, 0);
}

static void give_up(struct opener *o, uint32_t pid, uint64_t dev)
{
	close(o->sock);
	o->sock = -1;
	o->lost = true;
	o->hung[o->nhung % HUNG_MAX].pid = pid;
	o->hung[o->nhung++ % HUNG_MAX].dev = dev;
}

static int request(struct opener *o, const struct open_ask *ask, uint64_t dev,
		   const struct wire_fds *with, struct open_tell *tell, struct wire_fds *fds)
{
	int ret;

	fds->v[0] = fds->v[1] = -1;
	if (!o || o->sock < 0)
		return -EIO;
	if (ask->pid && has_hung(o, ask->pid, dev))
		return -ETIMEDOUT;
	ret = wire_send(o->sock, ask, sizeof(*ask), with, true);
	if (!ret && !wire_wait(o->sock, clock_mono_ns() + OPENER_WAIT_NS))
		ret = -ETIMEDOUT;
	if (!ret)
		ret = wire_receive(o->sock, tell, sizeof(*tell), fds);
	if (ret) {
		give_up(o, ask->pid, dev);
		return ret;
	}
	return tell->status;
}

/* One descriptor, or why there is none. */
static int request_fd(struct opener *o, const struct open_ask *ask, uint64_t dev,
		      const struct wire_fds *with)
{
	struct open_tell tell;
	struct wire_fds fds;
	int ret = request(o, ask, dev, with, &tell, &fds), fd = fds.v[0];

	if (!ret && fd >= 0)
		return fd;
	wire_close_fds(&fds);
	return ret ? ret : -EIO;
}

int opener_process(struct opener *o, uint32_t pid, struct opened_process *out)
{
	struct open_ask ask = {.type = OPEN_PROCESS, .pid = pid};
	struct open_tell tell;
	struct wire_fds fds;
	int ret = request(o, &ask, 0, NULL, &tell, &fds);

	if (!ret && (fds.v[0] < 0 || (tell.has_root && fds.v[1] < 0)))
		ret = -EIO;
	if (ret) {
		wire_close_fds(&fds);
		return ret;
	}
	out->start = tell.start;
	out->space = tell.space;
	out->maps_fd = fds.v[0];
	out->root_fd = fds.v[1];
	tell.prefix[sizeof(tell.prefix) - 1] = '\0';
	memcpy(out->prefix, tell.prefix, sizeof(out->prefix));
	return 0;
}

static int ask_start(struct opener *o, uint32_t pid, struct open_tell *tell)
{
	struct open_ask ask = {.type = OPEN_START, .pid = pid};
	struct wire_fds fds;
	int ret = request(o, &ask, 0, NULL, tell, &fds);

	wire_close_fds(&fds);
	return ret;
}

uint64_t opener_start(struct opener *o, uint32_t pid)
{
	struct open_tell tell;

	return ask_start(o, pid, &tell) ? 0 : tell.start;
}

bool opener_is(struct opener *o, uint32_t pid, uint64_t start, uint64_t space)
{
	struct open_tell tell;

	return !ask_start(o, pid, &tell) && tell.start == start && tell.space == space;
}

int opener_of_process(struct opener *o, enum open_type type, uint32_t pid, uint64_t dev,
		      uint64_t start, uint64_t end)
{
	struct open_ask ask = {.type = type, .pid = pid, .start = start, .end = end};

	return request_fd(o, &ask, dev, NULL);
}

int opener_by_id(struct opener *o, enum open_type type, int root_fd, const uint8_t *id, size_t len)
{
	struct open_ask ask = {.type = type, .id_len = (uint32_t)len};
	struct wire_fds with = {{root_fd, -1}};

	if (len > sizeof(ask.id))
		return -EINVAL;
	memcpy(ask.id, id, len);
	return request_fd(o, &ask, 0, &with);
}

int opener_link(struct opener *o, int root_fd, int program_fd, uint32_t which, const char *dir,
		const char *name)
{
	struct open_ask ask = {.type = OPEN_LINK, .which = which, .start = root_fd >= 0};
	struct wire_fds with = {{program_fd, root_fd}};

	if (strlen(dir) >= sizeof(ask.path) || strlen(name) >= sizeof(ask.name))
		return -ENAMETOOLONG;
	(void)snprintf(ask.path, sizeof(ask.path), "%s", dir);	/* fits */
	(void)snprintf(ask.name, sizeof(ask.name), "%s", name); /* fits */
	return request_fd(o, &ask, 0, &with);
}

int opener_split(struct opener *o, int root_fd, int program_fd, const char *path)
{
	struct open_ask ask = {.type = OPEN_SPLIT, .start = root_fd >= 0};
	struct wire_fds with = {{program_fd, root_fd}};

	if (strlen(path) >= sizeof(ask.path))
		return -ENAMETOOLONG;
	(void)snprintf(ask.path, sizeof(ask.path), "%s", path); /* fits */
	return request_fd(o, &ask, 0, &with);
}

int opener_alt(struct opener *o, int root_fd, const char *path)
{
	struct open_ask ask = {.type = OPEN_ALT};
	struct wire_fds with = {{root_fd, -1}};

	if (strlen(path) >= sizeof(ask.path))
		return -ENAMETOOLONG;
	(void)snprintf(ask.path, sizeof(ask.path), "%s", path); /* fits */
	return request_fd(o, &ask, 0, &with);
}
