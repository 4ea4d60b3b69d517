/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities: which we have, how to get those we lack, and giving them up. */
#ifndef WS_PRIVS_H
#define WS_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"

/* What the default sources need, as setcap and systemd write it. */
#define PRIVS_SETCAP "cap_bpf,cap_perfmon=ep"

/* Is this capability (CAP_* of linux/capability.h) effective? */
bool privs_have(int cap);

/* "setcap cap_bpf,cap_perfmon=ep /usr/sbin/waitscope": the line that would help. Returns out. */
const char *privs_setcap_line(char *out, size_t len);

/* Locked memory is limited and counts BPF maps (until 5.11): the limit in bytes, else 0. */
uint64_t privs_memlock_limit(void);

/* Before COMMAND is forked: it must not inherit capabilities that were given to waitscope. */
void privs_keep_from_command(void);

/*
 * After everything is attached and opened: give up for good all capabilities but those that what
 * was asked for still needs. 0, or negative with words.
 */
int privs_drop(const struct config *cfg, struct err *e);

#endif
