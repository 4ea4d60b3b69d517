// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A record has the intervals of a run, and their sum at its end. Where all of it is shown, that
 * final report is drawn as it was; where some are left out, the end is missing, or there are
 * several records, it is made of what was shown.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_own.h"
#include "core/text.h"
#include "meta_same.h"
#include "outputs.h"
#include "record_file.h"
#include "source/privs.h"
#include "source/source.h"

#define NS_PER_S 1000000000LL

/* One file and how far it was played. */
struct part {
	struct record_file file;
	struct record r[2]; /* the interval before waits to know whether it is the last */
	int at;		    /* of the record just read */
	struct frame_own *sum;
	uint64_t seq;		    /* of the last interval read */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC, when the first interval began */
	uint64_t last_seq, last_ns; /* --last: of the last interval there is */
	uint64_t shown, dur_ns;
	bool any, whole; /* from the first interval on, without a gap */
	bool ended;	 /* by its own final report */
};

struct report {
	struct report_opts opts;
	struct config cfg;
	char **argv; /* for opts_parse */
	struct outputs outputs;
	struct part *parts;
	size_t nparts;
	struct frame_own *all;
	uint64_t shown;
};

/* ---- what is in a record, and which of it is asked for ---- */

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

/* A time of day or date as a moment, for a record that began at `start`. */
static int64_t clock_ns(const struct report_bound *b, const struct timespec *start)
{
	struct tm tm = b->clock, day;

	if (b->kind == BOUND_TIME_OF_DAY && localtime_r(&start->tv_sec, &day)) {
		tm.tm_year = day.tm_year;
		tm.tm_mon = day.tm_mon;
		tm.tm_mday = day.tm_mday;
	}
	return (int64_t)(b->utc ? timegm(&tm) : mktime(&tm)) * NS_PER_S;
}

/* Is a moment, in interval `seq`, before the bound? */
static bool before(const struct report_bound *b, const struct part *p, uint64_t seq,
		   int64_t wall_ns, uint64_t mono_ns)
{
	switch (b->kind) {
	case BOUND_NUMBER:
		return seq < b->n;
	case BOUND_OFFSET:
		return mono_ns < p->start_ns || mono_ns - p->start_ns < b->n;
	case BOUND_CLOCK:
	case BOUND_TIME_OF_DAY:
		return wall_ns < clock_ns(b, &p->r[0].meta.start);
	case BOUND_NONE:
		break;
	}
	return false;
}

static bool selected(const struct report *rp, const struct part *p, uint64_t seq, int64_t wall_ns,
		     uint64_t mono_ns)
{
	const struct report_opts *o = &rp->opts;

	if (o->last.kind == BOUND_NUMBER)
		return seq + o->last.n > p->last_seq;
	if (o->last.kind)
		return mono_ns + o->last.n > p->last_ns;
	if (before(&o->from, p, seq, wall_ns, mono_ns))
		return false;
	if (o->to.kind == BOUND_NUMBER)
		return seq <= o->to.n;
	return !o->to.kind || before(&o->to, p, seq, wall_ns, mono_ns);
}

/* ---- reports ---- */

static int no_memory(struct err *e)
{
	return err_sys(e, -ENOMEM, "report");
}

static int show_interval(struct report *rp, struct part *p, const struct frame *f, struct err *e)
{
	struct frame total = {
		.type = FRAME_TOTAL, .seq = f->seq, .time = f->time, .mono_ns = f->mono_ns};
	struct frame shown = *f;
	const struct frame *sum;

	p->shown++;
	rp->shown++;
	if (rp->nparts > 1)
		shown.seq = rp->shown;
	if (frame_own_add(p->sum, f, FRAME_THEN))
		return no_memory(e);
	p->dur_ns += f->dur_ns;
	if (outputs_want_totals(&rp->outputs)) {
		sum = frame_own_view(p->sum);
		if (!sum)
			return no_memory(e);
		total = *sum;
		total.type = FRAME_TOTAL;
	}
	total.dur_ns = p->dur_ns;
	return outputs_interval(&rp->outputs, &shown, &total, e);
}

