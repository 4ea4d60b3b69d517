/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What member lies at each byte, for test_kernel_types.py to hold against bpftool's own dump.
 *
 *	kernel_walk BTF TYPE...		lines "TYPE OFFSET KIND REST PATH"
 */
#include <stdio.h>
#include <string.h>

#include "names/btf_view.h"

static int walk(struct btf_view *v, const char *type)
{
	uint32_t id = btf_view_find(v, type, BTF_KIND_STRUCT), at;
	int64_t size = btf_view_size(v, id);
	struct member_at m;

	for (at = 0; size > 0 && at < size; at++) {
		if (btf_member_at(v, id, at, &m))
			return 1;
		printf("%s %u %d %u %s\n", type, at, m.kind, m.rest, m.path);
	}
	return size <= 0;
}

int main(int argc, char **argv)
{
	struct btf_view v;
	int i, ret = argc < 3 ? 2 : btf_view_open(&v, argv[1], NULL);

	if (ret) {
		fprintf(stderr, "kernel_walk: usage: kernel_walk BTF TYPE...; or no BTF (%d)\n",
			ret);
		return 1;
	}
	for (i = 2; i < argc && !ret; i++)
		ret = walk(&v, argv[i]);
	btf_view_close(&v);
	return ret;
}
