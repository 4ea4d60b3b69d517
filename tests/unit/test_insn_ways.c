// SPDX-License-Identifier: GPL-2.0-or-later
/* Which instructions can have run before a pointer; x86-64, as the GNU assembler makes it of the
 * text above each row, || where the pointer is. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "insn/insn_flow.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, RIP = RECIPE_X86_RIP };
#define R RECIPE_READ
#define W RECIPE_WRITE
#define RW (R | W)
#define PAD 0x90

struct row {
	const char *why, *before, *after;
	enum insn_found found;
	uint32_t n;
	struct {
		uint8_t base;
		int32_t disp;
		uint8_t flags;
		int16_t back;
	} r[INSN_CANDIDATES];
};

static const struct row rows[] = {
	/* test %eax,%eax; je 1f; incq 8(%rbx); jmp 2f; 1: incq 16(%rcx); 2: || nop */
	{"arms that differ",
	 "85c0740648ff4308eb0448ff4110",
	 "90",
	 INSN_AMBIGUOUS,
	 2,
	 {{RCX, 16, RW, 4}, {RBX, 8, RW, 10}}},
	/* test %eax,%eax; je 1f; mov %rdx,8(%rbx); jmp 2f; 1: mov %rsi,8(%rbx); 2: || nop */
	{"arms that do the same",
	 "85c0740648895308eb0448897308",
	 "90",
	 INSN_RECIPE,
	 1,
	 {{RBX, 8, W, 4}}},
	/* test %eax,%eax; je 1f; mov 8(%rbx),%rdx; jmp 2f; 1: mov %rsi,8(%rbx); 2: || nop */
	{"one reads, one writes",
	 "85c07406488b5308eb0448897308",
	 "90",
	 INSN_AMBIGUOUS,
	 2,
	 {{RBX, 8, W, 4}, {RBX, 8, R, 10}}},
	/* test %eax,%eax; je 1f; incq 8(%rbx); 1: || nop */
	{"a jump over it", "85c0740448ff4308", "90", INSN_AMBIGUOUS, 1, {{RBX, 8, RW, 4}}},
	/* incq 8(%rbx) || je 1f; nop; 1: nop */
	{"nobody jumps here", "48ff4308", "74019090", INSN_RECIPE, 1, {{RBX, 8, RW, 4}}},
	/* mov (%rsi),%rax; 1: || add %rax,%rcx; mov %rcx,8(%rdi); dec %edx; jne 1b */
	{"a loop's head",
	 "488b06",
	 "4801c148894f08ffca75f5",
	 INSN_AMBIGUOUS,
	 2,
	 {{RSI, 0, R, 3}, {RDI, 8, W, -3}}},
	/* jmp 2f; nopw 0(%rax,%rax,1); 1: || xor %eax,%ecx; incq 8(%rdi); dec %edx; jne 1b; 2: nop
	 */
	{"a loop's head, behind a jump and padding",
	 "eb0f660f1f0400",
	 "31c148ff4708ffca75f690",
	 INSN_RECIPE,
	 1,
	 {{RDI, 8, RW, -2}}},
	/* 1: incq 8(%rdi) || dec %edx; jne 1b */
	{"a loop's end", "48ff4708", "ffca75f8", INSN_RECIPE, 1, {{RDI, 8, RW, 4}}},
	/* jmp 2f; 1: || xor %eax,%ecx; incq 0x100(%rip); jmp 1b; 2: nop */
	{"rip, from behind",
	 "eb0b",
	 "31c148ff0500010000ebf590",
	 INSN_RECIPE,
	 1,
	 {{RIP, 0x100 + 9, RW, -2}}},
	/* incq 8(%rbx); call 1f || nop; nop; 1: nop */
	{"behind a call", "48ff4308e802000000", "909090", INSN_NO_OPERAND, 0, {{0}}},
	/* incq 8(%rbx); 1: || ret; nop; call 1b */
	{"where a call goes", "48ff4308", "c390e8f9ffffff", INSN_AMBIGUOUS, 1, {{RBX, 8, RW, 4}}},
	/* incq 8(%rbx); ret || nop */
	{"behind a return", "48ff4308c3", "90", INSN_NO_OPERAND, 0, {{0}}},
	/* incq 8(%rbx); jmp *%rax || nop */
	{"behind a jump to where a register says", "48ff4308ffe0", "90", INSN_NO_OPERAND, 0, {{0}}},
	/* incq 8(%rbx); int3 || nop */
	{"behind int3", "48ff4308cc", "90", INSN_NO_OPERAND, 0, {{0}}},
	/* je 1f; .byte 0xf0; 1: incl (%rdi) || nop */
	{"past a lock prefix", "7401f0ff07", "90", INSN_RECIPE, 1, {{RDI, 0, RW, 3}}},
	/* incq 8(%rbx); .byte 0xb8,0xeb,0x02,0,0 || nop */
	{"bytes like a jump inside a number",
	 "48ff4308b8eb020000",
	 "90",
	 INSN_RECIPE,
	 1,
	 {{RBX, 8, RW, 9}}},
	/* incq 8(%rbx); lea 8(%rdi),%rdi; shl $0x11,%rcx; mov (%rdx),%rsi || : its last bytes are
	   those of jrcxz to the pointer */
	{"bytes like a jump at an instruction's end",
	 "48ff4308488d7f0848c1e303488b32",
	 "90",
	 INSN_RECIPE,
	 1,
	 {{RDX, 0, R, 3}}},
	/* cmovne %rcx,%rax; incq (%rax) || nop */
	{"a conditional move's", "480f45c148ff00", "90", INSN_RECIPE, 1, {{RAX, 0, RW, 3}}},
	/* incq 8(%rbx) || rep stosb */
	{"a repeated string instruction", "48ff4308", "f3aa", INSN_AMBIGUOUS, 1, {{RBX, 8, RW, 4}}},
	/* je 1f; incq 8(%rbx); 1: inc %edx || nop */
	{"a join one back", "740448ff4308ffc2", "90", INSN_AMBIGUOUS, 1, {{RBX, 8, RW, 6}}},
	/* je 1f; inc %ecx; 1: incq 8(%rbx) || nop */
	{"a join further back than its operand",
	 "7402ffc148ff4308",
	 "90",
	 INSN_RECIPE,
	 1,
	 {{RBX, 8, RW, 4}}},
	/* cmp $1,%eax; je 1f; cmp $2,%eax; je 2f; incq (%rsi); jmp 3f; 1: incq 8(%rsi); jmp 3f; 2:
	   incq 16(%rsi); 3: || nop */
	{"a switch's cases",
	 "83f801740a83f802740b48ff06eb0a48ff4608eb0448ff4610",
	 "90",
	 INSN_AMBIGUOUS,
	 3,
	 {{RSI, 16, RW, 4}, {RSI, 8, RW, 10}, {RSI, 0, RW, 15}}},
	/* cmp $1,%eax; je 1f; je 2f; je 4f; incq (%rsi); jmp 3f; 1: incq 8(%rsi); jmp 3f; 2: incq
	   16(%rsi); jmp 3f; 4: incq 24(%rsi); 3: || nop */
	{"a switch of four cases",
	 "83f8017409740d741148ff06eb1048ff4608eb0a48ff4610eb0448ff4618",
	 "90",
	 INSN_AMBIGUOUS,
	 4,
	 {{RSI, 24, RW, 4}, {RSI, 16, RW, 10}, {RSI, 8, RW, 16}, {RSI, 0, RW, 21}}},
	/* je 1f; inc %ecx; jmp 2f; 1: inc %edx; 2: || nop */
	{"arms that touch nothing", "7404ffc1eb02ffc2", "90", INSN_NO_OPERAND, 0, {{0}}},
	/* je 1f; mov (%rax),%rax; jmp 2f; 1: inc %edx; 2: || nop */
	{"an arm whose address is gone", "7405488b00eb02ffc2", "90", INSN_NOT_COMPUTABLE, 0, {{0}}},
	/* je 1f; incq (%rax); inc %rax; jmp 2f; 1: incq (%rax); 2: || nop */
	{"a base that one way writes",
	 "740848ff0048ffc0eb0348ff00",
	 "90",
	 INSN_AMBIGUOUS,
	 1,
	 {{RAX, 0, RW, 3}}},
	/* mov (%rsi),%rax; 1: || add %rax,%rcx; incq 8(%rdi); .byte 0x3e; jne 1b */
	{"a prefixed branch",
	 "488b06",
	 "4801c148ff47083e75f6",
	 INSN_AMBIGUOUS,
	 2,
	 {{RSI, 0, R, 3}, {RDI, 8, RW, -3}}},
	/* mov (%rsi),%rax; 1: || add %rax,%rcx; incq 8(%rdi); .byte 0xe9; .long 1b-.-4 */
	{"a jump back by 32 bits",
	 "488b06",
	 "4801c148ff4708e9f4ffffff",
	 INSN_AMBIGUOUS,
	 2,
	 {{RSI, 0, R, 3}, {RDI, 8, RW, -3}}},
};

