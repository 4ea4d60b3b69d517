// SPDX-License-Identifier: GPL-2.0-or-later
/* Contended addresses with what lies on their lines, cache lines with who touches which byte, and single
 * slow waits. Numbers of tables within a row have their names from JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

static const char *const ids[] = {[VIEW_CONTENDED] = "contended", [VIEW_LINES] = "lines"};
static const char *const titles[] = {
	[VIEW_CONTENDED] = "Contended addresses", [VIEW_LINES] = "Cache lines"};

/* ---- details ---- */

static bool any_detail(const struct contended *c)
{
	return c->nsites || c->nholders || c->nmembers || c->futex ||
	       (c->accesses && (c->accesses->nthreads || c->accesses->nuses));
}

static void details(struct html_page *p, const struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	struct out *out = p->out;

	out_text(out, "<td class=t>");
	if (any_detail(c)) {
		out_text(out, "<details><summary>more</summary>\n");
		html_fields(out, "sites", "Code", &site_fields, c->sites, c->nsites,
			    sizeof(*c->sites));
		html_fields(out, "holders", "Who held it", &holder_fields, c->holders, c->nholders,
			    sizeof(*c->holders));
		html_fields(out, "futex", "Futex", &futex_fields, c->futex, c->futex ? 1 : 0,
			    sizeof(*c->futex));
		html_fields(out, "line.members", "On its cache line", &member_fields, c->members,
			    c->nmembers, sizeof(*c->members));
		if (a) {
			html_line(out, a);
			html_fields(out, "offsets", "Bytes, and the code that touches them",
				    &spot_fields, a->uses, a->nuses, sizeof(*a->uses));
			html_fields(out, "tids", "Threads", &thread_fields, a->threads, a->nthreads,
				    sizeof(*a->threads));
		}
		out_text(out, "</details>");
	}
	out_text(out, "</td>");
}

static void cpus_cell(struct out *out, const struct contended *c)
{
	out_text(out, "<td class=t>");
	for (size_t i = 0; i < c->ncpus; i++)
		out_printf(out, "%s%" PRIu32, i ? " " : "", c->cpus[i]);
	out_text(out, "</td>");
}

static void row_head(struct html_page *p, const struct contended *c)
{
	char addr[32];

	(void)snprintf(addr, sizeof(addr), "0x%" PRIx64, c->addr); /* fits */
	out_printf(p->out, "<tr data-i=%td><th scope=row>", c - p->f->contended);
	if (c->other)
		out_text(p->out, "others: ");
	html_text(p->out, c->other ? c->source : c->name ? c->name : addr);
	if (c->name_inferred)
		out_text(p->out, " (inferred)");
	out_text(p->out, "</th>");
	html_cell(p->out, c->kind);
	html_cell(p->out, c->other ? NULL : addr);
	html_cell(p->out, c->place);
	html_cell(p->out, c->owner);
	if (p->cfg->by)
		html_cell(p->out, c->group.key ? c->group.value : NULL);
}

static void row_heads(struct html_page *p)
{
	html_head(p->out, "", "name", NULL);
	html_head(p->out, "kind", "kind", NULL);
	html_head(p->out, "addr", "address", NULL);
	html_head(p->out, "place", "declared", NULL);
	html_head(p->out, "owner", "process", NULL);
	if (p->cfg->by)
		html_head(p->out, "labels", view_by(p->cfg->by), NULL);
}

static void waits_row(struct html_page *p, const struct contended *c)
{
	row_head(p, c);
	if (c->wait)
		html_hist_cells(p, c->wait);
	else
		html_number(p->out, c->count, word_count(c->count).s);
	for (size_t i = 0; !c->wait && i < p->cfg->nquantiles + 3; i++)
		out_text(p->out, "<td></td>");
	html_field_cells(p->out, &contended_number_fields, c);
	cpus_cell(p->out, c);
}

static void lines_row(struct html_page *p, const struct contended *c)
{
	row_head(p, c);
	html_number(p->out, c->count, word_count(c->count).s);
	html_field_cells(p->out, &accesses_fields, c->accesses);
	html_field_cells(p->out, &contended_number_fields, c);
	cpus_cell(p->out, c);
}

