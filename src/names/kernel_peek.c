// SPDX-License-Identifier: GPL-2.0-or-later
#include "names/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <malloc.h>
#include <string.h>

#include "names_abi.h"
#include "names.skel.h" /* needs names_abi.h */

#define RUN_ON_CPU 1 /* BPF_F_TEST_RUN_ON_CPU */

static int load(struct peek *p, const char *btf_file, bool slabs)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_file);
	int ret;

	p->skel = names_bpf__open_opts(&opts);
	if (!p->skel)
		return -errno;
	(void)bpf_program__set_autoload(p->skel->progs.ws_slab, slabs); /* not loaded yet */
	ret = names_bpf__load(p->skel);
	(void)malloc_trim(0); /* of the kernel's BTF, which libbpf read */
	if (ret) {
		names_bpf__destroy(p->skel);
		p->skel = NULL;
	}
	return ret;
}

int peek_open(struct peek *p, const char *btf_file, bool slabs)
{
	if (!p->state) {
		p->state = load(p, btf_file, slabs);
		p->slabs = slabs;
		if (p->state && slabs) { /* one reason less to fail */
			p->state = load(p, btf_file, false);
			p->slabs = false;
		}
		if (!p->state)
			p->state = 1;
	}
	return p->state < 0 ? p->state : 0;
}

void peek_close(struct peek *p)
{
	names_bpf__destroy(p->skel);
	memset(p, 0, sizeof(*p));
}

/* A program once, here or on a CPU. */
static int run(const struct bpf_program *prog, uint32_t flags, uint32_t cpu)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = flags, .cpu = cpu);

	return bpf_prog_test_run_opts(bpf_program__fd(prog), &opts) ? -errno : 0;
}

static int read_some(struct peek *p, uint64_t addr, void *buf, size_t len)
{
	volatile struct names_ask *ask;
	int ret;

	if (!p->skel)
		return -ENOTSUP;
	ask = &p->skel->bss->ask;
	ask->addr = addr;
	ask->len = (uint32_t)len;
	ret = run(p->skel->progs.ws_peek, 0, 0);
	if (!ret)
		ret = ask->ret;
	if (!ret)
		memcpy(buf, p->skel->bss->ask.data, len);
	return ret;
}

int peek_read(struct peek *p, uint64_t addr, void *buf, size_t len)
{
	size_t done = 0;
	int ret = 0;

	while (!ret && done < len) {
		size_t n = len - done < NAMES_PEEK_BYTES ? len - done : NAMES_PEEK_BYTES;

		ret = read_some(p, addr + done, (char *)buf + done, n);
		done += n;
	}
	return ret;
}

void peek_window(struct peek *p, uint64_t from, uint8_t *bytes, size_t len)
{
	size_t at = 0;

	memset(bytes, 0, len);
	while (at < len) {
		size_t n = NAMES_PEEK_BYTES - (from + at) % NAMES_PEEK_BYTES;

		if (n > len - at)
			n = len - at;
		if (peek_read(p, from + at, bytes + at, n))
			memset(bytes + at, 0, n);
		at += n;
	}
}

uint64_t peek_u64(struct peek *p, uint64_t addr)
{
	uint64_t v = 0;

	return peek_read(p, addr, &v, sizeof(v)) ? 0 : v;
}

uint32_t peek_u32(struct peek *p, uint64_t addr)
{
	uint32_t v = 0;

	return peek_read(p, addr, &v, sizeof(v)) ? 0 : v;
}

void peek_text(struct peek *p, uint64_t addr, char *buf, size_t len)
{
	memset(buf, 0, len);
	if (peek_read(p, addr, buf, len)) /* the string may end right before what is not there */
		for (size_t i = 0; i < len && !peek_read(p, addr + i, buf + i, 1) && buf[i]; i++)
			;
	buf[len - 1] = '\0';
}

uint64_t peek_rq(struct peek *p, uint32_t cpu)
{
	if (!p->skel || run(p->skel->progs.ws_here, RUN_ON_CPU, cpu))
		return 0;
	return p->skel->bss->ask.rq;
}

uint64_t peek_task(struct peek *p)
{
	if (!p->skel || run(p->skel->progs.ws_here, 0, 0))
		return 0;
	return p->skel->bss->ask.task;
}

uint64_t peek_cache(struct peek *p, uint64_t addr)
{
	if (!p->skel || !p->slabs)
		return 0;
	p->skel->bss->ask.addr = addr;
	return run(p->skel->progs.ws_slab, 0, 0) ? 0 : p->skel->bss->ask.cache;
}
