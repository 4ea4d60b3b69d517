// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sink: frames into the model, the model onto the terminal, keys from there. While a run goes
 * on, keys and signals are events of the run's loop; `q` is the SIGINT that Ctrl-C would send.
 * After it, and of a record, the sink runs the loop itself until it is told to end. Then the
 * terminal is given back, and gets the final report as -o table writes it.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/record.h"
#include "sink/sink.h"
#include "sink/tui.h"
#include "sink/tui_term.h"

/* After the loop's own for the same: these only see to the terminal. */
static const int signals[] = {SIGINT,  SIGTERM, SIGQUIT, SIGTSTP,
			      SIGCONT, SIGHUP,	SIGUSR1, SIGWINCH};
#define NAMES 100 /* of saved files within one second */
#define NSIGNALS (sizeof(signals) / sizeof(signals[0]))

struct tui_sink {
	struct sink base;
	struct sink_args args;
	struct tui t;
	struct tui_term *term;
	struct sink *table; /* which writes the final report */
	struct record meta; /* as it is saved */
	struct event *keys, *on_signal[NSIGNALS];
	bool own_loop; /* no run any more */
	bool leaving;  /* asked for: nothing is drawn any more */
	bool reported; /* the final report was written */
	int error;     /* of an event; for the next call */
};

static struct tui_sink *tui_sink(struct sink *s)
{
	return (struct tui_sink *)s;
}

/* ---- drawing ---- */

/* Onto the canvas: the next key may be about what is there now. */
static bool compose(struct tui_sink *s)
{
	uint32_t lines, columns;

	if (s->leaving || !tui_term_entered(s->term))
		return false;
	tui_term_size(s->term, &lines, &columns);
	if (tui_draw(&s->t, lines, columns))
		s->error = -ENOMEM;
	return !s->error;
}

static void draw(struct tui_sink *s)
{
	if (compose(s))
		tui_term_show(s->term, &s->t.canvas);
}

static void leave(struct tui_sink *s)
{
	s->leaving = true;
	tui_term_leave(s->term);
	if (s->own_loop)
		(void)event_base_loopbreak(s->args.base);
}

/* ---- the key `s`: what is kept, as a record ---- */

static int save_meta(struct record *out, const struct sink_args *args, const struct meta *m,
		     struct err *e)
{
	struct sink_args memory = {.cfg = args->cfg, .memory = true};
	struct sink *json = NULL;
	const char *text;
	size_t len;
	int ret = sink_json.open(&json, &memory, e);

	if (!ret)
		ret = json->ops->meta(json, m, e);
	if (!ret) {
		text = out_whole(json->out, &len);
		ret = record_read(out, text, len && text[len - 1] == '\n' ? len - 1 : len, e);
	}
	if (json)
		(void)json->ops->close(json, NULL); /* memory */
	return ret;
}

/* A new file, never one that somebody has put there: "waitscope-20261122-140211.json.gz". */
static int new_file(char *path, size_t len, mode_t mode)
{
	time_t now = time(NULL);
	char stamp[32] = "";
	struct tm tm;
	int fd = -1;

	if (localtime_r(&now, &tm))
		(void)strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &tm); /* empty if it fails */
	for (int i = 1; i < NAMES && fd < 0; i++) {
		if (i == 1)
			(void)snprintf(path, len, "waitscope-%s.json.gz", stamp);
		else
			(void)snprintf(path, len, "waitscope-%s-%d.json.gz", stamp, i);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -errno;
	(void)close(fd); /* empty */
	return 0;
}

static int write_record(struct sink *json, const struct tui *t, const struct meta *m, struct err *e)
{
	int ret = json->ops->meta(json, m, e);
	size_t slow = 0;

	for (uint64_t i = t->keep.gone; i < tui_keep_end(&t->keep) && !ret; i++) {
		const struct frame *f = tui_keep_get(&t->keep, i);

		for (; slow < t->slow.n && t->slow.v[slow].report <= i && !ret; slow++)
			if (t->slow.v[slow].report == i) /* none of reports that went */
				ret = json->ops->slow(json, t->slow.v[slow].w, e);
		if (ret)
			break;
		if (f->type == FRAME_FINAL)
			ret = json->ops->final(json, f, e);
		else
			ret = json->ops->interval(json, f, f, e);
	}
	return ret;
}