static bool as_expected(const struct row *row, enum insn_found found, const struct insn_answer *a)
{
	uint32_t k;

	if (found != row->found || a->n != row->n)
		return false;
	for (k = 0; k < a->n; k++)
		if (a->r[k].base != row->r[k].base || a->r[k].disp != row->r[k].disp ||
		    (a->r[k].flags & ~RECIPE_INFERRED) != row->r[k].flags ||
		    a->r[k].back != row->r[k].back)
			return false;
	return true;
}

TEST(ways)
{
	for (size_t k = 0; k < ROWS(rows); k++) {
		uint8_t code[2 * INSN_BEFORE + 64], tail[INSN_BEFORE];
		size_t n = from_hex(rows[k].before, tail), after, m;
		struct insn_answer got;
		enum insn_found found;
		struct insn_code *c;

		memset(code, PAD, sizeof(code));
		memcpy(code + INSN_BEFORE - n, tail, n);
		after = from_hex(rows[k].after, code + INSN_BEFORE);
		assert_int_equal(insn_code_open_as(&c, &insn_x86, code, INSN_BEFORE + after), 0);
		found = insn_code_recipe(c, INSN_BEFORE, &got);
		if (!as_expected(&rows[k], found, &got)) {
			for (m = 0; m < got.n; m++)
				print_error("base %u disp %lld flags %u back %d\n", got.r[m].base,
					    (long long)got.r[m].disp, got.r[m].flags,
					    got.r[m].back);
			fail_msg("%s: found %d, %u of them", rows[k].why, found, got.n);
		}
		found = insn_code_recipe(c, INSN_BEFORE, &got); /* what was kept says the same */
		assert_true(as_expected(&rows[k], found, &got));
		insn_code_close(c);
	}
}

