/* SPDX-License-Identifier: GPL-2.0-or-later */
/* With less than all privileges: what is left works, what is missing is told. */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names/kernel.h"
#include "unit.h"

static void give_up(const int *caps, size_t n)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	size_t i;

	if (syscall(SYS_capget, &head, data))
		_exit(90);
	for (i = 0; i < n; i++)
		data[caps[i] / 32].effective &= ~(1U << caps[i] % 32);
	if (syscall(SYS_capset, &head, data))
		_exit(91);
}

static const int all_we_use[] = {CAP_SYSLOG, CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN};

/* An address that exists without looking: code of the kernel's, if it shows its addresses. */
static uint64_t some_code(void)
{
	unsigned long long addr = 0;
	char line[512], name[128];
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %*c %127s", &addr, name) == 2 && !strcmp(name, "vfs_write"))
			break;
	if (f)
		fclose(f);
	return addr;
}

/* `what` in a child: 0 as it should be. */
static void in_child(int (*what)(uint64_t code))
{
	uint64_t code = some_code();
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(what(code));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct names *opened(void)
{
	struct names_args args = {0};
	struct names *n = NULL;

	if (names_open(&n, &args, NULL))
		_exit(92);
	return n;
}

static int bare(uint64_t code)
{
	struct names *n;
	struct name name;
	const char *why;

	give_up(all_we_use, ROWS(all_we_use));
	n = opened();
	names_kernel_code(n, code, &name);
	if (name.found != NAME_NONE || strncmp(name.text, "0x", 2))
		return 1;
	names_kernel_data(n, 0xffff888000001000, NULL, &name);
	if (name.found != NAME_NONE)
		return 2;
	why = names_why(n);
	if (!strstr(why, "kernel code: addresses are hidden (CAP_SYSLOG"))
		return 3;
	if (!strstr(why, "kernel objects: its memory cannot be read: Operation not permitted"))
		return 4;
	names_close(n);
	return 0;
}

static int prepared(uint64_t code)
{
	struct names *n = opened();
	struct name name;

	names_prepare(n);
	give_up(all_we_use, ROWS(all_we_use));
	names_kernel_code(n, code + 5, &name);
	if (strcmp(name.text, "vfs_write+0x5"))
		return 1;
	names_kernel_data(n, peek_task(&n->kernel->peek), NULL, &name);
	if (strcmp(name.type, "task_struct") || name.found != NAME_MEMBER)
		return 2;
	if (names_why(n)[0])
		return 3;
	names_close(n);
	return 0;
}

static int without_types(uint64_t code)
{
	struct names_args args = {.btf = "/no/such/file"};
	struct names *n = NULL;
	struct name name;

	if (names_open(&n, &args, NULL))
		return 1;
	names_kernel_data(n, 0xffff888000001000, NULL, &name);
	if (name.found != NAME_NONE)
		return 2;
	names_kernel_code(n, code, &name);
	if (strcmp(name.text, "vfs_write+0x0"))
		return 3;
	if (strcmp(names_why(n),
		   "kernel objects: no types of the kernel (No such file or directory)"))
		return 4;
	names_close(n);
	return 0;
}

TEST(without_privileges)
{
	in_child(bare);
}

/* What takes privileges is done before they go. */
TEST(prepared_before)
{
	in_child(prepared);
}

TEST(no_types)
{
	in_child(without_types);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP not root\n");
		return 0;
	}
	return unit_main(NULL, NULL);
}
