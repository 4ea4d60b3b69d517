/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --comm GLOB as a bit-parallel automaton that BPF runs over 16 bytes (bpf/lib/filter.bpf.h). */
#ifndef WS_GLOB_H
#define WS_GLOB_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/types.h>

#include "abi.h"
#include "core/err.h"

/* "*" "?" "[a-c]" "[!x]" "\c"; 0, or -EINVAL with words (exit 2). */
int glob_compile(const char *pattern, struct abi_glob *g, struct err *e);
/* The same run as in BPF: up to `len` bytes, ending at a NUL. */
bool glob_match(const struct abi_glob *g, const char *text, uint32_t len);

#endif
