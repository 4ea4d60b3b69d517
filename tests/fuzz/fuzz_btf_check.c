// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file of --btf, looked through before libbpf sees it: what passes must do libbpf no harm.
 * Asked of it here is what loading asks: names, sizes, alignments, types behind modifiers, and a
 * look-up by name.
 */
#include "fuzz.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "names/btf_view.h"
#include "source/sys/btf_check.h"

static int silent(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return 0;
}

static void ask_libbpf(const void *data, size_t size, uint32_t n)
{
	struct btf *btf = btf__new(data, (__u32)size);
	const struct btf_type *t;
	uint32_t id, i;

	if (libbpf_get_error(btf))
		return;
	MUST(btf__type_cnt(btf) == n + 1);
	for (id = 1; id <= n; id++) {
		t = btf__type_by_id(btf, id);
		MUST(t);
		MUST(btf__name_by_offset(btf, t->name_off));
		(void)btf__resolve_size(btf, id);
		(void)btf__resolve_type(btf, id);
		(void)btf__align_of(btf, id);
		for (i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
			MUST(btf__name_by_offset(btf, btf_members(t)[i].name_off));
	}
	(void)btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	btf__free(btf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = malloc(size + 1); /* aligned, and its end is seen */
	struct btf_view v;
	int ret;

	MUST(copy);
	if (size)
		memcpy(copy, data, size);
	libbpf_set_print(silent);
	if (!btf_view_init(&v, copy, size, NULL)) {
		ret = btf_check_view(&v);
		MUST(ret == 0 || ret == -EINVAL);
		if (!ret)
			ask_libbpf(copy, size, v.n);
		btf_view_close(&v);
	}
	free(copy);
	return 0;
}
