// SPDX-License-Identifier: GPL-2.0-or-later
/* What is in flight: a walk over all tasks in the kernel, and direct I/O that nobody waits for. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "source/ext4.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

static int walk_tasks(struct ext4 *x)
{
	int fd, ret = 0;
	char buf[64];
	ssize_t n;

	fd = bpf_iter_create(bpf_link__fd(x->skel->links.ws_in_flight));
	if (fd < 0)
		return fd;
	do {
		n = read(fd, buf, sizeof(buf)); /* the program writes nothing: reading runs it */
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	if (n < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* They may end as we look: as many as are left. */
static void walk_dios(const struct ext4 *x, struct abi_in_flight *out)
{
	uint32_t left = bpf_map__max_entries(x->skel->maps.dios);
	int fd = bpf_map__fd(x->skel->maps.dios);
	uint64_t key, *prev = NULL, now = mono_now_ns();
	struct abi_ext4_dio d;

	/* bounded: where a key goes away under us the kernel begins anew */
	for (; left && !bpf_map_get_next_key(fd, prev, &key); left--) {
		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &d))
			continue;
		out->count++;
		if (now < d.start_ns || now - d.start_ns < out->longest_ns)
			continue;
		out->longest_ns = now - d.start_ns;
		out->tid = d.tid;
		out->pid = d.pid;
		memcpy(out->comm, d.comm, sizeof(out->comm));
	}
}

int ext4_in_flight(struct ext4 *x, struct abi_in_flight *out)
{
	const struct abi_in_flight zero = {0};
	int map = bpf_map__fd(x->skel->maps.in_flight), ret;
	uint32_t key = 0;

	*out = zero;
	if (!x->skel->links.ws_in_flight)
		return -ENOTSUP;
	if (bpf_map_update_elem(map, &key, &zero, BPF_ANY))
		return -errno;
	ret = walk_tasks(x);
	if (!ret && bpf_map_lookup_elem(map, &key, out))
		ret = -errno;
	if (!ret)
		walk_dios(x, out);
	return ret;
}
