// SPDX-License-Identifier: GPL-2.0-or-later
/* Objects of no known type: memory from kmalloc, variables without a symbol. */
#include <errno.h>
#include <inttypes.h>
#include <linux/types.h>
#include <string.h>
#include <sys/stat.h>

#include "abi_contend.h"
#include "names/kernel.h"

/* ---- by open files ---- */

/*
 * Pipes, epoll and event descriptors: who waits for their locks mostly has them open, and a file
 * says what it is.
 */

/* What file.private_data is, by the file system and the name of its dentry: the kernel alone makes
 * either. */
static const struct {
	const char *fs, *dentry, *type;
} kinds[] = {
	{"anon_inodefs", "[eventpoll]", "eventpoll"},
	{"anon_inodefs", "[eventfd]", "eventfd_ctx"},
	{"anon_inodefs", "[timerfd]", "timerfd_ctx"},
	{"anon_inodefs", "[signalfd]", "signalfd_ctx"},
	{"anon_inodefs", "[userfaultfd]", "userfaultfd_ctx"},
	{"anon_inodefs", "inotify", "fsnotify_group"},
	{"anon_inodefs", "[fanotify]", "fsnotify_group"},
	{"anon_inodefs", "[io_uring]", "io_ring_ctx"},
	{"anon_inodefs", "[perf_event]", "perf_event"},
};

struct layout {
	int64_t fdt, fds, max;	     /* of files_struct, fdtable */
	int64_t data, inode, dentry; /* of file */
	int64_t sb, mode, pipe;	     /* of inode */
	int64_t fs_type, fs_name, dentry_name;
};

static int read_layout(struct names_kernel *k, struct layout *l)
{
	const struct kernel_member want[] = {
		{&l->fdt, "files_struct", "fdt"},
		{&l->fds, "fdtable", "fd"},
		{&l->max, "fdtable", "max_fds"},
		{&l->data, "file", "private_data"},
		{&l->inode, "file", "f_inode"},
		{&l->dentry, "file", "f_path.dentry"},
		{&l->sb, "inode", "i_sb"},
		{&l->mode, "inode", "i_mode"},
		{&l->pipe, "inode", "i_pipe"},
		{&l->fs_type, "super_block", "s_type"},
		{&l->fs_name, "file_system_type", "name"},
		{&l->dentry_name, "dentry", "d_name.name"},
	};

	return kernel_offsets(k, want, sizeof(want) / sizeof(want[0]));
}

/* What file.private_data is; NULL: not known. */
static const char *kind_of(struct names_kernel *k, const struct layout *l, uint64_t file,
			   uint64_t object)
{
	uint64_t inode = kernel_at(k, file, l->inode);
	uint64_t type = kernel_at(k, kernel_at(k, inode, l->sb), l->fs_type);
	uint32_t mode = inode ? peek_u32(&k->peek, inode + (uint64_t)l->mode) : 0;
	char fs[16], dentry[32];

	/* A pipe with a name is an inode of any file system. */
	if (S_ISFIFO(mode) && kernel_at(k, inode, l->pipe) == object)
		return "pipe_inode_info";
	peek_text(&k->peek, kernel_at(k, type, l->fs_name), fs, sizeof(fs));
	peek_text(&k->peek, kernel_at(k, kernel_at(k, file, l->dentry), l->dentry_name), dentry,
		  sizeof(dentry));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(fs, kinds[i].fs) && !strcmp(dentry, kinds[i].dentry))
			return kinds[i].type;
	return NULL;
}

#define FILES_MAX 65536U /* looked at for a name, a microsecond each */
#define BATCH 512U

/* The number of an open file whose private_data is `object`; negative: none, or not looked at. */
static int64_t find_file(struct names_kernel *k, const struct layout *l, uint64_t files,
			 uint64_t object, uint64_t *file)
{
	uint64_t table = kernel_at(k, files, l->fdt), fds = kernel_at(k, table, l->fds),
		 batch[BATCH];
	uint32_t n = table ? peek_u32(&k->peek, table + (uint64_t)l->max) : 0, i, j;

	for (i = 0; fds && i < n && i < FILES_MAX; i += BATCH) {
		uint32_t some = n - i < BATCH ? n - i : BATCH;

		peek_window(&k->peek, fds + 8ULL * i, (uint8_t *)batch, 8 * some);
		for (j = 0; j < some; j++) {
			*file = batch[j];
			if (*file && kernel_at(k, *file, l->data) == object)
				return i + j;
		}
	}
	return -ENOENT;
}

