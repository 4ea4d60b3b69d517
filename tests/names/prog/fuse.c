// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A file system that stops answering: DIR gets one file, `program`, which is FILE.
 *
 *	fuse DIR FILE
 *
 * Prints "ready" and answers until a byte comes on standard input. From then on requests are taken
 * and not answered, so that whoever waits cannot even be killed. The end of standard input, or its
 * own in whatever way, ends the file system. Exit status 77: there can be none here, stderr says
 * why.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOT 1
#define PROGRAM 2
#define NONE 77
#define MAX_WRITE 4096
#define HOUR 3600

struct fuse {
	int dev, file;
	uint64_t size;
	char in[FUSE_MIN_READ_BUFFER + MAX_WRITE];
	char data[1 << 20];
};

static void reply(struct fuse *f, int error, const void *data, size_t len)
{
	const struct fuse_in_header *in = (const void *)f->in;
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len), .error = -error, .unique = in->unique};
	struct iovec v[2] = {{&out, sizeof(out)}, {(void *)data, len}};

	if (writev(f->dev, v, len ? 2 : 1) < 0 && errno != ENOENT) /* who asked has gone */
		err(1, "reply to %u", in->opcode);
}

/* Times are over at once: each stat asks. */
static struct fuse_attr attr(const struct fuse *f, uint64_t node)
{
	struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = 4096};

	a.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0755;
	a.size = node == ROOT ? 0 : f->size;
	return a;
}

static void do_init(struct fuse *f, const struct fuse_init_in *in)
{
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
				    .minor = 31,
				    .max_readahead = in->max_readahead,
				    .max_background = 16,
				    .congestion_threshold = 12,
				    .max_write = MAX_WRITE,
				    .time_gran = 1};

	if (in->minor < out.minor)
		out.minor = in->minor;
	reply(f, 0, &out, sizeof(out));
}

static void do_lookup(struct fuse *f, const char *name)
{
	struct fuse_entry_out out = {
		.nodeid = PROGRAM, .entry_valid = HOUR, .attr = attr(f, PROGRAM)};

	if (strcmp(name, "program"))
		reply(f, ENOENT, NULL, 0);
	else
		reply(f, 0, &out, sizeof(out));
}

static void do_read(struct fuse *f, const struct fuse_read_in *in)
{
	size_t want = in->size < sizeof(f->data) ? in->size : sizeof(f->data);
	ssize_t n = pread(f->file, f->data, want, (off_t)in->offset);

	reply(f, n < 0 ? errno : 0, f->data, n < 0 ? 0 : (size_t)n);
}

static void answer(struct fuse *f)
{
	const struct fuse_in_header *in = (const void *)f->in;
	const void *args = in + 1;
	struct fuse_attr_out attrs = {.attr = attr(f, in->nodeid)};
	struct fuse_open_out opened = {.open_flags = FOPEN_KEEP_CACHE};

	switch (in->opcode) {
	case FUSE_INIT:
		do_init(f, args);
		break;
	case FUSE_LOOKUP:
		do_lookup(f, args);
		break;
	case FUSE_GETATTR:
		reply(f, 0, &attrs, sizeof(attrs));
		break;
	case FUSE_OPEN:
		reply(f, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		do_read(f, args);
		break;
	case FUSE_RELEASE:
		reply(f, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(f, ENOSYS, NULL, 0);
	}
}

/* False: the file system has ended. */
static bool take(struct fuse *f, bool answers)
{
	ssize_t n = read(f->dev, f->in, sizeof(f->in));

	if (n < 0)
		return errno == EINTR || errno == ENOENT || errno == EAGAIN;
	if (answers && (size_t)n >= sizeof(struct fuse_in_header))
		answer(f);
	return true;
}

static void mount_at(struct fuse *f, const char *dir)
{
	char options[128];

	f->dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (f->dev < 0) {
		warn("/dev/fuse");
		_exit(NONE);
	}
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", f->dev); /* fits */
	if (mount("waitscope-test", dir, "fuse", MS_NOSUID | MS_NODEV, options)) {
		warn("mount");
		_exit(NONE);
	}
}

int main(int argc, char **argv)
{
	static struct fuse f;
	struct stat st;
	bool answers = true, goes_on = true;
	char byte;

	if (argc != 3)
		errx(2, "usage: fuse DIR FILE");
	f.file = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (f.file < 0 || fstat(f.file, &st))
		err(1, "%s", argv[2]);
	f.size = (uint64_t)st.st_size;
	mount_at(&f, argv[1]);
	puts("ready");
	fflush(stdout);
	while (goes_on) {
		struct pollfd p[2] = {{.fd = f.dev, .events = POLLIN},
				      {.fd = STDIN_FILENO, .events = POLLIN}};

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents)
			goes_on = take(&f, answers);
		if (p[1].revents && read(STDIN_FILENO, &byte, 1) <= 0)
			break;
		if (p[1].revents) {
			answers = false;
			puts("silent");
			fflush(stdout);
		}
	}
	/* Taken away first: it must not stay if we are ended now. Then whoever waits is told so. */
	if (umount2(argv[1], MNT_DETACH))
		warn("umount '%s'", argv[1]);
	close(f.dev);
	return 0;
}
