// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest whose tasks are scheduled by a BPF program (sched_ext): definitions and counts hold
 * there. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define STATE "/sys/kernel/sched_ext/state"
#define ENQUEUED_MIN 1000

/* The scheduler stays, whoever loaded it, until its map's element is removed: nobody does. */
static int load_scheduler(void)
{
	struct bpf_object *object = bpf_object__open_file("/bin/scx.bpf.o", NULL);
	struct bpf_map *map;

	if (!object || bpf_object__load(object))
		return -1;
	map = bpf_object__find_map_by_name(object, "ws_fifo");
	return map && bpf_map__attach_struct_ops(map) ? 0 : -1;
}

/* How many times it was asked to queue a task, or -1. */
static int64_t enqueued(void)
{
	struct bpf_map_info info;
	__u32 id = 0, zero = 0;
	int64_t n = -1;

	while (n < 0 && !bpf_map_get_next_id(id, &id)) {
		int fd = bpf_map_get_fd_by_id(id);
		__u32 size = sizeof(info);

		memset(&info, 0, sizeof(info));
		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) && !strcmp(info.name, "queued") &&
		    bpf_map_lookup_elem(fd, &zero, &n))
			n = -1;
		(void)close(fd);
	}
	return n;
}

/* Is the scheduler the one that decides, of this task too? */
static bool decides(void)
{
	char *state = file_text(STATE), *own = file_text("/proc/self/sched");
	char *ext = strstr(own, "ext.enabled");
	bool yes = !strncmp(state, "enabled", 7) && ext && strchr(ext, ':') &&
		   atoi(strchr(ext, ':') + 1) == 1;

	free(state);
	free(own);
	return yes;
}

static int test_scx_starts(struct guest *g)
{
	int ret = load_scheduler();

	for (int i = 0; i < 100 && !ret && !decides(); i++)
		sleep_ms(50);
	return say(g, !ret && decides() ? PASS : FAIL, "a first-in-first-out scheduler of BPF %s",
		   ret ? "is refused" : "decides");
}

/* At the end: it was the scheduler of all tests, and had much to decide. */
static int test_scx_holds(struct guest *g)
{
	int64_t n = enqueued();

	return say(g, decides() && n >= ENQUEUED_MIN ? PASS : FAIL, "it %s, and queued %lld tasks",
		   decides() ? "still decides" : "is gone", (long long)n);
}

const struct test scx_first[] = {
	{"scx-starts", test_scx_starts, "scx"},
	{0},
};

const struct test scx_last[] = {
	{"scx-holds", test_scx_holds, "scx"},
	{0},
};
