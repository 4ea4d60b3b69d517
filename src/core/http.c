// SPDX-License-Identifier: GPL-2.0-or-later
#include "core/http.h"

#include <string.h>
#include <strings.h>

#define PROTO "application/vnd.google.protobuf"
#define PROTO_MESSAGE "proto=io.prometheus.client.MetricFamily"
#define PROTO_ENCODING "encoding=delimited"
#define WEIGHT_ONE 1000

/* A stretch of the head. */
struct span {
	const char *s;
	size_t n;
};

static struct span trimmed(struct span w)
{
	while (w.n && (*w.s == ' ' || *w.s == '\t')) {
		w.s++;
		w.n--;
	}
	while (w.n && (w.s[w.n - 1] == ' ' || w.s[w.n - 1] == '\t' || w.s[w.n - 1] == '\r'))
		w.n--;
	return w;
}

/* What comes before `sep`, or all; *rest begins behind it. */
static struct span take(struct span *rest, char sep)
{
	const char *at = rest->n ? memchr(rest->s, sep, rest->n) : NULL;
	struct span w = {rest->s, at ? (size_t)(at - rest->s) : rest->n};

	rest->s += w.n + (at != NULL);
	rest->n -= w.n + (at != NULL);
	return w;
}

static bool is(struct span w, const char *text)
{
	return w.n == strlen(text) && !strncasecmp(w.s, text, w.n);
}

/* "0.75" in thousandths; what is no weight is 0. */
static int weight_of(struct span w)
{
	int v = 0, digit = WEIGHT_ONE;

	for (size_t i = 0; i < w.n && digit; i++) {
		if (i == 1 && w.s[i] == '.')
			continue;
		if (w.s[i] < '0' || w.s[i] > '9')
			return 0;
		v += (w.s[i] - '0') * digit;
		digit /= 10;
	}
	return v > WEIGHT_ONE ? WEIGHT_ONE : v;
}

/* One type that is accepted, with what is asked of it. */
struct accepted {
	struct span type;
	int weight;
	bool metrics; /* the messages that we have, delimited */
};

static struct accepted accepted_of(struct span item)
{
	struct accepted a = {.type = trimmed(take(&item, ';')), .weight = WEIGHT_ONE};
	bool message = false, encoding = false;

	while (item.n) {
		struct span p = trimmed(take(&item, ';'));

		message |= is(p, PROTO_MESSAGE);
		encoding |= is(p, PROTO_ENCODING);
		if (p.n > 2 && !strncasecmp(p.s, "q=", 2))
			a.weight = weight_of((struct span){p.s + 2, p.n - 2});
	}
	a.metrics = message && encoding;
	return a;
}

/* The weights that both forms have been given so far. */
struct wanted {
	int proto, text;
};

static void read_accept(struct span value, struct wanted *w, struct http_request *r)
{
	while (value.n) {
		struct accepted a = accepted_of(take(&value, ','));

		if (is(a.type, PROTO) && a.metrics && a.weight > w->proto)
			w->proto = a.weight;
		if (is(a.type, "text/plain") && a.weight > w->text)
			w->text = a.weight;
		r->wants_html |= is(a.type, "text/html") && a.weight;
	}
	r->wants_proto = w->proto && w->proto >= w->text;
}

/* "GET /metrics?x HTTP/1.1" */
static int read_line(struct span line, struct http_request *r)
{
	struct span method, path, version;

	line = trimmed(line);
	method = take(&line, ' ');
	path = take(&line, ' ');
	version = line;
	if (version.n != 8 || strncmp(version.s, "HTTP/1.", 7) || !path.n || *path.s != '/')
		return 400;
	r->head = is(method, "HEAD");
	if (!r->head && !is(method, "GET"))
		return 405;
	path = take(&path, '?');
	if (path.n >= sizeof(r->path))
		return 414;
	memcpy(r->path, path.s, path.n);
	r->path[path.n] = '\0';
	return 200;
}

/* The head's length, without the empty line that ends it; 0: it has not ended. */
static size_t head_length(const char *data, size_t len)
{
	for (size_t i = 0; i + 1 < len; i++)
		if (data[i] == '\n' &&
		    (data[i + 1] == '\n' ||
		     (data[i + 1] == '\r' && i + 2 < len && data[i + 2] == '\n')))
			return i + 1;
	return 0;
}

int http_request_parse(const char *data, size_t len, struct http_request *r)
{
	struct span head = {data, head_length(data, len)}, name, value;
	struct wanted wanted = {0};
	int status;

	*r = (struct http_request){0};
	if (!head.n)
		return 0;
	if (memchr(head.s, '\0', head.n))
		return 400;
	status = read_line(take(&head, '\n'), r);
	while (status == 200 && head.n) {
		value = take(&head, '\n');
		name = take(&value, ':');
		if (is(name, "Accept"))
			read_accept(trimmed(value), &wanted, r);
	}
	return status;
}

const char *http_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 400:
		return "Bad Request";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 414:
		return "URI Too Long";
	case 431:
		return "Request Header Fields Too Large";
	default:
		return "Service Unavailable";
	}
}
