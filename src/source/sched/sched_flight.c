// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Walks over all tasks: at first a stamp for each, and at a report who is still waiting. Without
 * BTF there is no iterator over tasks: a walk over their stamps, and the program is run for those
 * that wait.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source/sched/sched.h"

#define STAMPS_BATCH 1024U

struct batch {
	uint64_t tasks[STAMPS_BATCH];
	char stamps[STAMPS_BATCH][ABI_STAMP_BYTES];
};

/* Again in the kernel, since it may run by now: the program looks for itself. */
static int look_at(int prog_fd, uint64_t task)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &task, .ctx_size_in = sizeof(task));

	return bpf_prog_test_run_opts(prog_fd, &run);
}

static int look_at_waiting(int prog_fd, const struct batch *b, uint32_t n)
{
	uint64_t queued;
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++) {
		memcpy(&queued, b->stamps[i] + ABI_STAMP_T1, sizeof(queued));
		if (queued)
			ret = look_at(prog_fd, b->tasks[i]);
	}
	return ret;
}

/* A bucket's stamps come together: ENOSPC says that they are more than there is room for. */
static int walk_stamps(const struct sched *s)
{
	int map = sched_object_map(&s->bpf, "stamps_hash"), ret;
	int prog_fd = bpf_program__fd(bpf_object__find_program_by_name(s->bpf.obj, "ws_in_flight"));
	struct batch *b = malloc(sizeof(*b));
	uint32_t at = 0, n;
	bool end = false, begun = false;

	if (!b)
		return -ENOMEM;
	do {
		n = STAMPS_BATCH;
		ret = bpf_map_lookup_batch(map, begun ? &at : NULL, &at, b->tasks, b->stamps, &n,
					   NULL);
		begun = true;
		end = ret == -ENOENT;
		if (!ret || end)
			ret = look_at_waiting(prog_fd, b, n);
	} while (!ret && !end);
	free(b);
	return ret;
}

int sched_in_flight(const struct sched *s, struct abi_in_flight *out)
{
	int map = sched_object_map(&s->bpf, "in_flight"), ret;
	uint32_t key = 0;

	if (!s->bpf.raw)
		return bpf_source_in_flight(&s->base, sched_object_iter(&s->bpf), map, out);
	*out = (struct abi_in_flight){.at_ns = s->base.ended_ns};
	if (bpf_map_update_elem(map, &key, out, BPF_ANY))
		return -errno;
	ret = walk_stamps(s);
	if (!ret && bpf_map_lookup_elem(map, &key, out))
		ret = -errno;
	return ret;
}

int sched_stamp_tasks(const struct sched *s)
{
	return s->bpf.raw ? 0 : bpf_iter_run(sched_object_iter(&s->bpf));
}
