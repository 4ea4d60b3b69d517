// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/sys/cpus.h"
#include "source/sys/machine.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "source/sys/bpf_util.h"
#include "source/sys/cgroup.h"
#include "source/privs.h"

#define TEXT(f, ...) ((void)snprintf((f)->text, sizeof((f)->text), __VA_ARGS__)) /* cut is fine */

static void kernel_fact(struct machine_fact *f, const struct config *cfg)
{
	struct utsname un;

	(void)uname(&un); /* cannot fail */
	TEXT(f, "%s %s, %ld CPUs online, %d possible", un.release, un.machine,
	     sysconf(_SC_NPROCESSORS_ONLN), libbpf_num_possible_cpus());
}

static void user_fact(struct machine_fact *f, const struct config *cfg)
{
	static const struct {
		int cap;
		const char *name;
	} caps[] = {
		{CAP_SYS_ADMIN, "cap_sys_admin"}, {CAP_BPF, "cap_bpf"},
		{CAP_PERFMON, "cap_perfmon"},	  {CAP_DAC_READ_SEARCH, "cap_dac_read_search"},
		{CAP_SYSLOG, "cap_syslog"},
	};
	size_t i, at;

	TEXT(f, "uid %u with", (unsigned int)geteuid());
	for (i = 0; i < sizeof(caps) / sizeof(caps[0]); i++) {
		at = strlen(f->text);
		if (privs_have(caps[i].cap))
			(void)snprintf(f->text + at, sizeof(f->text) - at, " %s", caps[i].name);
	}
	at = strlen(f->text);
	if (!strcmp(f->text + at - 4, "with"))
		(void)snprintf(f->text + at, sizeof(f->text) - at,
			       " none of the capabilities for BPF");
}

static void btf_fact(struct machine_fact *f, const struct config *cfg)
{
	struct err why = {0};
	struct btf *btf = kernel_btf(cfg->btf, &why);
	int args = btf ? tracepoint_args(btf, "sched_switch") : 0;
	size_t at;

	if (!btf) {
		TEXT(f, "no: %s", why.text);
		return;
	}
	TEXT(f, "%s, %u types", cfg->btf ? cfg->btf : "the kernel's own", btf__type_cnt(btf));
	at = strlen(f->text);
	if (args < 0)
		(void)snprintf(f->text + at, sizeof(f->text) - at, "; no tracepoints: cut down");
	else
		(void)snprintf(f->text + at, sizeof(f->text) - at,
			       "; sched_switch has %d arguments", args);
	btf__free(btf);
}

static void storage_fact(struct machine_fact *f, const struct config *cfg)
{
	int has = libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL);

	if (has < 0)
		TEXT(f, "cannot be asked: %s", strerror(-has));
	else
		TEXT(f, "%s", has ? "yes" : "no: a hash by task instead (Linux 5.11 has it)");
}

static void test_runs_fact(struct machine_fact *f, const struct config *cfg)
{
	int ret = bpf_test_runs();

	if (ret && !privs_suffice())
		TEXT(f, "cannot be asked: %s", err_words(ret));
	else if (ret)
		TEXT(f, "no: %s; buckets are not compared with ours at the start", err_words(ret));
	else
		TEXT(f, "yes: at the start buckets are compared with ours");
}

static void lockdown_fact(struct machine_fact *f, const struct config *cfg)
{
	if (!lockdown_level(f->text, sizeof(f->text)))
		TEXT(f, "unknown (/sys/kernel/security is not mounted, or not built in)");
}

static void memlock_fact(struct machine_fact *f, const struct config *cfg)
{
	uint64_t limit = privs_memlock_limit();

	if (limit)
		TEXT(f, "%llu KiB (counts BPF maps before Linux 5.11: ulimit -l unlimited there)",
		     (unsigned long long)limit / 1024);
	else
		TEXT(f, "unlimited");
}

static void cgroup_fact(struct machine_fact *f, const struct config *cfg)
{
	struct cgroup_mount m;
	struct err why = {0};

	if (cgroup_mount_find(&m, &why))
		TEXT(f, "no: %s", why.text);
	else
		TEXT(f, "%s", m.path);
	cgroup_mount_close(&m);
}

size_t machine_facts(struct machine_fact *v, const struct config *cfg)
{
	static const struct {
		const char *name;
		void (*fill)(struct machine_fact *f, const struct config *cfg);
	} table[] = {
		{"kernel", kernel_fact},     {"user", user_fact},
		{"BTF", btf_fact},	     {"task storage", storage_fact},
		{"lockdown", lockdown_fact}, {"locked memory", memlock_fact},
		{"cgroup v2", cgroup_fact},  {"BPF test runs", test_runs_fact},
	};
	size_t i, n = sizeof(table) / sizeof(table[0]);

	_Static_assert(sizeof(table) / sizeof(table[0]) <= MACHINE_FACTS, "room for all facts");
	for (i = 0; i < n; i++) {
		v[i].name = table[i].name;
		table[i].fill(&v[i], cfg);
	}
	return n;
}
