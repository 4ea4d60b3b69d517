// SPDX-License-Identifier: GPL-2.0-or-later
#include "outputs.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/array.h"
#include "core/limit.h"
#include "core/text.h"
#include "listen.h"
#include "source/privs.h"

/* ---- what stdout is ---- */

#define COLUMNS_DEFAULT 80
#define COLUMNS_MOST 10000 /* tables have a lower bound of their own */

/* NO_COLOR (set and not empty) wins over a guess, not over --color=always. */
static bool want_color(const struct sink_args *a, bool dumb)
{
	const char *no = getenv("NO_COLOR");

	if (a->cfg->color != COLOR_AUTO)
		return a->cfg->color == COLOR_ALWAYS;
	return a->tty && !dumb && !(no && *no);
}

/* Of what goes to no terminal: COLUMNS in the environment, if that is a number. */
static uint32_t columns_wanted(void)
{
	const char *text = getenv("COLUMNS");
	unsigned long columns;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return COLUMNS_DEFAULT;
	columns = strtoul(text, &end, 10);
	if (*end || !columns)
		return COLUMNS_DEFAULT;
	return columns < COLUMNS_MOST ? (uint32_t)columns : COLUMNS_MOST;
}

void screen_args(struct sink_args *args)
{
	const char *term = getenv("TERM");
	bool dumb = !term || !*term || !strcmp(term, "dumb");
	struct winsize size;

	args->tty = !args->path && isatty(STDOUT_FILENO);
	args->color = want_color(args, dumb);
	args->redraw = args->tty && !dumb && !args->cfg->no_clear;
	args->columns = args->tty ? COLUMNS_DEFAULT : columns_wanted();
	args->lines = 0;
	if (args->tty && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col) {
		args->columns = size.ws_col;
		args->lines = size.ws_row;
	}
}

bool screen_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	const char *locale = NULL;

	for (size_t i = 0; (!locale || !*locale) && i < sizeof(names) / sizeof(names[0]); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

/* ---- limits ---- */

uint64_t limits_metrics(const struct source_ops *ops)
{
	return ops->made_up ? UINT64_MAX : ops->metrics;
}

/* By what a task is called in rows of --by; other labels are there or not, as it happens. */
static bool needs_groups(const struct limit *l)
{
	static const char *const keys[] = {"pid",  "tid",  "comm",	  "cgroup",
					   "file", "unit", "container_id"};

	for (size_t i = 0; i < l->nlabels; i++)
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			if (!strcmp(l->labels[i].key, keys[k]))
				return true;
	return false;
}

static int check(const struct limit *l, uint64_t metrics, bool groups, const char *which,
		 struct err *e)
{
	uint64_t metric = 1ULL << (l->desc - metric_list);
	char text[128], names[64] = "";
	size_t at = 0;

	text_clean(text, sizeof(text), l->text, SIZE_MAX);
	if (needs_groups(l) && !groups)
		return err_set(
			e, EXIT_USAGE, -EINVAL,
			"--fail-if '%s': nothing in this run has these labels (expected --by)",
			text);
	if (metrics & metric)
		return 0;
	for (size_t i = 0; source_list[i] && at < sizeof(names); i++)
		if (!source_list[i]->made_up && source_list[i]->metrics & metric)
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
					       at ? " or " : "", source_list[i]->name);
	return err_set(e, EXIT_USAGE, -EINVAL,
		       "--fail-if '%s': no source %s tells of %s (expected %s in --source)", text,
		       which, l->desc->name, names);
}

int limits_check(const struct limit_list *l, uint64_t metrics, bool groups, const char *which,
		 struct err *e)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < l->n; i++)
		ret = check(&l->v[i], metrics, groups, which, e);
	return ret;
}

/* ---- what sinks are told ---- */

/* What all sinks are told; one of these is set. */
struct message {
	const struct meta *meta;
	const struct frame *interval, *total; /* total alone: the final report */
	const struct slow *slow;
	uint64_t progress_ns;
	bool reopen;
};

