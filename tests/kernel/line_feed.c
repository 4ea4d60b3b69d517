// SPDX-License-Identifier: GPL-2.0-or-later
#include "line_feed.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "abi_line.h"
#include "source/sys/bpf_util.h"

#include "line_feed.skel.h" /* needs abi_line.h */

#define SAMPLE_BYTES 1024 /* as in line_feed.bpf.c */
#define FIELDS                                                                 \
	(PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT | \
	 PERF_SAMPLE_PHYS_ADDR)

/* Offset of a member of perf_sample_data, in bytes. */
static int member_at(const struct btf *btf, const char *name, uint32_t *out)
{
	int id = btf__find_by_name_kind(btf, "perf_sample_data", BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;
	__u32 k;

	for (k = 0; t && k < btf_vlen(t); k++) {
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[k].name_off), name))
			continue;
		*out = btf_member_bit_offset(t, k) / 8;
		return *out + sizeof(uint64_t) <= SAMPLE_BYTES ? 0 : -E2BIG;
	}
	return -ENOENT;
}

int feeder_find(struct feeder *f)
{
	const struct {
		const char *name;
		uint32_t *at;
	} members[] = {
		{"sample_flags", &f->flags_at}, {"addr", &f->addr_at},
		{"phys_addr", &f->phys_at},	{"data_src", &f->data_src_at},
		{"weight", &f->weight_at},
	};
	struct btf *btf = kernel_btf(NULL, NULL);
	int ret = btf ? 0 : -ENOENT;
	size_t k;

	for (k = 0; !ret && k < sizeof(members) / sizeof(members[0]); k++)
		ret = member_at(btf, members[k].name, members[k].at);
	btf__free(btf);
	return ret;
}

int feeder_cpus(struct feeder *f)
{
	cpu_set_t set;
	uint32_t cpu, n = 0;
	int ret = libbpf_num_possible_cpus();

	if (ret < 0 || sched_getaffinity(0, sizeof(set), &set))
		return ret < 0 ? ret : -errno;
	f->ncpus = (uint32_t)ret;
	for (cpu = 0; cpu < f->ncpus && cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			f->cpus[n++] = cpu;
	return n == 2 ? 0 : -ENODEV;
}

static int pin(uint32_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

/* Into the entry of its CPU: those of others stay empty. */
static int put(const struct feeder *f, const struct fed *s)
{
	uint64_t flags = FIELDS, size = 8 + SAMPLE_BYTES, cycles = s->cycles;
	char *all = calloc(f->ncpus, size), *data;
	uint32_t zero = 0;
	int ret;

	if (!all)
		return -ENOMEM;
	data = all + f->cpus[s->thread] * size + 8;
	memcpy(data - 8, &s->ip, sizeof(s->ip));
	memcpy(data + f->flags_at, &flags, sizeof(flags));
	memcpy(data + f->addr_at, &s->addr, sizeof(s->addr));
	memcpy(data + f->phys_at, &s->phys, sizeof(s->phys));
	memcpy(data + f->data_src_at, &s->src.val, sizeof(s->src.val));
	memcpy(data + f->weight_at, &cycles, sizeof(cycles));
	ret = bpf_map_update_elem(bpf_map__fd(f->bpf->maps.feeds), &zero, all, BPF_ANY);
	free(all);
	return ret;
}

static int feed(const struct feeder *f, const struct fed *s)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int k, ret = pin(f->cpus[s->thread]);

	if (!ret)
		ret = put(f, s);
	for (k = 0; !ret && k < s->n; k++)
		ret = bpf_prog_test_run_opts(bpf_program__fd(f->bpf->progs.ws_feed), &opts);
	return ret;
}

/* It lives until all is fed, so that it is one. */
struct second {
	const struct feeder *f;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const struct fed *todo;
	bool end;
	int ret;
};

static void *second_main(void *arg)
{
	struct second *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->end) {
		if (s->todo) {
			s->ret = feed(s->f, s->todo);
			s->todo = NULL;
			pthread_cond_signal(&s->changed);
		}
		pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int feed_second(struct second *s, const struct fed *what)
{
	pthread_mutex_lock(&s->lock);
	s->todo = what;
	pthread_cond_signal(&s->changed);
	while (s->todo)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return s->ret;
}

int feeder_run(struct feeder *f, const struct fed *v, size_t n)
{
	struct second s = {
		.f = f, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	pthread_t thread;
	size_t k;
	int ret = 0;

	if (pthread_create(&thread, NULL, second_main, &s))
		return -EAGAIN;
	for (k = 0; !ret && k < n; k++)
		ret = v[k].thread ? feed_second(&s, &v[k]) : feed(f, &v[k]);
	pthread_mutex_lock(&s.lock);
	s.end = true;
	pthread_cond_signal(&s.changed);
	pthread_mutex_unlock(&s.lock);
	pthread_join(thread, NULL);
	return ret;
}
