// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

#define COST_WINDOW_NS 50000000ULL    /* of run-time statistics ... */
#define COST_PERIOD_NS 10000000000ULL /* ... every so often: they cost something themselves */
#define ALIVE_PERIOD_NS 500000000ULL  /* targets without a descriptor to wait for */
#define DRAIN_PERIOD_NS 100000000ULL  /* --slower: records wake us only when many lie there */
#define PROGRESS_PERIOD_NS 1000000000ULL
#define GIVE_UP_NS 1000000000ULL /* SIGTERM: a reader that has not taken the last report by then */

static const int signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGCHLD, SIGWINCH};
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

/* What the grace time after a change of epoch leads to. */
enum pending { PENDING_NONE, PENDING_DRAIN, PENDING_WARMED_UP, PENDING_REPORT, PENDING_END };

struct loop {
	struct run *run;
	struct event_base *base;
	struct event *on_signal[NSIGNALS];
	struct event **on_source;
	struct event *tick, *grace, *banks, *deadline, *cost, *alive, *drain, *progress, *give_up;
	enum pending pending;
	enum pending next; /* asked for while banks are drained */
	bool warming;	   /* not counting yet */
	bool end_asked;	   /* while another report was pending */
	bool costing;
	bool finished; /* all is said; readers have yet to take it */
	bool terminated;
	uint64_t next_tick_ns;
	uint64_t reports; /* by schedule, against COUNT */
	char why[160];
	int ret; /* first failure */
	struct err *e;
};

static void nothing(int sig)
{
	(void)sig;
}

/*
 * SIG_IGN would be COMMAND's too; a handler is not, and what our caller had ignored stays ignored.
 */
static void survive(int sig)
{
	if (signal(sig, nothing) == SIG_IGN)
		(void)signal(sig, SIG_IGN);
}

void loop_block_signals(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < NSIGNALS; i++)
		sigaddset(&set, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &set, old); /* cannot fail with these arguments */
	survive(SIGPIPE);
	survive(SIGXFSZ); /* ulimit -f: the write says EFBIG */
}

static void arm(struct event *ev, uint64_t ns)
{
	struct timeval tv = {.tv_sec = (time_t)(ns / 1000000000ULL),
			     .tv_usec = (suseconds_t)(ns % 1000000000ULL / 1000)};

	(void)event_add(ev, &tv); /* a timer on an initialised base: no way to fail */
}

/* Time from now until a moment of CLOCK_MONOTONIC; late is now. */
static void arm_at(struct event *ev, uint64_t mono_ns)
{
	uint64_t now = moment_now().mono_ns;

	arm(ev, mono_ns > now ? mono_ns - now : 0);
}

static void fail(struct loop *l, int ret)
{
	if (ret != -EPIPE && !l->ret) /* nobody reads us any more: a quiet end */
		l->ret = ret;
	(void)event_base_loopbreak(l->base);
}

/* Records wait for readers that do not read, and nobody waits for these any more. */
static void on_give_up(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;

	fail(l, err_set(l->e, EXIT_FAILED, -ETIMEDOUT,
			"output: %zu bytes were not read (the reader has stopped reading)",
			outputs_queued(&l->run->outputs)));
}

/* All is said: the end, once readers have taken it. */
static void finished(struct loop *l)
{
	struct event *over[] = {l->tick, l->cost, l->alive, l->drain, l->progress};

	for (size_t i = 0; !l->finished && i < sizeof(over) / sizeof(over[0]); i++)
		(void)event_del(over[i]); /* none of an initialised base fails */
	l->finished = true;
	if (!outputs_queued(&l->run->outputs))
		(void)event_base_loopbreak(l->base);
	else if (l->terminated)
		arm(l->give_up, GIVE_UP_NS);
}

/* Readers took what was queued, or went. */
static void on_readers(void *ctx)
{
	struct loop *l = ctx;
	int ret = outputs_moved(&l->run->outputs, l->e);

	if (ret || !outputs_left(&l->run->outputs))
		fail(l, ret ? ret : -EPIPE);
	else if (l->finished)
		finished(l);
}

static void begin_end(struct loop *l)
{
	int ret = run_stop(l->run, l->e);

	l->pending = PENDING_END;
	if (ret)
		fail(l, ret);
	else
		arm(l->grace, SOURCE_GRACE_NS);
}

/* The run is over, because of `why`. What is being reported is finished first. */
static void end(struct loop *l, const char *why)
{
	if (l->end_asked || l->pending == PENDING_END)
		return;
	snprintf(l->why, sizeof(l->why), "%s", why);
	if (l->pending == PENDING_NONE)
		begin_end(l);
	else
		l->end_asked = true;
}

static void begin_epoch(struct loop *l, enum pending what)
{
	int ret;

	l->pending = what;
	l->next = PENDING_NONE;
	ret = what == PENDING_DRAIN ? run_begin_drain(l->run, l->e) : run_next_epoch(l->run, l->e);
	if (ret)
		fail(l, ret);
	else
		arm(l->grace, SOURCE_GRACE_NS);
	arm(l->banks, l->run->drain_ns);
}

