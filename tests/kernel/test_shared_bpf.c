/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sources share, in the kernel: filters, groups, keyed entries and the place for those that
 * find no room, counters. A child makes known numbers of system calls; shared_bpf.bpf.c counts
 * them, once with task storage and once as kernels without it do. Prints TAP; exit 77: this machine
 * has no BPF for us, with the reason on stderr.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/sys/bpf_util.h"
#include "source/bpf/counts.h"
#include "source/sys/cpus.h"
#include "source/filter/filters.h"
#include "source/bpf/groups.h"
#include "source/bpf/keyed.h"
#include "source/sys/map_setup.h"

#include "khist.h"	      /* tests/unit */
#include "shared_test.skel.h" /* needs abi.h */

#define EXIT_SKIP 77
#define VALUE_NS 1000
#define COMM "ws-shared"

static const struct {
	const char *why;
	enum by_key by;
	const char *comm, *cgroup, *cpu;
	bool none; /* the filter lets nothing through */
	bool follow;
} ways[] = {
	{"no group", BY_NONE},
	{"by pid", BY_PID},
	{"by tid", BY_TID},
	{"by comm", BY_COMM, "ws-*red"},
	{"by cgroup", BY_CGROUP, NULL, "/"},
	{"--cpu", BY_NONE, NULL, NULL, "0"},
	{"another comm", BY_NONE, "ws-*rex", .none = true},
	{"--follow", BY_PID, .follow = true},
};

/* As many calls of each; the third finds no room. */
static const uint32_t calls[3] = {101, 53, 29};
static const uint32_t numbers[3] = {SYS_getppid, SYS_getuid, SYS_getgid};

struct child {
	pid_t pid;
	int go; /* closing it lets the child make its calls and end */
};

static void child_run(int go)
{
	cpu_set_t cpu0;
	uint32_t i, n;
	char byte;

	CPU_ZERO(&cpu0);
	CPU_SET(0, &cpu0);
	if (sched_setaffinity(0, sizeof(cpu0), &cpu0) || prctl(PR_SET_NAME, COMM))
		_exit(1);
	while (read(go, &byte, 1) < 0 && errno == EINTR)
		;
	for (i = 0; i < 3; i++)
		for (n = 0; n < calls[i]; n++)
			(void)syscall(numbers[i]); /* counted, not used */
	_exit(0);
}

static int child_start(struct child *c)
{
	int fds[2];

	if (pipe(fds))
		return -errno;
	c->pid = fork();
	if (!c->pid) {
		close(fds[1]);
		child_run(fds[0]);
	}
	close(fds[0]);
	c->go = fds[1];
	return c->pid < 0 ? -errno : 0;
}

static int child_go(struct child *c)
{
	int status = 1;

	close(c->go);
	if (waitpid(c->pid, &status, 0) < 0)
		return -errno;
	return status ? -ECHILD : 0;
}

struct run {
	struct config cfg;
	struct source_args args;
	struct shared_test_bpf *skel;
	struct filters filters;
	struct counts counts;
	struct keyed *keyed;
	struct map_setup_keyed sizes;
	struct child child;
	struct err e;
};

/* As filters_setup would on a kernel without task storage. */
static int force_hash(struct shared_test_bpf *skel)
{
	int ret;

	((struct abi_filter *)&skel->rodata->filter)->task_storage = 0;
	ret = bpf_map__set_autocreate(skel->maps.stamps, false);
	if (!ret)
		ret = bpf_map__set_autocreate(skel->maps.stamps_hash, true);
	return ret ? ret : bpf_program__set_autoload(skel->progs.ws_free, true);
}

static int setup(struct run *r, bool hash)
{
	struct shared_test_bpf *skel = r->skel;
	struct btf *btf = kernel_btf(NULL, &r->e);
	int ret;

	if (!btf)
		return -ENOENT;
	memcpy((void *)skel->rodata->numbers, numbers, sizeof(numbers));
	ret = map_setup_banks(skel->obj, r->filters.ncpus, sizeof(struct abi_counts));
	if (!ret)
		ret = map_setup_keyed(skel->obj, (struct abi_keyed *)&skel->rodata->keyed, btf,
				      &r->sizes);
	btf__free(btf);
	if (!ret)
		ret = filters_setup(&r->filters, skel->obj,
				    (struct abi_filter *)&skel->rodata->filter, &r->e);
	return ret || !hash ? ret : force_hash(skel);
}

