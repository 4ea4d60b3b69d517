/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading kernel memory, through programs that are loaded but never attached (names.bpf.c). */
#ifndef WS_NAMES_KERNEL_PEEK_H
#define WS_NAMES_KERNEL_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
