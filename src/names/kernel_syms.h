/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbols, from /proc/kallsyms. */
#ifndef WS_NAMES_KERNEL_SYMS_H
#define WS_NAMES_KERNEL_SYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/err.h"

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
	uint64_t read_at_ns; /* 0: not yet */
	bool hidden;	     /* all addresses are 0: no CAP_SYSLOG, or kptr_restrict */
	bool data;	     /* has the data symbols too (CONFIG_KALLSYMS_ALL) */
	uint64_t etext, end; /* of the image; 0: not told */
	size_t bad;	     /* lines that are not as they should be */
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

#endif
