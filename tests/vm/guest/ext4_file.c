// SPDX-License-Identifier: GPL-2.0-or-later
#include "ext4_file.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

#define TOOL "/bin/waitscope"
#define OUT "/tmp/ext4-file.json"
#define ERR "/tmp/ext4-file.stderr"
#define LIMIT_MS 60000

#define READS "1000"
#define WRITES "50"

/*
 * cachedread makes a file by 16 writes of 64 KiB, reads its 256 pages, and then 1000 again that the
 * page cache has; fswrite opens its file twice and writes 50 times.
 */
static const struct {
	const char *op;
	int64_t count;
} truth[] = {
	{"file-read", 256 + 1000},
	{"file-write", 16 + 50},
	{"file-open", 1 + 2},
};

static bool run_load(const char *const argv[])
{
	struct proc load;

	if (proc_start(&load, argv, NULL, NULL, NULL))
		return false;
	proc_poke(&load);
	return proc_wait(&load, LIMIT_MS) == 0;
}

static bool run_loads(const char *dir)
{
	char read_path[256], write_path[256];
	const char *const reads[] = {"/bin/cachedread", read_path, READS, NULL};
	const char *const writes[] = {"/bin/fswrite", "--dsync", write_path, WRITES, "4096", NULL};

	(void)snprintf(read_path, sizeof(read_path), "%s/read", dir); /* short */
	(void)snprintf(write_path, sizeof(write_path), "%s/write", dir);
	return run_load(reads) && run_load(writes);
}

static bool has_hook(struct json_object *report, const char *name)
{
	struct json_object *meta = report_line(report, "meta"), *source, *hooks;

	source = json_object_array_get_idx(json_object_object_get(meta, "sources"), 0);
	hooks = json_object_object_get(source, "hooks");
	for (size_t i = 0; hooks && i < json_object_array_length(hooks); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(hooks, i)), name))
			return true;
	return false;
}

static enum ext4_file_result judge(struct json_object *report, char *why, size_t len)
{
	struct json_object *final = report_line(report, "final");
	enum ext4_file_result result = EXT4_FILE_PASS;
	size_t at = 0;

	if (!has_hook(report, "ext4_file_read_iter")) {
		(void)snprintf(why, len, "functions cannot be traced on this kernel");
		return EXT4_FILE_SKIP;
	}
	for (size_t i = 0; i < sizeof(truth) / sizeof(truth[0]) && at < len; i++) {
		int64_t n = report_sum(final, "ext4_op_latency", "op", truth[i].op, "count");

		at += (size_t)snprintf(why + at, len - at, "%s%s %lld of %lld", i ? ", " : "",
				       truth[i].op, (long long)n, (long long)truth[i].count);
		if (n != truth[i].count)
			result = EXT4_FILE_FAIL;
	}
	return result;
}

enum ext4_file_result ext4_file_rows(const char *dir, char *why, size_t len)
{
	const char *const argv[] = {TOOL, "-s", "ext4", "--dev", dir, "-o", "json:" OUT, NULL};
	enum ext4_file_result result = EXT4_FILE_FAIL;
	struct json_object *report = NULL;
	bool worked = false;
	struct proc tool;

	(void)unlink(OUT);
	(void)snprintf(why, len, "the run did not come to its end");
	if (proc_start(&tool, argv, ERR, NULL, NULL))
		return result;
	if (report_await(&tool, OUT, "meta", LIMIT_MS))
		worked = run_loads(dir);
	(void)kill(tool.pid, SIGINT);
	if (proc_wait(&tool, LIMIT_MS) == 0 && worked)
		report = report_load(OUT);
	if (report && report_line(report, "final"))
		result = judge(report, why, len);
	json_object_put(report);
	return result;
}
