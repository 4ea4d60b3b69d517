// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "core/limit.h"
#include "core/text.h"
#include "run.h"
#include "source/privs.h"
#include "source/sys/cpus.h"

static uint64_t user_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u))
		return 0;
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ULL +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ULL;
}

/* ---- file descriptors ---- */

#define FILES_OF_ALL \
	60 /* outputs, names and their processes, clocks, what is open while a source loads */

void run_raise_files(struct rlimit *had)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, had))
		*had = (struct rlimit){0};
	more = *had;
	more.rlim_cur = more.rlim_max;
	if (had->rlim_cur < had->rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &more); /* else what there is has to do */
}

uint32_t run_files_wanted(const struct config *cfg, uint32_t ncpus)
{
	uint32_t n = FILES_OF_ALL, words = cfg->watches.n ? (uint32_t)cfg->watches.n : 1;

	for (size_t i = 0; source_list[i]; i++) {
		const struct source_ops *ops = source_list[i];

		if (source_asked(cfg, ops))
			n += ops->fds + (cfg->why ? ops->fds_why : 0U) +
			     ops->fds_cpu * ncpus * words;
	}
	return n;
}

/* The words of a failure may hide it: libbpf says "Invalid argument" where it cannot load its own
 * probes. */
static bool too_few_files(const struct config *cfg, const struct err *why, uint32_t *wanted,
			  struct rlimit *now)
{
	struct err ignored = {0};
	int ncpus = possible_cpus(&ignored);

	*wanted = run_files_wanted(cfg, ncpus > 0 ? (uint32_t)ncpus : 1);
	return err_exit(why) != EXIT_USAGE && !getrlimit(RLIMIT_NOFILE, now) &&
	       now->rlim_cur < *wanted;
}

void run_explain(const struct config *cfg, int ret, struct err *e)
{
	struct err was = *e;
	struct rlimit now;
	uint32_t wanted;

	if (!too_few_files(cfg, e, &wanted, &now))
		return;
	e->text[0] = '\0';
	(void)err_set(e, EXIT_FAILED, ret,
		      "%s (this run wants up to %u file descriptors; ulimit -n is %llu)", was.text,
		      wanted, (unsigned long long)now.rlim_cur); /* it is ret that counts */
}

/* ---- how it begins ---- */

/*
 * Probed and opened. A default source that this machine cannot run is left out, with the reason; a
 * named one (`must`) is an error then, and for both a mistake of the user's is.
 */
static int open_source(struct run *r, const struct source_ops *ops, bool must, struct err *e)
{
	struct run_source *s = &r->sources[r->nsources++];
	struct source_args args = {
		.cfg = r->cfg,
		.on_slow = run_slow,
		.slow_ctx = r,
		.names = &r->names,
		.shared = &r->shared,
	};
	struct err why = {0};
	struct rlimit now;
	uint32_t wanted;
	int ret;

	s->ops = ops;
	if (r->command)
		args.command_pid = command_pid(r->command);
	ret = source_open(ops, &s->src, &args, &why);
	if (!ret)
		return 0;
	if (!why.text[0])
		err_sys(&why, ret, "%s", ops->name);
	s->cannot = ret;
	memcpy(s->why, why.text, sizeof(s->why));
	/* For want of descriptors none is left out: the kernel and the machine can, it is the
	 * user's limit. */
	if (!must && err_exit(&why) == EXIT_CANNOT && !too_few_files(r->cfg, &why, &wanted, &now))
		return 0;
	return err_set(e, err_exit(&why), ret, "%s", why.text);
}

/*
 * In the order of the list, however they were named: a source that keeps what others read is opened
 * before them. Where none of the default ones can run, the reason of the first is the one that
 * matters most.
 */
static int open_sources(struct run *r, struct err *e)
{
	bool named = r->cfg->sources.n;
	size_t i, n = 0, on = 0;
	int ret = 0;

	for (i = 0; source_list[i]; i++)
		n += source_asked(r->cfg, source_list[i]);
	r->sources = calloc(n, sizeof(*r->sources));
	if (!r->sources)
		return err_sys(e, -ENOMEM, "sources");
	for (i = 0; !ret && source_list[i]; i++)
		if (source_asked(r->cfg, source_list[i]))
			ret = open_source(r, source_list[i], named, e);
	for (i = 0; i < r->nsources; i++)
		on += r->sources[i].src != NULL;
	if (ret || on)
		return ret;
	return err_set(e, EXIT_CANNOT, r->sources[0].cannot, "%s", r->sources[0].why);
}