static int load(struct run *r, bool hash)
{
	struct keyed_args keyed = {.nhists = 1,
				   .schema = r->cfg.precision,
				   .ncpus = r->filters.ncpus,
				   .what = "the test's keys"};
	int ret = setup(r, hash);

	if (!ret)
		ret = shared_test_bpf__load(r->skel);
	if (!ret)
		ret = filters_fill(&r->filters, r->skel->obj, &r->e);
	if (!ret)
		ret = map_setup_others(r->skel->obj, &r->sizes);
	if (!ret)
		ret = counts_open(&r->counts, bpf_map__fd(r->skel->maps.banks), r->filters.ncpus,
				  sizeof(struct abi_counts), &r->e);
	if (ret)
		return ret;
	map_setup_keyed_fds(r->skel->obj, keyed.fds);
	ret = keyed_open(&r->keyed, &keyed, &r->e);
	if (!ret)
		ret = shared_test_bpf__attach(r->skel);
	return ret ? ret : filters_follow(&r->filters, &r->e);
}

static void set_late(struct run *r, uint32_t which, const char *const *text)
{
	if (*text)
		r->cfg.filter.late[which] = (struct str_list){(char **)text, 1};
}

static int open_run(struct run *r, size_t way)
{
	int ncpus = possible_cpus(&r->e);

	r->args.cfg = &r->cfg;
	r->cfg.precision = BUCKET_SCHEMA_MAX;
	r->cfg.by = ways[way].by;
	r->cfg.filter.pids = (struct u32_list){(uint32_t *)&r->child.pid, 1};
	r->cfg.filter.follow = ways[way].follow;
	set_late(r, ABI_FILTER_COMM, &ways[way].comm);
	set_late(r, ABI_FILTER_CGROUP, &ways[way].cgroup);
	set_late(r, ABI_FILTER_CPU, &ways[way].cpu);
	/* two keys find room, whatever the number of CPUs */
	r->sizes = (struct map_setup_keyed){.used = true,
					    .by = group_abi(ways[way].by),
					    .nhists = 1,
					    .schema = r->cfg.precision,
					    .keys = 2,
					    .others = 2,
					    .ncpus = (uint32_t)ncpus};
	if (ncpus < 0)
		return ncpus;
	r->skel = shared_test_bpf__open();
	if (!r->skel)
		return -errno;
	return filters_open(&r->filters, &r->args, (uint32_t)ncpus, false, &r->e);
}

static void close_run(struct run *r)
{
	keyed_close(r->keyed);
	counts_close(&r->counts);
	shared_test_bpf__destroy(r->skel);
	filters_close(&r->filters);
}

