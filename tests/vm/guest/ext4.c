// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ext4 in a guest, on a disk of its own: what the file system and its journal count themselves,
 * waitscope must have counted. A module where the kernel has it as one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ext4_file.h"
#include "guest.h"

#define DISK "nvme0n1"
#define MNT "/mnt"
#define SYNCS "100"

/* ---- modules ---- */

/* Does it end with a refusal? Its words are in `why`. */
static bool refusal(struct guest *g)
{
	const char *const argv[] = {TOOL, "-s", "ext4", "1", "1", NULL};

	int status = status_of(argv);

	(void)say(g, PASS, "exit %d: %s", status, stderr_line());
	return status == 3;
}

static int test_unloaded(struct guest *g)
{
	return refusal(g) && strstr(g->why, "modprobe ext4") ? PASS : FAIL;
}

/* In the order that fetch.sh found. */
static int test_modules(struct guest *g)
{
	char *list = file_text("/modules/load"), *save, *name, path[256];
	int n = 0;

	for (name = strtok_r(list, "\n", &save); name; name = strtok_r(NULL, "\n", &save)) {
		const char *const argv[] = {"/bin/busybox", "insmod", path, NULL};

		(void)snprintf(path, sizeof(path), "/modules/%s", name);
		if (status_of(argv)) {
			(void)say(g, FAIL, "%s: %s", name, stderr_line());
			free(list);
			return FAIL;
		}
		n++;
	}
	free(list);
	return say(g, n ? PASS : FAIL, "%d loaded", n);
}

/* The disk comes up a moment after its driver. */
static int test_mount(struct guest *g)
{
	(void)mkdir(MNT, 0755);
	for (int i = 0; i < 200 && access("/dev/" DISK, F_OK); i++)
		sleep_ms(50);
	if (mount("/dev/" DISK, MNT, "ext4", MS_NOATIME, NULL))
		return say(g, FAIL, "/dev/" DISK ": %m");
	return say(g, PASS, "/dev/" DISK " at " MNT);
}

/* ext4 is a module, and such modules have no types on this kernel: we say so. */
static int test_refused(struct guest *g)
{
	if (!refusal(g) || !strstr(g->why, "has no BTF"))
		return FAIL;
	printf("# source ext4 no: %s\n", strstr(g->why, "ext4: "));
	return SKIP;
}

/* ---- counts ---- */

struct counts {
	int64_t hits, misses, commits;
};