static int tell(struct sink *s, const struct message *m, struct err *e)
{
	const struct sink_ops *ops = s->ops;

	if (m->meta)
		return ops->meta(s, m->meta, e);
	if (m->interval)
		return ops->interval(s, m->interval, m->total, e);
	if (m->total)
		return ops->final(s, m->total, e);
	if (m->slow)
		return ops->slow ? ops->slow(s, m->slow, e) : 0;
	if (m->reopen)
		return ops->reopen(s, e);
	return ops->progress ? ops->progress(s, m->progress_ns, e) : 0;
}

bool outputs_left(const struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i])
			return true;
	return o->listener != NULL;
}

static void drop_event(struct event **ev)
{
	if (*ev)
		event_free(*ev);
	*ev = NULL;
}

/* Its reader has gone: what is left cannot be written. */
static void drop_sink(struct outputs *o, size_t i)
{
	struct err ignored = {0};

	drop_event(&o->writable[i]);
	(void)o->v[i]->ops->close(o->v[i], &ignored);
	o->v[i] = NULL;
}

/* ---- readers that stall or go ---- */

size_t outputs_queued(const struct outputs *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i])
			n += out_queued(o->v[i]->out);
	return n;
}

int outputs_moved(const struct outputs *o, struct err *e)
{
	return o->moved_ret
		       ? err_set(e, err_exit(&o->moved_err), o->moved_ret, "%s", o->moved_err.text)
		       : 0;
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
	struct outputs *o = ctx;
	bool queued = outputs_queued(o) > 0;

	for (size_t i = 0; i < o->n; i++) {
		int ret = o->v[i] ? out_drain(o->v[i]->out, &o->moved_err) : 0;

		if (ret == -EPIPE)
			drop_sink(o, i);
		else if (ret && !o->moved_ret)
			o->moved_ret = ret;
		if (o->v[i] && !out_queued(o->v[i]->out))
			drop_event(&o->writable[i]);
	}
	if (!outputs_left(o) || o->moved_ret || (queued && !outputs_queued(o)))
		o->moved(o->moved_ctx);
}

static void on_gone(evutil_socket_t fd, short what, void *ctx)
{
	struct outputs *o = ctx;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i] && out_reader_gone(o->v[i]->out))
			drop_sink(o, i);
	o->moved(o->moved_ctx);
}

/* After each record: is there something queued for a reader to take? */
static int await_readers(struct outputs *o, struct err *e)
{
	for (size_t i = 0; o->moved && i < o->n; i++) {
		if (!o->v[i] || o->writable[i] || !out_queued(o->v[i]->out))
			continue;
		o->writable[i] = event_new(o->base, out_queue_fd(o->v[i]->out),
					   EV_WRITE | EV_PERSIST, on_writable, o);
		if (!o->writable[i] || event_add(o->writable[i], NULL))
			return err_sys(e, -ENOMEM, "outputs");
	}
	return 0;
}

/* A file that is opened anew has another descriptor. */
static int watch_readers(struct outputs *o)
{
	struct epoll_event ev = {0}; /* errors and hang-ups are always told */

	for (size_t i = 0; o->moved && i < o->n; i++) {
		int fd = o->v[i] ? out_queue_fd(o->v[i]->out) : -1;

		drop_event(&o->writable[i]);
		if (fd >= 0 && !isatty(fd) && epoll_ctl(o->gone_fd, EPOLL_CTL_ADD, fd, &ev) &&
		    errno != EEXIST)
			return -errno;
	}
	return 0;
}

int outputs_watch(struct outputs *o, void (*moved)(void *ctx), void *ctx, struct err *e)
{
	int ret = 0;

	o->moved = moved;
	o->moved_ctx = ctx;
	o->gone_fd = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; !ret && i < o->n; i++)
		ret = out_queues(o->v[i]->out);
	if (!ret && o->gone_fd < 0)
		ret = -errno;
	if (!ret)
		ret = watch_readers(o);
	if (ret)
		return err_sys(e, ret, "outputs");
	o->gone = event_new(o->base, o->gone_fd, EV_READ | EV_PERSIST, on_gone, o);
	return o->gone && !event_add(o->gone, NULL) ? 0 : err_sys(e, -ENOMEM, "outputs");
}

