// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loader's work per report with CPUs and groups that this machine does not have: the very code
 * of the scheduler source, on histograms filled from here. Banks lie in a memory file in place of
 * the BPF map; groups in real BPF hash maps. Times are of the CPU, so that a busy machine counts
 * less; `maps_us` is what the kernel alone takes to tell of the groups of one report.
 *
 *	growth CPUS GROUPS [SAMPLES]
 *		{"cpus":512,"keys":10,"us":123.4,"maps_us":1.2,"rss_mb":56.7,"heap_grown":0}
 */
#include "load/load.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "source/bpf/keyed_inside.h"
#include "source/sched/sched.h"
#include "unit/khist.h"

#define TICKS 6
#define WARM 4	   /* first reports allocate: both banks, then the rows of both views */
#define SAMPLES 32 /* a report, per histogram; over OCTAVES from FIRST_OCTAVE on: 1 us to 1 ms */
#define FIRST_OCTAVE 10
#define OCTAVES 10

struct fake {
	uint32_t ncpus, ngroups;
	int samples; /* a report, per histogram of a group */
	char *banks;
	int fds[ABI_BANKS];
	struct abi_kentry *entries[ABI_BANKS]; /* of all groups alike */
};

static void fail(const char *what)
{
	err(1, "%s", what);
}

static uint32_t slot_at(int sample, int samples, uint32_t schema)
{
	uint32_t slots = OCTAVES << schema;

	return (FIRST_OCTAVE << schema) + (uint32_t)sample * slots / (uint32_t)samples;
}

static void hist_fill(struct abi_hist *h, uint64_t epoch, uint32_t *slots)
{
	int i;

	h->epoch = epoch;
	h->min_ns = 1;
	h->max_ns = 1ULL << 36;
	h->sum_ns += SAMPLES;
	for (i = 0; i < SAMPLES; i++)
		slots[slot_at(i, SAMPLES, BUCKET_SCHEMA_DEFAULT)]++;
}

static void banks_fill(struct fake *f, uint64_t epoch)
{
	size_t bank_bytes = ABI_BANK_BYTES(BUCKET_SCHEMA_DEFAULT);
	uint32_t c, m;

	for (c = 0; c < f->ncpus; c++) {
		char *bank = f->banks + (c * ABI_BANKS + (epoch & 1)) * bank_bytes;

		((struct abi_counts *)bank)->switches++;
		for (m = 0; m < ABI_SCHED_HISTS; m++) {
			struct abi_hist *h = (void *)(bank + sizeof(struct abi_counts) +
						      m * ABI_HIST_BYTES(BUCKET_SCHEMA_DEFAULT));

			hist_fill(h, epoch, (uint32_t *)(h + 1));
		}
	}
}

static void groups_fill(struct fake *f, uint64_t epoch)
{
	struct abi_kentry *entry = f->entries[epoch & 1];
	struct abi_key key = {.born = 1};
	uint32_t g, m;
	int i;

	for (m = 0; m < ABI_SCHED_HISTS; m++) {
		entry->hists[m].told = entry->hists[m].placed;
		for (i = 0; i < f->samples; i++)
			khist_add(&entry->hists[m], entry->slots[m], epoch, 1 + (uint64_t)i,
				  slot_at(i, f->samples, ABI_KEY_SCHEMA), 1);
	}
	for (g = 0; g < f->ngroups; g++) {
		key.id = g + 1;
		if (bpf_map_update_elem(f->fds[epoch & 1], &key, entry, BPF_ANY))
			fail("fill a group");
	}
}

static int banks_file(struct fake *f)
{
	size_t len = (size_t)f->ncpus * ABI_BANKS * ABI_BANK_BYTES(BUCKET_SCHEMA_DEFAULT);
	int fd = memfd_create("banks", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)((len + 4095) / 4096 * 4096)))
		fail("memory file");
	f->banks = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (f->banks == MAP_FAILED)
		fail("map the memory file");
	return fd;
}

static void groups_maps(struct fake *f)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int b;

	for (b = 0; b < ABI_BANKS; b++) {
		f->fds[b] = bpf_map_create(BPF_MAP_TYPE_HASH, "groups", sizeof(struct abi_key),
					   sizeof(struct abi_kentry), f->ngroups + 1, &opts);
		if (f->fds[b] < 0)
			fail("map of groups");
		f->entries[b] = calloc(1, sizeof(*f->entries[b]));
		if (!f->entries[b])
			fail("memory");
	}
}

