// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel knows of the BPF programs a process holds, one JSON object a line:
 *
 *	progs PID		{"id":7,"name":"ws_switch","insns":1234,"xlated":2000,"jited":1500,
 *				 "runs":0,"ns":0,"misses":0,"object":"sched_bp"}
 *	progs PID SECONDS	with run-time statistics on meanwhile: runs and ns are of that time
 *
 * The object is the one whose global data the program, or another of its BTF, uses: as much of its
 * name as the kernel keeps. "" if none does.
 */
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROGS_MAX 256
#define MAPS_MAX 64

struct object {
	__u32 btf;
	char name[BPF_OBJ_NAME_LEN];
};

struct progs {
	__u32 id[PROGS_MAX];
	struct bpf_prog_info before[PROGS_MAX];
	struct object object[PROGS_MAX];
	size_t n;
};

static double number(const char *text, double max, const char *what)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || v <= 0 || v > max)
		errx(2, "%s: '%s': expected a number above 0, at most %.0f", what, text, max);
	return v;
}

static void progs_add(struct progs *p, __u32 id)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->id[i] == id)
			return;
	if (p->n == PROGS_MAX)
		errx(1, "more than %d programs", PROGS_MAX);
	p->id[p->n++] = id;
}

/* Programs by the descriptors of the process: fdinfo names each by its id. */
static void find(struct progs *p, int pid)
{
	char path[512], line[128];
	struct dirent *d;
	unsigned int id;
	DIR *dir;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid); /* fits */
	dir = opendir(path);
	if (!dir)
		err(1, "%s", path);
	while ((d = readdir(dir))) {
		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, d->d_name);
		f = fopen(path, "re");
		if (!f)
			continue; /* closed meanwhile */
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "prog_id: %u", &id) == 1)
				progs_add(p, id);
		(void)fclose(f); /* only read */
	}
	(void)closedir(dir);
}

static bool info_of(__u32 id, struct bpf_prog_info *info)
{
	__u32 len = sizeof(*info);
	int fd = bpf_prog_get_fd_by_id(id);
	bool ok;

	if (fd < 0)
		return false;
	memset(info, 0, sizeof(*info));
	ok = !bpf_obj_get_info_by_fd(fd, info, &len);
	close(fd);
	return ok;
}

/* OBJECT.rodata, OBJECT.bss, OBJECT.data are libbpf's names of global data. */
static bool object_of_map(__u32 id, char *name)
{
	struct bpf_map_info info = {0};
	__u32 len = sizeof(info);
	int fd = bpf_map_get_fd_by_id(id);
	const char *dot;
	bool ok;

	if (fd < 0)
		return false;
	ok = !bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	dot = ok ? strchr(info.name, '.') : NULL;
	if (!dot || dot == info.name)
		return false;
	memcpy(name, info.name, (size_t)(dot - info.name));
	return true;
}

/*
 * False: the program has gone since its descriptor was seen (the tool tries some and closes them).
 */
static bool object_of(__u32 id, struct object *out)
{
	__u32 maps[MAPS_MAX], len = sizeof(struct bpf_prog_info), i;
	struct bpf_prog_info info = {
		.nr_map_ids = MAPS_MAX,
		.map_ids = (__u64)(uintptr_t)maps,
	};
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return false;
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		err(1, "program %u", id);
	close(fd);
	out->btf = info.btf_id;
	for (i = 0; i < info.nr_map_ids && i < MAPS_MAX; i++)
		if (object_of_map(maps[i], out->name))
			break;
	return true;
}

/* Programs without data of their own are of the object whose BTF they share. */
static void name_objects(struct progs *p)
{
	size_t i, k;

	for (i = 0; i < p->n;)
		if (object_of(p->id[i], &p->object[i]))
			i++;
		else
			p->id[i] = p->id[--p->n];
	for (i = 0; i < p->n; i++)
		for (k = 0; k < p->n && p->object[i].btf && !p->object[i].name[0]; k++)
			if (p->object[k].btf == p->object[i].btf)
				p->object[i] = p->object[k];
}

static void print(const struct bpf_prog_info *now, const struct bpf_prog_info *before,
		  const char *object)
{
	printf("{\"id\":%u,\"name\":\"%s\",\"insns\":%u,\"xlated\":%u,\"jited\":%u,\"runs\":%llu,\"ns\":%llu,"
	       "\"misses\":%llu,\"object\":\"%s\"}\n",
	       now->id, now->name, now->verified_insns, now->xlated_prog_len, now->jited_prog_len,
	       now->run_cnt - before->run_cnt, now->run_time_ns - before->run_time_ns,
	       now->recursion_misses - before->recursion_misses, object);
}

static void measure(double seconds)
{
	struct timespec ts = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	static struct progs p;
	struct bpf_prog_info now;
	int stats = -1;
	size_t i;

	if (argc != 2 && argc != 3) {
		fputs("usage: progs PID [SECONDS]\n", stderr);
		return 2;
	}
	find(&p, (int)number(argv[1], 1 << 22, "PID"));
	if (!p.n)
		errx(1, "pid %s holds no BPF program", argv[1]);
	name_objects(&p);
	if (argc == 3) {
		stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
		if (stats < 0)
			err(1, "run-time statistics");
		for (i = 0; i < p.n; i++)
			(void)info_of(p.id[i],
				      &p.before[i]); /* false: it has gone, and is not printed */
		measure(number(argv[2], 3600, "SECONDS"));
	}
	for (i = 0; i < p.n; i++) {
		if (!info_of(p.id[i], &now))
			continue; /* it has gone meanwhile */
		print(&now, &p.before[i], p.object[i].name);
	}
	if (stats >= 0)
		close(stats);
	return 0;
}
