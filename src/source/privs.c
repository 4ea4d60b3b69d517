// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/privs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct caps {
	uint64_t effective, permitted, inheritable;
};

static int caps_get(struct caps *c)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {0};

	if (syscall(SYS_capget, &head, d))
		return -errno;
	c->effective = d[0].effective | (uint64_t)d[1].effective << 32;
	c->permitted = d[0].permitted | (uint64_t)d[1].permitted << 32;
	c->inheritable = d[0].inheritable | (uint64_t)d[1].inheritable << 32;
	return 0;
}

static int caps_set(const struct caps *c)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {
		{(__u32)c->effective, (__u32)c->permitted, (__u32)c->inheritable},
		{(__u32)(c->effective >> 32), (__u32)(c->permitted >> 32),
		 (__u32)(c->inheritable >> 32)},
	};

	return syscall(SYS_capset, &head, d) ? -errno : 0;
}

bool privs_have(int cap)
{
	struct caps c = {0};

	return !caps_get(&c) && (c.effective >> cap & 1);
}

const char *privs_setcap_line(char *out, size_t len)
{
	char path[512];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	snprintf(out, len, "setcap " PRIVS_SETCAP " %s", *path ? path : "FILE");
	return out;
}

uint64_t privs_memlock_limit(void)
{
	struct rlimit rl;

	if (privs_have(CAP_SYS_RESOURCE) || getrlimit(RLIMIT_MEMLOCK, &rl) ||
	    rl.rlim_cur == RLIM_INFINITY)
		return 0;
	return rl.rlim_cur;
}

void privs_keep_from_command(void)
{
	struct caps c = {0};

	if (!geteuid() || caps_get(&c)) /* root's programs are root's anyway */
		return;
	c.inheritable = 0;
	(void)caps_set(&c); /* giving up is always allowed */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/*
 * Until c8644cd0efe7 ("bpf: refine kernel.unprivileged_bpf_disabled behaviour", 5.19) that sysctl
 * shuts out reads of our own maps too. Asked of a descriptor that does not exist: EBADF is a yes.
 */
static bool bpf_needs_cap(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (__u32)-1;
	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) < 0 && errno == EPERM;
}

static uint64_t bit(int cap)
{
	return 1ULL << cap;
}

static bool source_named(const struct config *cfg, const char *name)
{
	size_t i;

	for (i = 0; i < cfg->sources.n; i++)
		if (!strcmp(cfg->sources.v[i], name))
			return true;
	return false;
}

/* What the rest of the run may still ask of the kernel. */
static uint64_t needed_later(const struct config *cfg)
{
	uint64_t need = bit(CAP_SYS_ADMIN); /* BPF run-time statistics: what we cost */
	size_t i;

	if (cfg->by == BY_CGROUP || cfg->by == BY_FILE || cfg->slower)
		need |= bit(CAP_DAC_READ_SEARCH); /* paths of cgroups and files from their ids */
	if (source_named(cfg,
			 "futex")) /* mappings and files of processes: perfmon does from 6.12 */
		need |= bit(CAP_PERFMON) | bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH);
	for (i = 0; i < cfg->noutputs; i++)
		if (cfg->outputs[i].path)
			need |= bit(CAP_DAC_OVERRIDE); /* SIGHUP: open the file again */
	if (cfg->command)
		need |= bit(CAP_KILL); /* it may have become another user */
	return need;
}

int privs_drop(const struct config *cfg, struct err *e)
{
	struct caps had = {0}, c;
	int ret = caps_get(&had);

	if (ret)
		return err_sys(e, ret, "capabilities");
	c.permitted = had.permitted & needed_later(cfg);
	c.inheritable = 0;
	c.effective = c.permitted;
	/* First out of effect, to see whether that does. */
	ret = caps_set(&(struct caps){c.effective, had.permitted, 0});
	if (!ret && bpf_needs_cap()) {
		c.permitted |= had.permitted & bit(CAP_BPF);
		c.effective = c.permitted;
	}
	if (!ret)
		ret = caps_set(&c);
	if (ret)
		return err_sys(e, ret, "capabilities: give up");
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* gone with permitted */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);			/* we never exec */
	return 0;
}
