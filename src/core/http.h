/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heads of HTTP requests, which anybody may send: pure. */
#ifndef WS_HTTP_H
#define WS_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_PATH 64

struct http_request {
	bool head;	      /* HEAD, else GET */
	char path[HTTP_PATH]; /* without its query */
	bool wants_proto;     /* Prometheus' delimited protocol buffers, rather than text */
	bool wants_html;      /* a browser */
};

/*
 * `len` bytes of a request so far: 0 if there is no whole head yet, 200 with *r filled in, or the
 * status to refuse it with: 400 (no request), 405 (another method), 414 (a path that is longer than
 * any of ours).
 */
int http_request_parse(const char *data, size_t len, struct http_request *r);
/* In words: "Not Found". */
const char *http_reason(int status);

#endif
