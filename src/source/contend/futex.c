// SPDX-License-Identifier: GPL-2.0-or-later
/* Waits for futexes: the user-space side of locks, condition variables and the like. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/contend/futex.h"
#include "source/sys/fd_keeper.h"
#include "source/sys/programs_32.h"
#include "source/sys/tracefs.h"

#include "futex.skel.h" /* needs abi.h */

_Static_assert(METRIC_FUTEX_IDLE - METRIC_FUTEX_WAIT == ABI_FUTEX_WORK - ABI_FUTEX_LOCK &&
		       METRIC_FUTEX_UNSURE - METRIC_FUTEX_WAIT == ABI_FUTEX_HISTS - 1,
	       "as in abi_futex.h");

#define TRIES_MAX 30 /* to name the functions of an address's first wait, one a report */

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

struct futex {
	struct contend c;
	struct futex_bpf *skel;
	struct futex_addrs *addrs;
	bool raw; /* the tracepoints of all calls, not those of single ones */
	/* the tracepoints of single calls, and those of all calls for 32-bit programs */
	bool with_32;
	bool late_32;	  /* an untraced 32-bit program ran when the interval began */
	uint64_t carried; /* reports in which late_32 added one to quality.untraced */
	int events_dir;	  /* of tracefs, from load to attach; -1: none */
	int *events;	  /* of single calls' tracepoints, from load to attach; -1: none */
	struct bpf_link **links;
	size_t nlinks;
	struct fd_keeper keeper; /* of what takes long to close */
};

static struct futex *futex_of(struct contend *c)
{
	return (struct futex *)c;
}

static const char *kind(uint32_t k)
{
	return "futex";
}

/*
 * The class that an address's waits have whose value did not say: by its functions, or not known.
 */
static uint32_t address_kind(const struct futex_addr *a)
{
	switch (a->same->flags & (ABI_FUTEX_LOCKS | ABI_FUTEX_WORKS)) {
	case ABI_FUTEX_LOCKS:
		return ABI_FUTEX_LOCK;
	case ABI_FUTEX_WORKS:
		return ABI_FUTEX_WORK;
	default: /* or of two processes one says this, and one that */
		return ABI_FUTEX_UNSURE;
	}
}

/* The waits of all who share a futex are in one row; and who wakes is in the row of who waits. */
static void join(struct contend *c, struct abi_key *key)
{
	struct futex_addr *a = futex_addrs_get(futex_of(c)->addrs, key->obj);

	if (key->kind == ABI_FUTEX_WAKERS && !(a && a->same->flags & ABI_FUTEX_SEEN_UNSURE))
		key->kind = ABI_FUTEX_LOCK;
	if (a && (key->kind == ABI_FUTEX_WAKERS || key->kind == ABI_FUTEX_UNSURE))
		key->kind = address_kind(a);
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
		names_user_data(c->names, (struct name_process){a->pid, a->space}, a->uaddr, out);
}

/* Who holds a lock is of a process that has it, too. */
static uint64_t space(struct contend *c, const struct abi_contend_sample *s)
{
	struct futex_addr *a = s->space ? NULL : futex_addrs_get(futex_of(c)->addrs, s->key.obj);

	return a && a->pid == s->pid ? a->space : s->space;
}

/* ---- call sites ---- */

/* What stands between a lock and who takes it: of dynamically linked programs, the libraries. */
static const char *const libraries[] = {
	"libc.so", "libc-",	"libpthread", "ld-linux", "ld-",
	"ld.so",   "libstdc++", "libc++",     "ld-musl",
};

/* And of all, functions: what is linked in, or instantiated, from there. */
static const char *const wrappers[] = {
	"pthread_",
	"__pthread_",
	"___pthread_",
	"__lll_",
	"lll_",
	"futex_",
	"__futex_",
	"sem_",
	"__new_sem_",
	"__sem_",
	"syscall",
	"__syscall",
	"__timedwait",
	"__wait",
	"__lock",
	"__GI_",
	"std::",
	"__gthread_",
	"<std::",
	"<core::",
	"<alloc::",
	"core::",
	"parking_lot",
	"<parking_lot",
	"runtime.futex",
	"runtime.lock",
	"runtime.note",
	"os::PlatformEvent::park",
	"PlatformEvent::park",
	"Parker::park",
	"os::PlatformMonitor::wait",
	"PlatformMonitor::wait",
};

