/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a BTF fixture: a kernel's types reduced to the ones a list and our BPF objects name.
 *
 *	minbtf OUT KERNEL KEEP.list [MODULE.ko...] [OBJECT...]
 *
 * Types of modules, if they have any, go to the same file, as if they were built in.
 * KERNEL is raw BTF or any file that contains it (an unpacked kernel image). Kept structures keep
 * all members; what they embed by value keeps its size, and its members if it is kept itself or has
 * no name. Pointers become `void *`, qualifiers and typedefs go: CO-RE looks through all of them.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook.h"

struct names {
	char **v;
	size_t n;
};

struct job {
	struct btf *full;
	struct btf *out;
	__u32 *made; /* id in full -> id in out, 0 = not yet */
	__u32 void_ptr;
	__u32 index_int;
	struct names structs, traces, vars, funcs;
};

static int names_add(struct names *l, const char *name)
{
	char **v = realloc(l->v, (l->n + 1) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	l->v = v;
	v[l->n] = strdup(name);
	return v[l->n++] ? 0 : -ENOMEM;
}

static void names_free(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
}

static bool names_match(const struct names *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (fnmatch(l->v[i], name, 0) == 0)
			return true;
	return false;
}

/* ---- finding BTF in a file ---- */

/* Of every header until Linux 7, whose <linux/btf.h> has more. */
#define HEADER_BYTES (offsetof(struct btf_header, str_len) + sizeof(__u32))

/* A BTF header at p, with its sections inside the file: its whole size, else 0. */
static size_t btf_size_at(const unsigned char *p, size_t left)
{
	struct btf_header h;

	if (left < HEADER_BYTES)
		return 0;
	memcpy(&h, p, HEADER_BYTES);
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.flags ||
	    h.hdr_len != HEADER_BYTES || h.type_off != 0 || h.str_off != h.type_len ||
	    h.type_len < 1000)
		return 0;
	if ((__u64)h.hdr_len + h.str_off + h.str_len > left)
		return 0;
	return h.hdr_len + h.str_off + h.str_len;
}

static struct btf *btf_scan(const unsigned char *p, size_t len)
{
	static const unsigned char magic[] = {0x9f, 0xeb, 1, 0};
	const unsigned char *end = p + len;
	struct btf *btf;
	size_t size;

	while ((p = memmem(p, end - p, magic, sizeof(magic)))) {
		size = btf_size_at(p, end - p);
		btf = size ? btf__new(p, size) : NULL;
		if (btf)
			return btf;
		p++;
	}
	errno = ENOENT;
	return NULL;
}

static struct btf *btf_from_file(const char *path)
{
	unsigned char *buf = NULL, *bigger;
	size_t len = 0, cap = 0;
	struct btf *btf = NULL;
	FILE *f = fopen(path, "re"); /* not mmap: /sys/kernel/btf/vmlinux cannot on old kernels */

	if (!f)
		return NULL;
	do {
		cap += 16 << 20;
		bigger = realloc(buf, cap);
		if (!bigger)
			goto out;
		buf = bigger;
		len += fread(buf + len, 1, cap - len, f);
	} while (len == cap);
	if (!ferror(f))
		btf = btf_scan(buf, len);
out:
	free(buf);
	(void)fclose(f); /* read only */
	return btf;
}

/* ---- copying types ---- */

static int copy_type(struct job *j, __u32 id);

static int copy_members(struct job *j, const struct btf_type *t)
{
	const struct btf_member *m = btf_members(t);
	int n = btf_vlen(t), ret = 0;
	__u32 *ids;

	/* Types of members first: a structure under construction must be the last type. */
	ids = calloc(n + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		ret = copy_type(j, m[i].type);
		if (ret < 0)
			goto out;
		ids[i] = ret;
	}
	if (btf_is_struct(t))
		ret = btf__add_struct(j->out, btf__name_by_offset(j->full, t->name_off), t->size);
	else
		ret = btf__add_union(j->out, btf__name_by_offset(j->full, t->name_off), t->size);
	for (int i = 0; i < n && ret >= 0; i++) {
		int err =
			btf__add_field(j->out, btf__name_by_offset(j->full, m[i].name_off), ids[i],
				       btf_member_bit_offset(t, i), btf_member_bitfield_size(t, i));
		if (err)
			ret = err;
	}
out:
	free(ids);
	return ret;
}

