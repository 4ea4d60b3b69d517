// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /proc/PID/stat and status, in which a task's name stands as it is: as the kernel writes them the
 * parent and the process are found whatever the name; other bytes do no harm.
 */
#include "fuzz.h"

#include <errno.h>

#include "source/filter/targets.h"

#define COMM_MAX 15

static void any_bytes(const char *text)
{
	uint32_t v = 7;
	int ret = proc_stat_ppid(text, &v);

	MUST(ret == 0 || ret == -EINVAL);
	MUST(ret ? v == 7 : v <= INT32_MAX);
	v = 7;
	if (proc_status_tgid(text, &v))
		MUST(!strncmp(text, "Tgid:\t", 6) && v <= INT32_MAX);
	else
		MUST(v == 7);
}

static void any_name(const char *name)
{
	uint32_t pid = (uint32_t)strlen(name) * 7919U, got = 0;
	char text[128];

	(void)snprintf(text, sizeof(text), "1 (%.*s) S %u 1 1 0 -1\n", COMM_MAX, name, pid);
	MUST(!proc_stat_ppid(text, &got) && got == pid);
	(void)snprintf(text, sizeof(text), "Tgid:\t%u\n", pid);
	MUST(proc_status_tgid(text, &got) && got == pid);
	(void)snprintf(text, sizeof(text), "Name:\t%.*s\n", COMM_MAX, name);
	MUST(!proc_status_tgid(text, &got));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_string(data, size);

	any_bytes(text);
	any_name(text);
	free(text);
	return 0;
}