/* "pipe_inode_info.mutex (fd 4 of locks, pid 123)": object is where the address's slab object
 * begins, of `bytes`. */
bool file_name(struct names_kernel *k, uint64_t addr, uint64_t object, uint32_t bytes,
	       const struct kernel_hint *hint, struct name *out)
{
	struct layout l;
	const char *type;
	uint64_t file;
	int64_t fd;

	if (!hint || !hint->files || read_layout(k, &l))
		return false;
	fd = find_file(k, &l, hint->files, object, &file);
	type = fd < 0 ? NULL : kind_of(k, &l, file, object);
	if (!type || kernel_size(k, type, NULL) > bytes ||
	    !kernel_name_in(k, addr, object, type, NULL, out))
		return false;
	name_print(out->place, sizeof(out->place), false, "fd %" PRId64, fd);
	if (hint->pid && hint->process)
		name_print(out->place, sizeof(out->place), true, " of %s, pid %u", hint->process,
			   hint->pid);
	return true;
}

/* ---- by the code that locks them ---- */

/*
 * What an object of no type is, by the code that locks it: of the structs that its functions take
 * pointers to, the one that fills the object and has a lock of that kind at that offset. The object
 * itself does not say so, which the name shows by a "?".
 */

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
	bool locks = false;

	if (!t || !btf_is_struct(t) || !*btf_view_name(s->v, t) || t->size > s->bytes ||
	    t->size <= smaller_size(s->bytes) || btf_member_at(s->v, id, s->offset, &m) ||
	    m.kind != MEMBER_LOCK)
		return;
	for (size_t i = 0; i < sizeof(lock_types) / sizeof(lock_types[0]); i++)
		locks |= lock_types[i].kind == s->kind && !strcmp(lock_types[i].type, m.lock);
	if (!locks)
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
#define FRAMES_MAX 3 /* callers further away have to do with more than this object */

