// SPDX-License-Identifier: GPL-2.0-or-later
/* This machine's decoder. */
#include "insn/insn.h"

#if defined(__aarch64__)

int insn_available(void)
{
	return 1;
}

const char *insn_doubt(void)
{
	return "a measured skid: how far behind the instruction that they wait for arm64 "
	       "processors take the clock's interrupt was never seen on hardware; a row may "
	       "blame a neighbour";
}

enum insn_found insn_recipe(const uint8_t *code, size_t before, size_t after,
			    struct abi_recipe *out)
{
	return insn_arm64_recipe(code, before, after, out);
}

#elif defined(__x86_64__) && defined(WS_ZYDIS)

int insn_available(void)
{
	return 1;
}

enum insn_found insn_recipe(const uint8_t *code, size_t before, size_t after,
			    struct abi_recipe *out)
{
	return insn_x86_recipe(code, before, after, out);
}

size_t insn_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags)
{
	return insn_x86_access(code, before, after, flags);
}

#else

int insn_available(void)
{
	return 0;
}

enum insn_found insn_recipe(const uint8_t *code, size_t before, size_t after,
			    struct abi_recipe *out)
{
	return INSN_UNDECODED;
}

#endif

#ifndef __aarch64__

const char *insn_doubt(void)
{
	return NULL;
}

#endif

#if !(defined(__x86_64__) && defined(WS_ZYDIS))

size_t insn_access(const uint8_t *code, size_t before, size_t after, uint8_t *flags)
{
	*flags = 0;
	return 0;
}

#endif
