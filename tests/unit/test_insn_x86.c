// SPDX-License-Identifier: GPL-2.0-or-later
/* Recipes: from bytes whose meaning is written beside them, against Zydis' own address arithmetic,
 * and the previous instruction's place in all of libc. */
#include "unit.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "insn/insn_flow.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, RIP };
#define NO RECIPE_NONE
#define R RECIPE_READ
#define W RECIPE_WRITE
#define L RECIPE_LOCKED
#define I RECIPE_INFERRED
#define T RECIPE_TLS
#define IND RECIPE_INDIRECT
#define SLOT(slot, behind) ((__s64)((__u64)(__u32)(behind) << 32 | (__u32)(slot)))

struct row {
	const char *why;
	const char *before, *after; /* hex: code before the pointer, and from it on */
	enum insn_found found;
	struct abi_recipe r;
};

#define RECIPE(b, i, sh, d, sz, fl, bk)                                              \
	INSN_RECIPE,                                                                 \
	{                                                                            \
		.base = (b), .index = (i), .shift = (sh), .disp = (d), .size = (sz), \
		.flags = (fl), .back = (bk)                                          \
	}

static const struct row rows[] = {
	{"mov %rcx,0x10(%rax)", "48894810", "90", RECIPE(RAX, NO, 0, 16, 8, W, 4)},
	{"mov (%rdi,%rsi,4),%eax", "8b04b7", "90", RECIPE(RDI, RSI, 2, 0, 4, R, 3)},
	{"mov -8(%rbp,%r9,8),%r10", "4e8b54cdf8", "90", RECIPE(RBP, R9, 3, -8, 8, R, 5)},
	{"no base: mov 0x1000(,%rcx,8),%eax", "8b04cd00100000", "90",
	 RECIPE(NO, RCX, 3, 0x1000, 4, R, 7)},
	{"rip: addq $1,0x100(%rip)",
	 "48830500010000"
	 "01",
	 "90", RECIPE(RIP, NO, 0, 0x100, 8, R | W, 8)},
	{"rip, one back: mov 0x100(%rip),%eax; inc %ecx", "8b0500010000ffc1", "90",
	 RECIPE(RIP, NO, 0, 0x100 - 2, 4, R, 8)},
	{"lock incl (%rdx)", "f0ff02", "90", RECIPE(RDX, NO, 0, 0, 4, R | W | L, 3)},
	{"xchg locks without saying so",
	 "4887"
	 "07",
	 "90", RECIPE(RDI, NO, 0, 0, 8, R | W | L, 3)},
	{"lock cmpxchg16b (%rsi)", "f0480fc70e", "90", RECIPE(RSI, NO, 0, 0, 16, R | W | L, 5)},
	{"thread's own: mov %fs:-8,%rax", "64488b0425f8ffffff", "90",
	 RECIPE(NO, NO, 0, -8, 8, R | T, 9)},
	{"per CPU: incl %gs:0x10", "65ff042510000000", "90", INSN_NOT_COMPUTABLE, {0}},
	{"base overwritten: mov (%rax),%rax", "488b00", "90", INSN_NOT_COMPUTABLE, {0}},
	{"its low half too: mov (%rax),%eax", "8b00", "90", INSN_NOT_COMPUTABLE, {0}},
	{"its pointer lies on the stack still: mov -8(%rbp),%rax; mov 4(%rax),%rax",
	 "488b45f8"
	 "488b4004",
	 "90", RECIPE(RBP, NO, 0, SLOT(-8, 4), 8, R | IND, 4)},
	{"an index was added to it: mov 16(%rsp),%rax; add %rdx,%rax; mov (%rax),%eax",
	 "488b442410"
	 "4801d0"
	 "8b00",
	 "90", RECIPE(RSP, RDX, 0, SLOT(16, 0), 4, R | IND, 2)},
	{"and is written by the pointer from the slot: | lea 1(%rax),%rdx; mov -8(%rbp),%rax; mov %rdx,(%rax)",
	 "488b45f8"
	 "488b00",
	 "488d5001"
	 "488b45f8"
	 "488910",
	 RECIPE(RBP, NO, 0, SLOT(-8, 0), 8, R | W | I | IND, 3)},
	{"the same of a load that keeps its base: mov (%rax),%rcx | add $1,%rcx; mov -8(%rbp),%rax; mov %rcx,(%rax)",
	 "488b45f8"
	 "488b08",
	 "4883c101"
	 "488b45f8"
	 "488908",
	 RECIPE(RAX, NO, 0, 0, 8, R | W | I, 3)},
	{"the slot may have been written: mov -8(%rbp),%rax; mov %rcx,-8(%rbp); mov (%rax),%rax",
	 "488b45f8"
	 "48894df8"
	 "488b00",
	 "90",
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"not from the heap, which others write: mov 8(%rbx),%rax; mov (%rax),%rax",
	 "488b4308"
	 "488b00",
	 "90",
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"base moved since: mov (%rax),%ecx; inc %rax",
	 "8b0848ffc0",
	 "90",
	 INSN_NOT_COMPUTABLE,
	 {0}},
	{"index moved since", "8b04b748ffc6", "90", INSN_NOT_COMPUTABLE, {0}},
	{"a vector of addresses: vpgatherdd", "c4e26d90048f", "90", INSN_NOT_COMPUTABLE, {0}},
	{"a bit far away: lock bts %rax,(%rdi)", "f0480fab07", "90", INSN_NOT_COMPUTABLE, {0}},
	{"a near bit: lock btsl $3,(%rdi)", "f00fba2f03", "90",
	 RECIPE(RDI, NO, 0, 0, 4, R | W | L, 5)},
	{"a stretch: rep stosb", "f3aa", "90", INSN_NOT_COMPUTABLE, {0}},
	{"padding: nopw 0(%rax,%rax,1)", "660f1f440000", "90", INSN_NO_OPERAND, {0}},
	{"a hint: prefetcht0 (%rax)", "0f1808", "90", INSN_NO_OPERAND, {0}},
	{"a hint to write: prefetchw (%rax)", "0f0d08", "90", INSN_NO_OPERAND, {0}},
	{"arithmetic: lea 8(%rax),%rcx", "488d4808", "90", INSN_NO_OPERAND, {0}},
	{"push %rbx", "53", "90", RECIPE(RSP, NO, 0, 0, 8, W, 1)},
	{"pop %rbx", "5b", "90", RECIPE(RSP, NO, 0, -8, 8, R, 1)},
	{"the consumer stalled: mov (%rbx),%rax; add %rax,%rcx",
	 "488b03"
	 "4801c1",
	 "90", RECIPE(RBX, NO, 0, 0, 8, R, 6)},
	{"three in between are the limit",
	 "488b03"
	 "4801c1"
	 "4801c1"
	 "4801c1",
	 "90", RECIPE(RBX, NO, 0, 0, 8, R, 12)},
	{"four are too many",
	 "488b03"
	 "4801c1"
	 "4801c1"
	 "4801c1"
	 "4801c1",
	 "90",
	 INSN_NO_OPERAND,
	 {0}},
	{"not past a branch that was not taken: mov (%rbx),%rax; je +32",
	 "488b03"
	 "7420",
	 "90",
	 INSN_NO_OPERAND,
	 {0}},
	{"not past a call",
	 "488b03"
	 "e800000000",
	 "90",
	 INSN_NO_OPERAND,
	 {0}},
	{"read, modified, written: mov (%rbx),%rax; | add $1,%rax; mov %rax,(%rbx)", "488b03",
	 "4883c001"
	 "488903",
	 RECIPE(RBX, NO, 0, 0, 8, R | W | I, 3)},
	{"the same by rip: mov 0x100(%rip),%eax | inc %eax; mov %eax,0xf8(%rip)", "8b0500010000",
	 "ffc0"
	 "8905f8000000",
	 RECIPE(RIP, NO, 0, 0x100, 4, R | W | I, 6)},
	{"another operand is written", "488b03",
	 "4883c001"
	 "48894308",
	 RECIPE(RBX, NO, 0, 0, 8, R, 3)},
	{"base changes before the store", "488b03",
	 "48ffc3"
	 "488903",
	 RECIPE(RBX, NO, 0, 0, 8, R, 3)},
	{"a branch lies between", "488b03",
	 "7400"
	 "488903",
	 RECIPE(RBX, NO, 0, 0, 8, R, 3)},
	{"movdqu (%rax),%xmm0", "f30f6f00", "90", RECIPE(RAX, NO, 0, 0, 16, R, 4)},
	{"32-bit addresses: mov (%eax),%ecx", "678b08", "90", INSN_NOT_COMPUTABLE, {0}},
};

