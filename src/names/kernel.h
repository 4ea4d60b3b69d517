/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel half of names: what its files share. Only they include this. */
#ifndef WS_NAMES_KERNEL_H
#define WS_NAMES_KERNEL_H

#include <stdio.h>

#include "names/btf_view.h"
#include "names/internal.h"
#include "names/wire.h"

/* ---- kernel memory, through programs that are loaded but never attached (names.bpf.c) ---- */

struct names_bpf;

struct peek {
	struct names_bpf *skel;
	int state;  /* 0: not tried; 1: works; negative: why it does not */
	bool slabs; /* the kernel can tell a slab cache by address (6.13) */
};

/* Loads the programs at the first call, which takes CAP_BPF and CAP_PERFMON; later ones tell again
 * what came of it. `slabs`: the kernel's BTF has bpf_get_kmem_cache. 0 or negative errno. */
int peek_open(struct peek *p, const char *btf_file, bool slabs);
void peek_close(struct peek *p);

/* 0; -EFAULT: nothing there; others: cannot read at all. `len` may be anything. */
int peek_read(struct peek *p, uint64_t addr, void *buf, size_t len);
/* Page by page, zeroes where nothing is: what lies beside an object may not be mapped. */
void peek_window(struct peek *p, uint64_t from, uint8_t *bytes, size_t len);
/* 0 where it cannot be read: for pointers, which are then no use either. */
uint64_t peek_u64(struct peek *p, uint64_t addr);
uint32_t peek_u32(struct peek *p, uint64_t addr);
/* Through a pointer to a string. Empty if unreadable, always ended. */
void peek_text(struct peek *p, uint64_t addr, char *buf, size_t len);

/* The run queue of a CPU, by who runs there; 0 if it cannot be told. */
uint64_t peek_rq(struct peek *p, uint32_t cpu);
uint64_t peek_task(struct peek *p); /* our own task_struct, or 0 */
/* The kmem_cache of an object's address, or 0. */
uint64_t peek_cache(struct peek *p, uint64_t addr);

/* ---- its symbols, from /proc/kallsyms ---- */

/* One line: "ffffffffc00010f0 t ext4_da_write_begin\t[ext4]" */
struct ksym_line {
	uint64_t addr;
	char type;
	char name[192]; /* KSYM_NAME_LEN is 512 since 6.1; longer ones are cut (Rust's) */
	char module[64];
};

/* 0, or -EINVAL with words that quote the line. */
int ksym_line_parse(const char *line, struct ksym_line *out, struct err *e);

struct __attribute__((packed)) ksym { /* there are 65,000: 12 bytes each, not 16 */
	uint64_t addr;
	uint32_t name; /* offset in names; highest bit: data; 0: neither code nor data to write */
};

struct ksyms {
	struct ksym *v;
	size_t n, cap;
	char *names; /* "vmap_pages", 0, or with its module: "ext4_map_blocks", 1, "ext4", 0 */
	size_t names_len, names_cap;
	bool hidden;	     /* all addresses are 0: no CAP_SYSLOG, or kptr_restrict */
	bool data;	     /* has the data symbols too (CONFIG_KALLSYMS_ALL) */
	uint64_t etext, end; /* of the image; 0: not told */
};

int ksyms_read(struct ksyms *s, FILE *f); /* replaces; 0, -ENOMEM, -EIO */
void ksyms_free(struct ksyms *s);

struct ksym_at {
	const char *name; /* of name_len; the module's lies behind */
	int name_len;
	const char *module; /* "" for the kernel itself */
	uint64_t start;
	uint64_t end; /* the next symbol's start */
};
/* The code or data symbol an address lies in; false if none does. Data never without
 * CONFIG_KALLSYMS_ALL: the few data symbols there are then mark whole sections. */
bool ksyms_find(const struct ksyms *s, uint64_t addr, bool data, struct ksym_at *out);
/* The address of a symbol of the kernel itself, 0 if there is none. */
uint64_t ksyms_addr(const struct ksyms *s, const char *name);

/* ---- what is remembered ---- */

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
};

/* Where struct page of a direct-mapped address is: page = origin + (addr >> 12) * 64. */
struct pages {
	int state; /* 0: not tried, 1: known, negative */
	uint64_t tried_ns;
	uint64_t origin;
	uint64_t direct_map; /* page_offset_base; 0: not known */
	bool direct_map_tried;
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
bool page_name(struct names_kernel *k, uint64_t addr, struct name *out);

/* The place becomes "of COMM, pid N": the process that the kernel calls the owner of this mm_struct
 * (CONFIG_MEMCG). */
void kernel_say_owner(struct names_kernel *k, uint64_t mm, struct name *out);

/*
 * The lock at `addr` lies in an object of no known type, which begins at `object`, has so many
 * bytes and is of the slab cache so called. The functions in which its waiter stood tell the type:
 * "pipe_inode_info.mutex?".
 */
bool infer_name(struct names_kernel *k, uint64_t addr, uint64_t object, uint32_t bytes,
		const char *cache, const struct kernel_hint *hint, struct name *out);
/* A lock at that offset in the kernel's image, by the function that takes it: "jiffies_lock?". */
bool infer_global(struct names_kernel *k, uint64_t offset, const struct kernel_hint *hint,
		  struct name *out);
/* A lock in memory whose type is not known, by the function that takes it:
 * "futex_hash_bucket.lock?". */
bool infer_elsewhere(struct names_kernel *k, const struct kernel_hint *hint, struct name *out);

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
void slabs_close(struct slabs *s);

/* ---- what the objects of a slab cache are, by its name (slab.c) ---- */

enum slab_content {
	SLAB_UNKNOWN,
	SLAB_STRUCT, /* `type`, if the kernel has it and the size fits */
	SLAB_BYTES,  /* data without locks */
};

struct slab_type {
	enum slab_content content;
	char type[64];
	char other[64]; /* if there is no such struct; "": none */
	bool tail;	/* objects have another length than the struct, known at run time only */
};

/* From a table, else a struct of that name or, "jbd2_foo_cache", of "jbd2_foo": the caller sees
 * which there is. */
void slab_type_of(const char *cache, struct slab_type *out);
/* "ext4_inode_cache" -> "ext4": the module whose types may have it. */
void slab_module_of(const char *cache, char *out, size_t len);

/* Of the caches that kmalloc takes from: memory for anything. */
bool slab_is_general(const char *cache);

#endif
