// SPDX-License-Identifier: GPL-2.0-or-later
/* /proc/kallsyms: modules and BPF programs choose their names. */
#include "fuzz.h"

#include <errno.h>

#include "names/kernel.h"

static void check_line(const char *line)
{
	struct ksym_line l;
	struct err e = {0};
	int ret;

	memset(&l, 'x', sizeof(l));
	ret = ksym_line_parse(line, &l, &e);
	MUST(ret == 0 || ret == -EINVAL);
	if (ret) {
		MUST(e.text[0]);
		return;
	}
	MUST(l.name[0] && memchr(l.name, '\0', sizeof(l.name)));
	MUST(memchr(l.module, '\0', sizeof(l.module)));
}

static void check_table(const uint8_t *data, size_t size)
{
	struct ksyms s = {0};
	struct ksym_at at;
	FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
	size_t i;

	if (!f)
		return;
	MUST(!ksyms_read(&s, f));
	for (i = 0; i < s.n; i++) {
		MUST(!i || s.v[i - 1].addr <= s.v[i].addr);
		for (int d = 0; d < 2; d++) {
			if (!ksyms_find(&s, s.v[i].addr, d, &at))
				continue;
			MUST(at.start <= s.v[i].addr && at.name_len > 0);
			MUST(strlen(at.name) >= (size_t)at.name_len && at.module);
		}
	}
	(void)ksyms_find(&s, 0, false, &at);
	(void)ksyms_find(&s, UINT64_MAX, false, &at);
	(void)ksyms_addr(&s, "_text");
	ksyms_free(&s);
	fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	check_line(text);
	check_table(data, size);
	free(text);
	return 0;
}
