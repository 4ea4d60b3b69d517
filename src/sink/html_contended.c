// SPDX-License-Identifier: GPL-2.0-or-later
/* Contended addresses with what lies on their lines, cache lines with who touches which byte, and
 * single slow waits. Numbers of tables within a row have their names from JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

#define BYTES 64
#define BYTE 9 /* wide */
#define LEFT 170
#define TOP 20
#define STRIP 22
#define HALF 9
#define THREADS 16 /* more are in the table alone */

/*
 * ---- a cache line ----
 *
 * A cache line as a strip of its 64 bytes for each thread that touched it: what it read in the
 * upper half of the strip, what it wrote in the lower one. Strips whose lower halves share no byte
 * are false sharing.
 *
 *	               0       8       16      24      32      40      48      56      64
 *	orders 26815   |       |       |       |       |▄▄▄▄▄▄▄|       |       |       |
 *	orders 26816   |       |       |       |       |       |▄▄▄▄▄▄▄|       |       |
 */

static void ruler(struct out *out, size_t n)
{
	for (unsigned int b = 0; b <= BYTES; b += 8)
		out_printf(out,
			   "<path class=g d=\"M%u %uv%zu\"/><text x=%u y=%u "
			   "text-anchor=middle>%u</text>",
			   LEFT + b * BYTE, TOP, n * STRIP, LEFT + b * BYTE, TOP - 6, b);
}

/* Bytes side by side are one rectangle. */
static void bytes(struct out *out, const char *class, uint64_t mask, size_t y)
{
	for (unsigned int from = 0, to; from < BYTES; from = to + 1) {
		for (to = from; to < BYTES && mask >> to & 1;)
			to++;
		if (to > from)
			out_printf(out, "<rect class=%s x=%u y=%zu width=%u height=%u />", class,
				   LEFT + from * BYTE, y, (to - from) * BYTE, HALF);
	}
}

/* "32..39" */
static void put_ranges(struct out *out, const char *what, uint64_t mask)
{
	const char *before = what;

	for (unsigned int from = 0, to; from < BYTES; from = to + 1) {
		for (to = from; to < BYTES && mask >> to & 1;)
			to++;
		if (to > from) {
			out_printf(out, "%s %u..%u", before, from, to - 1);
			before = ",";
		}
	}
}

/* For those who hear it: the same in words. */
static void spoken(struct out *out, const struct line_accesses *a, size_t n)
{
	out_text(out, "aria-label=\"Bytes of the line:");
	for (size_t i = 0; i < n; i++) {
		const struct line_thread *t = &a->threads[i];

		out_printf(out, "%s ", i ? ";" : "");
		html_text(out, t->comm ? t->comm : "thread");
		out_printf(out, " %" PRIu32, t->tid);
		put_ranges(out, " reads", t->read_bytes);
		put_ranges(out, " writes", t->write_bytes);
	}
	out_text(out, "\"");
}

static void put_line(struct out *out, const struct line_accesses *a)
{
	size_t n = a->nthreads < THREADS ? a->nthreads : THREADS;

	if (!n || out->len > HTML_BYTES)
		return;
	out_printf(out, "<figure class=line><svg viewBox=\"0 0 %u %zu\" role=img ",
		   LEFT + BYTES * BYTE + 12, TOP + n * STRIP + 6);
	spoken(out, a, n);
	out_text(out, "><g class=m>");
	ruler(out, n);
	for (size_t i = 0; i < n; i++) {
		const struct line_thread *t = &a->threads[i];
		size_t y = TOP + i * STRIP;

		out_printf(out, "<text x=%u y=%zu text-anchor=end>", LEFT - 8, y + 15);
		html_text(out, t->comm ? t->comm : "");
		out_printf(out, " %" PRIu32 "</text>", t->tid);
		bytes(out, "c4", t->read_bytes, y + 2);
		bytes(out, "c8", t->write_bytes, y + 2 + HALF);
	}
	out_text(out,
		 "</g></svg><figcaption>The 64 bytes of the line, a strip for each thread: above "
		 "what it read, below what it wrote");
	if (n < a->nthreads)
		out_printf(out, "; the busiest %zu of %zu", n, a->nthreads);
	out_text(out, ".</figcaption></figure>\n");
}

