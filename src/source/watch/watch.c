// SPDX-License-Identifier: GPL-2.0-or-later
/* The watch source: every access to the addresses that --watch names; its life cycle. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "insn/insn.h"
#include "source/sys/cpus.h"
#include "source/sys/map_setup.h"
#include "source/watch/watch.h"

#include "watch.skel.h" /* needs abi_watch.h */

#define FOREIGN_FACTOR 10 /* traps of others that are borne, for each that is wanted */

static struct watch_source *watch_of(struct source *src)
{
	return (struct watch_source *)src;
}

static int watch_probe(struct err *e)
{
#ifndef __x86_64__
	return err_set(
		e, EXIT_CANNOT, -ENOTSUP,
		"watch: this machine's breakpoints come before the access and would be taken "
		"again and again");
#endif
	if (!insn_available())
		return err_set(e, EXIT_CANNOT, -ENOTSUP,
			       "watch: this build has no decoder of this machine's instructions "
			       "(it was built without Zydis)");
	return bpf_probe(e);
}

const struct abi_watch_counts *watch_counts(const struct watch_source *w)
{
	return w->counts.at;
}

static int configure(struct watch_source *w, struct err *e)
{
	struct watch_bpf *skel = w->skel;
	int ret;

	skel->rodata->hits_max = w->cfg->confirm;
	skel->rodata->foreign_max = w->cfg->confirm * FOREIGN_FACTOR;
	skel->bss->user_tgid = w->user_pid;
	ret = map_setup_banks(skel->obj, w->m.ncpus, sizeof(struct abi_counts));
	if (!ret)
		ret = map_setup_preallocate(skel->maps.target_ids);
	if (ret)
		return err_sys(e, ret, "watch: configure");
	return filters_setup(&w->base.filters, skel->obj,
			     (struct abi_filter *)&skel->rodata->filter, e);
}

static int load(struct watch_source *w, struct err *e)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = w->cfg->btf);
	int ret;

	w->skel = watch_bpf__open_opts(&opts);
	ret = w->skel ? configure(w, e) : err_sys(e, -errno, "watch: open BPF object");
	if (ret)
		return ret;
	ret = bpf_source_load(&w->base, w->skel->skeleton, e);
	if (ret)
		return ret;
	w->base.epoch_word = &w->skel->bss->epoch;
	ret = filters_fill(&w->base.filters, w->skel->obj, e);
	/* those of follow.bpf.h */
	return ret ? ret : bpf_source_attach(&w->base, w->skel->skeleton, e);
}

static int open_table(struct watch_source *w, uint32_t ncpus)
{
	size_t words = (ncpus + 63) / 64;

	for (int v = 0; v < LINE_VIEWS; v++) {
		w->none.cores[v] = calloc(words, sizeof(uint64_t));
		w->none.cpus[v] = calloc(words, sizeof(uint64_t));
		if (!w->none.cores[v] || !w->none.cpus[v])
			return -ENOMEM;
	}
	return line_model_open(&w->m, ncpus);
}

static int open_all(struct watch_source *w, struct err *e)
{
	int ret = possible_cpus(e);

	if (ret < 0)
		return ret;
	ret = open_table(w, (uint32_t)ret);
	if (ret)
		return err_sys(e, ret, "watch");
	ret = filters_open(&w->base.filters, &w->args, w->m.ncpus, false, e);
	if (!ret && !w->m.lent)
		ret = line_model_names(&w->m, w->args.names, e);
	if (!ret && !w->m.lent)
		ret = watch_resolve(w, e);
	if (!ret)
		ret = load(w, e);
	if (!ret)
		ret = mapped_open(&w->counts, bpf_map__fd(w->skel->maps.watch_counts),
				  sizeof(struct abi_watch_counts), "watch: map the counters", e);
	if (!ret)
		ret = watch_hits_open(w, e);
	if (!ret)
		ret = bpf_source_poll(&w->base, bpf_map__fd(w->skel->maps.hits), e);
	if (!ret && !w->brief)
		ret = watch_events_open(w, e);
	return ret ? ret : filters_follow(&w->base.filters, e);
}

