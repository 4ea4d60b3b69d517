// SPDX-License-Identifier: GPL-2.0-or-later
/* Locks in memory of no known type: memory from kmalloc, variables without a symbol. The code that
 * takes them tells. */
#include <errno.h>
#include <inttypes.h>
#include <linux/types.h>
#include <string.h>

#include "abi_contend.h"
#include "names/kernel.h"

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

/* ---- locks that single functions take ---- */

/* Where a lock lies that a single function tells. */
enum where {
	/* a variable of the kernel's image, which without CONFIG_KALLSYMS_ALL has no symbol */
	IN_IMAGE,
	NOT_TYPED, /* in memory from kmalloc, or in none that we know */
};

/*
 * The kernel's source says that each of these functions takes this lock, and no other lock of the
 * same kind and place. `caller`: the row holds only if that function called it; NULL: any caller.
 */
static const struct {
	enum where where;
	uint32_t kind;
	const char *function, *caller, *lock;
} single_locks[] = {
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "tick_do_update_jiffies64", NULL, "jiffies_lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "prepare_to_swait_event", "rcu_gp_kthread",
	 "rcu_state.gp_wq.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "prepare_to_swait_event", "rcu_gp_fqs_loop",
	 "rcu_state.gp_wq.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "finish_swait", "rcu_gp_kthread", "rcu_state.gp_wq.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "finish_swait", "rcu_gp_fqs_loop", "rcu_state.gp_wq.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "swake_up_one", "rcu_gp_kthread_wake",
	 "rcu_state.gp_wq.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "rcu_core", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "note_gp_changes", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "rcu_report_qs_rdp", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "rcu_report_qs_rnp", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "rcu_accelerate_cbs_unlocked", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "force_qs_rnp", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "rcu_gp_cleanup", NULL, "rcu_node.lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "alloc_pid", NULL, "pidmap_lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "free_pid", NULL, "pidmap_lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "free_percpu", NULL, "pcpu_lock"},
	{IN_IMAGE, ABI_LOCK_SPINLOCK, "__remove_inode_hash", NULL, "inode_hash_lock"},
	{IN_IMAGE, ABI_LOCK_RWLOCK_W, "copy_process", NULL, "tasklist_lock"},
	{IN_IMAGE, ABI_LOCK_RWLOCK_W, "release_task", NULL, "tasklist_lock"},
	{IN_IMAGE, ABI_LOCK_RWLOCK_W, "exit_notify", NULL, "tasklist_lock"},
	{IN_IMAGE, ABI_LOCK_RWLOCK_R, "do_wait", NULL, "tasklist_lock"},
	{IN_IMAGE, ABI_LOCK_RWLOCK_R, "__do_wait", NULL, "tasklist_lock"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "exp_funnel_lock", NULL, "rcu_state.exp_mutex"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "rcu_barrier", NULL, "rcu_state.barrier_mutex"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "rtnl_lock", NULL, "rtnl_mutex"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "cgroup_kn_lock_live", NULL, "cgroup_mutex"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "jump_label_lock", NULL, "jump_label_mutex"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "perf_trace_init", NULL, "event_mutex"},
	{IN_IMAGE, ABI_LOCK_MUTEX, "perf_trace_destroy", NULL, "event_mutex"},
	{IN_IMAGE, ABI_LOCK_SEMAPHORE, "console_lock", NULL, "console_sem"},
	/* the hash table of futexes: get_futex_key() says which bucket (kernel/futex/core.c) */
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_wait_setup", NULL, "futex_hash_bucket.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_wait_multiple_setup", NULL, "futex_hash_bucket.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_q_lock", NULL, "futex_hash_bucket.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_unqueue", NULL, "futex_hash_bucket.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_wake", NULL, "futex_hash_bucket.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_wake_op", NULL, "futex_hash_bucket.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "futex_requeue", NULL, "futex_hash_bucket.lock"},
	/* files without a name (fs/pipe.c, fs/eventpoll.c) */
	{NOT_TYPED, ABI_LOCK_MUTEX, "anon_pipe_read", NULL, "pipe_inode_info.mutex"},
	{NOT_TYPED, ABI_LOCK_MUTEX, "anon_pipe_write", NULL, "pipe_inode_info.mutex"},
	{NOT_TYPED, ABI_LOCK_MUTEX, "pipe_read", NULL, "pipe_inode_info.mutex"},  /* until 6.15 */
	{NOT_TYPED, ABI_LOCK_MUTEX, "pipe_write", NULL, "pipe_inode_info.mutex"}, /* until 6.15 */
	{NOT_TYPED, ABI_LOCK_MUTEX, "pipe_release", NULL, "pipe_inode_info.mutex"},
	{NOT_TYPED, ABI_LOCK_MUTEX, "ep_send_events", NULL, "eventpoll.mtx"},
	{NOT_TYPED, ABI_LOCK_MUTEX, "do_epoll_ctl", NULL, "eventpoll.mtx"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "ep_poll_callback", NULL, "eventpoll.lock"},
	{NOT_TYPED, ABI_LOCK_RWLOCK_R, "ep_poll_callback", NULL, "eventpoll.lock"}, /* until 6.17 */
	/* a zone's free pages and a memory cgroup's list of pages (mm/page_alloc.c,
	 * include/linux/memcontrol.h) */
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "rmqueue_bulk", NULL, "zone.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "free_pcppages_bulk", NULL, "zone.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "free_one_page", NULL, "zone.lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "folio_lruvec_lock_irq", NULL, "lruvec.lru_lock"},
	{NOT_TYPED, ABI_LOCK_SPINLOCK, "folio_lruvec_lock_irqsave", NULL, "lruvec.lru_lock"},
};