/* ---- details ---- */

static bool any_detail(const struct contended *c)
{
	return c->nsites || c->nholders || c->nmembers || c->futex ||
	       (c->accesses && (c->accesses->nthreads || c->accesses->nuses));
}

/* What it is called, by which it is chosen. */
static void put_name(struct out *out, const struct contended *c)
{
	char addr[32];

	(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, c->addr); /* fits */
	if (c->other)
		out_text(out, "others: ");
	html_text(out, c->other ? c->source : c->name ? c->name : addr);
	if (c->name_inferred)
		out_text(out, " (inferred)");
}

static void details(struct html_page *p, const struct contended *c, bool open)
{
	const struct line_accesses *a = c->accesses;
	struct out *out = p->out;

	out_printf(out, "<details data-i=%td%s><summary>", c - p->f->contended,
		   open ? " open" : "");
	put_name(out, c);
	if (!c->other && c->name)
		out_printf(out, ", 0x%" PRIx64, c->addr);
	if (c->owner) {
		out_text(out, ", ");
		html_text(out, c->owner);
	}
	if (c->group.key) {
		out_text(out, ", ");
		html_text(out, c->group.value);
	}
	out_text(out, "</summary>\n");
	if (a)
		put_line(out, a);
	html_fields(out, "sites", "Code", &site_fields, c->sites, c->nsites, sizeof(*c->sites));
	html_fields(out, "holders", "Who held it", &holder_fields, c->holders, c->nholders,
		    sizeof(*c->holders));
	html_fields(out, "futex", "Futex", &futex_fields, c->futex, c->futex ? 1 : 0,
		    sizeof(*c->futex));
	html_fields(out, "line.members", "On its cache line", &member_fields, c->members,
		    c->nmembers, sizeof(*c->members));
	if (a) {
		html_fields(out, "offsets", "Bytes, and the code that touches them", &spot_fields,
			    a->uses, a->nuses, sizeof(*a->uses));
		html_fields(out, "tids", "Threads", &thread_fields, a->threads, a->nthreads,
			    sizeof(*a->threads));
	}
	out_text(out, "</details>\n");
}

static void row_head(struct html_page *p, const struct contended *c)
{
	char addr[32];

	(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, c->addr); /* fits */
	out_printf(p->out, "<tr data-i=%td><th scope=row>", c - p->f->contended);
	put_name(p->out, c);
	out_text(p->out, "</th>");
	html_cell(p->out, c->kind);
	html_cell(p->out, c->class);
	html_cell(p->out, c->runtime);
	html_cell(p->out, c->other ? NULL : addr);
	html_cell(p->out, c->place);
	html_cell(p->out, c->owner);
	html_cell(p->out, c->group.key ? c->group.value : NULL);
}

static void row_heads(struct html_page *p)
{
	html_text_head(p->out, "", "name");
	html_text_head(p->out, "kind", "kind");
	html_text_head(p->out, "class", "waits for");
	html_text_head(p->out, "runtime", "runtime");
	html_text_head(p->out, "addr", "address");
	html_text_head(p->out, "place", "declared");
	html_text_head(p->out, "owner", "process");
	html_text_head(p->out, "labels", p->cfg->by ? view_by(p->cfg->by) : "group");
}

/* What not every line has; where none has it, there is no column (html_drop_empty). */
static void lines_heads(struct html_page *p)
{
	char field[48], title[64];

	html_field_heads(p->out, &accesses_fields);
	html_head(p->out, "hitm.local", "hitm local", NULL);
	html_head(p->out, "hitm.remote", "hitm remote", NULL);
	for (size_t i = 0; i < p->cfg->nquantiles; i++) {
		const char *percent = p->cfg->quantiles[i].text;

		(void)snprintf(field, sizeof(field), "latency_cycles.p.%s", percent); /* fits */
		(void)snprintf(title, sizeof(title), "latency p%s, cycles", percent); /* fits */
		html_head(p->out, field, title, NULL);
	}
	html_field_heads(p->out, &exact_fields);
	html_text_head(p->out, "unconfirmed", "not watched");
}

