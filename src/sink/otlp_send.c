// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reports on their way to a collector, one after the other, over one connection. Nobody waits for
 * it: what the collector does not take in time waits here, and what finds no room is counted.
 *
 * By the protocol an answer of 429, 502, 503 or 504, or none, means to try again, later each time
 * or when the answer says (Retry-After); any other refusal is for good. A success may be a partial
 * one: what it rejects is counted, and not sent again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/clock.h"
#include "core/text.h"
#include "sink/otlp.h"

#define SCHEME "http://"
#define DEFAULT_PORT 4318
#define DEFAULT_PATH "/v1/metrics"
#define ANSWER_BYTES 65536
#define NS_PER_S 1000000000ULL
#define RETRY_AFTER_MAX_S 3600

struct report {
	size_t len;
	char data[];
};

struct otlp_sender {
	struct event_base *base;
	struct evdns_base *dns; /* NULL: the address is one */
	struct evhttp_connection *conn;
	struct evhttp_request *request; /* under way, for the first of the queue; or NULL */
	struct event *again, *deadline;
	char *path, *host; /* of the request */
	struct report *queue[OTLP_QUEUE];
	size_t n, bytes;
	uint64_t backoff_ns;
	struct otlp_counts counts;
	bool waiting; /* to try again */
	bool running; /* otlp_sender_run, until no more than `left` wait, */
	size_t left;
	struct event *limit; /* or this long */
};

static void send_first(struct otlp_sender *s);

/* ---- the queue ---- */

static void drop_at(struct otlp_sender *s, size_t i)
{
	s->bytes -= s->queue[i]->len;
	free(s->queue[i]);
	s->n--;
	memmove(&s->queue[i], &s->queue[i + 1], (s->n - i) * sizeof(s->queue[0]));
}

int otlp_sender_add(struct otlp_sender *s, const char *data, size_t len)
{
	struct report *r = malloc(sizeof(*r) + len);
	size_t oldest = s->request != NULL; /* the first is under way, and its memory lent */

	if (!r)
		return -ENOMEM;
	r->len = len;
	memcpy(r->data, data, len);
	while (s->n > oldest && (s->n == OTLP_QUEUE || s->bytes + len > OTLP_QUEUE_BYTES)) {
		drop_at(s, oldest);
		s->counts.lost++;
	}
	s->queue[s->n++] = r;
	s->bytes += len;
	send_first(s);
	return 0;
}

/* ---- what comes of a request ---- */

static void arm(struct event *ev, uint64_t ns)
{
	struct timeval tv = {.tv_sec = (time_t)(ns / NS_PER_S),
			     .tv_usec = (suseconds_t)(ns % NS_PER_S / 1000)};

	(void)event_add(ev, &tv); /* a timer: no way to fail */
}

/* Twice as long as the last time, less up to a quarter, so that a fleet does not come at once. */
static void try_again(struct otlp_sender *s, uint64_t after_s)
{
	uint64_t ns = s->backoff_ns;

	s->backoff_ns = 2 * ns < OTLP_BACKOFF_LAST_NS ? 2 * ns : OTLP_BACKOFF_LAST_NS;
	ns -= ns / 4 * (clock_mono_ns() / 1000 % 1024) / 1024;
	s->waiting = true;
	arm(s->again, after_s ? after_s * NS_PER_S : ns);
}

static void first_is_done(struct otlp_sender *s)
{
	drop_at(s, 0);
	s->backoff_ns = OTLP_BACKOFF_FIRST_NS;
	if (s->running && s->n <= s->left)
		(void)event_base_loopbreak(s->base);
	send_first(s);
}

/* {"partialSuccess":{"rejectedDataPoints":"5","errorMessage":"..."}} */
static void count_rejected(struct otlp_sender *s, struct evbuffer *answer)
{
	size_t len = evbuffer_get_length(answer);
	char *text = malloc(len + 1);
	struct json_object *o = NULL, *partial, *n, *words;

	if (text && evbuffer_copyout(answer, text, len) == (ev_ssize_t)len) {
		text[len] = '\0';
		o = json_tokener_parse(text);
	}
	if (o && json_object_object_get_ex(o, "partialSuccess", &partial) &&
	    json_object_object_get_ex(partial, "rejectedDataPoints", &n) &&
	    json_object_get_int64(n) > 0) {
		s->counts.rejected += (uint64_t)json_object_get_int64(n);
		words = json_object_object_get(partial, "errorMessage");
		text_clean(s->counts.why, sizeof(s->counts.why),
			   words ? json_object_get_string(words) : "data points rejected",
			   SIZE_MAX);
	}
	json_object_put(o);
	free(text);
}