#define CHECK(cond)                                                 \
	do {                                                        \
		if (!(cond)) {                                      \
			printf("# line %d: %s\n", __LINE__, #cond); \
			good = false;                               \
		}                                                   \
	} while (0)

static bool row_good(const struct run *r, const struct keyed_row *row, const char *comm)
{
	bool good = true;
	uint32_t i;

	for (i = 0; i < 3 && row->key.obj != numbers[i]; i++)
		;
	if (row->key.obj == ABI_OBJ_OTHER && !row->key.kind)
		return !row->active;
	if (row->key.obj == ABI_OBJ_OTHER)
		i = 2;
	CHECK(i < 3);
	CHECK(row->active && row->interval[0].count == calls[i % 3]);
	CHECK(row->sums_interval[0] == calls[i % 3]);
	CHECK(row->interval[0].sum_ns == calls[i % 3] * VALUE_NS);
	CHECK(row->interval[0].min_ns == VALUE_NS && row->interval[0].max_ns == VALUE_NS);
	CHECK(row->cpus_interval[0] == 1);
	if (i < 2 && (r->cfg.by == BY_PID || r->cfg.by == BY_TID))
		CHECK(!strcmp(row->comm, comm) && row->pid == (uint32_t)r->child.pid &&
		      row->key.id == (uint32_t)r->child.pid && row->key.born);
	if (i < 2 && r->cfg.by == BY_COMM)
		CHECK(!strcmp(row->key.comm, comm));
	if (i < 2 && r->cfg.by == BY_CGROUP)
		CHECK(row->key.id != 0);
	return good;
}

static bool judge(const struct run *r, bool none)
{
	const struct keyed_row *row;
	uint64_t rows = 0, all = 0;
	bool good = true;

	for (row = keyed_first(r->keyed); row; row = row->next) {
		CHECK(none ? !row->active : row_good(r, row, COMM));
		rows += row->active;
		all += row->total[0].count;
	}
	CHECK(rows == (none ? 0 : 3));
	CHECK(all == (none ? 0 : calls[0] + calls[1] + calls[2]));
	CHECK(r->counts.interval.keys_full == (none ? 0 : calls[2]));
	CHECK(r->counts.total.keys_full == r->counts.interval.keys_full);
	CHECK(!r->counts.total.store_full);
	return good;
}

static int measure(struct run *r)
{
	int ret;

	r->skel->bss->epoch = 1;
	ret = child_go(&r->child);
	r->skel->bss->epoch = 2;
	usleep(2 * SOURCE_GRACE_NS / 1000);
	if (ret)
		return ret;
	counts_collect(&r->counts, 1, true);
	return keyed_collect(r->keyed, 1, true, &r->e);
}

/* Samples into a histogram as the programs add them, against the model that other tests fill
 * entries with: the same bytes, also past the end of the last samples and where an epoch begins. */
static bool added(const struct run *r)
{
	static const uint64_t values[] = {1000, 0, 1, 7, 2000, BUCKET_VALUE_END - 1, 500, 500};
	static const uint32_t at_once[] = {1, 1, 1, 3, 1, 1, 100};
	struct abi_khist hist = {0};
	uint32_t slots[ABI_KHIST_SLOTS(BUCKET_SCHEMA_MAX)] = {0}, zero, i;
	struct shared_test_bpf__bss *bss = r->skel->bss;
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct bucket_table table;
	bool good = true;

	if (bucket_table_init(&table, r->cfg.precision))
		return false;
	zero = BUCKET_SLOTS(r->cfg.precision);
	for (i = 0; i < 6 * ABI_KHIST_LAST; i++) {
		bss->add_ns = values[i % (sizeof(values) / sizeof(values[0]))];
		bss->add_n = at_once[i % (sizeof(at_once) / sizeof(at_once[0]))];
		bss->epoch = 10 + i / 20;
		if (bpf_prog_test_run_opts(bpf_program__fd(r->skel->progs.ws_add), &opts))
			return false;
		khist_add(&hist, slots, bss->epoch, bss->add_ns,
			  bss->add_ns ? bucket_slot(&table, r->cfg.precision, bss->add_ns) : zero,
			  bss->add_n);
		CHECK(!memcmp(&bss->added.hist, &hist, sizeof(hist)));
		CHECK(!memcmp(bss->added.slots, slots, sizeof(slots)));
		if (!good)
			break;
	}
	bss->epoch = 0;
	return good;
}

static int one(size_t way, bool hash, bool *good)
{
	struct run r = {0};
	int ret;

	filters_init(&r.filters);
	ret = child_start(&r.child);
	if (ret)
		return ret;
	ret = open_run(&r, way);
	if (!ret)
		ret = load(&r, hash);
	if (ret)
		(void)child_go(&r.child); /* the first failure is the one to tell */
	else
		ret = measure(&r);
	if (r.e.text[0])
		printf("# %s\n", r.e.text);
	*good = !ret && judge(&r, ways[way].none) && added(&r);
	close_run(&r);
	return ret;
}

int main(void)
{
	size_t nways = sizeof(ways) / sizeof(ways[0]), i;
	int failed = 0;

	bpf_util_log(getenv("V") != NULL);
	for (i = 0; i < nways * 2; i++) {
		bool hash = i >= nways, good = false;
		int ret = one(i % nways, hash, &good);

		if (ret == -EPERM || ret == -EACCES || ret == -ENOSYS) {
			fprintf(stderr, "skip: BPF cannot be loaded here: %s\n", strerror(-ret));
			return EXIT_SKIP;
		}
		if (ret)
			printf("# %s\n", strerror(-ret));
		printf("%s %zu - %s, %s\n", good ? "ok" : "not ok", i + 1, ways[i % nways].why,
		       hash ? "hash" : "task storage");
		failed |= !good;
	}
	printf("1..%zu\n", nways * 2);
	return failed;
}
