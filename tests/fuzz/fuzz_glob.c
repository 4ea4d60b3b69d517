// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --comm: the automaton that runs in BPF, against fnmatch(3). The input is a pattern, a newline and
 * a name. Brackets are left to the sanitizers: fnmatch has more of them (classes) than we take.
 */
#include "fuzz.h"

#include <fnmatch.h>

#include "source/filter/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *pattern = fuzz_string(data, size), *name = strchr(pattern, '\n');
	struct abi_glob g = {0};
	struct err e = {0};
	int ret;

	if (!name) {
		free(pattern);
		return 0;
	}
	*name++ = '\0';
	ret = glob_compile(pattern, &g, &e);
	if (ret) {
		MUST(ret < 0 && e.text[0] && e.exit == EXIT_USAGE);
	} else {
		char comm[ABI_COMM_LEN];
		bool ours;

		(void)snprintf(comm, sizeof(comm), "%s", name);
		ours = glob_match(&g, comm, sizeof(comm));
		if (!strpbrk(pattern, "[\\"))
			MUST(ours == (fnmatch(pattern, comm, 0) == 0));
	}
	free(pattern);
	return 0;
}
