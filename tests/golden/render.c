// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pushes a recorded run through a sink: render SINK FIXTURE [FILE], to stdout or FILE. A fixture is
 * lines of words; \xNN in a word is that byte (\x20 a space), # starts a comment.
 *
 *	columns N | lines N | tty | color | redraw	the terminal
 *	by KEY | sort KEY | rows N | unit UNIT | quantiles LIST | precision N | slower NS
 *	intervals NS | duration NS | totals | timestamps	options
 *	metric NAME ROLE TITLE				a metric_desc; ROLE headline leg side
 *counter meta VERSION KERNEL CPUS SECONDS.NANOSECONDS arg TEXT | source NAME [HOOK...] | off NAME
 *WHY | filter KEY VALUE open						all of the above is said:
 *opens, writes meta frame TYPE SEQ TIME MONO_NS DUR_NS [END]	begins a frame; TYPE interval total
 *final quality FIELD=N...				also tid=N comm=TEXT cost NS_PER_EVENT
 *BPF_PPM USER_PPM series METRIC [KEY=VALUE...] : SAMPLES...	NS, NSxN, FROM-TOxN (evenly spread),
 *sum (of this metric's CPU series that follow), =N (value)
 *	same						the series and quality of the frame before
 *	report						pushes: interval frame (and total), or final
 *	slow TIME MONO_NS FIELD=VALUE...
 *	progress NS | resize COLUMNS LINES | reopen
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/sink.h"

#define WORDS 4096
#define SERIES 4096
#define MAX_METRICS 16
#define MAX_LIST 16

struct recorded {
	struct frame f;
	struct series series[SERIES];
	struct hist hists[SERIES];
	size_t nsum, sum_of[MAX_METRICS]; /* series that are sums of their CPUs */
};

struct player {
	const struct sink_ops *ops;
	const char *path;
	struct sink *sink;
	struct config cfg;
	struct sink_args args;
	struct meta meta;
	struct meta_source sources[MAX_LIST];
	struct label filters[MAX_LIST];
	const char *argv[MAX_LIST + 1];
	const char *hooks[MAX_LIST][MAX_LIST];
	size_t nargs;
	struct metric_desc metrics[MAX_METRICS];
	size_t nmetrics;
	struct bucket_table buckets;
	struct recorded *interval, *total, *cur;
	char *kept[65536]; /* copies of the lines: words point into them */
	size_t nkept;
	struct err e;
};

struct command {
	const char *name;
	int min_words; /* with the name */
	int (*run)(struct player *p, char **w, int n);
};

static int bad(struct player *p, const char *what)
{
	return err_set(&p->e, EXIT_USAGE, -EINVAL, "bad word '%s'", what);
}

static uint64_t number(const char *s)
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

static struct timespec parse_timespec(const char *s)
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

static int set_enum(struct player *p, const char *const *list, const char *w, int *out)
{
	*out = word_index(list, w);
	return *out < 0 ? bad(p, w) : 0;
}

static int do_by(struct player *p, char **w, int n)
{
	static const char *const list[] = {"none", "cpu", "pid", "tid", "comm", "cgroup", NULL};
	int v, ret = set_enum(p, list, w[1], &v);

	p->cfg.by = ret ? BY_NONE : (enum by_key)v;
	return ret;
}

static int do_sort(struct player *p, char **w, int n)
{
	static const char *const list[] = {"p99", "count", "sum", "max", "p50", "name", NULL};
	int v, ret = set_enum(p, list, w[1], &v);

	p->cfg.sort = ret ? SORT_P99 : (enum sort_key)v;
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
		p->cfg.rows = (uint32_t)v;
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
	static const char *const roles[] = {"headline", "leg", "side", "counter", NULL};
	int role, ret = set_enum(p, roles, w[2], &role);

	if (ret || p->nmetrics == MAX_METRICS)
		return bad(p, w[2]);
	p->metrics[p->nmetrics++] = (struct metric_desc){
		.name = w[1],
		.title = w[3],
		.role = role == 3 ? METRIC_SIDE : (enum metric_role)role,
		.counter = role == 3,
	};
	return 0;
}

static int do_meta(struct player *p, char **w, int n)
{
	p->meta.version = w[1];
	p->meta.kernel = w[2];
	p->meta.cpus = (uint32_t)number(w[3]);
	p->meta.start = parse_timespec(w[4]);
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

static void recorded_clear(struct recorded *r)
{
	size_t i;

	for (i = 0; i < r->f.nseries; i++)
		hist_free(&r->hists[i]);
	memset(&r->f, 0, sizeof(r->f));
	r->nsum = 0;
}

static int do_frame(struct player *p, char **w, int n)
{
	static const char *const types[] = {"interval", "total", "final", NULL};
	int type, ret = set_enum(p, types, w[1], &type);

	if (ret)
		return ret;
	p->cur = type == FRAME_INTERVAL ? p->interval : p->total;
	recorded_clear(p->cur);
	p->cur->f.type = (enum frame_type)type;
	p->cur->f.seq = number(w[2]);
	p->cur->f.time = parse_timespec(w[3]);
	p->cur->f.mono_ns = number(w[4]);
	p->cur->f.dur_ns = number(w[5]);
	p->cur->f.series = p->cur->series;
	p->cur->f.end = n > 6 ? w[6] : NULL;
	return 0;
}

static int do_same(struct player *p, char **w, int n)
{
	struct recorded *to = p->total, *from = p->interval;
	size_t i;
	int ret = 0;

	for (i = 0; i < from->f.nseries && !ret; i++) {
		to->series[i] = from->series[i];
		hist_init(&to->hists[i], p->cfg.precision);
		to->f.nseries = i + 1;
		if (!from->series[i].hist)
			continue;
		to->series[i].hist = &to->hists[i];
		ret = hist_merge(&to->hists[i], &from->hists[i]);
	}
	to->f.quality = from->f.quality;
	to->f.self = from->f.self;
	return ret;
}

static const struct {
	const char *name;
	size_t offset;
} quality_fields[] = {
	{"unpaired", offsetof(struct quality, unpaired)},
	{"clamped", offsetof(struct quality, clamped)},
	{"map_full", offsetof(struct quality, map_full)},
	{"recursion_misses", offsetof(struct quality, recursion_misses)},
	{"lost_events", offsetof(struct quality, lost_events)},
	{"over_range", offsetof(struct quality, over_range)},
	{"missed", offsetof(struct quality, missed)},
	{"in_flight", offsetof(struct quality, in_flight)},
	{"longest_ns", offsetof(struct quality, longest_ns)},
};

/* "key=value" in place; NULL if there is no '='. */
static char *split(char *word)
{
	char *eq = strchr(word, '=');

	if (eq)
		*eq++ = '\0';
	return eq;
}

static int quality_field(struct player *p, const char *key, const char *value)
{
	struct quality *q = &p->cur->f.quality;
	uint64_t v = number(value);
	size_t i;

	if (!strcmp(key, "tid")) {
		q->longest_tid = (uint32_t)v;
		return 0;
	}
	if (!strcmp(key, "comm")) {
		memcpy(q->longest_comm, value, strnlen(value, sizeof(q->longest_comm)));
		return 0;
	}
	for (i = 0; i < sizeof(quality_fields) / sizeof(quality_fields[0]); i++) {
		if (strcmp(key, quality_fields[i].name))
			continue;
		memcpy((char *)q + quality_fields[i].offset, &v, sizeof(v));
		return 0;
	}
	return bad(p, key);
}

static int do_quality(struct player *p, char **w, int n)
{
	int i, ret = 0;
	char *value;

	for (i = 1; i < n && !ret; i++) {
		value = split(w[i]);
		ret = value ? quality_field(p, w[i], value) : bad(p, w[i]);
	}
	return ret;
}

static int do_cost(struct player *p, char **w, int n)
{
	p->cur->f.self = (struct self_cost){true, strtod(w[1], NULL), strtod(w[2], NULL),
					    strtod(w[3], NULL)};
	return 0;
}

/* "5100" "5100x64" "900-1708x30" */
static int add_samples(struct player *p, struct hist *h, const char *word)
{
	uint64_t from, to, n = 1, i;
	char *end;
	int ret = 0;

	from = to = strtoull(word, &end, 10);
	if (*end == '-')
		to = strtoull(end + 1, &end, 10);
	if (*end == 'x')
		n = strtoull(end + 1, &end, 10);
	if (*end || to < from || !n)
		return bad(p, word);
	for (i = 0; i < n && !ret; i++)
		ret = hist_add(h, &p->buckets, n > 1 ? from + (to - from) * i / (n - 1) : from);
	return ret;
}

static int series_samples(struct player *p, size_t k, char **w, int n)
{
	struct recorded *r = p->cur;
	int i, ret = 0;

	for (i = 0; i < n && !ret; i++) {
		if (!strcmp(w[i], "sum") && r->nsum < MAX_METRICS)
			r->sum_of[r->nsum++] = k;
		else if (w[i][0] == '=')
			r->series[k].value = number(w[i] + 1);
		else
			ret = add_samples(p, &r->hists[k], w[i]);
	}
	return ret;
}

static int do_series(struct player *p, char **w, int n)
{
	struct recorded *r = p->cur;
	size_t k = r->f.nseries, m;
	struct series *s = &r->series[k];
	int i;

	for (m = 0; m < p->nmetrics && strcmp(p->metrics[m].name, w[1]); m++)
		;
	if (m == p->nmetrics || k == SERIES)
		return bad(p, w[1]);
	*s = (struct series){.desc = &p->metrics[m]};
	for (i = 2; i < n && strcmp(w[i], ":"); i++) {
		if (s->nlabels == SERIES_LABELS)
			return bad(p, w[i]);
		s->labels[s->nlabels].value = split(w[i]);
		if (!s->labels[s->nlabels].value)
			return bad(p, w[i]);
		s->labels[s->nlabels++].key = w[i];
	}
	hist_init(&r->hists[k], p->cfg.precision);
	s->hist = s->desc->counter ? NULL : &r->hists[k];
	r->f.nseries++;
	return i < n ? series_samples(p, k, w + i + 1, n - i - 1) : 0;
}

static int add_sums(struct recorded *r)
{
	size_t i, k, whole;
	int ret = 0;

	for (i = 0; i < r->nsum; i++) {
		whole = r->sum_of[i];
		for (k = 0; k < r->f.nseries && !ret; k++) {
			if (r->series[k].desc == r->series[whole].desc &&
			    series_label(&r->series[k], "cpu"))
				ret = hist_merge(&r->hists[whole], &r->hists[k]);
		}
	}
	r->nsum = 0;
	return ret;
}

static int do_report(struct player *p, char **w, int n)
{
	int ret = add_sums(p->interval);

	if (!ret)
		ret = add_sums(p->total);
	if (ret)
		return ret;
	if (p->cur->f.type == FRAME_FINAL)
		return p->ops->final(p->sink, &p->total->f, &p->e);
	return p->ops->interval(p->sink, &p->interval->f, &p->total->f, &p->e);
}

static int slow_field(struct player *p, struct slow *s, const char *key, const char *value)
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
		return 0;
	}
	return bad(p, key);
}

static int do_slow(struct player *p, char **w, int n)
{
	struct slow s = {.time = parse_timespec(w[1]), .mono_ns = number(w[2])};
	int i, ret = 0;
	char *value;

	for (i = 3; i < n && !ret; i++) {
		value = split(w[i]);
		ret = value ? slow_field(p, &s, w[i], value) : bad(p, w[i]);
	}
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
