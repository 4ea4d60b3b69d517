// SPDX-License-Identifier: GPL-2.0-or-later
/* Who is still waiting: a walk over all tasks in the kernel (bpf_iter, 5.8), at a report. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "source/sched.h"

#include "sched.skel.h" /* needs abi.h */

int sched_in_flight(struct sched *s, struct abi_in_flight *out)
{
	const struct abi_in_flight zero = {0};
	int map = bpf_map__fd(s->skel->maps.in_flight), fd, ret = 0;
	uint32_t key = 0;
	char buf[64];
	ssize_t n;

	*out = zero;
	if (!s->skel->links.ws_in_flight)
		return -ENOTSUP;
	if (bpf_map_update_elem(map, &key, &zero, BPF_ANY))
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(s->skel->links.ws_in_flight));
	if (fd < 0)
		return fd;
	do {
		n = read(fd, buf, sizeof(buf)); /* the program writes nothing: reading runs it */
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	if (n < 0)
		ret = -errno;
	close(fd);
	if (!ret && bpf_map_lookup_elem(map, &key, out))
		ret = -errno;
	return ret;
}