static void save(struct tui *t, const struct sink_args *args, const struct meta *m)
{
	struct sink_args to = *args;
	struct sink *json = NULL;
	struct err e = {0};
	char path[64];
	int ret, closed;

	if (!t->keep.n) {
		tui_say(t, "there is no report yet to be saved");
		return;
	}
	ret = new_file(path, sizeof(path), args->owner_only ? 0600 : 0666);
	if (ret) {
		tui_say(t, "not saved: %s: %s", path, strerror(-ret));
		return;
	}
	to.path = path;
	ret = sink_json.open(&json, &to, &e);
	if (!ret)
		ret = write_record(json, t, m, &e);
	closed = json ? json->ops->close(json, ret ? NULL : &e) : 0;
	if (ret || closed)
		tui_say(t, "not saved: %s", e.text[0] ? e.text : strerror(ret ? -ret : -closed));
	else
		tui_say(t, "saved %zu report%s: %s", t->keep.n, t->keep.n == 1 ? "" : "s", path);
}

/* ---- events ---- */

static void ask(struct tui_sink *s, enum tui_ask what)
{
	if (what == TUI_ASK_SAVE)
		save(&s->t, &s->args, &s->meta.meta);
	else if (what == TUI_ASK_REPAINT)
		tui_term_resize(s->term);
	else if (what == TUI_ASK_QUIT && s->own_loop)
		leave(s);
	else if (what == TUI_ASK_QUIT)
		(void)kill(getpid(), SIGINT); /* as Ctrl-C: the run ends, and everything is told */
}

static void on_keys(evutil_socket_t fd, short what, void *ctx)
{
	struct tui_sink *s = ctx;
	struct tui_input in;
	bool any = false, composed = false;

	while (!s->leaving && tui_term_next(s->term, &in)) {
		ask(s, in.key ? tui_key(&s->t, in.key) : tui_click(&s->t, in.line, in.column));
		any = true;
		composed = compose(s);
	}
	if (!any && !s->leaving && tui_term_gone(s->term)) {
		(void)event_del(s->keys);
		s->error = -EPIPE;
		leave(s);
	}
	if (composed && !s->leaving)
		tui_term_show(s->term, &s->t.canvas);
}

static void come_back(struct tui_sink *s)
{
	if (!s->leaving && tui_term_enter(s->term, NULL))
		s->error = -EIO;
	tui_term_resize(s->term);
	draw(s);
}

static void on_signal(evutil_socket_t sig, short what, void *ctx)
{
	struct tui_sink *s = ctx;
	struct event *ev = NULL;

	for (size_t i = 0; i < NSIGNALS; i++)
		if (signals[i] == sig)
			ev = s->on_signal[i];
	switch (sig) {
	case SIGINT:
	case SIGTERM: /* the next one kills: the terminal must be what it was by then */
		leave(s);
		break;
	case SIGHUP: /* of a run: files are opened anew */
		if (s->own_loop)
			leave(s);
		break;
	case SIGQUIT: /* Ctrl-\ kills, as ever; but not before the terminal is what it was */
		leave(s);
		(void)event_del(ev);
		(void)raise(SIGQUIT);
		break;
	case SIGTSTP: /* the screen is given back first; what it means to others happens */
		tui_term_leave(s->term);
		(void)event_del(ev);
		(void)raise(SIGTSTP); /* stops here */
		(void)event_add(ev, NULL);
		come_back(s);
		break;
	case SIGCONT:
		come_back(s);
		break;
	case SIGWINCH:
		if (s->own_loop)
			come_back(s);
		break;
	}
}

static int add_events(struct tui_sink *s, struct err *e)
{
	s->keys = event_new(s->args.base, tui_term_fd(s->term), EV_READ | EV_PERSIST, on_keys, s);
	if (!s->keys || event_add(s->keys, NULL))
		return err_sys(e, -ENOMEM, "keys of the terminal");
	for (size_t i = 0; i < NSIGNALS; i++) {
		s->on_signal[i] = evsignal_new(s->args.base, signals[i], on_signal, s);
		if (!s->on_signal[i] || event_add(s->on_signal[i], NULL))
			return err_sys(e, -ENOMEM, "signals of the terminal");
	}
	return 0;
}

/* Signals first: from here on none finds the terminal in our hands. */
static int begin(struct tui_sink *s, struct err *e)
{
	int ret = add_events(s, e);

	if (!ret)
		ret = tui_term_enter(s->term, e);
	if (!ret)
		draw(s);
	return ret;
}

/* ---- the sink ---- */

static int tui_sink_close(struct sink *base, struct err *e)
{
	struct tui_sink *s = tui_sink(base);
	int ret = 0;

	if (!s)
		return 0;
	tui_term_close(s->term);
	if (s->keys)
		event_free(s->keys);
	for (size_t i = 0; i < NSIGNALS; i++)
		if (s->on_signal[i])
			event_free(s->on_signal[i]);
	if (s->table)
		ret = s->table->ops->close(s->table, e);
	tui_close(&s->t);
	record_free(&s->meta);
	free(s);
	return ret;
}

