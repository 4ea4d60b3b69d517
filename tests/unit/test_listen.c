// SPDX-License-Identifier: GPL-2.0-or-later
/* A client of --listen while there is no memory for what it sent. Others:
 * tests/export/test_listen.py. */
#include <event2/buffer.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit.h"

#include "listen.h"

/* In place of libevent's: it returns NULL where it cannot have the bytes in one piece. */
unsigned char *evbuffer_pullup(struct evbuffer *buf, ev_ssize_t size)
{
	return NULL;
}

/* What is not set is not 0 by chance: of a function that is called next. */
__attribute__((noinline)) static void fill_stack(void)
{
	char below[1 << 16];

	memset(below, 0xff, sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
}

static int connected_to(const char *address)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	unsigned int port;

	assert_int_equal(sscanf(address, "http://127.0.0.1:%u/", &port), 1);
	to.sin_port = htons((uint16_t)port);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

TEST(no_memory)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
	struct config cfg = {.listen = "127.0.0.1:0", .max_keys = 16, .export_schema = 3};
	struct event_base *base = event_base_new();
	struct listener *l;
	struct err e = {0};
	char answer[512];
	ssize_t n = -1;
	int fd;

	assert_int_equal(listener_open(&l, &cfg, base, &e), 0);
	fd = connected_to(listener_address(l));
	assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
	for (int i = 0; i < 200 && n < 0; i++) {
		fill_stack();
		assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
		n = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
		usleep(10000);
	}
	assert_true(n > 0);
	answer[n] = '\0';
	assert_non_null(strstr(answer, "HTTP/1.1 503 "));
	assert_non_null(strstr(answer, "\r\n\r\nno\n")); /* a GET has a body */
	close(fd);
	listener_close(l);
	event_base_free(base);
}

int main(void)
{
	return unit_main(NULL, NULL);
}