/*
 * As the kernel decides for us: a user whom it shows no addresses of its own sees none in our
 * reports either. Sources that have any have opened the names.
 */
static int hide_addresses(struct run *r, struct err *e)
{
	uint8_t key[HIDE_KEY_BYTES];

	if (!r->names.names || privs_kernel_shown(r->names.names))
		return 0;
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return err_sys(e, -errno, "addresses: no random bytes to hide them with");
	hide_begin(&r->hide, key);
	hide_begin(&r->hide_slow, key);
	return 0;
}

/* Where the time went: of the tasks that the sources are asked about. */
static int open_times(struct run *r, struct err *e)
{
	const struct source_args args = {
		.cfg = r->cfg,
		.command_pid = r->command ? command_pid(r->command) : 0,
	};
	bool real = false;

	for (size_t i = 0; i < r->nsources; i++)
		real |= r->sources[i].src && !r->sources[i].ops->made_up;
	return real ? times_open(&r->times, &args, e) : 0;
}

static int check_limits(const struct run *r, struct err *e)
{
	uint64_t metrics = 0;

	for (size_t i = 0; i < r->nsources; i++)
		if (r->sources[i].src)
			metrics |= limits_metrics(r->sources[i].ops);
	return limits_check(&r->cfg->limits, metrics, r->cfg->by > BY_CPU, "that runs", e);
}

int run_open(struct run *r, const struct config *cfg, char **argv, struct err *e)
{
	int ret = 0;

	memset(r, 0, sizeof(*r));
	r->cfg = cfg;
	r->argv = argv;
	r->names.args = (struct names_args){.btf = cfg->btf, .debuginfod = cfg->debuginfod};
	r->drain_ns = SOURCE_DRAIN_NS;
	run_raise_files(&r->files);
	if (cfg->command)
		ret = command_fork(&r->command, cfg->command, &r->files, e);
	if (!ret)
		ret = open_sources(r, e);
	if (!ret)
		ret = open_times(r, e);
	if (!ret)
		ret = check_limits(r, e);
	if (!ret)
		ret = hide_addresses(r, e);
	return ret ? ret : outputs_open(&r->outputs, cfg, false, e);
}

/* ---- outputs ---- */

static int send_meta(struct run *r, struct err *e)
{
	struct meta_data *m;
	int ret = meta_build(&m, r, e);

	if (ret)
		return ret;
	ret = outputs_meta(&r->outputs, meta_get(m), e);
	meta_free(m);
	return ret;
}

int run_slow(void *ctx, const struct slow *w)
{
	struct run *r = ctx;
	struct slow_held held;
	struct slow copy;

	if (!w->held)
		return outputs_slow(&r->outputs, w, &r->slow_err);
	hide_forget(&r->hide_slow);
	held = *w->held;
	copy = *w;
	copy.held = &held;
	if (hide_held(&r->hide_slow, &held))
		return err_sys(&r->slow_err, -ENOMEM, "--slower");
	return outputs_slow(&r->outputs, &copy, &r->slow_err);
}

#define each_source(r, s)                                                                \
	for (struct run_source *s = (r)->sources; s < (r)->sources + (r)->nsources; s++) \
		if (s->src)

int run_start(struct run *r, struct err *e)
{
	bool again = r->started.mono_ns != 0;
	int ret;

	each_source (r, s) {
		ret = s->ops->start(s->src, e);
		if (ret)
			return ret;
	}
	ret = r->times ? times_start(r->times, e) : 0;
	if (ret)
		return ret;
	r->started = again ? r->epoch_began : moment_now();
	r->epoch_began = r->previous = r->started;
	r->user_ns_start = r->user_ns_previous = user_cpu_ns();
	return again ? 0 : send_meta(r, e); /* whoever reads it may rely on being counted */
}

