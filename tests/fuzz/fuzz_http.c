// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What anybody may send to --listen: never read past its end; a path that is taken is one of the
 * request's, and a head that is whole stays so, whatever follows it.
 */
#include "fuzz.h"

#include "core/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request r, more;
	char *exact = malloc(size + 1), *longer = malloc(size + 8);
	int status;

	MUST(exact && longer);
	memcpy(exact, data, size);
	memcpy(longer, data, size);
	memcpy(longer + size, "\r\nX: y\r\n", 8);
	status = http_request_parse(exact, size, &r);
	MUST(status == 0 || status == 200 || status == 400 || status == 405 || status == 414);
	if (status == 200) {
		MUST(*r.path == '/' && strlen(r.path) < HTTP_PATH && !strchr(r.path, '?'));
		MUST(memmem(data, size, r.path, strlen(r.path)));
	}
	if (status) {
		MUST(http_request_parse(longer, size + 8, &more) == status);
		MUST(status != 200 || (!strcmp(more.path, r.path) && more.head == r.head &&
				       more.wants_proto == r.wants_proto));
	}
	free(exact);
	free(longer);
	return 0;
}
