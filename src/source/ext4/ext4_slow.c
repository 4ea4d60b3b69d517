// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/types.h>

#include "abi_ext4_slow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/bpf_util.h"
#include "source/inodes/ext4_path.h"
#include "source/ext4/ext4_slow.h"
#include "source/ring.h"

struct ext4_slow {
	struct ext4_slow_args args;
	struct ring ring;
	struct ext4_paths *paths;
};

static void fill_op(struct ext4_slow *s, const struct abi_ext4_slow *r, struct slow_op *op)
{
	const struct ext4_dev *dev = ext4_dev_get(s->args.devs, r->dev, r->pid);

	op->op = s->args.names[r->kind].op;
	op->dev = dev ? dev->id : "?";
	op->mount = dev ? dev->mount : NULL;
	if (r->ino)
		op->path = ext4_path(s->paths, r->dev, r->ino, r->generation, r->pid);
	op->bytes = r->bytes;
	op->has_split = r->split;
	op->split.blocked_ns = r->blocked_ns;
	op->split.run_queue_ns = r->run_queue_ns;
}

static int on_record(void *ctx, const void *data, size_t len)
{
	struct ext4_slow *s = ctx;
	struct abi_ext4_slow r;
	struct slow_op op = {0};
	struct slow w = {.op = &op};

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, data, sizeof(r));
	if (r.kind >= s->args.nnames || !s->args.names[r.kind].op)
		return -EINVAL;
	fill_op(s, &r, &op);
	w.time = wall_at(r.end_ns);
	w.mono_ns = r.end_ns;
	w.metric = s->args.names[r.kind].metric;
	w.kind = op.op;
	w.cpu = r.cpu;
	w.pid = r.pid;
	w.tid = r.tid;
	w.comm = r.comm;
	w.cgroup = s->args.cgroups ? cgroup_name(s->args.cgroups, r.cgroup_id) : NULL;
	w.wait_ns = r.total_ns;
	return s->args.on_slow ? s->args.on_slow(s->args.slow_ctx, &w) : 0;
}

int ext4_slow_open(struct ext4_slow **out, const struct ext4_slow_args *args, struct err *e)
{
	struct ext4_slow *s = calloc(1, sizeof(*s));
	int ret = -ENOMEM;

	if (!s)
		return err_sys(e, ret, "ext4");
	s->args = *args;
	s->ring = (struct ring){
		.what = "--slower: ring buffer", .fn = on_record, .ctx = s, .most = SLOW_RING_MOST};
	s->paths = ext4_paths_new(args->devs);
	if (!s->paths)
		err_sys(e, ret, "ext4");
	else
		ret = ring_open(&s->ring, args->map_fd, e);
	if (ret) {
		ext4_slow_close(s);
		return ret;
	}
	*out = s;
	return 0;
}

void ext4_slow_close(struct ext4_slow *s)
{
	if (!s)
		return;
	ring_close(&s->ring);
	ext4_paths_free(s->paths);
	free(s);
}

int ext4_slow_fd(const struct ext4_slow *s)
{
	return ring_fd(&s->ring);
}

int ext4_slow_drain(struct ext4_slow *s, struct err *e)
{
	ext4_paths_trim(s->paths); /* nobody keeps what a record said */
	return ring_drain(&s->ring, e);
}