static bool begins_with_any(const char *text, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(text, table[i], strlen(table[i])))
			return true;
	return false;
}

/* Those that run what a thread is given, which a compiler may have put into them. */
static const char *const starters[] = {
	"std::sys::backtrace::__rust_begin_short_backtrace",
	"std::sys_common::backtrace::__rust_begin_short_backtrace",
	"std::thread::_State_impl<",
};

/* A stack has addresses that calls return to, and first where the system call does. */
static void code(struct contend *c, const struct abi_contend_sample *s, uint64_t ip, uint32_t frame,
		 struct name *out)
{
	names_user_code(c->names, (struct name_process){s->pid, space(c, s)}, ip, NAME_CALL, frame,
			out);
}

#define BEGINS_WITH_ANY(text, table) \
	begins_with_any(text, table, sizeof(table) / sizeof((table)[0]))

/*
 * "libc.so.6`pthread_mutex_lock+0x1a", or "libc.so.6+0x8fbbb": what waits in the C library is not
 * among its dynamic symbols since glibc 2.41.
 */
static enum code_role role(struct contend *c, uint64_t ip, const struct name *n)
{
	const char *symbol = strchr(n->text, '`');

	if (BEGINS_WITH_ANY(n->text, libraries))
		return CODE_LIBRARY;
	if (symbol && BEGINS_WITH_ANY(symbol + 1, wrappers) &&
	    !BEGINS_WITH_ANY(symbol + 1, starters))
		return CODE_LOCKS;
	return CODE_ASKS;
}

/* ---- its class ---- */

static uint8_t function(struct contend *c, const struct name *n)
{
	enum futex_function is = futex_function_of(&c->cfg->functions, n->text);

	return is == FUTEX_UNKNOWN && role(c, 0, n) != CODE_ASKS ? FUTEX_EITHER : (uint8_t)is;
}

/* A Go program's threads wait in its runtime. */
static bool is_go(struct contend *c, const struct abi_contend_sample *s)
{
	const struct code *code = s->nips ? codes_get(c, s, s->ips[0]) : NULL;
	const char *symbol = code ? strchr(code->sym, '`') : NULL;

	return symbol && !strncmp(symbol + 1, "runtime.futex", strlen("runtime.futex"));
}

static void decide_address(struct contend *c, struct futex_addr *a,
			   const struct abi_contend_sample *s)
{
	bool late, kept = s == a->undecided;
	uint32_t class = futex_class_of(c, s, &late);

	a->go |= is_go(c, s);
	if (class)
		futex_addrs_decide(futex_of(c)->addrs, a, class);
	else if (late && a->tries++ < TRIES_MAX)
		futex_addr_undecided(futex_of(c)->addrs, a, s);
	else
		late = false;
	if (kept && (class || !late))
		futex_addr_undecided(futex_of(c)->addrs, a, NULL);
}

static void decide(struct contend *c, const struct abi_contend_sample *s)
{
	struct futex_addr *a = s->nips ? futex_addrs_get(futex_of(c)->addrs, s->key.obj) : NULL;

	if (a && !(a->same->flags & (ABI_FUTEX_LOCKS | ABI_FUTEX_WORKS | ABI_FUTEX_MANYS)))
		decide_address(c, a, s);
}

static void decide_later(void *ctx, struct futex_addr *a)
{
	decide_address(ctx, a, a->undecided);
}

static const char *class_word(uint32_t kind)
{
	return wait_class_words[kind == ABI_FUTEX_LOCK	 ? CLASS_LOCK
				: kind == ABI_FUTEX_WORK ? CLASS_WORK
							 : CLASS_UNSURE];
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
			.idle = r->keyed.key.kind == ABI_FUTEX_WORK,
		};
		out->futex = counts;
	}
	a = out->other ? NULL : futex_addrs_get(f->addrs, r->keyed.key.obj);
	if (!a)
		return;
	out->addr = a->uaddr;
	out->pid = a->joined ? 0 : a->pid;
	out->owner = a->comm[0] ? a->comm : NULL;
	out->runtime = a->go ? "go" : NULL;
	out->op = op_names[(a->flags & ABI_FUTEX_OP_MASK) % ABI_FUTEX_OPS];
}

