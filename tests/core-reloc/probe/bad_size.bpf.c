// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads a signed word that is a byte from 7.0 on: libbpf can resize unsigned loads only. */
#include "probe.h"

SEC("tp_btf/sched_wakeup")
int BPF_PROG(wide, struct task_struct *p)
{
	seen = p->on_cpu;
	return 0;
}
