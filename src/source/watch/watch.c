// SPDX-License-Identifier: GPL-2.0-or-later
/* The watch source: every access to the addresses that --watch names; its life cycle. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

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
	skel->rodata->user_tgid = w->user_pid;
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
	if (!ret)
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
