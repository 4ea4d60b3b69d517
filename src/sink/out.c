// SPDX-License-Identifier: GPL-2.0-or-later
#include "sink/out.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define GZIP_BITS (15 + 16) /* the largest window, and gzip's header */
#define SOON_BYTES (1U << 20)
#define GIVE_BACK_BYTES (1U << 20)
#define QUEUE_BYTES (4U << 20) /* with as many queued, whole records are dropped */

struct out_gzip {
	z_stream z;
	char *buf; /* the member */
	size_t cap;
};

/* What a reader has not taken yet. */
struct out_queue {
	int fd;	     /* of ours alone, and non-blocking; or the output's own */
	bool own_fd; /* the former */
	bool socket;
	bool last; /* no record is dropped any more */
	char *buf;
	size_t at, end, cap; /* buf[at..end) is queued */
	uint64_t dropped;
};

static const char *out_name(const struct out *o)
{
	return o->path ? o->path : o->memory ? "memory" : "standard output";
}

/* Never waits: a FIFO that nobody reads is an error. What is in the file stays there for now. */
static int out_open_path(const struct out *o, struct err *e)
{
	int fd = open(o->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		      o->owner_only ? 0600 : 0666);
	struct stat st;
	int flags, ret;

	if (fd < 0 && errno == ENXIO && !stat(o->path, &st) && S_ISFIFO(st.st_mode))
		return err_set(e, EXIT_FAILED, -ENXIO,
			       "cannot open output file '%s': a FIFO that nobody reads (start its "
			       "reader first)",
			       o->path);
	if (fd < 0)
		return err_sys(e, -errno, "cannot open output file '%s'", o->path);
	flags = fcntl(fd, F_GETFL);
	if (flags >= 0 && !fcntl(fd, F_SETFL, flags & ~O_NONBLOCK)) /* writes do wait */
		return fd;
	ret = err_sys(e, -errno, "output file '%s'", o->path);
	close(fd);
	return ret;
}

static int out_gzip_begin(struct out *o)
{
	size_t len = strlen(o->path);

	if (len < 3 || strcmp(o->path + len - 3, ".gz"))
		return 0;
	o->gzip = calloc(1, sizeof(*o->gzip));
	if (!o->gzip)
		return -ENOMEM;
	if (deflateInit2(&o->gzip->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS, 8,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	free(o->gzip);
	o->gzip = NULL;
	return -ENOMEM;
}

/* The record as a member of its own: *data and *len. */
static int out_gzip_member(struct out *o, const char **data, size_t *len)
{
	struct out_gzip *g = o->gzip;
	size_t need = deflateBound(&g->z, o->len);
	char *buf;

	if (o->len > UINT32_MAX || need > UINT32_MAX)
		return -EFBIG;
	if (need > g->cap) {
		buf = realloc(g->buf, need);
		if (!buf)
			return -ENOMEM;
		g->buf = buf;
		g->cap = need;
	}
	(void)deflateReset(&g->z); /* of a stream that was begun: cannot fail */
	g->z.next_in = (Bytef *)o->buf;
	g->z.avail_in = (uInt)o->len;
	g->z.next_out = (Bytef *)g->buf;
	g->z.avail_out = (uInt)need;
	if (deflate(&g->z, Z_FINISH) != Z_STREAM_END)
		return -EIO;
	*data = g->buf;
	*len = need - g->z.avail_out;
	return 0;
}

int out_open(struct out *o, const char *path, bool owner_only, struct err *e)
{
	int fd, flags;

	*o = (struct out){.fd = -1, .owner_only = owner_only};
	if (!path) {
		/* Was closed when we were started (main puts something unwritable there), or is a
		 * file to read. */
		flags = fcntl(STDOUT_FILENO, F_GETFL);
		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
			return err_set(e, EXIT_FAILED, -EBADF,
				       "standard output is closed: nothing can be written there "
				       "(--output FORMAT:FILE writes to a file)");
		o->fd = STDOUT_FILENO;
		return 0;
	}
	o->path = strdup(path);
	if (!o->path || out_gzip_begin(o))
		return err_sys(e, -ENOMEM, "output file '%s'", path);
	fd = out_open_path(o, e);
	if (fd < 0)
		return fd;
	o->fd = fd;
	o->owned = true;
	o->old_content = true;
	return 0;
}

void out_open_memory(struct out *o)
{
	*o = (struct out){.fd = -1, .memory = true};
}

const char *out_whole(struct out *o, size_t *len)
{
	*len = o->whole;
	o->len = o->whole = 0;
	return o->buf;
}

/* ---- readers that stall ---- */

/*
 * A pipe or terminal that we share (stdout) is opened anew: the flag O_NONBLOCK of the one that we
 * were given would be COMMAND's and the shell's, too. Where that is refused, writes of a page each
 * do: a pipe that poll calls writable has room for one.
 */
static void queue_open(struct out *o, const struct stat *st)
{
	struct out_queue *q = o->queue;
	char path[32];
	int flags;

	q->fd = o->fd;
	q->socket = S_ISSOCK(st->st_mode);
	if (q->socket)
		return;
	if (o->owned) {
		flags = fcntl(o->fd, F_GETFL);
		if (flags >= 0)
			(void)fcntl(o->fd, F_SETFL, flags | O_NONBLOCK); /* else as below */
		return;
	}
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd); /* fits */
	q->fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	q->own_fd = q->fd >= 0;
	if (!q->own_fd)
		q->fd = o->fd;
}

int out_queues(struct out *o)
{
	struct stat st;

	if (o->fd < 0 || o->memory || fstat(o->fd, &st) ||
	    !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(o->fd)))
		return 0;
	o->queue = calloc(1, sizeof(*o->queue));
	if (!o->queue)
		return -ENOMEM;
	queue_open(o, &st);
	return 0;
}