static void begin_report(struct loop *l, enum pending what)
{
	if (l->pending == PENDING_DRAIN)
		l->next = what;
	else if (l->pending == PENDING_NONE) /* else one is on its way */
		begin_epoch(l, what);
}

static void on_drain_banks(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;

	if (l->pending == PENDING_NONE) /* else the epoch has just changed */
		begin_epoch(l, PENDING_DRAIN);
}

/* ---- starting ---- */

static void arm_schedule(struct loop *l)
{
	const struct config *cfg = l->run->cfg;
	uint64_t start = l->run->started.mono_ns;

	if (cfg->interval_ns) {
		l->next_tick_ns = start + cfg->interval_ns;
		arm_at(l->tick, l->next_tick_ns);
	}
	if (cfg->duration_ns)
		arm_at(l->deadline, start + cfg->duration_ns);
	if (!cfg->quiet && (!cfg->interval_ns || cfg->interval_ns > 2 * PROGRESS_PERIOD_NS))
		arm(l->progress, PROGRESS_PERIOD_NS);
	run_cost_begin(l->run);
	l->costing = true;
	arm(l->cost, COST_WINDOW_NS);
}

static int start(struct loop *l)
{
	const struct config *cfg = l->run->cfg;
	int ret = run_start(l->run, l->e);

	if (ret)
		return ret;
	arm(l->banks, l->run->drain_ns);
	l->warming = cfg->warmup_ns > 0;
	if (l->warming)
		arm(l->tick, cfg->warmup_ns);
	else
		arm_schedule(l);
	if (cfg->slower)
		arm(l->drain, DRAIN_PERIOD_NS);
	if (cfg->filter.tids.n || cfg->filter.pids.n || cfg->filter.late[ABI_FILTER_CGROUP].n)
		arm(l->alive, ALIVE_PERIOD_NS);
	return l->run->command ? command_release(l->run->command, l->e) : 0;
}

/* ---- events ---- */

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;
	const struct config *cfg = l->run->cfg;
	uint64_t interval = cfg->interval_ns, now = moment_now().mono_ns;
	bool counted = cfg->count && l->reports + 1 >= cfg->count;

	if (l->warming) {
		begin_report(l, PENDING_WARMED_UP);
		return;
	}
	if (counted ||
	    (cfg->duration_ns && l->next_tick_ns >= l->run->started.mono_ns + cfg->duration_ns)) {
		end(l, counted ? "count reached" : "duration over");
		return;
	}
	l->reports++;
	begin_report(l, PENDING_REPORT);
	l->next_tick_ns += interval;
	if (l->next_tick_ns <= now) /* we were stopped for longer than that: no burst of reports */
		l->next_tick_ns = now - (now - l->next_tick_ns) % interval + interval;
	arm_at(l->tick, l->next_tick_ns);
}

static void on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;

	end(l, "duration over");
}

static void on_grace(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;
	enum pending pending = l->pending;
	int ret = 0;

	l->pending = PENDING_NONE;
	if (pending == PENDING_WARMED_UP) {
		l->warming = false;
		ret = run_start(l->run, l->e);
		if (!ret)
			arm_schedule(l);
	} else if (pending == PENDING_DRAIN) {
		ret = run_drain_banks(l->run, l->e);
	} else if (pending == PENDING_REPORT) {
		ret = run_report(l->run, l->e);
	} else if (pending == PENDING_END) {
		l->pending = PENDING_END;
		ret = run_finish(l->run, l->why, l->e);
		if (!ret)
			finished(l);
	}
	if (ret)
		fail(l, ret);
	else if (l->end_asked && pending != PENDING_END)
		begin_end(l);
	else if (l->next)
		begin_epoch(l, l->next);
}

/* Reads what sources have to say, and comes again: at once if there is more. */
static int drain(struct loop *l)
{
	int ret = run_drain(l->run, l->e);

	if (ret < 0)
		fail(l, ret);
	else if (l->run->cfg->slower)
		arm(l->drain, ret ? 0 : DRAIN_PERIOD_NS);
	return ret;
}

static void on_source(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;
	char why[128];

	if (drain(l) >= 0 && !run_targets_alive(l->run, why, sizeof(why)))
		end(l, why);
}

static void on_drain(evutil_socket_t fd, short what, void *ctx)
{
	(void)drain(ctx);
}

static void on_alive(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;
	char why[128];

	if (!run_targets_alive(l->run, why, sizeof(why)))
		end(l, why);
	else
		arm(l->alive, ALIVE_PERIOD_NS);
}

static void on_cost(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;

	if (l->costing)
		run_cost_end(l->run);
	else
		run_cost_begin(l->run);
	l->costing = !l->costing;
	arm(l->cost, l->costing ? COST_WINDOW_NS : COST_PERIOD_NS);
}

