// SPDX-License-Identifier: GPL-2.0-or-later
/* The stream under a sink: whole records or none, and words that quote the path. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink/out.h"
#include "sink/sink.h"
#include "unit.h"

#define RECORD 300
#define LIMIT 1000

struct dir {
	char path[64];
	char file[96];
};

static int setup(void **state)
{
	struct dir *d = calloc(1, sizeof(*d));

	strcpy(d->path, "/tmp/waitscope-out-XXXXXX");
	assert_non_null(mkdtemp(d->path));
	snprintf(d->file, sizeof(d->file), "%s/data", d->path);
	*state = d;
	return 0;
}

static int teardown(void **state)
{
	struct dir *d = *state;

	(void)unlink(d->file); /* not every test makes it */
	assert_int_equal(rmdir(d->path), 0);
	free(d);
	return 0;
}

static off_t file_size(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void put_record(struct out *o, char c)
{
	char data[RECORD];

	memset(data, c, sizeof(data));
	data[sizeof(data) - 1] = '\n';
	out_put(o, data, sizeof(data));
}

/* A file that may grow to LIMIT bytes: the kernel writes part of a record, then refuses. */
static void limit_file_size(rlim_t limit)
{
	struct rlimit r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
	r.rlim_cur = limit;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void test_half_record_is_cut(void **state)
{
	struct dir *d = *state;
	struct err e = {0};
	struct out o;
	int i;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(out_open(&o, d->file, false, &e), 0);
	limit_file_size(LIMIT);
	for (i = 0; i < LIMIT / RECORD; i++) {
		put_record(&o, 'a');
		assert_int_equal(out_flush(&o, &e), 0);
	}
	put_record(&o, 'b');
	assert_int_equal(out_flush(&o, &e), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	assert_non_null(strstr(e.text, d->file));
	assert_int_equal(e.exit, EXIT_FAILED);
	assert_int_equal(file_size(d->file), LIMIT / RECORD * RECORD);
	/* And once there is room again, it goes on behind the last whole record. */
	put_record(&o, 'c');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), (LIMIT / RECORD + 1) * RECORD);
	assert_int_equal(out_close(&o, &e), 0);
}

/* The same for standard output sent into a file, which is not in append mode. */
static void test_half_record_on_stdout(void **state)
{
	struct dir *d = *state;
	int saved = dup(STDOUT_FILENO), fd = open(d->file, O_WRONLY | O_CREAT, 0600), ret[2];
	struct err e = {0};
	struct out o;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_true(saved >= 0 && fd >= 0);
	(void)fflush(stdout);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	ret[0] = out_open(&o, NULL, false, &e);
	put_record(&o, 'a');
	if (!ret[0])
		ret[0] = out_flush(&o, &e);
	limit_file_size(RECORD + 10);
	put_record(&o, 'b');
	ret[1] = out_flush(&o, &e);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	(void)close(saved);
	assert_int_equal(ret[0], 0);
	assert_int_equal(ret[1], -EFBIG);
	assert_non_null(strstr(e.text, "standard output"));
	assert_int_equal(file_size(d->file), RECORD);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), RECORD);
	(void)close(fd);
	assert_int_equal(out_close(&o, &e), 0);
}

static void test_reopen(void **state)
{
	struct dir *d = *state;
	char moved[128];
	struct err e = {0};
	struct out o;

	assert_int_equal(out_open(&o, d->file, false, &e), 0);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), 0);
	/* Still there: appended to. */
	assert_int_equal(out_reopen(&o, &e), 0);
	assert_false(out_is_empty_file(&o));
	put_record(&o, 'b');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), 2 * RECORD);
	/* Moved away: a new one. */
	snprintf(moved, sizeof(moved), "%s.1", d->file);
	assert_int_equal(rename(d->file, moved), 0);
	assert_int_equal(out_reopen(&o, &e), 0);
	assert_true(out_is_empty_file(&o));
	put_record(&o, 'c');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), RECORD);
	assert_int_equal(file_size(moved), 2 * RECORD);
	assert_int_equal(unlink(moved), 0);
	assert_int_equal(out_close(&o, &e), 0);
}