/* What decides between ways: a register that a branch asked about, and nobody wrote since. */
TEST(guards)
{
	static const struct {
		const char *why, *before, *after;
		uint8_t reg, bytes; /* 0: nothing decides */
		uint64_t value;
		enum insn_found equal, other;
		int16_t equal_back, other_back;
	} table[] = {
		{"test %eax,%eax; je 1f; incq 8(%rbx); jmp 2f; 1: incq 16(%rcx); 2: ||",
		 "85c0740648ff4308eb0448ff4110", "90", RAX, 4, 0, INSN_RECIPE, INSN_RECIPE, 4, 10},
		{"cmp $7,%rdx; jne 1f; incq 8(%rbx); 1: ||", "4883fa07750448ff4308", "90", RDX, 8,
		 7, INSN_RECIPE, INSN_NO_OPERAND, 4, 0},
		{"cmp $-1,%edx; jne 1f; incq 8(%rbx); 1: ||", "83faff750448ff4308", "90", RDX, 4,
		 0xffffffff, INSN_RECIPE, INSN_NO_OPERAND, 4, 0},
		{"it is written on both: test %eax,%eax; je 1f; incq 8(%rbx); 1: inc %eax ||",
		 "85c0740448ff4308ffc0", "90", 0, 0, 0, 0, 0, 0, 0},
		{"on one: test %eax,%eax; je 1f; incq 8(%rbx); inc %eax; 1: ||",
		 "85c0740648ff4308ffc0", "90", RAX, 4, 0, INSN_AMBIGUOUS, INSN_RECIPE, 0, 6},
		{"on one of two: test %eax,%eax; je 1f; incq 8(%rbx); inc %eax; jmp 2f; 1: incq "
		 "16(%rcx); 2: ||",
		 "85c0740848ff4308ffc0eb0448ff4110", "90", RAX, 4, 0, INSN_AMBIGUOUS, INSN_RECIPE,
		 0, 12},
		{"less is not asked: cmp $7,%rdx; jb 1f; incq 8(%rbx); 1: ||",
		 "4883fa07720448ff4308", "90", 0, 0, 0, 0, 0, 0, 0},
		{"flags from elsewhere: cmp $7,%rdx; 2: jne 1f; incq 8(%rbx); 1: || jmp 2b",
		 "4883fa07750448ff4308", "ebf8", 0, 0, 0, 0, 0, 0, 0},
		{"of three: cmp $1,%eax; je 1f; cmp $2,%eax; je 2f; incq (%rsi); jmp 3f; 1: incq "
		 "8(%rsi); jmp 3f; 2: incq 16(%rsi); 3: ||",
		 "83f801740a83f802740b48ff06eb0a48ff4608eb0448ff4610", "90", RAX, 4, 2, INSN_RECIPE,
		 INSN_AMBIGUOUS, 4, 0},
	};

	for (size_t k = 0; k < ROWS(table); k++) {
		uint8_t code[2 * INSN_BEFORE + 64], tail[INSN_BEFORE];
		size_t n = from_hex(table[k].before, tail), after;
		const struct insn_guard *g;
		struct insn_answer got;
		struct insn_code *c;

		memset(code, PAD, sizeof(code));
		memcpy(code + INSN_BEFORE - n, tail, n);
		after = from_hex(table[k].after, code + INSN_BEFORE);
		assert_int_equal(insn_code_open_as(&c, &insn_x86, code, INSN_BEFORE + after), 0);
		assert_int_equal(insn_code_recipe(c, INSN_BEFORE, &got), INSN_AMBIGUOUS);
		insn_code_close(c);
		g = &got.guard;
		if (g->bytes != table[k].bytes ||
		    (g->bytes &&
		     (g->reg != table[k].reg || g->value != table[k].value ||
		      g->found[0] != table[k].equal || g->found[1] != table[k].other ||
		      (g->found[0] == INSN_RECIPE && g->r[0].back != table[k].equal_back) ||
		      (g->found[1] == INSN_RECIPE && g->r[1].back != table[k].other_back))))
			fail_msg("%s: register %u, %u bytes, %llu: %d at %d, %d at %d",
				 table[k].why, g->reg, g->bytes, (unsigned long long)g->value,
				 g->found[0], g->r[0].back, g->found[1], g->r[1].back);
	}
}