TEST(recipes)
{
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		uint8_t code[INSN_BEFORE + INSN_AFTER], tail[INSN_BEFORE];
		struct abi_recipe got = {0};
		size_t n = from_hex(rows[k].before, tail), after;
		enum insn_found found;

		memset(code, 0x90, INSN_BEFORE);
		memcpy(code + INSN_BEFORE - n, tail, n);
		after = from_hex(rows[k].after, code + INSN_BEFORE);
		found = insn_recipe_as(&insn_x86, code, INSN_BEFORE, after, &got);
		if (found != rows[k].found ||
		    (found == INSN_RECIPE && memcmp(&got, &rows[k].r, sizeof(got))))
			fail_msg(
				"%s: found %d, base %u index %u shift %u disp %lld size %u flags %u "
				"back %u",
				rows[k].why, found, got.base, got.index, got.shift,
				(long long)got.disp, got.size, got.flags, got.back);
	}
}

/* What a breakpoint's trap came after: that instruction alone. */
TEST(accesses)
{
	static const struct {
		const char *why, *before, *after;
		uint8_t flags, back;
	} table[] = {
		{"mov (%rax),%rax: whatever becomes of the base", "488b00", "90", R, 3},
		{"mov %rcx,0x10(%rax)", "48894810", "90", W, 4},
		{"lock incl (%rdx)", "f0ff02", "90", R | W | L, 3},
		{"xchg %rax,(%rdi)", "488707", "90", R | W | L, 3},
		{"incl %gs:0x10", "65ff042510000000", "90", R | W, 8},
		{"nothing is inferred: mov (%rbx),%rax | mov %rax,(%rbx)", "488b03", "488903", R,
		 3},
		{"not looked back: mov (%rbx),%rax; inc %ecx", "488b03ffc1", "90", 0, 2},
		{"cmp %rax,(%rdi)", "483907", "90", R, 3},
		{"push (%rax): what is named", "ff30", "90", R, 2},
		{"stosq", "48ab", "90", W, 2},
		{"movsq: which end?", "48a5", "90", 0, 2},
		{"its own pointer: | rep stosb", "ffc1", "f3aa", W, 0},
		{"and with two ends: | rep movsb", "ffc1", "f3a4", 0, 0},
		{"through a branch: call", "e800000000", "90", 0, 5},
	};

	for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
		uint8_t code[INSN_BEFORE + INSN_AFTER], tail[INSN_BEFORE], flags = 0xff;
		size_t n = from_hex(table[k].before, tail), after, back;

		memset(code, 0x90, INSN_BEFORE);
		memcpy(code + INSN_BEFORE - n, tail, n);
		after = from_hex(table[k].after, code + INSN_BEFORE);
		back = insn_x86_access(code, INSN_BEFORE, after, &flags);
		if (flags != table[k].flags || back != table[k].back)
			fail_msg("%s: flags %u, back %zu", table[k].why, flags, back);
	}
}