/* ---- the BPF object: fitted to this kernel and these filters, loaded and attached ---- */

/* A call that is traced by itself. Kernels have those that they know. */
struct traced {
	const char *enter, *exit;     /* in tracefs, below syscalls */
	size_t enter_prog, exit_prog; /* offsets in progs */
	bool must;
};

#define PROG(name) offsetof(struct futex_bpf, progs.name)

static const struct traced traced[] = {
	{"sys_enter_futex", "sys_exit_futex", PROG(ws_futex), PROG(ws_futex_exit), true},
	{"sys_enter_restart_syscall", "sys_exit_restart_syscall", PROG(ws_restart),
	 PROG(ws_restart_exit), false},
	{"sys_enter_futex_waitv", "sys_exit_futex_waitv", PROG(ws_futex_waitv), PROG(ws_futex_exit),
	 false},
	{"sys_enter_futex_wait", "sys_exit_futex_wait", PROG(ws_futex_wait), PROG(ws_futex_exit),
	 false},
	{"sys_enter_futex_wake", "sys_exit_futex_wake", PROG(ws_futex_wake), PROG(ws_futex_exit),
	 false},
	{"sys_enter_futex_requeue", "sys_exit_futex_requeue", PROG(ws_futex_requeue),
	 PROG(ws_futex_exit), false},
};

#define TRACED (sizeof(traced) / sizeof(traced[0]))

static struct bpf_program *prog_at(const struct futex *f, size_t offset)
{
	return *(struct bpf_program **)((char *)f->skel + offset);
}

/* ---- which tracepoints ---- */

/*
 * Opens perf events of the single calls' tracepoints: events[i] enters, events[TRACED + i] leaves.
 */
static int open_events(struct futex *f)
{
	int *fds = f->events, dir = tracefs_events();

	f->events_dir = dir;
	if (dir < 0)
		return dir;
	for (size_t i = 0; i < TRACED; i++) {
		fds[i] = tracefs_perf_event(dir, "syscalls", traced[i].enter);
		fds[TRACED + i] = tracefs_perf_event(dir, "syscalls", traced[i].exit);
		if (fds[i] >= 0 && fds[TRACED + i] >= 0)
			continue;
		if (traced[i].must || fds[i] >= 0 || fds[TRACED + i] >= 0)
			return fds[i] < 0 ? fds[i] : fds[TRACED + i];
	}
	return 0;
}

/*
 * Are there tracepoints of single calls, for us? What was opened to see it is what gets attached,
 * as the kernel waits for grace periods at each closing.
 */
static int choose_events(struct futex *f)
{
	f->events = malloc(2 * TRACED * sizeof(*f->events));
	if (!f->events)
		return -ENOMEM;
	for (size_t i = 0; i < 2 * TRACED; i++)
		f->events[i] = -1;
	f->raw = open_events(f) < 0; /* whatever the reason */
	return 0;
}

/*
 * Closes what is open beside the links. A keeper has copies of it and of the links by then, so that
 * neither this nor the end of the links waits. Without a keeper they do.
 */
static void close_events(struct futex *f)
{
	int fds[4 * TRACED + 1];
	size_t i, n = 0;

	if (!f->events)
		return;
	if (f->events_dir >= 0)
		fds[n++] = f->events_dir;
	for (i = 0; i < 2 * TRACED; i++)
		if (f->events[i] >= 0)
			fds[n++] = f->events[i];
	for (i = 0; i < f->nlinks; i++)
		fds[n++] = bpf_link__fd(f->links[i]);
	if (n)
		(void)fd_keeper_start(&f->keeper, fds, n);
	for (i = 0; i < n - f->nlinks; i++)
		close(fds[i]);
	free(f->events);
	f->events = NULL;
}

static void choose_programs(struct futex *f)
{
	for (size_t i = 0; i < TRACED; i++) {
		(void)bpf_program__set_autoload(prog_at(f, traced[i].enter_prog), !f->raw);
		(void)bpf_program__set_autoload(prog_at(f, traced[i].exit_prog), !f->raw);
	}
	(void)bpf_program__set_autoload(f->skel->progs.ws_sys_enter, f->raw || f->with_32);
	(void)bpf_program__set_autoload(f->skel->progs.ws_sys_exit, f->raw || f->with_32);
	(void)bpf_program__set_autoload(f->skel->progs.ws_exec_32, !f->raw && !f->with_32);
}