/* A path that cannot be opened again: told, and the old file still works. */
static void test_reopen_fails(void **state)
{
	struct dir *d = *state;
	char moved[80];
	struct err e = {0};
	struct out o;

	snprintf(moved, sizeof(moved), "%s-moved", d->path);
	assert_int_equal(out_open(&o, d->file, false, &e), 0);
	assert_int_equal(rename(d->path, moved), 0);
	assert_int_equal(out_reopen(&o, &e), -ENOENT);
	assert_non_null(strstr(e.text, d->file));
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(rename(moved, d->path), 0);
	assert_int_equal(file_size(d->file), RECORD);
	assert_int_equal(out_close(&o, &e), 0);
}

static void test_open_fails(void **state)
{
	static const struct {
		const char *path;
		int code;
	} rows[] = {
		{"/nonexistent-waitscope/x.json", -ENOENT},
		{"/", -EISDIR},
		{"/dev/null/x", -ENOTDIR},
	};
	const struct sink_ops *const *ops;
	struct config cfg = {0};
	struct sink_args args = {.cfg = &cfg, .columns = 80};
	struct sink *s = NULL;
	size_t i;

	for (ops = sink_list; *ops; ops++) {
		if (*ops == &sink_tui) /* a terminal or nothing: readers/tui */
			continue;
		for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct err e = {0};

			args.path = rows[i].path;
			assert_int_equal((*ops)->open(&s, &args, &e), rows[i].code);
			assert_non_null(strstr(e.text, rows[i].path));
			assert_int_equal(e.exit, EXIT_FAILED);
			assert_null(s);
		}
		assert_int_equal((*ops)->close(NULL, NULL), 0);
		assert_ptr_equal(sink_find((*ops)->name), *ops);
	}
	assert_null(sink_find("tabel"));
}

static void test_full_device(void **state)
{
	struct err e = {0};
	struct out o;

	assert_int_equal(out_open(&o, "/dev/full", false, &e), 0);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "/dev/full"));
	assert_int_equal(out_close(&o, &e), 0);
}

/* The reader is gone: a code, no words. */
static void test_closed_pipe(void **state)
{
	struct err e = {0};
	char path[32];
	struct out o;
	int fd[2];

	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fd), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd[1]);
	assert_int_equal(out_open(&o, path, false, &e), 0);
	(void)close(fd[0]);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), -EPIPE);
	assert_string_equal(e.text, "");
	assert_int_equal(out_close(&o, &e), 0);
	(void)close(fd[1]);
}

static void test_close_twice(void **state)
{
	struct out o = {.fd = -1};
	struct err e = {0};

	assert_int_equal(out_close(&o, &e), 0);
	assert_int_equal(out_close(&o, &e), 0);
	assert_int_equal(out_open(&o, NULL, false, &e), 0);
	out_printf(&o, "%s", "never flushed");
	out_drop(&o);
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(out_close(&o, &e), 0);
}

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* What was in a file is there until the first record; what comes after stays. */
static void test_old_content(void **state)
{
	struct dir *d = *state;
	struct err e = {0};
	struct out o;

	put_file(d->file, "precious\n");
	assert_int_equal(out_open(&o, d->file, false, &e), 0);
	assert_int_equal(out_flush(&o, &e), 0); /* an empty record */
	assert_int_equal(file_size(d->file), 9);
	assert_int_equal(out_reopen(&o, &e), 0);
	assert_int_equal(file_size(d->file), 9);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), RECORD);
	put_record(&o, 'b');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), 2 * RECORD);
	assert_int_equal(out_reopen(&o, &e), 0);
	put_record(&o, 'c');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), 3 * RECORD);
	assert_int_equal(out_close(&o, &e), 0);
}

/* Created for the owner only where that is asked for; a file that is there keeps its mode. */
static void test_owner_only(void **state)
{
	static const struct {
		bool owner_only, exists;
		mode_t mode;
	} rows[] = {
		{false, false, 0644},
		{true, false, 0600},
		{true, true, 0644},
	};
	mode_t mask = umask(022);
	struct dir *d = *state;
	struct err e = {0};
	struct stat st;
	struct out o;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)unlink(d->file);
		if (rows[i].exists)
			put_file(d->file, "");
		assert_int_equal(out_open(&o, d->file, rows[i].owner_only, &e), 0);
		assert_int_equal(stat(d->file, &st), 0);
		assert_int_equal(st.st_mode & 07777, rows[i].mode);
		(void)unlink(d->file);
		assert_int_equal(out_reopen(&o, &e), 0);
		assert_int_equal(stat(d->file, &st), 0);
		assert_int_equal(st.st_mode & 07777, rows[i].owner_only ? 0600 : 0644);
		assert_int_equal(out_close(&o, &e), 0);
	}
	(void)umask(mask);
}