static void note_epoch(struct run *r)
{
	r->previous = r->epoch_began;
	r->epoch_began = moment_now();
}

int run_next_epoch(struct run *r, struct err *e)
{
	int ret = 0;

	each_source (r, s)
		if (!ret)
			ret = s->ops->next_epoch(s->src, e);
	if (!ret && r->times)
		ret = times_next_epoch(r->times, false, e);
	note_epoch(r);
	return ret;
}

int run_begin_drain(struct run *r, struct err *e)
{
	int ret = 0;

	each_source (r, s)
		if (!ret && s->ops->drain_banks)
			ret = s->ops->next_epoch(s->src, e);
	return ret;
}

int run_drain_banks(struct run *r, struct err *e)
{
	int ret = 0;

	each_source (r, s)
		if (!ret && s->ops->drain_banks)
			ret = s->ops->drain_banks(s->src, e);
	return ret;
}

int run_stop(struct run *r, struct err *e)
{
	int ret = 0;

	run_cost_end(r);
	each_source (r, s)
		if (!ret)
			ret = s->ops->stop(s->src, e);
	if (!ret && r->times)
		ret = times_next_epoch(r->times, true, e);
	note_epoch(r);
	return ret;
}

/* ---- reports ---- */

static struct frame frame_of(const struct run *r, enum frame_type type, const struct moment *since,
			     const struct report_rows *rows)
{
	struct frame f = {
		.type = type,
		.seq = r->seq,
		.time = r->epoch_began.wall,
		.mono_ns = r->epoch_began.mono_ns,
		.dur_ns = r->epoch_began.mono_ns - since->mono_ns,
		.series = rows->series.v,
		.nseries = rows->series.n,
		.contended = rows->contended.v,
		.ncontended = rows->contended.n,
		.culprits = rows->culprits.v,
		.nculprits = rows->culprits.n,
		.times = rows->times.v,
		.ntimes = rows->times.n,
		.self = r->cost,
	};

	each_source (r, s) {
		/* Of made-up data nobody knows it; locks and futexes have holders instead. */
		f.why |= r->cfg->why && s->ops->culprits;
		f.contends |= s->ops->contends;
		f.lines |= s->ops->lines;
	}
	return f;
}

/* Both views of what the last change of epoch, or stop, ended; the total has rows if they are
 * wanted. */
static int collect(struct run *r, bool totals, struct frame *interval, struct frame *total,
		   struct err *e)
{
	struct quality qi = {0}, qt = {0};
	uint64_t user;
	int ret = 0;

	rows_forget(&r->report.interval);
	rows_forget(&r->report.total);
	rows_want(&r->report.total, totals);
	names_report_begin(r->names.names);
	each_source (r, s) {
		ret = s->ops->collect(s->src, &r->report, e);
		if (ret)
			return ret;
		quality_add(&qi, &r->report.quality_interval);
		quality_add(&qt, &r->report.quality_total);
	}
	ret = r->times ? times_collect(r->times, &r->report, e) : 0;
	if (ret)
		return ret;
	quality_add(&qi, &r->report.quality_interval);
	quality_add(&qt, &r->report.quality_total);
	/* Those since the last report, and all. Beside the sources': names are shared by them. */
	qt.names_refused = names_refused(r->names.names);
	qi.names_refused = qt.names_refused - r->names_refused;
	r->names_refused = qt.names_refused;
	hide_forget(&r->hide);
	ret = hide_rows(&r->hide, r->report.interval.contended.v, r->report.interval.contended.n);
	if (!ret)
		ret = hide_rows(&r->hide, r->report.total.contended.v, r->report.total.contended.n);
	if (ret)
		return err_sys(e, ret, "report");
	r->seq++;
	*interval = frame_of(r, FRAME_INTERVAL, &r->previous, &r->report.interval);
	*total = frame_of(r, FRAME_TOTAL, &r->started, &r->report.total);
	if (r->cfg->by == BY_UNIT || r->cfg->by == BY_CONTAINER)
		ret = regroup(&r->groups[0], interval) ?: regroup(&r->groups[1], total);
	if (ret)
		return err_sys(e, ret, "report");
	interval->quality = qi;
	total->quality = qt;
	user = user_cpu_ns();
	if (interval->dur_ns)
		interval->self.user_cpu_ppm =
			(double)(user - r->user_ns_previous) * 1e6 / (double)interval->dur_ns;
	if (total->dur_ns)
		total->self.user_cpu_ppm =
			(double)(user - r->user_ns_start) * 1e6 / (double)total->dur_ns;
	r->user_ns_previous = user;
	return 0;
}

