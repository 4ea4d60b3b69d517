/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Made-up samples of a PMU, of two threads on two CPUs, through the PMU's program, its maps and the
 * line source to the rows of the contended table: every number there against what was fed. Run by
 * pmu.sh, so that the source takes a PMU. Prints TAP; exit 77: the kernel or the machine lacks what
 * it takes.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi_line.h"
#include "source/sys/bpf_util.h"
#include "source/sys/map_setup.h"
#include "source/line/line.h"
#include "source/source.h"

#include "line.skel.h"
#include "line_feed.h"
#include "line_feed.skel.h"

#define EXIT_SKIP 77
#define BLOCK_BYTES 0x8000000ULL
#define PHYS (3 * BLOCK_BYTES + 0x5000) /* in a block of the second node */
#define SPOTS 5

#define LOAD PERF_MEM_OP_LOAD
#define STORE PERF_MEM_OP_STORE
#define LVL(x) PERF_MEM_LVL_##x
#define NUM(x) PERF_MEM_LVLNUM_##x

static char target[64] __attribute__((aligned(64)));
static const char code[16];

/* In that order: the first two tell that the line is touched on two CPUs. */
#define FED(thread_, n_, offset_, code_, cycles_, ...)                                         \
	{                                                                                      \
		.thread = (thread_), .n = (n_), .addr = (uint64_t)target + (offset_),          \
		.phys = PHYS + (offset_), .ip = (uint64_t)code + (code_), .cycles = (cycles_), \
		.src = {__VA_ARGS__},                                                          \
	}
#define SNOOP(x) .mem_snoop = PERF_MEM_SNOOP_##x

static const struct fed fed[] = {
	/* thread, samples, offset, code, cycles */
	FED(0, 1, 8, 1, 40, .mem_op = LOAD, .mem_lvl = LVL(HIT) | LVL(L1), SNOOP(NONE)),
	FED(1, 1, 8, 2, 50, .mem_op = LOAD, .mem_lvl = LVL(HIT) | LVL(L2), SNOOP(NONE)),
	/* a sibling's cache had it modified, and one of the other socket's */
	FED(0, 30, 8, 1, 200, .mem_op = LOAD, .mem_lvl = LVL(HIT) | LVL(L3), SNOOP(HITM)),
	FED(0, 7, 8, 1, 900, .mem_op = LOAD, .mem_lvl_num = NUM(ANY_CACHE), .mem_remote = 1,
	    SNOOP(HITM)),
	/* the same code and thread at another place */
	FED(0, 5, 16, 1, 60, .mem_op = LOAD, .mem_lvl_num = NUM(L3), SNOOP(HIT)),
	/* stores: memory's answer is no load's, and the PMU tells no latency */
	FED(0, 11, 8, 3, 0, .mem_op = STORE, .mem_lvl = LVL(HIT) | LVL(L1),
	    .mem_lock = PERF_MEM_LOCK_LOCKED),
	FED(1, 13, 32, 4, 70, .mem_op = LOAD | STORE, .mem_lvl_num = NUM(L1)),
};

/* What must come out; cycles of one thread's first sample are not counted. */
static const struct expected {
	int thread;
	uint32_t offset, ip;
	uint64_t samples, reads, writes, locked;
	struct line_hitm hitm;
	uint64_t latencies, cycles, min, max;
} expected[SPOTS] = {
	{0, 8, 1, 38, 38, 0, 0, {true, 30, 7}, 37, 30 * 200 + 7 * 900, 200, 900},
	{0, 8, 3, 11, 0, 11, 11, {false, 0, 0}, 0, 0, 0, 0},
	{1, 8, 2, 1, 1, 0, 0, {true, 0, 0}, 1, 50, 50, 50},
	{0, 16, 1, 5, 5, 0, 0, {true, 0, 0}, 5, 5 * 60, 60, 60},
	{1, 32, 4, 13, 13, 13, 0, {true, 0, 0}, 13, 13 * 70, 70, 70},
};

struct run {
	struct config cfg;
	struct names_shared names;
	struct source *src;
	struct line_source *line;
	struct source_report report;
	struct feeder feeder;
	int failed;
	char sysfs[64];
};