static int tell_all(struct outputs *o, const struct message *m, struct err *e)
{
	int ret = 0;

	/* The server answers with what it was told last: of these. */
	if (o->listener && m->meta)
		ret = listener_meta(o->listener, m->meta, e);
	else if (o->listener && m->interval)
		ret = listener_interval(o->listener, m->interval, m->total, e);
	if (ret)
		return ret;
	for (size_t i = 0; i < o->n; i++) {
		if (!o->v[i])
			continue;
		ret = tell(o->v[i], m, e);
		if (ret && ret != -EPIPE)
			return ret;
		if (!ret)
			continue;
		drop_sink(o, i);
		if (!outputs_left(o))
			return -EPIPE;
	}
	return await_readers(o, e);
}

/*
 * By an exact clock (libevent's own choice has the resolution of a tick), read anew each time: a
 * time from before a report's names were looked up would let the next tick come as much later.
 */
static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config && !event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER) &&
	    !event_config_set_flag(config, EVENT_BASE_FLAG_NO_CACHE_TIME))
		base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	return base;
}

static const char *name_of(char *to, size_t len, const struct output *o)
{
	return text_clean(to, len, o->path ? o->path : "standard output", SIZE_MAX);
}

/* The parser has refused a name that is given twice; two names of one file are known once it is
 * open. */
static int check_same(const struct outputs *o, size_t i, struct err *e)
{
	const struct output *outs = o->cfg->outputs;
	char a[160], b[160];

	for (size_t k = 0; k < i; k++)
		if (out_same_file(o->v[k]->out, o->v[i]->out))
			return err_set(
				e, EXIT_USAGE, -EINVAL,
				"--output: both %s and %s would go to one file: '%s' is '%s' (give "
				"each its own file)",
				outs[k].format, outs[i].format, name_of(b, sizeof(b), &outs[i]),
				name_of(a, sizeof(a), &outs[k]));
	return 0;
}

#define LOOP_FILES 12 /* what an event loop opens */

/* libevent ends the process, in words of its own, where it finds no descriptors. */
static int check_room(struct err *e)
{
	int fds[LOOP_FILES], n, ret = 0;

	for (n = 0; !ret && n < LOOP_FILES; n++) {
		fds[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
		if (fds[n] < 0)
			ret = -errno;
	}
	while (n--)
		if (fds[n] >= 0)
			close(fds[n]);
	return ret ? err_sys(e, ret, "event loop") : 0;
}

int outputs_open(struct outputs *o, const struct config *cfg, bool replay, struct err *e)
{
	struct sink_args args = {.cfg = cfg, .owner_only = privs_any(), .replay = replay};
	int ret;

	*o = (struct outputs){.cfg = cfg, .gone_fd = -1};
	ret = check_room(e);
	if (ret)
		return ret;
	o->v = calloc(cfg->noutputs + 1, sizeof(*o->v));
	o->writable = calloc(cfg->noutputs + 1, sizeof(struct event *));
	o->base = new_base();
	if (!o->v || !o->writable || !o->base)
		return err_sys(e, -ENOMEM, "outputs");
	args.base = o->base;
	for (size_t i = 0; i < cfg->noutputs; i++) {
		const struct sink_ops *ops = sink_find(cfg->outputs[i].format);

		if (!ops)
			return err_set(e, EXIT_USAGE, -EINVAL, "--output '%s': unknown format",
				       cfg->outputs[i].format);
		args.path = cfg->outputs[i].path;
		screen_args(&args);
		ret = ops->open(&o->v[i], &args, e);
		if (!ret)
			o->n++;
		if (!ret)
			ret = check_same(o, i, e);
		if (ret)
			return ret;
	}
	return listener_open(&o->listener, cfg, o->base, e);
}

const char *outputs_address(const struct outputs *o)
{
	return o->listener ? listener_address(o->listener) : NULL;
}

int outputs_meta(struct outputs *o, const struct meta *m, struct err *e)
{
	return tell_all(o, &(struct message){.meta = m}, e);
}

int outputs_interval(struct outputs *o, const struct frame *interval, const struct frame *total,
		     struct err *e)
{
	o->any_report = true;
	return tell_all(o, &(struct message){.interval = interval, .total = total}, e);
}

bool outputs_want_totals(const struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i] && o->v[i]->ops->totals && o->v[i]->ops->totals(o->v[i]))
			return true;
	return false;
}