int run_report(struct run *r, struct err *e)
{
	struct frame interval, total;
	int ret = run_drain(r, e);

	if (ret >= 0)
		ret = collect(r, outputs_want_totals(&r->outputs), &interval, &total, e);
	names_trim(r->names.names);
	return ret ? ret : outputs_interval(&r->outputs, &interval, &total, e);
}

int run_finish(struct run *r, const char *why, struct err *e)
{
	struct frame interval, total;
	int ret;

	do /* nothing is added any more: to the last record */
		ret = run_drain(r, e);
	while (ret > 0);
	if (!ret)
		ret = collect(r, true, &interval, &total, e);
	if (ret)
		return ret;
	interval.last = true;
	ret = outputs_interval(&r->outputs, &interval, &total, e);
	if (ret && ret != -EPIPE)
		return ret;
	total.type = FRAME_FINAL;
	total.end = why;
	return outputs_final(&r->outputs, &total, e);
}

/* ---- the rest ---- */

int run_event_fd(const struct run *r, size_t i)
{
	const struct run_source *s = &r->sources[i];

	return s->src && s->ops->event_fd ? s->ops->event_fd(s->src) : -1;
}

int run_drain(struct run *r, struct err *e)
{
	int ret, more = 0;

	each_source (r, s) {
		ret = s->ops->drain ? s->ops->drain(s->src, r->slow_err.text[0] ? NULL : e) : 0;
		if (r->slow_err.text[0])
			return err_set(e, err_exit(&r->slow_err), ret < 0 ? ret : -EIO, "%s",
				       r->slow_err.text);
		if (ret < 0)
			return ret;
		more |= ret;
	}
	return more;
}

bool run_targets_alive(struct run *r, char *why, size_t len)
{
	each_source (r, s)
		if (s->ops->target_alive && !s->ops->target_alive(s->src, why, len))
			return false;
	return true;
}

void run_cost_begin(struct run *r)
{
	bool denied = false;

	each_source (r, s) {
		struct err why = {0}; /* not permitted, or an old kernel: the cost stays unknown */
		int ret = s->ops->cost_begin ? s->ops->cost_begin(s->src, &why) : 0;

		s->costing = s->ops->cost_begin && !ret;
		denied |= ret != 0;
	}
	r->cost.bpf_denied = denied && !r->cost.bpf_known;
}

void run_cost_end(struct run *r)
{
	struct self_cost sum = {0}, one = {0};
	struct err ignored = {0};
	double events = 0; /* in the time of a million ns */

	each_source (r, s) {
		if (!s->costing || s->ops->cost_end(s->src, &one, &ignored))
			continue;
		s->costing = false;
		sum.bpf_known = true;
		sum.bpf_cpu_ppm += one.bpf_cpu_ppm;
		if (one.bpf_ns_per_event > 0)
			events += one.bpf_cpu_ppm / one.bpf_ns_per_event;
	}
	if (events > 0)
		sum.bpf_ns_per_event = sum.bpf_cpu_ppm / events;
	if (sum.bpf_known)
		r->cost = sum;
}

int run_close(struct run *r, struct err *e)
{
	int ret;

	for (size_t i = 0; i < r->nsources; i++) {
		struct run_source *s = &r->sources[i];

		if (s->src)
			s->ops->close(s->src);
	}
	times_close(r->times);
	shared_close(&r->shared);
	names_shared_close(&r->names);
	hide_end(&r->hide);
	hide_end(&r->hide_slow);
	ret = outputs_close(&r->outputs, e);
	free(r->sources);
	regroup_free(&r->groups[0]);
	regroup_free(&r->groups[1]);
	rows_free(&r->report.interval);
	rows_free(&r->report.total);
	memset(r, 0, sizeof(*r));
	return ret;
}