/* ---- load ---- */

static int configure(struct contend *c, const struct bpf_object_open_opts *opts,
		     const struct btf *btf, struct err *e)
{
	struct futex *f = futex_of(c);
	struct futex_bpf *skel;
	struct contend_rodata ro;
	int ret = choose_events(f);

	skel = ret ? NULL : futex_bpf__open_opts(opts);
	f->skel = skel;
	if (!skel)
		return err_sys(e, ret ? ret : -errno, "futex: open BPF object");
	c->skel = skel->skeleton;
	if (f->raw && tracepoint_args(btf, "sys_enter") < 2)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "futex: no tracefs, and this kernel's BTF has no sys_enter "
			       "tracepoint");
	f->with_32 = !f->raw && tracepoint_args(btf, "sys_enter") >= 2 &&
		     programs_32_bit(c->cfg->command);
	choose_programs(f);
	skel->rodata->only_32 = f->with_32;
	skel->rodata->have_pt_regs = kernel_gives_pt_regs();
	ret = bpf_map__set_max_entries(skel->maps.addresses, c->cfg->max_keys);
	if (ret)
		return err_sys(e, ret, "futex: map of addresses");
	ro = (struct contend_rodata){CONTEND_RODATA(skel)};
	return contend_setup(c, skel->obj, btf, &ro, e);
}

/* ---- attach ---- */

/* The event then belongs to the link. */
static int attach_event(struct futex *f, size_t prog, int *fd, const char *name)
{
	struct bpf_link *link = bpf_program__attach_perf_event(prog_at(f, prog), *fd);

	if (!link)
		return -errno;
	*fd = -1;
	f->links[f->nlinks++] = link;
	return bpf_source_add_hook(&f->c.base, name);
}

/* What leaves first, so that no call is seen to enter only. */
static int attach_traced(struct futex *f)
{
	int *fds = f->events, ret;

	f->links = calloc(2 * TRACED, sizeof(struct bpf_link *));
	ret = f->links ? 0 : -ENOMEM;
	for (size_t i = 0; !ret && i < TRACED; i++)
		if (fds[TRACED + i] >= 0)
			ret = attach_event(f, traced[i].exit_prog, &fds[TRACED + i],
					   traced[i].exit);
	for (size_t i = 0; !ret && i < TRACED; i++)
		if (fds[i] >= 0)
			ret = attach_event(f, traced[i].enter_prog, &fds[i], traced[i].enter);
	return ret;
}

static int attach(struct contend *c, struct err *e)
{
	struct futex *f = futex_of(c);
	bool procfs = f->skel->rodata->filter.self_tgid == (uint32_t)getpid();
	int ret = futex_addrs_open(&f->addrs, bpf_map__fd(f->skel->maps.addresses),
				   c->cfg->max_keys, procfs, c->names, e);

	if (ret)
		return ret;
	c->base.epoch_word = &f->skel->bss->epoch;
	ret = bpf_source_attach(&c->base, c->skel, e);
	c->flight = f->skel->links.ws_in_flight;
	if (ret)
		return ret;
	ret = f->raw ? 0 : attach_traced(f);
	close_events(f);
	return ret ? bpf_fail(e, ret, "futex: attach BPF programs") : 0;
}

/* ---- detach ---- */

static void detach(struct futex *f)
{
	while (f->nlinks)
		(void)bpf_link__destroy(f->links[--f->nlinks]); /* nothing to do about a failure */
	fd_keeper_end(&f->keeper);
}

/* Programs do nothing from here on, attached or not: the kernel detaches them beside the last
 * report. */
static int futex_stop(struct source *src, struct err *e)
{
	struct futex *f = (struct futex *)src;
	int ret = bpf_source_stop(src, e);

	if (f->keeper.pid)
		detach(f);
	return ret;
}

static void unload(struct contend *c)
{
	struct futex *f = futex_of(c);

	close_events(f);
	detach(f);
	free(f->links);
	futex_bpf__destroy(f->skel);
	futex_addrs_close(f->addrs);
}

