// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps FILES files of ELF, each another and with nothing in it, as code; then it waits on futexes,
 * from time to time on one of a new mapping.
 *
 *	manyfiles FILES
 *
 *	stdout: {"pid":P}	then it waits until standard input ends
 */
#include "load.h"

#include <elf.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>

#define PAGE 4096
#define SAME 500 /* waits on one word */
#define WAIT_NS 2000000

static void map_file(void)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segment;
	} elf = {
		.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(Elf64_Ehdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 1,
			 .e_shentsize = sizeof(Elf64_Shdr)},
		.segment = {.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_filesz = PAGE,
			    .p_memsz = PAGE},
	};
	int fd = memfd_create("manyfiles", MFD_CLOEXEC);

	if (fd < 0 || write(fd, &elf, sizeof(elf)) != (ssize_t)sizeof(elf) || ftruncate(fd, PAGE))
		err(1, "file");
	if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		err(1, "mmap");
	close(fd);
}

int main(int argc, char **argv)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	struct timespec little = {0, WAIT_NS};
	uint32_t *word = NULL;
	unsigned long n;

	if (argc != 2)
		errx(2, "usage: manyfiles FILES");
	n = load_number(argv[1], 1, 60000, "FILES");
	for (unsigned long i = 0; i < n; i++)
		map_file();
	printf("{\"pid\":%d}\n", getpid());
	fflush(stdout);
	for (unsigned long i = 0; poll(&in, 1, 0) == 0; i++) {
		if (i % SAME == 0)
			word = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);
		if (word == MAP_FAILED)
			err(1, "mmap");
		syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &little, NULL, 0);
	}
	return 0;
}
