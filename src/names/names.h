/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of addresses, for the rows that are printed: what object and member lies there, what code
 * an instruction pointer is in. Stands on core; sources use it, and hand it what only the kernel
 * side could see (struct kernel_hint).
 *
 * Never a wrong member: where a type is not certain the name stops at the object and the offset
 * ("kmalloc-192+0x18"). Answers are remembered; a process that has ended keeps the maps it had when
 * names_process or names_note was called for it, so sources call that when an address is first
 * seen.
 *
 * None of these fail for want of a name: `found` says how much is known, `text` is never empty
 * ("0xffff888100001000" at worst). All strings are raw bytes.
 */
#ifndef WS_NAMES_H
#define WS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define NAME_LEN 256
#define NAME_PLACE_LEN 160

enum name_found {
	NAME_NONE,   /* the bare address */
	NAME_REGION, /* a mapping, a slab cache, a page: and the offset in it */
	NAME_OBJECT, /* a variable or a typed object */
	NAME_MEMBER, /* down to the member */
};

/* An inode that the address lies in; sources make a path of it (ext4_places.h). */
struct name_inode {
	bool known;
	bool ext4;    /* it, or where none is known the super block, is of ext4 */
	uint32_t dev; /* the kernel's: major << 20 | minor */
	uint32_t generation;
	uint64_t ino;
};

struct name {
	enum name_found found;
	bool late; /* there may be more to say: not in the time there was, or never (names_refused)
		    */
	char text[NAME_LEN];	    /* "ext4_inode_info.i_es_lock", "app`table.lock" */
	char place[NAME_PLACE_LEN]; /* "kw.c:15"; "also mem_cgroup_per_node"; may be empty */
	uint32_t inlined_in; /* code: so many functions lie further out, each inlined in the next */
	/* Kernel objects with a type: where it starts, and what type (for members_on_line). */
	uint64_t object; /* 0: not known */
	char type[64];	 /* "ext4_sb_info" */
	struct name_inode inode;
	/* What the object is was told by the code that locks it and not by the object: the text
	 * ends in "?", the place says by which function. */
	bool inferred;
};

struct names;

struct names_args {
	const char *btf;      /* --btf, or NULL: the running kernel's */
	bool debuginfod;      /* debug information may be fetched from DEBUGINFOD_URLS */
	uint64_t patience_ns; /* for each name, and none for all; 0: NAMES_NAME_NS, NAMES_REPORT_NS
			       */
};

/*
 * A name is never worth the run: files of processes are read by another process of ours (wire.h),
 * and no longer than this is waited for it. Of a single name it is that process's own time: what it
 * stands on a run queue, because other work has the processors, does not count. Past it a name is
 * what is known by then, mapping and offset or the address, and `late`; a look-up goes on for up to
 * 1 s of processor time, so that the next report has what an honest big file takes. What takes
 * longer, or ends that process, is not asked again in this run.
 */
#define NAMES_NAME_NS 100000000ULL
#define NAMES_REPORT_NS 500000000ULL /* for the names of a report together, by the clock */

/* To be called by main of every program that asks for names, before all else: it is also the main
 * of the processes that read files. -1: this is none of them; else the exit status. */
int names_child_main(int argc, char **argv);

int names_open(struct names **out, const struct names_args *args, struct err *e);
void names_close(struct names *n); /* NULL is fine */

/* One for all who need any: their owner has this, and the first who asks opens it. */
struct names_shared {
	struct names_args args;
	struct names *names; /* NULL: nobody has asked */
};
int names_borrow(struct names_shared *s, struct names **out, struct err *e);
void names_shared_close(struct names_shared *s); /* after all who borrowed */

/*
 * Loads what takes privileges. To be called before they are dropped, or never: the first address
 * does it. Before 5.19 the names of kernel objects need CAP_BPF for as long as there are new ones.
 */
void names_prepare(struct names *n);
/* What names of the kernel's are missing here and why, in words: "kernel code: addresses are hidden
 * (CAP_SYSLOG ...)"; "" if nothing is. Holds until the next call. Known after names_prepare. */
const char *names_why(struct names *n);
/* Of that alone the part that costs nothing to ask: why kernel code has no names; NULL if it has.
 */
const char *names_code_why(struct names *n);
/* Does the kernel show its addresses to who opened this (kernel.kptr_restrict, CAP_SYSLOG)? 1, 0 if
 * /proc/kallsyms has zeros in their place, -ENOENT without it. */
int names_kernel_shown(struct names *n);
/* A report's names are asked from here on, until names_trim. NULL is fine. */
void names_report_begin(struct names *n);
/* How many names were late, ever. NULL: none. */
uint64_t names_refused(const struct names *n);
/* Gives back the contents of files, and the kernel's types, in which no name was looked for in a
 * while: when a report is done. NULL is fine. */