static int take_interval(struct report *rp, struct part *p, struct frame *f, struct err *e)
{
	uint64_t half = f->dur_ns / 2;

	if (!p->any)
		p->start_ns = f->mono_ns - f->dur_ns;
	p->whole = f->seq == (p->any ? p->seq + 1 : 1) && (p->whole || !p->any);
	p->any = true;
	p->seq = f->seq;
	if (selected(rp, p, f->seq, ns_of(&f->time) - (int64_t)half, f->mono_ns - half))
		return show_interval(rp, p, f, e);
	p->whole = false;
	return 0;
}

static int take_slow(struct report *rp, struct part *p, const struct slow *w, struct err *e)
{
	if (!p->any) /* the first interval has not been read: it began after this, or just before */
		p->start_ns = p->start_ns && p->start_ns < w->mono_ns ? p->start_ns : w->mono_ns;
	if (!selected(rp, p, p->seq + 1, ns_of(&w->time), w->mono_ns))
		return 0;
	return outputs_slow(&rp->outputs, w, e);
}

/*
 * The file's final report, if all that it sums up was shown; and then nothing is left to be done.
 */
static int take_final(struct report *rp, struct part *p, const struct frame *f, struct err *e)
{
	p->ended = p->whole && f->seq == p->seq;
	if (!p->ended)
		return 0;
	if (rp->nparts == 1)
		return outputs_final(&rp->outputs, f, e);
	return frame_own_add(rp->all, f, FRAME_BESIDE) ? no_memory(e) : 0;
}

static int play_records(struct report *rp, struct part *p, struct err *e)
{
	struct record *held = NULL, *r;
	int ret = 0, got;

	for (;;) {
		r = &p->r[p->at];
		got = record_file_next(&p->file, r, e);
		if (held) {
			held->frame.last = got > 0 && r->type == RECORD_FINAL && rp->nparts == 1;
			ret = take_interval(rp, p, &held->frame, e);
			held = NULL;
		}
		if (ret || got <= 0)
			return ret ? ret : got;
		if (r->type == RECORD_SLOW)
			ret = take_slow(rp, p, &r->slow, e);
		else if (r->type == RECORD_FINAL)
			ret = take_final(rp, p, &r->frame, e);
		else if (r->type == RECORD_INTERVAL) {
			held = r;
			p->at = !p->at;
			p->r[p->at].waits_off = r->waits_off;
			p->r[p->at].lines_off = r->lines_off;
		}
		if (ret)
			return ret;
	}
}

/* Of a record that ends early, or begins late. */
static void note_part(const struct report *rp, const struct part *p)
{
	if (rp->cfg.quiet || p->ended || rp->opts.from.kind || rp->opts.to.kind ||
	    rp->opts.last.kind)
		return;
	if (!p->whole)
		fprintf(stderr,
			"waitscope: note: %s: not from its first interval on: the total is of the "
			"%" PRIu64 " that are there\n",
			p->file.name, p->shown);
	else
		fprintf(stderr,
			"waitscope: note: %s: ends early%s: the total is of its %" PRIu64
			" whole intervals\n",
			p->file.name, p->file.cut ? ", within a line" : "", p->shown);
}

static int play_part(struct report *rp, struct part *p, struct err *e)
{
	const struct frame *sum;
	int ret = play_records(rp, p, e);

	if (ret)
		return ret;
	if (!p->shown)
		return err_set(e, EXIT_FAILED, -ENODATA, "%s: no interval%s%s", p->file.name,
			       p->any ? " where it is asked for: it has those up to number " : "",
			       p->any ? format_count((char[32]){0}, 32, p->seq) : "");
	note_part(rp, p);
	if (p->ended)
		return 0;
	sum = frame_own_view(p->sum);
	return !sum || frame_own_add(rp->all, sum, FRAME_BESIDE) ? no_memory(e) : 0;
}

