// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pushes a recorded run through a sink: render SINK FIXTURE [FILE], to stdout or FILE. A fixture is
 * lines of words; \xNN in a word is that byte (\x20 a space); # begins a comment line.
 *
 *	columns N, lines N, tty, color, redraw		the terminal
 *	by KEY, sort KEY, rows N, unit UNIT		options
 *	quantiles LIST, precision N, slower NS
 *	intervals NS, duration NS, totals, timestamps
 *	metric NAME ROLE TITLE [pivot=KEY] [joins=NAME] [part_of=NAME] [ranks]
 *					ROLE: headline leg side rows counts note counter
 *	meta VERSION KERNEL CPUS TIME	TIME: seconds, perhaps .fraction
 *	arg TEXT, filter KEY VALUE
 *	source NAME [HOOK...], off NAME WHY
 *	open						opens the sink and writes meta
 *	frame TYPE SEQ TIME MONO_NS DUR_NS [END]	TYPE: interval total final
 *	quality FIELD=N...				also tid=N comm=TEXT
 *	cost NS_PER_EVENT BPF_PPM USER_PPM
 *	series METRIC [KEY=VALUE...] : SAMPLES...	see add_samples; =N: a counter's value;
 *							sum: the metric's CPUs, added up
 *	split BLOCKED_NS RUN_QUEUE_NS			of the series before it
 *	contends					a source of contended addresses runs
 *	contended SOURCE KIND FIELD=VALUE... [: SAMPLES...]
 *	site COUNT IP SYM, member OFFSET SIZE NAME [hot]	of the contended address before them
 *	accesses SAMPLER FIELD=VALUE... [: CYCLES...]	it is a cache line
 *	thread PID TID CPU COMM SAMPLES WRITES READ_BYTES WRITE_BYTES
 *	spot OFFSET SIZE TID IP NAME SYM SAMPLES READS WRITES LOCKED [hitm=LOCAL,REMOTE]
 *		[: CYCLES...]
 *	same						series and quality of the interval
 *	report						interval frame and total, or final
 *	slow TIME MONO_NS FIELD=VALUE...
 *	progress NS, resize COLUMNS LINES, reopen
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "player.h"

#define WORDS 4096

struct command {
	const char *name;
	int min_words; /* with the name */
	int (*run)(struct player *p, char **w, int n);
};
int bad(struct player *p, const char *what)
{
	return err_set(&p->e, EXIT_USAGE, -EINVAL, "bad word '%s'", what);
}

uint64_t number(const char *s)
{
	return strtoull(s, NULL, 10);
}

