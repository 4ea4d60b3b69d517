// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sys/btf_check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "names/btf_view.h"
#include "source/sys/bpf_util.h"

#define DEPTH_MAX 64 /* structs in structs, typedefs of typedefs: kernels have about 20 */

enum seen { SEEN_NOT, SEEN_HERE, SEEN_DONE };

struct check {
	const struct btf_view *v;
	uint8_t *seen; /* enum seen, of each id */
};

static bool name_ok(const struct check *c, uint32_t offset)
{
	return offset < c->v->strs_len;
}

static bool id_ok(const struct check *c, uint32_t id)
{
	return id <= c->v->n;
}

static bool is_kind(const struct check *c, uint32_t id, uint32_t kind)
{
	const struct btf_type *t = btf_view_type(c->v, id);

	return t && btf_kind(t) == kind;
}

/* What stands behind a type's head. */
static bool tail_ok(const struct check *c, const struct btf_type *t)
{
	const struct btf_var_secinfo *var = btf_var_secinfos(t);
	const struct btf_member *member = btf_members(t);
	const struct btf_param *param = btf_params(t);
	const struct btf_enum64 *e64 = btf_enum64(t);
	const struct btf_enum *e32 = btf_enum(t);
	uint32_t i, n = btf_vlen(t);
	bool ok = true;

	switch (btf_kind(t)) {
	case BTF_KIND_ARRAY:
		return id_ok(c, btf_array(t)->type) && id_ok(c, btf_array(t)->index_type);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (i = 0; ok && i < n; i++)
			ok = name_ok(c, member[i].name_off) && id_ok(c, member[i].type);
		return ok;
	case BTF_KIND_ENUM:
		for (i = 0; ok && i < n; i++)
			ok = name_ok(c, e32[i].name_off);
		return ok;
	case BTF_KIND_ENUM64:
		for (i = 0; ok && i < n; i++)
			ok = name_ok(c, e64[i].name_off);
		return ok;
	case BTF_KIND_FUNC_PROTO:
		for (i = 0; ok && i < n; i++)
			ok = name_ok(c, param[i].name_off) && id_ok(c, param[i].type);
		return ok && id_ok(c, t->type);
	case BTF_KIND_DATASEC:
		for (i = 0; ok && i < n; i++)
			ok = is_kind(c, var[i].type, BTF_KIND_VAR);
		return ok;
	case BTF_KIND_FUNC:
		return is_kind(c, t->type, BTF_KIND_FUNC_PROTO);
	case BTF_KIND_PTR:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
	case BTF_KIND_TYPE_TAG:
		return id_ok(c, t->type);
	default:
		return true;
	}
}

static bool nests_well(struct check *c, uint32_t id, int depth);

/* The types that are inside of this one, not behind a pointer. */
static bool inner_nest_well(struct check *c, const struct btf_type *t, int depth)
{
	switch (btf_kind(t)) {
	case BTF_KIND_ARRAY:
		return nests_well(c, btf_array(t)->type, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (uint32_t i = 0; i < btf_vlen(t); i++)
			if (!nests_well(c, btf_members(t)[i].type, depth))
				return false;
		return true;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_VAR:
	case BTF_KIND_TYPE_TAG:
		return nests_well(c, t->type, depth);
	default:
		return true;
	}
}

/* Each type is looked into once. */
static bool nests_well(struct check *c, uint32_t id, int depth)
{
	if (!id || c->seen[id] == SEEN_DONE)
		return true;
	if (c->seen[id] == SEEN_HERE || depth == DEPTH_MAX)
		return false;
	c->seen[id] = SEEN_HERE;
	if (!inner_nest_well(c, btf_view_type(c->v, id), depth + 1))
		return false;
	c->seen[id] = SEEN_DONE;
	return true;
}

int btf_check_view(const struct btf_view *v)
{
	struct check c = {.v = v, .seen = calloc((size_t)v->n + 1, 1)};
	bool ok = true;

	if (!c.seen)
		return -ENOMEM;
	for (uint32_t id = 1; ok && id <= v->n; id++) {
		const struct btf_type *t = btf_view_type(v, id);

		ok = name_ok(&c, t->name_off) && tail_ok(&c, t);
	}
	for (uint32_t id = 1; ok && id <= v->n; id++)
		ok = nests_well(&c, id, 0);
	free(c.seen);
	return ok ? 0 : -EINVAL;
}

int btf_check_file(const char *file, struct err *e)
{
	struct btf_view v;
	struct stat st;
	int ret;

	ret = stat(file, &st) ? -errno : 0;
	if (!ret && !S_ISREG(st.st_mode))
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--btf '%s': not a regular file (expected a kernel's BTF, or an ELF "
			       "file with it)",
			       file);
	if (!ret)
		ret = btf_view_open(&v, file, NULL);
	if (ret)
		return bad_btf_file(e, ret, file);
	ret = btf_check_view(&v);
	btf_view_close(&v);
	return ret ? bad_btf_file(e, ret, file) : 0;
}
