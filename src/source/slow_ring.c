// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/libbpf.h>
#include <errno.h>

#include "source/bpf_util.h"
#include "source/slow_ring.h"

#define DRAIN_MAX 4096

struct timespec slow_wall_at(uint64_t mono_ns)
{
	struct timespec wall;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &wall);
	ns = (uint64_t)wall.tv_sec * 1000000000ULL + (uint64_t)wall.tv_nsec -
	     (mono_now_ns() - mono_ns);
	wall.tv_sec = (time_t)(ns / 1000000000ULL);
	wall.tv_nsec = (long)(ns % 1000000000ULL);
	return wall;
}

static int on_record(void *ctx, void *data, size_t len)
{
	struct slow_ring *r = ctx;
	int ret = r->fn(r->ctx, data, len);

	return ret || ++r->drained < DRAIN_MAX ? ret : -EAGAIN;
}

int slow_ring_open(struct slow_ring *r, int map_fd, slow_record_fn fn, void *ctx, struct err *e)
{
	r->fn = fn;
	r->ctx = ctx;
	r->rb = ring_buffer__new(map_fd, on_record, r, NULL);
	return r->rb ? 0 : err_sys(e, -errno, "--slower: ring buffer");
}

void slow_ring_close(struct slow_ring *r)
{
	ring_buffer__free(r->rb);
	r->rb = NULL;
}

int slow_ring_fd(const struct slow_ring *r)
{
	return r->rb ? ring_buffer__epoll_fd(r->rb) : -1;
}

/* Records may come faster than they are written: after some of them the other events have their
 * turn. */
int slow_ring_drain(struct slow_ring *r, struct err *e)
{
	int ret;

	if (!r->rb)
		return 0;
	r->drained = 0;
	ret = ring_buffer__consume(r->rb);
	if (ret == -EAGAIN && r->drained == DRAIN_MAX)
		return 1;
	return ret < 0 ? err_sys(e, ret, "--slower: read the ring buffer") : 0;
}