static void queue_close(struct out *o)
{
	if (!o->queue)
		return;
	if (o->queue->own_fd)
		close(o->queue->fd);
	free(o->queue->buf);
	free(o->queue);
	o->queue = NULL;
}

size_t out_queued(const struct out *o)
{
	return o->queue ? o->queue->end - o->queue->at : 0;
}

int out_queue_fd(const struct out *o)
{
	return o->queue ? o->queue->fd : -1;
}

void out_queue_last(struct out *o)
{
	if (o->queue)
		o->queue->last = true;
}

uint64_t out_dropped(const struct out *o)
{
	return o->queue ? o->queue->dropped : 0;
}

bool out_reader_gone(const struct out *o)
{
	struct pollfd p = {.fd = out_queue_fd(o)};

	return p.fd >= 0 && poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

bool out_same_file(const struct out *a, const struct out *b)
{
	struct stat x, y;

	return a->fd >= 0 && b->fd >= 0 && !fstat(a->fd, &x) && !fstat(b->fd, &y) &&
	       (S_ISREG(x.st_mode) || S_ISFIFO(x.st_mode)) && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* As write(2), of what the reader takes now: -EAGAIN if that is nothing. */
static ssize_t write_now(const struct out_queue *q, const char *data, size_t len)
{
	struct pollfd room = {.fd = q->fd, .events = POLLOUT};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	ssize_t n;

	if (q->socket) {
		n = send(q->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else {
		if (!(fcntl(q->fd, F_GETFL) & O_NONBLOCK)) {
			if (poll(&room, 1, 0) <= 0)
				return -EAGAIN;
			len = len < page ? len : page;
		}
		n = write(q->fd, data, len);
	}
	return n < 0 ? -errno : n;
}

/* Writes what the reader takes now; *done says how much. 0 or negative errno. */
static int write_some(const struct out_queue *q, const char *data, size_t len, size_t *done)
{
	ssize_t n;

	*done = 0;
	while (*done < len) {
		n = write_now(q, data + *done, len - *done);
		if (n == -EAGAIN)
			return 0;
		if (n < 0 && n != -EINTR)
			return (int)n;
		if (n > 0)
			*done += (size_t)n;
	}
	return 0;
}

static int queue_add(struct out_queue *q, const char *data, size_t len)
{
	size_t cap = q->cap ? q->cap : 65536;
	char *buf;

	if (q->at) {
		memmove(q->buf, q->buf + q->at, q->end - q->at);
		q->end -= q->at;
		q->at = 0;
	}
	while (cap - q->end < len)
		cap *= 2;
	buf = cap == q->cap ? q->buf : realloc(q->buf, cap);
	if (!buf)
		return -ENOMEM;
	q->buf = buf;
	q->cap = cap;
	memcpy(q->buf + q->end, data, len);
	q->end += len;
	return 0;
}

static int queue_drain(struct out_queue *q)
{
	size_t done;
	int ret = write_some(q, q->buf + q->at, q->end - q->at, &done);

	q->at += done;
	if (q->at == q->end) {
		free(q->buf);
		q->buf = NULL;
		q->at = q->end = q->cap = 0;
	}
	return ret;
}

/* A record is written, or queued, as a whole; or not at all, if too much is queued. */
static int queue_send(struct out_queue *q, const char *data, size_t len)
{
	size_t done = 0;
	int ret = q->end ? queue_drain(q) : 0;

	if (ret)
		return ret;
	if (!q->end)
		ret = write_some(q, data, len, &done);
	if (ret || done == len)
		return ret;
	if (!done && !q->last && q->end - q->at >= QUEUE_BYTES) {
		q->dropped++;
		return 0;
	}
	return queue_add(q, data + done, len - done);
}

static int write_failed(const struct out *o, int ret, struct err *e)
{
	if (!ret || ret == -EPIPE)
		return ret;
	if (!o->path)
		return err_sys(e, ret, "cannot write to standard output");
	return err_sys(e, ret, "cannot write to output file '%s'", o->path);
}

int out_drain(struct out *o, struct err *e)
{
	return o->queue && o->queue->end ? write_failed(o, queue_drain(o->queue), e) : 0;
}

static int out_close_fd(struct out *o, struct err *e)
{
	int fd = o->fd;

	o->fd = -1;
	if (fd < 0 || !o->owned)
		return 0;
	if (close(fd))
		return err_sys(e, -errno, "cannot finish output file '%s'", out_name(o));
	return 0;
}

#define ASIDE ".tmp"

/* Made by us just now, for us alone: whoever else may write in that directory has not. */
static int open_aside(const struct out *o)
{
	int fd;

	if (unlink(o->aside) && errno != ENOENT)
		return -errno;
	fd = open(o->aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

int out_replace(struct out *o, struct err *e)
{
	struct stat st;
	char *real;
	int fd;

	if (fstat(o->fd, &st))
		return err_sys(e, -errno, "output file '%s'", o->path);
	if (!S_ISREG(st.st_mode))
		return 0;
	real = realpath(o->path, NULL); /* not a link to it */
	if (!real)
		return errno == ENOENT ? 0 : err_sys(e, -errno, "output file '%s'", o->path);
	if (asprintf(&o->aside, "%s" ASIDE, real) < 0)
		o->aside = NULL;
	free(real);
	if (!o->aside)
		return err_sys(e, -ENOMEM, "output file '%s'", o->path);
	fd = open_aside(o);
	if (fd < 0)
		return err_sys(e, fd, "cannot write beside output file '%s'", o->path);
	close(fd);
	(void)unlink(o->aside); /* it was to see whether we may */
	return 0;
}

int out_reopen(struct out *o, struct err *e)
{
	int fd, ret;

	if (!o->owned || o->aside)
		return 0;
	ret = out_flush(o, e); /* what waits belongs to the old one */
	if (ret)
		return ret;
	fd = out_open_path(o, e); /* before that: if it fails the old one still works */
	if (fd < 0)
		return fd;
	ret = out_close_fd(o, e);
	o->fd = fd;
	if (ret || !o->queue)
		return ret;
	queue_close(o); /* what is queued goes with the old one */
	return out_queues(o) ? err_sys(e, -ENOMEM, "output file '%s'", o->path) : 0;
}

bool out_is_empty_file(const struct out *o)
{
	struct stat st;

	return !fstat(o->fd, &st) && S_ISREG(st.st_mode) && st.st_size == 0;
}

static int out_grow(struct out *o, size_t more)
{
	size_t cap = o->cap ? o->cap : 4096;
	char *buf;

	while (cap - o->len <= more) {
		if (cap > SIZE_MAX / 2)
			return -ENOMEM;
		cap *= 2;
	}
	if (cap == o->cap)
		return 0;
	buf = realloc(o->buf, cap);
	if (!buf)
		return -ENOMEM;
	o->buf = buf;
	o->cap = cap;
	return 0;
}

void out_put(struct out *o, const char *data, size_t len)
{
	if (!o->error)
		o->error = out_grow(o, len);
	if (o->error)
		return;
	memcpy(o->buf + o->len, data, len);
	o->len += len;
}

void out_text(struct out *o, const char *text)
{
	out_put(o, text, strlen(text));
}

void out_quoted(struct out *o, const char *text)
{
	size_t n;

	out_text(o, "\"");
	for (; *text; text += n + 1) {
		n = strcspn(text, "\\\"\n");
		out_put(o, text, n);
		if (!text[n])
			break;
		out_text(o, text[n] == '\n' ? "\\n" : text[n] == '"' ? "\\\"" : "\\\\");
	}
	out_text(o, "\"");
}

void out_html(struct out *o, const char *text, size_t len)
{
	static const char special[] = {'&', '<', '>', '"', '\''};
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};

	for (const char *end = text + len; text < end; text++) {
		const char *at = memchr(special, *text, sizeof(special));

		if (at)
			out_text(o, entities[at - special]);
		else
			out_put(o, text, 1);
	}
}

void out_u64(struct out *o, uint64_t v)
{
	char text[20], *s = text + sizeof(text);

	do
		*--s = (char)('0' + v % 10);
	while (v /= 10);
	out_put(o, s, (size_t)(text + sizeof(text) - s));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 && !o->error)
		o->error = -errno;
	if (!o->error)
		o->error = out_grow(o, (size_t)n);
	if (!o->error) {
		(void)vsnprintf(o->buf + o->len, (size_t)n + 1, fmt,
				again); /* fits: just measured */
		o->len += (size_t)n;
	}
	va_end(again);
}

/* Megabytes of text for some milliseconds a second, if there are thousands of groups: its pages go
 * back to the kernel. Not by free(), which would keep them from the second time on. */
static void out_give_back(struct out *o)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, end = (uintptr_t)o->buf + o->cap;
	uintptr_t first = ((uintptr_t)o->buf + mask) & ~mask;

	if (o->len >= GIVE_BACK_BYTES && !o->memory) /* if it fails they stay */
		(void)madvise((void *)first, (end - first) & ~mask, MADV_DONTNEED);
}

void out_drop(struct out *o)
{
	out_give_back(o);
	o->len = o->whole;
	o->error = 0;
}

/* write(2) until all is out; *done says how far it got. */
static int out_write_all(int fd, const char *data, size_t len, size_t *done)
{
	struct pollfd wait = {.fd = fd, .events = POLLOUT};
	ssize_t n;

	*done = 0;
	while (*done < len) {
		n = write(fd, data + *done, len - *done);
		if (n > 0)
			*done += (size_t)n;
		else if (n == 0)
			return -EIO;
		else if (errno == EAGAIN)	  /* somebody made our stdout non-blocking */
			(void)poll(&wait, 1, -1); /* write reports what is wrong */
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Where the next write lands in a regular file; -1: not a regular file. */
static off_t out_position(int fd)
{
	struct stat st;
	int flags;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -1;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -1;
	return flags & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
}

/* Take half a record away again, unless somebody else has written after it. */
static void out_cut_back(int fd, off_t start, size_t done)
{
	struct stat st;

	if (start < 0 || !done || fstat(fd, &st) || st.st_size != start + (off_t)done)
		return;
	/* Nothing more can be done if these fail; the write's own error is reported. */
	if (!ftruncate(fd, start))
		(void)lseek(fd, start, SEEK_SET);
}

/* Before the first record: what an earlier run left in a regular file. */
static int out_empty(struct out *o)
{
	struct stat st;

	o->old_content = false;
	if (fstat(o->fd, &st))
		return -errno;
	return S_ISREG(st.st_mode) && st.st_size && ftruncate(o->fd, 0) ? -errno : 0;
}

/* The record into a file of its own, which takes the other's place. */
static int out_write_aside(struct out *o, const char *data, size_t len)
{
	char *real = strndup(o->aside, strlen(o->aside) - strlen(ASIDE));
	int fd = open_aside(o), ret = !real ? -ENOMEM : fd < 0 ? fd : 0;
	struct stat st;
	size_t done;

	if (!ret && fstat(o->fd, &st))
		ret = -errno;
	if (!ret)
		ret = out_write_all(fd, data, len, &done);
	if (!ret && fchown(fd, st.st_uid, st.st_gid) && errno != EPERM)
		ret = -errno;
	if (!ret && fchmod(fd, st.st_mode & 07777))
		ret = -errno;
	if (!ret && rename(o->aside, real))
		ret = -errno;
	if (ret) {
		if (fd >= 0)
			close(fd);
		(void)unlink(o->aside); /* if it is there */
	} else {
		close(o->fd);
		o->fd = fd;
	}
	free(real);
	return ret;
}

int out_flush_soon(struct out *o, struct err *e)
{
	return o->gzip && !o->error && o->len < SOON_BYTES ? 0 : out_flush(o, e);
}

int out_flush(struct out *o, struct err *e)
{
	const char *data = o->buf;
	size_t len = o->len, done;
	int ret = o->error;
	off_t start;

	if (!ret && o->gzip && len)
		ret = out_gzip_member(o, &data, &len);
	if (ret) {
		out_drop(o);
		return err_sys(e, ret, "output to %s", out_name(o));
	}
	if (o->memory)
		o->whole = o->len;
	if (!o->len || o->memory)
		return 0;
	if (o->aside) {
		ret = out_write_aside(o, data, len);
		out_drop(o);
		return ret ? err_sys(e, ret, "cannot replace output file '%s'", o->path) : 0;
	}
	ret = o->old_content ? out_empty(o) : 0;
	if (ret) {
		out_drop(o);
		return err_sys(e, ret, "cannot empty output file '%s'", out_name(o));
	}
	if (o->queue) {
		ret = queue_send(o->queue, data, len);
		out_drop(o);
		return write_failed(o, ret, e);
	}
	start = out_position(o->fd);
	ret = out_write_all(o->fd, data, len, &done);
	out_drop(o);
	if (ret && ret != -EPIPE)
		out_cut_back(o->fd, start, done);
	return write_failed(o, ret, e);
}

int out_close(struct out *o, struct err *e)
{
	int ret = o->gzip ? out_flush(o, e) : 0; /* what waits */
	int closed;

	queue_close(o);
	closed = out_close_fd(o, e);
	if (o->gzip) {
		(void)deflateEnd(&o->gzip->z); /* tells only that a member was not finished */
		free(o->gzip->buf);
	}
	free(o->gzip);
	free(o->path);
	free(o->aside);
	free(o->buf);
	*o = (struct out){.fd = -1};
	return ret ? ret : closed;
}
