/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of a page (html.c): text, tables, pictures. All of them write HTML into an out. */
#ifndef WS_SINK_HTML_H
#define WS_SINK_HTML_H

#include "core/summary.h"
#include "core/compare.h"
#include "core/fields.h"
#include "core/view.h"
#include "sink/out.h"

/* ---- html_text.c: what foreign bytes become, here and nowhere else ---- */

/* Clean as for a terminal, and without what means something to HTML, in quotes or not. */
void html_text(struct out *out, const char *raw);
/* <TAG>text</TAG> */
void html_element(struct out *out, const char *tag, const char *text);
/* A cell with its exact value, by which it is sorted: <td data-v=5100>5.1</td> */
void html_number(struct out *out, uint64_t v, const char *shown);
void html_time(struct out *out, uint64_t ns, enum unit unit);
void html_cell(struct out *out, const char *raw); /* NULL: an empty one */
void html_empty(struct out *out, size_t n);	  /* so many cells without a value */
/* <th scope=col data-f=field>title (unit)</th>, all of them our own words; unit NULL: none. Of
 * columns of numbers; the other of those of text, which stand to the left. */
void html_head(struct out *out, const char *field, const char *title, const char *unit);
void html_text_head(struct out *out, const char *field, const char *title);
/* <div tabindex=0 ...><table><caption>...<thead><tr>; then heads, html_table_body, rows,
 * html_table_end. `field` says where in JSON its numbers stand. */
void html_table(struct out *out, const char *field, const char *caption);
void html_table_body(struct out *out);
void html_table_end(struct out *out);
/* A table of structs by their fields, as in JSON. Nothing without rows. */
void html_fields(struct out *out, const char *field, const char *caption,
		 const struct field_table *t, const void *rows, size_t n, size_t size);
/* What its columns are, in words: those that have some. */
void html_field_words(struct out *out, const struct field_table *const *t, size_t n);
/* The cells of one, in a row that is begun; its heads. */
void html_field_cells(struct out *out, const struct field_table *t, const void *from);
void html_field_heads(struct out *out, const struct field_table *t);
/* Of the table that is all that was written since out->len was `begin`. */
void html_drop_empty(struct out *out, size_t begin);
/* Everything up to the end of the head, and from the script on. */
void html_begin(struct out *out, const char *title);
void html_end(struct out *out);

/* ---- html_picture.c ---- */

/* Waits a second, by column (time) and row: of a quarter of an octave each. */
struct html_map {
	uint32_t ncolumns, nrows;
	int32_t low; /* the lowest row ends at 2^(low / 4) seconds */
	uint64_t zero;
	uint64_t *dur_ns; /* of each column */
	float *rate;	  /* [row][column] */
};

/* What pictures that are to be compared have in common. */
struct html_scale {
	int32_t low, high;   /* rows */
	double least, most;  /* rates */
	double dur_s;	     /* the longest */
	uint64_t most_count; /* samples */
};

/* The cells of a row in its runs, one after another. 0 or -ENOMEM. rows[i] may be NULL. */
int html_map_make(struct html_map *m, const struct compare_run *const *runs,
		  struct compare_row *const *rows, size_t n);
void html_map_free(struct html_map *m); /* zeroed is fine */
void html_scale_map(struct html_scale *s, const struct html_map *m);
void html_scale_hist(struct html_scale *s, const struct hist *h);
/* Rounds it off; before pictures are drawn. */
void html_scale_done(struct html_scale *s);

/* Colours: what rates they stand for. */
void html_legend(struct out *out, const struct html_scale *s);
void html_heat(struct out *out, const struct html_map *m, const struct html_scale *s,
	       const char *name);
/* One or two of them, the second dashed; names: two. */
void html_curve(struct out *out, const struct hist *const *h, size_t n, const char *name,
		const char *const *names, const struct html_scale *s);

/* ---- html_data.c ---- */

#define HTML_SERIES 512		 /* heat maps that are collected */
#define HTML_BYTES (2200U << 10) /* of the page, from which on there are no more pictures */

/* One series over time. */
struct html_row {
	struct compare_row cells;
	const char *key; /* series_key_text */
};

struct html_slow {
	uint64_t ns;
	char *row; /* of the table */
};

/* What was collected while the run went on. */
struct html_data {
	struct compare_run run;
	void *index; /* struct html_row by key: a tree */
	struct html_row **rows;
	size_t nrows;
	bool full; /* some went, for there were too many */
	uint64_t intervals;
	struct html_slow *slow; /* the longest */
	size_t nslow;
	uint64_t slow_seen;
};

/* 0 or -ENOMEM */
int html_data_add(struct html_data *d, const struct frame *interval);
/* A series' row, or NULL. */
struct html_row *html_data_row(const struct html_data *d, const struct series *s);
/* Is it one of the longest? Then its row of the table is kept. 0 or -ENOMEM. */
bool html_data_wants(struct html_data *d, const struct slow *w);
int html_data_keep(struct html_data *d, const struct slow *w, const char *row, size_t len);
void html_data_sort_slow(struct html_data *d); /* the longest first; nothing is kept after it */
void html_data_free(struct html_data *d);

/* ---- the page ---- */

struct html_page {
	struct out *out;
	const struct config *cfg;
	const struct frame *f;
	const struct view *view;
	struct html_data *data;
	size_t left_out; /* pictures, for the page would have been too large */
};

/* html_series.c: all sections. 0 or -ENOMEM. */
int html_sections(struct html_page *p);
void html_section_links(struct html_page *p);
size_t html_shown(const struct view_table *t);			 /* rows, the others apart */
void html_rest(struct html_page *p, const struct view_table *t); /* "12 more" */
void html_series_heads(struct html_page *p, bool split); /* count, sum, min, percentiles, max */
void html_hist_cells(struct html_page *p, const struct hist *h);
/* html_contended.c, html_culprits.c: below their titles */
void html_contended(struct html_page *p, const struct view_section *sec, const char *title);
void html_culprits(struct html_page *p, const struct view_section *sec, const char *title);
/* Where the time went, and what was waited for: of all, or of a group; then `more`, if there is
 * anything. */
void html_summary(struct html_page *p, const struct label *group, const char *more);
int html_verdict(struct html_page *p);				/* 0 or -ENOMEM */
void html_slow_culprits(struct out *out, const struct slow *w); /* a cell */
void html_slow_row(struct out *out, const struct slow *w, enum unit unit);
void html_slow_heads(struct out *out, enum unit unit);
void html_facts(struct out *out, const struct meta *m); /* html_facts.c */
void html_quality(struct out *out, const struct frame *f);

/* html_style.c: what pages look like, and their script; constant. */
extern const char html_style[], html_script[];
extern const char
	html_script_hash[]; /* "sha256-...": tests/readers/test_html.py says what it must be */

#endif
