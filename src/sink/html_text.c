// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

#define CELL_WRAPS 40 /* characters: a longer text takes several lines */

void html_text(struct out *out, const char *raw)
{
	size_t size = 4 * strlen(raw) + 1; /* \xNN for a byte */
	char *clean = malloc(size);

	if (!clean) {
		out->error = -ENOMEM;
		return;
	}
	text_clean(clean, size, raw, SIZE_MAX);
	out_html(out, clean, strlen(clean));
	free(clean);
}

void html_element(struct out *out, const char *tag, const char *text)
{
	out_printf(out, "<%s>", tag);
	html_text(out, text);
	out_printf(out, "</%s>\n", tag);
}

void html_number(struct out *out, uint64_t v, const char *shown)
{
	out_printf(out, "<td data-v=%" PRIu64 ">%s</td>", v, shown);
}

void html_time(struct out *out, uint64_t ns, enum unit unit)
{
	html_number(out, ns, word_time(ns, unit).s);
}

void html_cell(struct out *out, const char *raw)
{
	out_text(out, raw && strlen(raw) > CELL_WRAPS ? "<td class=\"t w\">" : "<td class=t>");
	if (raw)
		html_text(out, raw);
	out_text(out, "</td>");
}

void html_empty(struct out *out, size_t n)
{
	while (n--)
		out_text(out, "<td></td>");
}

void html_head(struct out *out, const char *field, const char *title, const char *unit)
{
	out_printf(out, "<th scope=col data-f=\"%s\">%s", field, title);
	if (unit)
		out_printf(out, " <small>%s</small>", unit);
	out_text(out, "</th>");
}

void html_text_head(struct out *out, const char *field, const char *title)
{
	out_printf(out, "<th scope=col class=t data-f=\"%s\">%s</th>", field, title);
}

void html_table(struct out *out, const char *field, const char *caption)
{
	out_printf(out, "<div class=wide tabindex=0 role=group aria-label=\"");
	html_text(out, caption);
	out_printf(out, "\"><table data-f=\"%s\"><caption>", field);
	html_text(out, caption);
	out_text(out, "</caption><thead><tr>");
}

void html_table_body(struct out *out)
{
	out_text(out, "</tr></thead><tbody>\n");
}

void html_table_end(struct out *out)
{
	out_text(out, "</tbody></table></div>\n");
}

/* Stands to the left, and is no number for those who sort. */
static bool is_text(const struct field *f)
{
	return f->type == FIELD_TEXT || f->type == FIELD_BOOL || f->type == FIELD_HEX;
}

void html_field_heads(struct out *out, const struct field_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_text(&t->v[i]))
			html_text_head(out, t->v[i].key, t->v[i].key);
		else
			html_head(out, t->v[i].key, t->v[i].key, NULL);
}

void html_field_cells(struct out *out, const struct field_table *t, const void *from)
{
	char text[FIELD_TEXT_BYTES];

	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->v[i];
		const char *shown;

		if (field_is_null(f, from)) {
			html_empty(out, 1);
			continue;
		}
		shown = field_text(f, from, text);
		if (is_text(f))
			html_cell(out, shown);
		else
			out_printf(out, "<td data-v=%s>%s</td>", shown,
				   f->type == FIELD_U64 ? word_count(field_u64(f, from)).s : shown);
	}
}

void html_fields(struct out *out, const char *field, const char *caption,
		 const struct field_table *t, const void *rows, size_t n, size_t size)
{
	if (!n)
		return;
	html_table(out, field, caption);
	html_field_heads(out, t);
	html_table_body(out);
	for (size_t i = 0; i < n; i++) {
		out_text(out, "<tr>");
		html_field_cells(out, t, (const char *)rows + i * size);
		out_text(out, "</tr>\n");
	}
	html_table_end(out);
}

void html_field_words(struct out *out, const struct field_table *const *t, size_t n)
{
	out_text(out, "<details><summary>What the columns say</summary><dl>\n");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < t[i]->n; k++)
			if (t[i]->v[k].help)
				out_printf(out, "<dt>%s</dt><dd>%s.</dd>\n", t[i]->v[k].key,
					   t[i]->v[k].help);
	out_text(out, "</dl></details>\n");
}

/*
 * The page may fetch nothing and run nothing but its own script, which is named by its hash: were there
 * a way to inject a script after all, browsers would refuse it.
 */
void html_begin(struct out *out, const char *title)
{
	out_text(out, "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
		      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; "
		      "style-src 'unsafe-inline'; script-src '");
	out_text(out, html_script_hash);
	out_text(out, "'; base-uri 'none'; form-action 'none'\">\n"
		      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
		      "<meta name=color-scheme content=\"light dark\">\n");
	html_element(out, "title", title);
	out_text(out, "<style>");
	out_text(out, html_style);
	out_text(out, "</style></head>\n<body>\n");
}

void html_end(struct out *out)
{
	out_text(out, "<script>");
	out_text(out, html_script);
	out_text(out, "</script>\n</body></html>\n");
}
