/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel half of names: what its files share. Only they include this. */
#ifndef WS_NAMES_KERNEL_H
#define WS_NAMES_KERNEL_H

#include <stdio.h>

#include "names/btf_member.h"
#include "names/btf_view.h"
#include "names/internal.h"
#include "names/kernel_peek.h"
#include "names/kernel_syms.h"
#include "names/wire.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

/* The static per-CPU variables: every possible CPU has a copy of the section. */
struct percpu {
	int state; /* 0: not tried, 1: works, negative */
	uint32_t ncpus;
	uint64_t *bases; /* of the CPU's copy; 0: not known (offline) */
	uint64_t size;
};

struct super {
	uint64_t sb;
	uint64_t sbi;	  /* of ext4; 0: another file system */
	uint64_t journal; /* of that; 0: it has none */
	uint32_t dev;	  /* the kernel's: major << 20 | minor */
	char id[32];	  /* s_id: "sda1" */
	char type[16];	  /* "ext4" */
};

struct supers {
	struct super *v;
	size_t n, cap;
	uint64_t read_at_ns;
};

/* A name of a slab cache and the directory in /sys/kernel/slab that it stands for: caches of like
 * objects are merged, and have several. */
struct slab_alias {
	char name[64];
	char dir[64];
};

struct slabs {
	struct slab_alias *v;
	size_t n, cap;
	uint64_t read_at_ns;
	bool known; /* /sys/kernel/slab could be read */
};

/* Where struct page of a direct-mapped address is: page = origin + (addr >> 12) * 64. */
struct pages {
	int state; /* 0: not tried, 1: known, negative */
	uint64_t tried_ns;
	uint64_t origin;
	uint64_t direct_map; /* page_offset_base; 0: not known */
	bool direct_map_tried;
};

/* The global table of futexes. */
struct futexes {
	uint64_t bucket; /* one of its buckets; 0: not known */
	uint64_t tried_ns;
};

/* Memory nodes (NUMA; one without). */
struct nodes {
	int state; /* 0: not tried, 1: known, negative */
	uint64_t *pgdats;
	size_t n;
};

struct names_kernel {
	char *btf_file; /* --btf, or NULL */
	struct btf_view btf, module_btf;
	int btf_state;	 /* 0: not tried, 1: open, negative */
	char module[56]; /* of module_btf */
	uint64_t module_tried_ns;
	uint64_t btf_used_ns;
	FILE *kallsyms;
	struct ksyms syms;
	uint64_t syms_tried_ns;
	struct peek peek;
	struct percpu percpu;
	struct supers supers;
	struct slabs slabs;
	struct pages pages;
	struct nodes nodes;
	struct futexes futexes;
	char why[512];
};

/* ---- kernel.c ---- */
bool kernel_btf_ready(struct names_kernel *k); /* opens it at the first call */
bool kernel_peek_ready(struct names_kernel *k);
/* The id of a struct and the view that it is in: the kernel's, or that of `module` (NULL: none). 0
 * if there is none. */
uint32_t kernel_struct(struct names_kernel *k, const char *name, const char *module,
		       const struct btf_view **view);
/* Offset of "member.member" in a struct of the kernel itself, or of ext4; -ENOENT. */
int64_t kernel_offset(struct names_kernel *k, const char *type, const char *path);
/* Members whose offsets are wanted together. */
struct kernel_member {
	int64_t *to; /* kernel_offset of it */
	const char *type, *path;
};
/* 0, or -ENOENT if one is not there; the others are set all the same. */
int kernel_offsets(struct names_kernel *k, const struct kernel_member *want, size_t n);
/* Bytes of a struct, as kernel_struct finds it; -ENOENT. */
int64_t kernel_size(struct names_kernel *k, const char *type, const char *module);
/* The word at an offset in an object; 0 without an object, for a negative offset, and where it
 * cannot be read. */
uint64_t kernel_at(struct names_kernel *k, uint64_t object, int64_t offset);
/* Value of an enumerator of the kernel's, -ENOENT. */
int64_t kernel_enum(struct names_kernel *k, const char *type, const char *name);
/* "TYPE.member" or "TYPE+0x18" of an object known to be there. false: the
 * address is not in it, or the type is not known. */
bool kernel_name_in(struct names_kernel *k, uint64_t addr, uint64_t object, const char *type,
		    const char *module, struct name *out);

/* ---- each says whether it knows the address; if so *out is its answer ---- */
bool percpu_name(struct names_kernel *k, uint64_t addr, struct name *out);
bool ext4_name(struct names_kernel *k, uint64_t addr, struct name *out);
bool inode_name(struct names_kernel *k, uint64_t addr, struct name *out);
bool slab_name(struct names_kernel *k, uint64_t addr, const struct kernel_hint *hint,
	       struct name *out);
bool futex_name(struct names_kernel *k, uint64_t addr, struct name *out);
bool node_name(struct names_kernel *k, uint64_t addr, struct name *out);
bool page_name(struct names_kernel *k, uint64_t addr, struct name *out);

/* Whose, of a name that a hint has told. */
void futex_whose(const struct kernel_hint *hint, struct name *out);

/* Of an object of no known type, at `object` and of `bytes`: by the files that who waits has open;
 * by the functions that it waits in, of one from the cache so called. */
bool file_name(struct names_kernel *k, uint64_t addr, uint64_t object, uint32_t bytes,
	       const struct kernel_hint *hint, struct name *out);
bool infer_name(struct names_kernel *k, uint64_t addr, uint64_t object, uint32_t bytes,
		const char *cache, const struct kernel_hint *hint, struct name *out);

/* The cache and the first byte of the slab an address lies in, by its struct page. false: it lies
 * in none, or pages are not to be found here. */
bool pages_known(struct names_kernel *k);
bool page_slab_of(struct names_kernel *k, uint64_t addr, uint64_t *cache, uint64_t *start);
/* The slab object an address lies in; false if it is in none or that is not known. */
bool slab_object(struct names_kernel *k, uint64_t addr, uint64_t *start, uint32_t *bytes);

/* A CPU's copy of what a pointer of the kernel's to per-CPU memory means; 0: not known. */
uint64_t percpu_address(struct names_kernel *k, uint64_t pointer, uint32_t cpu);

/* The function that an address lies in; and is that one that locks? (names.h) */
bool kernel_code_at(struct names_kernel *k, uint64_t ip, struct ksym_at *at);
bool kernel_is_lock_code(struct names_kernel *k, uint64_t ip);
bool ksyms_ready(struct names_kernel *k, bool fresh); /* read; again if `fresh` and old */

void percpu_close(struct percpu *p);
void supers_close(struct supers *s);
void nodes_close(struct nodes *n);
void slabs_close(struct slabs *s);

#endif