/* arm64: words, the pointer behind the first `n`. */
TEST(ways_arm64)
{
	static const struct {
		const char *why;
		uint32_t words[6];
		size_t n;
		struct row is;
	} table[] = {
		{"b.eq 1f; str x1, [x0]; b 2f; 1: str x1, [x2, #8]; 2:",
		 {0x54000060, 0xf9000001, 0x14000002, 0xf9000441, 0xd503201f},
		 4,
		 {.found = INSN_AMBIGUOUS, .n = 2, .r = {{2, 8, W, 4}, {0, 0, W, 12}}}},
		{"b.eq 1f; str x1, [x0]; b 2f; 1: str x1, [x0]; 2:",
		 {0x54000060, 0xf9000001, 0x14000002, 0xf9000001, 0xd503201f},
		 4,
		 {.found = INSN_RECIPE, .n = 1, .r = {{0, 0, W, 4}}}},
		{"ldr x1, [x0]; 1: | add x1, x2, x3; str x1, [x0, #16]; cbnz w4, 1b",
		 {0xf9400001, 0x8b030041, 0xf9000801, 0x35ffffc4},
		 1,
		 {.found = INSN_AMBIGUOUS, .n = 2, .r = {{0, 0, R, 4}, {0, 16, W, -4}}}},
		{"the same with tbnz",
		 {0xf9400001, 0x8b030041, 0xf9000801, 0x3707ffc4},
		 1,
		 {.found = INSN_AMBIGUOUS, .n = 2, .r = {{0, 0, R, 4}, {0, 16, W, -4}}}},
		{"str x1, [x0]; 1: | ret; bl 1b",
		 {0xf9000001, 0xd65f03c0, 0x97ffffff},
		 1,
		 {.found = INSN_AMBIGUOUS, .n = 1, .r = {{0, 0, W, 4}}}},
		{"str x1, [x0]; br x3 |",
		 {0xf9000001, 0xd61f0060, 0xd503201f},
		 2,
		 {.found = INSN_NO_OPERAND}},
		{"b 2f; nop; 1: | add x1, x2, x3; str x1, [x0, #16]; cbnz w4, 1b; 2:",
		 {0x14000005, 0xd503201f, 0x8b030041, 0xf9000801, 0x35ffffc4},
		 2,
		 {.found = INSN_RECIPE, .n = 1, .r = {{0, 16, W, -4}}}},
	};

	for (size_t k = 0; k < ROWS(table); k++) {
		struct insn_answer got;
		enum insn_found found;
		struct insn_code *c;

		assert_int_equal(insn_code_open_as(&c, &insn_arm64, (const uint8_t *)table[k].words,
						   sizeof(table[k].words)),
				 0);
		found = insn_code_recipe(c, 4 * table[k].n, &got);
		if (!as_expected(&table[k].is, found, &got))
			fail_msg("%s: found %d, %u of them", table[k].why, found, got.n);
		insn_code_close(c);
	}
}