static void lines_cells(struct html_page *p, const struct line_accesses *a)
{
	html_field_cells(p->out, &accesses_fields, a);
	if (a->hitm.told)
		html_field_cells(p->out, &hitm_fields, &a->hitm);
	else
		html_empty(p->out, hitm_fields.n);
	for (size_t i = 0; i < p->cfg->nquantiles; i++) {
		struct quantile_value v;

		if (!a->latency || !a->latency->count) {
			html_empty(p->out, 1);
			continue;
		}
		v = hist_quantile(a->latency, &p->cfg->quantiles[i]);
		html_number(p->out, v.ns, word_count(v.ns).s);
	}
	if (a->exact)
		html_field_cells(p->out, &exact_fields, a);
	else
		html_empty(p->out, exact_fields.n);
	html_cell(p->out, a->unconfirmed);
}

static void put_row(struct html_page *p, const struct contended *c, bool line)
{
	row_head(p, c);
	if (!line && c->wait) {
		html_hist_cells(p, c->wait);
	} else {
		html_number(p->out, c->count, word_count(c->count).s);
		if (line)
			lines_cells(p, c->accesses);
		else
			html_empty(p->out, p->cfg->nquantiles + 3);
	}
	html_field_cells(p->out, &contended_number_fields, c);
	out_text(p->out, "<td class=t>");
	for (size_t i = 0; i < c->ncpus; i++)
		out_printf(p->out, "%s%" PRIu32, i ? " " : "", c->cpus[i]);
	out_text(p->out, "</td></tr>\n");
}

/* Of the n rows that a table shows, and those that stand for others. */
static bool is_shown(const struct view_table *t, size_t i, size_t n)
{
	return i < n || i >= t->n - t->others;
}

static void table(struct html_page *p, const struct view_section *sec, const char *title,
		  const struct view_row *rows)
{
	bool lines = sec->kind == VIEW_LINES;
	const struct view_table *t = &sec->rows;
	size_t n = html_shown(t), begin = p->out->len;

	html_table(p->out, "contended", title);
	row_heads(p);
	if (lines) {
		html_head(p->out, "count", "samples", NULL);
		lines_heads(p);
	} else {
		html_series_heads(p, false);
	}
	html_field_heads(p->out, &contended_number_fields);
	html_text_head(p->out, "cpus", "CPUs");
	html_table_body(p->out);
	for (size_t i = 0; i < t->n; i++) {
		if (is_shown(t, i, n))
			put_row(p, rows[i].c, lines);
	}
	html_table_end(p->out);
	html_drop_empty(p->out, begin);
	html_rest(p, t);
}

/* What there is to say of each row, one of them to be seen at a time. */
static void panels(struct html_page *p, const struct view_table *t, const struct view_row *rows)
{
	size_t n = html_shown(t);
	bool open = true;

	out_text(p->out, "<div class=panels>\n");
	for (size_t i = 0; i < t->n; i++) {
		if (!is_shown(t, i, n) || !any_detail(rows[i].c))
			continue;
		details(p, rows[i].c, open);
		open = false;
	}
	out_text(p->out, "</div>\n");
}

/* What was waited by class, where it is more than one: all rows' waits, shown or not. */
static void put_sums(struct html_page *p, const struct view_section *sec)
{
	if (!sec->unsure.count && !sec->work.count)
		return;
	out_printf(p->out, "<p>Waited for locks: %s.", word_duration(sec->sum_ns).s);
	if (sec->unsure.count)
		out_printf(p->out, " For a lock or for work, which is not known: %s.",
			   word_duration(sec->unsure.sum_ns).s);
	if (sec->work.count)
		out_printf(p->out, " For work: %s.", word_duration(sec->work.sum_ns).s);
	out_text(p->out, "</p>\n");
}

void html_contended(struct html_page *p, const struct view_section *sec, const char *title)
{
	static const struct field_table *const words[] = {&accesses_fields, &hitm_fields,
							  &exact_fields, &contended_number_fields};
	const struct view_row *rows;

	if (!sec->rows.n) {
		out_text(p->out, "<p>None.</p>\n");
		return;
	}
	rows = view_first((struct view *)p->view, &sec->rows, sec->rows.n);
	put_sums(p, sec);
	table(p, sec, title, rows);
	if (sec->kind == VIEW_LINES)
		html_field_words(p->out, words, sizeof(words) / sizeof(words[0]));
	panels(p, &sec->rows, rows);
}