/* A FIFO: without a reader an error at once; with one it is written to, and waited for. */
static void test_fifo(void **state)
{
	struct dir *d = *state;
	struct err e = {0};
	struct out o;
	int reader;

	assert_int_equal(mkfifo(d->file, 0600), 0);
	(void)alarm(10); /* it would wait for ever */
	assert_int_equal(out_open(&o, d->file, false, &e), -ENXIO);
	(void)alarm(0);
	assert_non_null(strstr(e.text, "nobody reads"));
	assert_non_null(strstr(e.text, d->file));
	assert_int_equal(out_close(&o, &e), 0);
	reader = open(d->file, O_RDONLY | O_NONBLOCK);
	assert_true(reader >= 0);
	assert_int_equal(out_open(&o, d->file, false, &e), 0);
	assert_int_equal(fcntl(o.fd, F_GETFL) & O_NONBLOCK, 0);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(out_close(&o, &e), 0);
	assert_int_equal(close(reader), 0);
}

/* For those who answer requests: whole records, one behind the other, until they are taken. */
static void test_memory(void **state)
{
	struct err e = {0};
	const char *text;
	struct out o;
	size_t len;

	out_open_memory(&o);
	assert_int_equal(out_flush(&o, &e), 0);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), 0);
	put_record(&o, 'b');
	assert_int_equal(out_flush(&o, &e), 0);
	put_record(&o, 'c');
	o.error = -ENOMEM; /* half a record is none */
	assert_int_equal(out_flush(&o, &e), -ENOMEM);
	text = out_whole(&o, &len);
	assert_int_equal(len, 2 * RECORD);
	assert_true(text[0] == 'a' && text[RECORD] == 'b');
	(void)out_whole(&o, &len);
	assert_int_equal(len, 0);
	put_record(&o, 'd');
	assert_int_equal(out_flush(&o, &e), 0);
	text = out_whole(&o, &len);
	assert_int_equal(len, RECORD);
	assert_int_equal(text[0], 'd');
	assert_int_equal(out_reopen(&o, &e), 0);
	assert_int_equal(out_close(&o, &e), 0);
}

/* Any sink writes there: twice the same report is twice the same text. */
/* Text and attributes of HTML: what means something there, and nothing else. */
static void test_html(void **state)
{
	static const struct {
		const char *text, *html;
	} rows[] = {
		{"", ""},
		{"<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;"},
		{"a=\"b\" c='d'", "a=&quot;b&quot; c=&#39;d&#39;"},
		{"two\nlines \t µs", "two\nlines \t µs"},
	};
	struct err e = {0};
	struct out o;

	out_open_memory(&o);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *got;
		size_t len;

		out_html(&o, rows[i].text, strlen(rows[i].text));
		assert_int_equal(out_flush(&o, &e), 0);
		got = out_whole(&o, &len);
		assert_int_equal(len, strlen(rows[i].html));
		assert_memory_equal(got, rows[i].html, len);
	}
	out_html(&o, "<two of four", 2);
	assert_int_equal(out_flush(&o, &e), 0);
	assert_memory_equal(out_whole(&o, &(size_t){0}), "&lt;t", 5);
	assert_int_equal(out_close(&o, &e), 0);
}

