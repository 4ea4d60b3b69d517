// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "source/flight.h"

int flight_walk(const struct bpf_link *link, int map_fd, struct abi_in_flight *out)
{
	const struct abi_in_flight zero = {0};
	uint32_t key = 0;
	int fd, ret = 0;
	char buf[64];
	ssize_t n;

	*out = zero;
	if (!link)
		return -ENOTSUP;
	if (bpf_map_update_elem(map_fd, &key, &zero, BPF_ANY))
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return fd;
	do {
		n = read(fd, buf, sizeof(buf)); /* the program writes nothing: reading runs it */
	} while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	if (n < 0)
		ret = -errno;
	close(fd);
	if (!ret && bpf_map_lookup_elem(map_fd, &key, out))
		ret = -errno;
	return ret;
}
