/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of real kernel objects: our own process's, a file's on a loop ext4, a pipe's, run queues.
 * kernel_truth.bpf.c says where they are.
 */
#include <sys/prctl.h>

#include "kernel_fixture.h"

/* What is sure, whatever this kernel merges. */
static const struct {
	size_t field;
	uint32_t add;
	const char *text, *type;
} rows[] = {
	{AT(mmap_lock), 0, "mm_struct.mmap_lock", "mm_struct"},
	{AT(mmap_wait_lock), 0, "mm_struct.mmap_lock.wait_lock", "mm_struct"},
	{AT(wait_chldexit), 0, "signal_struct.wait_chldexit.lock", "signal_struct"},
	{AT(siglock), 0, "sighand_struct.siglock", "sighand_struct"},
	{AT(task_alloc_lock), 0, "task_struct.alloc_lock", "task_struct"},
	{AT(i_rwsem), 0, "ext4_inode_info.vfs_inode.i_rwsem", "ext4_inode_info"},
	{AT(i_lock), 0, "ext4_inode_info.vfs_inode.i_lock", "ext4_inode_info"},
	{AT(xa_lock), 0, "ext4_inode_info.vfs_inode.i_data.i_pages.xa_lock", "ext4_inode_info"},
	{AT(i_ino), 0, "ext4_inode_info.vfs_inode.i_ino", "ext4_inode_info"},
	{AT(i_es_lock), 0, "ext4_inode_info.i_es_lock", "ext4_inode_info"},
	{AT(i_es_lock), 4, "ext4_inode_info.i_es_lock.raw_lock.wait_lock", "ext4_inode_info"},
	{AT(i_data_sem), 0, "ext4_inode_info.i_data_sem", "ext4_inode_info"},
	{AT(i_raw_lock), 0, "ext4_inode_info.i_raw_lock", "ext4_inode_info"},
	{AT(hits_lock), 0, "ext4_sb_info.s_es_stats.es_stats_cache_hits.lock", "ext4_sb_info"},
	{AT(hits_lock), 8, "ext4_sb_info.s_es_stats.es_stats_cache_hits.count", "ext4_sb_info"},
	{AT(misses_lock), 0, "ext4_sb_info.s_es_stats.es_stats_cache_misses.lock", "ext4_sb_info"},
	{AT(s_orphan_lock), 0, "ext4_sb_info.s_orphan_lock", "ext4_sb_info"},
	{AT(s_desc_size), 0, "ext4_sb_info.s_desc_size", "ext4_sb_info"},
	{AT(j_state_lock), 0, "journal_s.j_state_lock", "journal_s"},
	{AT(j_wait_commit), 0, "journal_s.j_wait_commit.lock", "journal_s"},
	{AT(s_umount), 0, "super_block.s_umount", "super_block"},
	{AT(other_rwsem), 0, "inode.i_rwsem", "inode"},
	{AT(d_lock), 0, "dentry.d_lockref.lock", "dentry"},
	{AT(page_refcount), 0, "page._refcount", "page"},
};

static void check_rows(struct fixture *f)
{
	struct name name;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		names_kernel_data(f->names, truth_at(f, rows[i].field) + rows[i].add, NULL, &name);
		assert_string_equal(name.text, rows[i].text);
		assert_string_equal(name.type, rows[i].type);
		assert_int_equal(name.found, NAME_MEMBER);
	}
}

TEST(objects)
{
	struct fixture *f = *state;
	char comm[16] = "", whose[64];
	struct name name;

	check_rows(f);
	names_kernel_data(f->names, f->t.mmap_lock, NULL, &name);
	assert_int_equal(name.object, f->t.mm);
	(void)prctl(PR_GET_NAME, comm);
	(void)snprintf(whose, sizeof(whose), "of %s, pid %d", comm, getpid());
	assert_string_equal(name.place, whose);
	names_kernel_data(f->names, f->t.i_es_lock, NULL, &name);
	assert_int_equal(name.object, f->t.ei);
	names_kernel_data(f->names, f->t.hits_lock, NULL, &name);
	assert_int_equal(name.object, f->t.sbi);
}

