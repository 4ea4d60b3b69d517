// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/err.h"
#include "source/ext4/ext4.h"

static const char *const functions[] = {
	"ext4_file_read_iter",
	"ext4_file_write_iter",
	"ext4_file_open",
};

struct target {
	int func;   /* type id of the function */
	int obj_fd; /* the module's BTF; 0: vmlinux */
};

/* The id of the module's BTF as an object of the kernel's; a descriptor, or negative errno. */
static int module_btf_fd(void)
{
	struct bpf_btf_info info;
	char name[64];
	__u32 id = 0, len;
	int fd;

	while (!bpf_btf_get_next_id(id, &id)) {
		fd = bpf_btf_get_fd_by_id(id);
		if (fd < 0)
			continue; /* it has just been unloaded */
		memset(&info, 0, sizeof(info));
		info.name = (__u64)(unsigned long)name;
		info.name_len = sizeof(name);
		len = sizeof(info);
		name[0] = '\0';
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf &&
		    !strcmp(name, "ext4"))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

static int find_function(struct btf *vmlinux, const char *name, struct target *t)
{
	struct btf *module;

	t->obj_fd = 0;
	t->func = btf__find_by_name_kind(vmlinux, name, BTF_KIND_FUNC);
	if (t->func > 0)
		return 0;
	module = btf__load_module_btf("ext4", vmlinux);
	if (!module)
		return -ENOENT;
	t->func = btf__find_by_name_kind(module, name, BTF_KIND_FUNC);
	btf__free(module);
	if (t->func < 0)
		return -ENOENT;
	t->obj_fd = module_btf_fd();
	return t->obj_fd < 0 ? t->obj_fd : 0;
}

/* Some kernels load such a program and then cannot attach it. */
static int load_and_attach(const struct target *t)
{
	static const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (__u32)t->func, .attach_btf_obj_fd = (__u32)t->obj_fd);
	int prog, link;

	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "ws_try", "GPL", nothing,
			     sizeof(nothing) / sizeof(nothing[0]), &opts);
	if (prog < 0)
		return prog;
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link >= 0)
		close(link);
	close(prog);
	return link < 0 ? link : 0;
}

int ext4_file_try(struct btf *vmlinux, char *why, size_t len)
{
	struct target t;
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(functions) / sizeof(functions[0]); i++) {
		ret = find_function(vmlinux, functions[i], &t);
		if (!ret)
			ret = load_and_attach(&t);
		if (t.obj_fd > 0)
			close(t.obj_fd);
		if (ret)
			snprintf(why, len, "fentry of %s: %s", functions[i],
				 ret == -EPERM || ret == -EACCES ? "not permitted here"
				 : ret == -ENOENT		 ? "not in the kernel's BTF"
								 : err_words(ret));
	}
	return ret;
}