/* \xNN, in place */
static void unescape(char *s)
{
	char hex[3] = {0}, *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] == 'x' && s[2] && s[3]) {
			memcpy(hex, s + 2, 2);
			*to++ = (char)strtoul(hex, NULL, 16);
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

struct timespec parse_timespec(const char *s)
{
	char *end;
	struct timespec ts = {.tv_sec = strtoll(s, &end, 10)};

	int digits;

	if (*end != '.')
		return ts;
	for (digits = 0, end++; digits < 9; digits++) {
		ts.tv_nsec = ts.tv_nsec * 10 + (*end ? *end - '0' : 0);
		end += *end != '\0';
	}
	return ts;
}
/* "key=value" in place; NULL if there is no '='. */
char *split(char *word)
{
	char *eq = strchr(word, '=');

	if (eq)
		*eq++ = '\0';
	return eq;
}

/* Index of a word in a list. */
static int word_index(const char *const *list, const char *w)
{
	int i;

	for (i = 0; list[i]; i++) {
		if (!strcmp(list[i], w))
			return i;
	}
	return -1;
}

int set_enum(struct player *p, const char *const *list, const char *w, int *out)
{
	*out = word_index(list, w);
	return *out < 0 ? bad(p, w) : 0;
}

static int do_by(struct player *p, char **w, int n)
{
	static const char *const list[] = {"none", "cpu",    "pid",  "tid",
					   "comm", "cgroup", "file", NULL};
	int v, ret = set_enum(p, list, w[1], &v);

	p->cfg.by = ret ? BY_NONE : (enum by_key)v;
	return ret;
}

static int do_sort(struct player *p, char **w, int n)
{
	static const char *const list[] = {"default", "p99", "count", "sum",
					   "max",     "p50", "name",  NULL};
	int v, ret = set_enum(p, list, w[1], &v);

	p->cfg.sort = ret ? SORT_DEFAULT : (enum sort_key)v;
	return ret;
}

static int do_unit(struct player *p, char **w, int n)
{
	static const char *const list[] = {"auto", "ns", "us", "ms", NULL};
	int v, ret = set_enum(p, list, w[1], &v);

	p->cfg.unit = ret ? UNIT_AUTO : (enum unit)v;
	return ret;
}

static int do_option(struct player *p, char **w, int n)
{
	uint64_t v = n > 1 ? number(w[1]) : 1;

	if (!strcmp(w[0], "columns"))
		p->args.columns = (uint32_t)v;
	else if (!strcmp(w[0], "lines"))
		p->args.lines = (uint32_t)v;
	else if (!strcmp(w[0], "tty"))
		p->args.tty = true;
	else if (!strcmp(w[0], "color"))
		p->args.color = true;
	else if (!strcmp(w[0], "redraw"))
		p->args.redraw = true;
	else if (!strcmp(w[0], "rows"))
		p->cfg.rows = p->cfg.list_rows = (uint32_t)v;
	else if (!strcmp(w[0], "precision"))
		p->cfg.precision = (uint32_t)v;
	else if (!strcmp(w[0], "totals"))
		p->cfg.totals = true;
	else if (!strcmp(w[0], "timestamps"))
		p->cfg.timestamps = true;
	else if (!strcmp(w[0], "intervals"))
		p->cfg.interval_ns = v;
	else if (!strcmp(w[0], "duration"))
		p->cfg.duration_ns = v;
	else if (!strcmp(w[0], "slower"))
		p->cfg.slower = true, p->cfg.slower_ns = v;
	return 0;
}

static int do_quantiles(struct player *p, char **w, int n)
{
	free(p->cfg.quantiles);
	p->cfg.quantiles = NULL;
	return parse_quantiles(w[1], "quantiles", &p->cfg.quantiles, &p->cfg.nquantiles, &p->e);
}

static int do_metric(struct player *p, char **w, int n)
{
	static const char *const names[] = {"headline", "leg",	"side",	   "rows",
					    "counts",	"note", "counter", NULL};
	static const enum metric_role roles[] = {METRIC_HEADLINE, METRIC_LEG,	 METRIC_SIDE,
						 METRIC_ROWS,	  METRIC_COUNTS, METRIC_NOTE,
						 METRIC_SIDE};
	struct metric_desc *m = &p->metrics[p->nmetrics];
	int i, role, ret = set_enum(p, names, w[2], &role);

	if (ret || p->nmetrics == MAX_METRICS)
		return bad(p, w[2]);
	*m = (struct metric_desc){
		.name = w[1], .title = w[3], .role = roles[role], .counter = role >= 4};
	for (i = 4; i < n; i++) {
		const char *value = split(w[i]);

		if (value && !strcmp(w[i], "pivot"))
			m->pivot = value;
		else if (value && !strcmp(w[i], "joins"))
			m->joins = value;
		else if (value && !strcmp(w[i], "part_of"))
			m->part_of = value;
		else if (!value && !strcmp(w[i], "ranks"))
			m->ranks = true;
		else
			return bad(p, w[i]);
	}
	p->nmetrics++;
	return 0;
}

static int do_meta(struct player *p, char **w, int n)
{
	p->meta.version = w[1];
	p->meta.kernel = w[2];
	p->meta.cpus = (uint32_t)number(w[3]);
	p->meta.start = parse_timespec(w[4]);
	p->meta.hidden = n > 5 && !strcmp(w[5], "hidden");
	return 0;
}

static int do_arg(struct player *p, char **w, int n)
{
	if (p->nargs == MAX_LIST)
		return bad(p, w[1]);
	p->argv[p->nargs++] = w[1];
	return 0;
}

static int do_source(struct player *p, char **w, int n)
{
	bool on = !strcmp(w[0], "source");
	size_t k = p->meta.nsources;
	int i;

	if (k == MAX_LIST || n > MAX_LIST)
		return bad(p, w[1]);
	for (i = 2; on && i < n; i++)
		p->hooks[k][i - 2] = w[i];
	p->sources[k] = (struct meta_source){w[1], on, on ? NULL : w[2], on ? p->hooks[k] : NULL};
	p->meta.nsources++;
	return 0;
}

static int do_filter(struct player *p, char **w, int n)
{
	if (p->meta.nfilters == MAX_LIST)
		return bad(p, w[1]);
	p->filters[p->meta.nfilters++] = (struct label){w[1], w[2]};
	return 0;
}

static int do_open(struct player *p, char **w, int n)
{
	int ret;

	p->args.cfg = &p->cfg;
	p->args.path = p->path;
	p->meta.sources = p->sources;
	p->meta.filters = p->filters;
	p->meta.argv = p->argv;
	ret = bucket_table_init(&p->buckets, p->cfg.precision);
	if (!ret)
		ret = p->ops->open(&p->sink, &p->args, &p->e);
	return ret ? ret : p->ops->meta(p->sink, &p->meta, &p->e);
}

static int slow_field(struct player *p, struct slow *s, struct slow_op *op, const char *key,
		      const char *value)
{
	const struct {
		const char *name;
		uint32_t *u32;
		uint64_t *u64;
		const char **text;
	} fields[] = {
		{"metric", .text = &s->metric},
		{"kind", .text = &s->kind},
		{"cpu", .u32 = &s->cpu},
		{"pid", .u32 = &s->pid},
		{"tid", .u32 = &s->tid},
		{"comm", .text = &s->comm},
		{"cgroup", .text = &s->cgroup},
		{"wait", .u64 = &s->wait_ns},
		{"queue", .u64 = &s->wake_to_queue_ns},
		{"run", .u64 = &s->queue_to_run_ns},
		{"waker", .text = &s->waker},
		{"waker_pid", .u32 = &s->waker_pid},
		{"waker_tid", .u32 = &s->waker_tid},
		{"waker_comm", .text = &s->waker_comm},
		{"prev_pid", .u32 = &s->prev_pid},
		{"prev_tid", .u32 = &s->prev_tid},
		{"prev_comm", .text = &s->prev_comm},
		{"last_cpu", .u32 = &s->last_cpu},
		{"op", .text = &op->op},
		{"dev", .text = &op->dev},
		{"mount", .text = &op->mount},
		{"path", .text = &op->path},
		{"bytes", .u64 = &op->bytes},
		{"blocked", .u64 = &op->split.blocked_ns},
		{"run_queue", .u64 = &op->split.run_queue_ns},
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(key, fields[i].name))
			continue;
		if (fields[i].text)
			*fields[i].text = value;
		else if (fields[i].u64)
			*fields[i].u64 = number(value);
		else
			*fields[i].u32 = (uint32_t)number(value);
		s->has_legs |= fields[i].u64 == &s->queue_to_run_ns;
		s->last_cpu_known |= fields[i].u32 == &s->last_cpu;
		op->has_split |= fields[i].u64 == &op->split.blocked_ns;
		return 0;
	}
	return bad(p, key);
}

