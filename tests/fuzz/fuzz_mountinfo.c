// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of mountinfo: what comes out lies in the text, and the numbers fit the kernel's dev_t. */
#include "fuzz.h"

#include "source/sys/mountinfo.h"

static void must_lie_in(const char *s, const char *text, size_t size)
{
	MUST(s >= text && s <= text + size);
	MUST(memchr(s, '\0', (size_t)(text + size + 1 - s)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size), *rest = text;
	struct mount_entry m;
	size_t lines = 0;

	while (mountinfo_next(&rest, &m)) {
		lines++;
		MUST(m.major < 1U << 12 && m.minor < 1U << 20);
		must_lie_in(m.root, text, size);
		must_lie_in(m.path, text, size);
		must_lie_in(m.fstype, text, size);
		must_lie_in(m.source, text, size);
		MUST(*m.root && *m.path && *m.fstype);
	}
	MUST(!rest && lines <= size);
	free(text);
	return 0;
}
