// SPDX-License-Identifier: GPL-2.0-or-later
/* Heads of requests, whole and broken, and which form of the metrics they ask for. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "core/http.h"

#define GET "GET /metrics HTTP/1.1\r\n"
#define PROTO \
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

TEST(requests)
{
	static const struct {
		const char *why, *text;
		int status;
		const char *path;
		bool head, proto, html;
	} rows[] = {
		{"nothing yet", "", 0},
		{"half a line", "GET /met", 0},
		{"a line", GET, 0},
		{"no end", GET "Host: x\r\n", 0},
		{"half the end", GET "\r", 0},
		{"plain", GET "\r\n", 200, "/metrics"},
		{"line feeds alone", "GET / HTTP/1.0\n\n", 200, "/"},
		{"its query is not for us", "GET /metrics?x=/y HTTP/1.1\r\n\r\n", 200, "/metrics"},
		{"head", "HEAD /metrics HTTP/1.1\r\n\r\n", 200, "/metrics", true},
		{"another method", "POST /metrics HTTP/1.1\r\n\r\n", 405},
		{"no method", " /metrics HTTP/1.1\r\n\r\n", 400},
		{"no path", "GET  HTTP/1.1\r\n\r\n", 400},
		{"another form", "GET http://x/metrics HTTP/1.1\r\n\r\n", 400},
		{"no version", "GET /metrics\r\n\r\n", 400},
		{"another protocol", "GET /metrics FTP/1.12\r\n\r\n", 400},
		{"more words", "GET /metrics HTTP/1.1 x\r\n\r\n", 400},
		{"TLS", "\x16\x03\x01\x02\n\r\n", 400},
		{"a long path",
		 "GET /0123456789012345678901234567890123456789012345678901234567890123456789 "
		 "HTTP/1.1\r\n\r\n",
		 414},
		{"anything", GET "Accept: */*\r\n\r\n", 200, "/metrics"},
		{"a browser", "GET / HTTP/1.1\r\nAccept: text/html,*/*;q=0.8\r\n\r\n", 200, "/",
		 false, false, true},
		{"no page, please", "GET / HTTP/1.1\r\nAccept: text/html;q=0\r\n\r\n", 200, "/"},
		{"Prometheus 2.42 with native histograms",
		 GET
		 "Accept: " PROTO
		 ",application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,"
		 "*/*;q=0.1\r\n\r\n",
		 200, "/metrics", false, true},
		{"Prometheus 3 with them",
		 GET "accept:" PROTO ";q=0.6,text/plain;version=1.0.0;q=0.4\r\n\r\n", 200,
		 "/metrics", false, true},
		{"text is preferred", GET "Accept: text/plain," PROTO ";q=0.3\r\n\r\n", 200,
		 "/metrics"},
		{"as good as text", GET "Accept: text/plain;q=0.5," PROTO ";q=0.5\r\n\r\n", 200,
		 "/metrics", false, true},
		{"refused", GET "Accept: " PROTO ";q=0\r\n\r\n", 200, "/metrics"},
		{"no weight", GET "Accept: " PROTO ";q=x\r\n\r\n", 200, "/metrics"},
		{"another encoding",
		 GET "Accept: application/vnd.google.protobuf;proto=io.prometheus.client."
		     "MetricFamily;encoding=text\r\n\r\n",
		 200, "/metrics"},
		{"other messages",
		 GET "Accept: application/vnd.google.protobuf;proto=x.Y;encoding=delimited\r\n\r\n",
		 200, "/metrics"},
		{"a header of another name", GET "X-Accept: " PROTO "\r\n\r\n", 200, "/metrics"},
		{"several headers",
		 GET "Host: x\r\nAccept: text/plain;q=0.1\r\nAccept: " PROTO "\r\nX: y\r\n\r\n",
		 200, "/metrics", false, true},
		{"in the other order", GET "Accept: " PROTO ";q=0.1\r\nAccept: text/plain\r\n\r\n",
		 200, "/metrics"},
	};
	struct http_request r;

	for (size_t i = 0; i < ROWS(rows); i++) {
		int status = http_request_parse(rows[i].text, strlen(rows[i].text), &r);

		if (status != rows[i].status)
			fail_msg("%s: %d", rows[i].why, status);
		if (status != 200)
			continue;
		assert_string_equal(r.path, rows[i].path);
		if (r.head != rows[i].head || r.wants_proto != rows[i].proto ||
		    r.wants_html != rows[i].html)
			fail_msg("%s: %d %d %d", rows[i].why, r.head, r.wants_proto, r.wants_html);
		/* No byte less is a whole request, nor is it read past its end. */
		for (size_t n = 0; n < strlen(rows[i].text); n++) {
			char *part = malloc(n + 1);

			memcpy(part, rows[i].text, n);
			assert_int_equal(http_request_parse(part, n, &r), 0);
			free(part);
		}
	}
	assert_int_equal(http_request_parse("GET / HTTP/1.1\r\nA\0b\r\n\r\n", 23, &r), 400);
}

TEST(reasons)
{
	assert_string_equal(http_reason(200), "OK");
	assert_string_equal(http_reason(431), "Request Header Fields Too Large");
	assert_string_equal(http_reason(503), "Service Unavailable");
}

int main(void)
{
	return unit_main(NULL, NULL);
}