/* ---- against Zydis' own arithmetic ---- */

static uint64_t random_word(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static void fill_context(ZydisRegisterContext *c, __u64 *regs)
{
	memset(c, 0, sizeof(*c));
	for (int k = 0; k < 16; k++)
		c->values[ZYDIS_REGISTER_RAX + k] = regs[k] = random_word();
}

/* ModRM and SIB in every shape, with each displacement width, before a store and a load. */
TEST(addresses_equal_zydis)
{
	static const uint8_t opcodes[] = {0x89, 0x8b};
	unsigned int compared = 0;
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned int k = 0; k < 200000; k++) {
		uint8_t code[INSN_BEFORE + 1],
			one[16] = {(uint8_t)(0x48 | (random_word() & 7)), opcodes[k & 1]};
		uint64_t ip = random_word() >> 1, truth;
		__u64 regs[RECIPE_REGS] = {0};
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction i;
		struct abi_recipe r;
		ZydisRegisterContext c;
		int m;

		for (m = 2; m < 16; m++)
			one[m] = (uint8_t)random_word();
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, one, sizeof(one), &i, op)))
			continue;
		m = op[0].type == ZYDIS_OPERAND_TYPE_MEMORY ? 0 : 1;
		if (op[m].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		memset(code, 0x90, sizeof(code));
		memcpy(code + INSN_BEFORE - i.length, one, i.length);
		if (insn_recipe_as(&insn_x86, code, INSN_BEFORE, 1, &r) != INSN_RECIPE ||
		    r.back != i.length)
			continue; /* base overwritten, or the random bytes read otherwise */
		fill_context(&c, regs);
		regs[RIP] = ip;
		assert_true(ZYAN_SUCCESS(
			ZydisCalcAbsoluteAddressEx(&i, &op[m], ip - i.length, &c, &truth)));
		assert_int_equal(recipe_address(&r, regs, 0), truth);
		compared++;
	}
	assert_true(compared > 50000);
}

