// SPDX-License-Identifier: GPL-2.0-or-later
#include <linux/capability.h>
#include <stdio.h>

#include "source/ext4/ext4.h"
#include "source/inodes/ext4_dev.h"
#include "source/privs.h"

#define NO_PATHS "files are named by inode number (their paths need CAP_DAC_READ_SEARCH)"
#define NO_MOUNT "no ext4 is mounted now: there are rows once one is"

void ext4_lacks_init(struct ext4_lacks *l, const struct config *cfg, const struct ext4_devs *devs,
		     const char *files_why)
{
	bool paths = cfg->slower || cfg->by == BY_FILE;
	size_t n = 0;

	if (*files_why) {
		snprintf(l->files, sizeof(l->files),
			 "reads, writes and opens: no source on this kernel: %s", files_why);
		l->list[n++] = l->files;
	}
	if (paths && !privs_have(CAP_DAC_READ_SEARCH)) {
		l->list[n++] = "paths: not permitted (CAP_DAC_READ_SEARCH)";
		l->notice = NO_PATHS;
	}
	l->list[n] = NULL;
	if (!ext4_devs_any(devs))
		l->notice = NO_MOUNT;
}