static int copy_composite(struct job *j, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(j->full, t->name_off);

	if (!*name || names_match(&j->structs, name))
		return copy_members(j, t);
	return btf_is_struct(t) ? btf__add_struct(j->out, name, t->size)
				: btf__add_union(j->out, name, t->size);
}

static int copy_array(struct job *j, const struct btf_type *t)
{
	const struct btf_array *a = btf_array(t);
	int elem = copy_type(j, a->type);

	return elem < 0 ? elem : btf__add_array(j->out, j->index_int, elem, a->nelems);
}

static int copy_enum(struct job *j, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(j->full, t->name_off);
	const struct btf_enum *v = btf_enum(t);
	int ret = btf__add_enum(j->out, name, t->size);

	if (ret < 0 || !*name || !names_match(&j->structs, name))
		return ret;
	for (int i = 0; i < btf_vlen(t); i++) {
		int err = btf__add_enum_value(j->out, btf__name_by_offset(j->full, v[i].name_off),
					      v[i].val);
		if (err)
			return err;
	}
	return ret;
}

static int copy_proto(struct job *j, const struct btf_type *t)
{
	const struct btf_param *p = btf_params(t);
	int n = btf_vlen(t), ret, id;
	__u32 *ids = calloc(n + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	ret = id = copy_type(j, t->type);
	for (int i = 0; i < n && id >= 0; i++)
		ids[i] = id = copy_type(j, p[i].type);
	if (id >= 0)
		id = btf__add_func_proto(j->out, ret);
	for (int i = 0; i < n && id >= 0; i++) {
		int err = btf__add_func_param(j->out, btf__name_by_offset(j->full, p[i].name_off),
					      ids[i]);
		if (err)
			id = err;
	}
	free(ids);
	return id;
}

/* Past qualifiers and typedefs; 0 is void. */
static __u32 strip(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (id && (btf_is_mod(t) || btf_is_typedef(t))) {
		id = t->type;
		t = btf__type_by_id(btf, id);
	}
	return id;
}

/* The id in `out` of a type of `full`, made on first use; negative errno. */
static int copy_type(struct job *j, __u32 id)
{
	const struct btf_type *t;
	int ret;

	id = strip(j->full, id);
	if (!id)
		return 0;
	t = btf__type_by_id(j->full, id);
	if (btf_is_ptr(t))
		return j->void_ptr;
	if (j->made[id])
		return j->made[id];
	if (btf_is_composite(t))
		ret = copy_composite(j, t);
	else if (btf_is_array(t))
		ret = copy_array(j, t);
	else if (btf_is_enum(t))
		ret = copy_enum(j, t);
	else if (btf_is_enum64(t))
		ret = btf__add_enum64(j->out, btf__name_by_offset(j->full, t->name_off), t->size,
				      false);
	else if (btf_is_func_proto(t))
		ret = copy_proto(j, t);
	else if (btf_is_int(t))
		ret = btf__add_int(j->out, btf__name_by_offset(j->full, t->name_off), t->size,
				   btf_int_encoding(t));
	else
		ret = btf__add_type(j->out, j->full, t);
	if (ret > 0)
		j->made[id] = ret;
	return ret;
}

/* ---- what to keep ---- */

static int copy_trace(struct job *j, const struct btf_type *t)
{
	const char *name = btf__name_by_offset(j->full, t->name_off);
	const struct btf_type *ptr = btf__type_by_id(j->full, t->type);
	int proto;

	if (!btf_is_ptr(ptr))
		return 0;
	proto = copy_type(j, ptr->type);
	if (proto < 0)
		return proto;
	proto = btf__add_ptr(j->out, proto);
	return proto < 0 ? proto : btf__add_typedef(j->out, name, proto);
}

/* Per-CPU variables: VARs and the DATASEC that lists them (without its other members). */
static int copy_vars(struct job *j, const struct btf_type *sec)
{
	const struct btf_var_secinfo *v = btf_var_secinfos(sec);
	int n = btf_vlen(sec), ret = 0, wanted = 0;
	__u32 *ids = calloc(n + 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (int i = 0; i < n && ret >= 0; i++) {
		const struct btf_type *var = btf__type_by_id(j->full, v[i].type);
		const char *name = btf__name_by_offset(j->full, var->name_off);

		if (!btf_is_var(var) || !names_match(&j->vars, name))
			continue;
		ret = copy_type(j, var->type);
		if (ret >= 0)
			ids[i] = ret = btf__add_var(j->out, name, btf_var(var)->linkage, ret);
		wanted++;
	}
	if (ret >= 0 && wanted)
		ret = btf__add_datasec(j->out, btf__name_by_offset(j->full, sec->name_off),
				       sec->size);
	for (int i = 0; i < n && ret >= 0; i++)
		if (ids[i])
			ret = btf__add_datasec_var_info(j->out, ids[i], v[i].offset, v[i].size);
	free(ids);
	return ret;
}

static int copy_func(struct job *j, const struct btf_type *t)
{
	int proto = copy_type(j, t->type);

	return proto < 0 ? proto
			 : btf__add_func(j->out, btf__name_by_offset(j->full, t->name_off),
					 btf_vlen(t), proto);
}

static int keep_type(struct job *j, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(j->full, id);
	const char *name = btf__name_by_offset(j->full, t->name_off);

	if (btf_is_composite(t) || btf_is_any_enum(t))
		return *name && names_match(&j->structs, name) ? copy_type(j, id) : 0;
	if (btf_is_typedef(t) && strncmp(name, "btf_trace_", 10) == 0)
		return names_match(&j->traces, name + 10) ? copy_trace(j, t) : 0;
	if (btf_is_datasec(t))
		return copy_vars(j, t);
	if (btf_is_func(t))
		return names_match(&j->funcs, name) ? copy_func(j, t) : 0;
	return 0;
}

/* What is to be kept of the types from `first` on. */
static int keep_from(struct job *j, __u32 first)
{
	__u32 n = btf__type_cnt(j->full), *made = realloc(j->made, n * sizeof(*made));
	int ret = 0;

	if (!made)
		return -ENOMEM;
	j->made = made;
	memset(made + first, 0, (n - first) * sizeof(*made));
	for (__u32 id = first; id < n && ret >= 0; id++)
		ret = keep_type(j, id);
	return ret < 0 ? ret : 0;
}

static int keep_kernel(struct job *j)
{
	int ret = btf__add_int(j->out, "int", 4, BTF_INT_SIGNED);
	if (ret < 0)
		return ret;
	j->index_int = ret;
	ret = btf__add_ptr(j->out, 0);
	if (ret < 0)
		return ret;
	j->void_ptr = ret;
	return keep_from(j, 1);
}

/* A module's types stand on the kernel's, which are made already. */
static int keep_module(struct job *j, const char *path)
{
	struct btf *kernel = j->full, *module = btf__parse_split(path, kernel);
	int ret;

	if (!module && errno == ENOENT && access(path, R_OK) == 0)
		return 0; /* it has none: before 5.11 */
	if (!module)
		return -errno;
	j->full = module;
	ret = keep_from(j, btf__type_cnt(kernel));
	j->full = kernel;
	btf__free(module);
	return ret;
}

static bool is_module(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".ko") == 0;
}

/* ---- input and output ---- */

static int read_list(struct job *j, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256], kind[16], name[128];
	int ret = 0;

	if (!f)
		return -errno;
	while (!ret && fgets(line, sizeof(line), f)) {
		struct names *to;

		if (line[0] == '#' || sscanf(line, "%15s %127s", kind, name) != 2)
			continue;
		to = strcmp(kind, "struct") == 0  ? &j->structs
		     : strcmp(kind, "trace") == 0 ? &j->traces
		     : strcmp(kind, "var") == 0	  ? &j->vars
		     : strcmp(kind, "func") == 0  ? &j->funcs
						  : NULL;
		ret = to ? names_add(to, name) : -EINVAL;
		if (ret)
			fprintf(stderr, "minbtf: %s: '%s': expected struct, trace, var or func\n",
				path, kind);
	}
	(void)fclose(f); /* read only */
	return ret;
}