static int note_exceeded(void *ctx, const char *words)
{
	return str_list_push(ctx, strdup(words));
}

int outputs_final(struct outputs *o, const struct frame *total, struct err *e)
{
	size_t exceeded;
	int ret, test;

	for (size_t i = 0; i < o->n; i++)
		if (o->v[i])
			out_queue_last(o->v[i]->out);
	ret = tell_all(o, &(struct message){.total = total}, e);

	test = limits_test(&o->cfg->limits, total, note_exceeded, &o->exceeded, &exceeded, e);
	o->tested = true;
	if (test == -ENOMEM)
		err_sys(e, test, "--fail-if");
	return ret && ret != -EPIPE ? ret : test ? test : ret;
}

int outputs_verdict(const struct outputs *o, int ret, FILE *notes, int *status, struct err *e)
{
	char note[256];

	for (size_t i = 0; i < o->n; i++) {
		struct sink *s = o->v[i];

		if (s && out_dropped(s->out) && !o->cfg->quiet)
			fprintf(notes,
				"waitscope: note: output %s: %" PRIu64
				" records were left out, as its reader had stopped reading\n",
				s->ops->what, out_dropped(s->out));
		if (s && s->ops->finish && s->ops->finish(s, note, sizeof(note)) && !o->cfg->quiet)
			fprintf(notes, "waitscope: note: %s\n", note);
	}
	for (size_t i = 0; i < o->exceeded.n; i++)
		fprintf(notes, "waitscope: %s\n", o->exceeded.v[i]);
	if (o->exceeded.n && *status == EXIT_DONE)
		*status = EXIT_LIMIT;
	if (ret == -EPIPE)
		ret = 0;
	if (ret || o->tested || !o->cfg->limits.n)
		return ret;
	return err_set(e, EXIT_FAILED, -EPIPE,
		       "--fail-if: not tested: it ended before its last report");
}

int outputs_slow(struct outputs *o, const struct slow *w, struct err *e)
{
	return tell_all(o, &(struct message){.slow = w}, e);
}

int outputs_progress(struct outputs *o, uint64_t elapsed_ns, struct err *e)
{
	return o->any_report ? 0 : tell_all(o, &(struct message){.progress_ns = elapsed_ns}, e);
}

int outputs_reopen(struct outputs *o, struct err *e)
{
	int ret = tell_all(o, &(struct message){.reopen = true}, e);

	if (!ret && watch_readers(o))
		ret = err_sys(e, -errno, "outputs");
	return ret ? ret : await_readers(o, e);
}

void outputs_resize(struct outputs *o)
{
	struct sink_args args = {.cfg = o->cfg};

	screen_args(&args);
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i] && o->v[i]->ops->resize && !o->cfg->outputs[i].path)
			o->v[i]->ops->resize(o->v[i], args.columns, args.lines);
}

int outputs_close(struct outputs *o, struct err *e)
{
	int ret = 0, one;

	if (o->gone)
		event_free(o->gone);
	if (o->base && o->gone_fd >= 0)
		close(o->gone_fd);
	for (size_t i = 0; i < o->n; i++) {
		drop_event(&o->writable[i]);
		one = o->v[i] ? o->v[i]->ops->close(o->v[i], e) : 0;
		if (one && one != -EPIPE && !ret)
			ret = one;
	}
	listener_close(o->listener);
	if (o->base)
		event_base_free(o->base);
	str_list_free(&o->exceeded);
	free(o->writable);
	free(o->v);
	*o = (struct outputs){0};
	return ret;
}
