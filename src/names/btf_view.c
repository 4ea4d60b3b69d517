// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/btf_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"

#define CHAIN_MAX 32	 /* typedefs of typedefs, structs in structs: more is a loop */
#define SEARCH_MAX 20000 /* members looked at in search of one: so are more of these */

/*
 * What every header has. <linux/btf.h> of Linux 7 has more, which kernels before it do not write.
 */
#define HEADER_MIN (offsetof(struct btf_header, str_len) + sizeof(__u32))

/* Bytes behind a type's head; negative for a kind we do not know. */
static int64_t tail_size(const struct btf_type *t)
{
	uint32_t n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (int64_t)n * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return (int64_t)n * (int64_t)sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return (int64_t)n * (int64_t)sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return (int64_t)n * (int64_t)sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return (int64_t)n * (int64_t)sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -EINVAL;
	}
}

/* Counts the types, and notes where they begin if there is room. */
static int walk_types(struct btf_view *v, uint32_t len)
{
	uint32_t at = 0, i = 0;

	while (at < len) {
		const struct btf_type *t = (const void *)(v->types + at);
		int64_t tail = len - at < sizeof(*t) ? -EINVAL : tail_size(t);

		if (tail < 0 || tail > (int64_t)(len - at - sizeof(*t)))
			return -EINVAL;
		if (v->offsets)
			v->offsets[i] = at;
		i++;
		at += (uint32_t)sizeof(*t) + (uint32_t)tail;
	}
	v->n = i;
	return 0;
}

int btf_view_init(struct btf_view *v, const void *data, size_t len, const struct btf_view *base)
{
	const struct btf_header *h = data;
	size_t room;
	int ret;

	memset(v, 0, sizeof(*v));
	if (len < HEADER_MIN || h->magic != BTF_MAGIC || h->version != BTF_VERSION ||
	    h->hdr_len < HEADER_MIN || h->hdr_len > len || h->hdr_len % 4)
		return -EINVAL;
	room = len - h->hdr_len;
	if (h->type_off > room || h->type_len > room - h->type_off || h->type_off % 4 ||
	    h->str_off > room || h->str_len > room - h->str_off || !h->str_len)
		return -EINVAL;
	v->base = base;
	v->types = (const uint8_t *)data + h->hdr_len + h->type_off;
	v->strs = (const char *)data + h->hdr_len + h->str_off;
	v->strs_len = h->str_len;
	v->first_id = base ? base->first_id + base->n : 1;
	v->first_str = base ? base->first_str + base->strs_len : 0;
	if (v->strs[v->strs_len - 1])
		return -EINVAL;
	ret = walk_types(v, h->type_len);
	if (!ret && v->n) {
		v->offsets = malloc(v->n * sizeof(*v->offsets));
		ret = v->offsets ? walk_types(v, h->type_len) : -ENOMEM;
	}
	if (ret)
		btf_view_close(v);
	return ret;
}

/* All of a file; sysfs tells the size of what it cannot map, too. */
static int read_all(int fd, size_t len, void **out)
{
	uint8_t *p = malloc(len);
	size_t have = 0;
	ssize_t n;

	if (!p)
		return -ENOMEM;
	while (have < len) {
		n = read(fd, p + have, len - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(p);
			return n ? -errno : -EIO;
		}
		have += (size_t)n;
	}
	*out = p;
	return 0;
}

/* a539e2a6d51d ("btf: Allow mmap of vmlinux btf", 6.16); before it the bytes are read. */
static int open_raw(struct btf_view *v, const char *path, const struct btf_view *base)
{
	int ret, fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t map_len = 0;
	void *p = NULL;
	struct stat st;

	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st) ? -errno : st.st_size <= 0 ? -EINVAL : 0;
	if (!ret) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED)
			map_len = (size_t)st.st_size;
		else
			ret = read_all(fd, (size_t)st.st_size, &p);
	}
	close(fd);
	if (!ret)
		ret = btf_view_init(v, p, (size_t)st.st_size, base);
	if (!ret) {
		v->owned = p;
		v->map_len = map_len;
	} else if (map_len) {
		munmap(p, map_len);
	} else if (p != MAP_FAILED) {
		free(p);
	}
	return ret;
}

static int open_elf(struct btf_view *v, const char *path)
{
	struct btf *btf = btf__parse(path, NULL);
	const void *data;
	void *copy;
	__u32 len;
	int ret;

	if (!btf)
		return -errno;
	data = btf__raw_data(btf, &len);
	copy = data ? malloc(len) : NULL;
	if (copy)
		memcpy(copy, data, len);
	btf__free(btf);
	ret = copy ? btf_view_init(v, copy, len, NULL) : -ENOMEM;
	if (ret)
		free(copy);
	else
		v->owned = copy;
	return ret;
}

