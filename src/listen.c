// SPDX-License-Identifier: GPL-2.0-or-later
/* Sockets and clients; each of these gets one answer, and has LISTEN_TIME_S for all of it. */
#include "listen.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text.h"

#define DEFAULT_PORT 9768
#define SYSTEMD "systemd"
#define SYSTEMD_FIRST_FD 3
#define SOCKETS 8
#define BACKLOG 512
#define BODIES 4 /* reports: who has not taken an answer by then loses its connection */
#define PAUSE_NS 250000000LL
#define OLD_NS 1000000000ULL /* who has sent no request by then makes room for others */

struct client {
	struct client *next, **at; /* oldest first */
	struct listener *l;
	struct bufferevent *bev;
	struct event *deadline;
	uint64_t since_ns;
	uint64_t report; /* the last one when it was answered */
	bool answered;
};

struct listener {
	struct event_base *base;
	struct pages pages;
	struct evconnlistener *sockets[SOCKETS];
	size_t nsockets;
	struct client *clients, **last;
	unsigned int nclients;
	uint64_t reports;
	struct event *pause; /* nobody is let in until then */
	char address[80];
};

/* ---- who is let in ---- */

static void let_in(struct listener *l, bool in)
{
	for (size_t i = 0; i < l->nsockets; i++)
		(void)(in ? evconnlistener_enable(l->sockets[i])
			  : evconnlistener_disable(l->sockets[i])); /* tried again after a pause */
}

static void wait_a_little(struct listener *l)
{
	struct timeval tv = {.tv_usec = PAUSE_NS / 1000};

	let_in(l, false);
	(void)event_add(l->pause, &tv); /* a timer: no way to fail */
}

static void client_free(struct client *c)
{
	struct listener *l = c->l;

	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	else
		l->last = c->at;
	l->nclients--;
	if (c->deadline)
		event_free(c->deadline);
	bufferevent_free(c->bev); /* and its socket; what is queued there refers to the body */
	free(c);
	if (!event_pending(l->pause, EV_TIMEOUT, NULL))
		let_in(l, true);
}

/* One that has had time for its request and not made it. */
static bool make_room(struct listener *l)
{
	struct client *c;

	for (c = l->clients; c && moment_now().mono_ns - c->since_ns > OLD_NS; c = c->next)
		if (!c->answered) {
			client_free(c);
			return true;
		}
	return false;
}

static void on_pause(evutil_socket_t fd, short what, void *ctx)
{
	let_in(ctx, true);
}

/* ---- a client ---- */

static void sent_body(const void *data, size_t len, void *body)
{
	body_put(body);
}

static void answer(struct client *c, const struct http_request *r, int status)
{
	struct answer a = {.status = status, .type = "text/plain", .words = "no\n"};
	struct evbuffer *out = bufferevent_get_output(c->bev);
	size_t len;

	if (status == 200)
		a = pages_answer(&c->l->pages, r, moment_now().mono_ns);
	len = a.body ? a.body->len : strlen(a.words);
	c->answered = true;
	c->report = c->l->reports;
	(void)bufferevent_disable(c->bev, EV_READ); /* one request each */
	if (evbuffer_add_printf(out,
				"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
				"Connection: close\r\nCache-Control: no-store\r\n%s\r\n",
				a.status, http_reason(a.status), a.type, len,
				a.status == 405 ? "Allow: GET, HEAD\r\n" : "") < 0)
		goto no_memory;
	if (r->head || !a.body) {
		body_put(a.body);
		if (!r->head && evbuffer_add(out, a.words, len))
			goto drop;
	} else if (evbuffer_add_reference(out, a.body->data, len, sent_body, a.body)) {
		goto no_memory;
	}
	return;
no_memory:
	body_put(a.body);
drop:
	client_free(c);
}

static void on_read(struct bufferevent *bev, void *ctx)
{
	struct client *c = ctx;
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t len = evbuffer_get_length(in);
	struct http_request r = {0};
	const char *data = (const char *)evbuffer_pullup(in, -1);
	int status;

	if (c->answered || !len)
		return;
	status = data ? http_request_parse(data, len, &r) : 503;
	if (!status && len >= LISTEN_HEAD_BYTES)
		status = 431;
	if (status)
		answer(c, &r, status);
}

