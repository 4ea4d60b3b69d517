// SPDX-License-Identifier: GPL-2.0-or-later
/* What functions that wait for futexes say of what they wait for. */
#include <string.h>

#include "unit.h"

#include "source/contend/futex.h"

TEST(builtin)
{
	static const struct {
		const char *name;
		enum futex_function is;
	} rows[] = {
		{"libc.so.6`pthread_mutex_lock+0x1a", FUTEX_LOCK},
		{"libc.so.6`__GI___lll_lock_wait+0x2b", FUTEX_LOCK},
		{"libc.so.6`pthread_rwlock_wrlock@GLIBC_2.2.5+0x1a", FUTEX_LOCK},
		{"libc.so.6`pthread_cond_wait@@GLIBC_2.3.2+0x1e8", FUTEX_UNKNOWN}, /* a library's */
		{"libc.so.6`__pthread_clockjoin_ex+0xf0", FUTEX_WORK},
		{"libc.so.6+0x8fbbb", FUTEX_UNKNOWN},
		{"0x7f0012345678", FUTEX_UNKNOWN},
		{"python3.11`PyThread_acquire_lock_timed+0x16f", FUTEX_EITHER},
		{"libpython3.11.so.1.0`take_gil+0xbf", FUTEX_LOCK},
		{"libpython3.11.so.1.0`acquire_timed+0x52", FUTEX_UNKNOWN},
		{"postgres`PGSemaphoreLock+0x20", FUTEX_LOCK},
		{"postgres`PGSemaphoreLockish", FUTEX_UNKNOWN},
		{"libjvm.so`ObjectMonitor::enter+0x1b0", FUTEX_LOCK},
		{"libjvm.so`Parker::park+0xfb", FUTEX_MANY},
		{"libjvm.so`os::PlatformEvent::park", FUTEX_MANY},
		{"app`runtime.notesleep+0x87", FUTEX_WORK},
		{"app`runtime.lock2+0x87", FUTEX_LOCK},
		{"app`my_lock+0x1", FUTEX_UNKNOWN},
		{"app`main", FUTEX_UNKNOWN},
	};
	const struct str_list none = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (futex_function_of(&none, rows[i].name) != rows[i].is)
			fail_msg("%s: %d", rows[i].name, futex_function_of(&none, rows[i].name));
}

/* The user's come first, the last given before the others. */
TEST(own)
{
	char *given[] = {(char *)"lock=my_*", (char *)"work=my_pool",
			 (char *)"either=pthread_mutex_lock"};
	const struct str_list own = {given, 3};

	assert_int_equal(futex_function_of(&own, "app`my_lock+0x1"), FUTEX_LOCK);
	assert_int_equal(futex_function_of(&own, "app`my_pool+0x1"), FUTEX_WORK);
	assert_int_equal(futex_function_of(&own, "app`my_pool"), FUTEX_WORK);
	assert_int_equal(futex_function_of(&own, "libc.so.6`pthread_mutex_lock+0x1a"),
			 FUTEX_EITHER);
	assert_int_equal(futex_function_of(&own, "libc.so.6`pthread_join+0x1a"), FUTEX_WORK);
	assert_int_equal(futex_function_of(&own, "app`your_lock+0x1"), FUTEX_UNKNOWN);
}

TEST(check)
{
	static const char *const good[] = {"lock=a", "work=a*", "either=std::x"};
	static const char *const bad[] = {"", "lock", "lock=", "Lock=a", "idle=a", "=a"};
	struct err e;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(futex_function_check(good[i], &e), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_not_equal(futex_function_check(bad[i], &e), 0);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
