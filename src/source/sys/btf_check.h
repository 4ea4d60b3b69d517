/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of --btf, looked through before libbpf sees it, which trusts what refers to what. */
#ifndef WS_BTF_CHECK_H
#define WS_BTF_CHECK_H

#include "core/err.h"

struct btf_view;

/* 0, -EINVAL or -ENOMEM. */
int btf_check_view(const struct btf_view *v);

/*
 * Is it a regular file whose BTF is whole: every name in its strings, every type that one refers to
 * there and of the kind it has to be, nothing inside itself? 0, or negative with words (exit 2 if
 * the file cannot be opened, else 3).
 */
int btf_check_file(const char *file, struct err *e);

#endif
