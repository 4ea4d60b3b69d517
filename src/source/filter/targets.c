// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/array.h"
#include "core/text.h"
#include "source/filter/targets.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* 64bef697d33b ("pidfd: implement PIDFD_THREAD flag", 6.9) */
#endif

/* ---- texts of /proc ---- */

/* A whole number, and a blank or the end behind it. */
static bool take_pid(const char *s, uint32_t *out)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	v = strtoul(s, &end, 10);
	if (errno || v > INT32_MAX || (*end && !isspace((unsigned char)*end)))
		return false;
	*out = (uint32_t)v;
	return true;
}

bool proc_status_tgid(const char *line, uint32_t *tgid)
{
	static const char key[] = "Tgid:\t";

	return !strncmp(line, key, sizeof(key) - 1) && take_pid(line + sizeof(key) - 1, tgid);
}

int proc_stat_ppid(const char *stat, uint32_t *ppid)
{
	const char *p = strrchr(stat, ')'); /* the name may hold anything */

	if (!p || p[1] != ' ' || !isalpha((unsigned char)p[2]) || p[3] != ' ')
		return -EINVAL;
	return take_pid(p + 4, ppid) ? 0 : -EINVAL;
}

/* ---- what the filters name ---- */

/* The process a thread belongs to, 0 if there is no such thread. */
static uint32_t tgid_of(uint32_t tid)
{
	char path[64], line[256];
	uint32_t tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (proc_status_tgid(line, &tgid))
			break;
	fclose(f);
	return tgid;
}

const struct u32_list *targets_named(const struct filter *f)
{
	return f->pids.n ? &f->pids : &f->tids;
}

static int watch(struct targets *t, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT};

	if (t->epoll_fd < 0)
		t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0 || epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return -errno;
	return 0;
}

static int open_ids(struct targets *t, const struct u32_list *ids, bool thread, struct err *e)
{
	const char *what = thread ? "--tid" : "--pid";
	int fd, ret;

	t->pidfds = calloc(ids->n, sizeof(*t->pidfds));
	if (!t->pidfds)
		return err_sys(e, -ENOMEM, "%s", what);
	for (size_t i = 0; i < ids->n; i++) {
		uint32_t tgid = tgid_of(ids->v[i]);

		if (!tgid)
			return err_set(e, EXIT_USAGE, -ESRCH,
				       "%s '%u': no such %s, expected one that is running", what,
				       ids->v[i], thread ? "thread" : "process");
		if (!thread && tgid != ids->v[i])
			return err_set(
				e, EXIT_USAGE, -ESRCH,
				"%s '%u': a thread of process %u, expected a process (or use "
				"--tid)",
				what, ids->v[i], tgid);
		fd = (int)syscall(SYS_pidfd_open, (pid_t)ids->v[i],
				  thread && tgid != ids->v[i] ? PIDFD_THREAD : 0);
		t->pidfds[t->npidfds++] = fd < 0 ? -1 : fd;
		ret = fd < 0 ? 0 : watch(t, fd);
		if (ret)
			return err_sys(e, ret, "%s '%u'", what, ids->v[i]);
	}
	return 0;
}

static int open_cgroups(struct targets *t, const struct cgroup_mount *m, struct err *e)
{
	int ret;

	t->cgroups = calloc(t->filter->late[ABI_FILTER_CGROUP].n, sizeof(*t->cgroups));
	t->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (!t->cgroups)
		return err_sys(e, -ENOMEM, "--cgroup");
	for (size_t i = 0; i < t->filter->late[ABI_FILTER_CGROUP].n; i++) {
		ret = cgroup_resolve(m, t->filter->late[ABI_FILTER_CGROUP].v[i], &t->cgroups[i], e);
		if (ret)
			return ret;
		t->ncgroups++;
		if (t->inotify_fd >= 0)
			(void)inotify_add_watch(
				t->inotify_fd, t->cgroups[i].dir,
				IN_DELETE_SELF); /* else the interval's look finds it */
	}
	return t->inotify_fd >= 0 ? watch(t, t->inotify_fd) : 0;
}

int targets_open(struct targets *t, const struct filter *f, const struct cgroup_mount *m,
		 struct err *e)
{
	int ret = 0;