void watch_close(struct source *src)
{
	struct watch_source *w = watch_of(src);

	if (!w)
		return;
	watch_events_close(w);
	watch_hits_close(w);
	mapped_close(&w->counts);
	watch_bpf__destroy(w->skel);
	line_model_close(&w->m);
	for (int v = 0; v < LINE_VIEWS; v++) {
		free(w->none.cores[v]);
		free(w->none.cpus[v]);
	}
	bpf_source_close(&w->base);
	free(w->cpus);
	free(w);
}

/* --check tries it on a variable of our own, where none was given. */
static void watch_own(struct watch_source *w)
{
	struct watch_own *own = &w->own;

	(void)snprintf(own->text, sizeof(own->text), "%p", (void *)&own->variable); /* fits */
	own->list[0] = own->text;
	own->pid = (uint32_t)getpid();
	own->cfg = *w->cfg;
	own->cfg.watches = (struct str_list){own->list, 1};
	own->cfg.filter.pids = (struct u32_list){&own->pid, 1};
	own->cfg.filter.follow = false;
	w->cfg = w->args.cfg = &own->cfg;
}

static struct watch_source *watch_new(const struct source_args *args)
{
	struct watch_source *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	bpf_source_init(&w->base, &source_watch);
	w->args = *args;
	w->cfg = args->cfg;
	if (args->cfg->check && !args->cfg->watches.n)
		watch_own(w);
	return w;
}

static int watch_open(struct source **out, const struct source_args *args, struct err *e)
{
	struct watch_source *w = watch_new(args);

	if (!w)
		return err_sys(e, -ENOMEM, "watch");
	*out = &w->base.source;
	return open_all(w, e);
}

int watch_open_line(struct watch_source **out, const struct source_args *args,
		    const struct line_model *lender, const struct line_key *line,
		    const struct watch_slot *slots, size_t n, struct err *e)
{
	struct watch_source *w = watch_new(args);
	int ret;

	if (!w)
		return err_sys(e, -ENOMEM, "watch");
	line_model_lend(&w->m, lender);
	w->user_pid = line->tgid;
	memcpy(w->slots, slots, n * sizeof(*slots));
	w->nslots = n;
	w->lines[0] = (struct watch_line){.key = *line, .addr = slots[0].addr};
	w->nlines = 1;
	ret = open_all(w, e);
	if (ret) {
		watch_close(&w->base.source);
		return ret;
	}
	*out = w;
	return 0;
}

/* ---- short watches ---- */

#define BRIEF_TRAPS 64	     /* of one register on one CPU, before the kernel stops it */
#define BRIEF_HITS 1000000   /* in all: what bounds it is the time */
#define BRIEF_ENOUGH 48	     /* hits, to end early */
#define BRIEF_STEP_NS 50000L /* of sleep */
#define BRIEF_CPUS 8	     /* at most; of a machine with no more, all */

int watch_open_brief(struct watch_source **out, const struct source_args *args,
		     const struct line_model *lender, struct err *e)
{
	struct watch_source *w = watch_new(args);
	int ret;

	if (!w)
		return err_sys(e, -ENOMEM, "watch");
	line_model_lend(&w->m, lender);
	w->own.cfg = *args->cfg;
	w->own.cfg.confirm = BRIEF_HITS;
	w->cfg = w->args.cfg = &w->own.cfg;
	w->brief = true;
	w->traps = BRIEF_TRAPS;
	ret = open_all(w, e);
	if (!ret) {
		w->cpus = calloc((w->m.ncpus + 63) / 64, sizeof(*w->cpus));
		ret = w->cpus ? 0 : err_sys(e, -ENOMEM, "watch");
	}
	if (ret) {
		watch_close(&w->base.source);
		return ret;
	}
	*out = w;
	return 0;
}

static void set_slots(struct watch_source *w, const struct line_key *line,
		      const struct watch_slot *slots, size_t n)
{
	memcpy(w->slots, slots, n * sizeof(*slots));
	w->nslots = n;
	w->nlines = 0;
	for (size_t k = 0; k < n; k++) {
		struct line_key key = *line;

		key.line = slots[k].addr >> ABI_LINE_SHIFT;
		if (!watch_line_at(w, slots[k].addr))
			w->lines[w->nlines++] =
				(struct watch_line){.key = key, .addr = slots[k].addr};
	}
	w->user_pid = w->skel->bss->user_tgid = line->tgid;
}