/* ---- slow waits ---- */

/* What somebody looks for first stands first. */
void html_slow_heads(struct out *out, enum unit unit)
{
	html_text_head(out, "ts", "time");
	html_head(out, "wait_ns", "wait", unit_name(unit));
	html_text_head(out, "comm", "task");
	html_text_head(out, "kind", "kind");
	html_text_head(out, "op", "operation");
	html_text_head(out, "path", "file");
	html_text_head(out, "name", "lock");
	html_text_head(out, "culprits", "waited for");
	html_text_head(out, "waker", "woken by");
	html_text_head(out, "prev", "ran before");
	html_head(out, "blocked_ns", "blocked", unit_name(unit));
	html_head(out, "run_queue_ns", "run queue", unit_name(unit));
	html_head(out, "cpu_ns", "on CPU", unit_name(unit));
	html_head(out, "wake_to_queue_ns", "wake to queue", unit_name(unit));
	html_head(out, "queue_to_run_ns", "queue to run", unit_name(unit));
	html_head(out, "cpu", "CPU", NULL);
	html_head(out, "pid", "pid", NULL);
	html_head(out, "tid", "tid", NULL);
	html_text_head(out, "metric", "metric");
	html_text_head(out, "cgroup", "cgroup");
}

static void known_time(struct out *out, bool known, uint64_t ns, enum unit unit)
{
	if (known)
		html_time(out, ns, unit);
	else
		html_empty(out, 1);
}

static void number_cell(struct out *out, uint32_t v)
{
	out_printf(out, "<td data-v=%" PRIu32 ">%" PRIu32 "</td>", v, v);
}

static void slow_others(struct out *out, const struct slow *w)
{
	bool task = w->waker && !strcmp(w->waker, "task"), cpu = slow_is_of_cpu(w);

	html_cell(out, !cpu ? NULL : task ? w->waker_comm : w->waker);
	html_cell(out, !cpu || !w->prev_comm ? NULL : w->prev_tid ? w->prev_comm : "idle");
}

/* An address without a name has that. */
static void slow_lock(struct out *out, const struct slow_held *held)
{
	char addr[32];

	if (held)
		(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, held->addr); /* fits */
	html_cell(out, !held ? NULL : held->name ? held->name : addr);
}

static void slow_split(struct out *out, const struct slow *w, enum unit unit)
{
	const struct slow_op *op = w->op;
	bool known = op && op->has_split;
	uint64_t blocked = known ? op->split.blocked_ns : 0;
	uint64_t run_queue = known ? op->split.run_queue_ns : 0;

	known_time(out, known, blocked, unit);
	known_time(out, known, run_queue, unit);
	known_time(out, known, w->wait_ns - blocked - run_queue, unit);
}

void html_slow_row(struct out *out, const struct slow *w, enum unit unit)
{
	const struct slow_op *op = w->op;
	char ts[64];

	format_rfc3339(ts, sizeof(ts), w->time.tv_sec, (uint32_t)w->time.tv_nsec);
	out_printf(out, "<tr data-mono=%" PRIu64 "><th scope=row class=n>%s</th>", w->mono_ns, ts);
	html_time(out, w->wait_ns, unit);
	html_cell(out, w->comm);
	html_cell(out, w->kind);
	html_cell(out, op ? op->op : NULL);
	html_cell(out, op ? op->path : NULL);
	slow_lock(out, w->held);
	html_slow_culprits(out, w);
	slow_others(out, w);
	slow_split(out, w, unit);
	known_time(out, !op && w->has_legs, w->wake_to_queue_ns, unit);
	known_time(out, !op && w->has_legs, w->queue_to_run_ns, unit);
	number_cell(out, w->cpu);
	number_cell(out, w->pid);
	number_cell(out, w->tid);
	html_cell(out, w->metric);
	html_cell(out, w->cgroup);
	out_text(out, "</tr>\n");
}
