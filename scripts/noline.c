// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * noline OBJECT: takes the line information out of a BPF object, in place. clang writes a record, and
 * its text, for each line of source in each program: 40 % of an object, and as much of the kernel's
 * memory while it is loaded, for nothing but the comments in a verifier's log. Function information and
 * relocations, which libbpf needs, stay.
 */
#include <fcntl.h>
#include <gelf.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The head of .BTF.ext (libbpf's btf_ext_header); offsets are from its end. */
struct head {
	__u16 magic;
	__u8 version, flags;
	__u32 hdr_len;
	__u32 func_off, func_len;
	__u32 line_off, line_len;
	__u32 relo_off, relo_len;
};

static Elf_Data *find(Elf *elf, const char *name)
{
	size_t names;
	Elf_Scn *s = NULL;
	GElf_Shdr h;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((s = elf_nextscn(elf, s)))
		if (gelf_getshdr(s, &h) && !strcmp(elf_strptr(elf, names, h.sh_name), name))
			return elf_getdata(s, NULL);
	return NULL;
}

/* func_info, line_info and relocations follow each other; 0, or -1 where they do not. */
static int cut(Elf_Data *d)
{
	struct head *h = d->d_buf;
	char *info;

	if (d->d_size < sizeof(*h) || h->hdr_len < sizeof(*h) || h->line_off != h->func_off + h->func_len ||
	    h->relo_off != h->line_off + h->line_len || d->d_size != h->hdr_len + h->relo_off + h->relo_len)
		return -1;
	info = (char *)d->d_buf + h->hdr_len;
	memmove(info + h->line_off, info + h->relo_off, h->relo_len);
	d->d_size -= h->line_len;
	h->relo_off = h->line_off;
	h->line_len = 0;
	elf_flagdata(d, ELF_C_SET, ELF_F_DIRTY);
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1, bad, error;
	Elf_Data *d = NULL;
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_RDWR, NULL);
	if (elf)
		d = find(elf, ".BTF.ext");
	bad = !d || cut(d) || elf_update(elf, ELF_C_WRITE) < 0;
	error = elf_errno();
	if (bad)
		fprintf(stderr, "noline: '%s': %s (expected a BPF object with BTF)\n",
			argc > 1 ? argv[1] : "", error ? elf_errmsg(error) : "no .BTF.ext as clang writes it");
	if (elf)
		(void)elf_end(elf);
	if (fd >= 0)
		(void)close(fd);
	return bad;
}
