/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads, writes and opens as whole calls. ext4 has no tracepoints there, so they take tracing its
 * functions (fentry), which not every kernel and not every sandbox lets us.
 */
#ifndef WS_EXT4_FILE_H
#define WS_EXT4_FILE_H

#include <stddef.h>

struct btf;

/*
 * Loads and attaches a program that does nothing to each of the functions. 0, or negative with the
 * reason in `why`. `vmlinux`: the running kernel's own BTF.
 */
int ext4_file_try(struct btf *vmlinux, char *why, size_t len);

#endif