#define CHECK(what)                                                 \
	do {                                                        \
		if (!(what)) {                                      \
			printf("# line %d: %s\n", __LINE__, #what); \
			good = false;                               \
		}                                                   \
	} while (0)

/* ---- the source, and its maps under our program ---- */

static int share_maps(struct run *r)
{
	static const char *const names[] = {"accesses_even", "accesses_odd", "latencies_even",
					    "latencies_odd", "turns",	     "line_counts"};
	size_t k;
	int ret = 0;

	for (k = 0; !ret && k < sizeof(names) / sizeof(names[0]); k++) {
		struct bpf_map *to = bpf_object__find_map_by_name(r->feeder.bpf->obj, names[k]);
		struct bpf_map *of = bpf_object__find_map_by_name(r->line->skel->obj, names[k]);

		ret = to && of ? bpf_map__reuse_fd(to, bpf_map__fd(of)) : -ENOENT;
	}
	return ret;
}

static int load_feed(struct run *r)
{
	struct bpf_program *p;
	int ret;

	r->feeder.bpf = line_feed_bpf__open();
	if (!r->feeder.bpf)
		return -errno;
	bpf_object__for_each_program(p, r->feeder.bpf->obj)(void) bpf_program__set_autoload(
		p, p == r->feeder.bpf->progs.ws_feed); /* not loaded yet */
	ret = share_maps(r);
	if (!ret)
		ret = map_setup_buckets((struct abi_buckets *)&r->feeder.bpf->rodata->hists,
					ABI_LATENCY_SCHEMA);
	return ret ? ret : line_feed_bpf__load(r->feeder.bpf);
}

static int write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	(void)fputs(text, f); /* fclose tells */
	return fclose(f) ? -errno : 0;
}

/* Each CPU in a node of its own, and a block of memory in the second. */
static int make_nodes(struct run *r)
{
	static const char *const dirs[] = {"memory", "node", "node/node0", "node/node1",
					   "node/node1/memory3"};
	char path[128], text[32];
	size_t k;
	int ret = 0;

	(void)snprintf(r->sysfs, sizeof(r->sysfs), "/tmp/ws-feed-XXXXXX"); /* fits, as the others */
	if (!mkdtemp(r->sysfs))
		return -errno;
	for (k = 0; k < sizeof(dirs) / sizeof(dirs[0]); k++) {
		(void)snprintf(path, sizeof(path), "%s/%s", r->sysfs, dirs[k]);
		ret |= mkdir(path, 0700);
	}
	(void)snprintf(path, sizeof(path), "%s/memory/block_size_bytes", r->sysfs);
	(void)snprintf(text, sizeof(text), "%llx\n", BLOCK_BYTES);
	ret |= write_file(path, text);
	for (k = 0; k < 2; k++) {
		(void)snprintf(path, sizeof(path), "%s/node/node%zu/cpulist", r->sysfs, k);
		(void)snprintf(text, sizeof(text), "%u\n", r->feeder.cpus[k]);
		ret |= write_file(path, text);
	}
	numa_close(r->line->m.numa);
	return ret ? -EIO : numa_open(&r->line->m.numa, r->sysfs, r->feeder.ncpus);
}

static int run(struct run *r, struct err *e)
{
	const struct source_args args = {.cfg = &r->cfg, .names = &r->names};
	int ret;

	r->cfg.freq = 997;
	r->cfg.line_by = LINE_BY_PMU;
	ret = source_open(&source_line, &r->src, &args, e);
	if (ret)
		return ret;
	r->line = (struct line_source *)r->src;
	ret = load_feed(r);
	if (!ret)
		ret = make_nodes(r);
	if (!ret)
		ret = source_line.start(r->src, e);
	if (ret)
		return ret;
	r->feeder.bpf->bss->epoch = r->line->base.epoch;
	ret = feeder_run(&r->feeder, fed, sizeof(fed) / sizeof(fed[0]));
	if (!ret)
		ret = source_line.next_epoch(r->src, e);
	(void)usleep(SOURCE_GRACE_NS /
		     1000); /* as long as it takes, or an interrupted moment less */
	return ret ? ret : source_line.collect(r->src, &r->report, e);
}

/* ---- judging ---- */

static const struct contended *row(const struct report_rows *rows)
{
	size_t k;

	for (k = 0; k < rows->contended.n; k++)
		if (rows->contended.v[k].line == (uint64_t)target)
			return &rows->contended.v[k];
	return NULL;
}

/* What lies in the buckets can have that sum: rule 17. */
static bool judge_buckets(const struct hist *h)
{
	double low = 0, high = 0;
	bool good = true;
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < h->len; i++) {
		if (!h->slots[i])
			continue;
		n += h->slots[i];
		high += (double)h->slots[i] * hist_slot_upper_ns(h->schema, h->first + i);
		if (h->first + i)
			low += (double)h->slots[i] *
			       hist_slot_upper_ns(h->schema, h->first + i - 1);
	}
	CHECK(n + h->zero == h->count);
	CHECK((double)h->sum_ns >= low && (double)h->sum_ns <= high);
	return good;
}

static bool judge_latency(const struct hist *h, const struct expected *x)
{
	static const struct quantile p99 = {990000000ULL, "99"};
	bool good = true;
	uint64_t last;

	CHECK((h != NULL) == (x->latencies > 0));
	if (!h || !x->latencies)
		return good;
	CHECK(h->count == x->latencies && h->sum_ns == x->cycles);
	CHECK(h->min_ns == x->min && h->max_ns == x->max);
	good = judge_buckets(h) && good;
	/* seven of 37 took 900: one of these is the 99th; else all took the same */
	last = hist_quantile(h, &p99).ns;
	CHECK(last <= x->max && last * 12 >= x->max * 11); /* schema 3: 9 % a bucket */
	return good;
}

