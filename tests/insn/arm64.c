// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the arm64 decoder says of single instructions, for test_arm64.py: words from stdin, a line
 * for each on stdout:
 *
 *	WHAT BASES
 *
 * WHAT: "none", "nc" (not computable), or "BASE INDEX SHIFT EXTEND DISP SIZE FLAGS". BASES: a bit
 * for each base register (31: sp) of a store that may still be told when the word stands behind it.
 */
#include <stdio.h>
#include <string.h>

#include "insn/insn_flow.h"

#define NOP 0xd503201fU
#define STORE 0xb900001fU /* str wzr, [x0] */
#define BEFORE (INSN_BEFORE / 4)
#define AFTER (INSN_AFTER / 4)

/* Between nothing but nops, behind `first`. */
static enum insn_found found(uint32_t first, uint32_t word, struct abi_recipe *r)
{
	uint32_t code[BEFORE + AFTER], k;

	for (k = 0; k < BEFORE + AFTER; k++)
		code[k] = NOP;
	code[BEFORE - 2] = first;
	code[BEFORE - 1] = word;
	memset(r, 0, sizeof(*r));
	return insn_recipe_as(&insn_arm64, (const uint8_t *)code, INSN_BEFORE, INSN_AFTER, r);
}

static uint32_t surviving(uint32_t word)
{
	struct abi_recipe r;
	uint32_t reg, mask = 0;

	for (reg = 0; reg < 32; reg++)
		if (found(STORE | reg << 5, word, &r) == INSN_RECIPE && r.back == 8)
			mask |= 1U << reg;
	return mask;
}

static void say(uint32_t word)
{
	struct abi_recipe r;

	switch (found(NOP, word, &r)) {
	case INSN_RECIPE:
		printf("%u %u %u %u %lld %u %u", r.base, r.index, r.shift, r.extend,
		       (long long)r.disp, r.size, r.flags);
		break;
	case INSN_NOT_COMPUTABLE:
		printf("nc");
		break;
	default:
		printf("none");
	}
	printf(" %x\n", surviving(word));
}

int main(void)
{
	uint32_t word;

	while (fread(&word, sizeof(word), 1, stdin) == 1)
		say(word);
	return ferror(stdin) || fflush(stdout) ? 1 : 0;
}