static int names_of_type(struct job *j, const struct btf *btf, const struct btf_type *t)
{
	char name[128];
	const char *full = btf__name_by_offset(btf, t->name_off);
	size_t len = flavour_less(full);

	if (!*full || len >= sizeof(name))
		return 0;
	memcpy(name, full, len);
	name[len] = 0;
	if (btf_is_composite(t) || btf_is_any_enum(t))
		return names_add(&j->structs, name);
	if (btf_is_var(t))
		return names_add(&j->vars, name);
	if (btf_is_func(t) && btf_vlen(t) == BTF_FUNC_EXTERN)
		return names_add(&j->funcs, name);
	if (btf_is_typedef(t) && strncmp(name, "btf_trace_", 10) == 0)
		return names_add(&j->traces, name + 10);
	return 0;
}

static int names_of_object(struct job *j, const char *path)
{
	struct bpf_object *obj = bpf_object__open(path);
	const struct btf *btf = obj ? bpf_object__btf(obj) : NULL;
	struct bpf_program *prog;
	int ret = 0;

	if (!btf) {
		bpf_object__close(obj);
		return -EINVAL;
	}
	for (__u32 id = 1; id < btf__type_cnt(btf) && !ret; id++)
		ret = names_of_type(j, btf, btf__type_by_id(btf, id));
	bpf_object__for_each_program(prog, obj)
	{
		struct hook h = hook_parse(bpf_program__section_name(prog));

		if (h.kind != HOOK_NONE && !ret)
			ret = names_add(h.kind == HOOK_TRACE ? &j->traces : &j->funcs, h.name);
	}
	bpf_object__close(obj);
	return ret;
}