int btf_view_open(struct btf_view *v, const char *path, const struct btf_view *base)
{
	int ret = open_raw(v, path, base);

	return ret == -EINVAL && !base ? open_elf(v, path) : ret;
}

void btf_view_close(struct btf_view *v)
{
	if (v->map_len)
		munmap(v->owned, v->map_len);
	else
		free(v->owned);
	free(v->offsets);
	memset(v, 0, sizeof(*v));
}

const struct btf_type *btf_view_type(const struct btf_view *v, uint32_t id)
{
	while (v && id < v->first_id)
		v = id ? v->base : NULL;
	if (!v || id - v->first_id >= v->n)
		return NULL;
	return (const void *)(v->types + v->offsets[id - v->first_id]);
}

const char *btf_view_str(const struct btf_view *v, uint32_t offset)
{
	while (v && offset < v->first_str)
		v = v->base;
	return v && offset - v->first_str < v->strs_len ? v->strs + (offset - v->first_str) : "";
}

const char *btf_view_name(const struct btf_view *v, const struct btf_type *t)
{
	return t ? btf_view_str(v, t->name_off) : "";
}

uint32_t btf_view_find(struct btf_view *v, const char *name, uint32_t kind)
{
	size_t len = strlen(name);
	struct btf_asked *a = &v->asked[(text_hash(name, len) + kind) % BTF_ASKED];
	const struct btf_type *t;
	uint32_t id = 0;

	if (a->kind == kind && !strcmp(a->name, name))
		return a->id;
	for (uint32_t i = v->first_id; !id && i - v->first_id < v->n; i++) {
		t = btf_view_type(v, i);
		if (t && btf_kind(t) == kind && !strcmp(btf_view_name(v, t), name))
			id = i;
	}
	if (len < sizeof(a->name)) {
		memcpy(a->name, name, len + 1);
		a->kind = kind;
		a->id = id;
	}
	return id;
}

uint32_t btf_view_strip(const struct btf_view *v, uint32_t id)
{
	const struct btf_type *t = btf_view_type(v, id);
	int left = CHAIN_MAX;

	while (t && (btf_is_mod(t) || btf_is_typedef(t)) && left--) {
		id = t->type;
		t = btf_view_type(v, id);
	}
	return t && left >= 0 ? id : 0;
}

int64_t btf_view_size(const struct btf_view *v, uint32_t id)
{
	const struct btf_type *t;
	uint64_t count = 1;
	int left = CHAIN_MAX;

	while ((t = btf_view_type(v, btf_view_strip(v, id))) && left--) {
		if (btf_is_array(t)) {
			count *= btf_array(t)->nelems;
			if (count > UINT32_MAX)
				return -EINVAL;
			id = btf_array(t)->type;
			continue;
		}
		if (btf_is_ptr(t))
			return (int64_t)(count * sizeof(uint64_t));
		if (btf_is_int(t) || btf_is_composite(t) || btf_is_any_enum(t) || btf_is_float(t))
			return (int64_t)(count * t->size);
		return -EINVAL;
	}
	return -EINVAL;
}

/* A member by its plain name, `len` bytes of it. */
static int64_t find_member(const struct btf_view *v, uint32_t id, const char *name, size_t len,
			   uint32_t *type, int *left, int depth)
{
	const struct btf_type *t = btf_view_type(v, btf_view_strip(v, id));
	const struct btf_member *m;

	if (t && btf_is_array(t))
		t = btf_view_type(v, btf_view_strip(v, btf_array(t)->type));
	if (!t || !btf_is_composite(t) || depth > CHAIN_MAX)
		return -ENOENT;
	m = btf_members(t);
	for (uint32_t i = 0; i < btf_vlen(t) && (*left)-- > 0; i++) {
		const char *s = btf_view_str(v, m[i].name_off);
		int64_t at = btf_member_bit_offset(t, i) / 8, inner;

		if (*s && !strncmp(s, name, len) && !s[len]) {
			*type = m[i].type;
			return at;
		}
		inner = *s ? -ENOENT : find_member(v, m[i].type, name, len, type, left, depth + 1);
		if (inner >= 0)
			return at + inner;
	}
	return -ENOENT;
}

int64_t btf_view_offset(const struct btf_view *v, uint32_t id, const char *path, uint32_t *type)
{
	int64_t at = 0, inner;
	int left = SEARCH_MAX;

	while (*path) {
		size_t len = strcspn(path, ".");

		inner = find_member(v, id, path, len, &id, &left, 0);
		if (inner < 0)
			return inner;
		at += inner;
		path += len + (path[len] == '.');
	}
	if (type)
		*type = id;
	return at;
}