/* Some of those that are wanted, others each time. */
static void set_cpus(struct watch_source *w, const uint64_t *wanted)
{
	uint32_t n = w->m.ncpus, k, cpu, taken = 0;

	memset(w->cpus, 0, (n + 63) / 64 * sizeof(*w->cpus));
	for (k = 0; k < n && taken < BRIEF_CPUS; k++) {
		cpu = (w->turn + k) % n;
		if (n > BRIEF_CPUS && !(wanted[cpu / 64] >> (cpu % 64) & 1))
			continue;
		w->cpus[cpu / 64] |= 1ULL << (cpu % 64);
		taken++;
	}
	w->turn = (w->turn + k) % n;
}

/* Goes to another CPU than that one, if there is one; *was: to go back. False: stays. */
static bool leave_cpu(uint32_t cpu, cpu_set_t *was)
{
	cpu_set_t others;

	if (cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*was), was))
		return false; /* more CPUs than fit: it runs on few of them */
	others = *was;
	CPU_CLR(cpu, &others);
	return CPU_COUNT(&others) && !sched_setaffinity(0, sizeof(others), &others);
}

/*
 * Until it is time, or enough was seen. With a real-time priority (CAP_SYS_NICE) it sleeps, and is
 * woken in time on a busy machine, too. Without, it would come back when its turn comes, with the
 * debug registers taken until then: so it does not leave its CPU.
 */
static void wait_for_hits(const struct watch_source *w, uint64_t until, bool sleeps)
{
	const struct timespec step = {.tv_nsec = BRIEF_STEP_NS};
	const __u64 *taken = &watch_counts(w)->taken;
	uint64_t before = __atomic_load_n(taken, __ATOMIC_RELAXED);

	while (clock_mono_ns() < until &&
	       __atomic_load_n(taken, __ATOMIC_RELAXED) - before < BRIEF_ENOUGH)
		if (sleeps)
			(void)nanosleep(&step, NULL); /* a signal: so much the shorter */
}

/* One watch, with the registers' time in *took. */
static int watch_once(struct watch_source *w, bool sleeps, uint64_t *took, struct err *e)
{
	uint64_t begin;
	int ret = watch_events_try(w, e);

	(void)sched_yield(); /* what follows fits into what a turn on the CPU is */
	begin = clock_mono_ns();
	if (!ret)
		ret = watch_events_open(w, e);
	if (!ret)
		ret = watch_begin(w, e);
	if (!ret)
		wait_for_hits(w, begin + WATCH_BRIEF_NS, sleeps);
	watch_events_disarm(w);
	watch_events_close(w);
	*took = clock_mono_ns() - begin;
	return ret;
}

int watch_brief(struct watch_source *w, const struct line *line, const struct watch_slot *slots,
		size_t n, uint32_t cpu, uint64_t *took, struct err *e)
{
	const struct sched_param first = {.sched_priority = 1}, none = {0};
	bool moved = false, quick;
	cpu_set_t mine;
	int ret;

	line_table_begin(w->m.table);
	set_slots(w, &line->key, slots, n);
	set_cpus(w, line->cpus[LINE_TOTAL]);
	quick = sched_getscheduler(0) == SCHED_OTHER &&
		!sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
	if (!quick)
		moved = leave_cpu(cpu, &mine);
	ret = watch_once(w, quick, took, e);
	if (quick)
		(void)sched_setscheduler(0, SCHED_OTHER, &none); /* that is always permitted */
	if (moved)
		(void)sched_setaffinity(0, sizeof(mine), &mine); /* it was ours before */
	return ret ? ret : watch_hits_drain(w, e);
}

int watch_begin(struct watch_source *w, struct err *e)
{
	(void)bpf_source_begin(&w->base); /* the first time */
	return watch_events_arm(w, e);
}