/* Seconds, or a date, which is taken for nothing said. */
static uint64_t retry_after_s(struct evhttp_request *req)
{
	const char *text = evhttp_find_header(evhttp_request_get_input_headers(req), "Retry-After");
	struct err ignored = {0};
	uint64_t s = 0;

	if (text && parse_u64(text, 0, RETRY_AFTER_MAX_S, "", &s, &ignored))
		return 0;
	return s;
}

static void on_answer(struct evhttp_request *req, void *ctx)
{
	struct otlp_sender *s = ctx;
	int status = req ? evhttp_request_get_response_code(req) : 0;

	s->request = NULL;
	(void)event_del(s->deadline);
	if (status >= 200 && status < 300) {
		s->counts.sent++;
		count_rejected(s, evhttp_request_get_input_buffer(req));
		first_is_done(s);
		return;
	}
	(void)snprintf(s->counts.why, sizeof(s->counts.why), status ? "status %d" : "no answer",
		       status); /* fits */
	if (!status || status == 429 || status == 502 || status == 503 || status == 504) {
		try_again(s, req ? retry_after_s(req) : 0);
		return;
	}
	s->counts.refused++;
	first_is_done(s);
}

static void on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct otlp_sender *s = ctx;
	struct evhttp_request *req = s->request;

	s->request = NULL;
	if (req)
		evhttp_cancel_request(req); /* no answer comes of it */
	(void)snprintf(s->counts.why, sizeof(s->counts.why), "no answer in %d s",
		       OTLP_TIMEOUT_S); /* fits */
	try_again(s, 0);
}

static void on_limit(evutil_socket_t fd, short what, void *ctx)
{
	struct otlp_sender *s = ctx;

	(void)event_base_loopbreak(s->base);
}

static void on_again(evutil_socket_t fd, short what, void *ctx)
{
	struct otlp_sender *s = ctx;

	s->waiting = false;
	send_first(s);
}

static void send_first(struct otlp_sender *s)
{
	struct evhttp_request *req;
	struct evkeyvalq *headers;

	if (s->request || s->waiting || !s->n)
		return;
	req = evhttp_request_new(on_answer, s);
	if (!req) {
		try_again(s, 0);
		return;
	}
	headers = evhttp_request_get_output_headers(req);
	if (evhttp_add_header(headers, "Host", s->host) ||
	    evhttp_add_header(headers, "Content-Type", "application/json") ||
	    evbuffer_add_reference(evhttp_request_get_output_buffer(req), s->queue[0]->data,
				   s->queue[0]->len, NULL, NULL)) {
		evhttp_request_free(req);
		try_again(s, 0);
		return;
	}
	s->request = req;
	arm(s->deadline, OTLP_TIMEOUT_S * NS_PER_S);
	if (evhttp_make_request(s->conn, req, EVHTTP_REQ_POST, s->path)) { /* it has freed it */
		s->request = NULL;
		(void)event_del(s->deadline);
		try_again(s, 0);
	}
}

/* ---- opening and closing ---- */

bool otlp_is_url(const char *path)
{
	return strstr(path, "://") != NULL;
}

static int bad_url(const char *url, const char *why, struct err *e)
{
	char quoted[128];

	return err_set(e, EXIT_USAGE, -EINVAL, "--output 'otlp:%s': %s",
		       text_clean(quoted, sizeof(quoted), url, SIZE_MAX), why);
}

/* An address without the brackets that a URL has around one of IPv6. */
static void bare_host(char *out, size_t size, const char *host)
{
	size_t n = strlen(host);

	if (*host == '[' && host[n - 1] == ']')
		(void)snprintf(out, size, "%.*s", (int)(n - 2), host + 1); /* cut: no address */
	else
		(void)snprintf(out, size, "%s", strcmp(host, "localhost") ? host : "127.0.0.1");
}

