// SPDX-License-Identifier: GPL-2.0-or-later
/* This machine's decoder. */
#include <errno.h>

#include "insn/insn_flow.h"

#if defined(__aarch64__)

#define MACHINE (&insn_arm64)

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

#elif defined(__x86_64__) && defined(WS_ZYDIS)

#define MACHINE (&insn_x86)

int insn_available(void)
{
	return 1;
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

#endif

#ifdef MACHINE

int insn_code_open(struct insn_code **out, const uint8_t *code, size_t bytes)
{
	return insn_code_open_as(out, MACHINE, code, bytes);
}

enum insn_found insn_recipe(const uint8_t *code, size_t before, size_t after,
			    struct abi_recipe *out)
{
	return insn_recipe_as(MACHINE, code, before, after, out);
}

#else

int insn_code_open(struct insn_code **out, const uint8_t *code, size_t bytes)
{
	*out = NULL;
	return -EINVAL;
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
