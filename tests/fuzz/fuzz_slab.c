// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of slab caches, which modules choose (and file systems, of what is mounted): what type,
 * what module they stand for. */
#include "fuzz.h"

#include "names/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *cache = fuzz_string(data, size), module[64];
	size_t n = strlen(cache), at = strcspn(cache, "_");
	struct slab_type t;

	memset(&t, 'x', sizeof(t));
	memset(module, 'x', sizeof(module));
	slab_type_of(cache, &t);
	MUST(memchr(t.type, '\0', sizeof(t.type)) && memchr(t.other, '\0', sizeof(t.other)));
	if (slab_is_general(cache))
		MUST(t.content == SLAB_UNKNOWN && !t.type[0] && !t.other[0]);
	else
		MUST(t.content == SLAB_STRUCT || (t.content == SLAB_BYTES && !t.type[0]));
	if (t.other[0])
		MUST(n > 6 && !strcmp(cache + n - 6, "_cache") &&
		     !strncmp(cache, t.other, strlen(t.other)));
	slab_module_of(cache, module, sizeof(module));
	MUST(strlen(module) == (at < sizeof(module) ? at : sizeof(module) - 1));
	MUST(!strncmp(cache, module, strlen(module)) && !strchr(module, '_'));
	free(cache);
	return 0;
}
