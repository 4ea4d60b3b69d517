/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ext4's whole reads, writes and opens: programs that this machine may not be able to attach. */
#ifndef WS_TEST_EXT4_FILE_H
#define WS_TEST_EXT4_FILE_H

#include <stddef.h>

enum ext4_file_result { EXT4_FILE_PASS, EXT4_FILE_FAIL, EXT4_FILE_SKIP };

/* In an ext4 that is mounted at `dir` and that nobody else uses. `why` says what was seen. */
enum ext4_file_result ext4_file_rows(const char *dir, char *why, size_t len);

#endif