static void test_sink_in_memory(void **state)
{
	struct config cfg = {.interval_ns = 1000000000};
	struct sink_args args = {.cfg = &cfg, .memory = true, .columns = 80};
	struct meta m = {.version = "1", .kernel = "6", .argv = (const char *const[]){NULL}};
	struct frame f = {.seq = 1, .dur_ns = 1000000000};
	struct err e = {0};
	const char *text;
	size_t len;

	for (const struct sink_ops *const *ops = sink_list; *ops; ops++) {
		char *first = NULL;
		struct sink *s;

		if (*ops == &sink_tui) { /* it is for eyes */
			assert_int_equal((*ops)->open(&s, &args, &e), -ENOTTY);
			continue;
		}
		assert_int_equal((*ops)->open(&s, &args, &e), 0);
		assert_int_equal((*ops)->meta(s, &m, &e), 0);
		(void)out_whole(s->out, &len);
		for (int i = 0; i < 2; i++) {
			assert_int_equal((*ops)->interval(s, &f, &f, &e), 0);
			text = out_whole(s->out, &len);
			if (*ops == &sink_prom || *ops == &sink_prom_proto ||
			    *ops == &sink_otlp) { /* counts rise */
				assert_true(len > 1000 && len < 10000);
				if (!i)
					first = strdup("x");
			} else if (i && len && len >= strlen(first)) {
				/* a table has a gap before its second */
				assert_memory_equal(text + len - strlen(first), first,
						    strlen(first));
			} else {
				free(first);
				first = strndup(len ? text : "", len);
			}
		}
		/* rows of series alone, and there is none; a page, and there is no final report; a
		 * trace, and it is the same moment */
		assert_true(*ops == &sink_csv || *ops == &sink_hlog || *ops == &sink_html ||
			    *ops == &sink_perfetto || *first);
		free(first);
		assert_int_equal((*ops)->close(s, &e), 0);
	}
}

