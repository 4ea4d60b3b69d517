// SPDX-License-Identifier: GPL-2.0-or-later
/* Labels of devices. */
#include <stdio.h>
#include <stdlib.h>

#include "source/ext4.h"

struct named_dev {
	uint32_t kdev;
	char id[24];
	struct named_dev *next;
};

struct ext4_names {
	struct named_dev *devs;
};

struct ext4_names *ext4_names_new(const struct config *cfg)
{
	return calloc(1, sizeof(struct ext4_names));
}

uint32_t ext4_names_labels(struct ext4_names *n, uint32_t kdev, struct label *labels,
			   uint32_t nlabels)
{
	struct named_dev *d;

	for (d = n->devs; d && d->kdev != kdev; d = d->next)
		;
	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d)
			return nlabels;
		d->kdev = kdev;
		snprintf(d->id, sizeof(d->id), "%u:%u", kdev >> 20, kdev & 0xfffff);
		d->next = n->devs;
		n->devs = d;
	}
	labels[nlabels++] = (struct label){"dev", d->id};
	return nlabels;
}

void ext4_names_free(struct ext4_names *n)
{
	struct named_dev *d, *next;

	if (!n)
		return;
	for (d = n->devs; d; d = next) {
		next = d->next;
		free(d);
	}
	free(n);
}