void names_trim(struct names *n);

/* ---- kernel ---- */

/*
 * What a BPF program knew of an address when it saw it (0: did not). `object` and `type` say that
 * the address lies in an object of that BTF type, at `object`: members of the running task
 * (mm_struct, signal_struct, files_struct ...), of a remembered inode, of a super block.
 * The rest is of a wait for a lock there: whose it was, and in which code.
 */
struct kernel_hint {
	uint64_t object;
	const char *type;
	uint32_t lock_kind;  /* ABI_LOCK_*; 0: not told */
	uint32_t pid;	     /* of the process that waited; 0: an interrupt, or not told */
	const char *process; /* its comm; NULL or "": not told */
	const uint64_t *ips; /* where in the kernel's code, innermost first */
	uint32_t nips;
};

void names_kernel_data(struct names *n, uint64_t addr, const struct kernel_hint *hint,
		       struct name *out);
/* "vfs_write+0x1a"; place: its module, if any */
void names_kernel_code(struct names *n, uint64_t ip, struct name *out);
/* Is ip in kernel text whose name starts with one of the locking functions (mutex_lock,
 * _raw_spin_lock, rwsem_ ...)? Sites are the callers of these. */
bool names_is_lock_code(struct names *n, uint64_t ip);

/* Members of `type` (at `object`) that lie on the 64-byte line of `addr`, by offset; at most cap.
 */
struct name_member {
	char name[NAME_LEN];
	uint32_t offset, size;
	bool hot; /* known to be written often: locks, counters, list heads of locks */
};
size_t names_members_on_line(struct names *n, const char *type, uint64_t object, uint64_t addr,
			     struct name_member *out, size_t cap);

/* ---- user ---- */

/*
 * A process, and which of its address spaces (abi_space.h; 0: the one it has now). Where it has
 * another one by the time that its files are read, after an exec or because the number is another
 * process's, there is no name, and the place says so.
 */
struct name_process {
	uint32_t pid;
	uint64_t space;
};

/* What an address of a process is. */
enum name_what {
	NAME_DATA,
	NAME_INSN, /* of an instruction: an interrupted one, say */
	NAME_CALL, /* where a call returns to: the call before it is what is named */
};

/* Remember the process's maps and hold its files; again when it has changed its maps. 0, or
 * negative errno (it has ended, no permission): no words, names fall back. */
int names_process(struct names *n, uint32_t pid);
/* The same without waiting for it, and a look at an address that may soon be asked for (0: none).
 * What was noted of a process that has ended is lost if another process of ours has to take over.
 */
void names_note(struct names *n, struct name_process p, uint64_t addr, enum name_what what);
void names_user_data(struct names *n, struct name_process p, uint64_t addr, struct name *out);
/*
 * "app`worker+0x18", place "kw.c:15". what: NAME_INSN or NAME_CALL. Where functions are inlined,
 * `frame` chooses: 0 is the innermost, "app`insert inlined in worker+0x18" at its own line;
 * out->inlined_in is the worker itself, at the line that calls.
 */
void names_user_code(struct names *n, struct name_process p, uint64_t ip, enum name_what what,
		     uint32_t frame, struct name *out);
#define NAME_INLINED " inlined in "
/* What the process is called, which is what its main thread is: 0, or -ENOENT if it has ended or
 * its number is not one of our /proc. */
int names_process_comm(struct names *n, uint32_t pid, char *out, size_t len);
/* Adds the place to the text: "app`worker+0x18 (kw.c:31)", "app`insert (kw.c:12) inlined in
 * worker+0x18". */
void name_add_place(struct name *n);

/* ---- addresses of names ---- */

/*
 * "var" of the process's program (or else of a library), "lib.so`var" of that one; names as the
 * files spell them. size 0: not told. 0, -ENOENT, -ENOTUNIQ (the file has several), or why the
 * process's maps cannot be read.
 */
int names_user_symbol(struct names *n, uint32_t pid, const char *symbol, uint64_t *addr,
		      uint64_t *size);
/* Is anything mapped there now? Also false where the maps cannot be read. */
bool names_user_mapped(struct names *n, uint32_t pid, uint64_t addr);
/* A variable of the kernel's: 0, -ENOENT, -EOPNOTSUPP (this kernel tells no variables, only
 * code), -EACCES (its addresses are hidden). */
int names_kernel_symbol(struct names *n, const char *symbol, uint64_t *addr);
/* 0; -EFAULT: nothing there; others: it cannot be told. */
int names_kernel_mapped(struct names *n, uint64_t addr);

#endif
