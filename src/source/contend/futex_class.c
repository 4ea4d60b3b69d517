// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Whether a futex stands for a lock or for work to come, by the functions that wait for it. From
 * the innermost one on: a function that serves both (a semaphore, a condition variable) is passed,
 * the first one that is known for a lock or for work decides, and the first unknown one ends the
 * search. The stack has words that earlier calls left behind, so that nothing behind an unknown
 * function is believed.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "source/contend/futex.h"

struct function {
	const char *glob; /* of its name, without parameters */
	enum futex_function is;
};

/*
 * The first that matches counts. FUTEX_MANY: a word of the thread, which it sleeps on whatever it
 * waits for, so that no single wait tells of the others.
 */
static const struct function functions[] = {
	/* glibc and musl */
	{"pthread_mutex_*", FUTEX_LOCK},
	{"__pthread_mutex_*", FUTEX_LOCK},
	{"___pthread_mutex_*", FUTEX_LOCK},
	{"pthread_rwlock_*", FUTEX_LOCK},
	{"__pthread_rwlock_*", FUTEX_LOCK},
	{"___pthread_rwlock_*", FUTEX_LOCK},
	{"*lll_lock_wait*", FUTEX_LOCK},
	{"pthread_join*", FUTEX_WORK},
	{"pthread_timedjoin_np*", FUTEX_WORK},
	{"pthread_clockjoin_np*", FUTEX_WORK},
	{"__pthread_clockjoin_ex*", FUTEX_WORK},
	/* GNU C++, LLVM's, Abseil, Boost */
	{"std::mutex::*", FUTEX_LOCK},
	{"std::timed_mutex::*", FUTEX_LOCK},
	{"std::recursive_mutex::*", FUTEX_LOCK},
	{"std::shared_mutex::*", FUTEX_LOCK},
	{"std::__shared_mutex_pthread::*", FUTEX_LOCK},
	{"std::__future_base::*", FUTEX_WORK},
	{"std::__basic_future<*>::*", FUTEX_WORK},
	{"std::thread::join", FUTEX_WORK},
	{"absl::*Mutex::Lock*", FUTEX_LOCK},
	{"absl::*Mutex::ReaderLock*", FUTEX_LOCK},
	{"boost::asio::detail::scheduler::*run*", FUTEX_WORK},
	/* Rust */
	{"std::sys::*mutex*::*lock*", FUTEX_LOCK},
	{"<std::sys::*mutex*>::*lock*", FUTEX_LOCK},
	{"std::sys::*rwlock*::*contended", FUTEX_LOCK},
	{"<std::sys::*rwlock*>::*contended", FUTEX_LOCK},
	{"*parking_lot::raw_mutex::RawMutex*::lock_slow", FUTEX_LOCK},
	{"*parking_lot::raw_rwlock::RawRwLock*::lock_*", FUTEX_LOCK},
	{"std::thread::*join*", FUTEX_WORK},
	{"std::thread::*park*", FUTEX_MANY},
	{"*tokio::runtime::*park*::Inner*::park*", FUTEX_WORK},
	{"*tokio::runtime::blocking::pool::Inner*::run", FUTEX_WORK},
	{"*rayon_core::sleep::Sleep*::sleep", FUTEX_WORK},
	/* Go: its threads, not its goroutines */
	{"runtime.lock2*", FUTEX_LOCK},
	{"runtime.note*sleep*", FUTEX_WORK},
	{"runtime.futex*", FUTEX_EITHER},
	{"runtime.semasleep*", FUTEX_EITHER},
	/* Python: the lock of the interpreter; its Lock is made of a semaphore, which its Condition
	 * and so its Queue wait for, too */
	{"take_gil*", FUTEX_LOCK},
	{"drop_gil*", FUTEX_LOCK},
	{"PyThread_acquire_lock*", FUTEX_EITHER},
	{"_PyMutex_Lock*", FUTEX_LOCK},
	/* OpenJDK. A thread has one word for its monitors, Object.wait() and sleep(), and one for
	 * all that calls LockSupport.park() */
	{"os::PlatformEvent::park*", FUTEX_MANY},
	{"PlatformEvent::park*", FUTEX_MANY},
	{"Parker::park*", FUTEX_MANY},
	{"PlatformMonitor::wait*", FUTEX_EITHER},
	{"os::PlatformMonitor::wait*", FUTEX_EITHER},
	{"Monitor::wait*", FUTEX_EITHER},
	{"MonitorLocker::wait*", FUTEX_EITHER},
	{"PlatformMutex::lock*", FUTEX_LOCK},
	{"Mutex::lock*", FUTEX_LOCK},
	{"PosixSemaphore::wait*", FUTEX_EITHER},
	{"Semaphore::wait*", FUTEX_EITHER},
	{"ObjectMonitor::enter*", FUTEX_LOCK},
	{"ObjectMonitor::Enter*", FUTEX_LOCK},
	{"ObjectMonitor::ReenterI", FUTEX_LOCK},
	{"CompileQueue::get", FUTEX_WORK},
	{"WatcherThread::sleep", FUTEX_WORK},
	{"ServiceThread::service_thread_entry", FUTEX_WORK},
	{"MonitorDeflationThread::*entry", FUTEX_WORK},
	{"*TaskDispatcher::worker_*", FUTEX_WORK},
	{"VMThread::loop", FUTEX_WORK},
	{"VMThread::wait_for_*", FUTEX_WORK},
	{"VMThread::run", FUTEX_WORK},
	{"G1ConcurrentRefine*::wait_for_*", FUTEX_WORK},
	{"G1ServiceThread::*", FUTEX_WORK},
	{"signal_wait*", FUTEX_WORK},
	{"os::signal_wait", FUTEX_WORK},
	{"JVM_WaitForReferencePendingList*", FUTEX_WORK},
	/* PostgreSQL: its light-weight locks, and groups that wait for one */
	{"PGSemaphoreLock", FUTEX_LOCK},
	/* MariaDB and MySQL */
	{"lock_wait*", FUTEX_LOCK},
	{"MDL_wait::timed_wait", FUTEX_LOCK},
	{"*srw_lock*::*wait*", FUTEX_LOCK},
	{"*srw_mutex*::*wait*", FUTEX_LOCK},
	{"*ssux_lock*::*wait*", FUTEX_LOCK},
	{"wait_for_lock*", FUTEX_LOCK},
	{"*os_event*::wait*", FUTEX_EITHER},
	{"os_event_wait*", FUTEX_EITHER},
	{"safe_cond_*wait", FUTEX_EITHER},
	{"inline_mysql_cond_*wait*", FUTEX_EITHER},
	{"tpool::*::wait_for_tasks*", FUTEX_WORK},
	{"tpool::*timer*::*", FUTEX_WORK},
	/* GLib, libuv, V8, nginx, Redis, RocksDB */
	{"g_mutex_lock*", FUTEX_LOCK},
	{"g_rec_mutex_lock*", FUTEX_LOCK},
	{"g_rw_lock_*", FUTEX_LOCK},
	{"g_cond_wait*", FUTEX_EITHER},
	{"g_async_queue_*pop*", FUTEX_WORK},
	{"uv_mutex_lock", FUTEX_LOCK},
	{"uv_cond_*wait", FUTEX_EITHER},
	{"uv_sem_wait", FUTEX_EITHER},
	{"uv_thread_join", FUTEX_WORK},
	{"v8::base::*Mutex::Lock", FUTEX_LOCK},
	{"v8::base::ConditionVariable::Wait*", FUTEX_EITHER},
	{"v8::base::Semaphore::Wait*", FUTEX_EITHER},
	{"v8::platform::*Queue*::*", FUTEX_WORK},
	{"node::TaskQueue<*>::BlockingPop*", FUTEX_WORK},
	{"node::ConditionVariableBase<*>::Wait*", FUTEX_EITHER},
	{"ngx_thread_cond_wait", FUTEX_EITHER},
	{"ngx_thread_pool_cycle", FUTEX_WORK},
	{"bioProcessBackgroundJobs", FUTEX_WORK},
	{"rocksdb::ThreadPoolImpl::Impl::BGThread*", FUTEX_WORK},
};

