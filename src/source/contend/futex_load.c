// SPDX-License-Identifier: GPL-2.0-or-later
/* The futex source's BPF object: fitted to this kernel and these filters, loaded and attached. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/contend/futex.h"
#include "source/tracefs.h"

#include "futex.skel.h" /* needs abi.h */

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

static struct futex *futex_of(struct contend *c)
{
	return (struct futex *)c;
}

/* ---- which tracepoints ---- */

/* Perf events of the single calls' tracepoints: fds[i] enters, fds[TRACED + i] leaves. */
static int open_events(int fds[2 * TRACED])
{
	int dir = tracefs_events(), ret = 0;
	size_t i;

	for (i = 0; i < 2 * TRACED; i++)
		fds[i] = -1;
	if (dir < 0)
		return dir;
	for (i = 0; !ret && i < TRACED; i++) {
		fds[i] = tracefs_perf_event(dir, "syscalls", traced[i].enter);
		fds[TRACED + i] = tracefs_perf_event(dir, "syscalls", traced[i].exit);
		if (fds[i] >= 0 && fds[TRACED + i] >= 0)
			continue;
		if (traced[i].must || fds[i] >= 0 || fds[TRACED + i] >= 0)
			ret = fds[i] < 0 ? fds[i] : fds[TRACED + i];
	}
	close(dir);
	return ret;
}

static void close_events(int fds[2 * TRACED])
{
	size_t i;

	for (i = 0; i < 2 * TRACED; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

/*
 * Are there tracepoints of single calls, for us? What was opened to see it is what gets attached:
 * at each closing the kernel waits for grace periods, 12 times.
 */
static int choose_events(struct futex *f)
{
	f->events = calloc(2 * TRACED, sizeof(*f->events));
	if (!f->events)
		return -ENOMEM;
	f->raw = open_events(f->events) < 0; /* whatever the reason */
	if (f->raw)
		close_events(f->events);
	return 0;
}

static void choose_programs(struct futex *f, bool raw)
{
	size_t i;

	for (i = 0; i < TRACED; i++) {
		(void)bpf_program__set_autoload(prog_at(f, traced[i].enter_prog), !raw);
		(void)bpf_program__set_autoload(prog_at(f, traced[i].exit_prog), !raw);
	}
	(void)bpf_program__set_autoload(f->skel->progs.ws_sys_enter, raw); /* not loaded yet */
	(void)bpf_program__set_autoload(f->skel->progs.ws_sys_exit, raw);
}

/* ---- load ---- */

struct bpf_object_skeleton *futex_object(struct contend *c, const struct bpf_object_open_opts *opts)
{
	struct futex *f = futex_of(c);

	if (choose_events(f)) {
		errno = ENOMEM;
		return NULL;
	}
	f->skel = futex_bpf__open_opts(opts);
	return f->skel ? f->skel->skeleton : NULL;
}

int futex_configure(struct contend *c, const struct btf *btf, struct err *e)
{
	struct futex *f = futex_of(c);
	struct futex_bpf *skel = f->skel;
	const struct contend_rodata ro = {CONTEND_RODATA(skel)};
	int ret;

	if (f->raw && tracepoint_args(btf, "sys_enter") < 2)
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "futex: no tracefs, and this kernel's BTF has no sys_enter "
			       "tracepoint");
	choose_programs(f, f->raw);
	skel->rodata->have_pt_regs = kernel_gives_pt_regs();
	ret = bpf_map__set_max_entries(skel->maps.addresses, c->cfg->max_keys);
	if (ret)
		return err_sys(e, ret, "futex: map of addresses");
	return contend_setup(c, skel->obj, btf, &ro, e);
}

int futex_loaded(struct contend *c, struct err *e)
{
	struct futex *f = futex_of(c);

	c->base.epoch_word = &f->skel->bss->epoch;
	return futex_addrs_open(&f->addrs, bpf_map__fd(f->skel->maps.addresses), c->cfg->max_keys,
				f->skel->rodata->filter.self_tgid == (uint32_t)getpid(), c->names,
				e);
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
	size_t i;

	f->links = calloc(2 * TRACED, sizeof(struct bpf_link *));
	ret = f->links ? 0 : -ENOMEM;
	for (i = 0; !ret && i < TRACED; i++)
		if (fds[TRACED + i] >= 0)
			ret = attach_event(f, traced[i].exit_prog, &fds[TRACED + i],
					   traced[i].exit);
	for (i = 0; !ret && i < TRACED; i++)
		if (fds[i] >= 0)
			ret = attach_event(f, traced[i].enter_prog, &fds[i], traced[i].enter);
	return ret;
}

int futex_attach(struct contend *c, struct err *e)
{
	struct futex *f = futex_of(c);
	int ret = bpf_source_attach(&c->base, c->skel, e);

	c->flight = f->skel->links.ws_in_flight;
	if (ret || f->raw)
		return ret;
	ret = attach_traced(f);
	return ret ? bpf_fail(e, ret, "futex: attach BPF programs") : 0;
}

void futex_unload(struct contend *c)
{
	struct futex *f = futex_of(c);

	while (f->nlinks)
		bpf_link__destroy(f->links[--f->nlinks]);
	free(f->links);
	f->links = NULL;
	if (f->events)
		close_events(f->events);
	free(f->events);
	f->events = NULL;
	futex_bpf__destroy(f->skel);
	f->skel = NULL;
	futex_addrs_close(f->addrs);
	f->addrs = NULL;
}
