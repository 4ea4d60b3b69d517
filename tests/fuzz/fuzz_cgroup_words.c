// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of cgroups, which containers choose: what is taken of a path is a part of it, and has its
 * form. */
#include "fuzz.h"

#include "core/cgroup_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = fuzz_string(data, size);
	struct cgroup_words w;
	size_t n;

	cgroup_words(&w, path);
	n = strlen(w.unit);
	MUST(n < sizeof(w.unit) && strstr(path, w.unit) && !strchr(w.unit, '/'));
	n = strlen(w.container_id);
	MUST(!n || (n == 64 && strspn(w.container_id, "0123456789abcdef") == 64));
	MUST(strstr(path, w.container_id));
	n = strlen(w.pod_uid);
	MUST(!n || ((n == 36 || n == 32) && strspn(w.pod_uid, "0123456789abcdef-") == n));
	free(path);
	return 0;
}
