/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities: which we have, how to get those we lack, and giving them up. */
#ifndef WS_PRIVS_H
#define WS_PRIVS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/config.h"
#include "core/err.h"

/* Is this capability (CAP_* of linux/capability.h) effective? */
bool privs_have(int cap);

/*
 * Was the binary given privileges (file capabilities, set-user-ID) that the user who runs it lacks?
 * Then what that user names is not to be read or trusted with them.
 */
bool privs_borrowed(void);

/* May we do what an ordinary user may not: root, or with any capability? */
bool privs_any(void);

struct names;
/* Does the kernel show its addresses to us (kernel.kptr_restrict, CAP_SYSLOG)? Where it has no
 * kallsyms that tells, it is asked of the capability alone. To be called before privs_drop. */
bool privs_kernel_shown(struct names *n);

/* All that it takes to load and attach programs? */
bool privs_suffice(void);
/* Does a seccomp filter stand between us and the kernel? Then it may be the one who refuses. */
bool privs_filtered(void);

/*
 * Words for a refusal: who may, and the line that helps with what was asked for (NULL: any run),
 * "setcap cap_bpf,cap_perfmon=ep /usr/sbin/waitscope". Returns err.
 */
int privs_missing(struct err *e, int err, const char *what, const struct config *cfg);

/* Locked memory is limited and counts BPF maps (until 5.11): the limit in bytes, else 0. */
uint64_t privs_memlock_limit(void);

/* Before COMMAND is forked: it must not inherit capabilities that were given to waitscope. */
void privs_keep_from_command(void);

/* Gives up whatever the user who runs the binary lacks: for what needs none. 0, or negative. */
int privs_return(struct err *e);

/*
 * After everything is attached and opened: give up for good all capabilities but those that what
 * was asked for still needs. 0, or negative with words.
 */
int privs_drop(const struct config *cfg, struct err *e);

#endif
