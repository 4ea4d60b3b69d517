// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "objects.h"
#include "proc.h"

/* Ids of what BPF objects exist: programs, maps or links. */
static int bpf_objects(int cmd)
{
	union bpf_attr attr;
	int n = 0;

	memset(&attr, 0, sizeof(attr));
	while (syscall(SYS_bpf, cmd, &attr, sizeof(attr)) == 0) {
		n++;
		attr.start_id = attr.next_id;
	}
	return n;
}

int bpf_left(void)
{
	return bpf_objects(BPF_PROG_GET_NEXT_ID) + bpf_objects(BPF_MAP_GET_NEXT_ID) +
	       bpf_objects(BPF_LINK_GET_NEXT_ID);
}

int bpf_left_soon(int before)
{
	int now = bpf_left();

	for (int i = 0; i < 100 && now > before; i++) {
		sleep_ms(50);
		now = bpf_left();
	}
	return now - before;
}
