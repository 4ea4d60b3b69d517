// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses of futexes, and when they are forgotten. No kernel: the programs' map is an array here, and
 * the calls that read it are this file's.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi_futex.h"
#include "source/contend/futex.h"
#include "source/sys/bpf_util.h"
#include "unit.h"

#define ROOM 4096
#define MANY 1200 /* enough to make it worth a look what is not used any more */
#define NOBODY (1ULL << 60)

static struct {
	struct abi_futex_key keys[ROOM];
	struct abi_futex_addr values[ROOM];
	uint32_t n, steps; /* entries, and how often the next one was asked for */
} map;

static uint32_t at(const void *key)
{
	uint32_t i;

	for (i = 0; i < map.n; i++)
		if (!memcmp(&map.keys[i], key, sizeof(map.keys[i])))
			break;
	return i;
}

/* As the kernel's: behind a key that is not there it begins anew. */
int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	uint32_t i = key ? at(key) + 1 : 0;

	map.steps++;
	if (i > map.n)
		i = 0;
	if (i == map.n)
		return -ENOENT;
	memcpy(next, &map.keys[i], sizeof(map.keys[i]));
	return 0;
}

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint32_t i = at(key);

	if (i == map.n)
		return -ENOENT;
	memcpy(value, &map.values[i], sizeof(map.values[i]));
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	uint32_t i = at(key);

	if (i == map.n)
		return -ENOENT;
	map.n--;
	memmove(&map.keys[i], &map.keys[i + 1], (map.n - i) * sizeof(map.keys[0]));
	memmove(&map.values[i], &map.values[i + 1], (map.n - i) * sizeof(map.values[0]));
	return 0;
}

/* Nor does the clock go on, or anybody look for names. */
uint64_t mono_now_ns(void)
{
	return 1;
}

void names_note(struct names *n, struct name_process p, uint64_t addr, enum name_what what)
{
}

static void put(uint64_t id, pid_t pid)
{
	map.keys[map.n] = (struct abi_futex_key){.uaddr = 16 * id, .tgid = (uint32_t)pid};
	map.values[map.n] = (struct abi_futex_addr){.id = id, .comm = "who"};
	map.n++;
}

static void put_many(uint64_t from)
{
	for (uint64_t id = from; id < from + MANY; id++)
		put(id, getpid());
}

static void put_shared(uint64_t id, const void *where)
{
	put(id, getpid());
	map.keys[map.n - 1].uaddr = (uintptr_t)where;
	map.values[map.n - 1].flags = ABI_FUTEX_SHARED;
}

static pid_t ended(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static int set_up(void **state)
{
	struct err e = {0};

	memset(&map, 0, sizeof(map));
	return futex_addrs_open((struct futex_addrs **)state, 0, ROOM, true, NULL, &e);
}

static int tear_down(void **state)
{
	futex_addrs_close(*state);
	return 0;
}

static void found(void **state)
{
	const struct futex_addr *a;

	put(7, getpid());
	put(9, 1);
	a = futex_addrs_get(*state, 9);
	assert_non_null(a);
	assert_int_equal(a->uaddr, 144);
	assert_int_equal(a->pid, 1);
	assert_string_equal(a->comm, "who");
	assert_ptr_equal(a->same, a);
	assert_non_null(futex_addrs_get(*state, 7));
	assert_ptr_equal(futex_addrs_get(*state, 9), a);
}

/* However many addresses there are that it does not have. */
static void walked_once(void **state)
{
	put_many(1);
	for (uint64_t id = NOBODY; id < NOBODY + MANY; id++)
		assert_null(futex_addrs_get(*state, id));
	assert_int_equal(map.steps, MANY + 1);
	for (uint64_t id = 1; id <= MANY; id++)
		assert_non_null(futex_addrs_get(*state, id));
	assert_int_equal(map.steps, MANY + 1);
}

static void walked_again(void **state)
{
	put(1, getpid());
	assert_non_null(futex_addrs_get(*state, 1));
	put(2, getpid());
	assert_null(futex_addrs_get(*state, 2));
	futex_addrs_walk_again(*state);
	assert_non_null(futex_addrs_get(*state, 2));
}

/* It makes room in the map, and waits that are read after that are still its own. */
static void left_with_its_process(void **state)
{
	const uint64_t gone = 5000;

	put_many(1);
	put(gone, ended());
	assert_non_null(futex_addrs_get(*state, gone));
	futex_addrs_tidy(*state, NULL, true);
	assert_int_equal(map.n, MANY);
	futex_addrs_walk_again(*state);
	assert_non_null(futex_addrs_get(*state, gone));
	assert_non_null(futex_addrs_get(*state, 1));

	put_many(MANY + 1);
	put_many(2 * MANY + 1); /* so many more that it is worth a look again */
	futex_addrs_walk_again(*state);
	assert_non_null(futex_addrs_get(*state, MANY + 1));
	assert_null(futex_addrs_get(*state, NOBODY));
	futex_addrs_tidy(*state, NULL, true);
	assert_null(futex_addrs_get(*state, gone));
	assert_non_null(futex_addrs_get(*state, 1));
}

/* One futex at two addresses: whose row it is stays, as long as the other is known. */
static void left_of_two(void **state)
{
	const uint64_t first = 5000, second = 5001;
	int fd = memfd_create("futex", MFD_CLOEXEC);
	const struct futex_addr *a;
	void *at[2];

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	for (int i = 0; i < 2; i++) {
		at[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(at[i], MAP_FAILED);
	}
	put_shared(first, at[0]);
	assert_non_null(futex_addrs_get(*state, first));
	map.n = 0;
	put_many(1);
	futex_addrs_walk_again(*state);
	assert_non_null(futex_addrs_get(*state, 1));
	futex_addrs_tidy(*state, NULL, false);

	put_shared(second, at[1]);
	futex_addrs_walk_again(*state);
	a = futex_addrs_get(*state, second);
	assert_non_null(a);
	assert_int_equal(a->same->id, first);
	map.n--;
	put_many(MANY + 1);
	put_many(2 * MANY + 1);
	futex_addrs_walk_again(*state);
	assert_non_null(futex_addrs_get(*state, MANY + 1));
	futex_addrs_tidy(*state, NULL, false);
	a = futex_addrs_get(*state, second);
	assert_non_null(a);
	assert_int_equal(a->same->id, first);
	assert_ptr_equal(futex_addrs_get(*state, first), a->same);
	for (int i = 0; i < 2; i++)
		munmap(at[i], 4096);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(walked_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(walked_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(left_with_its_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(left_of_two, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
