// SPDX-License-Identifier: GPL-2.0-or-later
/* What is in flight: a walk over all tasks in the kernel, and direct I/O that nobody waits for. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "source/ext4/ext4.h"

#include "ext4.skel.h" /* needs abi_ext4.h */

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
	int ret =
		flight_walk(x->skel->links.ws_in_flight, bpf_map__fd(x->skel->maps.in_flight), out);

	if (!ret)
		walk_dios(x, out);
	return ret;
}
