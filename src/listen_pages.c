// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "listen.h"
#include "sink/prom.h"

#define NS_PER_S 1000000000ULL
#define TABLE_COLUMNS 100
#define TABLE_ASKED_NS (600 * NS_PER_S) /* so long after it was asked for it is made each time */
#define LATE_INTERVALS 3

#define TEXT "text/plain; charset=utf-8"
#define HTML "text/html; charset=utf-8"

static const char page_head[] =
	"<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>waitscope</title>"
	"<meta http-equiv=\"refresh\" content=\"2\"></head><body><h1>waitscope</h1>"
	"<p>Where tasks of this machine wait: for a CPU, in ext4, for locks. "
	"<a href=\"/metrics\">/metrics</a> is for Prometheus, <a href=\"/healthz\">/healthz</a> says "
	"whether reports are on time; the manual is waitscope(8).</p><pre>";
static const char page_end[] = "</pre></body></html>\n";
static const char no_table[] = "The table is made with the next report.\n";

void body_put(struct body *b)
{
	if (b && !--b->refs)
		free(b);
}

int pages_open(struct pages *p, const struct config *cfg, struct err *e)
{
	struct sink_args args = {.cfg = cfg, .memory = true, .columns = TABLE_COLUMNS};

	*p = (struct pages){.cfg = cfg, .x = export_new(cfg)};
	out_open_memory(&p->out);
	if (!p->x)
		return err_sys(e, -ENOMEM, "--listen");
	return sink_table.open(&p->table, &args, e);
}

void pages_close(struct pages *p)
{
	struct err ignored = {0}; /* nothing is written anywhere */

	for (int i = 0; i < PAGES; i++)
		body_put(p->made[i]);
	(void)sink_table.close(p->table, &ignored);
	(void)out_close(&p->out, &ignored);
	export_free(p->x);
	*p = (struct pages){0};
}

/* What was put into p->out, as a body with one reference. */
static struct body *body_take(struct pages *p)
{
	struct err ignored = {0};
	struct body *b = NULL;
	const char *data;
	size_t len;

	if (!out_flush(&p->out, &ignored)) {
		data = out_whole(&p->out, &len);
		b = malloc(sizeof(*b) + len);
		if (b) {
			*b = (struct body){.refs = 1, .len = len};
			memcpy(b->data, data, len);
		}
	}
	(void)out_close(&p->out, &ignored); /* its memory may have been much */
	out_open_memory(&p->out);
	return b;
}

int pages_meta(struct pages *p, const struct meta *m, struct err *e)
{
	export_meta(p->x, m);
	return sink_table.meta(p->table, m, e);
}

/* The table is drawn while there are frames to draw it from: if somebody looks. */
static int make_table(struct pages *p, const struct frame *interval, const struct frame *total,
		      struct err *e)
{
	const char *text;
	size_t len;
	int ret;

	if (!p->table_asked_ns || interval->mono_ns > p->table_asked_ns + TABLE_ASKED_NS)
		return 0;
	ret = sink_table.interval(p->table, interval, total, e);
	if (ret)
		return ret;
	text = out_whole(p->table->out, &len);
	while (len && *text == '\n') { /* between two reports on a terminal */
		text++;
		len--;
	}
	out_put(&p->out, text, len);
	p->made[PAGE_TABLE] = body_take(p);
	return 0;
}

int pages_interval(struct pages *p, const struct frame *interval, const struct frame *total,
		   struct err *e)
{
	int ret = export_add(p->x, interval);

	if (ret)
		return err_sys(e, ret, "--listen");
	p->report_ns = interval->mono_ns;
	for (int i = 0; i < PAGES; i++) {
		body_put(p->made[i]);
		p->made[i] = NULL;
	}
	return make_table(p, interval, total, e);
}

/* ---- answers ---- */

static struct answer words(int status, const char *text)
{
	return (struct answer){.status = status, .type = TEXT, .words = text};
}

static struct answer shared(struct body *b, const char *type)
{
	if (!b)
		return words(503, "no memory\n");
	b->refs++;
	return (struct answer){.status = 200, .type = type, .body = b};
}

static struct answer metrics(struct pages *p, bool proto)
{
	struct body **made = &p->made[proto ? PAGE_PROTO : PAGE_TEXT];

	if (!*made) {
		(proto ? prom_put_proto : prom_put_text)(&p->out, p->x);
		*made = body_take(p);
	}
	return shared(*made, proto ? PROM_PROTO_TYPE : PROM_TEXT_TYPE);
}

/* A browser gets a page that comes again, others the table alone. */
static struct answer front(struct pages *p, bool html, uint64_t now_ns)
{
	const struct body *table = p->made[PAGE_TABLE];
	const char *text = table ? table->data : no_table;
	size_t len = table ? table->len : strlen(no_table);
	struct answer a;
	struct body *b;

	p->table_asked_ns = now_ns;
	if (html) {
		out_text(&p->out, page_head);
		out_html(&p->out, text, len);
		out_text(&p->out, page_end);
	} else {
		out_put(&p->out, text, len);
	}
	b = body_take(p);
	a = shared(b, html ? HTML : TEXT);
	body_put(b); /* the answer's is the only one */
	return a;
}

static struct answer health(const struct pages *p, uint64_t now_ns)
{
	uint64_t most = LATE_INTERVALS * p->cfg->interval_ns;

	if (!p->report_ns)
		return words(503, "no report yet\n");
	if (now_ns > p->report_ns && now_ns - p->report_ns > most)
		return words(503, "reports are late\n");
	return words(200, "ok\n");
}

struct answer pages_answer(struct pages *p, const struct http_request *r, uint64_t now_ns)
{
	if (!strcmp(r->path, "/metrics"))
		return p->report_ns ? metrics(p, r->wants_proto) : words(503, "no report yet\n");
	if (!strcmp(r->path, "/healthz"))
		return health(p, now_ns);
	if (!strcmp(r->path, "/"))
		return front(p, r->wants_html, now_ns);
	return words(404, "there are /, /metrics and /healthz\n");
}
