// SPDX-License-Identifier: GPL-2.0-or-later
/* What is looked at in an ELF file before libelf may read it, and its sections. */
#include <string.h>
#include <unistd.h>

#include "names/elf_file.h"

#define SECTIONS_MAX (1U << 16)
#define SECTION_NAMES_MAX (4U << 20)
#define PHDRS_MAX 4096
#define NOTES_MAX (1U << 20)

static bool read_at(int fd, void *to, size_t len, uint64_t at)
{
	return at <= INT64_MAX - len && pread(fd, to, len, (off_t)at) == (ssize_t)len;
}

static bool within(uint64_t at, uint64_t len, uint64_t size)
{
	return at <= size && len <= size - at;
}

/*
 * Sections fit the file? libelf allocates by the count before it reads them, and with more than
 * 65279 of them the count is the size of section 0.
 */
static bool sections_fit(Elf *elf, const GElf_Ehdr *eh, int fd, uint64_t size)
{
	bool is64 = eh->e_ident[EI_CLASS] == ELFCLASS64;
	uint64_t each = is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), count = eh->e_shnum;
	size_t n = 0;

	if (!eh->e_shoff)
		return !eh->e_shnum;
	if (eh->e_shentsize != each || !within(eh->e_shoff, each, size))
		return false;
	if (!count) {
		union {
			Elf64_Shdr h64;
			Elf32_Shdr h32;
		} first;

		if (!read_at(fd, &first, each, eh->e_shoff))
			return false;
		count = is64 ? first.h64.sh_size : first.h32.sh_size;
	}
	return count <= SECTIONS_MAX && within(eh->e_shoff, count * each, size) &&
	       !elf_getshdrnum(elf, &n) && n <= count;
}

static bool segments_fit(Elf *elf, const GElf_Ehdr *eh, uint64_t size)
{
	size_t n = 0;

	if (!eh->e_phnum)
		return true;			      /* a debug file need not have them */
	if (elf_getphdrnum(elf, &n) || n > PHDRS_MAX) /* fails without setting n */
		return false;
	return within(eh->e_phoff, n * eh->e_phentsize, size);
}

/* This machine's byte order: what runs here has no other. */
static bool native(const unsigned char *ident)
{
	return !memcmp(ident, ELFMAG, SELFMAG) &&
	       (ident[EI_CLASS] == ELFCLASS64 || ident[EI_CLASS] == ELFCLASS32) &&
	       ident[EI_DATA] ==
		       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

/* The fixed part, before libelf sees the file at all. */
static bool header_fits(int fd, uint64_t size)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr h64;
		Elf32_Ehdr h32;
	} eh = {0};
	bool is64;

	if (!read_at(fd, eh.ident, EI_NIDENT, 0) || !native(eh.ident))
		return false;
	is64 = eh.ident[EI_CLASS] == ELFCLASS64;
	if (!read_at(fd, &eh, is64 ? sizeof(eh.h64) : sizeof(eh.h32), 0))
		return false;
	if (is64 ? eh.h64.e_shoff >= size : eh.h32.e_shoff >= size)
		return false;
	return is64 ? eh.h64.e_phentsize == sizeof(Elf64_Phdr) || !eh.h64.e_phnum
		    : eh.h32.e_phentsize == sizeof(Elf32_Phdr) || !eh.h32.e_phnum;
}

/* The table of sections' names ends with a NUL, or each look at one goes through all of it. */
static bool names_fit(Elf *elf, int fd, uint64_t size)
{
	size_t strings;
	GElf_Shdr sh;
	Elf_Scn *scn;
	char last;

	if (elf_getshdrstrndx(elf, &strings) || !strings)
		return true; /* a file without sections, or without names of them */
	scn = elf_getscn(elf, strings);
	if (!scn || !gelf_getshdr(scn, &sh))
		return false;
	return sh.sh_type == SHT_STRTAB && !(sh.sh_flags & SHF_COMPRESSED) && sh.sh_size &&
	       sh.sh_size <= SECTION_NAMES_MAX && within(sh.sh_offset, sh.sh_size, size) &&
	       read_at(fd, &last, 1, sh.sh_offset + sh.sh_size - 1) && !last;
}

Elf *elf_checked(int fd, uint64_t size)
{
	GElf_Ehdr eh;
	Elf *elf;

	if (!header_fits(fd, size))
		return NULL;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return NULL;
	if (elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	    sections_fit(elf, &eh, fd, size) && segments_fit(elf, &eh, size) &&
	    names_fit(elf, fd, size))
		return elf;
	elf_end(elf);
	return NULL;
}

