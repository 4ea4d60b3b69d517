// SPDX-License-Identifier: GPL-2.0-or-later
/* BTF from a file of the user's (--btf), and the walk over the types in it. */
#include "fuzz.h"

#include <errno.h>

#include "names/btf_view.h"

static void check_walk(struct btf_view *v, uint32_t id)
{
	struct name_member m[16];
	struct member_at at;
	int64_t size = btf_view_size(v, id);
	uint32_t i;

	for (i = 0; i < size && i < 64; i++) {
		int ret = btf_member_at(v, id, i, &at);

		MUST(ret == 0 || ret == -ENOENT);
		MUST(memchr(at.path, '\0', sizeof(at.path)));
		MUST(ret || at.rest <= i);
	}
	MUST(btf_members_in(v, id, 0, 64, m, 16) <= 16);
	(void)btf_view_offset(v, id, "a.b", NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = malloc(size + 1); /* aligned, and its end is seen */
	struct btf_view v;
	uint32_t id;
	int ret;

	MUST(copy);
	if (size)
		memcpy(copy, data, size);
	ret = btf_view_init(&v, copy, size, NULL);
	MUST(ret == 0 || ret == -EINVAL);
	if (!ret) {
		for (id = 0; id < v.n + 2 && id < 32; id++)
			check_walk(&v, id);
		MUST(!btf_view_find(&v, "no such name in there", BTF_KIND_STRUCT));
		btf_view_close(&v);
	}
	free(copy);
	return 0;
}
