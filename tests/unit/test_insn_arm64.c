// SPDX-License-Identifier: GPL-2.0-or-later
/* Recipes of arm64 code: words as the GNU assembler makes them of the text beside them. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "insn/insn_flow.h"

#define NOP 0xd503201fU
#define NO RECIPE_NONE
#define SP RECIPE_ARM64_SP
#define PC RECIPE_ARM64_PC
#define R RECIPE_READ
#define W RECIPE_WRITE
#define L RECIPE_LOCKED
#define I RECIPE_INFERRED
#define UXTW RECIPE_EXTEND_UXTW
#define SXTW RECIPE_EXTEND_SXTW

struct row {
	const char *why;
	uint32_t before[5], after[3]; /* the last word of `before` is the latest; 0: none */
	enum insn_found found;
	struct abi_recipe r;
};

#define RECIPE(b, i, sh, ext, d, sz, fl, bk)                                            \
	INSN_RECIPE,                                                                    \
	{                                                                               \
		.base = (b), .index = (i), .shift = (sh), .extend = (ext), .disp = (d), \
		.size = (sz), .flags = (fl), .back = (bk)                               \
	}

static const struct row rows[] = {
	{"str x1, [x0, #16]", {0xf9000801}, {NOP}, RECIPE(0, NO, 0, 0, 16, 8, W, 4)},
	{"ldr w1, [x0, x2, lsl #2]", {0xb8627801}, {NOP}, RECIPE(0, 2, 2, 0, 0, 4, R, 4)},
	{"ldr x1, [x0, w2, sxtw #3]", {0xf862d801}, {NOP}, RECIPE(0, 2, 3, SXTW, 0, 8, R, 4)},
	{"strb w1, [x0, w2, uxtw]", {0x38224801}, {NOP}, RECIPE(0, 2, 0, UXTW, 0, 1, W, 4)},
	{"ldur x1, [x0, #-8]", {0xf85f8001}, {NOP}, RECIPE(0, NO, 0, 0, -8, 8, R, 4)},
	{"post-index, the base has moved: str x1, [x0], #8",
	 {0xf8008401},
	 {NOP},
	 RECIPE(0, NO, 0, 0, -8, 8, W, 4)},
	{"pre-index, it has moved there: str x1, [x0, #8]!",
	 {0xf8008c01},
	 {NOP},
	 RECIPE(0, NO, 0, 0, 0, 8, W, 4)},
	{"ldp x1, x2, [x3, #16]", {0xa9410861}, {NOP}, RECIPE(3, NO, 0, 0, 16, 16, R, 4)},
	{"stp x29, x30, [sp, #-32]!", {0xa9be7bfd}, {NOP}, RECIPE(SP, NO, 0, 0, 0, 16, W, 4)},
	{"ldp x29, x30, [sp], #32", {0xa8c27bfd}, {NOP}, RECIPE(SP, NO, 0, 0, -32, 16, R, 4)},
	{"ldnp x1, x2, [x0]", {0xa8400801}, {NOP}, RECIPE(0, NO, 0, 0, 0, 16, R, 4)},
	{"ldpsw x1, x2, [x0]", {0x69400801}, {NOP}, RECIPE(0, NO, 0, 0, 0, 8, R, 4)},
	{"base overwritten: ldr x0, [x0]", {0xf9400000}, {NOP}, INSN_NOT_COMPUTABLE, {0}},
	{"base moved since: ldr x1, [x0]; add x0, x0, #1",
	 {0xf9400001, 0x91000400},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"a compare moves nothing: ldr x1, [sp]; cmp x1, x0",
	 {0xf94003e1, 0xeb00003f},
	 {NOP},
	 RECIPE(SP, NO, 0, 0, 0, 8, R, 8)},
	{"the stack pointer moves: ldr x1, [sp]; mov sp, x9",
	 {0xf94003e1, 0x9100013f},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"so it does: ldr x1, [sp]; sub sp, sp, x0",
	 {0xf94003e1, 0xcb2063ff},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"and by a vector's length: ldr x1, [sp]; addvl sp, sp, #1",
	 {0xf94003e1, 0x043f503f},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"not past SVE's: ldr x1, [x0]; st1b {z0.b}, p0, [x2]",
	 {0xf9400001, 0xe400e040},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"nor a block of zeroes: ldr x1, [x0]; dc zva, x2",
	 {0xf9400001, 0xd50b7422},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"ldxr w1, [x0]", {0x885f7c01}, {NOP}, RECIPE(0, NO, 0, 0, 0, 4, R | L, 4)},
	{"stxr w3, w1, [x0]", {0x88037c01}, {NOP}, RECIPE(0, NO, 0, 0, 0, 4, W | L, 4)},
	{"ldxp x1, x2, [x0]", {0xc87f0801}, {NOP}, RECIPE(0, NO, 0, 0, 0, 16, R | L, 4)},
	{"stxp w5, x1, x2, [x0]", {0xc8250801}, {NOP}, RECIPE(0, NO, 0, 0, 0, 16, W | L, 4)},
	{"ordered, no atomic: stlr w1, [x0]", {0x889ffc01}, {NOP}, RECIPE(0, NO, 0, 0, 0, 4, W, 4)},
	{"ldar x1, [x0]", {0xc8dffc01}, {NOP}, RECIPE(0, NO, 0, 0, 0, 8, R, 4)},
	{"ldapr w1, [x0]", {0xb8bfc001}, {NOP}, RECIPE(0, NO, 0, 0, 0, 4, R, 4)},
	{"ldadd w1, w2, [x0]", {0xb8210002}, {NOP}, RECIPE(0, NO, 0, 0, 0, 4, R | W | L, 4)},
	{"stadd x1, [x0]", {0xf821001f}, {NOP}, RECIPE(0, NO, 0, 0, 0, 8, R | W | L, 4)},
	{"swpal x1, x2, [x0]", {0xf8e18002}, {NOP}, RECIPE(0, NO, 0, 0, 0, 8, R | W | L, 4)},
	{"cas w1, w2, [x0]", {0x88a17c02}, {NOP}, RECIPE(0, NO, 0, 0, 0, 4, R | W | L, 4)},
	{"swpp x27, x14, [x25]", {0x192e833b}, {NOP}, RECIPE(25, NO, 0, 0, 0, 16, R | W | L, 4)},
	{"both of a pair come back: ldclrp x4, x3, [x3]",
	 {0x19231064},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"rcwcasal x23, x7, [x24]", {0x19f70b07}, {NOP}, RECIPE(24, NO, 0, 0, 0, 8, R | W | L, 4)},
	{"rcwsswpa x8, x26, [x17]", {0x78a8a23a}, {NOP}, RECIPE(17, NO, 0, 0, 0, 8, R | W | L, 4)},
	{"64 bytes at once: ld64b x0, [x1]", {0xf83fd020}, {NOP}, INSN_NOT_COMPUTABLE, {0}},
	{"ldapur d27, [x10, #-92]", {0xdd5a495b}, {NOP}, RECIPE(10, NO, 0, 0, -92, 8, R, 4)},
	{"stlur b27, [x9, #-206]", {0x1d13293b}, {NOP}, RECIPE(9, NO, 0, 0, -206, 1, W, 4)},
	{"the base has moved: ldiapp w4, w25, [x15], #8",
	 {0x995909e4},
	 {NOP},
	 RECIPE(15, NO, 0, 0, -8, 8, R, 4)},
	{"it has moved there: stilp x11, x3, [x1, #-16]!",
	 {0xd903082b},
	 {NOP},
	 RECIPE(1, NO, 0, 0, 0, 16, W, 4)},
	{"of user space: ldtaddal x1, x22, [x11]",
	 {0x59e10576},
	 {NOP},
	 RECIPE(11, NO, 0, 0, 0, 8, R | W | L, 4)},
	{"of user space: swpta w15, w3, [x22]",
	 {0x19af86c3},
	 {NOP},
	 RECIPE(22, NO, 0, 0, 0, 4, R | W | L, 4)},
	{"of user space: ldtp x12, x8, [sp, #-312]",
	 {0xe96ca3ec},
	 {NOP},
	 RECIPE(SP, NO, 0, 0, -312, 16, R, 4)},
	{"of user space: caspat x12, x13, x6, x7, [x20]",
	 {0x49cc7e86},
	 {NOP},
	 RECIPE(20, NO, 0, 0, 0, 16, R | W | L, 4)},
	{"ldap x2, x7, [x15]", {0xd94759e2}, {NOP}, RECIPE(15, NO, 0, 0, 0, 16, R, 4)},
	{"of floats: ldfaddal h27, h9, [x11]",
	 {0x7cfb0169},
	 {NOP},
	 RECIPE(11, NO, 0, 0, 0, 2, R | W | L, 4)},
	{"compare and jump: ldr x1, [x0]; cbeq x28, x2, ...",
	 {0xf9400001, 0x74c2039c},
	 {NOP},
	 INSN_NO_OPERAND,
	 {0}},
	{"gcsstr x15, [x8]", {0xd91f0d0f}, {NOP}, RECIPE(8, NO, 0, 0, 0, 8, W, 4)},
	{"two vectors: ld1b {z1.b, z9.b}, pn11/z, [x14, x1]",
	 {0xa1010dc1},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"a pair is read from a system register: ldr x1, [x29]; mrrs x28, x29, ...",
	 {0xf94003a1, 0xd5750a7c},
	 {NOP},
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"casp x2, x3, x4, x5, [x0]",
	 {0x48227c04},
	 {NOP},
	 RECIPE(0, NO, 0, 0, 0, 16, R | W | L, 4)},
	{"ldr q0, [x0, #32]", {0x3dc00800}, {NOP}, RECIPE(0, NO, 0, 0, 32, 16, R, 4)},
	{"stp q0, q1, [x0]", {0xad000400}, {NOP}, RECIPE(0, NO, 0, 0, 0, 32, W, 4)},
	{"a literal: ldr x1, .+0x20", {0x58000101}, {NOP}, RECIPE(PC, NO, 0, 0, 0x1c, 8, R, 4)},
	{"a hint: prfm pldl1keep, [x0]", {0xf9800000}, {NOP}, INSN_NO_OPERAND, {0}},
	{"many: ld1 {v0.16b}, [x0]", {0x4c407000}, {NOP}, INSN_NOT_COMPUTABLE, {0}},
	{"ldrsw x1, [x0, #4]", {0xb9800401}, {NOP}, RECIPE(0, NO, 0, 0, 4, 4, R, 4)},
	{"ldrsh w1, [x0]", {0x79c00001}, {NOP}, RECIPE(0, NO, 0, 0, 0, 2, R, 4)},
	{"strh w1, [x0]", {0x79000001}, {NOP}, RECIPE(0, NO, 0, 0, 0, 2, W, 4)},
	{"not past b.ne", {0xf9400001, 0x54000041}, {NOP}, INSN_NO_OPERAND, {0}},
	{"not past bl", {0xf9400001, 0x94000002}, {NOP}, INSN_NO_OPERAND, {0}},
	{"not past cbz", {0xf9400001, 0xb4000040}, {NOP}, INSN_NO_OPERAND, {0}},
	{"not past tbnz", {0xf9400001, 0x37180040}, {NOP}, INSN_NO_OPERAND, {0}},
	{"not past ret", {0xf9400001, 0xd65f03c0}, {NOP}, INSN_NO_OPERAND, {0}},
	{"three back",
	 {0xf9400001, 0x8b030041, 0x8b030041, 0x8b030041},
	 {NOP},
	 RECIPE(0, NO, 0, 0, 0, 8, R, 16)},
	{"four are too many",
	 {0xf9400001, 0x8b030041, 0x8b030041, 0x8b030041, 0x8b030041},
	 {NOP},
	 INSN_NO_OPERAND,
	 {0}},
	{"read | add x1, x2, x3; written: str x1, [x0, #16]",
	 {0xf9400801},
	 {0x8b030041, 0xf9000801},
	 RECIPE(0, NO, 0, 0, 16, 8, R | W | I, 4)},
	{"ldxr w1, [x0] | stxr w3, w1, [x0]",
	 {0x885f7c01},
	 {0x88037c01},
	 RECIPE(0, NO, 0, 0, 0, 4, R | W | L | I, 4)},
	{"another member is written", {0xf9400001}, {0xf9000801}, RECIPE(0, NO, 0, 0, 0, 8, R, 4)},
	{"a branch lies between",
	 {0xf9400801},
	 {0x54000041, 0xf9000801},
	 RECIPE(0, NO, 0, 0, 16, 8, R, 4)},
};