	memset(t, 0, sizeof(*t));
	t->filter = f;
	t->inotify_fd = t->epoll_fd = -1;
	if (targets_named(f)->n)
		ret = open_ids(t, targets_named(f), !f->pids.n, e);
	if (!ret && f->late[ABI_FILTER_CGROUP].n)
		ret = open_cgroups(t, m, e);
	return ret;
}

bool targets_id_alive(const struct targets *t, size_t i)
{
	struct pollfd p = {.fd = t->pidfds[i], .events = POLLIN};
	char path[64];

	if (p.fd >= 0)
		return poll(&p, 1, 0) == 0;
	snprintf(path, sizeof(path), "/proc/%u", targets_named(t->filter)->v[i]);
	return !access(path, F_OK);
}

static bool ids_alive(const struct targets *t, char *why, size_t len)
{
	const char *noun = t->filter->pids.n ? "process" : "thread";

	for (size_t i = 0; i < t->npidfds; i++)
		if (targets_id_alive(t, i))
			return true;
	if (t->npidfds == 1)
		snprintf(why, len, "%s %u has ended", noun, targets_named(t->filter)->v[0]);
	else
		snprintf(why, len, "all %zu %s%s have ended", t->npidfds, noun,
			 t->filter->pids.n ? "es" : "s");
	return false;
}

static bool cgroups_alive(const struct targets *t, char *why, size_t len)
{
	struct stat st;

	for (size_t i = 0; i < t->ncgroups; i++)
		if (!stat(t->cgroups[i].dir, &st) && st.st_ino == t->cgroups[i].id)
			return true;
	if (t->ncgroups == 1)
		snprintf(why, len, "cgroup %.200s has been removed", t->cgroups[0].path);
	else
		snprintf(why, len, "all %zu cgroups have been removed", t->ncgroups);
	return false;
}

bool targets_alive(struct targets *t, char *why, size_t len)
{
	if (t->npidfds && !ids_alive(t, why, len))
		return false;
	return !t->ncgroups || cgroups_alive(t, why, len);
}

/* ---- descendants ---- */

struct proc_parent {
	uint32_t pid, ppid;
};

struct proc_table {
	struct proc_parent *v;
	size_t n, cap;
};

static int read_ppid(const char *pid, uint32_t *ppid)
{
	char path[300], buf[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	return proc_stat_ppid(buf, ppid);
}

static int table_read(struct proc_table *t)
{
	struct dirent *d;
	struct proc_parent row = {0}, *v;
	DIR *dir = opendir("/proc");
	int ret = 0;

	if (!dir)
		return -errno;
	while (!ret && (d = readdir(dir))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9' || read_ppid(d->d_name, &row.ppid))
			continue; /* not a process, or gone by now */
		row.pid = (uint32_t)strtoul(d->d_name, NULL, 10);
		v = array_room(t->v, &t->cap, t->n, 1, sizeof(*v));
		if (!v) {
			ret = -ENOMEM;
			break;
		}
		t->v = v;
		t->v[t->n++] = row;
	}
	closedir(dir);
	return ret;
}

static bool list_has(const struct u32_list *l, uint32_t v)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == v)
			return true;
	return false;
}

int targets_descendants(const struct filter *f, struct u32_list *out)
{
	struct proc_table t = {0};
	bool grew = true;
	int ret = table_read(&t);

	while (!ret && grew) { /* a child may stand before its parent: until nothing is added */
		grew = false;
		for (size_t i = 0; !ret && i < t.n; i++) {
			if (list_has(out, t.v[i].pid) || list_has(&f->pids, t.v[i].pid))
				continue;
			if (!list_has(out, t.v[i].ppid) && !list_has(&f->pids, t.v[i].ppid))
				continue;
			ret = u32_list_push(out, t.v[i].pid);
			grew = true;
		}
	}
	free(t.v);
	return ret;
}

void targets_close(struct targets *t)
{
	for (size_t i = 0; i < t->npidfds; i++)
		if (t->pidfds[i] >= 0)
			close(t->pidfds[i]);
	if (t->inotify_fd > 0)
		close(t->inotify_fd);
	if (t->epoll_fd > 0)
		close(t->epoll_fd);
	free(t->pidfds);
	free(t->cgroups);
	memset(t, 0, sizeof(*t));
	t->inotify_fd = t->epoll_fd = -1;
}
