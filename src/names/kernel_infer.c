// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an object of no type is, by the code that locks it: of the structs that its functions take
 * pointers to, the one that fills the object and has a lock of that kind at that offset. The object
 * itself does not say so, which the name shows by a "?".
 */
#include <linux/types.h>
#include <string.h>

#include "abi_contend.h"
#include "names/kernel.h"

/* Which types are locks of a kind. */
static const struct {
	uint32_t kind;
	const char *type;
} lock_types[] = {
	{ABI_LOCK_SPINLOCK, "spinlock"},     {ABI_LOCK_SPINLOCK, "spinlock_t"},
	{ABI_LOCK_SPINLOCK, "raw_spinlock"}, {ABI_LOCK_SPINLOCK, "raw_spinlock_t"},
	{ABI_LOCK_RWLOCK_R, "rwlock_t"},     {ABI_LOCK_RWLOCK_W, "rwlock_t"},
	{ABI_LOCK_MUTEX, "mutex"},	     {ABI_LOCK_MUTEX, "ww_mutex"},
	{ABI_LOCK_RWSEM_R, "rw_semaphore"},  {ABI_LOCK_RWSEM_W, "rw_semaphore"},
	{ABI_LOCK_SEMAPHORE, "semaphore"},   {ABI_LOCK_RT_MUTEX, "rt_mutex"},
	{ABI_LOCK_RT_MUTEX, "mutex"}, /* PREEMPT_RT makes all of these of it */
	{ABI_LOCK_RT_MUTEX, "spinlock"},     {ABI_LOCK_RT_MUTEX, "spinlock_t"},
	{ABI_LOCK_RT_RW_R, "rwlock_t"},	     {ABI_LOCK_RT_RW_W, "rwlock_t"},
	{ABI_LOCK_RT_RW_R, "rw_semaphore"},  {ABI_LOCK_RT_RW_W, "rw_semaphore"},
};

static bool is_lock(uint32_t kind, const char *type)
{
	for (size_t i = 0; i < sizeof(lock_types) / sizeof(lock_types[0]); i++)
		if (lock_types[i].kind == kind && !strcmp(lock_types[i].type, type))
			return true;
	return false;
}

/* The next smaller size that kmalloc has: what fits there is not put here. */
static uint32_t smaller_size(uint32_t bytes)
{
	uint32_t n = 8;

	if (bytes <= n)
		return 0;
	if (bytes == 96 || bytes == 192)
		return bytes == 96 ? 64 : 128;
	if (bytes == 128 || bytes == 256)
		return bytes / 4 * 3;
	while (2 * n < bytes)
		n *= 2;
	return n;
}

struct search {
	const struct btf_view *v;
	uint32_t offset, bytes, kind; /* of the lock in the object, of the object, ABI_LOCK_* */
	uint32_t found;		      /* type; 0: none */
	bool several;
	const char *function;
	int function_len;
};

static void try_type(struct search *s, uint32_t id, const struct ksym_at *at)
{
	const struct btf_type *t = btf_view_type(s->v, id);
	struct member_at m;

	if (!t || !btf_is_struct(t) || !*btf_view_name(s->v, t) || t->size > s->bytes ||
	    t->size <= smaller_size(s->bytes) || btf_member_at(s->v, id, s->offset, &m) ||
	    m.kind != MEMBER_LOCK || !is_lock(s->kind, m.lock))
		return;
	if (s->found && s->found != id) {
		s->several = true;
	} else if (!s->found) {
		s->found = id;
		s->function = at->name;
		s->function_len = at->name_len;
	}
}

/* All that the function takes pointers to. BTF leaves out functions of one name that take
 * different things. */
static void try_function(struct search *s, const struct ksym_at *at, uint32_t id)
{
	const struct btf_type *f = btf_view_type(s->v, id);
	const struct btf_type *proto = f ? btf_view_type(s->v, f->type) : NULL;

	if (!proto || !btf_is_func_proto(proto))
		return;
	for (uint32_t i = 0; i < btf_vlen(proto); i++) {
		uint32_t param = btf_view_strip(s->v, btf_params(proto)[i].type);
		const struct btf_type *t = btf_view_type(s->v, param);

		if (t && btf_is_ptr(t))
			try_type(s, btf_view_strip(s->v, t->type), at);
	}
}

#define NAME_MAX_LEN 128

/* Without what the compiler adds when it splits or changes one: "pipe_wait_readable.isra.0". */
static bool function_name(const struct ksym_at *at, char *out, size_t len)
{
	size_t n = 0;

	while (n < (size_t)at->name_len && at->name[n] != '.')
		n++;
	if (!n || n >= len)
		return false;
	memcpy(out, at->name, n);
	out[n] = '\0';
	return true;
}

#define FRAMES_MAX 3 /* callers further away have to do with more than this object */

static void search_frames(struct names_kernel *k, const struct kernel_hint *hint, struct search *s)
{
	char name[NAME_MAX_LEN];
	struct ksym_at at;
	uint32_t i, frames = 0;

	for (i = 0; i < hint->nips && frames < FRAMES_MAX && !s->several; i++) {
		if (kernel_is_lock_code(k, hint->ips[i]) || !kernel_code_at(k, hint->ips[i], &at) ||
		    at.module[0])
			continue;
		frames++;
		if (function_name(&at, name, sizeof(name)))
			try_function(s, &at, btf_view_find(&k->btf, name, BTF_KIND_FUNC));
	}
}

/* "pipe_inode_info.mutex?", "inferred from pipe_wait_readable, kmalloc-192" */
bool infer_name(struct names_kernel *k, uint64_t addr, uint64_t object, uint32_t bytes,
		const char *cache, const struct kernel_hint *hint, struct name *out)
{
	struct search s = {.v = &k->btf, .offset = (uint32_t)(addr - object), .bytes = bytes};
	const struct btf_type *t;

	if (!hint || !hint->lock_kind || !hint->nips || !bytes || !kernel_btf_ready(k))
		return false;
	s.kind = hint->lock_kind;
	search_frames(k, hint, &s);
	t = s.several ? NULL : btf_view_type(s.v, s.found);
	if (!t || !kernel_name_in(k, addr, object, btf_view_name(s.v, t), NULL, out))
		return false;
	name_print(out->text, sizeof(out->text), true, "?");
	name_print(out->place, sizeof(out->place), false, "inferred from %.*s, %s", s.function_len,
		   s.function, cache);
	out->inferred = true;
	out->object = 0; /* what else is on its line is not known so */
	return true;
}