static const char *const class_words[] = {
	[FUTEX_LOCK] = "lock",
	[FUTEX_WORK] = "work",
	[FUTEX_EITHER] = "either",
};

#define CLASS_WORDS (sizeof(class_words) / sizeof(class_words[0]))

/* "lock=my_wait" */
static enum futex_function parse(const char *text, const char **glob)
{
	for (size_t i = 0; i < CLASS_WORDS; i++) {
		size_t len = strlen(class_words[i]);

		if (!strncmp(text, class_words[i], len) && text[len] == '=' && text[len + 1]) {
			*glob = text + len + 1;
			return (enum futex_function)i;
		}
	}
	return FUTEX_UNKNOWN;
}

int futex_function_check(const char *text, struct err *e)
{
	const char *glob;

	if (parse(text, &glob) != FUTEX_UNKNOWN)
		return 0;
	return err_set(
		e, EXIT_USAGE, -EINVAL,
		"--function '%s': expected lock=, work= or either= and the name of a function",
		text);
}

/* "app`std::mutex::lock+0x1a": "std::mutex::lock". false: there is no function. */
static bool function_of(const char *text, char *out, size_t len)
{
	const char *at = strchr(text, '`'), *end;

	if (!at)
		return false;
	end = strstr(at, "+0x");
	(void)snprintf(out, len, "%.*s", end ? (int)(end - at - 1) : (int)strlen(at + 1),
		       at + 1); /* cut: it is then not known */
	return true;
}

enum futex_function futex_function_of(const struct str_list *own, const char *text)
{
	char name[NAME_LEN];
	const char *glob;

	if (!function_of(text, name, sizeof(name)))
		return FUTEX_UNKNOWN;
	for (size_t i = own->n; i-- > 0;) {
		enum futex_function is = parse(own->v[i], &glob);

		if (is != FUTEX_UNKNOWN && !fnmatch(glob, name, 0))
			return is;
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!fnmatch(functions[i].glob, name, 0))
			return functions[i].is;
	return FUTEX_UNKNOWN;
}

uint32_t futex_class_of(struct contend *c, const struct abi_contend_sample *s, bool *late)
{
	uint32_t n = s->nips < ABI_CONTEND_IPS ? s->nips : ABI_CONTEND_IPS;

	*late = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct code *code = codes_get(c, s, s->ips[i]);

		if (!code)
			return 0;
		switch ((enum futex_function)code->function) {
		case FUTEX_LOCK:
			return ABI_FUTEX_LOCKS;
		case FUTEX_WORK:
			return ABI_FUTEX_WORKS;
		case FUTEX_EITHER:
			continue;
		case FUTEX_UNKNOWN:
			*late = code->late;
			return 0;
		case FUTEX_MANY:
			return ABI_FUTEX_MANYS;
		}
	}
	return 0;
}
