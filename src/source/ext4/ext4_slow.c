// SPDX-License-Identifier: GPL-2.0-or-later
/* --slower of the ext4 source: records of its ring buffer into struct slow. */
#include <linux/types.h>

#include "abi_ext4_slow.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "source/ext4/ext4.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

static int on_record(void *ctx, const void *data, size_t len)
{
	struct ext4 *x = ctx;
	struct abi_ext4_slow r;
	const struct ext4_dev *dev;
	struct slow_op op = {0};
	struct slow w = {.op = &op};
	uint64_t fs;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, data, sizeof(r));
	if (r.kind >= ABI_EXT4_OPS || !ext4_kinds[r.kind].value)
		return -EINVAL;
	fs = ABI_EXT4_OBJ(r.dev, r.fs);
	dev = ext4_dev_get(x->devs, fs, r.pid);
	op.op = ext4_kinds[r.kind].value;
	op.dev = dev ? dev->id : "?";
	op.mount = dev ? dev->mount : NULL;
	if (r.ino)
		op.path = ext4_path(x->slow_paths, fs, r.ino, r.generation, r.pid);
	op.bytes = r.bytes;
	op.has_split = r.split;
	op.split.blocked_ns = r.blocked_ns;
	op.split.run_queue_ns = r.run_queue_ns;
	w.mono_ns = bpf_source_time(&x->base, r.end_ns);
	w.time = wall_at(w.mono_ns);
	w.metric = metric_list[ext4_kinds[r.kind].metric].name;
	w.kind = op.op;
	w.cpu = r.cpu;
	w.pid = r.pid;
	w.tid = r.tid;
	w.comm = r.comm;
	w.cgroup = cgroup_name(x->base.filters.names, r.cgroup_id);
	w.wait_ns = r.total_ns;
	return x->args.on_slow ? x->args.on_slow(x->args.slow_ctx, &w) : 0;
}

int ext4_slow_open(struct ext4 *x, struct err *e)
{
	int ret;

	x->slow_paths = ext4_paths_new(x->devs);
	if (!x->slow_paths)
		return err_sys(e, -ENOMEM, "ext4");
	x->slow = (struct ring){
		.what = "--slower: ring buffer", .fn = on_record, .ctx = x, .most = SLOW_RING_MOST};
	ret = ring_open(&x->slow, bpf_map__fd(x->skel->maps.slow_events), e);
	return ret ? ret : bpf_source_poll(&x->base, ring_fd(&x->slow), e);
}
