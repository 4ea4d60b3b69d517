// SPDX-License-Identifier: GPL-2.0-or-later
/* --why on a page: whom tasks waited for, what a slow wait was for, and the verdict in words. */
#include <string.h>

#include "core/culprit.h"
#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

static void heads(struct html_page *p, const struct culprit *victims)
{
	html_text_head(p->out, "", "waited for");
	html_text_head(p->out, "kind", "kind");
	for (uint32_t i = 0; victims && i < victims->nvictim; i++) {
		out_text(p->out, "<th scope=col data-f=\"victim.");
		html_text(p->out, victims->victim[i].key);
		out_text(p->out, "\">waited: ");
		html_text(p->out, victims->victim[i].key);
		out_text(p->out, "</th>");
	}
	html_text_head(p->out, "cgroup", "its cgroup");
	html_head(p->out, "share", "share", "%");
	html_head(p->out, "wait_ns", "total", unit_name(p->cfg->unit));
	html_head(p->out, "count", "waits", NULL);
}

static void victim_cell(struct out *out, const struct culprit *k, const char *key)
{
	const char *value = NULL;

	for (uint32_t i = 0; i < k->nvictim; i++)
		if (!strcmp(k->victim[i].key, key))
			value = k->victim[i].value;
	if (value && *value && !value[strspn(value, "0123456789")])
		out_printf(out, "<td data-v=%s>%s</td>", value, value); /* sorted as a number */
	else
		html_cell(out, value);
}

static void row(struct html_page *p, const struct culprit *k, const struct culprit *victims,
		uint64_t all)
{
	char name[CULPRIT_NAME_BYTES], percent[32];

	out_printf(p->out, "<tr data-i=%td><th scope=row>", k - p->f->culprits);
	html_text(p->out, culprit_name(k, name, sizeof(name)));
	out_text(p->out, "</th>");
	html_cell(p->out, k->kind);
	for (uint32_t i = 0; victims && i < victims->nvictim; i++)
		victim_cell(p->out, k, victims->victim[i].key);
	html_cell(p->out, k->cgroup);
	format_share(percent, sizeof(percent), k->wait_ns, all, 1);
	out_printf(p->out, "<td data-v=%s>%s</td>", percent, percent);
	html_time(p->out, k->wait_ns, p->cfg->unit);
	html_number(p->out, k->count, word_count(k->count).s);
	out_text(p->out, "</tr>\n");
}

void html_culprits(struct html_page *p, const struct view_section *sec, const char *title)
{
	const struct culprit *victims;
	const struct view_row *rows;
	size_t shown = html_shown(&sec->rows), begin = p->out->len;

	if (!sec->rows.n) {
		out_text(p->out, "<p>Nobody.</p>\n");
		return;
	}
	rows = view_first((struct view *)p->view, &sec->rows, shown);
	victims = view_victims(rows, shown);
	html_table(p->out, "culprits", title);
	heads(p, victims);
	html_table_body(p->out);
	for (size_t i = 0; i < shown; i++)
		row(p, rows[i].k, victims, sec->sum_ns);
	html_table_end(p->out);
	html_drop_empty(p->out, begin);
	html_rest(p, &sec->rows);
}

void html_summary(struct html_page *p, const struct label *group, const char *more)
{
	char text[SUMMARY_BYTES];

	(void)summary_text(text, p->f, group);
	if (!*text && !*more)
		return;
	out_printf(p->out, "<p class=%s>", group ? "dim" : "summary");
	html_text(p->out, text);
	out_text(p->out, *text && *more ? "; " : "");
	html_text(p->out, more);
	out_text(p->out, "</p>\n");
}

int html_verdict(struct html_page *p)
{
	struct verdict v;
	int ret = verdict_make(&v, p->f);

	if (ret || !v.n)
		return ret;
	out_text(p->out, "<ul class=verdict>\n");
	for (size_t i = 0; i < v.n; i++)
		html_element(p->out, "li", v.line[i]);
	out_text(p->out, "</ul>\n");
	return 0;
}

static void begin_details(struct out *out, const char *name)
{
	out_text(out, "<details><summary>");
	html_text(out, name);
	out_text(out, "</summary>\n");
}

/* In the row itself, so that they go with it where it is sorted to. */
void html_slow_culprits(struct out *out, const struct slow *w)
{
	const struct slow_held *held = w->held;
	const struct culprit *most = culprit_most(w);
	char name[CULPRIT_NAME_BYTES];

	out_text(out, "<td class=t>");
	if (held && held->nholders) {
		begin_details(out, holder_name(held->holders));
		html_fields(out, "holders", "Who held it", &holder_fields, held->holders,
			    held->nholders, sizeof(*held->holders));
		html_fields(out, "behind", "What the longest waited for itself", &slow_link_fields,
			    held->behind, held->nbehind, sizeof(*held->behind));
		out_text(out, "</details>");
	}
	if (most) {
		begin_details(out, culprit_name(most, name, sizeof(name)));
		html_fields(out, "culprits", "What it waited for", &culprit_part_fields,
			    w->culprits, w->nculprits, sizeof(*w->culprits));
		out_text(out, "</details>");
	}
	out_text(out, "</td>");
}