static void search_frames(struct names_kernel *k, const struct kernel_hint *hint, struct search *s)
{
	char name[NAME_MAX_LEN];
	struct ksym_at at;
	uint32_t i, frames = 0;
	int len;

	for (i = 0; i < hint->nips && frames < FRAMES_MAX && !s->several; i++) {
		if (kernel_is_lock_code(k, hint->ips[i]) || !kernel_code_at(k, hint->ips[i], &at) ||
		    at.module[0])
			continue;
		frames++;
		/* Without what the compiler adds when it splits or changes one: ".isra.0". */
		len = (int)strcspn(at.name, ".");
		len = len < at.name_len ? len : at.name_len;
		if (snprintf(name, sizeof(name), "%.*s", len, at.name) < (int)sizeof(name) && len)
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

/* ---- variables of the kernel's image ---- */

/*
 * Without CONFIG_KALLSYMS_ALL no symbol names a variable. Of these functions the kernel's source
 * says which lock of a kind they take, and that they take no other one of the image. `caller`:
 * only if that one called it; NULL: whoever did.
 */
static const struct {
	uint32_t kind;
	const char *function, *caller, *lock;
} global_locks[] = {
	{ABI_LOCK_SPINLOCK, "tick_do_update_jiffies64", NULL, "jiffies_lock"},
	{ABI_LOCK_SPINLOCK, "prepare_to_swait_event", "rcu_gp_kthread", "rcu_state.gp_wq.lock"},
	{ABI_LOCK_SPINLOCK, "prepare_to_swait_event", "rcu_gp_fqs_loop", "rcu_state.gp_wq.lock"},
	{ABI_LOCK_SPINLOCK, "finish_swait", "rcu_gp_kthread", "rcu_state.gp_wq.lock"},
	{ABI_LOCK_SPINLOCK, "finish_swait", "rcu_gp_fqs_loop", "rcu_state.gp_wq.lock"},
	{ABI_LOCK_SPINLOCK, "swake_up_one", "rcu_gp_kthread_wake", "rcu_state.gp_wq.lock"},
	{ABI_LOCK_SPINLOCK, "rcu_core", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "note_gp_changes", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "rcu_report_qs_rdp", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "rcu_report_qs_rnp", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "rcu_accelerate_cbs_unlocked", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "force_qs_rnp", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "rcu_gp_cleanup", NULL, "rcu_node.lock"},
	{ABI_LOCK_SPINLOCK, "alloc_pid", NULL, "pidmap_lock"},
	{ABI_LOCK_SPINLOCK, "free_pid", NULL, "pidmap_lock"},
	{ABI_LOCK_SPINLOCK, "free_percpu", NULL, "pcpu_lock"},
	{ABI_LOCK_SPINLOCK, "__remove_inode_hash", NULL, "inode_hash_lock"},
	{ABI_LOCK_RWLOCK_W, "copy_process", NULL, "tasklist_lock"},
	{ABI_LOCK_RWLOCK_W, "release_task", NULL, "tasklist_lock"},
	{ABI_LOCK_RWLOCK_W, "exit_notify", NULL, "tasklist_lock"},
	{ABI_LOCK_RWLOCK_R, "do_wait", NULL, "tasklist_lock"},
	{ABI_LOCK_RWLOCK_R, "__do_wait", NULL, "tasklist_lock"},
	{ABI_LOCK_MUTEX, "exp_funnel_lock", NULL, "rcu_state.exp_mutex"},
	{ABI_LOCK_MUTEX, "rcu_barrier", NULL, "rcu_state.barrier_mutex"},
	{ABI_LOCK_MUTEX, "rtnl_lock", NULL, "rtnl_mutex"},
	{ABI_LOCK_MUTEX, "cgroup_kn_lock_live", NULL, "cgroup_mutex"},
	{ABI_LOCK_MUTEX, "jump_label_lock", NULL, "jump_label_mutex"},
	{ABI_LOCK_MUTEX, "perf_trace_init", NULL, "event_mutex"},
	{ABI_LOCK_MUTEX, "perf_trace_destroy", NULL, "event_mutex"},
	{ABI_LOCK_SEMAPHORE, "console_lock", NULL, "console_sem"},
};

/* Is it that function, or a part that the compiler has split off ("do_wait.part.0")? */
static bool is_function(const struct ksym_at *at, const char *name)
{
	size_t len = strcspn(at->name, ".");

	if (len > (size_t)at->name_len)
		len = (size_t)at->name_len;
	return !at->module[0] && len == strlen(name) && !strncmp(at->name, name, len);
}

bool infer_global(struct names_kernel *k, uint64_t offset, const struct kernel_hint *hint,
		  struct name *out)
{
	struct ksym_at at, caller;
	uint32_t i = 0;
	bool called;

	while (hint && i < hint->nips && kernel_is_lock_code(k, hint->ips[i]))
		i++;
	if (!hint || i >= hint->nips || !kernel_code_at(k, hint->ips[i], &at))
		return false;
	called = i + 1 < hint->nips && kernel_code_at(k, hint->ips[i + 1], &caller);
	for (size_t n = 0; n < sizeof(global_locks) / sizeof(global_locks[0]); n++) {
		if (global_locks[n].kind != hint->lock_kind ||
		    !is_function(&at, global_locks[n].function) ||
		    (global_locks[n].caller &&
		     (!called || !is_function(&caller, global_locks[n].caller))))
			continue;
		*out = (struct name){.found = NAME_OBJECT, .inferred = true};
		name_print(out->text, sizeof(out->text), false, "%s?", global_locks[n].lock);
		name_print(out->place, sizeof(out->place), false,
			   "inferred from %s, vmlinux+0x%" PRIx64,
			   global_locks[n].caller ? global_locks[n].caller
						  : global_locks[n].function,
			   offset);
		return true;
	}
	return false;
}