static int do_slow(struct player *p, char **w, int n)
{
	struct slow s = {.time = parse_timespec(w[1]), .mono_ns = number(w[2])};
	struct slow_op op = {0};
	int i, ret = 0;
	char *value;

	for (i = 3; i < n && !ret; i++) {
		value = split(w[i]);
		ret = value ? slow_field(p, &s, &op, w[i], value) : bad(p, w[i]);
	}
	s.op = op.op ? &op : NULL;
	s.migrated = s.last_cpu_known && s.last_cpu != s.cpu;
	if (ret || !p->ops->slow)
		return ret;
	return p->ops->slow(p->sink, &s, &p->e);
}

static int do_progress(struct player *p, char **w, int n)
{
	return p->ops->progress ? p->ops->progress(p->sink, number(w[1]), &p->e) : 0;
}

static int do_resize(struct player *p, char **w, int n)
{
	if (p->ops->resize)
		p->ops->resize(p->sink, (uint32_t)number(w[1]), (uint32_t)number(w[2]));
	return 0;
}

/* With a FILE: moved away first, as logrotate does. */
static int do_reopen(struct player *p, char **w, int n)
{
	char moved[4096];

	if (p->path) {
		if (snprintf(moved, sizeof(moved), "%s.1", p->path) >= (int)sizeof(moved))
			return -ENAMETOOLONG;
		if (rename(p->path, moved))
			return err_sys(&p->e, -errno, "rename '%s'", p->path);
	}
	return p->ops->reopen(p->sink, &p->e);
}