static void on_progress(evutil_socket_t fd, short what, void *ctx)
{
	struct loop *l = ctx;
	int ret = outputs_progress(&l->run->outputs, moment_now().mono_ns - l->run->started.mono_ns,
				   l->e);

	if (ret)
		fail(l, ret);
	else if (!l->run->outputs.any_report)
		arm(l->progress, PROGRESS_PERIOD_NS);
}

static void on_signal(evutil_socket_t sig, short what, void *ctx)
{
	struct loop *l = ctx;
	int ret = 0;

	switch (sig) {
	case SIGINT:
		if (l->run->command && command_released(l->run->command))
			command_interrupt(l->run->command);
		end(l, "interrupted");
		break;
	case SIGTERM:
		l->terminated = true;
		if (l->finished)
			on_give_up(-1, 0, l);
		end(l, "terminated");
		break;
	case SIGUSR1:
		if (!l->warming)
			begin_report(l, PENDING_REPORT);
		break;
	case SIGHUP:
		ret = outputs_reopen(&l->run->outputs, l->e);
		break;
	case SIGCHLD:
		if (l->run->command && command_ended(l->run->command))
			end(l, "command ended");
		break;
	case SIGWINCH:
		outputs_resize(&l->run->outputs);
		break;
	}
	if (ret)
		fail(l, ret);
}

/* ---- set up ---- */

static int add_signals(struct loop *l)
{
	struct sigaction sa;

	for (size_t i = 0; i < NSIGNALS; i++) {
		l->on_signal[i] = evsignal_new(l->base, signals[i], on_signal, l);
		if (!l->on_signal[i] || event_add(l->on_signal[i], NULL))
			return -ENOMEM;
		/* The second one kills, also while a write to a reader that sleeps holds us up. */
		if ((signals[i] == SIGINT || signals[i] == SIGTERM) &&
		    !sigaction(signals[i], NULL, &sa)) {
			sa.sa_flags |= SA_RESETHAND;
			(void)sigaction(signals[i], &sa, NULL); /* else it takes SIGKILL, as ever */
		}
	}
	return 0;
}

static int add_sources(struct loop *l)
{
	int fd;

	l->on_source = calloc(l->run->nsources + 1, sizeof(struct event *));
	if (!l->on_source)
		return -ENOMEM;
	for (size_t i = 0; i < l->run->nsources; i++) {
		fd = run_event_fd(l->run, i);
		if (fd < 0)
			continue;
		l->on_source[i] = event_new(l->base, fd, EV_READ | EV_PERSIST, on_source, l);
		if (!l->on_source[i] || event_add(l->on_source[i], NULL))
			return -ENOMEM;
	}
	return 0;
}

static int set_up(struct loop *l)
{
	int ret;

	l->base = l->run->outputs.base;
	l->tick = evtimer_new(l->base, on_tick, l);
	l->grace = evtimer_new(l->base, on_grace, l);
	l->banks = evtimer_new(l->base, on_drain_banks, l);
	l->deadline = evtimer_new(l->base, on_deadline, l);
	l->cost = evtimer_new(l->base, on_cost, l);
	l->alive = evtimer_new(l->base, on_alive, l);
	l->drain = evtimer_new(l->base, on_drain, l);
	l->progress = evtimer_new(l->base, on_progress, l);
	l->give_up = evtimer_new(l->base, on_give_up, l);
	if (!l->tick || !l->grace || !l->banks || !l->deadline || !l->cost || !l->alive ||
	    !l->drain || !l->progress || !l->give_up)
		return -ENOMEM;
	ret = outputs_watch(&l->run->outputs, on_readers, l, l->e);
	if (!ret)
		ret = add_sources(l);
	return ret ?: add_signals(l);
}

static void free_event(struct event *ev)
{
	if (ev)
		event_free(ev);
}

static void tear_down(struct loop *l)
{
	struct event *timers[] = {l->tick,  l->grace, l->banks,	   l->deadline, l->cost,
				  l->alive, l->drain, l->progress, l->give_up};

	for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		free_event(timers[i]);
	for (size_t i = 0; i < NSIGNALS; i++)
		free_event(l->on_signal[i]);
	for (size_t i = 0; l->on_source && i < l->run->nsources; i++)
		free_event(l->on_source[i]);
	free(l->on_source);
}

int loop_run(struct run *r, const sigset_t *unblocked, struct err *e)
{
	struct loop l = {.run = r, .e = e};
	int ret = set_up(&l);

	if (ret) {
		err_sys(e, ret, "event loop");
		goto out;
	}
	ret = start(&l);
	(void)sigprocmask(SIG_SETMASK, unblocked, NULL);
	if (ret == -EPIPE) /* nobody reads us any more: a quiet end */
		ret = 0;
	else if (!ret && event_base_dispatch(l.base) < 0)
		ret = err_sys(e, -EIO, "event loop");
	if (!ret)
		ret = l.ret;
out:
	tear_down(&l);
	return ret;
}
