// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches every program of a BPF object until a signal or the end of stdin. */
#include <bpf/libbpf.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void attach_all(struct bpf_object *obj)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj) if (!bpf_program__attach(prog))
		errx(1, "attach %s: %s", bpf_program__name(prog), strerror(errno));
}

int main(int argc, char **argv)
{
	struct bpf_object *obj;
	char c;

	if (argc != 2) {
		fputs("usage: attach OBJECT\n", stderr);
		return 2;
	}
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj || bpf_object__load(obj))
		errx(1, "%s: %s", argv[1], strerror(errno));
	attach_all(obj);
	while (read(STDIN_FILENO, &c, 1) < 0 && errno == EINTR)
		;
	bpf_object__close(obj); /* the links go with the process */
	return 0;
}
