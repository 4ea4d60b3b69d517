// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels of devices and, for the rows that weigh most, of files. */
#include <errno.h>
#include <stdlib.h>

#include "source/ext4/ext4.h"
#include "source/inodes/ext4_dev.h"
#include "source/inodes/ext4_path.h"

struct ext4_names {
	struct ext4_devs *devs;
	struct ext4_paths *paths; /* NULL without --by file */
};

int ext4_names_open(struct ext4_names **out, const struct config *cfg, struct err *e)
{
	struct ext4_names *n = calloc(1, sizeof(*n));
	int ret;

	*out = n;
	if (!n)
		return err_sys(e, -ENOMEM, "ext4");
	ret = ext4_devs_open(&n->devs, &cfg->filter.devs, e);
	if (ret || cfg->by != BY_FILE)
		return ret;
	n->paths = ext4_paths_new(n->devs);
	return n->paths ? 0 : err_sys(e, -ENOMEM, "ext4");
}

struct ext4_devs *ext4_names_devs(const struct ext4_names *n)
{
	return n->devs;
}

void ext4_names_begin(struct ext4_names *n)
{
	ext4_devs_forget_old(n->devs);
	if (n->paths)
		ext4_paths_trim(n->paths);
}

uint32_t ext4_names_labels(struct ext4_names *n, uint32_t kdev, struct label *labels,
			   uint32_t nlabels)
{
	const struct ext4_dev *d = ext4_dev_get(n->devs, kdev, 0);

	if (!d)
		return nlabels;
	labels[nlabels++] = (struct label){"dev", d->id};
	if (d->mount)
		labels[nlabels++] = (struct label){"mount", d->mount};
	return nlabels;
}

const char *ext4_names_file(struct ext4_names *n, uint32_t kdev, uint64_t ino, uint32_t generation)
{
	return ext4_path(n->paths, kdev, ino, generation, 0);
}

void ext4_names_close(struct ext4_names *n)
{
	if (!n)
		return;
	ext4_paths_free(n->paths);
	ext4_devs_close(n->devs);
	free(n);
}
