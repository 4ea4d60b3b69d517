// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of kernel code, and what is missing. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "names/kernel.h"

#define OLD_NS 30000000000ULL /* modules and BPF programs come and go; reading takes 50 ms */

/*
 * Between the one who wants a lock and the tracepoint that says it waits. "=" before a name: the
 * whole name, else what it begins with. Not in it: functions that do more than lock.
 */
static const char *const lock_code[] = {
	"mutex_",
	"__mutex_",
	"ww_mutex_",
	"__ww_mutex_",
	"rt_mutex_",
	"__rt_mutex_",
	"rtlock_",
	"rt_spin_",
	"rt_read_",
	"rt_write_",
	"rwbase_",
	"__rwbase_",
	"_raw_spin_",
	"__raw_spin_",
	"do_raw_spin_",
	"_raw_read_",
	"__raw_read_",
	"_raw_write_",
	"__raw_write_",
	"do_raw_read_",
	"do_raw_write_",
	"queued_spin_",
	"queued_read_",
	"queued_write_",
	"native_queued_spin_",
	"__pv_queued_spin_",
	"pv_queued_spin_",
	"__raw_callee_save___pv_queued_spin_",
	"resilient_",
	"osq_lock",
	"raw_spin_rq_",
	"task_rq_lock",
	"__task_rq_lock",
	"double_rq_lock",
	"_double_lock_balance",
	"_atomic_dec_and_lock",
	"_atomic_dec_and_raw_lock",
	"refcount_dec_and_",
	"lockref_",
	"=lock_task_sighand",
	"=__lock_task_sighand",
	"folio_lruvec_lock",
	"down_read",
	"down_write",
	"__down_read",
	"__down_write",
	"=down",
	"=down_interruptible",
	"=down_killable",
	"=down_timeout",
	"=__down",
	"=__down_common",
	"__down_interruptible",
	"__down_killable",
	"__down_timeout",
	"rwsem_",
	"__rwsem_",
	"percpu_down_",
	"__percpu_down_",
	"__percpu_rwsem_",
	"percpu_rwsem_",
	"mmap_read_lock",
	"mmap_write_lock",
	"__mmap_lock_",
	/* the tracepoint and the BPF program on it */
	"__traceiter_contention_",
	"__bpf_trace_contention_",
	"trace_contention_",
	"bpf_trace_run",
	"bpf_trampoline_",
	"bpf_get_stack",
	"__bpf_get_stack",
	"bpf_prog_",
	"trace_call_bpf",
	"get_perf_callchain",
	"perf_callchain",
	"arch_stack_walk",
	"stack_trace_",
};

bool ksyms_ready(struct names_kernel *k, bool fresh)
{
	uint64_t now;

	if (!k->kallsyms)
		return false;
	if (k->syms_tried_ns && !fresh)
		return k->syms.n > 0;
	now = clock_mono_ns();
	if (k->syms_tried_ns && now - k->syms_tried_ns < OLD_NS)
		return k->syms.n > 0;
	k->syms_tried_ns = now;
	rewind(k->kallsyms);
	return !ksyms_read(&k->syms, k->kallsyms) && k->syms.n > 0;
}

bool kernel_code_at(struct names_kernel *k, uint64_t ip, struct ksym_at *at)
{
	if (ksyms_ready(k, false) && ksyms_find(&k->syms, ip, false, at))
		return true;
	return ksyms_ready(k, true) && ksyms_find(&k->syms, ip, false, at);
}

void names_kernel_code(struct names *n, uint64_t ip, struct name *out)
{
	struct ksym_at at;

	name_bare(out, ip);
	if (!kernel_code_at(n->kernel, ip, &at))
		return;
	out->found = NAME_OBJECT;
	out->object = at.start;
	name_print(out->text, sizeof(out->text), false, "%.*s+0x%" PRIx64, at.name_len, at.name,
		   ip - at.start);
	name_print(out->place, sizeof(out->place), false, "%s", at.module);
}

static bool begins(const char *name, int len, const char *with)
{
	size_t n;

	if (*with == '=')
		return strlen(with + 1) == (size_t)len && !strncmp(name, with + 1, (size_t)len);
	n = strlen(with);
	return n <= (size_t)len && !strncmp(name, with, n);
}

bool kernel_is_lock_code(struct names_kernel *k, uint64_t ip)
{
	struct ksym_at at;

	if (!kernel_code_at(k, ip, &at))
		return false;
	for (size_t i = 0; i < sizeof(lock_code) / sizeof(lock_code[0]); i++)
		if (begins(at.name, at.name_len, lock_code[i]))
			return true;
	return false;
}

bool names_is_lock_code(struct names *n, uint64_t ip)
{
	return kernel_is_lock_code(n->kernel, ip);
}

static void why_add(struct names_kernel *k, const char *what, const char *why)
{
	name_print(k->why, sizeof(k->why), true, "%s%s: %s", k->why[0] ? "; " : "", what, why);
}

static void why_objects(struct names_kernel *k)
{
	char why[256];

	if (!kernel_btf_ready(k)) {
		name_print(why, sizeof(why), false, "no types of the kernel (%s)",
			   strerror(-k->btf_state));
		why_add(k, "kernel objects", why);
	} else if (!kernel_peek_ready(k)) {
		name_print(why, sizeof(why), false,
			   "its memory cannot be read: %s (CAP_BPF and CAP_PERFMON; "
			   "lockdown=confidentiality refuses it)",
			   strerror(-k->peek.state));
		why_add(k, "kernel objects", why);
	} else if (!pages_known(k)) {
		why_add(k, "members of slab objects, pages", "struct pages were not found");
	}
	if (k->percpu.state < 0)
		why_add(k, "per-CPU variables",
			"BTF has none, or no way to the run queues (CONFIG_FAIR_GROUP_SCHED)");
}

#define NO_KALLSYMS "names of kernel code: no /proc/kallsyms"
#define HIDDEN "names of kernel code: addresses are hidden (CAP_SYSLOG, kernel.kptr_restrict)"
#define PEEK_LINES 64 /* variables of CPUs come first, and some of these really are at 0 */

int names_kernel_shown(struct names *n)
{
	FILE *f = n->kernel->kallsyms;
	unsigned long long addr = 0;
	char line[512];
	int i;

	if (!f)
		return -ENOENT;
	rewind(f);
	for (i = 0; i < PEEK_LINES && !addr && fgets(line, sizeof(line), f); i++)
		addr = strtoull(line, NULL, 16);
	return i ? addr != 0 : -ENOENT;
}

const char *names_code_why(struct names *n)
{
	int shown = names_kernel_shown(n);

	if (shown < 0)
		return NO_KALLSYMS;
	return shown ? NULL : HIDDEN;
}

const char *names_why(struct names *n)
{
	struct names_kernel *k = n->kernel;
	const char *code = names_code_why(n);

	name_print(k->why, sizeof(k->why), false, "%s", code ? code : "");
	why_objects(k);
	return k->why;
}

int names_kernel_symbol(struct names *n, const char *symbol, uint64_t *addr)
{
	struct names_kernel *k = n->kernel;

	if (!ksyms_ready(k, false))
		return k->syms.hidden || !k->kallsyms ? -EACCES : -ENOENT;
	*addr = ksyms_addr(&k->syms, symbol);
	if (*addr)
		return 0;
	return k->syms.data ? -ENOENT : -EOPNOTSUPP;
}

int names_kernel_mapped(struct names *n, uint64_t addr)
{
	uint8_t byte;

	if (!kernel_peek_ready(n->kernel))
		return n->kernel->peek.state;
	return peek_read(&n->kernel->peek, addr, &byte, 1);
}
