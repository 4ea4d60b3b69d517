// SPDX-License-Identifier: GPL-2.0-or-later
/* Entries as the kernel tells of them (bpf/walk.bpf.c), where it can. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/sys/bpf_util.h"
#include "source/bpf/keyed_inside.h"

#include "walk.skel.h" /* needs abi.h */

static int attach(struct keyed_walk *w, const int fds[ABI_BANKS])
{
	union bpf_iter_link_info map = {0};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &map, .link_info_len = sizeof(map));
	int b;

	for (b = 0; b < ABI_BANKS; b++) {
		map.map.map_fd = (__u32)fds[b];
		w->links[b] = bpf_program__attach_iter(w->skel->progs.ws_walk_keys, &opts);
		if (!w->links[b])
			return -errno;
	}
	return 0;
}

/* What libbpf says of a program that does not load would be taken for an error of ours. */
static int load(struct keyed_walk *w, const struct keyed_args *args)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL);
	int ret;

	w->skel = walk_bpf__open();
	if (w->skel) {
		w->skel->rodata->hists = args->nhists;
		w->skel->rodata->slots = ABI_KHIST_SLOTS(args->schema);
	}
	ret = w->skel ? walk_bpf__load(w->skel) : -errno;
	libbpf_set_print(print);
	(void)malloc_trim(0); /* of the kernel's BTF, which libbpf read */
	return ret;
}

int keyed_walk_open(struct keyed_walk *w, const struct keyed_args *args)
{
	void *told;

	if (args->nhists * ABI_KHIST_SLOTS(args->schema) > ABI_WALK_HISTS * ABI_KEY_SLOTS ||
	    !kernel_has_btf())
		return 0;
	if (load(w, args) || attach(w, args->fds)) {
		keyed_walk_close(w);
		return 0;
	}
	told = mmap(NULL, sizeof(*w->told), PROT_READ | PROT_WRITE, MAP_SHARED,
		    bpf_map__fd(w->skel->maps.walked), 0);
	if (told == MAP_FAILED)
		return -errno;
	w->told = told;
	return 0;
}

void keyed_walk_close(struct keyed_walk *w)
{
	int b;

	for (b = 0; b < ABI_BANKS; b++)
		(void)bpf_link__destroy(w->links[b]); /* nothing to do about a failure */
	walk_bpf__destroy(w->skel);
	if (w->told)
		(void)munmap(w->told, sizeof(*w->told));
	memset(w, 0, sizeof(*w));
}

static int read_told(struct keyed *k, uint32_t bank)
{
	const char *at = k->walk.told->bytes, *end = at + k->walk.told->used;
	int ret = 0;

	while (!ret && at < end) {
		const struct abi_walk_entry *e = (const void *)at;
		struct keyed_view v = {.key = &e->key, .head = &e->head, .hists = e->hists};
		uint32_t m;

		at += sizeof(*e);
		for (m = 0; m < k->args.nhists; m++) {
			if (!(v.hists >> m & 1))
				continue;
			v.told[m] = (const void *)at;
			v.hist[m] = &v.told[m]->head;
			at += sizeof(*v.told[m]) + v.told[m]->slots * sizeof(struct abi_walk_slot);
		}
		ret = keyed_read_view(k, bank, &v);
	}
	return ret;
}

/* Each read() goes on until there is no more room, which is EAGAIN, or no more entry. */
int keyed_walk_bank(struct keyed *k, uint32_t bank, uint64_t epoch)
{
	int fd = bpf_iter_create(bpf_link__fd(k->walk.links[bank])), ret = 0;
	char none;
	ssize_t n;

	if (fd < 0)
		return fd;
	k->walk.told->epoch = epoch;
	do {
		k->walk.told->used = 0;
		n = read(fd, &none, sizeof(none));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			ret = -errno;
		if (!ret)
			ret = read_told(k, bank);
	} while (!ret && n < 0);
	close(fd);
	return ret;
}