/* A jump from as far as a window reaches; one from further away is not known. */
TEST(far_jumps)
{
	static const uint8_t store[] = {0x48, 0xff, 0x43, 0x08}; /* incq 8(%rbx) */
	uint8_t code[INSN_CODE_MAX];
	int32_t distance;

	for (size_t from = 0; from + 8 < sizeof(code); from += 97) {
		struct insn_answer got;
		struct insn_code *c;
		const size_t at = 2048;

		if (from + 5 > at - sizeof(store) && from < at + 1)
			continue;
		memset(code, PAD, sizeof(code));
		memcpy(code + at - sizeof(store), store, sizeof(store));
		code[from] = 0xe9;
		distance = (int32_t)((int64_t)at - (int64_t)from - 5);
		memcpy(code + from + 1, &distance, sizeof(distance));
		assert_int_equal(insn_code_open_as(&c, &insn_x86, code, sizeof(code)), 0);
		assert_int_equal(insn_code_recipe(c, at, &got), INSN_AMBIGUOUS);
		assert_int_equal(got.n, 1);
		insn_code_close(c);
	}
}

/* What is looked at is bounded, also where all jump to all. */
TEST(many_jumps)
{
	uint8_t code[INSN_CODE_MAX];
	struct insn_answer got;
	struct insn_code *c;

	for (size_t k = 0; k + 1 < sizeof(code); k += 2) {
		code[k] = 0xeb;
		code[k + 1] = (uint8_t)(2048 - (int)k - 2);
	}
	assert_int_equal(insn_code_open_as(&c, &insn_x86, code, sizeof(code)), 0);
	for (size_t at = 0; at <= sizeof(code); at++)
		(void)insn_code_recipe(c, at, &got);
	insn_code_close(c);
	assert_int_equal(insn_code_open_as(&c, &insn_x86, code, sizeof(code) + 1), -EINVAL);
}

TEST(any_bytes)
{
	uint32_t x = 1, m;

	for (unsigned int k = 0; k < 3000; k++) {
		size_t bytes = x % 700, at = x / 700 % (bytes + 1);
		uint8_t *code = malloc(bytes ? bytes : 1);
		struct insn_answer got;
		struct insn_code *c;

		assert_non_null(code);
		for (m = 0; m < bytes; m++)
			code[m] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
		for (int arm = 0; arm < 2; arm++) {
			assert_int_equal(
				insn_code_open_as(&c, arm ? &insn_arm64 : &insn_x86, code, bytes),
				0);
			if (insn_code_recipe(c, at, &got) == INSN_RECIPE)
				assert_int_equal(got.n, 1);
			assert_true(got.n <= INSN_CANDIDATES);
			for (m = 0; m < got.n; m++)
				assert_true(got.r[m].size >= 1 && got.r[m].size <= 64);
			insn_code_close(c);
		}
		x = x * 1664525 + 1013904223;
		free(code);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