static int write_btf(const struct btf *btf, const char *path)
{
	__u32 len;
	const void *data = btf__raw_data(btf, &len);
	FILE *f = data ? fopen(path, "we") : NULL;
	int bad;

	if (!f)
		return -EIO;
	bad = fwrite(data, 1, len, f) != len;
	bad |= fclose(f) != 0;
	return bad ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct job j = {0};
	int ret = -EINVAL;

	if (argc < 4) {
		fprintf(stderr, "usage: minbtf OUT KERNEL KEEP.list [MODULE.ko...] [OBJECT...]\n");
		return 2;
	}
	j.full = btf_from_file(argv[2]);
	j.out = btf__new_empty();
	if (!j.full || !j.out) {
		fprintf(stderr, "minbtf: %s: no BTF found in it\n", argv[2]);
		goto out;
	}
	ret = read_list(&j, argv[3]);
	for (int i = 4; i < argc && !ret; i++)
		if (!is_module(argv[i]))
			ret = names_of_object(&j, argv[i]);
	if (!ret)
		ret = keep_kernel(&j);
	for (int i = 4; i < argc && !ret; i++)
		if (is_module(argv[i]))
			ret = keep_module(&j, argv[i]);
	if (!ret)
		ret = write_btf(j.out, argv[1]);
	if (ret)
		fprintf(stderr, "minbtf: %s: %s\n", argv[1], strerror(-ret));
out:
	btf__free(j.out);
	btf__free(j.full);
	free(j.made);
	names_free(&j.structs);
	names_free(&j.traces);
	names_free(&j.vars);
	names_free(&j.funcs);
	return ret ? 1 : 0;
}
