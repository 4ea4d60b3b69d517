// SPDX-License-Identifier: GPL-2.0-or-later
/* A mapped file: headers, symbols, DWARF. Every address asked for is answered or not, in time. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "names/dwarf_var.h"
#include "names/elf_file.h"

static void ask(struct elf_file *f, const struct elf_look *look, uint64_t vaddr)
{
	char text[128] = "", place[64] = "";
	struct dwarf_answer a = {text, sizeof(text), place, sizeof(place), false};
	static struct dwarf_frames frames;
	struct elf_symbol symbol;
	bool has = elf_symbol_find(look, vaddr, false, &symbol);

	if (has)
		MUST(symbol.name[0] && vaddr - symbol.start < symbol.size);
	(void)dwarf_var_find(f, look, vaddr, has ? &symbol : NULL, &a);
	MUST(memchr(text, '\0', sizeof(text)) && memchr(place, '\0', sizeof(place)));
	if (elf_symbol_find(look, vaddr, true, &symbol))
		MUST(symbol.name[0] && vaddr >= symbol.start);
	MUST(dwarf_code_find(look, vaddr, &frames) == (frames.n > 0) &&
	     frames.n <= DWARF_FRAMES_MAX);
	for (size_t i = 0; i < frames.n; i++) {
		MUST(!frames.v[i].name[0] == (i == frames.n - 1));
		MUST(memchr(frames.v[i].name, '\0', sizeof(frames.v[i].name)) &&
		     memchr(frames.v[i].place, '\0', sizeof(frames.v[i].place)));
	}
}

static void ask_segments(struct elf_file *f, const struct elf_look *look)
{
	for (size_t i = 0; i < f->nsegments && i < 8; i++) {
		const struct elf_segment *s = &f->segments[i];

		for (unsigned int k = 0; k < 8; k++)
			ask(f, look, s->vaddr + s->memsz / 8 * k);
		ask(f, look, s->vaddr + s->memsz - 1);
	}
	/* Where symbols and variables are. */
	for (size_t i = 0; i < f->index.n && i < 16; i++)
		ask(f, look, f->index.v[i].addr + i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_files *files;
	struct elf_file *f;
	struct elf_look look;

	MUST(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	MUST(!elf_files_open(&files, false, NULL, NULL));
	f = elf_file_get(files, fd, -1, "/fuzz");
	if (f) {
		MUST(f->nsegments && f->refs == 1);
		if (elf_file_look(files, f, &look))
			ask_segments(f, &look);
		elf_file_put(f);
	}
	elf_files_close(files);
	return 0;
}