void watch_end(struct watch_source *w)
{
	watch_events_disarm(w);
	(void)bpf_source_stop(&w->base.source, NULL); /* cannot fail */
}

/* Nothing is watched during a warm-up: the accesses that may be spent are not for that. */
static int watch_start(struct source *src, struct err *e)
{
	struct watch_source *w = watch_of(src);

	if (w->cfg->warmup_ns && !w->warming) {
		w->warming = true;
		return 0;
	}
	return watch_begin(w, e);
}

/* Interval and whole are told apart by user space alone: hits come one by one. */
static int watch_next_epoch(struct source *src, struct err *e)
{
	struct watch_source *w = watch_of(src);

	return w->armed ? watch_events_open(w, e) : 0; /* CPUs that came back */
}

static int watch_stop(struct source *src, struct err *e)
{
	watch_end(watch_of(src));
	return 0;
}

int watch_report(struct watch_source *w, struct source_report *r, struct err *e)
{
	int ret = watch_hits_drain(w, e);
	uint64_t lost;

	if (ret)
		return ret;
	lost = watch_counts(w)->lost;
	r->quality_interval.lost_events += lost - w->lost_previous;
	r->quality_total.lost_events += lost;
	w->lost_previous = lost;
	ret = watch_push_rows(w, r);
	line_table_begin(w->m.table);
	if (!ret)
		ret = numa_turn(w->m.numa);
	return ret ? err_sys(e, ret, "watch: report") : 0;
}

static int watch_collect(struct source *src, struct source_report *r, struct err *e)
{
	r->quality_interval = r->quality_total = (struct quality){0};
	return watch_report(watch_of(src), r, e);
}

static int watch_drain(struct source *src, struct err *e)
{
	return watch_hits_drain(watch_of(src), e);
}

/* A run of nothing else ends with what it waited for. */
static bool watch_target_alive(struct source *src, char *why, size_t len)
{
	struct watch_source *w = watch_of(src);

	if (!w->stopped || w->cfg->sources.n > 1)
		return filters_alive(&w->base.filters, why, len);
	if (w->counted < w->cfg->confirm)
		(void)snprintf(why, len,
			       "stopped watching: too many accesses by others, or lost"); /* fits */
	else
		(void)snprintf(why, len, "%" PRIu64 " accesses seen", w->counted); /* fits */
	return false;
}

static const char *const *watch_hooks(const struct source *src)
{
	static const char *const hooks[] = {"breakpoint", NULL};

	return hooks;
}

static const struct option_row watch_options[] = {
	{"watch", 0, "ADDR|SYMBOL[:LEN]",
	 "every access to it, by hardware breakpoints (user addresses: with -p PID)", OPTION_TEXTS,
	 .at = offsetof(struct config, watches), .repeat = true, .asks = true},
	LINE_OPTION_CONFIRM,
	{0},
};

static int watch_settle(struct config *cfg, struct err *e)
{
	if (cfg->watches.n && !cfg->confirm)
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"--confirm '0': nothing would be watched (expected a whole number from 1 "
			"to 1000000 with --watch)");
	if (!source_named(cfg, &source_watch) || cfg->watches.n || cfg->check)
		return 0;
	return err_set(e, EXIT_USAGE, -EINVAL,
		       "--source 'watch': watches nothing (give --watch ADDR|SYMBOL)");
}

const struct source_ops source_watch = {
	.name = "watch",
	.summary = "every access to the addresses of --watch",
	.options = watch_options,
	.caps = LINE_CAPS,
	.settle = watch_settle,
	.ungrouped = "its rows name their threads",
	.fds = 40,
	.fds_cpu = 1,
	.probe = watch_probe,
	.open = watch_open,
	.start = watch_start,
	.next_epoch = watch_next_epoch,
	.collect = watch_collect,
	.stop = watch_stop,
	.event_fd = bpf_source_event_fd,
	.drain = watch_drain,
	.cost_begin = bpf_source_cost_begin,
	.cost_end = bpf_source_cost_end,
	.target_alive = watch_target_alive,
	.hooks = watch_hooks,
	.close = watch_close,
};
