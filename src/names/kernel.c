// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel half of names: types, and the order in which those who may know an address are asked.
 */
#include "core/clock.h"
#include "names/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int names_kernel_open(struct names_kernel **out, const struct names_args *args, struct err *e)
{
	struct names_kernel *k = calloc(1, sizeof(*k));

	if (k && args->btf)
		k->btf_file = strdup(args->btf);
	if (!k || (args->btf && !k->btf_file)) {
		names_kernel_close(k);
		return err_sys(e, -ENOMEM, "names");
	}
	/* Whether addresses are shown is decided when it is opened: while we may. */
	k->kallsyms = fopen("/proc/kallsyms", "re");
	*out = k;
	return 0;
}

void names_kernel_close(struct names_kernel *k)
{
	if (!k)
		return;
	percpu_close(&k->percpu);
	supers_close(&k->supers);
	slabs_close(&k->slabs);
	peek_close(&k->peek);
	ksyms_free(&k->syms);
	btf_view_close(&k->module_btf);
	btf_view_close(&k->btf);
	if (k->kallsyms)
		fclose(k->kallsyms);
	free(k->btf_file);
	free(k);
}

bool kernel_btf_ready(struct names_kernel *k)
{
	k->btf_used_ns = clock_mono_ns();
	if (!k->btf_state)
		k->btf_state = btf_view_open(&k->btf, k->btf_file ?: KERNEL_BTF, NULL) ?: 1;
	return k->btf_state > 0;
}

#define IDLE_NS 10000000000ULL /* new names come in bursts, and reading it takes 15 ms */

/* Where the kernel cannot map its types (before 6.16) they are 6 MB of heap. */
void names_kernel_trim(struct names_kernel *k)
{
	if (k->btf_state <= 0 || k->btf.map_len || clock_mono_ns() - k->btf_used_ns < IDLE_NS)
		return;
	btf_view_close(&k->module_btf);
	btf_view_close(&k->btf);
	k->module[0] = '\0';
	k->btf_state = 0;
	(void)malloc_trim(0);
}

bool kernel_peek_ready(struct names_kernel *k)
{
	bool slabs;

	if (k->peek.state)
		return k->peek.state > 0;
	slabs = kernel_btf_ready(k) &&
		btf_view_find(&k->btf, "bpf_get_kmem_cache", BTF_KIND_FUNC) != 0;
	return !peek_open(&k->peek, k->btf_file, slabs);
}

void names_prepare(struct names *n)
{
	(void)kernel_peek_ready(n->kernel); /* names_why tells */
}

/* "/" and the like in a module's name would leave the directory. */
static bool is_module_name(const char *s)
{
	return *s && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
			     strlen(s);
}

#define RETRY_NS 1000000000ULL /* it may be loaded later */

/* One module's types at a time: after the first it is nearly always ext4's. */
static struct btf_view *module_view(struct names_kernel *k, const char *module)
{
	char path[128];

	if (!is_module_name(module) || strlen(module) >= sizeof(k->module) || k->btf_file)
		return NULL;
	if (strcmp(k->module, module) ||
	    (!k->module_btf.n && clock_mono_ns() - k->module_tried_ns > RETRY_NS)) {
		btf_view_close(&k->module_btf);
		k->module_tried_ns = clock_mono_ns();
		name_print(k->module, sizeof(k->module), false, "%s", module);
		name_print(path, sizeof(path), false, "/sys/kernel/btf/%s", module);
		if (btf_view_open(&k->module_btf, path, &k->btf))
			btf_view_close(&k->module_btf); /* built in, not loaded, or no types */
	}
	return k->module_btf.n ? &k->module_btf : NULL;
}

uint32_t kernel_struct(struct names_kernel *k, const char *name, const char *module,
		       const struct btf_view **view)
{
	struct btf_view *v = kernel_btf_ready(k) ? &k->btf : NULL;
	uint32_t id = v ? btf_view_find(v, name, BTF_KIND_STRUCT) : 0;

	if (v && !id)
		id = btf_view_find(v, name, BTF_KIND_UNION);
	if (v && !id && module) {
		v = module_view(k, module);
		id = v ? btf_view_find(v, name, BTF_KIND_STRUCT) : 0;
	}
	*view = v;
	return id;
}

