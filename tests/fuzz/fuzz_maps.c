// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/PID/maps and /tmp/perf-PID.map: others choose the names, the second wholly. */
#include "fuzz.h"

#include <errno.h>

#include "names/user_proc.h"

static void perf_map(char *text)
{
	const char *name;
	uint64_t offset;

	for (char *line; (line = strsep(&text, "\n"));)
		if (jit_line(line, 0x1000, &name, &offset))
			MUST(name > line && *name && offset <= 0x1000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps m = {0};
	const char *p = (const char *)data, *end = p + size;
	uint64_t last = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl ? nl : end) - p);
		char *line = malloc(len ? len : 1); /* reading past its end is seen */
		int ret;

		MUST(line);
		memcpy(line, p, len);
		ret = maps_add(&m, line, len);
		MUST(ret == 0 || ret == -EINVAL);
		free(line);
		p += len + 1;
	}
	for (size_t i = 0; i < m.n; i++) {
		MUST(m.v[i].start >= last && m.v[i].start < m.v[i].end);
		MUST(m.v[i].source == MAP_NO_SOURCE || m.v[i].source < m.nsources);
		MUST(maps_find(&m, m.v[i].start) == &m.v[i]);
		MUST(maps_find(&m, m.v[i].end - 1) == &m.v[i]);
		last = m.v[i].end;
	}
	MUST(!maps_find(&m, last));
	maps_free(&m);
	char *text = fuzz_string(data, size);

	perf_map(text);
	free(text);
	return 0;
}
