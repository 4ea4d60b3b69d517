// SPDX-License-Identifier: GPL-2.0-or-later
/* Code around a sampled pointer, which others wrote: one byte how much of it lies before, then the
 * code. */
#include "fuzz.h"

#include "insn/insn_flow.h"

static void check_recipe(enum insn_found found, const struct abi_recipe *r, size_t before)
{
	MUST(found == INSN_RECIPE || found == INSN_NO_OPERAND || found == INSN_NOT_COMPUTABLE ||
	     found == INSN_UNDECODED || found == INSN_AMBIGUOUS);
	if (found != INSN_RECIPE)
		return;
	MUST(r->back <= (int)before);
	MUST(r->flags & (RECIPE_READ | RECIPE_WRITE));
	MUST(r->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct abi_recipe r = {0};
	size_t before, after;
	uint8_t *code;

	if (!size)
		return 0;
	before = data[0] % (INSN_BEFORE + 1);
	if (before > size - 1)
		before = size - 1;
	after = size - 1 - before;
	if (after > INSN_AFTER)
		after = INSN_AFTER;
	code = malloc(before + after ? before + after : 1); /* exactly: a byte too many is seen */
	MUST(code);
	memcpy(code, data + 1, before + after);
	check_recipe(insn_recipe_as(&insn_arm64, code, before, after, &r), &r, before);
#ifdef WS_ZYDIS
	{
		uint8_t flags = 0;

		check_recipe(insn_recipe_as(&insn_x86, code, before, after, &r), &r, before);
		MUST(insn_x86_previous(code, before) <= before);
		MUST(insn_x86_access(code, before, after, &flags) <= before);
	}
#endif
	free(code);
	return 0;
}