int64_t kernel_offset(struct names_kernel *k, const char *type, const char *path)
{
	const struct btf_view *v;
	uint32_t id = kernel_struct(k, type, "ext4", &v);

	return id ? btf_view_offset(v, id, path, NULL) : -ENOENT;
}

int kernel_offsets(struct names_kernel *k, const struct kernel_member *want, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n; i++) {
		*want[i].to = kernel_offset(k, want[i].type, want[i].path);
		if (*want[i].to < 0)
			ret = -ENOENT;
	}
	return ret;
}

int64_t kernel_size(struct names_kernel *k, const char *type, const char *module)
{
	const struct btf_view *v;
	uint32_t id = kernel_struct(k, type, module, &v);

	return id ? btf_view_size(v, id) : -ENOENT;
}

uint64_t kernel_at(struct names_kernel *k, uint64_t object, int64_t offset)
{
	return object && offset >= 0 ? peek_u64(&k->peek, object + (uint64_t)offset) : 0;
}

int64_t kernel_enum(struct names_kernel *k, const char *type, const char *name)
{
	uint32_t i, id = kernel_btf_ready(k) ? btf_view_find(&k->btf, type, BTF_KIND_ENUM) : 0;
	const struct btf_type *t = btf_view_type(&k->btf, id);

	for (i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf_view_str(&k->btf, btf_enum(t)[i].name_off), name))
			return btf_enum(t)[i].val;
	return -ENOENT;
}

/* A type of a hint may stand for what no struct is called: then the object and the offset.
 * `called`: instead of by its type. */
static bool name_in(struct names_kernel *k, uint64_t addr, uint64_t object, const char *type,
		    const char *module, const char *called, struct name *out)
{
	const struct btf_view *v;
	uint32_t id = kernel_struct(k, type, module, &v);
	struct member_at m;
	char rest[24] = "";

	if (!id || addr < object || addr - object > UINT32_MAX ||
	    btf_member_at(v, id, (uint32_t)(addr - object), &m))
		return false;
	if (m.kind == MEMBER_NONE)
		name_print(rest, sizeof(rest), false, "+0x%x", m.rest);
	*out = (struct name){.found = m.path[0] ? NAME_MEMBER : NAME_OBJECT, .object = object};
	name_print(out->text, sizeof(out->text), false, "%s%s%s%s", called, m.path[0] ? "." : "",
		   m.path, rest); /* may be cut */
	name_print(out->type, sizeof(out->type), false, "%s", type);
	return true;
}

bool kernel_name_in(struct names_kernel *k, uint64_t addr, uint64_t object, const char *type,
		    const char *module, struct name *out)
{
	return name_in(k, addr, object, type, module, type, out);
}

static void say_whose(struct name *out, uint32_t pid, const char *comm)
{
	name_print(out->place, sizeof(out->place), false, "of %s, pid %u", comm, pid);
}

void kernel_say_owner(struct names_kernel *k, uint64_t mm, struct name *out)
{
	int64_t owner, leader, tgid, comm;
	const struct kernel_member want[] = {
		{&owner, "mm_struct", "owner"}, /* CONFIG_MEMCG */
		{&leader, "task_struct", "group_leader"},
		{&tgid, "task_struct", "tgid"},
		{&comm, "task_struct", "comm"},
	};
	char text[16] = "";
	uint64_t task;

	if (kernel_offsets(k, want, sizeof(want) / sizeof(want[0])))
		return;
	task = kernel_at(k, kernel_at(k, mm, owner), leader);
	if (!task || peek_read(&k->peek, task + (uint64_t)comm, text, sizeof(text)))
		return;
	text[sizeof(text) - 1] = '\0';
	say_whose(out, peek_u32(&k->peek, task + (uint64_t)tgid), text);
}

static bool hint_name(struct names_kernel *k, uint64_t addr, const struct kernel_hint *hint,
		      struct name *out)
{
	const char *colon;

	if (!hint || !hint->object || !hint->type)
		return false;
	colon = strncmp(hint->type, "ext4_", 5) ? NULL : "ext4";
	if (!kernel_name_in(k, addr, hint->object, hint->type, colon, out))
		return false;
	/* The waiter's own table. An mm_struct may be another's, whose memory the waiter reads. */
	if (!strcmp(out->type, "futex_hash_bucket") && hint->pid && hint->process)
		say_whose(out, hint->pid, hint->process);
	return true;
}

