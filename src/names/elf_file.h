/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files that processes have mapped, and their separate debug files. Each is known once, however
 * many processes map it: by device, inode, size and time of change (which stand for its build-id).
 *
 * All bytes are foreign. Files are read, never mapped: truncating a mapped file would kill us. What
 * was read is kept while names are being looked up and given back by elf_files_trim.
 */
#ifndef WS_NAMES_ELF_FILE_H
#define WS_NAMES_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "names/work.h"

struct opener;

#define ELF_FILES_MAX 1024	       /* remembered; more only while processes use them */
#define ELF_FILES_EVER 16384	       /* then also not of these */
#define ELF_FDS_MAX 192		       /* files held open (or a quarter of RLIMIT_NOFILE) */
#define ELF_HANDLES_MAX 4	       /* whose contents are in memory */
#define ELF_KEPT_BYTES (32ULL << 20)   /* of contents, over all but the one in use */
#define ELF_DEBUG_BYTES (192ULL << 20) /* of DWARF, decompressed: beyond that only symbols */
#define ELF_SYMBOL_BYTES (64ULL << 20) /* of a symbol table */

struct elf_segment {
	uint64_t vaddr, offset, filesz, memsz;
};

struct build_id {
	uint8_t bytes[BUILD_ID_MAX];
	size_t len; /* 0: none */
};

/*
 * A variable with a fixed address, and the offset of the DIE that describes it (less than
 * ELF_DEBUG_BYTES). skeleton: the offset of the unit in whose .dwo file the DIE is; 0: the DIE is
 * in the debug file itself.
 */
struct dwarf_place {
	uint64_t addr;
	uint32_t die, skeleton;
};

/* Made when first asked for; variables in functions (`deep`) only if others do not do. */
struct dwarf_index {
	struct dwarf_place *v;
	size_t n, room;
	bool made, deep, partial; /* partial: a limit was met */
};

struct elf_file {
	struct file_id what;
	struct elf_file *next; /* of those with the same hash */
	struct build_id id;
	struct elf_segment *segments; /* PT_LOAD, ascending */
	size_t nsegments;
	uint32_t refs;
	uint64_t used;
	int fd;	     /* -1: given up for others, or not ours to read */
	int root_fd; /* root of another mount namespace, or -1: ours */
	char *path;  /* in that root */
	struct dwarf_index index;
	bool slow;	   /* a look-up in it was not done in time */
	uint64_t spent_ns; /* on look-ups that were not done */
	bool fetching;	   /* its debug file is on its way from a server */
	/* the file system of a .dwo file did not answer: none is opened any more */
	bool splits_hang;
};

struct elf_files;

struct elf_debug;

/* What is in memory of a file while it is looked at; elf_file_look fills it. */
struct elf_look {
	Elf *main, *debug; /* debug: main itself if it has DWARF, else the separate file, or NULL */
	Elf *alt;	   /* what dwz moved out of debug, or NULL */
	bool dwarf;	   /* debug has DWARF, all of it, and no more than ELF_DEBUG_BYTES */
	struct work *work; /* of the look-up, or NULL */
	struct elf_file *file;
	struct elf_debug *finder; /* of files that belong to it */
};

/* opener NULL: no separate debug files; work NULL: no limit of time. Both outlive it. */
int elf_files_open(struct elf_files **out, bool debuginfod, struct opener *opener,
		   struct work *work);
void elf_files_close(struct elf_files *s); /* NULL is fine */

/*
 * Takes fd and root_fd (-1: our own root) in any case. NULL: no ELF file, or out of memory. Give it
 * back with elf_file_put.
 */
struct elf_file *elf_file_get(struct elf_files *s, int fd, int root_fd, const char *path);
void elf_file_put(struct elf_file *f); /* NULL is fine */

/* Reads it: false if it cannot be read any more, or has changed since. Valid until the next look.
 */
bool elf_file_look(struct elf_files *s, struct elf_file *f, struct elf_look *out);
/* What was not looked at since the call before is given back. */
void elf_files_trim(struct elf_files *s);

/* Does a segment of it hold that address? */
bool elf_file_loads(const struct elf_file *f, uint64_t vaddr);

/* ---- its symbols (elf_symbol.c) ---- */

struct elf_symbol {
	const char *name; /* in the Elf's memory: valid as long as the look */
	uint64_t start, size;
};

/*
 * The symbol that vaddr lies in: a variable, or a function if `code`. Of several the one that
 * starts last, then the one linkers prefer. A function without a size reaches to the next.
 */
bool elf_symbol_find(const struct elf_look *look, uint64_t vaddr, bool code,
		     struct elf_symbol *out);
/* The variable of this name, as the file spells it: 0, -ENOENT, or -ENOTUNIQ where several places
 * have it. */
int elf_symbol_named(const struct elf_look *look, const char *name, struct elf_symbol *out);

/* ---- parts, for elf_debug.c and tests ---- */

/* An Elf on fd if the file's headers hold what they say, else NULL; fd stays the caller's. */
Elf *elf_checked(int fd, uint64_t size);
bool elf_build_id(Elf *elf, int fd, struct build_id *out);
/* Bytes of DWARF once decompressed, 0: none. Of a program, a debug file or a .dwo file. */
uint64_t elf_debug_bytes(Elf *elf);
/*
 * In memory, the last byte of sections with strings becomes their end, as it is in any real file:
 * libdw does not see to it that the last string has one.
 */
void elf_end_strings(Elf *elf);
Elf_Scn *elf_section(Elf *elf, const char *name, GElf_Shdr *out);
/*
 * The separate debug file of f: an fd, or -1. -EAGAIN: it is on its way from a server. crcs: what
 * is remembered of files that were looked at for their checksum.
 */
struct crc_done {
	struct file_id file;
	uint32_t crc;
	uint64_t at; /* so far; all: file.size */
};
#define CRCS_KEPT 32

struct elf_debug {
	struct opener *opener;
	struct work *work;
	bool debuginfod;
	struct crc_done crcs[CRCS_KEPT];
	size_t ncrcs; /* ever */
};
int elf_debug_open(struct elf_debug *d, const struct elf_file *f, Elf *main);
/* The file that dwz moved common parts to: 0 none is needed; 1 *fd is it; -1 it is not there. */
int elf_alt_open(struct elf_debug *d, const struct elf_file *f, Elf *debug, int *fd);
/* The .dwo file that a unit names, which was compiled in `dir`: there, or beside the program. An
 * fd, or -1. */
int elf_split_open(struct elf_debug *d, struct elf_file *f, const char *dir, const char *name);
/* Which file the descriptor is of; false: no regular one. */
bool elf_file_id(int fd, struct file_id *out);

#endif