/* Names are asked for without waiting: getaddrinfo(3) would. */
static int connection_open(struct otlp_sender *s, const char *host, uint16_t port, struct err *e)
{
	struct in6_addr any;
	char bare[256];

	bare_host(bare, sizeof(bare), host);
	if (inet_pton(AF_INET, bare, &any) != 1 && inet_pton(AF_INET6, bare, &any) != 1) {
		s->dns = evdns_base_new(s->base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
							 EVDNS_BASE_DISABLE_WHEN_INACTIVE);
		if (!s->dns)
			return err_set(e, EXIT_FAILED, -EIO,
				       "--output otlp: no name server for '%s' (/etc/resolv.conf)",
				       bare);
	}
	s->conn = evhttp_connection_base_new(s->base, s->dns, bare, port);
	if (!s->conn)
		return err_sys(e, -ENOMEM, "--output otlp");
	evhttp_connection_set_timeout(s->conn, OTLP_TIMEOUT_S);
	evhttp_connection_set_max_headers_size(s->conn, ANSWER_BYTES);
	evhttp_connection_set_max_body_size(s->conn, ANSWER_BYTES);
	return 0;
}

static int take_url(struct otlp_sender *s, const char *url, struct err *e)
{
	struct evhttp_uri *uri = evhttp_uri_parse(url);
	const char *host = uri ? evhttp_uri_get_host(uri) : NULL, *path, *query;
	int port, ret = 0;

	if (strncasecmp(url, SCHEME, strlen(SCHEME)))
		ret = bad_url(url,
			      "only http:// is spoken (a collector or proxy on this machine "
			      "can do the encryption)",
			      e);
	else if (!host || !*host || strlen(host) > 250 || evhttp_uri_get_userinfo(uri))
		ret = bad_url(url, "not a URL (expected http://HOST[:PORT][/PATH])", e);
	if (ret)
		goto out;
	port = evhttp_uri_get_port(uri) > 0 ? evhttp_uri_get_port(uri) : DEFAULT_PORT;
	path = evhttp_uri_get_path(uri);
	query = evhttp_uri_get_query(uri);
	if (!path || !*path || !strcmp(path, "/"))
		path = DEFAULT_PATH;
	if (asprintf(&s->host, "%s:%d", host, port) < 0 ||
	    asprintf(&s->path, "%s%s%s", path, query ? "?" : "", query ? query : "") < 0)
		ret = err_sys(e, -ENOMEM, "--output otlp");
	else
		ret = connection_open(s, host, (uint16_t)port, e);
out:
	if (uri)
		evhttp_uri_free(uri);
	return ret;
}

int otlp_sender_open(struct otlp_sender **out, struct event_base *base, const char *url,
		     struct err *e)
{
	struct otlp_sender *s = calloc(1, sizeof(*s));
	int ret;

	*out = s;
	if (!s)
		return err_sys(e, -ENOMEM, "--output otlp");
	s->base = base;
	s->backoff_ns = OTLP_BACKOFF_FIRST_NS;
	s->again = evtimer_new(base, on_again, s);
	s->deadline = evtimer_new(base, on_deadline, s);
	s->limit = evtimer_new(base, on_limit, s);
	ret = s->again && s->deadline && s->limit ? take_url(s, url, e)
						  : err_sys(e, -ENOMEM, "--output otlp");
	if (ret) {
		otlp_sender_close(s);
		*out = NULL;
	}
	return ret;
}

void otlp_sender_run(struct otlp_sender *s, size_t left, uint64_t limit_ns)
{
	if (s->n <= left)
		return;
	s->left = left;
	s->running = true;
	arm(s->limit, limit_ns);
	if (s->waiting) { /* to wait longer is of no use */
		(void)event_del(s->again);
		s->waiting = false;
		send_first(s);
	}
	(void)event_base_dispatch(s->base); /* what has not gone by then is counted */
	(void)event_del(s->limit);
	s->running = false;
}

const struct otlp_counts *otlp_sender_counts(const struct otlp_sender *s)
{
	return &s->counts;
}

void otlp_sender_give_up(struct otlp_sender *s)
{
	if (s->request)
		evhttp_cancel_request(s->request);
	s->request = NULL;
	for (; s->n; s->counts.lost++)
		drop_at(s, s->n - 1);
}

void otlp_sender_close(struct otlp_sender *s)
{
	if (!s)
		return;
	otlp_sender_give_up(s);
	if (s->conn)
		evhttp_connection_free(s->conn);
	if (s->dns)
		evdns_base_free(s->dns, 0);
	if (s->again)
		event_free(s->again);
	if (s->deadline)
		event_free(s->deadline);
	if (s->limit)
		event_free(s->limit);
	free(s->path);
	free(s->host);
	free(s);
}
