// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/privs.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "names/names.h"
#include "source/source.h"

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

bool privs_borrowed(void)
{
	return getauxval(AT_SECURE) != 0;
}

bool privs_any(void)
{
	struct caps c = {0};

	return !geteuid() || caps_get(&c) || c.permitted || privs_borrowed();
}

bool privs_kernel_shown(struct names *n)
{
	int shown = names_kernel_shown(n);

	return shown < 0 ? privs_have(CAP_SYSLOG) : shown;
}

bool privs_filtered(void)
{
	return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

bool privs_suffice(void)
{
	return privs_have(CAP_SYS_ADMIN) || (privs_have(CAP_BPF) && privs_have(CAP_PERFMON));
}

/* Sources look for names when they are first needed, and open events for CPUs that come back. */
static uint64_t needed_by_sources(const struct config *cfg)
{
	uint64_t need = 0;

	for (size_t i = 0; source_list[i]; i++)
		if (source_asked(cfg, source_list[i]))
			need |= source_list[i]->caps;
	return need;
}

/* What whoever is not root should have for this run. What only makes a name nicer at the price of
 * reading every file (CAP_DAC_READ_SEARCH) is asked for where there are no names without. */
static uint64_t needed_at_all(const struct config *cfg)
{
	uint64_t need = SOURCE_CAP(CAP_BPF) | SOURCE_CAP(CAP_PERFMON);

	if (!cfg)
		return need;
	need |= needed_by_sources(cfg) & ~SOURCE_CAP(CAP_DAC_READ_SEARCH);
	if (by_cgroups(cfg->by) || cfg->by == BY_FILE)
		need |= SOURCE_CAP(CAP_DAC_READ_SEARCH);
	return need;
}

/* "cap_bpf,cap_perfmon" */
static void caps_text(uint64_t caps, char *out, size_t len)
{
	static const struct {
		int cap;
		const char *name;
	} names[] = {
		{CAP_BPF, "cap_bpf"},
		{CAP_PERFMON, "cap_perfmon"},
		{CAP_SYSLOG, "cap_syslog"},
		{CAP_SYS_PTRACE, "cap_sys_ptrace"},
		{CAP_DAC_READ_SEARCH, "cap_dac_read_search"},
	};
	size_t i, n = 0;

	*out = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (caps & SOURCE_CAP(names[i].cap))
			n += (size_t)snprintf(out + n, len - n, "%s%s", n ? "," : "",
					      names[i].name); /* fits: all of them do */
}

int privs_missing(struct err *e, int err, const char *what, const struct config *cfg)
{
	char path[512], caps[96];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[n < 0 ? 0 : n] = '\0';
	caps_text(needed_at_all(cfg), caps, sizeof(caps));
	return err_set(e, EXIT_CANNOT, err,
		       "%s: not permitted (run as root, or give the binary its capabilities: "
		       "setcap %s=ep %s%s)",
		       what, caps, *path ? path : "FILE",
		       privs_filtered() ? "; here a seccomp filter may refuse it as well" : "");
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

/* What the rest of the run may still ask of the kernel. */
static uint64_t needed_later(const struct config *cfg)
{
	uint64_t need =
		SOURCE_CAP(CAP_SYS_ADMIN) | needed_by_sources(cfg); /* BPF statistics: our cost */

	if (by_cgroups(cfg->by) || cfg->by == BY_FILE || cfg->slower)
		need |= SOURCE_CAP(
			CAP_DAC_READ_SEARCH); /* paths of cgroups and files from their ids */
	for (size_t i = 0; i < cfg->noutputs; i++)
		if (cfg->outputs[i].path)
			need |= SOURCE_CAP(CAP_DAC_OVERRIDE); /* SIGHUP: open the file again */
	if (cfg->command)
		need |= SOURCE_CAP(CAP_KILL); /* it may have become another user */
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
		c.permitted |= had.permitted & SOURCE_CAP(CAP_BPF);
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

int privs_return(struct err *e)
{
	if (!privs_borrowed())
		return 0;
	if (setresgid(getgid(), getgid(), getgid()) || setresuid(getuid(), getuid(), getuid()) ||
	    caps_set(&(struct caps){0}))
		return err_sys(e, -errno, "privileges: give up");
	return 0;
}
