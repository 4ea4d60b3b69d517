// SPDX-License-Identifier: GPL-2.0-or-later
/* Builds without a decoder for their machine's code. */
#include "insn/insn.h"

int insn_available(void)
{
	return 0;
}

size_t insn_previous(const uint8_t *code, size_t before, unsigned int *votes)
{
	if (votes)
		*votes = 0;
	return 0;
}

enum insn_found insn_recipe(const uint8_t *code, size_t before, size_t after,
			    struct abi_recipe *out)
{
	return INSN_UNDECODED;
}
