// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page to send to a colleague: one file without an outside address, written at the end of the
 * run. What it takes over time is collected in bounded memory: at most COMPARE_CELLS columns, of
 * neighbouring intervals joined exactly, of at most HTML_SERIES series, and the SLOW_MOST longest
 * of slow waits.
 */
#include "sink/html.h"

#include <errno.h>

#include "sink/printer.h"
#include "sink/sink.h"

struct html_sink {
	struct sink base;
	struct out facts, row; /* in memory: of the meta record; of one slow wait */
	struct view view;
	struct html_data data;
	char untraced[SUMMARY_BYTES]; /* "futex: not traced (-s futex)" */
};

static struct html_sink *html_sink(struct sink *s)
{
	return (struct html_sink *)s;
}

/* ---- the page ---- */

static bool has_overview(const struct frame *f)
{
	for (size_t i = 0; i < f->nseries; i++)
		if (!f->series[i].nlabels && f->series[i].hist)
			return true;
	return false;
}

static void put_overview(struct html_page *p)
{
	if (!has_overview(p->f))
		return;
	out_text(p->out, "<h2 id=overview>Overview</h2>\n");
	html_table(p->out, "metrics", "All waits, by metric");
	html_head(p->out, "labels", "metric", NULL);
	html_series_heads(p, false);
	html_text_head(p->out, "help", "what it is");
	html_table_body(p->out);
	for (size_t i = 0; i < p->f->nseries; i++) {
		const struct series *s = &p->f->series[i];

		if (s->nlabels || !s->hist)
			continue;
		out_printf(p->out, "<tr data-i=%zu><th scope=row>", i);
		html_text(p->out, s->desc->name);
		out_text(p->out, "</th>");
		html_hist_cells(p, s->hist);
		html_cell(p->out, s->desc->help);
		out_text(p->out, "</tr>\n");
	}
	html_table_end(p->out);
	out_text(p->out, "<p class=dim>Sum: of all these waits, which can be longer than the run, "
			 "for many tasks wait at once. Percentiles are within 1.1 % at the default "
			 "--precision; * fewer than 10 waits lie beyond.</p>\n");
}

static void put_slow(struct html_page *p)
{
	struct html_data *d = p->data;
	size_t begin;

	if (!d->nslow)
		return;
	html_data_sort_slow(d);
	out_printf(p->out, "<h2 id=slow>Slow waits</h2>\n<p>%s wait%s longer than --slower",
		   word_count(d->slow_seen).s, d->slow_seen == 1 ? " was" : "s were");
	if (d->slow_seen > d->nslow)
		out_printf(p->out, "; the longest %zu are here", d->nslow);
	out_text(p->out, ". The longest stand first.</p>\n");
	begin = p->out->len;
	html_table(p->out, "slow", "Slow waits");
	html_slow_heads(p->out, p->cfg->unit);
	html_table_body(p->out);
	for (size_t i = 0; i < d->nslow; i++)
		out_text(p->out, d->slow[i].row);
	html_table_end(p->out);
	html_drop_empty(p->out, begin);
}

static int put_head(struct html_page *p, const struct html_sink *h)
{
	int ret;

	html_begin(p->out, "waitscope report");
	out_printf(p->out, "<header><h1>Where tasks waited</h1>\n<p class=dim>%s, %s interval%s.",
		   word_duration(p->f->dur_ns).s, word_count(p->data->intervals).s,
		   p->data->intervals == 1 ? "" : "s");
	if (p->f->end) {
		out_text(p->out, " Ended: ");
		html_text(p->out, p->f->end);
		out_text(p->out, ".");
	}
	out_text(p->out, "</p>\n");
	html_summary(p, NULL, h->untraced);
	ret = html_verdict(p);
	out_text(p->out, "<dl>");
	if (h->facts.len)
		out_put(p->out, h->facts.buf, h->facts.len);
	out_text(p->out, "</dl></header>\n<nav aria-label=Contents>");
	if (has_overview(p->f))
		out_text(p->out, "<a href=\"#overview\">Overview</a>\n");
	html_section_links(p);
	if (p->data->nslow)
		out_text(p->out, "<a href=\"#slow\">Slow waits</a>\n");
	out_text(p->out, "<a href=\"#quality\">Quality and cost</a></nav>\n<main>\n");
	return ret;
}

static int put_page(struct html_sink *h, const struct frame *f)
{
	struct html_page p = {h->base.out, h->base.cfg, f, &h->view, &h->data, 0};
	int ret = view_make(&h->view, f, h->base.cfg);

	if (ret)
		return ret;
	ret = put_head(&p, h);
	put_overview(&p);
	if (!ret)
		ret = html_sections(&p);
	put_slow(&p);
	html_quality(p.out, f);
	out_text(p.out, "</main>\n");
	html_end(p.out);
	return ret;
}

/* ---- the sink ---- */

static void html_free(struct sink *s)
{
	struct html_sink *h = html_sink(s);

	(void)out_close(&h->facts, NULL); /* memory */
	(void)out_close(&h->row, NULL);
	view_free(&h->view);
	html_data_free(&h->data);
}

static int html_open(struct sink **out, const struct sink_args *args, struct err *e)
{
	int ret = sink_new(out, &sink_html, args, e);
	struct html_sink *h;

	if (ret)
		return ret;
	h = html_sink(*out);
	compare_run_init(&h->data.run);
	out_open_memory(&h->facts);
	out_open_memory(&h->row);
	return 0;
}

static int html_meta(struct sink *s, const struct meta *m, struct err *e)
{
	struct html_sink *h = html_sink(s);

	html_facts(&h->facts, m);
	(void)summary_untraced(h->untraced, m);
	return h->facts.error ? sink_failed(s, -ENOMEM, e) : 0;
}

static int html_interval(struct sink *s, const struct frame *interval, const struct frame *total,
			 struct err *e)
{
	return html_data_add(&html_sink(s)->data, interval) ? sink_failed(s, -ENOMEM, e) : 0;
}

static int html_slow(struct sink *s, const struct slow *w, struct err *e)
{
	struct html_sink *h = html_sink(s);

	if (!html_data_wants(&h->data, w))
		return 0;
	out_drop(&h->row);
	html_slow_row(&h->row, w, s->cfg->unit);
	if (!h->row.error)
		h->row.error = html_data_keep(&h->data, w, h->row.buf, h->row.len);
	return h->row.error ? sink_failed(s, -ENOMEM, e) : 0;
}

static int html_final(struct sink *s, const struct frame *total, struct err *e)
{
	struct html_sink *h = html_sink(s);

	if ((!h->data.intervals && html_data_add(&h->data, total)) || put_page(h, total)) {
		out_drop(s->out);
		return sink_failed(s, -ENOMEM, e);
	}
	return out_flush(s->out, e);
}

const struct sink_ops sink_html = {
	.name = "html",
	.summary = "a page with pictures and tables, in one file, written at the end",
	.what = "in HTML",
	.size = sizeof(struct html_sink),
	.open = html_open,
	.meta = html_meta,
	.interval = html_interval,
	.final = html_final,
	.slow = html_slow,
	.reopen = sink_reopen,
	.close = sink_close,
	.free = html_free,
};