/* ---- the source ---- */

static const struct contend_ops futex_ops = {
	.source = &source_futex,
	.size = sizeof(struct futex),
	.metrics = &metric_list[METRIC_FUTEX_WAIT],
	.nmetrics = ABI_FUTEX_HISTS,
	.others = ABI_FUTEX_KINDS,
	.ring_bytes = 64U << 10, /* each new address is described at once */
	.unheld = 1U << ABI_FUTEX_WORK,
	.unsure = 1U << ABI_FUTEX_UNSURE,
	.without_waits = true, /* woken, or asked for in vain */
	.configure = configure,
	.attach = attach,
	.unload = unload,
	.kind = kind,
	.class = class_word,
	.join = join,
	.decide = decide,
	.described = described,
	.name = name,
	.space = space,
	.code = code,
	.role = role,
	.function = function,
	.fill = fill,
};

static int futex_open(struct source **out, const struct source_args *args, struct err *e)
{
	return contend_open(out, args, &futex_ops, e);
}

/*
 * What is known by now of addresses whose functions had no names in time: before entries are read.
 */
static void begin_reading(struct futex *f)
{
	futex_addrs_walk_again(f->addrs);
	futex_addrs_each_undecided(f->addrs, decide_later, &f->c);
}

static int futex_drain_banks(struct source *src, struct err *e)
{
	begin_reading((struct futex *)src);
	return contend_drain_banks(src, e);
}

/* A 32-bit program may have begun after the programs were chosen and before ws_exec_32 counted: its
 * calls are not traced either. */
static int futex_start(struct source *src, struct err *e)
{
	struct futex *f = (struct futex *)src;
	int ret = contend_start(src, e);

	f->late_32 = !f->raw && !f->with_32 && programs_32_bit(NULL);
	f->carried = 0; /* after a warm-up */
	return ret;
}

/* While an untraced 32-bit program runs its waits are missing from each report, not only from the
 * one in which it began. */
static void carry_untraced(struct futex *f, struct source_report *r)
{
	bool began = r->quality_interval.untraced > 0;

	if (f->late_32 && !began) {
		r->quality_interval.untraced++;
		f->carried++;
	}
	f->late_32 = (began || f->late_32) && programs_32_bit(NULL);
	r->quality_total.untraced += f->carried;
}

static int futex_collect(struct source *src, struct source_report *r, struct err *e)
{
	struct futex *f = (struct futex *)src;
	int ret;

	begin_reading(f);
	ret = contend_collect(src, r, e);
	carry_untraced(f, r);
	futex_addrs_tidy(f->addrs, keyed_first(f->c.keyed), f->c.banks.counts.interval.keys_full);
	return ret;
}

static const struct option_row options[] = {
	CONTEND_STACK_EVERY,
	{"function", 0, "CLASS=NAME",
	 "this function waits for a lock (lock=), for work (work=), or its caller says (either=)",
	 OPTION_TEXTS, .at = offsetof(struct config, functions), .check = futex_function_check,
	 .repeat = true},
	{0},
};

const struct source_ops source_futex = {
	.name = "futex",
	.summary = "waits in user-space locks and condition variables, by address",
	.options = options,
	/* The mappings and files of processes; from 6.12 on perfmon does for the first. */
	.caps = SOURCE_CAP(CAP_PERFMON) | SOURCE_CAP(CAP_SYS_PTRACE) |
		SOURCE_CAP(CAP_DAC_READ_SEARCH),
	.fds = 100,
	.fds_why = 40,
	.metrics = SOURCE_METRICS(METRIC_FUTEX_WAIT, METRIC_FUTEX_UNSURE),
	.groups = true,
	.contends = true,
	.slow = true,
	.why = true,
	.probe = bpf_probe,
	.open = futex_open,
	.start = futex_start,
	.next_epoch = bpf_source_next_epoch,
	.drain_banks = futex_drain_banks,
	.collect = futex_collect,
	.stop = futex_stop,
	.event_fd = bpf_source_event_fd,
	.drain = contend_drain,
	.cost_begin = contend_cost_begin,
	.cost_end = contend_cost_end,
	.target_alive = bpf_source_target_alive,
	.hooks = bpf_source_hooks,
	.close = contend_close,
};