/* ---- the previous instruction in libc ---- */

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t inside = (uintptr_t)dlsym(RTLD_DEFAULT, "printf");
	struct {
		const uint8_t *at;
		size_t len;
	} *text = arg;

	for (int k = 0; k < info->dlpi_phnum; k++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[k];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && inside >= start &&
		    inside < start + p->p_memsz) {
			text->at = (const uint8_t *)start;
			text->len = p->p_memsz;
			return 1;
		}
	}
	return 0;
}

TEST(previous_in_libc)
{
	struct {
		const uint8_t *at;
		size_t len;
	} text = {0};
	size_t at = 0, last = 0, total = 0, right = 0;
	ZydisDecodedInstruction i;
	ZydisDecoder d;

	dl_iterate_phdr(find_text, &text);
	assert_non_null(text.at);
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (at < text.len) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, text.at + at,
								text.len - at, &i))) {
			at++;
			last = 0;
			continue;
		}
		if (last && at >= INSN_BEFORE) {
			total++;
			right += insn_x86_previous(text.at + at - INSN_BEFORE, INSN_BEFORE) ==
				 at - last;
		}
		last = at;
		at += i.length;
	}
	assert_true(total > 100000);
	if (right * 1000 < total * 999)
		fail_msg("%zu of %zu right", right, total);
}

/* Short and odd input: never past the bytes given (the sanitizers watch). */
TEST(any_bytes)
{
	for (unsigned int k = 0; k < 20000; k++) {
		size_t before = random_word() % (INSN_BEFORE + 8),
		       after = random_word() % INSN_AFTER;
		uint8_t *code = malloc(before + after ? before + after : 1);
		struct abi_recipe r;

		assert_non_null(code);
		for (size_t m = 0; m < before + after; m++)
			code[m] = (uint8_t)random_word();
		if (insn_recipe_as(&insn_x86, code, before, after, &r) == INSN_RECIPE) {
			assert_true(r.size >= 1 && r.size <= 64);
			assert_true(r.flags & (RECIPE_READ | RECIPE_WRITE));
			assert_true(r.back <= (int)before && r.back >= -(int)after);
		}
		free(code);
	}
}

int main(void)
{
	return unit_main(NULL, NULL);
}
