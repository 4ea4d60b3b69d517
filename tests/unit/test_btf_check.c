// SPDX-License-Identifier: GPL-2.0-or-later
/* The file of --btf: what refers to nothing, to the wrong kind or to itself is found before libbpf.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>

#include "names/btf_view.h"
#include "source/sys/btf_check.h"
#include "unit.h"

#define INFO(kind, n) ((kind) << 24 | (n))

/* int; typedef; struct with two members; const; var; datasec; func_proto; func; array */
struct image {
	struct btf_header head;
	struct btf_type integer;
	__u32 bits;
	struct btf_type alias, record;
	struct btf_member members[2];
	struct btf_type constant, var;
	__u32 linkage;
	struct btf_type section;
	struct btf_var_secinfo in_section;
	struct btf_type proto, func, array;
	struct btf_array array_of;
	char strs[8];
};

static const struct image whole = {
	.head = {.magic = BTF_MAGIC,
		 .version = BTF_VERSION,
		 .hdr_len = sizeof(struct btf_header),
		 .type_len = offsetof(struct image, strs) - sizeof(struct btf_header),
		 .str_off = offsetof(struct image, strs) - sizeof(struct btf_header),
		 .str_len = 8},
	.integer = {.name_off = 1, .info = INFO(BTF_KIND_INT, 0), .size = 4},
	.bits = 32,
	.alias = {.name_off = 3, .info = INFO(BTF_KIND_TYPEDEF, 0), .type = 1},
	.record = {.name_off = 1, .info = INFO(BTF_KIND_STRUCT, 2), .size = 8},
	.members = {{1, 1, 0}, {3, 2, 32}},
	.constant = {.info = INFO(BTF_KIND_CONST, 0), .type = 3},
	.var = {.name_off = 1, .info = INFO(BTF_KIND_VAR, 0), .type = 4},
	.section = {.name_off = 3, .info = INFO(BTF_KIND_DATASEC, 1), .size = 8},
	.in_section = {.type = 5, .size = 8},
	.proto = {.info = INFO(BTF_KIND_FUNC_PROTO, 0), .type = 1},
	.func = {.name_off = 1, .info = INFO(BTF_KIND_FUNC, 0), .type = 7},
	.array = {.info = INFO(BTF_KIND_ARRAY, 0)},
	.array_of = {.type = 3, .index_type = 1, .nelems = 2},
	.strs = "\0a\0b\0c",
};

#define AT(field) offsetof(struct image, field)

static int check(const struct image *image)
{
	struct btf_view v;
	int ret = btf_view_init(&v, image, sizeof(*image), NULL);

	assert_int_equal(ret, 0);
	assert_int_equal(v.n, 9);
	ret = btf_check_view(&v);
	btf_view_close(&v);
	return ret;
}

TEST(broken)
{
	static const struct {
		const char *why;
		size_t at;
		__u32 value;
	} rows[] = {
		{"a name past the strings", AT(alias.name_off), 8},
		{"a member's name past them", AT(members[1].name_off), 1 << 30},
		{"a member of no type", AT(members[0].type), 10},
		{"a typedef of no type", AT(alias.type), 10},
		{"a typedef of itself", AT(alias.type), 2},
		{"a struct in itself", AT(members[1].type), 3},
		{"a struct in itself, by a const and an array", AT(members[1].type), 9},
		{"a const of what has it inside", AT(members[0].type), 4},
		{"a section of what is no variable", AT(in_section.type), 1},
		{"a section of nothing", AT(in_section.type), 77},
		{"a function of no kind", AT(func.type), 1},
		{"a function of nothing", AT(func.type), 1 << 31},
		{"a result of no type", AT(proto.type), 10},
		{"an array of no type", AT(array_of.type), 10},
		{"an index of no type", AT(array_of.index_type), 10},
	};
	struct image image;

	assert_int_equal(check(&whole), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		print_message("%s\n", rows[i].why);
		image = whole;
		memcpy((char *)&image + rows[i].at, &rows[i].value, sizeof(__u32));
		assert_int_equal(check(&image), -EINVAL);
	}
}

/* What <linux/btf.h> says of the header is the building system's; a kernel's has its own length. */
TEST(headers)
{
	static const struct {
		__u32 hdr_len;
		int ret;
	} rows[] = {
		{20, -EINVAL},		/* no str_len */
		{24, 0},		/* until Linux 7 */
		{28, 0},       {32, 0}, /* with a layout section */
		{40, 0},		/* of kernels to come */
		{26, -EINVAL}, {1 << 20, -EINVAL},
	};
	const size_t body = sizeof(whole) - sizeof(whole.head);
	char copy[40 + sizeof(whole)] __attribute__((aligned(8)));
	struct btf_view v;

	for (size_t i = 0; i < ROWS(rows); i++) {
		size_t len = rows[i].hdr_len <= 40 ? rows[i].hdr_len : 40;

		print_message("%u\n", rows[i].hdr_len);
		memset(copy, 0, sizeof(copy));
		memcpy(copy, &whole.head, len < sizeof(whole.head) ? len : sizeof(whole.head));
		memcpy(copy + len, &whole.integer, body);
		memcpy(copy + offsetof(struct btf_header, hdr_len), &rows[i].hdr_len,
		       sizeof(__u32));
		assert_int_equal(btf_view_init(&v, copy, len + body, NULL), rows[i].ret);
		if (rows[i].ret)
			continue;
		assert_int_equal(v.n, 9);
		assert_string_equal(btf_view_str(&v, whole.alias.name_off), "b");
		assert_int_equal(btf_check_view(&v), 0);
		btf_view_close(&v);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