static const struct command commands[] = {
	{"columns", 2, do_option},
	{"lines", 2, do_option},
	{"tty", 1, do_option},
	{"color", 1, do_option},
	{"redraw", 1, do_option},
	{"rows", 2, do_option},
	{"precision", 2, do_option},
	{"totals", 1, do_option},
	{"timestamps", 1, do_option},
	{"intervals", 2, do_option},
	{"duration", 2, do_option},
	{"slower", 2, do_option},
	{"by", 2, do_by},
	{"sort", 2, do_sort},
	{"unit", 2, do_unit},
	{"quantiles", 2, do_quantiles},
	{"metric", 4, do_metric},
	{"meta", 5, do_meta},
	{"arg", 2, do_arg},
	{"source", 2, do_source},
	{"off", 3, do_source},
	{"filter", 3, do_filter},
	{"open", 1, do_open},
	{"frame", 6, do_frame},
	{"quality", 2, do_quality},
	{"cost", 4, do_cost},
	{"series", 2, do_series},
	{"split", 3, do_split},
	{"contends", 1, do_contends},
	{"contended", 3, do_contended},
	{"site", 4, do_site},
	{"member", 4, do_member},
	{"accesses", 2, do_accesses},
	{"thread", 9, do_thread},
	{"spot", 11, do_spot},
	{"same", 1, do_same},
	{"report", 1, do_report},
	{"slow", 3, do_slow},
	{"progress", 2, do_progress},
	{"resize", 3, do_resize},
	{"reopen", 1, do_reopen},
};

static int play_line(struct player *p, char *line)
{
	char *words[WORDS], *save, *w;
	size_t i;
	int n = 0;

	for (w = strtok_r(line, " \t\n", &save); w && n < WORDS;
	     w = strtok_r(NULL, " \t\n", &save)) {
		unescape(w);
		words[n++] = w;
	}
	if (!n || words[0][0] == '#')
		return 0;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcmp(words[0], commands[i].name) && n >= commands[i].min_words)
			return commands[i].run(p, words, n);
	}
	return bad(p, words[0]);
}

static int play(struct player *p, FILE *in)
{
	char *line = NULL;
	size_t cap = 0;
	int ret = 0;

	while (!ret && getline(&line, &cap, in) > 0) {
		if (p->nkept == sizeof(p->kept) / sizeof(p->kept[0]))
			ret = -E2BIG;
		else if (!(p->kept[p->nkept] = strdup(line)))
			ret = -ENOMEM;
		else
			ret = play_line(p, p->kept[p->nkept++]);
	}
	free(line);
	return ret;
}

static void player_free(struct player *p)
{
	size_t i;

	if (p->interval)
		recorded_clear(p->interval);
	if (p->total)
		recorded_clear(p->total);
	free(p->interval);
	free(p->total);
	free(p->cfg.quantiles);
	for (i = 0; i < p->nkept; i++)
		free(p->kept[i]);
	free(p);
}

int main(int argc, char **argv)
{
	struct player *p = calloc(1, sizeof(*p));
	FILE *in = argc > 2 ? fopen(argv[2], "re") : NULL;
	int ret = -EINVAL, closed = 0;

	if (!p || !in)
		goto out;
	(void)signal(SIGPIPE, SIG_IGN); /* as main does: writes tell */
	p->args.columns = 80;
	p->cfg.precision = BUCKET_SCHEMA_DEFAULT;
	p->cfg.interval_ns = 1000000000;
	p->cfg.list_rows = 20;
	p->ops = sink_find(argv[1]);
	p->path = argc > 3 ? argv[3] : NULL;
	p->interval = calloc(1, sizeof(*p->interval));
	p->total = calloc(1, sizeof(*p->total));
	if (!p->ops || !p->interval || !p->total)
		goto out;
	ret = parse_quantiles("50,90,99,99.9", "quantiles", &p->cfg.quantiles, &p->cfg.nquantiles,
			      &p->e);
	if (!ret)
		ret = play(p, in);
	closed = p->ops->close(p->sink, &p->e);
	if (!ret)
		ret = closed;
out:
	/* -EPIPE without words is the quiet end. */
	if (ret && (ret != -EPIPE || p->e.text[0]))
		(void)fprintf(stderr, "render: %s\n",
			      p && p->e.text[0] ? p->e.text : strerror(-ret));
	if (in)
		(void)fclose(in);
	if (p)
		player_free(p);
	return ret == -EPIPE ? 32 : ret ? 1 : 0;
}
