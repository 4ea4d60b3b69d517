// SPDX-License-Identifier: GPL-2.0-or-later
#include "record_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define READ_BYTES (256U << 10)
#define LINE_MAX_BYTES (1UL << 30)

int record_file_open(struct record_file *f, const char *path, struct err *e)
{
	bool standard = !strcmp(path, "-");
	struct stat st;

	*f = (struct record_file){.name = standard ? "standard input" : path};
	if (!standard && !stat(path, &st) && S_ISDIR(st.st_mode))
		return err_sys(e, -EISDIR, "cannot read '%s'", path);
	errno = 0;
	f->gz = standard ? gzdopen(dup(STDIN_FILENO), "r") : gzopen(path, "re");
	if (!f->gz)
		return err_sys(e, errno ? -errno : -ENOMEM, "cannot read '%s'", f->name);
	(void)gzbuffer(f->gz, READ_BYTES); /* else its default */
	return 0;
}

static int line_room(struct record_file *f)
{
	size_t cap = f->cap ? 2 * f->cap : READ_BYTES;
	char *line;

	if (f->cap - f->len > 1)
		return 0;
	if (cap > LINE_MAX_BYTES)
		return -EFBIG;
	line = realloc(f->line, cap);
	if (!line)
		return -ENOMEM;
	f->line = line;
	f->cap = cap;
	return 0;
}

/* Why reading ended: 0 at the file's end, also where that is within a member. */
static int why_ended(struct record_file *f, struct err *e)
{
	int code = Z_OK;
	const char *words = gzerror(f->gz, &code);

	if (code == Z_ERRNO)
		return err_sys(e, -errno, "cannot read '%s'", f->name);
	if (code == Z_MEM_ERROR)
		return err_sys(e, -ENOMEM, "cannot read '%s'", f->name);
	if (code == Z_DATA_ERROR)
		return err_set(e, EXIT_FAILED, -EINVAL, "%s: damaged: %s", f->name, words);
	f->cut |= code != Z_OK;
	return 0;
}

/* 1: a line; 0: the end, with what comes before it without a newline in line. */
static int read_line(struct record_file *f, struct err *e)
{
	size_t n;
	int ret;

	f->len = 0;
	for (;;) {
		ret = line_room(f);
		if (ret)
			return err_sys(e, ret, "%s: line %llu", f->name,
				       (unsigned long long)f->number + 1);
		f->line[f->len] = '\0';
		if (!gzgets(f->gz, f->line + f->len, (int)(f->cap - f->len)))
			return why_ended(f, e);
		n = strlen(f->line + f->len); /* up to a NUL, which no JSON has */
		f->len += n;
		if (n && f->line[f->len - 1] == '\n')
			break;
		if (f->len + 1 < f->cap && !gzeof(f->gz))
			return err_set(e, EXIT_FAILED, -EINVAL, "%s:%llu: record: a NUL byte",
				       f->name, (unsigned long long)f->number + 1);
	}
	f->line[--f->len] = '\0';
	return 1;
}

int record_file_next(struct record_file *f, struct record *r, struct err *e)
{
	struct err why = {0};
	int ret, whole;

	if (f->cut)
		return 0;
	whole = read_line(f, e);
	if (whole < 0 || (!whole && !f->len))
		return whole;
	f->number++;
	ret = record_read(r, f->line, f->len, &why);
	if (!ret)
		return 1;
	if (!whole && ret != -ENOMEM) {
		f->cut = true; /* half a line is all there is */
		return 0;
	}
	return err_set(e, err_exit(&why), ret, "%s:%llu: %s", f->name,
		       (unsigned long long)f->number, why.text);
}

int record_file_begin(struct record_file *f, struct record *r, struct err *e)
{
	int ret = record_file_next(f, r, e);

	if (ret < 0 || (ret && r->type == RECORD_META))
		return ret < 0 ? ret : 0;
	return err_set(e, EXIT_FAILED, -EINVAL,
		       "%s: no record of waitscope: it does not begin with a meta line (expected "
		       "what -o json:FILE writes)",
		       f->name);
}

int record_file_rewind(struct record_file *f, struct err *e)
{
	if (gzrewind(f->gz))
		return err_set(e, EXIT_USAGE, -ESPIPE,
			       "--last: '%s' cannot be read twice (give a file, no pipe)", f->name);
	f->number = 0;
	f->cut = false;
	return 0;
}

void record_file_close(struct record_file *f)
{
	if (f->gz)
		(void)gzclose_r(f->gz); /* only read */
	free(f->line);
	*f = (struct record_file){0};
}