static int tui_sink_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	struct sink_args plain = *args;
	struct tui_sink *s;
	int ret;

	if (args->path)
		return err_set(e, EXIT_USAGE, -EINVAL,
			       "--output 'tui:%s': goes to the terminal alone (the key s saves a "
			       "record; -o json:FILE writes one)",
			       args->path);
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_sys(e, -ENOMEM, "output on a terminal");
	s->base.ops = &sink_tui;
	s->base.cfg = args->cfg;
	s->args = *args;
	record_init(&s->meta);
	ret = tui_term_open(&s->term, args->color, e);
	plain.redraw = false; /* what is written once stays */
	if (!ret)
		ret = sink_table.open(&s->table, &plain, e);
	if (ret) {
		(void)tui_sink_close(&s->base, NULL);
		return ret;
	}
	s->base.out = s->table->out;
	tui_open(&s->t, args->cfg, tui_term_utf8(s->term), args->replay);
	*out = &s->base;
	return 0;
}

static int tui_sink_meta(struct sink *base, const struct meta *m, struct err *e)
{
	struct tui_sink *s = tui_sink(base);
	int ret = save_meta(&s->meta, &s->args, m, e);

	if (!ret)
		ret = s->table->ops->meta(s->table, m, e);
	tui_meta(&s->t, m);
	/* A record is read first. */
	return ret || s->args.replay ? ret : begin(s, e);
}

static int failed(const struct tui_sink *s, struct err *e)
{
	return s->error && s->error != -EPIPE ? sink_failed(&s->base, s->error, e) : s->error;
}

static int tui_sink_interval(struct sink *base, const struct frame *interval,
			     const struct frame *total, struct err *e)
{
	struct tui_sink *s = tui_sink(base);

	if (tui_add(&s->t, interval, base->cfg->totals ? total : NULL))
		s->error = -ENOMEM;
	draw(s);
	return failed(s, e);
}

/* It is shown with the report that comes next. */
static int tui_sink_slow(struct sink *base, const struct slow *w, struct err *e)
{
	return tui_slow(&tui_sink(base)->t, w) ? sink_failed(base, -ENOMEM, e) : 0;
}

static bool tui_sink_totals(const struct sink *base)
{
	return base->cfg->totals;
}

static int report(struct tui_sink *s, const struct frame *f, struct err *e)
{
	leave(s);
	s->reported = true;
	return s->table->ops->final(s->table, f, e);
}

static int tui_sink_final(struct sink *base, const struct frame *total, struct err *e)
{
	struct tui_sink *s = tui_sink(base);

	if (tui_add(&s->t, total, NULL))
		s->error = -ENOMEM;
	if (s->leaving && s->error != -EPIPE)
		return report(s, total, e);
	return failed(s, e);
}

/* The run is over by itself, or a record was read: there is time to look at it. */
static void look(struct tui_sink *s)
{
	s->own_loop = true;
	if (!s->t.replay)
		tui_say(&s->t, "the run has ended: q gives the final report");
	if ((!s->keys && begin(s, NULL)) || s->error)
		return;
	draw(s);
	(void)event_base_dispatch(s->args.base); /* until leave() */
}

static bool tui_sink_finish(struct sink *base, char *note, size_t len)
{
	struct tui_sink *s = tui_sink(base);
	const struct frame *last = tui_keep_get(&s->t.keep, tui_keep_end(&s->t.keep) - 1);
	struct err e = {0};

	if (s->reported || !last || last->type != FRAME_FINAL)
		return false;
	look(s);
	if (s->error == -EPIPE || !report(s, last, &e))
		return false;
	(void)snprintf(note, len, "%s", e.text); /* the final report could not be written */
	return e.text[0];
}

static void tui_sink_resize(struct sink *base, uint32_t columns, uint32_t lines)
{
	struct tui_sink *s = tui_sink(base);

	s->table->ops->resize(s->table, columns, lines);
	tui_term_resize(s->term);
	draw(s);
}

const struct sink_ops sink_tui = {
	.name = "tui",
	.summary = "the report that one can drive, with keys",
	.what = "on a terminal",
	.open = tui_sink_open,
	.meta = tui_sink_meta,
	.interval = tui_sink_interval,
	.slow = tui_sink_slow,
	.totals = tui_sink_totals,
	.final = tui_sink_final,
	.resize = tui_sink_resize,
	.finish = tui_sink_finish,
	.reopen = sink_reopen,
	.close = tui_sink_close,
};