static double resident_mb(void)
{
	long pages, resident;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2)
		fail("/proc/self/statm");
	(void)fclose(f); /* only read */
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static uint64_t cpu_ns(void)
{
	return load_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* As keyed_walk.c has them read, and nothing else; 0: this kernel lets no program walk over maps,
 * they are copied. */
static uint64_t walk_ns(struct fake *f)
{
	struct keyed_args args = {.nhists = ABI_SCHED_HISTS, .schema = ABI_KEY_SCHEMA};
	struct keyed_walk walk = {0};
	uint64_t start_ns, ns;
	char none;
	int fd;

	groups_fill(f, TICKS + 2); /* into bank 0; nobody was told of these */
	memcpy(args.fds, f->fds, sizeof(args.fds));
	if (keyed_walk_open(&walk, &args))
		fail("program that walks over the groups");
	if (!walk.told)
		return 0;
	start_ns = cpu_ns();
	fd = bpf_iter_create(bpf_link__fd(walk.links[0]));
	do
		walk.told->used = 0;
	while (read(fd, &none, sizeof(none)) < 0 && errno == EAGAIN);
	ns = cpu_ns() - start_ns;
	if (close(fd))
		fail("read the groups");
	keyed_walk_close(&walk);
	return ns;
}

static uint64_t report_ns(struct banks *banks, struct sched_keys *keys,
			  struct source_report *report, uint64_t epoch)
{
	uint64_t start_ns = cpu_ns();
	struct err e = {0};

	if (banks_collect(banks, epoch, true, &e) || sched_keys_collect(keys, epoch, true, &e))
		errx(1, "collect: %s", e.text);
	rows_forget(&report->interval);
	rows_forget(&report->total);
	if (sched_keys_push(keys, report))
		fail("push");
	return cpu_ns() - start_ns;
}

int main(int argc, char **argv)
{
	struct sched_keys_args args = {.by = BY_PID};
	struct banks_args of_banks = {
		.nhists = ABI_SCHED_HISTS,
		.schema = BUCKET_SCHEMA_DEFAULT,
		.metrics = metric_list,
		.nmetrics = SCHED_METRICS,
		.derive = sched_derive,
	};
	struct banks banks;
	struct source_report report = {0};
	struct sched_keys *keys;
	struct fake f = {0};
	struct err e = {0};
	uint64_t epoch, ns = 0, best_ns = UINT64_MAX;
	size_t heap = 0;
	double rss_mb;

	if (argc != 3 && argc != 4) {
		fputs("usage: growth CPUS GROUPS [SAMPLES]\n", stderr);
		return 2;
	}
	f.ncpus = (uint32_t)load_number(argv[1], 1, 8192, "CPUS");
	f.ngroups = (uint32_t)load_number(argv[2], 1, 1000000, "GROUPS");
	f.samples = argc == 4 ? (int)load_number(argv[3], 1, OCTAVES << ABI_KEY_SCHEMA, "SAMPLES")
			      : SAMPLES;
	of_banks.map_fd = banks_file(&f);
	groups_maps(&f);
	memcpy(args.fds, f.fds, sizeof(args.fds));
	args.ncpus = f.ncpus;
	of_banks.ncpus = f.ncpus;
	if (banks_open(&banks, &of_banks, &e) || sched_keys_open(&keys, &args, &e))
		errx(1, "open: %s", e.text);
	for (epoch = 1; epoch <= TICKS; epoch++) {
		banks_fill(&f, epoch);
		groups_fill(&f, epoch);
		ns = report_ns(&banks, keys, &report, epoch);
		if (epoch == WARM)
			heap = mallinfo2().uordblks;
		if (epoch > WARM && ns < best_ns)
			best_ns = ns;
	}
	heap = mallinfo2().uordblks - heap;
	rss_mb = resident_mb();
	printf("{\"cpus\":%u,\"keys\":%u,\"us\":%.1f,\"maps_us\":%.1f,\"rss_mb\":%.1f,"
	       "\"heap_grown\":%zd}\n",
	       f.ncpus, f.ngroups, (double)best_ns / 1000, (double)walk_ns(&f) / 1000, rss_mb,
	       (ssize_t)heap);
	rows_free(&report.interval);
	rows_free(&report.total);
	sched_keys_close(keys);
	banks_close(&banks);
	return 0;
}