/* All of the answer is out. */
static void on_written(struct bufferevent *bev, void *ctx)
{
	struct client *c = ctx;

	if (c->answered)
		client_free(c);
}

static void on_event(struct bufferevent *bev, short what, void *ctx)
{
	client_free(ctx); /* it has gone, or closed its side: either is the end */
}

static void on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	client_free(ctx);
}

/* ---- sockets ---- */

static void on_accept(struct evconnlistener *socket, evutil_socket_t fd, struct sockaddr *from,
		      int len, void *ctx)
{
	struct timeval tv = {.tv_sec = LISTEN_TIME_S};
	struct listener *l = ctx;
	struct client *c = calloc(1, sizeof(*c));

	if (c)
		c->bev = bufferevent_socket_new(l->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c || !c->bev) {
		free(c);
		close(fd);
		return;
	}
	c->l = l;
	c->since_ns = moment_now().mono_ns;
	c->at = l->last;
	*l->last = c;
	l->last = &c->next;
	l->nclients++;
	bufferevent_setcb(c->bev, on_read, on_written, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, LISTEN_HEAD_BYTES);
	c->deadline = evtimer_new(l->base, on_deadline, c);
	if (!c->deadline || evtimer_add(c->deadline, &tv) || bufferevent_enable(c->bev, EV_READ)) {
		client_free(c);
		return;
	}
	if (l->nclients >= LISTEN_CLIENTS && !make_room(l))
		wait_a_little(l);
}

/* Descriptors have run out, say: not to be asked again at once. */
static void on_accept_error(struct evconnlistener *socket, void *ctx)
{
	wait_a_little(ctx);
}

static int add_socket(struct listener *l, int fd, struct err *e)
{
	struct evconnlistener *s;

	if (l->nsockets == SOCKETS)
		return err_set(e, EXIT_FAILED, -E2BIG, "--listen: more than %d sockets", SOCKETS);
	if (evutil_make_socket_nonblocking(fd) || evutil_make_socket_closeonexec(fd))
		return err_sys(e, -errno, "--listen");
	s = evconnlistener_new(l->base, on_accept, l, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
			       BACKLOG, fd);
	if (!s)
		return err_sys(e, -errno, "--listen");
	evconnlistener_set_error_cb(s, on_accept_error);
	l->sockets[l->nsockets++] = s;
	return 0;
}

/* "9768", ":9768", "localhost", "10.0.0.1:80", "[::1]:80": the address without its port, which may
 * be 0: any. */
static int parse_address(const char *text, struct sockaddr_storage *to, int *len, struct err *e)
{
	const char *port = text_is_number(text) ? text : strrchr(text, ':');
	char host[64], quoted[128];
	size_t n = port ? (size_t)(port - text) : strlen(text);
	uint32_t number = DEFAULT_PORT;
	struct err why = {0};
	int ret = 0;

	if (port && parse_u32(port + (*port == ':'), 0, UINT16_MAX, "", &number, &why))
		ret = -EINVAL;
	if (snprintf(host, sizeof(host), "%.*s", (int)n, text) >= (int)sizeof(host))
		ret = -EINVAL;
	if (!n || !strcmp(host, "localhost"))
		(void)snprintf(host, sizeof(host), "127.0.0.1"); /* fits */
	*len = sizeof(*to);
	if (!ret && !evutil_parse_sockaddr_port(host, (struct sockaddr *)to, len)) {
		/* at the same place in both kinds of address */
		((struct sockaddr_in *)to)->sin_port = htons((uint16_t)number);
		return 0;
	}
	return err_set(e, EXIT_USAGE, -EINVAL,
		       "--listen '%s': not an address (expected ADDR:PORT in numbers, as in "
		       "127.0.0.1:9768 and [::1]:9768, or localhost)",
		       text_clean(quoted, sizeof(quoted), text, SIZE_MAX));
}

int listen_check(const char *text, struct err *e)
{
	struct sockaddr_storage to;
	int len;

	return strcmp(text, SYSTEMD) ? parse_address(text, &to, &len, e) : 0;
}