static void table(struct html_page *p, const struct view_section *sec)
{
	bool lines = sec->kind == VIEW_LINES;
	const struct view_table *t = &sec->rows;
	size_t n = html_shown(t);
	const struct view_row *rows = view_first((struct view *)p->view, t, t->n);

	html_table(p->out, "contended", titles[sec->kind]);
	row_heads(p);
	if (lines) {
		html_head(p->out, "count", "samples", NULL);
		html_field_heads(p->out, &accesses_fields);
	} else {
		html_series_heads(p, false);
	}
	html_field_heads(p->out, &contended_number_fields);
	html_head(p->out, "cpus", "CPUs", NULL);
	html_head(p->out, "", "details", NULL);
	html_table_body(p->out);
	for (size_t i = 0; i < t->n; i++) {
		if (i >= n && i < t->n - t->others)
			continue;
		(lines ? lines_row : waits_row)(p, rows[i].c);
		details(p, rows[i].c);
		out_text(p->out, "</tr>\n");
	}
	html_table_end(p->out);
	html_rest(p, t);
}

static bool is_one(const struct view_section *sec)
{
	return sec->kind == VIEW_CONTENDED || sec->kind == VIEW_LINES;
}

void html_contended_links(struct html_page *p)
{
	for (size_t i = 0; i < p->view->nsections; i++)
		if (is_one(&p->view->sections[i]))
			out_printf(p->out, "<a href=\"#%s\">%s</a>\n",
				   ids[p->view->sections[i].kind],
				   titles[p->view->sections[i].kind]);
}

void html_contended(struct html_page *p)
{
	for (size_t i = 0; i < p->view->nsections; i++) {
		const struct view_section *sec = &p->view->sections[i];

		if (!is_one(sec))
			continue;
		out_printf(p->out, "<h2 id=%s>%s</h2>\n", ids[sec->kind], titles[sec->kind]);
		if (sec->rows.n)
			table(p, sec);
		else
			out_text(p->out, "<p>None.</p>\n");
	}
}

/* ---- slow waits ---- */

void html_slow_heads(struct out *out, enum unit unit)
{
	html_head(out, "ts", "time", NULL);
	html_head(out, "wait_ns", "wait", unit_name(unit));
	html_head(out, "metric", "metric", NULL);
	html_head(out, "kind", "kind", NULL);
	html_head(out, "cpu", "CPU", NULL);
	html_head(out, "comm", "task", NULL);
	html_head(out, "pid", "pid", NULL);
	html_head(out, "tid", "tid", NULL);
	html_head(out, "wake_to_queue_ns", "to queue", unit_name(unit));
	html_head(out, "queue_to_run_ns", "to run", unit_name(unit));
	html_head(out, "waker", "woken by", NULL);
	html_head(out, "prev", "ran before", NULL);
	html_head(out, "op", "operation", NULL);
	html_head(out, "path", "file", NULL);
	html_head(out, "blocked_ns", "blocked", unit_name(unit));
	html_head(out, "run_queue_ns", "run queue", unit_name(unit));
	html_head(out, "name", "lock", NULL);
	html_head(out, "culprits", "waited for", NULL);
}

static void known_time(struct out *out, bool known, uint64_t ns, enum unit unit)
{
	if (known)
		html_time(out, ns, unit);
	else
		out_text(out, "<td></td>");
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

void html_slow_row(struct out *out, const struct slow *w, enum unit unit)
{
	const struct slow_op *op = w->op;
	char ts[64];

	format_rfc3339(ts, sizeof(ts), w->time.tv_sec, (uint32_t)w->time.tv_nsec);
	out_printf(out, "<tr data-mono=%" PRIu64 "><th scope=row>%s</th>", w->mono_ns, ts);
	html_time(out, w->wait_ns, unit);
	html_cell(out, w->metric);
	html_cell(out, w->kind);
	number_cell(out, w->cpu);
	html_cell(out, w->comm);
	number_cell(out, w->pid);
	number_cell(out, w->tid);
	known_time(out, !op && w->has_legs, w->wake_to_queue_ns, unit);
	known_time(out, !op && w->has_legs, w->queue_to_run_ns, unit);
	slow_others(out, w);
	html_cell(out, op ? op->op : NULL);
	html_cell(out, op ? op->path : NULL);
	known_time(out, op && op->has_split, op ? op->split.blocked_ns : 0, unit);
	known_time(out, op && op->has_split, op ? op->split.run_queue_ns : 0, unit);
	html_cell(out, w->held ? w->held->name : NULL);
	html_slow_culprits(out, w);
	out_text(out, "</tr>\n");
}
