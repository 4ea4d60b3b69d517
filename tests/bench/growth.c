// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loader's work per report with CPUs and groups that this machine does not have: the very code
 * of the scheduler source, on histograms filled from here. Banks lie in a memory file in place of
 * the BPF map; groups in real BPF hash maps.
 *
 *	growth CPUS GROUPS	{"cpus":512,"keys":10,"us":123.4,"rss_mb":56.7,"heap_grown":0}
 */
#include "load/load.h"

#include <bpf/bpf.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#include "source/sched/sched.h"

#define TICKS 6
#define WARM 4		  /* first reports allocate: both banks, then the rows of both views */
#define SAMPLES_A_TICK 32 /* per histogram, over OCTAVES from FIRST_OCTAVE on: 1 us to 1 ms */
#define FIRST_OCTAVE 10
#define OCTAVES 10

struct fake {
	uint32_t ncpus, ngroups;
	char *banks;
	int fds[ABI_BANKS];
	struct abi_kentry *entry;
};

static void fail(const char *what)
{
	err(1, "%s", what);
}

static uint32_t slot_at(int sample, uint32_t schema)
{
	uint32_t slots = OCTAVES << schema;

	return (FIRST_OCTAVE << schema) + (uint32_t)sample * slots / SAMPLES_A_TICK;
}

static void hist_fill(struct abi_hist *h, uint64_t epoch, uint32_t *slots)
{
	int i;

	h->epoch = epoch;
	h->min_ns = 1;
	h->max_ns = 1ULL << 36;
	h->sum_ns += SAMPLES_A_TICK;
	for (i = 0; i < SAMPLES_A_TICK; i++)
		slots[slot_at(i, BUCKET_SCHEMA_DEFAULT)]++;
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
	struct abi_key key = {.born = 1};
	uint32_t g;
	int i, m;

	for (m = 0; m < ABI_SCHED_HISTS; m++) {
		struct abi_khist *k = &f->entry->hist[m];

		k->h.epoch = epoch;
		k->h.min_ns = 1;
		k->h.max_ns = 1ULL << 36;
		k->h.sum_ns += SAMPLES_A_TICK;
		for (i = 0; i < SAMPLES_A_TICK; i++)
			k->slots[slot_at(i, ABI_KEY_SCHEMA)]++;
	}
	for (g = 0; g < f->ngroups; g++) {
		key.id = g + 1;
		if (bpf_map_update_elem(f->fds[epoch & 1], &key, f->entry, BPF_ANY))
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
	}
	f->entry = calloc(1, sizeof(*f->entry));
	if (!f->entry)
		fail("memory");
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

static uint64_t report_ns(struct sched_banks *banks, struct sched_keys *keys, uint64_t epoch)
{
	uint64_t start_ns = load_now_ns();
	struct err e = {0};

	if (sched_banks_collect(banks, epoch) || sched_keys_collect(keys, epoch, &e))
		errx(1, "collect: %s", e.text);
	return load_now_ns() - start_ns;
}

int main(int argc, char **argv)
{
	struct sched_keys_args args = {.by = BY_PID};
	struct sched_banks banks;
	struct sched_keys *keys;
	struct fake f = {0};
	struct err e = {0};
	uint64_t epoch, ns = 0, best_ns = UINT64_MAX;
	size_t heap = 0;
	int fd;

	if (argc != 3) {
		fputs("usage: growth CPUS GROUPS\n", stderr);
		return 2;
	}
	f.ncpus = (uint32_t)load_number(argv[1], 1, 8192, "CPUS");
	f.ngroups = (uint32_t)load_number(argv[2], 1, 1000000, "GROUPS");
	fd = banks_file(&f);
	groups_maps(&f);
	memcpy(args.fds, f.fds, sizeof(args.fds));
	args.ncpus = f.ncpus;
	if (sched_banks_open(&banks, fd, BUCKET_SCHEMA_DEFAULT, f.ncpus, &e) ||
	    sched_keys_open(&keys, &args, &e))
		errx(1, "open: %s", e.text);
	for (epoch = 1; epoch <= TICKS; epoch++) {
		banks_fill(&f, epoch);
		groups_fill(&f, epoch);
		ns = report_ns(&banks, keys, epoch);
		if (epoch == WARM)
			heap = mallinfo2().uordblks;
		if (epoch > WARM && ns < best_ns)
			best_ns = ns;
	}
	printf("{\"cpus\":%u,\"keys\":%u,\"us\":%.1f,\"rss_mb\":%.1f,\"heap_grown\":%zu}\n",
	       f.ncpus, f.ngroups, (double)best_ns / 1000, resident_mb(),
	       mallinfo2().uordblks - heap);
	sched_keys_close(keys);
	sched_banks_close(&banks);
	return 0;
}