static int listen_at(struct listener *l, const char *text, struct err *e)
{
	struct sockaddr_storage to;
	int len, fd, one = 1, ret = parse_address(text, &to, &len, e);

	if (ret)
		return ret;
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(e, -errno, "--listen '%s'", text);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&to, (socklen_t)len))
		ret = err_sys(e, -errno, "--listen '%s'", text);
	if (!ret)
		ret = add_socket(l, fd, e);
	if (ret)
		close(fd);
	return ret;
}

/* Those that whoever started us has opened: LISTEN_FDS of them, from descriptor 3 on. */
static int listen_at_given(struct listener *l, struct err *e)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	struct err ignored = {0};
	uint32_t whose, n = 0;
	int ret = 0;

	if (!pid || !fds || parse_u32(pid, 1, UINT32_MAX, "LISTEN_PID", &whose, &ignored) ||
	    whose != (uint32_t)getpid() || parse_u32(fds, 1, SOCKETS, "LISTEN_FDS", &n, &ignored))
		return err_set(e, EXIT_FAILED, -ENOENT,
			       "--listen systemd: no sockets were handed over (LISTEN_PID, "
			       "LISTEN_FDS)");
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = add_socket(l, SYSTEMD_FIRST_FD + (int)i, e);
	return ret;
}

/* Where the first socket is: the port may have been 0. */
static void note_address(struct listener *l)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);
	char host[64] = "";
	const void *from;
	uint16_t port;

	if (getsockname(evconnlistener_get_fd(l->sockets[0]), (struct sockaddr *)&at, &len) ||
	    (at.ss_family != AF_INET && at.ss_family != AF_INET6)) {
		(void)snprintf(l->address, sizeof(l->address), "a socket of its own"); /* fits */
		return;
	}
	if (at.ss_family == AF_INET6) {
		from = &((struct sockaddr_in6 *)&at)->sin6_addr;
		port = ntohs(((struct sockaddr_in6 *)&at)->sin6_port);
	} else {
		from = &((struct sockaddr_in *)&at)->sin_addr;
		port = ntohs(((struct sockaddr_in *)&at)->sin_port);
	}
	(void)evutil_inet_ntop(at.ss_family, from, host, sizeof(host)); /* fits */
	(void)snprintf(l->address, sizeof(l->address),
		       at.ss_family == AF_INET6 ? "http://[%s]:%u/" : "http://%s:%u/", host,
		       port); /* fits */
}

/* ---- all of it ---- */

int listener_open(struct listener **out, const struct config *cfg, struct event_base *base,
		  struct err *e)
{
	struct listener *l;
	int ret;

	*out = NULL;
	if (!cfg->listen)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_sys(e, -ENOMEM, "--listen");
	l->base = base;
	l->last = &l->clients;
	*out = l;
	ret = pages_open(&l->pages, cfg, e);
	l->pause = evtimer_new(base, on_pause, l);
	if (!ret && !l->pause)
		ret = err_sys(e, -ENOMEM, "--listen");
	if (!ret)
		ret = strcmp(cfg->listen, SYSTEMD) ? listen_at(l, cfg->listen, e)
						   : listen_at_given(l, e);
	if (!ret)
		note_address(l);
	return ret;
}

const char *listener_address(const struct listener *l)
{
	return l->address;
}

int listener_meta(struct listener *l, const struct meta *m, struct err *e)
{
	return pages_meta(&l->pages, m, e);
}

/* Clients that have not taken what they were given some reports ago hold its memory. */
static void drop_slow(struct listener *l)
{
	uint64_t now = moment_now().mono_ns;
	struct client *c, *next;

	for (c = l->clients; c; c = next) {
		next = c->next;
		if (c->answered && l->reports - c->report >= BODIES && now - c->since_ns > OLD_NS)
			client_free(c);
	}
}

int listener_interval(struct listener *l, const struct frame *interval, const struct frame *total,
		      struct err *e)
{
	l->reports++;
	drop_slow(l);
	return pages_interval(&l->pages, interval, total, e);
}

void listener_close(struct listener *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nsockets; i++)
		evconnlistener_free(l->sockets[i]);
	l->nsockets = 0;
	while (l->clients)
		client_free(l->clients);
	if (l->pause)
		event_free(l->pause);
	pages_close(&l->pages);
	free(l);
}
