/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of locks in memory without a type: from kmalloc, and variables without a symbol, by the
 * code that takes them. kernel_truth.bpf.c says where they are.
 */
#include "kernel_fixture.h"

static const char *inferred(struct fixture *f, uint64_t addr, uint32_t kind, const char *function)
{
	const uint64_t ips[] = {symbol("mutex_lock") + 5, symbol(function) + 5};
	const struct kernel_hint hint = {.lock_kind = kind, .ips = ips, .nips = ROWS(ips)};
	static struct name name;

	names_kernel_data(f->names, addr, &hint, &name);
	assert_int_equal(name.inferred, strchr(name.text, '?') != NULL);
	return name.inferred ? name.text : "";
}

/* By a function: pipe_wait_readable(struct pipe_inode_info *). A lock of
 * another kind, at another offset or in another object of that size is not called so. */
TEST(functions)
{
	struct fixture *f = *state;
	uint64_t mutex = f->t.pipe_mutex, wait = f->t.pipe_rd_wait;
	struct name name;

	assert_string_equal(inferred(f, mutex, ABI_LOCK_MUTEX, "pipe_wait_readable"),
			    "pipe_inode_info.mutex?");
	assert_string_equal(inferred(f, wait, ABI_LOCK_SPINLOCK, "pipe_wait_readable"),
			    "pipe_inode_info.rd_wait.lock?");
	assert_string_equal(inferred(f, mutex, ABI_LOCK_SPINLOCK, "pipe_wait_readable"), "");
	assert_string_equal(inferred(f, wait, ABI_LOCK_MUTEX, "pipe_wait_readable"), "");
	assert_string_equal(inferred(f, f->t.pipe_head, ABI_LOCK_SPINLOCK, "pipe_wait_readable"),
			    "");
	assert_string_equal(inferred(f, mutex, ABI_LOCK_MUTEX, "vfs_write"), "");
	assert_string_equal(inferred(f, f->t.j_state_lock, ABI_LOCK_MUTEX, "pipe_wait_readable"),
			    "");
	names_kernel_data(f->names, mutex, NULL, &name);
	assert_int_equal(name.found, NAME_REGION);
}

/* A lock by the one function that takes it: in memory from kmalloc or nowhere that is known, but
 * not in an object that has a type. */
TEST(buckets)
{
	struct fixture *f = *state;
	const uint64_t nowhere = 0xffff800000000040;

	assert_string_equal(inferred(f, nowhere, ABI_LOCK_SPINLOCK, "futex_wake"),
			    "futex_hash_bucket.lock?");
	assert_string_equal(inferred(f, f->t.pipe_head, ABI_LOCK_SPINLOCK, "futex_wait_setup"),
			    "futex_hash_bucket.lock?");
	assert_string_equal(inferred(f, nowhere, ABI_LOCK_RT_MUTEX, "futex_wake"),
			    "futex_hash_bucket.lock?");
	assert_string_equal(inferred(f, nowhere, ABI_LOCK_MUTEX, "futex_wake"), "");
	assert_string_equal(inferred(f, f->t.pipe_mutex, ABI_LOCK_MUTEX, "pipe_release"),
			    "pipe_inode_info.mutex?");
	assert_string_equal(inferred(f, f->t.pipe_mutex, ABI_LOCK_MUTEX, "do_epoll_ctl"),
			    "eventpoll.mtx?");
	assert_string_equal(inferred(f, f->t.i_rwsem, ABI_LOCK_MUTEX, "pipe_release"), "");
	assert_string_equal(inferred(f, nowhere, ABI_LOCK_SPINLOCK, "do_futex"), "");
	assert_string_equal(inferred(f, f->t.mmap_lock, ABI_LOCK_SPINLOCK, "futex_wake"), "");
	assert_string_equal(inferred(f, f->t.page_refcount, ABI_LOCK_SPINLOCK, "futex_wake"), "");
}

/* A lock of the image without a symbol, by who takes it. Another kind, another caller or none, or
 * a place outside of the image is not called so. */
TEST(globals)
{
	static const struct {
		uint32_t kind;
		const char *lock_code, *function, *caller, *text, *place;
	} rows[] = {
		{ABI_LOCK_SPINLOCK, "_raw_spin_lock", "tick_do_update_jiffies64", "schedule",
		 "jiffies_lock?", "inferred from tick_do_update_jiffies64"},
		{ABI_LOCK_SPINLOCK, "_raw_spin_lock_irqsave", "prepare_to_swait_event",
		 "rcu_gp_kthread", "rcu_state.gp_wq.lock?", "inferred from rcu_gp_kthread"},
		{ABI_LOCK_SPINLOCK, "_raw_spin_lock_irqsave", "force_qs_rnp", "schedule",
		 "rcu_node.lock?", "inferred from force_qs_rnp"},
		{ABI_LOCK_RWLOCK_W, "_raw_write_lock_irq", "copy_process", "kernel_clone",
		 "tasklist_lock?", "inferred from copy_process"},
		{ABI_LOCK_SPINLOCK, "_raw_spin_lock_irqsave", "prepare_to_swait_event", "schedule",
		 "", ""},
		{ABI_LOCK_SPINLOCK, "_raw_spin_lock_irqsave", "schedule", "rcu_gp_kthread", "", ""},
		{ABI_LOCK_MUTEX, "mutex_lock", "tick_do_update_jiffies64", "schedule", "", ""},
		{ABI_LOCK_SPINLOCK, "_raw_spin_lock", "copy_process", "kernel_clone", "", ""},
	};
	struct fixture *f = *state;
	uint64_t text = symbol("_text");
	struct name name;

	names_kernel_data(f->names, text, NULL, &name);
	if (strcmp(name.text, "vmlinux+0x0"))
		skip(); /* CONFIG_KALLSYMS_ALL: it has a symbol */
	for (size_t i = 0; i < ROWS(rows); i++) {
		const uint64_t ips[] = {symbol(rows[i].lock_code) + 5, symbol(rows[i].function) + 5,
					symbol(rows[i].caller) + 5};
		struct kernel_hint hint = {.lock_kind = rows[i].kind, .ips = ips, .nips = 3};

		names_kernel_data(f->names, text, &hint, &name);
		assert_string_equal(name.inferred ? name.text : "", rows[i].text);
		assert_memory_equal(name.place, rows[i].place, strlen(rows[i].place));
		if (!name.inferred)
			assert_string_equal(name.text, "vmlinux+0x0");
		names_kernel_data(f->names, f->t.mm, &hint, &name);
		assert_string_not_equal(name.text, "jiffies_lock?");
		hint.nips = 1;
		names_kernel_data(f->names, text, &hint, &name);
		assert_false(name.inferred);
	}
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP not root\n");
		return 0;
	}
	return unit_main(set_up, tear_down);
}