static int show_final(struct report *rp, struct err *e)
{
	const struct frame *sum = frame_own_view(rp->all);
	bool choice = rp->opts.from.kind || rp->opts.to.kind || rp->opts.last.kind;
	struct frame f;
	char words[64];

	if (!sum)
		return no_memory(e);
	(void)snprintf(words, sizeof(words), "%zu records", rp->nparts); /* fits */
	f = *sum;
	f.type = FRAME_FINAL;
	f.end = rp->nparts > 1 ? words : choice ? "part of a record" : "record ends early";
	if (rp->nparts > 1)
		f.seq = rp->shown;
	return outputs_final(&rp->outputs, &f, e);
}

static int play(struct report *rp, struct err *e)
{
	int ret = outputs_meta(&rp->outputs, &rp->parts[0].r[0].meta, e);

	for (size_t i = 0; i < rp->nparts && !ret; i++) {
		struct part *p = &rp->parts[i];

		p->at = 1; /* r[0] has the meta record until then */
		p->r[1].waits_off = p->r[0].waits_off;
		p->r[1].lines_off = p->r[0].lines_off;
		ret = play_part(rp, p, e);
		frame_own_free(p->sum);
		p->sum = NULL;
		record_file_close(&p->file);
	}
	if (!ret && !(rp->nparts == 1 && rp->parts[0].ended))
		ret = show_final(rp, e);
	return ret;
}

/* ---- files ---- */

/* --last: how far it goes. */
static int find_end(struct part *p, struct err *e)
{
	struct record r;
	int ret;

	record_init(&r);
	while ((ret = record_file_next(&p->file, &r, e)) > 0)
		if (r.type == RECORD_INTERVAL) {
			p->last_seq = r.frame.seq;
			p->last_ns = r.frame.mono_ns;
		}
	record_free(&r);
	if (!ret)
		ret = record_file_rewind(&p->file, e);
	return ret;
}

static int open_part(struct report *rp, struct part *p, const char *path, struct err *e)
{
	int ret;

	p->sum = frame_own_new();
	if (!p->sum)
		return no_memory(e);
	ret = record_file_open(&p->file, path, e);
	if (!ret && rp->opts.last.kind)
		ret = find_end(p, e);
	if (!ret)
		ret = record_file_begin(&p->file, &p->r[0], e);
	if (ret || p == rp->parts || rp->opts.force)
		return ret;
	return meta_check_same(&(struct meta_named){rp->parts->file.name, &rp->parts->r[0].meta},
			       &(struct meta_named){p->file.name, &p->r[0].meta}, false,
			       "merges them", EXIT_FAILED, e);
}

static int open_parts(struct report *rp, struct err *e)
{
	int ret = 0;

	rp->parts = calloc(rp->opts.nfiles, sizeof(*rp->parts));
	rp->all = frame_own_new();
	if (!rp->parts || !rp->all)
		return no_memory(e);
	for (size_t i = 0; i < rp->opts.nfiles && !ret; i++) {
		rp->nparts++;
		ret = open_part(rp, &rp->parts[i], rp->opts.files[i], e);
	}
	return ret;
}

/* ---- limits ---- */

/* A source that this version does not know may tell of anything, a record of an older one have
 * groups. */
static int check_limits(const struct report *rp, struct err *e)
{
	uint64_t metrics = 0;
	bool groups = false;

	for (size_t i = 0; i < rp->nparts; i++) {
		const struct meta *m = &rp->parts[i].r[0].meta;

		groups |= !m->options || (m->options->by && strcmp(m->options->by, "cpu"));
		for (size_t j = 0; j < m->nsources; j++) {
			const struct source_ops *ops = source_find(m->sources[j].name);

			if (m->sources[j].on)
				metrics |= ops ? limits_metrics(ops) : UINT64_MAX;
		}
	}
	return limits_check(&rp->cfg.limits, metrics, groups, "of the record", e);
}

/* ---- options ---- */

/* --name, or --name=value. */
static int add_word(struct report *rp, size_t *n, const char *name, const char *value)
{
	if (asprintf(&rp->argv[*n], "--%s%s%s", name, value ? "=" : "", value ? value : "") < 0) {
		rp->argv[*n] = NULL;
		return -ENOMEM;
	}
	++*n;
	return 0;
}