TEST(recipes)
{
	for (size_t k = 0; k < ROWS(rows); k++) {
		uint32_t code[24], n = 0, m;
		struct abi_recipe got = {0};
		enum insn_found found;

		for (m = 0; m < 24; m++)
			code[m] = NOP;
		while (n < 5 && rows[k].before[n])
			n++;
		for (m = 0; m < n; m++)
			code[16 - n + m] = rows[k].before[m];
		for (m = 0; m < 3 && rows[k].after[m]; m++)
			code[16 + m] = rows[k].after[m];
		found = insn_recipe_as(&insn_arm64, (uint8_t *)code, 64, 32, &got);
		if (found != rows[k].found ||
		    (found == INSN_RECIPE && memcmp(&got, &rows[k].r, sizeof(got))))
			fail_msg(
				"%s: found %d, base %u index %u shift %u extend %u disp %lld size %u "
				"flags %u back %u",
				rows[k].why, found, got.base, got.index, got.shift, got.extend,
				(long long)got.disp, got.size, got.flags, got.back);
	}
}

TEST(extends)
{
	struct abi_recipe r = {.base = 1, .index = 2, .shift = 3, .extend = SXTW, .disp = -8};
	__u64 regs[RECIPE_REGS] = {0, 0x10000, 0x12345678fffffffeULL};

	assert_int_equal(recipe_address(&r, regs, 0), 0x10000 - 16 - 8);
	r.extend = UXTW;
	assert_int_equal(recipe_address(&r, regs, 0), 0x10000 + (0xfffffffeULL << 3) - 8);
	r.flags = RECIPE_TLS;
	r.base = r.index = RECIPE_NONE;
	assert_int_equal(recipe_address(&r, regs, 0x7000), 0x7000 - 8);
}

TEST(any_words)
{
	uint32_t x = 1, k, m;

	for (k = 0; k < 300000; k++) {
		size_t before = x % 65, after = x / 65 % 33;
		uint8_t *code = malloc(before + after ? before + after : 1);
		struct abi_recipe r;

		assert_non_null(code);
		for (m = 0; m < before + after; m++)
			code[m] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
		if (insn_recipe_as(&insn_arm64, code, before, after, &r) == INSN_RECIPE) {
			assert_true(r.size >= 1 && r.size <= 64);
			assert_true(r.flags & (R | W));
			assert_true(r.base < RECIPE_REGS);
		}
		free(code);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