/* Variables whose types BTF does not tell: arrays of structs. */
static const struct {
	const char *symbol, *type;
} arrays[] = {
	{"bit_wait_table", "wait_queue_head"},
	{"folio_wait_table", "wait_queue_head"},
	{"page_wait_table", "wait_queue_head"}, /* until 5.15 */
};

/* "folio_wait_table[17].lock" */
static bool array_name(struct names_kernel *k, uint64_t addr, const struct ksym_at *at,
		       struct name *out)
{
	char symbol[64];
	int64_t size;
	uint64_t i;

	for (size_t n = 0; n < sizeof(arrays) / sizeof(arrays[0]); n++) {
		if (strlen(arrays[n].symbol) != (size_t)at->name_len ||
		    strncmp(arrays[n].symbol, at->name, (size_t)at->name_len))
			continue;
		size = kernel_size(k, arrays[n].type, NULL);
		if (size <= 0)
			continue;
		i = (addr - at->start) / (uint64_t)size;
		name_print(symbol, sizeof(symbol), false, "%s[%" PRIu64 "]", arrays[n].symbol, i);
		return name_in(k, addr, at->start + i * (uint64_t)size, arrays[n].type, NULL,
			       symbol, out);
	}
	return false;
}

static bool symbol_name(struct names_kernel *k, uint64_t addr, struct name *out)
{
	struct ksym_at at;
	char rest[24] = "";

	if (!ksyms_ready(k, false) || !ksyms_find(&k->syms, addr, true, &at) || addr >= at.end)
		return false;
	if (array_name(k, addr, &at, out))
		return true;
	if (addr != at.start)
		name_print(rest, sizeof(rest), false, "+0x%" PRIx64, addr - at.start);
	*out = (struct name){.found = NAME_OBJECT, .object = at.start};
	name_print(out->text, sizeof(out->text), false, "%.*s%s", at.name_len, at.name, rest);
	name_print(out->place, sizeof(out->place), false, "%s", at.module);
	return true;
}

/* The offset in the kernel's image is the same at every boot of that kernel. */
static bool image_name(struct names_kernel *k, uint64_t addr, const struct kernel_hint *hint,
		       struct name *out)
{
	uint64_t text, end;

	if (!ksyms_ready(k, false))
		return false;
	text = ksyms_addr(&k->syms, "_text");
	end = k->syms.data ? ksyms_addr(&k->syms, "_end") : 0;
#if defined(__x86_64__)
	if (!end)
		end = 0xffffffffc0000000; /* modules begin */
#endif
	if (!text || addr < text || addr >= end)
		return false;
	if (infer_global(k, addr - text, hint, out))
		return true;
	*out = (struct name){.found = NAME_REGION};
	name_print(out->text, sizeof(out->text), false, "vmlinux+0x%" PRIx64, addr - text);
	return true;
}

void names_kernel_data(struct names *n, uint64_t addr, const struct kernel_hint *hint,
		       struct name *out)
{
	struct names_kernel *k = n->kernel;

	/* What is certain first; slabs before pages, for their memory has pages too. */
	if (hint_name(k, addr, hint, out) || percpu_name(k, addr, out) ||
	    symbol_name(k, addr, out) || ext4_name(k, addr, out) || inode_name(k, addr, out) ||
	    slab_name(k, addr, hint, out) || image_name(k, addr, hint, out) ||
	    page_name(k, addr, out) || infer_elsewhere(k, hint, out)) {
		if (!strcmp(out->type, "mm_struct") && !out->place[0])
			kernel_say_owner(k, out->object, out);
		return;
	}
	name_bare(out, addr);
}

#define LINE_BYTES 64

size_t names_members_on_line(struct names *n, const char *type, uint64_t object, uint64_t addr,
			     struct name_member *out, size_t cap)
{
	uint64_t line = addr & ~(uint64_t)(LINE_BYTES - 1), from;
	const struct btf_view *v;
	uint32_t id = kernel_struct(n->kernel, type, "ext4", &v);

	if (!id || addr < object || addr - object > INT32_MAX)
		return 0;
	from = line > object ? line - object : 0;
	return btf_members_in(v, id, (uint32_t)from, (uint32_t)(line + LINE_BYTES - object), out,
			      cap);
}
