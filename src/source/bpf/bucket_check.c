// SPDX-License-Identifier: GPL-2.0-or-later
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "abi.h"
#include "core/hist.h"
#include "source/sys/bpf_util.h"
#include "source/bpf/bucket_check.h"

/* One program, on its way through a schema's values. */
struct check {
	const struct bpf_object *obj;
	int prog_fd;
	volatile struct abi_bucket_check *shared; /* with the program */
	struct bucket_table table;
	uint32_t n;	/* values not yet placed */
	uint64_t total; /* placed */
	uint64_t wrong;
	uint64_t value; /* the first that was wrong */
	uint32_t kernel, ours;
};

/* ---- who built it ---- */

/* The object's `compiler`, as bucket_check.bpf.h has it. */
static void compiler_of(const struct bpf_object *obj, char out[ABI_COMPILER_LEN])
{
	const struct btf *btf = bpf_object__btf(obj);
	const char *dot, *data;
	struct bpf_map *m;
	size_t len = 0;
	int64_t at;
	__u32 type;

	(void)snprintf(out, ABI_COMPILER_LEN, "an unknown compiler"); /* fits */
	bpf_object__for_each_map(m, obj)
	{
		dot = strchr(bpf_map__name(m), '.');
		if (dot && !strcmp(dot, ".rodata"))
			break;
	}
	if (!m || !btf || btf_section_var(btf, ".rodata", "compiler", &at, &type))
		return;
	data = bpf_map__initial_value(m, &len);
	if (data && at >= 0 && (size_t)at + ABI_COMPILER_LEN <= len)
		(void)snprintf(out, ABI_COMPILER_LEN, "%.*s", ABI_COMPILER_LEN - 1, data + at);
}

/* ---- values through the program ---- */

/* Places what waits. A slot that the program did not write is none. */
static int run(struct check *c)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int ret;

	for (uint32_t i = 0; i < c->n; i++)
		c->shared->slots[i] = UINT32_MAX;
	ret = bpf_prog_test_run_opts(c->prog_fd, &opts);
	if (ret)
		return ret;
	for (uint32_t i = 0; i < c->n; i++) {
		uint64_t value = c->shared->values[i];
		uint32_t kernel = c->shared->slots[i];
		uint32_t ours = bucket_slot(&c->table, c->table.schema, value);

		if (kernel != ours && !c->wrong++) {
			c->value = value;
			c->kernel = kernel;
			c->ours = ours;
		}
	}
	c->total += c->n;
	c->n = 0;
	return 0;
}

static int add(struct check *c, uint64_t value)
{
	if (!value) /* has no slot */
		return 0;
	c->shared->values[c->n++] = value;
	return c->n == ABI_CHECK_VALUES ? run(c) : 0;
}

static int add_around(struct check *c, uint64_t value)
{
	int ret = add(c, value - 1);

	if (!ret)
		ret = add(c, value);
	return ret ? ret : add(c, value + 1);
}

/* Every boundary of every octave, each with its neighbours, and the end of the range. */
static int run_all(struct check *c)
{
	uint32_t e, i;
	int ret = 0;

	for (e = 0; e < BUCKET_OCTAVES; e++)
		for (i = 0; !ret && i < 1U << c->table.schema; i++)
			ret = add_around(c, c->table.th[i] >> (62 - e));
	if (!ret)
		ret = add_around(c, BUCKET_VALUE_END);
	if (!ret)
		ret = add(c, UINT64_MAX);
	return ret ? ret : run(c);
}

/* ---- programs of an object ---- */

static int differs(const struct check *c, const char *what, struct err *e)
{
	char compiler[ABI_COMPILER_LEN];

	compiler_of(c->obj, compiler);
	return err_set(e, EXIT_CANNOT, -EILSEQ,
		       "%s: the BPF programs that '%s' built put %llu of %llu values into other "
		       "buckets than they belong to, %llu ns into %u, not %u (no report would be "
		       "right: build with another clang, CLANG=)",
		       what, compiler, (unsigned long long)c->wrong, (unsigned long long)c->total,
		       (unsigned long long)c->value, c->kernel, c->ours);
}

static int check_program(const struct bpf_object *obj, const char *name, uint32_t schema,
			 const char *what, struct err *e)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(obj, name);
	int fd = prog ? bpf_program__fd(prog) : -1, ret;
	struct check c = {.obj = obj, .prog_fd = fd};
	char text[64];
	void *at;

	if (fd < 0)
		return 0;
	ret = bucket_table_init(&c.table, schema);
	if (ret)
		return err_sys(e, ret, "%s: schema %u of '%s'", what, schema, name);
	at = mmap(NULL, sizeof(*c.shared), PROT_READ | PROT_WRITE, MAP_SHARED,
		  bpf_object__find_map_fd_by_name(obj, "bucket_checks"), 0);
	if (at == MAP_FAILED)
		return err_sys(e, -errno, "%s: check the buckets", what);
	c.shared = at;
	ret = run_all(&c);
	(void)munmap(at, sizeof(*c.shared)); /* nothing to do about a failure */
	/*
	 * kernels that run no program for us are told by --check; one that runs others runs these
	 */
	if (ret && bpf_test_runs())
		return 0;
	(void)snprintf(text, sizeof(text), "%s: check the buckets", what); /* fits */
	if (ret)
		return bpf_fail(e, ret, text);
	return c.wrong ? differs(&c, what, e) : 0;
}

int bucket_check(const struct bpf_object *obj, const struct bucket_schemas *schemas,
		 const char *what, struct err *e)
{
	int ret = check_program(obj, "ws_check_hist", schemas->hists, what, e);

	return ret ? ret : check_program(obj, "ws_check_khist", schemas->keyed, what, e);
}
