// SPDX-License-Identifier: GPL-2.0-or-later
/* Attaches every program of a BPF object until a signal or the end of stdin. */
#include <bpf/libbpf.h>
#include <err.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLOCK_HZ 997 /* as waitscope samples */

static void attach(const struct bpf_program *prog)
{
	if (!bpf_program__attach(prog))
		errx(1, "attach %s: %s", bpf_program__name(prog), strerror(errno));
}

static void attach_clock(const struct bpf_program *prog)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.freq = 1,
		.sample_freq = CLOCK_HZ,
	};
	int cpu, fd, n = libbpf_num_possible_cpus();

	for (cpu = 0; cpu < n; cpu++) {
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ENODEV)
			continue; /* offline */
		if (fd < 0 || !bpf_program__attach_perf_event(prog, fd))
			errx(1, "attach %s on CPU %d: %s", bpf_program__name(prog), cpu,
			     strerror(errno));
	}
}

static void attach_all(struct bpf_object *obj)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, obj)
	{
		if (bpf_program__type(prog) == BPF_PROG_TYPE_PERF_EVENT)
			attach_clock(prog);
		else
			attach(prog);
	}
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