/* On PREEMPT_RT a spinlock is an rt_mutex. */
static bool kind_fits(uint32_t kind, uint32_t seen)
{
	return kind == seen || (kind == ABI_LOCK_SPINLOCK && seen == ABI_LOCK_RT_MUTEX);
}

/* Is it that function, or a part that the compiler has split off ("do_wait.part.0")? */
static bool is_function(const struct ksym_at *at, const char *name)
{
	size_t len = strcspn(at->name, ".");

	if (len > (size_t)at->name_len)
		len = (size_t)at->name_len;
	return !at->module[0] && len == strlen(name) && !strncmp(at->name, name, len);
}

static bool infer_single(struct names_kernel *k, enum where where, const char *place,
			 const struct kernel_hint *hint, struct name *out)
{
	struct ksym_at at, caller;
	uint32_t i = 0;
	bool called;

	while (hint && i < hint->nips && kernel_is_lock_code(k, hint->ips[i]))
		i++;
	if (!hint || i >= hint->nips || !kernel_code_at(k, hint->ips[i], &at))
		return false;
	called = i + 1 < hint->nips && kernel_code_at(k, hint->ips[i + 1], &caller);
	for (size_t n = 0; n < sizeof(single_locks) / sizeof(single_locks[0]); n++) {
		if (single_locks[n].where != where ||
		    !kind_fits(single_locks[n].kind, hint->lock_kind) ||
		    !is_function(&at, single_locks[n].function) ||
		    (single_locks[n].caller &&
		     (!called || !is_function(&caller, single_locks[n].caller))))
			continue;
		*out = (struct name){.found = NAME_OBJECT, .inferred = true};
		name_print(out->text, sizeof(out->text), false, "%s?", single_locks[n].lock);
		name_print(out->place, sizeof(out->place), false, "inferred from %s%s",
			   single_locks[n].caller ? single_locks[n].caller
						  : single_locks[n].function,
			   place);
		return true;
	}
	return false;
}

bool infer_global(struct names_kernel *k, uint64_t offset, const struct kernel_hint *hint,
		  struct name *out)
{
	char place[40];

	(void)snprintf(place, sizeof(place), ", vmlinux+0x%" PRIx64, offset); /* fits */
	return infer_single(k, IN_IMAGE, place, hint, out);
}

bool infer_elsewhere(struct names_kernel *k, const struct kernel_hint *hint, struct name *out)
{
	return infer_single(k, NOT_TYPED, "", hint, out);
}
