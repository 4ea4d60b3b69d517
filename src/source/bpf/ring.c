// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <errno.h>

#include "source/bpf/ring.h"

/* libbpf stops at what is negative. */
static int on_record(void *ctx, void *data, size_t len)
{
	struct ring *r = ctx;
	int ret = r->fn(r->ctx, data, len);

	return ret > 0 || (!ret && ++r->drained == r->most) ? -EAGAIN : ret;
}

int ring_open(struct ring *r, int map_fd, struct err *e)
{
	r->rb = ring_buffer__new(map_fd, on_record, r, NULL);
	return r->rb ? 0 : err_sys(e, -errno, "%s", r->what);
}

void ring_close(struct ring *r)
{
	ring_buffer__free(r->rb);
	r->rb = NULL;
}

int ring_fd(const struct ring *r)
{
	return r->rb ? ring_buffer__epoll_fd(r->rb) : -1;
}

int ring_drain(struct ring *r, struct err *e)
{
	int ret;

	if (!r->rb)
		return 0;
	r->drained = 0;
	ret = ring_buffer__consume(r->rb);
	if (ret == -EAGAIN)
		return 1;
	return ret < 0 ? err_sys(e, ret, "%s: read", r->what) : 0;
}
