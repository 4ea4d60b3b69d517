// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Columns without a value in any row are left out of a table: what is known of single waits and of addresses
 * differs by their kind, and few reports have all of it. The table is looked at once it is written, since
 * slow waits are kept as the text of their rows.
 */
#include <string.h>

#include "sink/html.h"

#define COLUMNS 64
#define NONE SIZE_MAX

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
