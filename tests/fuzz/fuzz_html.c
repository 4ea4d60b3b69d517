// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A page made of records from elsewhere, a line each: whatever is in their names, the page has our
 * own tags, our own attributes and one script; tags are closed in order, and nothing in it is what
 * a reader does not see.
 */
#include "fuzz.h"

#include "core/record.h"
#include "core/text.h"
#include "sink/html.h"
#include "sink/out.h"
#include "sink/sink.h"

#define DEPTH 64

static const char *const tags[] = {
	"html", "head", "meta",	      "title",	"style",  "body",   "header",  "h1",	  "h2",
	"h3",	"p",	"dl",	      "dt",	"dd",	  "code",   "details", "summary", "ul",
	"li",	"nav",	"a",	      "main",	"div",	  "table",  "caption", "thead",	  "tbody",
	"tr",	"th",	"td",	      "small",	"strong", "figure", "svg",     "g",	  "path",
	"rect", "text", "figcaption", "script", "i",	  NULL,
};
static const char *const attributes[] = {
	"lang",	     "charset",	 "http-equiv", "content",     "name",	"id",	  "class",
	"href",	     "tabindex", "role",       "aria-label",  "data-f", "data-v", "data-i",
	"data-mono", "scope",	 "open",       "viewBox",     "d",	"x",	  "y",
	"width",     "height",	 "transform",  "text-anchor", NULL,
};

struct page {
	const char *at;
	const char *open[DEPTH]; /* tags, from the list */
	size_t depth;
	size_t scripts, styles;
};

/* The word at *at in a list, which moves past it. */
static const char *take_word(const char **at, const char *const *list)
{
	size_t n = strspn(*at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

	for (; *list; list++)
		if (strlen(*list) == n && !strncmp(*list, *at, n))
			break;
	MUST(*list);
	*at += n;
	return *list;
}

static void take_value(const char **at)
{
	if (**at == '"') {
		*at += 1 + strcspn(*at + 1, "\"<>");
		MUST(**at == '"');
		++*at;
		return;
	}
	MUST(strcspn(*at, " >\n") == strcspn(*at, " >\n\"'<`="));
	*at += strcspn(*at, " >\n");
}

static void open_tag(struct page *p)
{
	const char *tag = take_word(&p->at, tags);
	bool closed = false;

	p->scripts += !strcmp(tag, "script");
	p->styles += !strcmp(tag, "style");
	for (;;) {
		p->at += strspn(p->at, " \n");
		closed = *p->at == '/';
		p->at += closed;
		if (*p->at == '>')
			break;
		take_word(&p->at, attributes);
		if (*p->at == '=') {
			p->at++;
			take_value(&p->at);
		}
	}
	p->at++;
	if (closed || !strcmp(tag, "meta"))
		return;
	MUST(p->depth < DEPTH);
	p->open[p->depth++] = tag;
}

static void take_tag(struct page *p)
{
	const char *tag;

	p->at++;
	if (*p->at != '/') {
		open_tag(p);
		return;
	}
	p->at++;
	tag = take_word(&p->at, tags);
	MUST(*p->at == '>');
	p->at++;
	MUST(p->depth && p->open[--p->depth] == tag);
}

/* Ours, constant: what is in them is no text. */
static void skip_own(struct page *p)
{
	const char *own = !p->depth				     ? NULL
			  : !strcmp(p->open[p->depth - 1], "script") ? html_script
			  : !strcmp(p->open[p->depth - 1], "style")  ? html_style
								     : NULL;

	if (!own)
		return;
	MUST(!strncmp(p->at, own, strlen(own)));
	p->at += strlen(own);
	MUST(p->at[0] == '<' && p->at[1] == '/');
}

static void check_page(const char *text)
{
	static const char start[] = "<!DOCTYPE html>\n";
	struct page p = {.at = text + strlen(start)};
	uint32_t code;

	MUST(fuzz_utf8_valid(text));
	fuzz_must_show(text);
	MUST(!strncmp(text, start, strlen(start)));
	for (const char *s = text; *s; s++)
		MUST(*s == '\n' || !text_unseen(s, &code));
	while (*p.at) {
		if (*p.at == '<') {
			take_tag(&p);
			skip_own(&p);
		} else {
			MUST(*p.at != '>');
			p.at++;
		}
	}
	MUST(!p.depth && p.scripts == 1 && p.styles == 1);
}

static void tell(struct sink *s, const struct record *r, struct frame *last)
{
	struct err e = {0};

	switch (r->type) {
	case RECORD_META:
		MUST(!s->ops->meta(s, &r->meta, &e));
		break;
	case RECORD_SLOW:
		MUST(!s->ops->slow(s, &r->slow, &e));
		break;
	case RECORD_INTERVAL:
		MUST(!s->ops->interval(s, &r->frame, &r->frame, &e));
		*last = r->frame;
		break;
	case RECORD_FINAL:
		*last = r->frame;
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct quantile q = {.ppb = 990000000, .text = "99"};
	const struct config cfg = {
		.quantiles = &q, .nquantiles = 1, .by = BY_PID, .rows = 5, .list_rows = 5};
	const struct sink_args args = {.cfg = &cfg, .memory = true};
	char *text = fuzz_string(data, size), *save, *page;
	struct frame last = {0};
	struct err e = {0};
	struct record r;
	const char *whole;
	struct sink *s;
	size_t len;

	record_init(&r);
	MUST(!sink_html.open(&s, &args, &e));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		last = (struct frame){0}; /* it was of the record before */
		if (!record_read(&r, line, strlen(line), &e))
			tell(s, &r, &last);
	}
	MUST(!s->ops->final(s, &last, &e));
	whole = out_whole(s->out, &len);
	page = strndup(whole, len);
	MUST(page && strlen(page) == len);
	check_page(page);
	free(page);
	MUST(!s->ops->close(s, &e));
	record_free(&r);
	free(text);
	return 0;
}
