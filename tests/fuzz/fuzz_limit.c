// SPDX-License-Identifier: GPL-2.0-or-later
/* --fail-if: a limit that is read says again what was read; one that is not is quoted in words. */
#include "fuzz.h"

#include <errno.h>

#include "core/limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);
	struct err e = {0}, again = {0};
	struct limit l, same;
	size_t i;
	int ret = limit_parse(&l, text, true, &e);

	if (ret) {
		MUST(ret == -EINVAL && e.exit == EXIT_USAGE && !l.text && !l.memory);
		MUST(strstr(e.text, "--fail-if '") == e.text && fuzz_utf8_valid(e.text));
		MUST(!strpbrk(e.text, "\n\033"));
	} else {
		MUST(l.desc && l.nlabels <= SERIES_LABELS && l.value >= 0 && !e.text[0]);
		MUST(!l.desc->counter || l.stat == LIMIT_COUNT || l.stat == LIMIT_RATE);
		for (i = 0; i < l.nlabels; i++)
			MUST(*l.labels[i].key && strlen(l.labels[i].value) < size);
		MUST(!limit_parse(&same, text, false, &again) == !l.relative);
		limit_free(&same);
		limit_free(&l);
	}
	free(text);
	return 0;
}