static bool judge_spot(const struct line_spot *u, const struct expected *x, uint32_t first)
{
	bool good = true;

	CHECK(u->offset == x->offset && u->ip == (uint64_t)code + x->ip);
	CHECK((u->tid == first) == !x->thread);
	CHECK(u->samples == x->samples && u->reads == x->reads && u->writes == x->writes);
	CHECK(u->locked == x->locked && u->size == 1);
	CHECK(u->hitm.told == x->hitm.told && u->hitm.local == x->hitm.local);
	CHECK(u->hitm.remote == x->hitm.remote && u->sym && *u->sym);
	return judge_latency(u->latency, x) && good;
}

static bool judge_spots(const struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	uint32_t first = 0;
	bool good = true;
	size_t k;

	CHECK(!self_tgid(&first));
	CHECK(a->nuses == SPOTS);
	for (k = 0; k < SPOTS && k < a->nuses; k++)
		good = judge_spot(&a->uses[k], &expected[k], first) && good;
	return good;
}

static bool judge_line(const struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	uint64_t count = 0, latencies = 0, cycles = 0;
	bool good = true;
	size_t k;

	for (k = 0; k < SPOTS; k++) {
		count += expected[k].samples;
		latencies += expected[k].latencies;
		cycles += expected[k].cycles;
	}
	CHECK(c->count == count && c->ntasks == 2 && c->ncpus == 2 && a->nthreads == 2);
	CHECK(!strcmp(a->sampler, "pebs") && !strcmp(a->sharing, "true"));
	CHECK(a->reads == 57 && a->writes == 24 && a->locked == 11 && !a->inferred);
	CHECK(a->hitm.told && a->hitm.local == 30 && a->hitm.remote == 7);
	CHECK(a->latency && a->latency->count == latencies && a->latency->sum_ns == cycles);
	CHECK(a->latency && a->latency->min_ns == 50 && a->latency->max_ns == 900);
	CHECK(a->latency && judge_buckets(a->latency));
	CHECK(a->share < 0); /* samples of accesses, not of time */
	return good;
}

static bool judge_nodes(const struct contended *c)
{
	const struct line_accesses *a = c->accesses;
	bool good = true;

	CHECK(a->nnodes == 2 && a->nodes[0] == 0 && a->nodes[1] == 1);
	CHECK(a->memory_node == 1);
	return good;
}

static void result(struct run *r, int nr, bool good, const char *what)
{
	printf("%s %d - %s\n", good ? "ok" : "not ok", nr, what);
	r->failed |= !good;
}

static void judge(struct run *r)
{
	const struct contended *now = row(&r->report.interval), *ever = row(&r->report.total);
	bool both = now && ever;

	result(r, 1, both, "the line is listed, now and in all");
	result(r, 2, both && judge_line(now) && judge_line(ever), "what the line says");
	result(r, 3, both && judge_spots(now) && judge_spots(ever),
	       "what each place, code and thread says");
	result(r, 4, both && judge_nodes(now), "the nodes of its CPUs and of its memory");
	result(r, 5, !r->report.quality_interval.map_full && !r->report.quality_interval.over_range,
	       "nothing is lost");
	printf("1..5\n");
}

/* ---- */

static void close_all(struct run *r)
{
	char command[96];

	source_line.close(r->src);
	names_shared_close(&r->names);
	line_feed_bpf__destroy(r->feeder.bpf);
	rows_free(&r->report.interval);
	rows_free(&r->report.total);
	if (!r->sysfs[0])
		return;
	(void)snprintf(command, sizeof(command), "rm -r %s", r->sysfs); /* fits */
	if (system(command))
		printf("# %s stays\n", r->sysfs);
}

static int skip(const char *what, const char *why)
{
	printf("1..0 # SKIP %s: %s\n", what, why);
	return EXIT_SKIP;
}

int main(void)
{
	struct run r = {0};
	struct err e = {0};
	int ret;

	bpf_util_log(getenv("V") != NULL);
	if (feeder_cpus(&r.feeder))
		return skip("one CPU", "two are needed");
	if (feeder_find(&r.feeder))
		return skip("no bpf_cast_to_kern_ctx", "samples do not say what was filled");
	ret = run(&r, &e);
	if (ret == -ENOTSUP) {
		close_all(&r);
		return skip("no bpf_cast_to_kern_ctx", e.text);
	}
	if (ret)
		printf("# %s: %s\n", strerror(-ret), e.text);
	judge(&r);
	close_all(&r);
	return r.failed || ret;
}
