// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for futexes: the user-space side of locks, condition variables and the like. */
#include <linux/capability.h>
#include <string.h>

#include "source/contend/futex.h"

_Static_assert(METRIC_FUTEX_IDLE - METRIC_FUTEX_WAIT == ABI_FUTEX_HISTS - 1, "as in abi_futex.h");

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

static struct futex *futex_of(struct contend *c)
{
	return (struct futex *)c;
}

static const char *kind(uint32_t k)
{
	return "futex";
}

/* The waits of all who share a futex are in one row; and who wakes is in the row of who waits. */
static void join(struct contend *c, struct abi_key *key)
{
	struct futex_addr *a = futex_addrs_get(futex_of(c)->addrs, key->obj);

	if (key->kind == ABI_FUTEX_WAKERS)
		key->kind =
			a && a->same->flags & ABI_FUTEX_SEEN_IDLE ? ABI_FUTEX_IDLE : ABI_FUTEX_LOCK;
	if (a)
		key->obj = a->same->id;
}

static void described(struct contend *c, const struct abi_contend_sample *s)
{
	futex_addrs_described(futex_of(c)->addrs, s);
}

static void name(struct contend *c, const struct contend_row *r, struct name *out)
{
	struct futex *f = futex_of(c);
	struct futex_addr *a = futex_addrs_get(f->addrs, r->keyed.key.obj);

	if (a)
		names_user_data(c->names, a->pid, a->uaddr, out);
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

static void code(struct contend *c, const struct abi_contend_sample *s, uint64_t ip,
		 struct name *out)
{
	names_user_code(c->names, s->pid, ip, out);
}

/*
 * "libc.so.6`pthread_mutex_lock+0x1a", or "libc.so.6+0x8fbbb": what waits in the C library is not
 * among its dynamic symbols since glibc 2.41.
 */
static bool skip(struct contend *c, uint64_t ip, const struct name *n)
{
	const char *symbol = strchr(n->text, '`');

	return begins_with_any(n->text, libraries, sizeof(libraries) / sizeof(libraries[0])) ||
	       (symbol &&
		begins_with_any(symbol + 1, wrappers, sizeof(wrappers) / sizeof(wrappers[0])));
}

/* ---- counters ---- */

static void fill(struct contend *c, const struct contend_row *r, bool total, struct contended *out)
{
	const uint64_t *sums = total ? r->keyed.sums_total : r->keyed.sums_interval;
	struct futex *f = futex_of(c);
	struct futex_counts *counts = arena_take(&c->arena, sizeof(*counts));
	struct futex_addr *a;

	if (counts) {
		*counts = (struct futex_counts){
			.eagain = sums[ABI_FUTEX_EAGAIN],
			.timeouts = sums[ABI_FUTEX_TIMEOUT],
			.wakes = sums[ABI_FUTEX_WAKES],
			.woken = sums[ABI_FUTEX_WOKEN],
			.idle = r->keyed.key.kind == ABI_FUTEX_IDLE,
		};
		out->futex = counts;
	}
	a = out->other ? NULL : futex_addrs_get(f->addrs, r->keyed.key.obj);
	if (!a)
		return;
	out->addr = a->uaddr;
	out->pid = a->joined ? 0 : a->pid;
	out->owner = a->comm[0] ? a->comm : NULL;
	out->op = op_names[(a->flags & ABI_FUTEX_OP_MASK) % ABI_FUTEX_OPS];
}

/* ---- the source ---- */

static const struct contend_ops futex_ops = {
	.source = &source_futex,
	.size = sizeof(struct futex),
	.metrics = &metric_list[METRIC_FUTEX_WAIT],
	.nmetrics = ABI_FUTEX_HISTS,
	.others = ABI_FUTEX_KINDS,
	.ring_bytes = 64U << 10, /* each new address is described at once */
	.unheld = 1U << ABI_FUTEX_IDLE,
	.without_waits = true, /* woken, or asked for in vain */
	.object = futex_object,
	.configure = futex_configure,
	.loaded = futex_loaded,
	.attach = futex_attach,
	.unload = futex_unload,
	.kind = kind,
	.join = join,
	.described = described,
	.name = name,
	.code = code,
	.skip = skip,
	.fill = fill,
};

static int futex_open(struct source **out, const struct source_args *args, struct err *e)
{
	return contend_open(out, args, &futex_ops, e);
}

static int futex_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct futex *f = (struct futex *)src;
	int ret = contend_collect(src, r, e);

	futex_addrs_tidy(f->addrs, keyed_first(f->c.keyed), f->c.banks.counts.interval.keys_full);
	return ret;
}

const struct source_ops source_futex = {
	.name = "futex",
	.summary = "waits in user-space locks and condition variables, by address",
	.options = contend_options,
	/* The mappings and files of processes; from 6.12 on perfmon does for the first. */
	.caps = SOURCE_CAP(CAP_PERFMON) | SOURCE_CAP(CAP_SYS_PTRACE) |
		SOURCE_CAP(CAP_DAC_READ_SEARCH),
	.metrics = SOURCE_METRICS(METRIC_FUTEX_WAIT, METRIC_FUTEX_IDLE),
	.groups = true,
	.contends = true,
	.slow = true,
	.why = true,
	.probe = bpf_probe,
	.open = futex_open,
	.start = contend_start,
	.next_epoch = bpf_source_next_epoch,
	.drain_banks = contend_drain_banks,
	.collect = futex_collect,
	.stop = bpf_source_stop,
	.event_fd = bpf_source_event_fd,
	.drain = contend_drain,
	.cost_begin = contend_cost_begin,
	.cost_end = contend_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.close = contend_close,
};