/* What of the run's own options shapes how its reports look, unless they were given here. */
static int recorded_words(struct report *rp, size_t *n)
{
	const struct meta_options *o = rp->parts[0].r[0].meta.options;
	char interval[32], list[1024] = "";
	size_t at = 0;
	int ret = 0;

	if (!o)
		return 0;
	(void)snprintf(interval, sizeof(interval), "%" PRIu64 "ns", o->interval_ns); /* fits */
	if (o->interval_ns)
		ret = add_word(rp, n, "interval", interval);
	if (!ret && o->by)
		ret = add_word(rp, n, "by", o->by);
	for (size_t i = 0; o->percentiles[i] && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", at ? "," : "",
				       o->percentiles[i]);
	if (!ret && at && at < sizeof(list))
		ret = add_word(rp, n, "percentiles", list);
	return ret;
}

static void forget_shared(struct report *rp)
{
	config_free(&rp->cfg);
	for (size_t i = 0; rp->argv && rp->argv[i]; i++)
		free(rp->argv[i]);
	free(rp->argv);
	rp->argv = NULL;
}

/* The shared ones are read as a run's are: of made-up data, to which all of them mean something. */
static int read_shared(struct report *rp, FILE *out, struct err *e)
{
	const struct source_ops *const *s;
	enum opts_action action;
	size_t n = 0;
	int ret;

	forget_shared(rp);
	rp->argv = calloc(rp->opts.nshared / 2 + 8, sizeof(*rp->argv));
	if (!rp->argv)
		return no_memory(e);
	ret = add_word(rp, &n, "report", NULL);
	for (s = source_list; !ret && *s; s++)
		if ((*s)->made_up)
			ret = add_word(rp, &n, "source", (*s)->name);
	if (!ret && rp->parts)
		ret = recorded_words(rp, &n);
	for (size_t i = 0; i < rp->opts.nshared && !ret; i += 2)
		ret = add_word(rp, &n, rp->opts.shared[i], rp->opts.shared[i + 1]);
	if (ret)
		return no_memory(e);
	ret = opts_parse(&rp->cfg, out, (int)n, rp->argv, &action, e);
	rp->cfg.no_clear = true; /* what is read later stays on the screen */
	return ret;
}

static void report_free(struct report *rp)
{
	for (size_t i = 0; i < rp->nparts; i++) {
		record_file_close(&rp->parts[i].file);
		record_free(&rp->parts[i].r[0]);
		record_free(&rp->parts[i].r[1]);
		frame_own_free(rp->parts[i].sum);
	}
	free(rp->parts);
	frame_own_free(rp->all);
	forget_shared(rp);
	report_opts_free(&rp->opts);
}

int report_main(int argc, char **argv, FILE *out, FILE *notes, int *status, bool *bisect,
		bool *began, struct err *e)
{
	struct report rp = {0};
	int ret, closed;

	*bisect = opts_mean_bisect(argc, argv);
	(void)signal(SIGPIPE, SIG_IGN); /* the write says EPIPE, or EFBIG */
	(void)signal(SIGXFSZ, SIG_IGN);
	ret = privs_return(e);
	if (!ret)
		ret = report_opts_read(&rp.opts, argc, argv, out, e);
	if (ret || rp.opts.printed)
		goto out;
	ret = read_shared(&rp, out, e); /* is the line right? Before any file is opened */
	*began = !ret;
	if (!ret)
		ret = open_parts(&rp, e);
	if (!ret)
		ret = read_shared(&rp, out, e);
	if (!ret)
		ret = check_limits(&rp, e);
	if (!ret)
		ret = outputs_open(&rp.outputs, &rp.cfg, true, e);
	if (!ret)
		ret = outputs_verdict(&rp.outputs, play(&rp, e), notes, status, e);
	closed = outputs_close(&rp.outputs, ret ? NULL : e);
	ret = ret ? ret : closed;
out:
	report_free(&rp);
	return ret;
}
