// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mutants N FILE...: N records, each one of the files with something wrong in it, through
 * `waitscope report` and `waitscope diff` as a whole, in this process: what is wrong ends in an
 * error with words, or is none. The same ones each time; the 4,711th again is `mutants 4711 4711
 * FILE...`. TAP.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "core/err.h"
#include "diff.h"
#include "report.h"

#define LARGEST (1U << 20) /* of the files */

struct text {
	char *bytes;
	size_t len;
};

static uint64_t random_state;

static size_t below(size_t n)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return n ? (random_state >> 33) % n : 0;
}

static struct text read_whole(const char *path)
{
	struct text t = {.bytes = malloc(LARGEST)};
	FILE *f = fopen(path, "re");

	if (!f || !t.bytes)
		err(1, "%s", path);
	t.len = fread(t.bytes, 1, LARGEST, f);
	if (t.len == LARGEST)
		errx(1, "%s: too large", path);
	fclose(f);
	return t;
}

/* In place of `old` bytes at `at`. */
static void replace(struct text *t, size_t at, size_t old, const char *with, size_t len)
{
	char *bytes = malloc(t->len - old + len + 1);

	if (!bytes)
		err(1, "memory");
	memcpy(bytes, t->bytes, at);
	memcpy(bytes + at, with, len);
	memcpy(bytes + at + len, t->bytes + at + old, t->len - at - old);
	free(t->bytes);
	*t = (struct text){bytes, t->len - old + len};
}

/* Some piece of the text, which may be its end. */
static size_t piece(const struct text *t, size_t at)
{
	size_t len = 1 + below(below(4) ? 16 : 4096);

	return len < t->len - at ? len : t->len - at;
}

/* From a byte on, digits become another value. */
static void change_number(struct text *t, size_t at)
{
	static const char *const values[] = {
		"0",
		"1",
		"-1",
		"18446744073709551615",
		"18446744073709551616",
		"1e308",
		"00",
		"0.5",
		"null",
		"9223372036854775807",
		"4294967296",
		"\"7\"",
		"[]",
		"[1,2]",
		"{}",
		"-9223372036854775808",
		"1e999",
		"2147483648",
	};
	const char *v = values[below(sizeof(values) / sizeof(values[0]))];
	size_t n = 0;

	while (at < t->len && (t->bytes[at] < '0' || t->bytes[at] > '9'))
		at++;
	while (at + n < t->len && t->bytes[at + n] >= '0' && t->bytes[at + n] <= '9')
		n++;
	replace(t, at, n, v, strlen(v));
}

/* The line at a byte comes again, somewhere before, or is gone. */
static void move_line(struct text *t, size_t at)
{
	const char *end = memchr(t->bytes + at, '\n', t->len - at);
	size_t from = at, n;
	char *line;

	while (from && t->bytes[from - 1] != '\n')
		from--;
	n = (end ? (size_t)(end - t->bytes) + 1 : t->len) - from;
	line = malloc(n);
	if (!line)
		err(1, "memory");
	memcpy(line, t->bytes + from, n);
	if (below(2))
		replace(t, from, n, "", 0);
	else
		replace(t, 0, 0, line, n);
	free(line);
}

static void mutate(struct text *t)
{
	size_t at = below(t->len), from = below(t->len), n;
	char byte = (char)below(256), copy[4096];

	if (!t->len)
		return;
	switch (below(10)) {
	case 0:
		t->bytes[at] = byte;
		break;
	case 1:
		replace(t, at, piece(t, at), "", 0);
		break;
	case 2:
		n = piece(t, from);
		memcpy(copy, t->bytes + from, n);
		replace(t, at, 0, copy, n);
		break;
	case 3:
		move_line(t, at);
		break;
	case 4:
		t->len = at;
		break;
	default: /* it is still JSON, most of the time */
		change_number(t, at);
	}
}