/* The GNU build-id among notes: name size, size, type, "GNU\0", bytes; each padded to 4. */
static bool find_id(const uint8_t *notes, size_t len, struct build_id *out)
{
	size_t at = 0;

	while (len - at >= 12) {
		uint32_t head[3];
		uint64_t name, desc;

		memcpy(head, notes + at, sizeof(head));
		name = at + 12;
		desc = name + (((uint64_t)head[0] + 3) & ~3ULL);
		if (!within(desc, head[1], len))
			return false;
		if (head[2] == NT_GNU_BUILD_ID && head[0] == 4 && !memcmp(notes + name, "GNU", 4) &&
		    head[1] && head[1] <= BUILD_ID_MAX) {
			memcpy(out->bytes, notes + desc, head[1]);
			out->len = head[1];
			return true;
		}
		at = desc + (((uint64_t)head[1] + 3) & ~3ULL);
		if (at > len)
			return false;
	}
	return false;
}

static bool notes_at(int fd, uint64_t at, uint64_t len, struct build_id *out)
{
	uint8_t notes[4096]; /* a build-id lies at the start; what is longer holds other things */

	if (len > NOTES_MAX)
		return false;
	len = len < sizeof(notes) ? len : sizeof(notes);
	return read_at(fd, notes, len, at) && find_id(notes, len, out);
}

bool elf_build_id(Elf *elf, int fd, struct build_id *out)
{
	Elf_Scn *scn = NULL;
	GElf_Phdr ph;
	GElf_Shdr sh;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_NOTE &&
		    notes_at(fd, ph.p_offset, ph.p_filesz, out))
			return true;
	/* In a debug file the segments' offsets are those of the program it came from. */
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
		    notes_at(fd, sh.sh_offset, sh.sh_size, out))
			return true;
	return false;
}

static const char *section_name(Elf *elf, const GElf_Shdr *sh)
{
	size_t strings;
	const char *name;

	if (elf_getshdrstrndx(elf, &strings))
		return "";
	name = elf_strptr(elf, strings, sh->sh_name);
	return name ? name : "";
}

Elf_Scn *elf_section(Elf *elf, const char *name, GElf_Shdr *out)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, out) && out->sh_type != SHT_NOBITS &&
		    !strcmp(section_name(elf, out), name))
			return scn;
	return NULL;
}

/* What it takes in memory; UINT64_MAX / 4096: do not. */
static uint64_t bytes_of(Elf_Scn *scn, const GElf_Shdr *sh)
{
	const uint64_t refused = UINT64_MAX / 4096;
	GElf_Chdr ch;

	if (sh->sh_size > ELF_DEBUG_BYTES)
		return refused;
	if (!(sh->sh_flags & SHF_COMPRESSED))
		return sh->sh_size;
	if (!gelf_getchdr(scn, &ch) || ch.ch_size > ELF_DEBUG_BYTES)
		return refused;
	return ch.ch_size;
}

uint64_t elf_debug_bytes(Elf *elf)
{
	GElf_Shdr sh;
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;

	if (!elf_section(elf, ".debug_info", &sh) && !elf_section(elf, ".debug_info.dwo", &sh))
		return 0;
	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		if (!strncmp(section_name(elf, &sh), ".debug_", 7))
			sum += bytes_of(scn, &sh) + !sh.sh_size;
		/* GNU's old way of compressing: its sizes stand where we do not look. */
		if (!strncmp(section_name(elf, &sh), ".zdebug_", 8))
			sum += ELF_DEBUG_BYTES;
		if (sum > ELF_DEBUG_BYTES)
			break;
	}
	return sum;
}

void elf_end_strings(Elf *elf)
{
	static const char *const names[] = {
		".debug_str",	  ".debug_line_str", ".debug_info",	 ".debug_types",
		".debug_str.dwo", ".debug_info.dwo", ".debug_types.dwo",
	};
	GElf_Shdr sh;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Elf_Scn *scn = elf_section(elf, names[i], &sh);
		Elf_Data *data;

		if (scn && sh.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
			continue; /* libdw will not read it either */
		data = scn ? elf_getdata(scn, NULL) : NULL;
		if (data && data->d_buf && data->d_size)
			((char *)data->d_buf)[data->d_size - 1] = '\0';
	}
}
