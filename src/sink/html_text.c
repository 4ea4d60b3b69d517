// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "sink/html.h"
#include "sink/printer.h"

#define CELL_WRAPS 40 /* characters: a longer text takes several lines */
#define COLUMNS 64
#define NONE SIZE_MAX

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
 * ---- columns without a value in any row ----
 *
 * They are left out of a table: what is known of single waits and of addresses differs by their
 * kind, and few reports have all of it. The table is looked at once it is written, since slow waits
 * are kept as the text of their rows.
 */

/* A table in pieces: its cells, and what lies between them. */
struct pieces {
	char *from, *to; /* the piece */
	char *end;
	size_t column; /* of its row; NONE: no cell */
	size_t next;
};

static bool starts(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - at) >= len && !memcmp(at, word, len);
}

static bool is_cell(const char *at, const char *end)
{
	return starts(at, end, "<td") || starts(at, end, "<th ");
}

/* Up to the next cell, or to where a row begins or ends; tables within a cell are part of it. */
static bool next_piece(struct pieces *p)
{
	size_t depth = 0;

	p->from = p->to;
	if (p->from == p->end)
		return false;
	if (starts(p->from, p->end, "<tr"))
		p->next = 0;
	p->column = is_cell(p->from, p->end) ? p->next++ : NONE;
	for (p->to++; p->to < p->end; p->to++) {
		if (*p->to != '<')
			continue;
		if (starts(p->to, p->end, "<table"))
			depth++;
		else if (depth && starts(p->to, p->end, "</table"))
			depth--;
		else if (!depth && (is_cell(p->to, p->end) || starts(p->to, p->end, "<tr") ||
				    starts(p->to, p->end, "</tr")))
			break;
	}
	return true;
}

static bool is_empty(const struct pieces *p)
{
	static const char *const empty[] = {"<td></td>", "<td class=t></td>"};
	size_t len = (size_t)(p->to - p->from);

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
		if (len == strlen(empty[i]) && !memcmp(p->from, empty[i], len))
			return true;
	return false;
}

void html_drop_empty(struct out *out, size_t begin)
{
	char *table = out->error ? NULL : memmem(out->buf + begin, out->len - begin, "<thead>", 7);
	bool used[COLUMNS] = {0}, any = false;
	struct pieces p = {.to = table, .end = out->buf + out->len};
	char *to = table;

	if (!table)
		return;
	while (next_piece(&p)) {
		if (p.column == NONE || starts(p.from, p.end, "<th scope=col"))
			continue;
		any = true;
		if (p.column < COLUMNS && !is_empty(&p))
			used[p.column] = true;
	}
	for (p = (struct pieces){.to = table, .end = p.end}; any && next_piece(&p);) {
		if (p.column < COLUMNS && !used[p.column])
			continue;
		memmove(to, p.from, (size_t)(p.to - p.from));
		to += p.to - p.from;
	}
	if (any)
		out->len = (size_t)(to - out->buf);
}

/* ---- pages ---- */

/*
 * The page may fetch nothing and run nothing but its own script, which is named by its hash: were
 * there a way to inject a script after all, browsers would refuse it.
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
