// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs a program for which bpf(2) fails: as in a kernel without it, or in a sandbox. */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void forbid(int code)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		err(126, "seccomp");
}

int main(int argc, char **argv)
{
	if (argc < 3 || (strcmp(argv[1], "ENOSYS") && strcmp(argv[1], "EPERM"))) {
		fputs("usage: nobpf ENOSYS|EPERM COMMAND [ARG...]\n", stderr);
		return 126;
	}
	forbid(strcmp(argv[1], "EPERM") ? ENOSYS : EPERM);
	execvp(argv[2], argv + 2);
	err(127, "%s", argv[2]);
}