/* Each record replaces the file: who opened it before still reads the one before, whole. */
static void test_replace(void **state)
{
	struct dir *d = *state;
	struct err e = {0};
	struct out o;
	struct stat st;
	char text[8] = "", aside[128];
	int fd;

	fd = open(d->file, O_WRONLY | O_CREAT, 0640);
	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(fchmod(fd, 0640), 0);
	close(fd);
	snprintf(aside, sizeof(aside), "%s.tmp", d->file);
	assert_int_equal(symlink("/etc/passwd", aside), 0); /* somebody's trap: not followed */
	assert_int_equal(out_open(&o, d->file, true, &e), 0);
	assert_int_equal(out_replace(&o, &e), 0);
	assert_int_equal(file_size(d->file), 3); /* until the first record */
	out_text(&o, "one");
	out_u64(&o, UINT64_MAX);
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), 23);
	fd = open(d->file, O_RDONLY);
	out_text(&o, "two");
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(read(fd, text, 3), 3);
	assert_string_equal(text, "one");
	close(fd);
	assert_int_equal(stat(d->file, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(st.st_mode & 07777, 0640); /* its own */
	assert_int_equal(lstat(aside, &st), -1);
	assert_int_equal(unlink(d->file), 0); /* and made again */
	out_text(&o, "three");
	assert_int_equal(out_reopen(&o, &e), 0);
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(file_size(d->file), 5);
	assert_int_equal(out_close(&o, &e), 0);
}

/* By way of a link to it; and what is no file is written to as ever. */
static void test_replace_behind_link(void **state)
{
	struct dir *d = *state;
	struct err e = {0};
	struct stat st;
	struct out o;
	char link[128];

	snprintf(link, sizeof(link), "%s.link", d->file);
	assert_int_equal(symlink(d->file, link), 0);
	assert_int_equal(out_open(&o, link, true, &e), 0);
	assert_int_equal(out_replace(&o, &e), 0);
	out_text(&o, "one");
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(out_close(&o, &e), 0);
	assert_int_equal(file_size(d->file), 3);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink(link), 0);

	assert_int_equal(out_open(&o, "/dev/null", true, &e), 0);
	assert_int_equal(out_replace(&o, &e), 0);
	out_text(&o, "one");
	assert_int_equal(out_flush(&o, &e), 0);
	assert_int_equal(out_close(&o, &e), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

/* No room: the file is the one before, and nothing is left beside it. */
static void test_replace_fails(void **state)
{
	struct dir *d = *state;
	struct err e = {0};
	struct stat st;
	struct out o;
	char aside[128];

	snprintf(aside, sizeof(aside), "%s.tmp", d->file);
	assert_int_equal(out_open(&o, d->file, true, &e), 0);
	assert_int_equal(out_replace(&o, &e), 0);
	put_record(&o, 'a');
	assert_int_equal(out_flush(&o, &e), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	limit_file_size(LIMIT);
	for (int i = 0; i < 5; i++)
		put_record(&o, 'b');
	assert_int_equal(out_flush(&o, &e), -EFBIG);
	assert_non_null(strstr(e.text, d->file));
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(file_size(d->file), RECORD);
	assert_int_equal(stat(aside, &st), -1);
	assert_int_equal(out_close(&o, &e), 0);
}

#define LARGE (8 << 20)

/* Bytes that are in memory, of the pages that lie between the two. */
static size_t resident(const char *from, size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	const char *first = (const char *)(((uintptr_t)from + page - 1) & ~(page - 1));
	unsigned char in[LARGE / 4096];
	size_t pages = (size_t)(from + len - first) / page;

	assert_in_range(pages, 1, sizeof(in));
	assert_int_equal(mincore((void *)first, pages * page, in), 0);
	for (size_t i = 0; i < pages; i++)
		n += in[i] & 1;
	return n * page;
}

/* Its text is not kept in memory until the next one, nor is that one's any other. */
static void test_large_record(void **state)
{
	const struct dir *d = *state;
	struct err e = {0};
	struct out o;

	assert_int_equal(out_open(&o, d->file, false, &e), 0);
	for (int round = 1; round <= 3; round++) {
		while (o.len < LARGE)
			put_record(&o, (char)('a' + round));
		assert_in_range(resident(o.buf, LARGE), LARGE - 8192, LARGE);
		assert_int_equal(out_flush(&o, &e), 0);
		assert_in_range(resident(o.buf, LARGE), 0, 8192);
		assert_in_range(file_size(d->file), round * LARGE, round * (LARGE + RECORD));
	}
	assert_int_equal(out_close(&o, &e), 0);
}

#define BIG (300 * 1000)
#define RECORDS 40

/* One record: `c` all through, and a line break. */
static void put_big(struct out *o, char c)
{
	char *data = malloc(BIG);

	assert_non_null(data);
	memset(data, c, BIG);
	data[BIG - 1] = '\n';
	out_put(o, data, BIG);
	free(data);
}

/* Reads what there is, all of whole records in their order; returns how many ended. */
static size_t read_records(int fd, char *last, size_t *inside)
{
	char buf[4096];
	size_t whole = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (buf[i] == '\n') {
				assert_int_equal(*inside, BIG - 1);
				*inside = 0;
				whole++;
				continue;
			}
			assert_true(*inside ? buf[i] == *last : buf[i] > *last);
			*last = buf[i];
			++*inside;
		}
	return whole;
}

/* A reader that stalls: no write waits, whole records are queued up to a bound, beyond it dropped
 * and counted. */
static void stalls(int reader, int writer)
{
	struct out o = {.fd = writer};
	struct err e = {0};
	size_t whole = 0, inside = 0;
	char last = 0;

	assert_int_equal(out_queues(&o), 0);
	for (int i = 0; i < RECORDS; i++) {
		if (i == RECORDS - 1)
			out_queue_last(&o); /* the final report */
		put_big(&o, (char)('0' + i));
		assert_int_equal(out_flush(&o, &e), 0);
	}
	assert_in_range(out_queued(&o), 4 << 20, (4 << 20) + 2 * BIG);
	assert_in_range(out_dropped(&o), RECORDS - 20, RECORDS - 10);
	assert_false(out_reader_gone(&o));
	assert_int_equal(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	while (out_queued(&o)) {
		whole += read_records(reader, &last, &inside);
		assert_int_equal(out_drain(&o, &e), 0);
	}
	whole += read_records(reader, &last, &inside);
	assert_int_equal(whole, RECORDS - out_dropped(&o));
	assert_int_equal(last, '0' + RECORDS - 1);
	close(reader);
	assert_true(out_reader_gone(&o));
	put_big(&o, 'x');
	assert_int_equal(out_flush(&o, &e), -EPIPE);
	assert_int_equal(out_close(&o, &e), 0);
	close(writer);
}

static void test_stalled_pipe(void **state)
{
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	stalls(fds[0], fds[1]);
}

static void test_stalled_socket(void **state)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	stalls(fds[0], fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_half_record_is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_half_record_on_stdout, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reopen, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reopen_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_content, setup, teardown),
		cmocka_unit_test_setup_teardown(test_owner_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace_behind_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_record, setup, teardown),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_sink_in_memory),
		cmocka_unit_test(test_open_fails),
		cmocka_unit_test(test_full_device),
		cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(test_close_twice),
		cmocka_unit_test(test_stalled_pipe),
		cmocka_unit_test(test_stalled_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