static void put(const char *path, const struct text *t, bool gz)
{
	gzFile f = gzopen(path, gz ? "wb1e" : "wbTe");

	if (!f || gzwrite(f, t->bytes, (unsigned int)t->len) != (int)t->len || gzclose(f) != Z_OK)
		errx(1, "%s: cannot be written", path);
}

/* A mutant of the text in the file; sometimes what is wrong is in its compressed form. */
static void make(const char *path, const struct text *text)
{
	struct text t = {.bytes = malloc(text->len), .len = text->len};
	size_t n = 1 + below(3);
	bool gz = !below(8);

	memcpy(t.bytes, text->bytes, text->len);
	while (!gz && n--)
		mutate(&t);
	put(path, &t, gz);
	free(t.bytes);
	if (!gz)
		return;
	t = read_whole(path);
	while (n--)
		mutate(&t);
	put(path, &t, false);
	free(t.bytes);
}

typedef int (*main_fn)(int argc, char **argv, FILE *out, FILE *notes, int *status, bool *bisect,
		       bool *began, struct err *e);

struct counts {
	size_t well, errors;
};

/* It ends well, or says why it does not. */
static bool ends(main_fn run, int argc, char **argv, FILE *null, struct counts *c)
{
	bool bisect = false, began = false;
	struct err e = {0};
	int status = 0, ret = run(argc, argv, null, null, &status, &bisect, &began, &e);

	c->well += !ret;
	c->errors += ret != 0;
	if (ret && getenv("MUTANTS_SHOW"))
		printf("# %s: %s\n", argv[0], e.text);
	return ret ? *e.text && (err_exit(&e) == EXIT_FAILED || err_exit(&e) == EXIT_USAGE)
		   : status == EXIT_DONE || status == EXIT_LIMIT;
}

static bool test(size_t i, char *path, char **files, size_t nfiles, FILE *null, struct counts *c)
{
	char *outputs[] = {"table:/dev/null", "json:/dev/null", "csv:/dev/null"};
	char *file = files[below(nfiles)], *output = outputs[below(3)], *output2 = "json:/dev/null";
	char *report[] = {"report", path, "-o", output, below(2) ? "-z" : "-T", NULL, NULL};
	char *merge[] = {"report", "--force", file, path, "-o", output, NULL};
	char *diff[] = {"diff", "--force", file, path, "-o", output2, NULL};
	struct text t = read_whole(file);
	bool ok;

	make(path, &t);
	free(t.bytes);
	if (!below(3))
		report[5] = below(2) ? "--last=1" : "--from=2";
	ok = i % 3 ? ends(report_main, report[5] ? 6 : 5, report, null, c)
		   : ends(report_main, 6, merge, null, c);
	return ends(diff_main, 6, diff, null, c) && ok;
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, i = 1;
	int files = 2, fd = memfd_create("mutant", 0), failed = 0, quiet;
	FILE *null = fopen("/dev/null", "we");
	struct counts c = {0};
	char path[64];

	if (argc > 3 && strspn(argv[2], "0123456789") == strlen(argv[2]))
		i = strtoul(argv[files++], NULL, 10);
	if (!n || fd < 0 || !null)
		errx(2, "usage: mutants N [FROM] FILE...");
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
	printf("1..1\n");
	for (; i <= n; i++) {
		int saved = dup(STDERR_FILENO);
		bool ok;

		random_state = i * 0x9e3779b97f4a7c15ULL;
		(void)dup2(quiet, STDERR_FILENO); /* notes */
		ok = test(i, path, argv + files, (size_t)(argc - files), null, &c);
		(void)dup2(saved, STDERR_FILENO);
		close(saved);
		if (!ok)
			printf("# mutant %zu: no error in words, or another exit status\n", i);
		failed |= !ok;
	}
	printf("# ended well: %zu, with an error: %zu\n", c.well, c.errors);
	printf("%sok 1 - mutated records end in a report, a comparison or an error\n",
	       failed || !c.well || !c.errors ? "not " : "");
	fclose(null);
	return failed;
}