/* As before 6.13: whose slab it is only the struct page says. */
TEST(objects_without_kfunc)
{
	struct fixture *f = *state;
	bool slabs = f->names->kernel->peek.slabs;

	f->names->kernel->peek.slabs = false;
	check_rows(f);
	f->names->kernel->peek.slabs = slabs;
}

TEST(the_inode)
{
	struct fixture *f = *state;
	char place[64];
	struct name name;
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	names_kernel_data(f->names, f->t.i_rwsem, NULL, &name);
	assert_true(name.inode.known);
	assert_true(name.inode.ext4);
	assert_int_equal(name.inode.ino, st.st_ino);
	assert_int_equal(name.inode.generation, f->t.generation);
	assert_int_equal(name.inode.dev, major(st.st_dev) << 20 | minor(st.st_dev));
	snprintf(place, sizeof(place), "inode %llu on %u:%u", (unsigned long long)st.st_ino,
		 major(st.st_dev), minor(st.st_dev));
	assert_string_equal(name.place, place);
	names_kernel_data(f->names, f->t.hits_lock, NULL, &name);
	assert_false(name.inode.known);
	assert_true(name.inode.ext4);
	assert_int_equal(name.inode.dev, major(st.st_dev) << 20 | minor(st.st_dev));
}

/* Not certain: at most the cache and the offset. */
TEST(never_a_wrong_member)
{
	static const uint64_t nowhere[] = {
		0, 1, 0x7fffffffe000, 0x800000000000, 0xffff800000000000, UINT64_MAX};
	struct fixture *f = *state;
	struct name name;
	size_t i;

	names_kernel_data(f->names, f->t.pipe_mutex, NULL, &name);
	assert_int_equal(name.found, NAME_REGION);
	assert_memory_equal(name.text, "kmalloc-", 8);
	assert_non_null(strstr(name.text, "+0x0"));
	names_kernel_data(f->names, f->t.pipe_head, NULL, &name);
	assert_int_equal(name.found, NAME_REGION);
	names_kernel_data(f->names, f->t.i_orphan, NULL, &name); /* a union of two */
	assert_int_equal(name.found, NAME_OBJECT);
	assert_memory_equal(name.text, "ext4_inode_info+0x", 18);
	names_kernel_data(f->names, f->t.fs_seq, NULL, &name); /* may be merged with others */
	if (name.found == NAME_MEMBER)
		assert_string_equal(name.text, "fs_struct.seq");
	else
		assert_int_equal(name.found, NAME_REGION);
	for (i = 0; i < ROWS(nowhere); i++) {
		char bare[32];

		snprintf(bare, sizeof(bare), "0x%llx", (unsigned long long)nowhere[i]);
		names_kernel_data(f->names, nowhere[i], NULL, &name);
		assert_int_equal(name.found, NAME_NONE);
		assert_string_equal(name.text, bare);
	}
}

/* What a source saw goes before what we find, if the address is in it. */
TEST(hints)
{
	struct fixture *f = *state;
	struct kernel_hint hint = {.object = f->t.pipe_mutex, .type = "pipe_inode_info"};
	struct name name;

	names_kernel_data(f->names, f->t.pipe_mutex, &hint, &name);
	assert_string_equal(name.text, "pipe_inode_info.mutex");
	names_kernel_data(f->names, f->t.mmap_lock, &hint, &name); /* elsewhere */
	assert_string_equal(name.text, "mm_struct.mmap_lock");
	hint.type = "no_such_type";
	names_kernel_data(f->names, f->t.mmap_lock, &hint, &name);
	assert_string_equal(name.text, "mm_struct.mmap_lock");
}

static void check_cpu(struct fixture *f, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	char lock[64], clock[64];
	struct name name;

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(f->skel->progs.find_rq), &opts), 0);
	assert_int_equal(f->skel->bss->truth.cpu, cpu);
	snprintf(lock, sizeof(lock), "percpu runqueues.__lock (cpu %u)", cpu);
	snprintf(clock, sizeof(clock), "percpu runqueues.clock (cpu %u)", cpu);
	names_kernel_data(f->names, f->skel->bss->truth.rq_lock, NULL, &name);
	assert_string_equal(name.text, lock);
	assert_int_equal(name.object, f->skel->bss->truth.rq);
	assert_string_equal(name.type, "rq");
	names_kernel_data(f->names, f->skel->bss->truth.rq_clock, NULL, &name);
	assert_string_equal(name.text, clock);
}