/* All of it on the disk, and the kernel's own counts. */
static bool kernel_counts(struct counts *c)
{
	int fd = open(MNT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *es, *jbd2, *at;
	long long hits, misses, commits;
	bool ok = fd >= 0 && syncfs(fd) == 0;

	if (fd >= 0)
		(void)close(fd); /* read only */
	es = file_text("/proc/fs/ext4/" DISK "/es_shrinker_info");
	jbd2 = file_text("/proc/fs/jbd2/" DISK "-8/info");
	at = strstr(es, " cache hits/misses");
	while (at && at > es && at[-1] != ' ' && at[-1] != '\n')
		at--;
	ok = ok && at && sscanf(at, "%lld/%lld", &hits, &misses) == 2 &&
	     sscanf(jbd2, "%lld transactions", &commits) == 1;
	if (ok)
		*c = (struct counts){hits, misses, commits};
	free(es);
	free(jbd2);
	return ok;
}

enum { READS, FILES, WRITES, LOADS };

/* Starts a load that waits for a byte, and reads what it says first (NULL: it does not). */
static struct json_object *load_start(struct proc *load, const char *const argv[])
{
	return proc_start(load, argv, NULL, NULL, NULL) ? NULL : proc_read_json(load);
}

/* Lets it go, and awaits its end: its last line. */
static struct json_object *load_finish(struct proc *load)
{
	struct json_object *last;

	proc_poke(load);
	last = proc_read_json(load);
	(void)proc_wait(load, END_MS);
	return last;
}

/* Look-ups, creates and unlinks, writes with fsyncs: each has made what it needs, and waits. */
static void prepare(struct proc loads[LOADS])
{
	static const char *const argv[LOADS][8] = {
		[READS] = {"/bin/mmapread", MNT, "2", "2", "2", NULL},
		[FILES] = {"/bin/locks", "dir", "2", "500", MNT, NULL},
		[WRITES] = {"/bin/fswrite", "--fsync", MNT "/w", SYNCS, "4096", NULL},
	};

	for (int i = 0; i < LOADS; i++)
		json_object_put(load_start(&loads[i], argv[i]));
}

/* One after the other; the number of fsyncs that were made, -1 if a load failed. */
static int64_t use_file_system(struct proc loads[LOADS])
{
	int64_t syncs = 0;

	for (int i = 0; i < LOADS; i++) {
		struct json_object *last = load_finish(&loads[i]);

		if (!last)
			return -1;
		if (i == WRITES)
			syncs = json_object_get_int64(json_object_object_get(last, "syncs"));
		json_object_put(last);
	}
	return syncs;
}

/* Of the device: the CPUs' counts are beside it. */
static int64_t lookups(struct json_object *final, const char *result)
{
	struct json_object *metrics = json_object_object_get(final, "metrics"), *labels;
	int64_t n = 0;

	for (size_t i = 0; metrics && i < json_object_array_length(metrics); i++) {
		struct json_object *m = json_object_array_get_idx(metrics, i);

		labels = json_object_object_get(m, "labels");
		if (!strcmp(json_text(m, "name"), "ext4_es_lookups") &&
		    !strcmp(json_text(labels, "result"), result) &&
		    !json_object_object_get(labels, "cpu"))
			n += json_object_get_int64(json_object_object_get(m, "value"));
	}
	return n;
}

/* blocked + run queue <= total, in every row; the rows that have a split, or -1 with words. */
static int check_splits(struct guest *g, struct json_object *final)
{
	struct json_object *metrics = json_object_object_get(final, "metrics");
	int n = 0;

	for (size_t i = 0; metrics && i < json_object_array_length(metrics); i++) {
		struct json_object *m = json_object_array_get_idx(metrics, i), *blocked;
		int64_t parts, sum;

		if (!json_object_object_get_ex(m, "blocked_ns", &blocked))
			continue;
		n++;
		parts = json_object_get_int64(blocked) +
			json_object_get_int64(json_object_object_get(m, "run_queue_ns"));
		sum = json_object_get_int64(json_object_object_get(m, "sum"));
		if (parts <= sum)
			continue;
		(void)say(g, FAIL, "%s %s: blocked and run queue %lld of %lld ns",
			  json_text(m, "name"),
			  json_object_to_json_string(json_object_object_get(m, "labels")),
			  (long long)parts, (long long)sum);
		return -1;
	}
	return n;
}

static int judge_counts(struct guest *g, struct json_object *final, const struct counts *kernel,
			int64_t syncs)
{
	const int64_t hits = lookups(final, "hit");
	const int64_t misses = lookups(final, "miss");
	const int64_t fsyncs = report_sum(final, "ext4_op_latency", "op", "fsync", "count");
	const int64_t commits = report_sum(final, "jbd2_commit", "op", "commit", "count");
	const int64_t missed = quality_of(final, "recursion_misses");
	const int64_t off = llabs(hits - kernel->hits) + llabs(misses - kernel->misses) +
			    llabs(fsyncs - syncs) + llabs(commits - kernel->commits);
	int splits = check_splits(g, final);

	if (splits < 0)
		return FAIL;
	return say(g, off <= missed && syncs > 0 && commits > 0 && splits > 0 ? PASS : FAIL,
		   "hits %lld of %lld, misses %lld of %lld, fsyncs %lld of %lld, commits %lld of "
		   "%lld, %d splits; %lld events withheld",
		   (long long)hits, (long long)kernel->hits, (long long)misses,
		   (long long)kernel->misses, (long long)fsyncs, (long long)syncs,
		   (long long)commits, (long long)kernel->commits, splits, (long long)missed);
}

static int test_counts(struct guest *g)
{
	const char *const more[] = {"--dev", MNT, NULL};
	struct counts before, after = {0};
	struct proc tool, loads[LOADS];
	struct json_object *report;
	int64_t syncs;
	int result;

	prepare(loads);
	if (!kernel_counts(&before))
		return say(g, FAIL, "no counts in /proc/fs/ext4 or /proc/fs/jbd2");
	if (!tool_start(g, &tool, "ext4", more))
		return FAIL;
	syncs = use_file_system(loads);
	(void)kernel_counts(&after);
	report = tool_finish(g, &tool);
	if (!report)
		return FAIL;
	after.hits -= before.hits;
	after.misses -= before.misses;
	after.commits -= before.commits;
	result = judge_counts(g, report_line(report, "final"), &after, syncs);
	json_object_put(report);
	return result;
}

/* Reads, writes and opens: traced as functions, which not every kernel allows. */
static int test_files(struct guest *g)
{
	static const int results[] = {
		[EXT4_FILE_PASS] = PASS, [EXT4_FILE_FAIL] = FAIL, [EXT4_FILE_SKIP] = SKIP};

	return results[ext4_file_rows(MNT, g->why, sizeof(g->why))];
}

const struct test ext4_tests[] = {
	{"ext4-unloaded", test_unloaded, "modules"},
	{"modules", test_modules, "modules"},
	{"ext4", test_refused, "refused"},
	{"mount", test_mount, "ext4"},
	{"ext4", test_counts, "ext4"},
	{"ext4-files", test_files, "ext4"},
	{0},
};
