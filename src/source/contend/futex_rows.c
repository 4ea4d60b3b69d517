// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of the contended table: what futexes have of their own. */
#include <string.h>

#include "source/contend/futex.h"

static const char *const op_names[ABI_FUTEX_OPS] = {
	[ABI_FUTEX_WAIT] = "wait",
	[ABI_FUTEX_WAIT_BITSET] = "wait_bitset",
	[ABI_FUTEX_LOCK_PI] = "lock_pi",
	[ABI_FUTEX_LOCK_PI2] = "lock_pi2",
	[ABI_FUTEX_TRYLOCK_PI] = "trylock_pi",
	[ABI_FUTEX_WAIT_REQUEUE_PI] = "wait_requeue_pi",
	[ABI_FUTEX_WAIT2] = "futex_wait",
	[ABI_FUTEX_WAITV] = "waitv",
};

static struct futex *futex_of(void *ctx)
{
	return ctx;
}

static const char *kind(uint32_t k)
{
	return "futex";
}

/* The waits of all who share a futex are in one row; and who wakes is in the row of who waits. */
static void join(void *ctx, struct abi_key *key)
{
	struct futex_addr *a = futex_addrs_get(futex_of(ctx)->addrs, key->obj);

	if (key->kind == ABI_FUTEX_WAKERS)
		key->kind =
			a && a->same->flags & ABI_FUTEX_SEEN_IDLE ? ABI_FUTEX_IDLE : ABI_FUTEX_LOCK;
	if (a)
		key->obj = a->same->id;
}

static void told(void *ctx, const struct abi_contend_sample *s)
{
	futex_addrs_told(futex_of(ctx)->addrs, s);
}

static void name(void *ctx, const struct contend_info *i, struct name *out)
{
	struct futex *f = ctx;
	struct futex_addr *a = futex_addrs_get(f->addrs, i->key->obj);

	if (a)
		names_user_data(f->s.names, a->pid, a->uaddr, out);
}

/* ---- call sites ---- */

/* What stands between a lock and who takes it: of dynamically linked programs, the libraries. */
static const char *const libraries[] = {
	"libc.so", "libc-",	"libpthread", "ld-linux", "ld-",
	"ld.so",   "libstdc++", "libc++",     "ld-musl",
};

/* And of all, functions: what is linked in, or instantiated, from there. */
static const char *const wrappers[] = {
	"pthread_",	 "__pthread_",	 "___pthread_", "__lll_", "lll_",	 "futex_",
	"__futex_",	 "sem_",	 "__new_sem_",	"__sem_", "syscall",	 "__syscall",
	"__timedwait",	 "__wait",	 "__lock",	"__GI_",  "std::",	 "__gthread_",
	"<std::",	 "<core::",	 "<alloc::",	"core::", "parking_lot", "<parking_lot",
	"runtime.futex", "runtime.lock",
};

static bool begins_with_any(const char *text, const char *const *table, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strncmp(text, table[i], strlen(table[i])))
			return true;
	return false;
}

static void code(void *ctx, const struct abi_contend_sample *s, uint64_t ip, struct name *out)
{
	names_user_code(futex_of(ctx)->s.names, s->pid, ip, out);
}

/* "libc.so.6`pthread_mutex_lock+0x1a" */
static bool skip(void *ctx, const struct abi_contend_sample *s, uint64_t ip, const struct name *n)
{
	const char *symbol = strchr(n->text, '`');

	if (!symbol)
		return false;
	return begins_with_any(n->text, libraries, sizeof(libraries) / sizeof(libraries[0])) ||
	       begins_with_any(symbol + 1, wrappers, sizeof(wrappers) / sizeof(wrappers[0]));
}

/* ---- counters ---- */

static void fill(void *ctx, const struct contend_info *i, bool total, struct contended *c)
{
	const uint64_t *sums = total ? i->row->sums_total : i->row->sums_interval;
	struct futex *f = futex_of(ctx);
	struct futex_counts *counts = arena_take(&f->arena, sizeof(*counts));
	struct futex_addr *a;

	if (counts) {
		*counts = (struct futex_counts){
			.eagain = sums[ABI_FUTEX_EAGAIN],
			.timeouts = sums[ABI_FUTEX_TIMEOUT],
			.wakes = sums[ABI_FUTEX_WAKES],
			.woken = sums[ABI_FUTEX_WOKEN],
			.idle = i->key->kind == ABI_FUTEX_IDLE,
		};
		c->futex = counts;
	}
	a = c->other ? NULL : futex_addrs_get(f->addrs, i->key->obj);
	if (!a)
		return;
	c->addr = a->uaddr;
	c->pid = a->joined ? 0 : a->pid;
	c->owner = a->comm[0] ? a->comm : NULL;
	c->op = op_names[(a->flags & ABI_FUTEX_OP_MASK) % ABI_FUTEX_OPS];
}

const struct contend_ops futex_rows = {
	.source = "futex",
	.without_waits = true, /* woken, or asked for in vain */
	.kind = kind,
	.join = join,
	.told = told,
	.name = name,
	.code = code,
	.skip = skip,
	.fill = fill,
};