/* The run queue of each CPU, seen from a task that runs there. */
TEST(per_cpu)
{
	struct fixture *f = *state;
	cpu_set_t all, one;
	uint32_t cpu;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		check_cpu(f, cpu);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

/* The kernel tells the number of our page, too. */
TEST(page_number)
{
	struct fixture *f = *state;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0, pfn;
	struct name name;
	char place[64];

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &entry, 8, (off_t)((uintptr_t)f->page / 4096 * 8)), 8);
	close(fd);
	pfn = entry & ((1ULL << 55) - 1);
	assert_true(pfn);
	names_kernel_data(f->names, f->t.page_refcount, NULL, &name);
	snprintf(place, sizeof(place), "pfn 0x%llx", (unsigned long long)pfn);
	assert_string_equal(name.place, place);
	assert_int_equal(name.object, f->t.page);
}

TEST(code)
{
	static const struct {
		const char *name;
		bool lock;
	} functions[] = {
		{"vfs_write", false},
		{"try_to_wake_up", false},
		{"do_sys_openat2", false},
		{"mutex_lock", true},
		{"_raw_spin_lock", true},
		{"down_write", true},
		{"rwsem_down_write_slowpath", true},
	};
	struct fixture *f = *state;
	char text[128];
	struct name name;
	size_t i;

	for (i = 0; i < ROWS(functions); i++) {
		uint64_t ip = symbol(functions[i].name) + 5;

		snprintf(text, sizeof(text), "%s+0x5", functions[i].name);
		names_kernel_code(f->names, ip, &name);
		assert_string_equal(name.text, text);
		assert_string_equal(name.place, "");
		assert_int_equal(names_is_lock_code(f->names, ip), functions[i].lock);
	}
	names_kernel_code(f->names, 0x1234, &name);
	assert_string_equal(name.text, "0x1234");
	assert_int_equal(name.found, NAME_NONE);
	assert_false(names_is_lock_code(f->names, 0x1234));
}

/* The BPF programs of our own fixture come and go like any module. */
TEST(code_of_bpf)
{
	char text[128] = "";
	struct fixture *f = *state;
	unsigned long long addr;
	char line[512], name[100];
	struct name found;
	FILE *file = fopen("/proc/kallsyms", "re");

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %*c %99s", &addr, name) != 2 ||
		    strncmp(name, "bpf_prog_", 9) || !strstr(name, "find_truth"))
			continue;
		snprintf(text, sizeof(text), "%s+0x0", name);
		break;
	}
	if (file)
		fclose(file);
	if (!text[0])
		skip(); /* not compiled: net.core.bpf_jit_enable, bpf_jit_kallsyms */
	names_kernel_code(f->names, addr, &found);
	assert_string_equal(found.text, text);
	assert_string_equal(found.place, "bpf");
	assert_true(names_is_lock_code(f->names, addr));
}

/* The 2012 line. */
TEST(a_line)
{
	struct fixture *f = *state;
	struct name_member m[32];
	size_t i, n = names_members_on_line(f->names, "ext4_sb_info", f->t.sbi, f->t.hits_lock, m,
					    ROWS(m));
	bool lock = false, count = false;
	uint32_t line = (uint32_t)(f->t.hits_lock - f->t.sbi) & ~63u;

	assert_true(n > 1);
	for (i = 0; i < n; i++) {
		assert_true(m[i].offset + m[i].size > line && m[i].offset < line + 64);
		if (!strcmp(m[i].name, "s_es_stats.es_stats_cache_hits.lock"))
			lock = m[i].hot;
		if (!strcmp(m[i].name, "s_es_stats.es_stats_cache_hits.count"))
			count = m[i].hot;
	}
	assert_true(lock && (count || f->t.hits_lock % 64 > 48));
	assert_int_equal(names_members_on_line(f->names, "no_such_type", 0, 0, m, ROWS(m)), 0);
}

TEST(nothing_missing)
{
	struct fixture *f = *state;

	assert_string_equal(names_why(f->names), "");
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP not root\n");
		return 0;
	}
	return unit_main(set_up, tear_down);
}
